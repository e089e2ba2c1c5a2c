"""`harness report`: write the report of a run, its charts and tables, or compare two runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json

if TYPE_CHECKING:
    from harness.report.rebuild import ReportFiles


def report(
    run: options.FinishedRun = None,
    other: Annotated[
        str | None, typer.Argument(help="A second run, to compare with the first.")
    ] = None,
    *,
    task: options.Task = None,
    verdicts: Annotated[
        Path | None, typer.Option(help="The verdicts: jsonl, csv or parquet.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="File of the report with --task; <task>-report.html by default."),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the report in a browser.")
    ] = False,
    charts: Annotated[
        Path | None, typer.Option(help="Write each chart into this folder, as SVG and PNG.")
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Write a run's report, judge card and table of metrics, from its folder alone.

    \b
    Examples:
      harness report
      harness report runs/toxicity-20260101T120000Z-1a2b3c --charts charts
      harness report RUN_A RUN_B --open
      harness report --task ./my-task --verdicts verdicts.csv
    """
    from harness.report.rebuild import report_source
    from harness.sources import source_of_verdicts

    if task is not None:
        if run is not None:
            raise typer.BadParameter("give a run, or --task and --verdicts, not both")
        source = source_of_verdicts(task, verdicts)
        file = page or Path(f"{source.task.name}-report.html")
        written = report_source(source, file, charts=charts)
    elif verdicts is not None or page is not None:
        raise typer.BadParameter("--verdicts and --page need --task")
    else:
        written = _report_runs(out, run, other, charts)
    if as_json:
        echo_json(_as_json(written))
    else:
        echo("\n".join(written.lines))
    if open_page:
        typer.launch(written.files[0].resolve().as_uri())


def _as_json(written: ReportFiles) -> dict[str, object]:
    from harness.analysis.serialize import to_json

    paired = written.comparison
    return {
        "files": [str(file) for file in written.files],
        "charts": None if written.charts is None else str(written.charts),
        "n_charts": written.n_charts,
        "svg_only": written.svg_only,
        "comparison": None if paired is None else json.loads(to_json(paired)),
    }


def _report_runs(
    out: Path | None, run: str | None, other: str | None, charts: Path | None
) -> ReportFiles:
    from harness.report.rebuild import report_comparison, report_run
    from harness.runs import find_run

    if other is not None and charts is not None:
        raise typer.BadParameter("--charts needs a single run")
    folders = [find_run(out, name) for name in ((run, other) if other else (run,))]
    written = report_comparison(*folders) if other else report_run(folders[0], charts=charts)
    for folder in folders:
        if folder.kept_metrics:
            echo(folder.kept_metrics, err=True)
    return written
