"""`harness report`: write a run's report, compare two runs, or list all runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.lists import print_runs
from harness.cli.output import echo, echo_json
from harness.errors import OptionError
from harness.options.concerns import JsonOrDetails
from harness.options.declaration import leave_out, option
from harness.options.result_options import Page, RaterNames, RunOrVerdicts

if TYPE_CHECKING:
    from harness.report.rebuild import ReportFiles


class ReportOptions(RaterNames, Page):
    """Options for the files to write, and for opening the report."""

    page: Path | None = option(
        None, "With {task}: file to write the report to. Default: <task>-report.html."
    )
    open_page: bool = option(False, "Open the report in a browser.", flag="--open")
    charts: Path | None = option(None, "Write each chart into this folder, as SVG and PNG.")
    listing: bool = option(
        False, "List run folders, newest first, and write nothing.", flag="--list"
    )

    def check(
        self,
        subject: RunOrVerdicts,
        printing: JsonOrDetails,
        run: str | None,
        other: str | None,
    ) -> None:
        """Raise an error for options that do not affect the report."""
        given = self.model_fields_set
        if self.listing:
            given = given | subject.model_fields_set - {"out"}
            leave_out(given - {"listing"}, "{listing} lists all runs and writes nothing")
            if run is not None:
                raise OptionError("listing", "it lists all runs", "Leave out RUN")
        elif subject.task is None:
            leave_out(given & {"page"}, "the report of a run is in its folder")
            leave_out(given & {"charts"} if other else (), "two runs are compared without charts")
        if not other:
            leave_out(printing.model_fields_set & {"details"}, "{details} is for two runs")


@takes
def report(
    run: options.FinishedRun = None,
    other: Annotated[
        str | None, typer.Argument(help="A second run, to compare with the first.")
    ] = None,
    *,
    subject: RunOrVerdicts,
    wanted: ReportOptions,
    printing: JsonOrDetails,
) -> None:
    """Write a run's report, judge card and metrics table, using only its folder.

    \b
    Examples:
      harness report
      harness report runs/toxicity-20260101T120000Z-1a2b3c --charts charts
      harness report RUN_A RUN_B --open
      harness report --task ./my-task --verdicts verdicts.csv
      harness report --list
    """
    wanted.check(subject, printing, run, other)
    if wanted.listing:
        print_runs(subject.out, as_json=printing.as_json)
        return
    from harness.report.rebuild import report_source
    from harness.runs.sources import source_of_verdicts

    if (task := subject.task_instead_of(run)) is not None:
        source = source_of_verdicts(task, subject.verdicts)
        file = wanted.page or Path(f"{source.task.name}-report.html")
        written = report_source(source, file, charts=wanted.charts, show_raters=wanted.show_raters)
    else:
        written = _report_runs(subject.out, run, other, wanted, details=printing.details)
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
    out: Path | None,
    run: str | None,
    other: str | None,
    wanted: ReportOptions,
    *,
    details: bool,
) -> ReportFiles:
    from harness.report.rebuild import report_comparison, report_run
    from harness.runs.run_folder import find_run

    folders = [find_run(out, name) for name in ((run, other) if other else (run,))]
    shown = wanted.show_raters
    written = (
        report_comparison(*folders, show_raters=shown, details=details)
        if other
        else report_run(folders[0], charts=wanted.charts, show_raters=shown)
    )
    for folder in folders:
        if folder.kept_metrics:
            echo(folder.kept_metrics, err=True)
    return written
