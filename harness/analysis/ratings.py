"""Convert ratings and verdicts to a `RatingTable`, which holds arrays of counts.

Every outcome is kept. Abstentions, refusals and failures are counted separately from the options.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.errors import TaskError, VerdictError
from harness.judging.parsing.grammar import OUTCOMES, Outcome
from harness.judging.parsing.option_probabilities import distribution
from harness.judging.parsing.verdict import PairValue
from harness.judging.storage.verdict_columns import columns_of, verdicts_at
from harness.judging.strategies.endorsement import set_distribution
from harness.stats import RatingTable
from harness.stats.data.arrays import by_occurrence
from harness.stats.inference.crossed_raters import CrossedRatings
from harness.stats.selection.rater_panel import RaterPanel
from harness.tasks import CANNOT_ASSESS
from harness.tasks.item import ELICITATIONS, AnswerKind, Elicitation
from harness.tasks.rating_columns import is_choice, is_set, places

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from harness.judging.parsing.verdict import Value, Verdict
    from harness.stats import OptionSpace
    from harness.stats.data.arrays import IntArray
    from harness.tasks import Item, Task
    from harness.tasks.rating_columns import RatingColumns

    RowIndices = Sequence[int] | NDArray[np.int64]


def select_items(
    task: Task,
    *,
    criterion: str | None,
    limit: int | None,
    holdout: float | None = None,
    held_out: bool = False,
    blank: Collection[str] = (),
) -> tuple[Item, ...]:
    """Select a run's items: all items with a criterion, or the first ``limit`` of them.

    ``holdout`` is a share of all items. The selection excludes it, or contains nothing else if
    ``held_out``. Items whose ids are ``blank`` are excluded.

    Raises
    ------
    TaskError
        If no item has the criterion, or no item is left.
    """
    selected = [item for item in task.items if criterion is None or item.criterion == criterion]
    if not selected:
        criteria = sorted({item.criterion for item in task.items if item.criterion})
        raise TaskError(
            f"task {task.name}: no item has criterion {criterion!r}. The criteria are "
            f"{', '.join(criteria) if criteria else 'none'}."
        )
    if holdout is not None:
        items = selected
        selected = [item for item in items if is_held_out(item, holdout) == held_out]
        if not selected:
            n_held_out = 0 if held_out else len(items)
            raise TaskError(
                f"task {task.name}: {n_held_out} of {len(items)} items are held out. Choose a "
                "different --holdout."
            )
    if blank and not (selected := [item for item in selected if item.id not in blank]):
        raise TaskError(
            f"task {task.name}: all of these items are blank, so there is nothing to judge. "
            "Choose other items."
        )
    return tuple(selected[:limit])


def is_held_out(item: Item, share: float) -> bool:
    """Return whether an item is held out. The result does not depend on other items.

    A hash of its group decides, or of its id if it has no group. Items in a group stay together.
    """
    digest = hashlib.sha256(f"holdout\0{item.group or item.id}".encode(errors="replace")).digest()
    return int.from_bytes(digest[:8]) < share * 2.0**64


CountedOutcome: TypeAlias = Literal[Outcome, "not_asked", "planned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCounts:
    """Counts of a judge's replies by outcome, in one elicitation. They sum to ``planned``."""

    elicitation: Elicitation
    planned: int
    answered: int
    abstained: int
    refused: int
    invalid: int
    failed: int
    not_asked: int

    def plus(self, other: OutcomeCounts) -> OutcomeCounts:
        """Add the counts of different replies in the same elicitation."""
        counts = asdict(self)
        added = {
            name: n + getattr(other, name) for name, n in counts.items() if name != "elicitation"
        }
        return OutcomeCounts(elicitation=self.elicitation, **added)


def count_outcomes(
    verdicts: Sequence[Verdict],
    planned: Mapping[Elicitation, int],
    items: Collection[str] | None = None,
) -> tuple[OutcomeCounts, ...]:
    """Count a judge's replies by outcome in each elicitation.

    Parameters
    ----------
    verdicts : sequence of Verdict
        The judge's final verdicts.
    planned : mapping of str to int
        Number of planned replies by elicitation; replies without a verdict count as not asked.
    items : collection of str, optional
        Ids of the items whose verdicts count; all by default.
    """
    totals: Counter[tuple[Elicitation, Outcome]] = Counter()
    for kind, n in columns_of(verdicts).n_by_kind(items):
        totals[kind.elicitation, kind.outcome] += n
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


def usable_replies(
    counts: Sequence[OutcomeCounts], elicitation: Elicitation
) -> tuple[float | None, int]:
    """Return the share of planned replies that are answers, and the number of planned replies.

    The counts are for an elicitation, or else for the pairs that represent it (see `judge_table`).
    Abstained, refused, invalid, failed and unrequested replies are not usable. The share is None if
    no reply was planned.
    """
    serving_name = elicitation if elicitation in {row.elicitation for row in counts} else "paired"
    serving = [row for row in counts if row.elicitation == serving_name] or counts
    n_planned = sum(row.planned for row in serving)
    share = sum(row.answered for row in serving) / n_planned if n_planned else None
    return share, n_planned


class _TableBuilder:
    """Builder for the arrays of a `RatingTable`."""

    def __init__(
        self, space: OptionSpace, items: Sequence[Item], names: tuple[str, ...] = ()
    ) -> None:
        n, n_options, n_sets = len(items), len(space.options), len(space.sets)
        self.space = space
        ids = tuple(item.id for item in items)
        self.items = names if names == ids else ids  # shared by the tables of many judges
        self.forced_choice: NDArray[np.int64] | NDArray[np.float64]
        self.forced_choice = np.zeros((n, n_options), dtype=np.int64)
        self.response_set: NDArray[np.int64] | NDArray[np.float64]
        self.response_set = np.zeros((n, n_sets), dtype=np.int64)
        self.joint: NDArray[np.int64] | None = None  # (n, K, V), allocated for the first pair
        by_outcome = np.zeros((len(ELICITATIONS), len(OUTCOMES), n), dtype=np.int32)
        self.outcomes = by_outcome.transpose(2, 0, 1)  # most stay 0, so they use no memory
        self.exact: frozenset[AnswerKind] = frozenset()

    def times(self, rows: RowIndices) -> NDArray[np.int64]:
        """Return an (n,) array that counts how often each row index occurs."""
        return np.bincount(np.array(rows, dtype=np.int64), minlength=len(self.items))

    def add_outcomes(self, rows: RowIndices, elicitation: Elicitation, outcome: Outcome) -> None:
        at = ELICITATIONS.index(elicitation), OUTCOMES.index(outcome)
        self.outcomes[:, *at] += self.times(rows)

    def add_choices(self, rows: RowIndices, option: str) -> None:
        self.forced_choice[:, self.space.option_index(option)] += self.times(rows)

    def add_choice_shares(self, row: int, verdicts: Sequence[Verdict]) -> None:
        """Set an item's option shares to their mean over its verdicts."""
        if "forced_choice" not in self.exact:
            self.forced_choice = self.forced_choice.astype(np.float64)
            self.exact |= {"forced_choice"}
        for verdict in verdicts:
            shares = {str(verdict.value): 1.0}
            if verdict.probabilities is not None:
                shares = distribution(verdict.probabilities)
            for option, share in shares.items():
                self.forced_choice[row, self.space.option_index(option)] += share / len(verdicts)

    def add_set_shares(self, row: int, verdicts: Sequence[Verdict]) -> None:
        """Set an item's response-set shares to their mean over its verdicts."""
        if "response_set" not in self.exact:
            self.response_set = self.response_set.astype(np.float64)
            self.exact |= {"response_set"}
        for verdict in verdicts:
            if verdict.probabilities is not None:
                shares = set_distribution(verdict.probabilities, self.space)
                self.response_set[row] += shares / len(verdicts)
            else:
                assert isinstance(verdict.value, tuple), "of a response set"
                self.response_set[row, self.space.set_index(verdict.value)] += 1 / len(verdicts)

    def add_sets(self, rows: RowIndices, endorsed: tuple[str, ...]) -> None:
        self.response_set[:, self.space.set_index(endorsed)] += self.times(rows)

    def add_pairs(self, rows: RowIndices, option: str, endorsed: tuple[str, ...]) -> None:
        if self.joint is None:
            n_sets = self.response_set.shape[1]
            self.joint = np.zeros((*self.forced_choice.shape, n_sets), dtype=np.int64)
        at = self.space.option_index(option), self.space.set_index(endorsed)
        self.joint[:, *at] += self.times(rows)

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


def human_table(task: Task, items: Sequence[Item], rater: str | None = None) -> RatingTable:
    """Count the human ratings of each item.

    Parameters
    ----------
    task : Task
        Task with the ratings.
    items : sequence of Item
        Rows of the table, in this order.
    rater : str, optional
        Rater whose ratings are counted. Default: all raters.

    Returns
    -------
    RatingTable
        A table named ``humans``. A rater's two ratings of an item, one per elicitation, form a
        pair.
    """
    columns = task.rating_columns
    builder = _TableBuilder(task.space, items, columns.items)
    rows = columns.rows_of(builder.items)
    if rater is not None:
        rows[columns.rater != columns.raters.index(rater)] = -1
    kept = np.flatnonzero(rows >= 0)
    rated, answer = rows[kept], columns.answer[kept]
    ends = np.cumsum(np.bincount(answer, minlength=len(columns.answers)))
    by_answer = np.split(rated[np.argsort(answer, kind="stable")], ends)[:-1]
    for (elicitation, value), at in zip(columns.answers, by_answer, strict=True):
        if not len(at):
            continue
        if value == CANNOT_ASSESS:
            builder.add_outcomes(at, elicitation, "abstained")
            continue
        builder.add_outcomes(at, elicitation, "answered")
        if isinstance(value, str):
            builder.add_choices(at, value)
        else:
            builder.add_sets(at, value)
    for option, endorsed, at in _paired_rows(columns, rows):
        builder.add_pairs(at, option, endorsed)
    return builder.table("humans")


def without_rater(table: RatingTable, task: Task, items: Sequence[Item], rater: str) -> RatingTable:
    """Return a task's `human_table`, without the given rater's ratings."""
    left_out = human_table(task, items, rater)
    joint = table.joint
    if joint is not None and left_out.joint is not None:
        joint = joint - left_out.joint
    return replace(
        table,
        forced_choice=table.forced_choice - left_out.forced_choice,
        response_set=table.response_set - left_out.response_set,
        joint=joint,
        outcomes=table.outcomes - left_out.outcomes,
    )


def _paired_rows(
    columns: RatingColumns, rows: NDArray[np.int64]
) -> Iterator[tuple[str, tuple[str, ...], NDArray[np.int64]]]:
    """Yield each pair of a choice and a set from one rater on an item, with the pair's rows.

    ``rows`` are the ratings' rows, (R,); -1 for a rating that does not count.
    """
    sets = np.flatnonzero(columns.of_answers(is_set) & (rows >= 0))
    if not len(sets):
        return
    choices = np.flatnonzero(columns.of_answers(is_choice) & (rows >= 0))
    unit = rows * len(columns.raters) + columns.rater
    sets = sets[np.argsort(unit[sets])]
    place = np.minimum(np.searchsorted(unit[sets], unit[choices]), len(sets) - 1)
    is_paired = unit[sets][place] == unit[choices]
    choices, sets = choices[is_paired], sets[place[is_paired]]
    pair = columns.answer[choices].astype(np.int64) * len(columns.answers) + columns.answer[sets]
    for both in np.unique(pair).tolist():
        (_, option), (_, endorsed) = (
            columns.answers[k] for k in divmod(both, len(columns.answers))
        )
        assert isinstance(option, str), "a choice"
        assert isinstance(endorsed, tuple), "a set"
        yield option, endorsed, rows[choices[pair == both]]


def rater_panel(task: Task, items: Sequence[Item]) -> RaterPanel | None:
    """Return the rater of each rating, or None if ratings do not identify raters."""
    if task.rater_ids == "positional":
        return None
    columns, space = task.rating_columns, task.space
    rows = columns.rows_of(item.id for item in items)
    choices, sets = np.full((2, len(columns.answers)), -1)
    for k, (_, value) in enumerate(columns.answers):
        if value == CANNOT_ASSESS:
            continue
        if isinstance(value, str):
            choices[k] = space.option_index(value)
        else:
            sets[k] = space.set_index(value)
    return RaterPanel(
        forced_choice=_crossed(
            rows, columns.rater, choices[columns.answer], (len(items), len(space.options))
        ),
        response_set=_crossed(
            rows, columns.rater, sets[columns.answer], (len(items), len(space.sets))
        ),
    )


def _crossed(
    rows: NDArray[np.int64],
    rater: IntArray,
    answer: IntArray,
    shape: tuple[int, int],
) -> CrossedRatings | None:
    """Return the ratings with a row and an answer, or None without such ratings."""
    n_items, n_answers = shape
    is_kept = (rows >= 0) & (answer >= 0)
    if not is_kept.any():
        return None
    if not is_kept.all():
        rows, rater, answer = rows[is_kept], rater[is_kept], answer[is_kept]
    raters, place = by_occurrence(rater, int(rater.max()) + 1)
    return CrossedRatings(
        rows,
        place[rater],
        answer,
        (n_items, len(raters), n_answers),
        group=np.arange(n_items),
    )


def judge_table(
    task: Task,
    items: Sequence[Item],
    name: str,
    verdicts: Sequence[Verdict],
    *,
    with_reasked: bool = True,
) -> RatingTable:
    """Count a judge's final verdicts on each item.

    Pairs always count jointly. In the counts of choices and sets, they count only if the judge
    wasn't asked for choices or sets separately. One reason is that a choice made after naming a set
    can differ from an unprompted choice. Also, the first turn of a pair may be the same reply that
    answered the set question. A verdict with probabilities counts as its distribution over options
    or sets, as if from infinitely many samples. Several verdicts on an item count as their mean, in
    which a verdict without probabilities is certain of its value.

    Parameters
    ----------
    task : Task
        Task with the options and response sets.
    items : sequence of Item
        Rows of the table, in this order.
    name : str
        Name of the judge.
    verdicts : sequence of Verdict
        Its final verdicts. Verdicts on other items are ignored.
    with_reasked : bool, optional
        Whether verdicts that follow a second question count; see `JudgeSpec.reask`.

    Raises
    ------
    VerdictError
        If a verdict is not an option or response set of the task.
    """
    columns = columns_of(verdicts)
    builder = _TableBuilder(task.space, items, columns.items)
    elicitations = {kind.elicitation for kind in columns.kinds}
    row_of = places(columns.items, builder.items)[columns.item]
    soft = {kind.elicitation for kind in columns.kinds if kind.is_soft and kind.value is not None}
    soft -= {"paired"}
    if "forced_choice" in soft:  # a set derived from a distribution is always the same
        derived = {kind.elicitation for kind in columns.kinds if kind.derived}
        soft |= derived.intersection({"response_set"})
    shares: dict[tuple[int, Elicitation], list[Verdict]] = defaultdict(list)
    is_share = columns.of_kinds(lambda kind: kind.elicitation in soft and kind.value is not None)
    is_share &= row_of >= 0
    if not with_reasked:
        row_of = np.where(columns.of_kinds(lambda kind: kind.is_reasked), -1, row_of)
    with_shares = verdicts_at(verdicts, is_share)
    for verdict, row in zip(with_shares, row_of[is_share].tolist(), strict=True):
        shares[row, verdict.elicitation].append(verdict)
    rows = row_of[np.argsort(columns.kind, kind="stable")]  # sorted by kind
    ends = np.cumsum([n for _, n in columns.n_by_kind()]).tolist()
    at: RowIndices = [0]
    try:
        for (row, elicitation), replies in shares.items():
            at = [row]
            if elicitation == "forced_choice":
                builder.add_choice_shares(row, replies)
            else:
                builder.add_set_shares(row, replies)
        for kind, start, end in zip(columns.kinds, [0, *ends], ends, strict=False):
            of_kind = rows[start:end]
            at = of_kind[of_kind >= 0]
            if len(at):
                builder.add_outcomes(at, kind.elicitation, kind.outcome)
                if kind.elicitation not in soft:
                    _add_value(builder, at, kind.value, elicitations)
    except ValueError:
        raise VerdictError(
            f"judge {name}, item {builder.items[at[0]]}: the verdict is not an option or "
            f"response set of task {task.name}. Check that the verdicts belong to this task."
        ) from None
    return builder.table(name)


def _add_value(
    builder: _TableBuilder, rows: RowIndices, value: Value, elicitations: set[Elicitation]
) -> None:
    match value:
        case None:
            return
        case str() as option:
            builder.add_choices(rows, option)
        case PairValue(set=endorsed, choice=option):
            builder.add_pairs(rows, option, endorsed)
            if "forced_choice" not in elicitations:
                builder.add_choices(rows, option)
            if "response_set" not in elicitations:
                builder.add_sets(rows, endorsed)
        case endorsed:
            builder.add_sets(rows, endorsed)
