"""`harness confirm`: ask a judge about the items that were held out."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from harness.cli import options
from harness.cli.run import PLACE, print_costs, print_result, run_with_progress
from harness.errors import ExitCode


@options.group("limits", {name: options.LIMITS[name] for name in ("max_cost", "max_cost_soft")})
@options.group("server", options.SERVER)
@options.group("place", PLACE, executor="local", use_cache=True)
def confirm(
    run: options.FinishedRun = None,
    *,
    judge: Annotated[str, typer.Option(help="The judge of that run to confirm; only one can be.")],
    task: options.Task = None,
    limits: dict[str, Any],
    dry_run: options.DryRun = False,
    server: dict[str, Any],
    fail_unless: options.FailUnless = None,
    out: options.Out = None,
    place: dict[str, Any],
    details: options.Details = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Ask one judge of a run about the items that `run --holdout` held out, and decide.

    It is tested as the only judge, however many were tried on the other items. Only one judge can
    be confirmed, once. The same command resumes an interrupted confirmation.

    \b
    Examples:
      harness confirm toxicity-20260101T120000Z-1a2b3c --judge gpt
      harness confirm --judge gpt --max-cost 5
    """
    from harness.app import plan_confirmation
    from harness.runs import find_run

    options.check_fail_unless(fail_unless)
    folder = find_run(out, run)
    plan = plan_confirmation(folder, judge, task=task, **limits, **server)
    if dry_run:
        print_costs(plan, as_json=as_json)
        return
    result = run_with_progress(plan, quiet=quiet, out=folder.path, **place)
    print_result(result, quiet=quiet, as_json=as_json, details=details)
    codes = [result.exit_code, options.exit_code_of(result.validation, fail_unless)]
    raise typer.Exit(ExitCode.most_important(codes))
