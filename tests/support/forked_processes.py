"""Processes of `harness` forked from one that has imported it; see `forked_harness.py`."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FORKING = Path(__file__).with_name("forked_harness.py")


class ForkedProcess(subprocess.Popen[str]):
    """A process that another one started for this one.

    Parameters
    ----------
    arguments : list of str
        The words after ``harness``.
    cwd : Path
        Its working folder.
    env : mapping of str to str
        Its environment. What Python reads of it at its start is that of this process.
    """

    def __init__(self, arguments: list[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        (out, stdout), (err, stderr), (self._status, end) = (os.pipe() for _ in range(3))
        handled = {n: signal.getsignal(n) for n in (signal.SIGHUP, signal.SIGTERM)}
        request = {
            "arguments": arguments,
            "cwd": str(cwd),
            "env": dict(env),
            "ignored": [int(n) for n, handler in handled.items() if handler is signal.SIG_IGN],
        }
        asked, _ = _forking_process()
        socket.send_fds(asked, [b"\n"], [stdout, stderr, end])
        asked.sendall(json.dumps(request).encode() + b"\n")
        for descriptor in (stdout, stderr, end):
            os.close(descriptor)
        self.pid = int(asked.recv(32))
        self.args, self.returncode = arguments, None
        self.stdin, self.stdout, self.stderr = None, os.fdopen(out), os.fdopen(err)
        self.text_mode, self.encoding, self.errors = True, None, None
        self._input, self._communication_started = None, False
        self._child_created = False  # not by this process: what Popen does at its end is not needed

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._ended_within(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return the exit code."""
        code = self._ended_within(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def _ended_within(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = os.waitstatus_to_exitcode(int(os.read(self._status, 32)))
            os.close(self._status)
        return self.returncode


def can_fork(env: Mapping[str, str]) -> bool:
    """Tell whether a forked process would be as one that Python starts anew."""
    return sys.platform == "linux" and _read_at_start(env) == _forking_process()[1]


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in env if name.startswith(("PYTHON", "LD_"))}


@cache
def _forking_process() -> tuple[socket.socket, dict[str, str]]:
    """Start the process that forks; return its socket, and what Python read at its start."""
    own, asked = socket.socketpair()
    with asked:
        process = subprocess.Popen(
            [sys.executable, str(FORKING), str(asked.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[asked.fileno()],
        )

    def end() -> None:
        own.close()
        process.wait()

    atexit.register(end)
    return own, _read_at_start(os.environ)
