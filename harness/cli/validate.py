"""`harness validate`: compute every number, from a run folder or another tool's verdicts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, echo_validation
from harness.options.concerns import (
    OWN_VERDICTS,
    Choices,
    DecisionPrinting,
    Ledger,
    Printing,
    TaskOption,
    Validating,
)
from harness.options.declaration import leave_out
from harness.options.result_options import VerdictFile

if TYPE_CHECKING:
    from harness.analysis import Validation


class ValidateSubject(VerdictFile, TaskOption):
    """Options for the verdicts to validate."""


@takes
def validate(
    run: Annotated[
        Path | None, typer.Argument(help="A run folder, whose metrics and report are rewritten.")
    ] = None,
    *,
    subject: ValidateSubject,
    validating: Validating,
    choices: Choices,
    ending: DecisionPrinting,
) -> None:
    """Validate verdicts against human ratings. Without verdicts, summarise the ratings.

    \b
    Examples:
      harness validate --task diagnoses
      harness validate --task ./my-task --verdicts verdicts.csv
      harness validate --task ./my-task --verdicts verdicts.csv --holdout 0.3
      harness validate runs/toxicity-20260101T120000Z-1a2b3c
      harness validate runs/toxicity-20260101T120000Z-1a2b3c --beta 0.3 --tau 0.4
    """
    from harness.app.run import validate_run, validate_verdicts
    from harness.runs.run_folder import RunFolder

    validation: Validation
    if run is not None:
        given = subject.model_fields_set | validating.model_fields_set - Ledger.model_fields.keys()
        leave_out(given, OWN_VERDICTS)
        folder = RunFolder.open(run)
        validation = validate_run(folder, choices, new_ledger=validating.new_ledger)
        if folder.kept_metrics and not choices.explicit():
            echo(folder.kept_metrics, err=True)
    elif subject.task is not None:
        validation = validate_verdicts(subject.task, subject.verdicts, validating, choices)
    else:
        raise typer.BadParameter("pass a run folder, or a task with --task")
    is_plain = not choices.explicit() and not validating.model_fields_set
    place = _report_command(subject) if is_plain and not ending.quiet else ""
    print_validation(validation, ending, place)
    raise typer.Exit(options.exit_code_of(validation, ending.fail_unless))


def _report_command(subject: ValidateSubject) -> str:
    """Return a line with the command that writes a verdict file's report, or "" without one."""
    if subject.task is None or subject.verdicts is None:
        return ""
    words = ["harness", "report", "--task", subject.task, "--verdicts", str(subject.verdicts)]
    return f"Report: `{shlex.join(words)}`"


def print_validation(validation: Validation, printing: Printing, place: str = "") -> None:
    """Print a validation as JSON, or as text followed by how to see its items."""
    from harness.analysis.serialize import indented

    if printing.as_json:
        echo_json(indented(validation.to_json()))
        return
    details = printing.details and not printing.quiet
    echo_validation(validation, details=details, n_lines_below=bool(place))
    if place:
        echo(place)
