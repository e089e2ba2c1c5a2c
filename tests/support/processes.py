"""Processes that tests start: servers that play judges, `harness`, a program that locks a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from support.forked_processes import ForkedProcess, can_fork

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from click.testing import Result

STUB_SERVER = Path(__file__).with_name("stub_server.py")
BATCH_SERVER = Path(__file__).with_name("batch_server.py")
AGAINST_WRITING = "BEGIN IMMEDIATE"
AGAINST_READING = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"
LOCKING_PROGRAM = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2].split(";"):
    database.execute(statement)
print(flush=True)
sys.stdin.read()
database.execute("ROLLBACK")
"""
_opener = build_opener(ProxyHandler({}))


def invoke(*arguments: object) -> Result:
    """Run ``harness`` with these arguments in this process; cheaper than `run_harness`."""
    from typer.testing import CliRunner

    from harness.cli import app

    return CliRunner().invoke(app, list(map(str, arguments)))


def call_harness(
    *arguments: object, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Do as `run_harness`, errors included, without a process of its own: a second less."""
    from harness.cli import main

    command = _command(arguments)
    stdout, stderr = StringIO(), StringIO()
    with (
        chdir(cwd),
        patch.dict(os.environ, env or {}, clear=env is not None),
        patch.object(sys, "argv", command[2:]),
        patch.object(sys, "stdin", StringIO()),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
        except SystemExit as ending:
            code = int(ending.code or 0)
    return subprocess.CompletedProcess(command, code, stdout.getvalue(), stderr.getvalue())


def start_harness(
    *arguments: object, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start ``harness`` with these arguments in ``cwd``, in a process of its own."""
    if can_fork(os.environ if env is None else env):
        words = list(map(str, arguments))
        return ForkedProcess(words, cwd=cwd, env=os.environ if env is None else env)
    return subprocess.Popen(
        _command(arguments),
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_harness(
    *arguments: object, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``harness`` with these arguments in ``cwd``, in a process of its own, to its end."""
    with start_harness(*arguments, cwd=cwd, env=env) as process:
        stdout, stderr = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def _command(arguments: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-m", "harness", *map(str, arguments)]


@dataclass(frozen=True)
class Server:
    """A running server that plays a provider: `stub_server.py` or `batch_server.py`.

    Attributes
    ----------
    port : int
        Where it listens on 127.0.0.1.
    """

    port: int

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    def url(self, *, ms: float = 0, tail: str = "/v1", **parts: str) -> str:
        """Base URL at which the server waits ``ms`` and does as its parts say (``say="A"``)."""
        waiting = {"ms": f"{ms:g}"} if ms else {}
        named = (waiting | parts).items()
        return self.origin + "".join(f"/{k}/{quote(v, safe='')}" for k, v in named if v) + tail

    def stats(self) -> dict:
        """Requests so far, in flight now and at most, and by path."""
        return self._get("/stats")

    def requests(self) -> list[dict]:
        """The last requests: path, headers and body as text."""
        return self._get("/requests")

    def reset(self) -> None:
        """Forget all requests and faults so far."""
        self.post("/reset")

    def is_cleared(self) -> bool:
        """Forget tables, too, once nothing is in flight; False where that takes too long."""
        end = time.monotonic() + 1
        while self.stats()["in_flight"]:
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        self.post("/clear")
        return True

    def hold_after(self, n: int) -> None:
        """Let ``n`` more requests through; the others wait until `release`."""
        self.post(f"/hold/{n}")

    def release(self) -> None:
        """Let all requests through."""
        self.post("/release")

    def set_table(self, name: str, replies: Mapping[str, list[str]], **more: str) -> None:
        """Set the replies at ``url(table=name)``; ``more`` is model, fingerprint and fault."""
        self.post(f"/tables/{name}", {"replies": replies, **more})

    def post(self, path: str, content: object = None) -> None:
        """Post JSON, to change how the server behaves."""
        body = b"" if content is None else json.dumps(content).encode()
        with _opener.open(Request(f"{self.origin}{path}", data=body, method="POST")):
            pass

    def _get(self, path: str):
        with _opener.open(f"{self.origin}{path}") as response:
            return json.load(response)


@contextmanager
def start_server(script: Path = STUB_SERVER, *, port: int = 0) -> Iterator[Server]:
    """Run a server in a process of its own until the block ends; on any free port by default."""
    command = [sys.executable, str(script), "--port", str(port), "--with-parent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Server(int(process.stdout.readline()))
        finally:
            process.kill()


@contextmanager
def locked(database: Path, statements: str = AGAINST_WRITING) -> Iterator[None]:
    """Let another process hold SQLite's lock on a file until the block ends."""
    with subprocess.Popen(
        [sys.executable, "-c", LOCKING_PROGRAM, str(database), statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        yield
        process.stdin.close()
        assert process.wait() == 0
