"""Options that several verbs share, so that they have one name and one help text everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis.inputs import Choices


def split(names: str | None, option: str) -> list[str] | None:
    """Read a comma-separated list; None where the option was not given."""
    if names is None:
        return None
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise typer.BadParameter("name at least one", param_hint=option)
    return found


def task_names(incomplete: str) -> list[str]:
    """Return the names of tasks that begin like this; a shell completes paths by itself."""
    from harness.tasks.folders import available_tasks

    return [name for name, _ in available_tasks() if name.startswith(incomplete)]


Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        "-t",
        help="Name of a task, or path of a task folder.",
        autocompletion=task_names,
    ),
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
Beta = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Assume how often raters who chose a negative option would endorse a positive one.",
    ),
]
Family = Annotated[
    str | None,
    typer.Option(
        help="With --beta, the chosen option stays in the set (keeps_choice) or not (table_2)."
    ),
]
Mode = Annotated[
    str | None,
    typer.Option(help="CANNOT_ASSESS is left out (exclude), negative (recode), or third_class."),
]
Level = Annotated[
    str | None,
    typer.Option(
        help="Average over decisions (micro), criteria (macro), or judge whole items (item)."
    ),
]
Unanswered = Annotated[
    str | None,
    typer.Option(
        help="In the alternative annotator test, an item without an answer: loss, exclude."
    ),
]
Confidence = Annotated[
    float | None, typer.Option(help="Confidence level of the intervals; 0.95 by default.")
]
Interval = Annotated[
    str | None, typer.Option(help="How intervals are made: percentile, bca or jackknife.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
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


BESIDE_A_RUN = frozenset(
    {"resume", "run_name", "max_cost", "dry_run", "out", "cache", "use_cache", "quiet", "as_json"}
)
BESIDE_AN_EXAMPLE = frozenset({"name", "yes", "as_json"})


def refuse_what_is_settled(ctx: typer.Context) -> None:
    """Refuse options that a run which is gone on with was begun with, in place of ignoring them."""
    for option in _given_beside(ctx, BESIDE_A_RUN):
        raise typer.BadParameter(
            f"a run goes on as it was begun; leave {option} out, or start a new run"
        )


def refuse_without_a_table(ctx: typer.Context) -> None:
    """Refuse options that say how a table is read where there is none."""
    for option in _given_beside(ctx, BESIDE_AN_EXAMPLE):
        raise typer.BadParameter(
            f"{option} goes with --from FILE, a table; leave it out to write the example"
        )


def _given_beside(ctx: typer.Context, allowed: frozenset[str]) -> Iterator[str]:
    """Yield the options on the command line that are not among those allowed."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        source = ctx.get_parameter_source(name)
        if name not in allowed and source is not None and source.name == "COMMANDLINE":
            yield parameter.opts[0]


def choices(**made: object) -> Choices:
    """Read what the user chose about the numbers; one that cannot be is a wrong command."""
    from pydantic import ValidationError

    from harness.analysis.inputs import Choices

    try:
        return Choices.model_validate(made)
    except ValidationError as error:
        first = error.errors()[0]
        name = f"--{first['loc'][0]}"
        raise typer.BadParameter(f"{first['input']!r}: {first['msg']}", param_hint=name) from None
