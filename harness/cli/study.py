"""`harness lab study`: combine the results of several tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.binding import takes
from harness.cli.output import echo, echo_result, write
from harness.files.plain_text import SCREEN_LINES
from harness.options.concerns import JsonOrDetails, Out
from harness.options.result_options import Page

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.analysis import Validation
    from harness.analysis.inputs import Source


@takes
def study(
    runs: Annotated[
        list[str], typer.Argument(help="Runs, by name or path, each of a different task.")
    ],
    *,
    page: Page,
    place: Out,
    printing: JsonOrDetails,
) -> None:
    """Compare runs of several tasks: decisions, beta-hat per judge, cost of selecting by a metric.

    The page also has figures for each task: the annotator test by items and by margin, and
    agreement by the raters' certainty.

    \b
    Examples:
      harness lab study runs/coherence-20260101T120000Z-1a2b3c RUN_B
      harness lab study RUN_A RUN_B --page study.html
      harness run --task toxicity,diagnoses --judges gpt,claude
    """
    from harness.report.rebuild import validation_of
    from harness.runs.run_folder import find_run
    from harness.runs.sources import source_of

    folders = [find_run(place.out, run) for run in runs]
    sources = {folder.path.name: source_of(folder) for folder in folders}
    validations = {
        folder.path.name: validation_of(folder, sources[folder.path.name]) for folder in folders
    }
    print_study(validations, page=page.page, sources=sources, printing=printing)


def print_study(
    validations: Mapping[str, Validation],
    *,
    page: Path | None = None,
    sources: Mapping[str, Source] | None = None,
    printing: JsonOrDetails,
) -> None:
    """Print the results for several tasks, or write them as a page with figures for each one."""
    from harness.analysis.study import study as study_of
    from harness.report.judge_charts import metric_label
    from harness.report.study_page import study_page, study_text

    found = study_of(validations)
    names = {
        name: metric_label(v, name)
        for v in validations.values()
        for judge in v.judges
        for name in judge.metrics
    }
    if page is not None:
        from harness.analysis.study_figures import task_figures

        figures = {
            validations[run].task.name: task_figures(source, validations[run])
            for run, source in (sources or {}).items()
        }
        by_task = {v.task.name: v for v in validations.values()}
        write(page, study_page(found, names, figures, by_task))
        echo(str(page))
    elif printing.as_json:
        echo_result(found)
    else:
        echo(study_text(found, names, most_lines=None if printing.details else SCREEN_LINES))
