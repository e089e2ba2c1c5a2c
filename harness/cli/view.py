"""`harness view`: show runs on a local page."""

from __future__ import annotations

import typer

from harness.cli.binding import takes
from harness.cli.output import echo
from harness.options.concerns import Out
from harness.options.declaration import option
from harness.options.result_options import RaterNames


class ViewOptions(RaterNames):
    """Options for the page's port, and for opening the page."""

    view_port: int | None = option(
        None, "Port of the page. Default: any free one.", flag="--port", ge=0, le=65535
    )
    open_view: bool = option(False, "Open the page in a browser.", flag="--open")


@takes
def view(*, place: Out, wanted: ViewOptions) -> None:
    """Show your runs on a page only this computer can open.

    The page lists runs with their recommendation, leader, cost and progress, opens their reports,
    and compares two runs item by item. You can filter the items by agreement, outcome and field.
    Nothing leaves your computer. Press Ctrl-C to stop.

    \b
    Examples:
      harness view
      harness view --out runs --open
    """
    import asyncio

    from harness.report.served.run_pages import RunPages, serve_runs
    from harness.runs.run_folder import default_out

    def announce(address: str) -> None:
        echo(f"Open {address}\nPress Ctrl-C to stop.")
        if wanted.open_view:
            typer.launch(address)

    pages = RunPages(place.out or default_out(), show_raters=wanted.show_raters)
    asyncio.run(serve_runs(pages, port=wanted.view_port or 0, announce=announce))
