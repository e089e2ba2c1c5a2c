"""`harness gate`: check a finished run against requirements."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_json, write
from harness.errors import ExitCode
from harness.options.concerns import Json, Out
from harness.options.declaration import Options, Repeated, option


class GateOptions(Options):
    """Options for the requirements that a run must meet, and for the result files."""

    require: Repeated = option(
        ...,
        "Requirement, such as decision=use or 'cohen_kappa(h/h)>0.6:lower' (the lower end of "
        "the interval). Repeatable.",
    )
    junit: Path | None = option(None, "Write the results as JUnit XML.")
    summary: Path | None = option(None, "Append the results to this file, as Markdown.")


@takes
def gate(
    run: options.FinishedRun = None, *, wanted: GateOptions, place: Out, printing: Json
) -> None:
    """Check a finished run against requirements. Exit with code 1 if one fails.

    Requirements apply to the judge named in the decision. To check a different judge, name it:
    'gpt: usable_replies>=0.95'. A requirement fails if its value is NA. difference(B,A)
    is the mean of B minus that of A in the last `harness estimate --by`.

    \b
    Examples:
      harness gate --require decision=use
      harness gate RUN --require 'mse(srs/srs)<0.2:upper' --junit gate.xml
      harness gate RUN --require 'difference(B,A):lower > 0'
    """
    from harness.analysis.serialize import to_json
    from harness.app.gates import check_requirements, gate_junit, gate_summary, gate_table
    from harness.report.rebuild import validation_of
    from harness.runs.estimated_differences import read_differences
    from harness.runs.run_folder import find_run
    from harness.runs.sources import source_of

    folder = find_run(place.out, run)
    validation = validation_of(folder, source_of(folder))
    results = check_requirements(validation, wanted.require, read_differences(folder))
    passed = all(result.passed for result in results)
    if wanted.junit is not None:
        write(wanted.junit, gate_junit(folder.path.name, results))
    if wanted.summary is not None:
        write(wanted.summary, gate_summary(folder.path.name, results), append=True)
    if printing.as_json:
        echo_json({"passed": passed, "requirements": json.loads(to_json(results))})
    else:
        echo(gate_table(results))
    if not passed:
        raise typer.Exit(ExitCode.CHECK_FAILED)
    judges = validation.completeness().values()
    if judges and all(judge.standing == "not assessed" for judge in judges):
        raise typer.Exit(ExitCode.INCOMPLETE)
