"""From ratings and verdicts to `RatingTable`: arrays of counts.

Every outcome is kept: abstentions, refusals and failures are counted beside the options, never
among them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import TaskError, VerdictError
from harness.judging.endorsement import set_distribution
from harness.judging.parsing.option_probabilities import distribution
from harness.judging.parsing.verdict import CANNOT_ASSESS, OUTCOMES, PairValue
from harness.judging.prompts.requests import ELICITATIONS, Elicitation
from harness.stats import RatingTable
from harness.stats.inference.crossed_raters import CrossedRatings
from harness.stats.selection.rater_panel import RaterPanel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from harness.judging.parsing.verdict import Outcome, Value, Verdict
    from harness.stats import OptionSpace
    from harness.tasks import Item, Task


def select_items(task: Task, *, criterion: str | None, limit: int | None) -> tuple[Item, ...]:
    """Select the items of a run: those with a criterion, then the first ``limit`` of them.

    Raises
    ------
    TaskError
        If no item has the criterion.
    """
    selected = [item for item in task.items if criterion is None or item.criterion == criterion]
    if not selected:
        criteria = sorted({item.criterion for item in task.items if item.criterion})
        raise TaskError(
            f"task {task.name}: no item has criterion {criterion!r}; "
            f"known are {', '.join(criteria) if criteria else 'none'}."
        )
    return tuple(selected[:limit])


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Outcomes of the replies of a judge to an elicitation; they sum to ``planned``."""

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
        """Share of the planned replies that are answers; None if none was planned."""
        return self.answered / self.planned if self.planned else None


def count_outcomes(
    verdicts: Iterable[Verdict], planned: Mapping[Elicitation, int]
) -> tuple[OutcomeCounts, ...]:
    """Count the outcomes of a judge per elicitation.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Final verdicts of the judge.
    planned : mapping of str to int
        Number of planned replies by elicitation; those without a verdict count as not asked.
    """
    totals = Counter((verdict.elicitation, verdict.outcome) for verdict in verdicts)
    rows = []
    for elicitation in ELICITATIONS:
        if elicitation in planned:
            counts = {outcome: totals[elicitation, outcome] for outcome in OUTCOMES}
            n_missing = planned[elicitation] - sum(counts.values())
            rows.append(
                OutcomeCounts(
                    elicitation=elicitation,
                    planned=planned[elicitation],
                    not_asked=n_missing,
                    **counts,
                )
            )
    return tuple(rows)


class _TableBuilder:
    """Adds ratings to the arrays of a `RatingTable`."""

    def __init__(self, space: OptionSpace, items: Sequence[Item]) -> None:
        n, n_options, n_sets = len(items), len(space.options), len(space.sets)
        self.space = space
        self.items = tuple(item.id for item in items)
        self.row = {item.id: i for i, item in enumerate(items)}
        self.forced_choice: NDArray[np.int64] | NDArray[np.float64]
        self.forced_choice = np.zeros((n, n_options), dtype=np.int64)
        self.response_set: NDArray[np.int64] | NDArray[np.float64]
        self.response_set = np.zeros((n, n_sets), dtype=np.int64)
        self.joint: NDArray[np.int64] | None = None  # (n, K, V), allocated for the first pair
        self.outcomes = np.zeros((n, len(ELICITATIONS), len(OUTCOMES)), dtype=np.int64)
        self.exact = False

    def add_outcome(self, row: int, elicitation: Elicitation, outcome: Outcome, n: int = 1) -> None:
        self.outcomes[row, ELICITATIONS.index(elicitation), OUTCOMES.index(outcome)] += n

    def add_choice(self, row: int, option: str, n: int = 1) -> None:
        self.forced_choice[row, self.space.option_index(option)] += n

    def set_distribution(
        self, row: int, elicitation: Elicitation, probabilities: Mapping[str, float]
    ) -> None:
        """Set the shares of the options, or of the sets, of an item: computed, not counted."""
        if not self.exact:
            self.forced_choice = self.forced_choice.astype(np.float64)
            self.response_set, self.exact = self.response_set.astype(np.float64), True
        if elicitation == "response_set":
            self.response_set[row] = set_distribution(probabilities, self.space)
            return
        for option, share in distribution(probabilities).items():
            self.forced_choice[row, self.space.option_index(option)] = share

    def add_set(self, row: int, endorsed: tuple[str, ...], n: int = 1) -> None:
        self.response_set[row, self.space.set_index(endorsed)] += n

    def add_pair(self, row: int, option: str, endorsed: tuple[str, ...], n: int = 1) -> None:
        if self.joint is None:
            n_sets = self.response_set.shape[1]
            self.joint = np.zeros((*self.forced_choice.shape, n_sets), dtype=np.int64)
        self.joint[row, self.space.option_index(option), self.space.set_index(endorsed)] += n

    def table(self, name: str) -> RatingTable:
        return RatingTable(
            space=self.space,
            name=name,
            items=self.items,
            forced_choice=self.forced_choice,
            response_set=self.response_set,
            joint=self.joint,
            outcomes=self.outcomes,
            exact=self.exact,
        )


def human_table(task: Task, items: Sequence[Item]) -> RatingTable:
    """Count the human ratings of items.

    Parameters
    ----------
    task : Task
        Task with the ratings.
    items : sequence of Item
        Rows of the table, in this order.

    Returns
    -------
    RatingTable
        Named ``humans``. The two ratings that a rater gave an item, one per elicitation, are a
        pair.
    """
    builder = _TableBuilder(task.space, items)
    choices: dict[tuple[str, str], str] = {}
    sets: dict[tuple[str, str], tuple[str, ...]] = {}
    for rating in task.ratings:
        row = builder.row.get(rating.item)
        if row is None:
            continue
        if rating.value == CANNOT_ASSESS:
            builder.add_outcome(row, rating.elicitation, "abstained")
            continue
        builder.add_outcome(row, rating.elicitation, "answered")
        if isinstance(rating.value, str):
            builder.add_choice(row, rating.value)
            choices[rating.item, rating.rater] = rating.value
        else:
            builder.add_set(row, rating.value)
            sets[rating.item, rating.rater] = rating.value
    for (item, rater), choice in choices.items():
        if (item, rater) in sets:
            builder.add_pair(builder.row[item], choice, sets[item, rater])
    return builder.table("humans")


def rater_panel(task: Task, items: Sequence[Item]) -> RaterPanel | None:
    """Return who gave which rating of items; None where ratings do not name their raters."""
    if task.rater_ids == "positional":
        return None
    row = {item.id: i for i, item in enumerate(items)}
    place: dict[str, int] = {}
    ratings: dict[str, list[tuple[int, int, int]]] = {"forced_choice": [], "response_set": []}
    for rating in task.ratings:
        if rating.item not in row or rating.value == CANNOT_ASSESS:
            continue
        if isinstance(rating.value, str):
            elicitation, answer = "forced_choice", task.space.option_index(rating.value)
        else:
            elicitation, answer = "response_set", task.space.set_index(rating.value)
        rater = place.setdefault(rating.rater, len(place))
        ratings[elicitation].append((row[rating.item], rater, answer))
    widths = {
        "forced_choice": len(task.space.options),
        "response_set": len(task.space.sets),
    }
    return RaterPanel(
        **{
            elicitation: _crossed(of_elicitation, len(items), widths[elicitation])
            for elicitation, of_elicitation in ratings.items()
        }
    )


def _crossed(
    ratings: Sequence[tuple[int, int, int]], n_items: int, n_answers: int
) -> CrossedRatings | None:
    """Number the raters of one elicitation; None where it has no ratings."""
    if not ratings:
        return None
    item, rater, answer = np.array(ratings, dtype=np.int64).T
    raters, place = np.unique(rater, return_inverse=True)
    shape = (n_items, len(raters), n_answers)
    return CrossedRatings(item, place, answer, shape, group=np.arange(n_items))


def judge_table(
    task: Task, items: Sequence[Item], name: str, verdicts: Sequence[Verdict]
) -> RatingTable:
    """Count the final verdicts of a judge on items.

    Pairs always count jointly. In the counts of choices and of sets they count only where the judge
    was not asked for these on their own: a choice made after naming a set is not the choice made
    unprompted, and the first turn of a pair may be the very reply that answered the set alone. Of
    verdicts with probabilities, the distribution over the options, or over the sets, counts, as of
    endless samples.

    Parameters
    ----------
    task : Task
        Task with the options and response sets.
    items : sequence of Item
        Rows of the table, in this order.
    name : str
        Name of the judge.
    verdicts : sequence of Verdict
        Its final verdicts; those on other items are ignored.

    Raises
    ------
    VerdictError
        If a verdict is no option or response set of the task.
    """
    builder = _TableBuilder(task.space, items)
    soft = {(v.item, v.elicitation): v.probabilities for v in verdicts}
    counts = Counter((v.item, v.elicitation, v.outcome, v.value) for v in verdicts)
    elicitations = {elicitation for _, elicitation, _, _ in counts}
    for (item, elicitation, outcome, value), n in counts.items():
        row = builder.row.get(item)
        if row is None:
            continue
        builder.add_outcome(row, elicitation, outcome, n)
        try:
            if value is not None and (probabilities := soft[item, elicitation]) is not None:
                builder.set_distribution(row, elicitation, probabilities)
            else:
                _add_value(builder, row, value, n, elicitations)
        except ValueError:
            raise VerdictError(
                f"judge {name}, item {item}: the verdict is no option or response set "
                f"of task {task.name}; was it made for another task?"
            ) from None
    return builder.table(name)


def _add_value(
    builder: _TableBuilder, row: int, value: Value, n: int, elicitations: set[Elicitation]
) -> None:
    match value:
        case None:
            return
        case str() as option:
            builder.add_choice(row, option, n)
        case PairValue(set=endorsed, choice=option):
            builder.add_pair(row, option, endorsed, n)
            if "forced_choice" not in elicitations:
                builder.add_choice(row, option, n)
            if "response_set" not in elicitations:
                builder.add_set(row, endorsed, n)
        case endorsed:
            builder.add_set(row, endorsed, n)
