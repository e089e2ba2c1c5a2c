"""`harness lab systems`: rank the systems that a pairwise task compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from harness.cli import options
from harness.cli.binding import takes
from harness.cli.output import echo, echo_result
from harness.options.concerns import Json, Out, TaskOption, VerdictFile
from harness.options.declaration import SYSTEMS, SYSTEMS_TASK, Options, option

if TYPE_CHECKING:
    from collections.abc import Mapping


class SystemsOptions(Options):
    """What is printed about the systems."""

    every_pair: bool = option(
        False,
        "Print a table of every pair of systems, too.",
        (SYSTEMS, SYSTEMS_TASK),
        flag="--pairs",
    )


def _use(values: Mapping[str, Any]) -> str:
    """Return whether a run is ranked, or verdicts made elsewhere."""
    if values["task"] is not None and values["run"] is not None:
        raise typer.BadParameter("give a run, or --task and --verdicts, not both")
    return SYSTEMS if values["task"] is None else SYSTEMS_TASK


@takes(SYSTEMS, SYSTEMS_TASK, use=_use)
def systems(
    run: options.FinishedRun = None,
    *,
    subject: TaskOption,
    verdicts: VerdictFile,
    wanted: SystemsOptions,
    place: Out,
    printing: Json,
) -> None:
    """Rank the systems that a pairwise task compares, by its raters and by each judge.

    Win rates and strengths of the Bradley-Terry model, and the agreement of each judge with a
    rater under three conventions for ties, with intervals. task.yaml names the fields with the
    systems under `pairwise`.

    \b
    Examples:
      harness lab systems
      harness lab systems runs/battles-20260101T120000Z-1a2b3c --json
      harness lab systems --task ./battles --verdicts verdicts.csv
    """
    from harness.analysis.systems import rank_systems
    from harness.report.text import systems_text
    from harness.runs.run_folder import find_run
    from harness.runs.sources import compared_source, source_of_verdicts

    if subject.task is None:
        source = compared_source(find_run(place.out, run))
    else:
        source = source_of_verdicts(subject.task, verdicts.verdicts)
    ranking = rank_systems(source)
    if printing.as_json:
        echo_result(ranking)
    else:
        echo(systems_text(ranking, pairs=wanted.every_pair))
