"""Queue of ratings to collect next, ordered by expected information gain."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.rater_replacement import MIN_FOR_ANNOTATOR_TEST
from harness.analysis.ratings import human_table
from harness.analysis.slice_names import slice_members
from harness.errors import TaskError
from harness.files.tables.writer import csv_text
from harness.options.concerns import N_PAIRS
from harness.stats.indeterminacy.translation import beta_contributions, pairs_by_item
from harness.stats.planning.next_rating import (
    Decisions,
    allocate,
    beta_posterior,
    value_of_comparison,
)
from harness.tasks.model import ASKED_ON

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from harness.curation.curation_options import QueuePurpose
    from harness.stats import RatingTable
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.tasks import Task
    from harness.tasks.model import JudgeElicitation

ORDINALS = {0: "first rating", 1: "second rating", 2: "third rating"}
MOST_NAMED = 20  # most raters named for an item
ROUNDING = 1e-9  # values below this count as zero


@dataclass(frozen=True, slots=True)
class QueuedRating:
    """An item that needs another rater.

    Attributes
    ----------
    item, elicitation : str
        Item to rate, and the form: "forced_choice", or "paired" for a response set and a choice.
    reason : str
        Which rating of the item this is, and its ratings so far.
    value : float
        Gain for the quantity per answer. A pair counts as two answers.
    raters : tuple of str
        Raters in the task who haven't rated the item in this form. Empty if all raters have, if
        ratings don't name raters, or if the task has more than 20 raters.
    """

    item: str
    elicitation: JudgeElicitation
    reason: str
    value: float
    raters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class _Ratings:
    """A task's ratings as counts per item."""

    task: Task
    human: RatingTable
    positive: IntArray
    n_ratings: IntArray
    tau: float
    rng: np.random.Generator
    inside: BoolArray  # items that can be rated

    @property
    def pairs(self) -> tuple[int, int]:
        """Count pairs with a negative choice whose set is positive, and all with such a choice."""
        if not self.task.positive:
            return 0, 0
        hidden, eligible = beta_contributions(self.human, self.task.positive).sum(axis=0)
        return int(hidden), int(eligible)

    @property
    def beta(self) -> FloatArray:
        """Posterior of beta, which is close to 0 if sets can't differ from choices."""
        if self.task.space.fully_specified or not self.task.sensitivity:
            return beta_posterior(0, 10**6)
        return beta_posterior(*self.pairs)

    @property
    def unpaired(self) -> IntArray:
        """Items without a pair, in random order."""
        joint = self.human.joint
        n = len(self.human.items)
        free = np.ones(n, np.bool_) if joint is None else ~joint.any(axis=(1, 2))
        return self.rng.permutation(np.flatnonzero(free & self.inside))

    def rating(self, i: int, value: float) -> QueuedRating:
        """Return a queue entry for a forced choice."""
        n, k = int(self.n_ratings[i]), int(self.positive[i])
        which = ORDINALS.get(n, f"rating {n + 1}")
        so_far = f"{k} of {n} positive" if self.task.positive else f"{n} so far"
        return QueuedRating(self.task.items[i].id, "forced_choice", f"{which}, {so_far}", value)

    def pair(self, i: int, value: float) -> QueuedRating:
        """Return a queue entry for a set-then-choice pair."""
        hidden, eligible = self.pairs
        reason = f"pair for beta, {hidden} of {eligible} pairs so far"
        return QueuedRating(self.task.items[i].id, "paired", reason, value)


def next_ratings(
    task: Task,
    budget: int,
    *,
    quantity: QueuePurpose = "consistency",
    suspected: Collection[str] = (),
    tau: float | None = None,
    seed: int = 0,
    slice_of: str | None = None,
) -> tuple[QueuedRating, ...]:
    """Return the ratings with the highest gain for a quantity: pairs on random items, then choices.

    Parameters
    ----------
    budget : int
        Maximum number of answers; a pair is two.
    quantity : {"consistency", "annotator-test", "pairs"}
        Consistency at the cut-off: wrongly decided items. Annotator test: comparisons of judge and
        rater. Pairs: items with two pairs, which show how much response sets vary between items.
    suspected : collection of str
        Raters to exclude, for example from `harness.curation.audit.suspected_raters`.
    tau : float, optional
        Cut-off of the decision. Default: the task's.
    seed : int
        Seed for the random items.
    slice_of : str, optional
        ``FIELD=VALUE``: only items of this slice. Default: all items.

    Raises
    ------
    TaskError
        If the task lacks the data for the quantity, or no item is in the slice.
    """
    task.require_options("a queue of ratings")
    n_options = len(task.options)
    if quantity == "consistency" and not 0 < len(task.positive) < n_options:
        raise TaskError(
            f"task {task.name}: without positive options, more ratings can't change a decision. "
            "List them under 'positive' in task.yaml."
        )
    human = human_table(task, task.items)
    counts = human.forced_choice
    is_positive = [option.key in task.positive for option in task.options]
    ratings = _Ratings(
        task=task,
        human=human,
        positive=counts[:, is_positive].sum(axis=1),
        n_ratings=counts.sum(axis=1),
        tau=task.tau if tau is None else tau,
        rng=np.random.default_rng(seed),
        inside=np.ones(len(task.items), np.bool_)
        if slice_of is None
        else slice_members(task, slice_of),
    )
    of_quantity = {
        "consistency": _for_decisions,
        "annotator-test": _for_annotator_test,
        "pairs": _for_second_pairs,
    }[quantity]
    return _with_raters(task, of_quantity(ratings, budget), suspected)


def ratings_again(
    task: Task, items: Sequence[str], budget: int, *, suspected: Collection[str] = ()
) -> tuple[QueuedRating, ...]:
    """Queue one more rating for each of some items, such as a finding's items, in their order."""
    raters = Counter(item for item, _ in {(r.item, r.rater) for r in task.ratings})
    reasons = {item: f"{raters[item]} rater{'' if raters[item] == 1 else 's'}" for item in items}
    form: JudgeElicitation = (
        "paired" if any(r.elicitation == "response_set" for r in task.ratings) else "forced_choice"
    )
    n_items = budget // len(ASKED_ON[form])
    queue = tuple(QueuedRating(i, form, f"{why} so far", 1.0) for i, why in reasons.items())
    return _with_raters(task, queue[:n_items], suspected)


def _with_raters(
    task: Task, queue: tuple[QueuedRating, ...], suspected: Collection[str]
) -> tuple[QueuedRating, ...]:
    """Add the unsuspected raters who haven't rated each item in its queued form."""
    raters = sorted({rating.rater for rating in task.ratings}.difference(suspected))
    if task.rater_ids == "positional" or len(raters) > MOST_NAMED:
        return queue
    rated = {(r.item, r.rater, r.elicitation) for r in task.ratings}
    return tuple(
        replace(
            row,
            raters=tuple(
                rater
                for rater in raters
                if any((row.item, rater, asked) not in rated for asked in ASKED_ON[row.elicitation])
            ),
        )
        for row in queue
    )


def _for_decisions(r: _Ratings, budget: int) -> tuple[QueuedRating, ...]:
    decisions = Decisions.of(r.positive, r.n_ratings, tau=r.tau, beta=r.beta)
    values, free = np.where(r.inside, decisions.values_of_ratings(), 0.0), r.unpaired
    pairs = allocate(decisions, values, budget, len(free))
    paired = free[: pairs.n_pairs]
    values[paired] = 0.0  # they are in the queue already
    return (
        *(r.pair(i, pairs.value) for i in paired.tolist()),
        *(r.rating(i, float(values[i])) for i in _greatest(values, budget - 2 * pairs.n_pairs)),
    )


def _for_annotator_test(r: _Ratings, budget: int) -> tuple[QueuedRating, ...]:
    if r.task.rater_ids == "positional":
        raise TaskError(
            f"task {r.task.name}: the annotator test needs ratings with the raters' names."
        )
    n_raters = len({rating.rater for rating in r.task.ratings})
    values = value_of_comparison(r.n_ratings)
    if (
        n_raters < MIN_FOR_ANNOTATOR_TEST
    ):  # one more rater makes the test possible, whatever the item
        values = np.where(r.n_ratings >= n_raters, 1.0 + values, values)
    values = np.where(r.inside, values, 0.0)
    return tuple(r.rating(i, float(values[i])) for i in _greatest(values, budget))


def _for_second_pairs(r: _Ratings, budget: int) -> tuple[QueuedRating, ...]:
    """Queue second pairs for items with one pair, then first pairs until 100 items have a pair."""
    if r.task.space.fully_specified:
        raise TaskError(
            f"task {r.task.name}: no response set has two options, so pairs wouldn't add anything."
        )
    n_pairs = pairs_by_item(r.human).sum(axis=(1, 2))
    once = r.rng.permutation(np.flatnonzero((n_pairs == 1) & r.inside))
    n_missing = max(N_PAIRS - int((n_pairs > 0).sum()), 0)
    queue = [(i, "second pair") for i in once.tolist()]
    queue += [(i, "first of two pairs") for i in r.unpaired[:n_missing].tolist()]
    n_double = int((n_pairs > 1).sum())
    return tuple(
        QueuedRating(r.task.items[i].id, "paired", f"{which}, {n_double} items have two pairs", 1.0)
        for i, which in queue[: budget // 2]
    )


def _greatest(values: FloatArray, n: int) -> list[int]:
    """Return the indices of the n largest values, largest first, without values of about 0."""
    return [int(i) for i in np.argsort(-values, kind="stable")[:n] if values[i] > ROUNDING]


def queue_csv(queue: tuple[QueuedRating, ...]) -> str:
    """Return a queue as CSV, for ``harness annotate --queue``. Raters are a JSON array."""
    rows = [
        row | {"raters": json.dumps(queued.raters, ensure_ascii=False) if queued.raters else ""}
        for row, queued in zip(rows_of_queue(queue), queue, strict=True)
    ]
    return csv_text(rows, [field.name for field in fields(QueuedRating)])


def rows_of_queue(queue: Iterable[QueuedRating]) -> list[dict[str, str]]:
    """Return a queue as rows of text cells."""
    return [
        asdict(row) | {"value": f"{row.value:.5f}", "raters": ", ".join(row.raters)}
        for row in queue
    ]
