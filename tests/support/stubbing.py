"""Starts `stub.py` for a test and asks it what it saw."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from support.cores import on_all_cores

if TYPE_CHECKING:
    from collections.abc import Iterator

STUB = Path(__file__).with_name("stub.py")
OPENER = build_opener(ProxyHandler({}))


@dataclass(frozen=True)
class Stub:
    """A running stub.

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

    def url(self, *, fault: str = "", ms: float = 0, say: str = "", tail: str = "/v1") -> str:
        """Base URL of an OpenAI-compatible judge that behaves as asked; see `stub.py` for plans."""
        parts = (("ms", f"{ms:g}" if ms else ""), ("fault", fault), ("say", say))
        return self.origin + "".join(f"/{k}/{quote(v, safe='')}" for k, v in parts if v) + tail

    def stats(self) -> dict:
        """Requests so far, in flight now and at most, and by path."""
        return self._get("/stats")

    def seen(self) -> list[dict]:
        """The last requests: path, headers and body as text."""
        return self._get("/seen")

    def reset(self) -> None:
        """Forget what was counted, seen and already failed."""
        with OPENER.open(Request(f"{self.origin}/reset", method="POST")):
            pass

    def tell(self, path: str) -> None:
        """Post nothing to a path, to change how the stub behaves."""
        with OPENER.open(Request(f"{self.origin}{path}", method="POST")):
            pass

    def _get(self, path: str):
        with OPENER.open(f"{self.origin}{path}") as reply:
            return json.load(reply)


@contextmanager
def start_stub(script: Path = STUB) -> Iterator[Stub]:
    """Run a stub in a process of its own; it is ended on the way out."""
    command = [sys.executable, str(script), "--port", "0", "--with-parent"]
    pipe = subprocess.PIPE
    with on_all_cores():
        started = subprocess.Popen(command, stdin=pipe, stdout=pipe)
    with started as process:
        try:
            yield Stub(int(process.stdout.readline()))
        finally:
            process.kill()
