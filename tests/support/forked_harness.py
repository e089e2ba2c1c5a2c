"""Forks a `harness` process for each request: it has imported what most commands need.

A process that is forked has its own number, signals and files, as any other. What it spares is the
import: about 0.7 s of CPU. It is started by `forked_processes`, and asked through a socket.
"""

from __future__ import annotations

import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
from importlib import import_module
from pathlib import Path

import harness

PACKAGES = ("analysis", "annotation", "cli", "judging", "report", "revalidation", "tasks")
LIBRARIES = ("aiohttp", "uvloop", "rich.console", "rich.live", "rich.progress")


def import_most() -> None:
    """Import what commands need; no module starts a thread, which a fork would lose."""
    for name in PACKAGES:
        package = import_module(f"harness.{name}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    for name in LIBRARIES:
        import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1


def serve(asked: socket.socket) -> list[str]:
    """Fork until the socket closes; return in each process that is forked, its arguments.

    A request is a line of JSON with three descriptors: stdout, stderr, and a pipe into which the
    wait status of the process is written when it has ended. The answer is a line with its number.
    """
    awake, wake = socket.socketpair()
    for end in (awake, wake):
        end.setblocking(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    lines = asked.makefile("rb")
    ends_of: dict[int, int] = {}  # the pipe of each process, by its number
    with selectors.DefaultSelector() as ready:
        ready.register(asked, selectors.EVENT_READ)
        ready.register(awake, selectors.EVENT_READ)
        while True:
            events = {key.fileobj for key, _ in ready.select()}
            if awake in events:
                awake.recv(4096)
                tell_ends(ends_of)
            if asked not in events:
                continue
            content, descriptors, *_ = socket.recv_fds(asked, 1, 3)
            if not content:
                sys.exit()
            request = json.loads(lines.readline())
            *streams, end = descriptors
            number = os.fork()
            if not number:
                break
            ends_of[number] = end
            for descriptor in streams:
                os.close(descriptor)
            asked.sendall(b"%d\n" % number)
    signal.set_wakeup_fd(-1)
    for descriptor in (*ends_of.values(), end):
        os.close(descriptor)
    for opened in (lines, asked, awake, wake):
        opened.close()
    return become(request, streams)


def tell_ends(ends_of: dict[int, int]) -> None:
    """Write the wait status of each process that has ended into its pipe."""
    for number in list(ends_of):
        ended, status = os.waitpid(number, os.WNOHANG)
        if ended:
            end = ends_of.pop(number)
            os.write(end, b"%d\n" % status)
            os.close(end)


def become(request: dict, streams: list[int]) -> list[str]:
    """Be as a process that was started by the caller; return its arguments."""
    for number, descriptor in enumerate(streams, start=1):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        ignored = number in request["ignored"]
        signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
    return request["arguments"]


if __name__ == "__main__":
    import_most()
    words = serve(socket.socket(fileno=int(sys.argv[1])))
    sys.argv = [f"{harness.__path__[0]}/__main__.py", *words]
    from harness.cli import main

    main()
