"""Serve the page for `harness view`: its files, and the data for its script."""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from harness.errors import HarnessError, RunError
from harness.files.plain_text import visible
from harness.files.regular_files import TooLarge, read_file
from harness.report.served.loopback import colours, response, serve_page
from harness.report.served.run_list import run_rows
from harness.report.served.side_by_side import RunItems, full_pair, side_by_side
from harness.runs.run_folder import RunFolder, list_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from aiohttp import web

MOST_OPEN = 4  # runs whose items stay in memory
REPORT_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"  # besides its own


class RunPages:
    """Request handlers for the page.

    Parameters
    ----------
    out : Path
        Folder of the run folders.
    show_raters : bool
        Whether raters keep their names.
    """

    def __init__(self, out: Path, *, show_raters: bool = False) -> None:
        self._out = out
        self._files = {
            "/": (_file("templates/view.html"), "text/html"),
            "/view.css": (colours() + _file("static/view.css"), "text/css"),
            "/view.js": (_file("static/view.js"), "text/javascript"),
        }
        self._items = lru_cache(MOST_OPEN)(partial(_run_items, show_raters=show_raters))

    def add_routes(self, router: web.UrlDispatcher) -> None:
        """Add the page's routes to the application."""
        for path in self._files:
            router.add_get(path, self._send_file)
        router.add_get("/runs", self._runs)
        router.add_get("/report/{run}", self._report)
        router.add_get("/items", self._side_by_side)
        router.add_get("/item", self._item)

    async def _send_file(self, request: web.Request) -> web.Response:
        text, content_type = self._files[request.path]
        return response(text, content_type=content_type)

    async def _runs(self, _: web.Request) -> web.Response:
        rows, warning = await asyncio.to_thread(run_rows, self._out)
        return _json({"runs": rows, "warning": visible(warning)})

    async def _report(self, request: web.Request) -> web.Response:
        """Send a report without the page's origin, because a run folder can come from anybody."""
        try:
            folder = self._folder(request.match_info["run"])
            text = read_file(folder.path / "report.html").decode(errors="replace")
        except (HarnessError, OSError, TooLarge):
            return response("This run has no report yet.", status=404)
        return response(text, content_type="text/html", policy=REPORT_POLICY)

    async def _side_by_side(self, request: web.Request) -> web.Response:
        return await self._answered(lambda: side_by_side(*self._pair(request)))

    async def _item(self, request: web.Request) -> web.Response:
        item = request.query.get("item", "")
        return await self._answered(lambda: full_pair(*self._pair(request), item))

    async def _answered(self, read: Callable[[], object]) -> web.Response:
        """Read runs in a thread, and send the result or the problem."""
        try:
            return _json(await asyncio.to_thread(read))
        except HarnessError as error:
            return _json({"problem": visible(str(error))}, status=422)

    def _pair(self, request: web.Request) -> tuple[RunItems, RunItems]:
        first, second = (self._folder(request.query.get(n, "")) for n in ("first", "second"))
        return self._items(first.path, first.verdicts_hash()), self._items(
            second.path, second.verdicts_hash()
        )

    def _folder(self, name: str) -> RunFolder:
        """Return the run with the given name, which cannot be a path."""
        for folder in list_runs(self._out).readable:
            if folder.path.name == name:
                return folder
        raise RunError(f"{name}: no such run in {self._out}.")


def _run_items(path: Path, verdicts_hash: str, *, show_raters: bool) -> RunItems:
    """Read a run's items. The log's hash identifies the version of the items."""
    del verdicts_hash
    return RunItems.of(RunFolder.open(path), show_raters=show_raters)


def _json(content: object, status: int = 200) -> web.Response:
    text = msgspec.json.encode(content).decode()
    return response(text, content_type="application/json", status=status)


def _file(name: str) -> str:
    return (files("harness.report.served") / name).read_text(encoding="utf-8")


async def serve_runs(
    pages: RunPages, *, port: int = 0, announce: Callable[[str], object] = print
) -> None:
    """Serve the page of runs until SIGINT or SIGTERM.

    Parameters
    ----------
    pages : RunPages
        The runs.
    port : int
        Where to listen on loopback; 0 for any free port.
    announce : callable
        Gets the address to open.

    Raises
    ------
    TaskError
        If the port is taken.
    """
    await serve_page("view", pages.add_routes, port=port, announce=announce)
