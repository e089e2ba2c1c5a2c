"""`harness confirm`: decide on a judge by the items that were held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.run import print_costs, print_result, run_with_progress
from harness.cli.validate import print_validation
from harness.errors import ExitCode
from harness.options.concerns import (
    Choices,
    Handling,
    JudgeName,
    Limit,
    RunPlace,
    Server,
    TaskOption,
    Validating,
    VerdictFile,
)
from harness.options.declaration import CONFIRM, CONFIRM_VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping


class ConfirmSubject(VerdictFile, TaskOption, JudgeName):
    """Which judge is confirmed, of a run or of verdicts on a task."""


def _use(values: Mapping[str, Any]) -> str:
    """Return what is confirmed: a judge of a run, or of verdicts, which go with a task alone."""
    if values["verdicts"] is None:
        return CONFIRM
    if values["run"] is not None or values["task"] is None:
        raise typer.BadParameter("give a run, or --task and --verdicts, not both")
    return CONFIRM_VERDICTS


@takes(CONFIRM, CONFIRM_VERDICTS, use=_use)
def confirm(
    run: options.FinishedRun = None,
    *,
    subject: ConfirmSubject,
    validating: Validating,
    choices: Choices,
    limit: Limit,
    server: Server,
    place: RunPlace,
    handling: Handling,
) -> None:
    """Decide on one judge by the items that `run --holdout` or `validate --holdout` held out.

    It is tested as the only judge, however many were tried on the other items. Only one judge can
    be confirmed, once. A judge of a run is asked; the same command resumes an interrupted
    confirmation. With --verdicts nothing is asked.

    \b
    Examples:
      harness confirm toxicity-20260101T120000Z-1a2b3c --judge gpt
      harness confirm --judge gpt --max-cost 5
      harness confirm --task ./my-task --verdicts verdicts.csv --judge mine
    """
    from harness.app.plan_of_run import plan_confirmation
    from harness.app.run import confirm_verdicts
    from harness.runs.run_folder import find_run

    if subject.verdicts is not None and subject.task is not None:
        validation = confirm_verdicts(
            subject.task, subject.verdicts, subject.judge, validating, choices
        )
        print_validation(validation, handling)
        raise typer.Exit(options.exit_code_of(validation, handling.fail_unless))
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
