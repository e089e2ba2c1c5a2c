"""Items to label for an estimate, drawn with probabilities that favour informative labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from shlex import join
from typing import TYPE_CHECKING

import numpy as np

from harness.app.plan_of_run import other_items
from harness.app.run import part_name
from harness.errors import RunError, TaskError, use_one_of
from harness.estimation.quantity import Quantity
from harness.estimation.unlabelled import ItemTables, read_parts
from harness.estimation.unrated_items import FOLDER, filled, rated_items, with_items
from harness.runs.run_folder import RunFolder
from harness.runs.sources import compared_source, fitted_of, verdicts_of
from harness.stats.estimation.labelling import draw_probabilities, label_spreads
from harness.tasks.changelog import record_change
from harness.tasks.model import INCLUSION_PROBABILITY
from harness.tasks.write import write_version

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stats.data.arrays import FloatArray
    from harness.tasks import Item, Task
    from harness.tasks.item import AnswerKind

ASKED = ("asked", "done")  # states of a part on which the judge was run


@dataclass(frozen=True, slots=True)
class ActiveDraw:
    """A sample of items to label.

    Attributes
    ----------
    items : tuple of Item
        The drawn items, in the order of the unlabelled items. The field ``inclusion_probability``
        contains each item's probability of being drawn.
    probabilities : (n,) array
        The same probabilities.
    n_items : int
        Number of items in the population.
    answers : str
        Kind of answers to collect from the raters.
    """

    items: tuple[Item, ...]
    probabilities: FloatArray
    n_items: int
    answers: AnswerKind


def draw_items(
    folder: RunFolder, judge: str, items: Path, n_labels: int, *, rng: np.random.Generator
) -> ActiveDraw:
    """Draw unlabelled items for labelling, each independently with a known probability.

    The probability is higher if the run's ratings of items with the same verdict vary more. See
    `draw_probabilities`. No judge is run.

    Parameters
    ----------
    folder : RunFolder
        A run with rated items.
    judge : str
        A judge of the run that `estimate` has run on all of the items.
    items : Path
        Tables of unlabelled items; see `ItemTables`.
    n_labels : int
        Expected number of drawn items.
    rng : Generator
        Source of randomness.

    Raises
    ------
    HarnessError
        If the run, the judge or the items can't be used, or the judge has not been run on all
        items.
    """
    source = compared_source(folder)
    if judge not in source.verdicts:
        problem = f"{folder.path}: this run has no judge {judge!r}"
        raise RunError(problem, use_one_of(judge, source.verdicts, none="It has no verdicts"))
    quantity = Quantity.of(source.task, source.ranking_elicitation)
    labelled, unanswered = filled(rated_items(source, judge, quantity).labelled, quantity)
    parts, fitted = [], fitted_of(folder)
    for part in read_parts(ItemTables(items), source.task):
        path = folder.path / FOLDER / part_name(*other_items(folder, judge, part), judge)
        asked = RunFolder.open(path) if (path / "manifest.json").exists() else None
        if asked is None or asked.manifest.state not in ASKED:
            words = [
                "harness",
                "estimate",
                str(folder.path),
                "--judge",
                judge,
                "--items",
                str(items),
                *folder.location.server,
            ]
            raise RunError(
                f"{folder.path}: {judge} has not been run on all items of {items}",
                f"Run `{join(words)}` first",
            )
        parts.append(
            quantity.first_verdicts(part, verdicts_of(asked, fitted, with_items(source.task, part)))
        )
    verdicts = np.concatenate(parts) if parts else np.empty(0)
    if n_labels > len(verdicts):
        raise TaskError(f"{items}: {len(verdicts)} items", f"Draw at most {len(verdicts)}")
    verdicts = np.where(np.isnan(verdicts), unanswered, verdicts)
    spreads = label_spreads(labelled.labels, labelled.verdicts, verdicts)
    probabilities = draw_probabilities(spreads, n_labels)
    drawn = np.flatnonzero(rng.random(len(verdicts)) < probabilities)
    return ActiveDraw(
        items=_read(items, source.task, dict(zip(drawn, probabilities[drawn], strict=True))),
        probabilities=probabilities[drawn],
        n_items=len(verdicts),
        answers=quantity.answers,
    )


def _read(path: Path, task: Task, probabilities: dict[int, float]) -> tuple[Item, ...]:
    """Read the items at the drawn positions, and add their probabilities."""
    read = enumerate(item for part in read_parts(ItemTables(path), task) for item in part)
    return tuple(
        replace(
            item,
            fields=item.fields | {INCLUSION_PROBABILITY: repr(float(probabilities[place]))},
        )
        for place, item in read
        if place in probabilities
    )


def write_draw(task: Task, draw: ActiveDraw, folder: Path) -> None:
    """Write the drawn items as a new task without ratings.

    Parameters
    ----------
    task : Task
        Task whose options, prompts and other fields the new one gets.
    draw : ActiveDraw
        The items.
    folder : Path
        New folder to write.
    """
    what = f"{len(draw.items)} of {draw.n_items} items, drawn for an estimate"
    changes = {
        "name": folder.name,
        "notice": f"{what}; numbers that are not weighted by 1/{INCLUSION_PROBABILITY} describe "
        "the sample",
        "items": draw.items,
        "ratings": (),
        "ignored": (),
    }
    write_version(task.model_copy(update=changes), task, folder)
    (folder / "ratings.jsonl").unlink()  # empty; the first rating creates it again
    record_change(folder, what, before=task.content_hash)
