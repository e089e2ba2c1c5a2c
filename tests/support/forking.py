"""Starts `harness` many times for the price of one: what has imported it forks for each start.

Every start is a process of its own, with its own working folder and environment, that can be
killed like any other. Run as a script, this is the process that forks.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Forks:
    """The side of the tests."""

    def __init__(self, process: subprocess.Popen, folder: Path):
        self._process = process
        self._folder = folder  # for what the processes say
        self._n = 0

    def start(self, *arguments: object, cwd: Path, env: Mapping[str, str] | None = None) -> Started:
        """Start `harness` with these arguments in ``cwd``; by default in this environment."""
        self._n += 1
        out = self._folder / f"out{self._n}"
        order = {
            "arguments": ["harness", *map(str, arguments)],
            "cwd": str(cwd),
            "env": dict(os.environ if env is None else env),
            "out": str(out),
        }
        return Started(self, self.tell(order), out)

    def tell(self, order: dict) -> int | None:
        """Give an order, wait for the answer."""
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


class Started:
    """A running `harness`."""

    def __init__(self, forks: Forks, pid: int, out: Path):
        self._forks = forks
        self.pid = pid
        self._out = out
        self.returncode = None

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Exit code, None while it runs."""
        if self.returncode is None:
            self.returncode = self._forks.tell({"poll": self.pid})
        return self.returncode

    def wait(self) -> tuple[str, str]:
        """Wait for the end; what it wrote to stdout and stderr."""
        if self.returncode is None:
            self.returncode = self._forks.tell({"wait": self.pid})
        error = self._out.with_name(f"{self._out.name}.err")
        return self._out.read_text(encoding="utf-8"), error.read_text(encoding="utf-8")


@contextmanager
def forks():
    """Run the process that forks."""
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        ) as process,
    ):
        yield Forks(process, Path(folder))
        process.stdin.close()


@cache
def shared() -> Forks:
    """Return the process that forks for all tests that this one runs."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(forks())


def serve() -> None:
    """Fork for every line of stdin that says so."""
    for line in sys.stdin:
        order = json.loads(line)
        if "arguments" in order:
            answer = os.fork()
            if not answer:
                be_harness(order)
        else:
            [(what, pid)] = order.items()
            done, status = os.waitpid(pid, os.WNOHANG if what == "poll" else 0)
            answer = os.waitstatus_to_exitcode(status) if done else None
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def be_harness(order: dict) -> None:
    """Become `harness`; never return."""
    code = 70
    try:
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        for stream, path in ((1, order["out"]), (2, f"{order['out']}.err")):
            os.dup2(os.open(path, flags, 0o644), stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = order["arguments"]
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    import aiohttp  # noqa: F401 -- so that no fork has to
    import rich.progress  # noqa: F401 -- the same
    import scipy.optimize
    import scipy.special  # noqa: F401 -- the same
    import tenacity  # noqa: F401 -- the same
    import vaderSentiment.vaderSentiment  # noqa: F401 -- the same

    import harness.app
    import harness.report.text  # noqa: F401 -- the same
    from harness.cli import main
    from harness.report.html.page import _environment

    for template in _environment().list_templates(extensions=["jinja"]):
        _environment().get_template(template)
    gc.freeze()
    serve()
