"""`harness validate`: compute every number from a run folder, or from verdicts of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json

if TYPE_CHECKING:
    from harness.analysis import Validation


@options.group("choices", options.CHOICES)
def validate(
    run: Annotated[
        Path | None, typer.Argument(help="A run folder; its metrics and report are rewritten.")
    ] = None,
    *,
    task: options.Task = None,
    verdicts: Annotated[
        Path | None,
        typer.Option(
            help="Verdicts of another tool: jsonl, csv or parquet with item, judge, value."
        ),
    ] = None,
    limit: options.Limit = None,
    criterion: options.Criterion = None,
    choices: dict[str, Any],
    fail_unless: options.FailUnless = None,
    seed: options.Seed = 0,
    new_ledger: options.NewLedger = False,
    as_json: options.Json = False,
    details: options.Details = False,
    quiet: options.Quiet = False,
) -> None:
    """Validate verdicts against human ratings; without verdicts, describe the human ratings.

    \b
    Examples:
      harness validate --task diagnoses
      harness validate --task ./my-task --verdicts verdicts.csv
      harness validate runs/toxicity-20260101T120000Z-1a2b3c
      harness validate runs/toxicity-20260101T120000Z-1a2b3c --beta 0.3 --tau 0.4
    """
    from harness.analysis.serialize import indented
    from harness.app import validate_run, validate_verdicts
    from harness.report.text import render
    from harness.runs import RunFolder

    options.check_fail_unless(fail_unless)
    checked = options.checked_choices(choices)
    validation: Validation
    if run is not None:
        if task or verdicts:
            raise typer.BadParameter("give a run folder, or --task and --verdicts, not both")
        folder = RunFolder.open(run)
        validation = validate_run(folder, checked, new_ledger=new_ledger)
        if folder.kept_metrics and not checked.explicit():
            echo(folder.kept_metrics, err=True)
    elif task is not None:
        validation = validate_verdicts(
            task,
            verdicts,
            criterion=criterion,
            limit=limit,
            choices=checked,
            seed=seed,
            new_ledger=new_ledger,
        )
    else:
        raise typer.BadParameter("name a run folder, or a task with --task")
    if as_json:
        echo_json(indented(validation.to_json()))
    else:
        echo(render(validation, details=details and not quiet))
    raise typer.Exit(options.exit_code_of(validation, fail_unless))
