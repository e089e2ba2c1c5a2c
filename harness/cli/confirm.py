"""`harness confirm`: ask a judge about the items that were held out."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.run import print_costs, print_result, run_with_progress
from harness.command_options import CONFIRM, Handling, Limit, RunPlace, Server, Task
from harness.errors import ExitCode


@takes(CONFIRM)
def confirm(
    run: options.FinishedRun = None,
    *,
    judge: Annotated[str, typer.Option(help="The judge of that run to confirm; only one can be.")],
    subject: Task,
    limit: Limit,
    server: Server,
    place: RunPlace,
    handling: Handling,
) -> None:
    """Ask one judge of a run about the items that `run --holdout` held out, and decide.

    It is tested as the only judge, however many were tried on the other items. Only one judge can
    be confirmed, once. The same command resumes an interrupted confirmation.

    \b
    Examples:
      harness confirm toxicity-20260101T120000Z-1a2b3c --judge gpt
      harness confirm --judge gpt --max-cost 5
    """
    from harness.run_plans import plan_confirmation
    from harness.runs import find_run

    folder = find_run(place.out, run)
    plan = plan_confirmation(folder, judge, limit=limit, task=subject.task, server=server)
    if handling.dry_run:
        print_costs(plan, as_json=handling.as_json)
        return
    place = place.model_copy(update={"out": folder.path})
    result = run_with_progress(plan, place, quiet=handling.quiet)
    print_result(result, handling)
    codes = [result.exit_code, options.exit_code_of(result.validation, handling.fail_unless)]
    raise typer.Exit(ExitCode.most_important(codes))
