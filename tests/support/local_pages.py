"""Commands that serve a page on this computer, while a test reads it."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING

from support.processes import start_harness

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

ADDRESS = re.compile(r"Open http://127\.0\.0\.1:(\d+)/\?token=(\S+)")
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 400, "height": 800}


@dataclass
class PageServer:
    """A running command that serves a page."""

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
def serving(*arguments: object, cwd: Path) -> Iterator[PageServer]:
    """Run a command that serves a page until the block ends."""
    with start_harness(*arguments, cwd=cwd) as process:
        try:
            lines = []
            for line in iter(process.stdout.readline, ""):
                lines.append(line)
                if match := ADDRESS.match(line):
                    yield PageServer(process, int(match[1]), match[2])
                    return
            raise AssertionError("".join(lines) + process.stderr.read())
        finally:
            process.kill()


def tab_of(browser, viewport=WIDE, **options):
    """Open a tab of its own, with its requests and console messages."""
    tab = browser.new_context(viewport=viewport, **options).new_page()
    tab.set_default_timeout(10_000)
    tab.requests, tab.messages = [], []
    tab.on("request", lambda request: tab.requests.append(request.url))
    tab.on("console", lambda message: tab.messages.append(message.text))
    tab.on("pageerror", lambda error: tab.messages.append(str(error)))
    tab.on("dialog", lambda dialog: tab.messages.append(dialog.message))
    return tab
