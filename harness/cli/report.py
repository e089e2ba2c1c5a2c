"""`harness report`: the page, its charts and tables again, or two runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options


def report(
    run: Annotated[
        str | None, typer.Argument(help="A run, by name or path; the newest by default.")
    ] = None,
    other: Annotated[
        str | None, typer.Argument(help="A second run, to show beside the first.")
    ] = None,
    *,
    open_it: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    charts: Annotated[
        Path | None, typer.Option(help="Write each chart into this folder, as SVG and PNG.")
    ] = None,
    out: options.Out = None,
) -> None:
    """Write a run's page, judge card and table of metrics, from its folder alone.

    \b
    Examples:
      harness report
      harness report runs/toxicity-20260101T120000Z-1a2b3c --charts charts
      harness report RUN_A RUN_B --open
    """
    from harness.report.again import find_reported, report_beside, report_run
    from harness.runs import default_out

    out = out or default_out()
    folder = find_reported(out, run)
    if other is None:
        lines = report_run(folder, charts=charts)
        page = folder.path / "report.html"
    elif charts is not None:
        raise typer.BadParameter("charts are of one run; leave --charts or the second run out")
    else:
        page = report_beside(folder, find_reported(out, other))
        lines = [str(page)]
    typer.echo("\n".join(lines))
    if open_it:
        typer.launch(page.resolve().as_uri())
