"""`harness gate`: check a finished run against requirements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json, write
from harness.errors import ExitCode


def gate(
    run: options.FinishedRun = None,
    *,
    require: Annotated[
        list[str],
        typer.Option(
            help="What must hold, such as decision=use or 'cohen_kappa(h/h)>0.6:lower' (the lower "
            "end of the interval); repeat it for more."
        ),
    ],
    junit: Annotated[Path | None, typer.Option(help="Write the results as JUnit XML.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Append the results to this file, as Markdown.")
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Check a finished run against requirements; exit with 1 if one is not met.

    A number belongs to the judge that the decision names, unless a judge is named as in
    'gpt: usable_replies>=0.95'. A number that is NA fails.

    \b
    Examples:
      harness gate --require decision=use
      harness gate RUN --require 'mse(srs/srs)<0.2:upper' --junit gate.xml
    """
    from harness.analysis.serialize import to_json
    from harness.gates import check_requirements, gate_junit, gate_summary, gate_table
    from harness.report.rebuild import validation_of
    from harness.runs import find_run
    from harness.sources import source_of

    folder = find_run(out, run)
    results = check_requirements(validation_of(folder, source_of(folder)), require)
    passed = all(result.passed for result in results)
    if junit is not None:
        write(junit, gate_junit(folder.path.name, results))
    if summary is not None:
        write(summary, gate_summary(folder.path.name, results), append=True)
    if as_json:
        echo_json({"passed": passed, "requirements": json.loads(to_json(results))})
    else:
        echo(gate_table(results))
    if not passed:
        raise typer.Exit(ExitCode.CHECK_FAILED)
