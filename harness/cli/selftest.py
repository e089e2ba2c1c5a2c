"""`harness lab selftest`: check the whole analysis on simulated data like yours."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, write
from harness.errors import RunError
from harness.extras.experiments.selftest_options import SelftestOptions, TestedVerdicts
from harness.options.concerns import Json, Seed
from harness.options.result_options import Page

if TYPE_CHECKING:
    from pathlib import Path

    from harness.analysis import Source


@takes
def selftest(
    task: Annotated[
        str | None,
        typer.Argument(help="Task whose design is simulated. Default: a design from the options."),
    ] = None,
    *,
    tested: TestedVerdicts,
    page: Page,
    wanted: SelftestOptions,
    seed: Seed,
    printing: Json,
) -> None:
    """Simulate data like yours with a known truth, and check the whole analysis on it.

    Simulated raters and judges are like a task's, or follow your options. The command analyses each
    data set as `validate` does. It then shows how often the right judge is recommended, how often
    claims are true or false, and how often intervals contain the truth.

    \b
    Examples:
      harness lab selftest diagnoses --quick
      harness lab selftest TASK --verdicts FILE --data-sets 1000
      harness lab selftest --run RUN
      harness lab selftest --items 200 --raters 3 --agreement 0.8 --page FILE
    """
    from harness.analysis.serialize import to_json
    from harness.extras.experiments.planted_design import design_of, given_design
    from harness.extras.experiments.self_test import run_selftest
    from harness.extras.experiments.self_test_page import selftest_page
    from harness.extras.experiments.self_test_text import described
    from harness.files.regular_files import writing_to
    from harness.report.rebuild import report_run
    from harness.runs.run_folder import SELFTEST_FILE, find_run
    from harness.runs.sources import compared_source

    tested.check(task)
    folder = None if tested.run is None else find_run(None, tested.run)
    if folder is not None:
        design = design_of(compared_source(folder), wanted)
    elif task is None:
        design = given_design(wanted)
    else:
        design = design_of(_source(task, tested.verdicts, seed.seed), wanted)
    file = page.page
    if file is not None:  # before the data sets are drawn, which takes minutes
        with writing_to(file, RunError):
            file.parent.mkdir(parents=True, exist_ok=True)
        write(file, "")
    result = run_selftest(design, wanted, seed.seed)
    if file is not None:
        write(file, selftest_page(result))
    if printing.as_json:
        echo_json(asdict(result))
    else:
        echo(described(result))
    if folder is not None:
        folder.write(SELFTEST_FILE, to_json(result))
        written = report_run(folder)
        if not printing.as_json:
            echo(f"\nAdded to {written.files[0]}")


def _source(task: str, verdicts: Path | None, seed: int) -> Source:
    from harness.runs.sources import source_of_verdicts, source_on_task
    from harness.tasks import load_task

    if verdicts is None:
        return source_of_verdicts(task, None)
    return source_on_task(load_task(task), verdicts, seed=seed)
