"""`harness systems`: rank the systems that a pairwise task compares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import options
from harness.cli.output import echo, echo_result


def systems(
    run: options.FinishedRun = None,
    *,
    task: options.Task = None,
    verdicts: Annotated[
        Path | None, typer.Option(help="With --task: the verdicts, jsonl, csv or parquet.")
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Print a table of every pair of systems, too.")
    ] = False,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Rank the systems that a pairwise task compares, by its raters and by each judge.

    Win rates and strengths of the Bradley-Terry model, and the agreement of each judge with a
    rater under three conventions for ties, with intervals. task.yaml names the fields with the
    systems under `pairwise`.

    \b
    Examples:
      harness systems
      harness systems runs/battles-20260101T120000Z-1a2b3c --json
      harness systems --task ./battles --verdicts verdicts.csv
    """
    from harness.analysis.systems import rank_systems
    from harness.report.text import systems_text

    ranking = rank_systems(options.source(run, task, verdicts, out))
    if as_json:
        echo_result(ranking)
    else:
        echo(systems_text(ranking, pairs=pairs))
