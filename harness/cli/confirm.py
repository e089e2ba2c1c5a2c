"""`harness confirm`: decide on a judge, using the held-out items."""

from __future__ import annotations

from pathlib import Path

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.option_panels import PanelCommand
from harness.cli.run import print_costs, print_result, run_with_progress
from harness.cli.validate import print_validation
from harness.errors import ExitCode
from harness.options.concerns import (
    Choices,
    Criterion,
    DecisionPrinting,
    Handling,
    Limit,
    MovedTask,
    RunPlace,
    Seed,
    Server,
    TaskOption,
)
from harness.options.declaration import option
from harness.options.result_options import JudgeName, VerdictFile

app = typer.Typer(name="confirm", cls=options.DefaultGroup, rich_markup_mode=None)


@app.callback()
def confirm() -> None:
    """Decide on one judge from the items that `run --holdout` or `validate --holdout` held out.

    Without a command this is `harness confirm run`.

    \b
    Examples:
      harness confirm toxicity-20260101T120000Z-1a2b3c --judge gpt
      harness confirm verdicts --task ./my-task --verdicts verdicts.csv --judge mine
      harness confirm run --help
    """


class ConfirmedJudge(JudgeName):
    """Option for the judge to confirm."""

    judge: str = option(
        ..., "The judge to confirm. You can confirm only one judge.", flag="--judge -j"
    )


class ConfirmedVerdicts(VerdictFile, TaskOption, ConfirmedJudge):
    """Options for the judge to confirm and for its verdicts on a task."""

    task: str = option(..., "Name of a task, or path of a task folder.", flag="--task -t")
    verdicts: Path = option(..., "Another tool's verdicts, which include held-out items.")


class ConfirmedItems(Seed, Criterion):
    """Options for the items to validate and for the resampling seed."""


class ConfirmedRun(MovedTask, ConfirmedJudge):
    """Options for a run and for the judge in this run to confirm."""


@app.command(
    "run", cls=PanelCommand, short_help="Run one of a run's judges on the held-out items (default)."
)
@takes
def confirm_run(
    run: options.FinishedRun = None,
    *,
    subject: ConfirmedRun,
    limit: Limit,
    server: Server,
    place: RunPlace,
    handling: Handling,
) -> None:
    """Run one judge on the items that `run --holdout` held out, and decide.

    The test counts only this judge, even if you tried several on the other items, and uses the
    run's options. You can confirm only one judge, once. The same command resumes an interrupted
    confirmation.

    \b
    Examples:
      harness confirm toxicity-20260101T120000Z-1a2b3c --judge gpt
      harness confirm run --judge gpt --max-cost 5
    """
    from harness.app.plan_of_run import plan_confirmation
    from harness.runs.run_folder import find_run

    folder = find_run(place.out, run)
    plan = plan_confirmation(folder, subject.judge, limit=limit, task=subject.task, server=server)
    if handling.dry_run:
        print_costs(plan, as_json=handling.as_json)
        return
    place = place.model_copy(update={"out": folder.path})
    result = run_with_progress(plan, place, quiet=handling.quiet)
    print_result(result, handling)
    codes = [result.exit_code, options.exit_code_of(result.validation, handling.fail_unless)]
    raise typer.Exit(ExitCode.most_important(codes))


@app.command("verdicts", cls=PanelCommand, short_help="Decide from another tool's verdicts.")
@takes
def confirm_verdicts(
    *,
    subject: ConfirmedVerdicts,
    items: ConfirmedItems,
    choices: Choices,
    ending: DecisionPrinting,
) -> None:
    """Decide on one judge from its verdicts on the items that `validate --holdout` held out.

    The test counts only this judge, even if you tried several on the other items. You can confirm
    only one judge, once. The command doesn't send any requests.

    \b
    Examples:
      harness confirm verdicts --task ./my-task --verdicts v.csv --judge mine
    """
    from harness.app.run import confirm_verdicts as decide
    from harness.options.concerns import Validating

    validating = Validating.of(items)
    validation = decide(subject.task, subject.verdicts, subject.judge, validating, choices)
    print_validation(validation, ending)
    raise typer.Exit(options.exit_code_of(validation, ending.fail_unless))
