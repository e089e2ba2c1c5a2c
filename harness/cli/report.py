"""`harness report`: write a run's report, compare two runs, or list all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.lists import print_runs
from harness.cli.output import echo, echo_json
from harness.options.concerns import Json, Out, Page, RaterNames, TaskOption, VerdictFile
from harness.options.declaration import REPORT, REPORT_LIST, REPORT_TASK, REPORT_TWO, option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.report.rebuild import ReportFiles


class ReportOptions(RaterNames, Page):
    """What is written beside a report, and whether it is shown."""

    open_page: bool = option(
        False, "Open the report in a browser.", (REPORT, REPORT_TASK, REPORT_TWO), flag="--open"
    )
    charts: Path | None = option(
        None, "Write each chart into this folder, as SVG and PNG.", (REPORT, REPORT_TASK)
    )
    listing: bool = option(
        False, "List run folders, newest first, and write nothing.", (REPORT_LIST,), flag="--list"
    )


def _use(values: Mapping[str, Any]) -> str:
    """Return whether runs are listed, or a run, two runs or other verdicts are reported."""
    if values["listing"]:
        if values["run"] is not None:
            raise typer.BadParameter("lists all runs. Leave RUN out", param_hint="--list")
        return REPORT_LIST
    if values["task"] is None:
        return REPORT if values["other"] is None else REPORT_TWO
    if values["run"] is not None:
        raise typer.BadParameter("give a run, or --task and --verdicts, not both")
    return REPORT_TASK


@takes(REPORT, REPORT_TASK, REPORT_TWO, REPORT_LIST, use=_use)
def report(
    run: options.FinishedRun = None,
    other: Annotated[
        str | None, typer.Argument(help="A second run, to compare with the first.")
    ] = None,
    *,
    subject: TaskOption,
    verdicts: VerdictFile,
    wanted: ReportOptions,
    place: Out,
    printing: Json,
) -> None:
    """Write a run's report, judge card and table of metrics, from its folder alone.

    \b
    Examples:
      harness report
      harness report runs/toxicity-20260101T120000Z-1a2b3c --charts charts
      harness report RUN_A RUN_B --open
      harness report --task ./my-task --verdicts verdicts.csv
      harness report --list
    """
    if wanted.listing:
        print_runs(place.out, as_json=printing.as_json)
        return
    from harness.report.rebuild import report_source
    from harness.runs.sources import source_of_verdicts

    if subject.task is not None:
        source = source_of_verdicts(subject.task, verdicts.verdicts)
        file = wanted.page or Path(f"{source.task.name}-report.html")
        written = report_source(source, file, charts=wanted.charts, show_raters=wanted.show_raters)
    else:
        written = _report_runs(place.out, run, other, wanted)
    if printing.as_json:
        echo_json(_as_json(written))
    else:
        echo("\n".join(written.lines))
    if wanted.open_page:
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
    out: Path | None, run: str | None, other: str | None, wanted: ReportOptions
) -> ReportFiles:
    from harness.report.rebuild import report_comparison, report_run
    from harness.runs.run_folder import find_run

    folders = [find_run(out, name) for name in ((run, other) if other else (run,))]
    shown = wanted.show_raters
    written = (
        report_comparison(*folders, show_raters=shown)
        if other
        else report_run(folders[0], charts=wanted.charts, show_raters=shown)
    )
    for folder in folders:
        if folder.kept_metrics:
            echo(folder.kept_metrics, err=True)
    return written
