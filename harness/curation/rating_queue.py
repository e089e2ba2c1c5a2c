"""Queues of the items that need another forced choice, by what it is worth for decisions."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import TaskError
from harness.ratings import human_table
from harness.stats.planning.next_rating import fitted_prior, value_of_rating

if TYPE_CHECKING:
    from harness.tasks import Task

ORDINALS = {0: "first rating", 1: "second rating", 2: "third rating"}


@dataclass(frozen=True, slots=True)
class QueuedRating:
    """An item that needs one more rater.

    Attributes
    ----------
    item, elicitation : str
        What to rate, and how.
    reason : str
        Which rating it is, and how many of those so far are positive.
    value : float
        Expected fall, per rating, of the chance that the item is decided wrongly at tau.
    """

    item: str
    elicitation: str
    reason: str
    value: float


def next_ratings(task: Task, budget: int, *, tau: float | None = None) -> tuple[QueuedRating, ...]:
    """Return the items of most value, one rating each, the best first.

    Parameters
    ----------
    budget : int
        Ratings at most; no more than the task has items.
    tau : float, optional
        Cut-off of the decision. Default: the task's.

    Raises
    ------
    TaskError
        If the task has no positive options, or they are all of its options.
    """
    mask = task.space.option_mask(task.positive)
    if not mask.any() or mask.all():
        raise TaskError(
            f"task {task.name}: no decision depends on more ratings without positive options; name "
            "them under 'positive' in task.yaml."
        )
    counts = human_table(task, task.items).forced_choice
    positive, n_ratings = counts[:, mask].sum(axis=1), counts.sum(axis=1)
    prior = fitted_prior(positive, n_ratings)
    values = value_of_rating(positive, n_ratings, task.tau if tau is None else tau, prior)
    return tuple(
        QueuedRating(
            item=task.items[i].id,
            elicitation="forced_choice",
            reason=f"{_which(int(n_ratings[i]))}, {positive[i]} of {n_ratings[i]} positive",
            value=float(values[i]),
        )
        for i in np.argsort(-values, kind="stable")[:budget].tolist()
    )


def _which(n_ratings: int) -> str:
    return ORDINALS.get(n_ratings, f"rating {n_ratings + 1}")


def queue_csv(queue: tuple[QueuedRating, ...]) -> str:
    """Return a queue as CSV, for ``harness annotate --queue``."""
    out = io.StringIO()
    columns = [field.name for field in fields(QueuedRating)]
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) | {"value": f"{row.value:.5f}"} for row in queue)
    return out.getvalue()
