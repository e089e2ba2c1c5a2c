"""A task whose items are rated on the page of `harness annotate`, and the server of that page."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from support.processes import start_harness
from support.task_folders import TASK, write_jsonl

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from harness.annotation import RatingSession

ADDRESS = re.compile(r"Open http://127\.0\.0\.1:(\d+)/\?token=(\S+)")


def make_unrated_task(folder: Path, texts: list[str]) -> Path:
    """Write a task whose items nobody has rated."""
    folder.mkdir(parents=True)
    yaml = TASK.replace("ratings: ratings.jsonl\n", "instructions: Read the comment twice.\n")
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    write_jsonl(folder / "items.jsonl", [{"id": f"i{i}", "text": t} for i, t in enumerate(texts)])
    return folder


def answer_one(session: RatingSession, value: str | list[str]) -> None:
    """Give the same answer to every question of the screen that is shown."""
    session.answer(dict.fromkeys((step.key for step in session.current().steps), value))


@dataclass
class PageServer:
    """A running `harness annotate`."""

    process: subprocess.Popen[str]
    port: int
    token: str
    cookie: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """The address that was printed."""
        return f"{self.origin}/?token={self.token}"

    def request(self, method: str, path: str, body: object = None, **headers: str):
        """Send a request with the cookie; return status, headers and body.

        Headers with an empty value are left out; ``Host`` and ``Origin`` are right by default.
        """
        sent = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie}
        if method == "POST":
            sent |= {"Origin": self.origin, "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        data = b"" if body is None else json.dumps(body).encode()
        for name, value in (sent | {"Content-Length": str(len(data))}).items():
            if value:
                connection.putheader(name, value)
        connection.endheaders(data)
        response = connection.getresponse()
        content = response.read().decode(errors="surrogateescape")
        connection.close()
        return response.status, response.headers, content

    def enter(self) -> None:
        """Exchange the token for the cookie."""
        status, headers, _ = self.request("GET", f"/?token={self.token}")
        assert (status, headers["Location"]) == (303, "/")
        self.cookie = headers["Set-Cookie"].partition(";")[0]


@contextmanager
def page_server(task: Path, rater: str, *options: object) -> Iterator[PageServer]:
    """Run `harness annotate` until the block ends."""
    arguments = ("annotate", f"./{task.name}", "--rater", rater, *options)
    with start_harness(*arguments, cwd=task.parent) as process:
        try:
            first = process.stdout.readline()
            match = ADDRESS.match(process.stdout.readline())
            assert match, first + process.stdout.read() + process.stderr.read()
            yield PageServer(process, int(match[1]), match[2])
        finally:
            process.kill()
