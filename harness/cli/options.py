"""Options that several verbs share, so that they have one name and one help text everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def split(names: str | None) -> list[str] | None:
    """Read a comma-separated list; None where the option was not given."""
    if names is None:
        return None
    return [name.strip() for name in names.split(",") if name.strip()]


Task = Annotated[
    str, typer.Option("--task", "-t", help="Name of a task, or path of a task folder.")
]
Tau = Annotated[
    float | None,
    typer.Option(
        help="Share of raters who must allow an option for it to count; the task's by default."
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        help="Metric that ranks, e.g. 'hit_rate(h/h)'; by default what the ratings allow."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Resamples = Annotated[int, typer.Option(min=100, help="Bootstrap replicates behind each interval.")]
Criterion = Annotated[str | None, typer.Option(help="Only items with this criterion.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first N items.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result alone.")]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder that holds the run folders; $HARNESS_RUNS or ./runs by default."),
]
JudgesFile = Annotated[
    Path | None,
    typer.Option(help="A judges.yaml of your own; its aliases come before the shipped ones."),
]
