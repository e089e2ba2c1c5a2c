"""The one bridge from ratings and verdicts to arrays of counts.

Every outcome is kept: what was not answered is counted beside the options, never among them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import TaskError, VerdictError
from harness.judging.parsing.verdict import CANNOT_ASSESS, OUTCOMES, PairValue
from harness.judging.prompts.requests import ELICITATIONS, Elicitation
from harness.stats.data.rating_table import RatingTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from harness.judging.parsing.verdict import Value, Verdict
    from harness.stats.data.option_space import OptionSpace
    from harness.tasks import Item, Rating, Task


def select_items(task: Task, *, criterion: str | None, limit: int | None) -> tuple[Item, ...]:
    """Choose the items of a run: those with a criterion, then the first ``limit`` of them.

    Raises
    ------
    TaskError
        If no item has the criterion.
    """
    chosen = [item for item in task.items if criterion is None or item.criterion == criterion]
    if not chosen:
        known = sorted({item.criterion for item in task.items if item.criterion})
        raise TaskError(
            f"task {task.name}: no item has criterion {criterion!r}; "
            f"known are {', '.join(known) if known else 'none'}."
        )
    return tuple(chosen[:limit])


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Where one judge's replies to one elicitation went; the outcomes sum to ``planned``."""

    elicitation: Elicitation
    planned: int
    answered: int
    abstained: int
    refused: int
    invalid: int
    failed: int
    not_asked: int

    @property
    def answered_fraction(self) -> float | None:
        """Share of the planned replies that can be used; None if none was planned."""
        return self.answered / self.planned if self.planned else None


def count_outcomes(
    verdicts: Iterable[Verdict], planned: Mapping[Elicitation, int]
) -> tuple[OutcomeCounts, ...]:
    """Count one judge's final verdicts per elicitation; what has no verdict was not asked."""
    seen = Counter((verdict.elicitation, verdict.outcome) for verdict in verdicts)
    rows = []
    for elicitation in ELICITATIONS:
        if elicitation in planned:
            counts = {outcome: seen[elicitation, outcome] for outcome in OUTCOMES}
            missing = planned[elicitation] - sum(counts.values())
            rows.append(
                OutcomeCounts(
                    elicitation=elicitation,
                    planned=planned[elicitation],
                    not_asked=missing,
                    **counts,
                )
            )
    return tuple(rows)


class _Counting:
    """Arrays of counts that grow by ``n`` equal ratings at a time."""

    def __init__(self, space: OptionSpace, items: Sequence[Item]) -> None:
        n, k, v = len(items), len(space.options), len(space.sets)
        self.space = space
        self.items = tuple(item.id for item in items)
        self.row = {item.id: i for i, item in enumerate(items)}
        self.forced_choice = np.zeros((n, k), dtype=np.int64)
        self.response_set = np.zeros((n, v), dtype=np.int64)
        self.joint: NDArray[np.int64] | None = None  # (n, K, V), made with the first pair
        self.outcomes = np.zeros((n, len(ELICITATIONS), len(OUTCOMES)), dtype=np.int64)

    def choice(self, row: int, option: str, n: int = 1) -> None:
        self.forced_choice[row, self.space.option_index(option)] += n

    def endorsed(self, row: int, options: tuple[str, ...], n: int = 1) -> None:
        self.response_set[row, self.space.set_index(options)] += n

    def pair(self, row: int, choice: str, endorsed: tuple[str, ...], n: int = 1) -> None:
        if self.joint is None:
            self.joint = np.zeros(
                (*self.forced_choice.shape, self.response_set.shape[1]), dtype=np.int64
            )
        self.joint[row, self.space.option_index(choice), self.space.set_index(endorsed)] += n

    def table(self, name: str) -> RatingTable:
        return RatingTable(
            space=self.space,
            name=name,
            items=self.items,
            forced_choice=self.forced_choice,
            response_set=self.response_set,
            joint=self.joint,
            outcomes=self.outcomes,
        )


def human_table(task: Task, items: Sequence[Item]) -> RatingTable:
    """Counts of the human ratings of ``items``; one rater's two ratings of an item are a pair."""
    counting = _Counting(task.space, items)
    choices: dict[tuple[str, str], str] = {}
    sets: dict[tuple[str, str], tuple[str, ...]] = {}
    for rating in task.ratings:
        row = counting.row.get(rating.item)
        if row is not None:
            _count_rating(counting, row, rating, choices, sets)
    for (item, rater), choice in choices.items():
        if (item, rater) in sets:
            counting.pair(counting.row[item], choice, sets[item, rater])
    return counting.table("humans")


def _count_rating(
    counting: _Counting,
    row: int,
    rating: Rating,
    choices: dict[tuple[str, str], str],
    sets: dict[tuple[str, str], tuple[str, ...]],
) -> None:
    abstained = rating.value == CANNOT_ASSESS
    outcome = OUTCOMES.index("abstained" if abstained else "answered")
    counting.outcomes[row, ELICITATIONS.index(rating.elicitation), outcome] += 1
    if abstained:
        return
    if isinstance(rating.value, str):
        counting.choice(row, rating.value)
        choices[rating.item, rating.rater] = rating.value
    else:
        counting.endorsed(row, rating.value)
        sets[rating.item, rating.rater] = rating.value


def judge_table(
    task: Task, items: Sequence[Item], name: str, verdicts: Sequence[Verdict]
) -> RatingTable:
    """Counts of one judge's final verdicts on ``items``.

    Pairs always count jointly. In the counts of choices and of sets they count only where the judge
    was not asked for these on their own: a choice made after naming a set is not the choice made
    unprompted, and the first turn of a pair may be the very reply that answered the set alone.

    Raises
    ------
    VerdictError
        If a verdict is no option or response set of the task.
    """
    counting = _Counting(task.space, items)
    seen = Counter((v.item, v.elicitation, v.outcome, v.value) for v in verdicts)
    alone = {elicitation for _, elicitation, _, _ in seen}
    for (item, elicitation, outcome, value), n in seen.items():
        row = counting.row.get(item)
        if row is None:
            continue
        counting.outcomes[row, ELICITATIONS.index(elicitation), OUTCOMES.index(outcome)] += n
        try:
            _count_value(counting, row, value, n, alone)
        except ValueError:
            raise VerdictError(
                f"judge {name}, item {item}: the verdict is no option or response set "
                f"of task {task.name}; was it made for another task?"
            ) from None
    return counting.table(name)


def _count_value(
    counting: _Counting, row: int, value: Value, n: int, alone: set[Elicitation]
) -> None:
    match value:
        case None:
            return
        case str() as option:
            counting.choice(row, option, n)
        case PairValue(set=endorsed, choice=choice):
            counting.pair(row, choice, endorsed, n)
            if "forced_choice" not in alone:
                counting.choice(row, choice, n)
            if "response_set" not in alone:
                counting.endorsed(row, endorsed, n)
        case endorsed:
            counting.endorsed(row, endorsed, n)
