"""`harness curate sample`: a task of sampled items."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import options
from harness.cli.output import echo, echo_json

if TYPE_CHECKING:
    from collections.abc import Sequence


def sample(
    task: Annotated[str, typer.Argument(help="Name or path of a task.")],
    *,
    name: Annotated[str, typer.Option("--as", help="Name or path of the folder to make.")],
    items: Annotated[int, typer.Option(min=1, help="Number of items.")],
    by: Annotated[
        Literal["disagreement", "criterion", "group"],
        typer.Option(help="What the sample has equal numbers of."),
    ] = "disagreement",
    levels: Annotated[
        str, typer.Option(help="By disagreement: per cents positive, in steps of ten.")
    ] = "10,20,30,40,50",
    split: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Write two tasks by group; this share of groups for calibration."
        ),
    ] = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Draw equal numbers of items by disagreement, criterion or group, with their ratings.

    Every item keeps its inclusion probability; the task's notice says that its numbers describe
    the sample. Ids are made of content and occurrence number.

    \b
    Examples:
      harness curate sample ./mine --as chosen --items 200
      harness curate sample ./mine --as chosen --items 300 --by group --split 0.3
    """
    import numpy as np

    from harness.cli.lists import show
    from harness.curation.convert import check_new
    from harness.curation.sampling import PARTS, draw_sample, split_by_group, write_sample
    from harness.tasks import load_task

    source, folder = load_task(task), options.task_folder(name)
    rng = np.random.default_rng(seed)
    drawn = draw_sample(source, by, items, rng=rng, levels=_levels(levels))
    written = {folder: drawn}
    if split is not None:
        paths = [folder.with_name(f"{folder.name}-{part}") for part in PARTS]
        written = dict(zip(paths, split_by_group(source, drawn, split, rng=rng), strict=True))
    for path in written:
        check_new(path)
    for path, part in written.items():
        write_sample(source, part, path, by)
    if as_json:
        folders = {str(path): len(part.probabilities) for path, part in written.items()}
        strata = [asdict(stratum) for stratum in drawn.strata]
        summary = {"folders": folders, "strata": strata, "n_outside": drawn.n_outside}
        echo_json(json.dumps(summary, indent=2))
        return
    show(
        [{"stratum": s.name, "items": s.n_items, "sampled": s.n_sampled} for s in drawn.strata],
        as_json=False,
    )
    if drawn.n_outside:
        echo(f"{drawn.n_outside} items belong to no stratum; no weights can speak for them.")
    for path, part in written.items():
        echo(f"Wrote {path}: {len(part.probabilities)} items.")


def _levels(text: str) -> Sequence[int]:
    parts = options.split(text, "--levels") or []
    allowed = [str(level) for level in range(0, 101, 10)]
    if not set(parts) <= set(allowed):
        raise typer.BadParameter(
            f"{text!r}: expected per cents in steps of ten, such as 10,20", param_hint="--levels"
        )
    return [int(part) for part in parts]
