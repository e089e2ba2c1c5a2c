"""Collect raters' and judges' answers per item, and mark judges that differ from the raters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import compress
from math import isnan
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from harness.analysis.item_slices import slices_of_items
from harness.analysis.option_scale import OptionScale
from harness.analysis.rater_agreement import Dispute
from harness.analysis.ratings import human_table, judge_table
from harness.analysis.sliced_fields import sliced_fields
from harness.judging.storage.verdict_columns import columns_of, each_verdict_at
from harness.stats.data.labels import modes
from harness.stats.subsets.abstention import NO_VERDICT, with_abstention, with_outcomes
from harness.stats.subsets.strata import members_of
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis.inputs import Source
    from harness.analysis.sliced_fields import SlicedField
    from harness.judging.parsing.grammar import Outcome
    from harness.judging.parsing.verdict import Value
    from harness.stats import RatingTable
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.subsets.strata import Stratum
    from harness.tasks import Item, Task
    from harness.tasks.item import Elicitation

Agreement: TypeAlias = Literal["agrees", "differs", ""]

MAX_ITEMS = 10_000


class GivenRating(NamedTuple):
    """One rater's answer in an elicitation."""

    rater: str
    elicitation: Elicitation
    value: object


class GivenVerdict(NamedTuple):
    """A judge's answer in an elicitation: some fields of the `Verdict`, and the reply's text."""

    elicitation: Elicitation
    outcome: Outcome
    value: Value
    text: str
    swapped: bool


@dataclass(frozen=True, slots=True)
class JudgeAnswers:
    """One judge's answers to an item.

    Attributes
    ----------
    verdicts : tuple of GivenVerdict
        Verdicts in the order in which they were written; empty if the judge was not run on the
        item.
    classes : tuple of int
        Indices of the most frequent `AnsweredItems.classes`; several if tied.
    agreement : str
        "agrees" if its most frequent choice is one of the raters', "differs" if it isn't, "" if
        either side made no choice.
    """

    verdicts: tuple[GivenVerdict, ...]
    classes: tuple[int, ...] = ()
    agreement: Agreement = ""


@dataclass(frozen=True, slots=True)
class ItemAnswers:
    """All answers of raters and judges to an item.

    Attributes
    ----------
    ratings : tuple of GivenRating
        Ratings in the order of the task.
    classes : tuple of int
        Indices of the raters' most frequent `AnsweredItems.classes`; several if tied.
    strata, slices : tuple of int
        Indices of the strata, and of the `AnsweredItems.slices`, that contain the item.
    disagreement : float or None
        Share of the pairs of the raters' forced choices that differ; None with fewer than two
        choices.
    judges : tuple of JudgeAnswers
        Answers in the order of `AnsweredItems.judges`.
    """

    item: Item
    ratings: tuple[GivenRating, ...]
    classes: tuple[int, ...]
    strata: tuple[int, ...]
    slices: tuple[int, ...]
    disagreement: float | None
    judges: tuple[JudgeAnswers, ...]


@dataclass(frozen=True, slots=True, repr=False)
class AnsweredItems:
    """Items with raters' and judges' answers, most disputed items first.

    Attributes
    ----------
    judges : tuple of str
        Names of the judges.
    classes : tuple of str
        Classes that answers are counted in: options, CANNOT_ASSESS, and for judges ``refused``,
        ``invalid`` and ``failed``. Empty on open scales.
    rows : tuple of ItemAnswers
        At most `MAX_ITEMS` rows, in the task's order on open scales.
    n_items : int
        Items in the task or the run.
    slices : tuple of (str, str)
        Field and value of each slice of the items.
    """

    task: Task
    judges: tuple[str, ...]
    classes: tuple[str, ...]
    rows: tuple[ItemAnswers, ...]
    n_items: int
    slices: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"AnsweredItems({len(self.rows)} items, {len(self.judges)} judges)"


class _Sides(NamedTuple):
    """Items for display, each with its classes, strata, disagreement and judges' agreement."""

    order: list[int]
    fields: Sequence[SlicedField]
    names: tuple[str, ...]  # names of classes
    classes: list[tuple[int, ...]]
    strata: list[tuple[int, ...]]
    disagreement: list[float | None]
    judges: list[list[tuple[tuple[int, ...], Agreement]]]  # by judge, then item


def answered_items(source: Source, strata: Sequence[Stratum] = ()) -> AnsweredItems:
    """Collect a source's items with the answers from raters and judges.

    Parameters
    ----------
    source : Source
        Items, ratings and verdicts.
    strata : sequence of Stratum
        Strata whose members are marked on each item; empty on open scales.
    """
    items, judges = source.items, tuple(judge.name for judge in source.judges)
    sides = _of_open_scale(source) if source.task.is_open else _of_options(source, strata)
    shown = [items[i] for i in sides.order]
    ratings, verdicts = _ratings(source, shown), [_verdicts(source, name, shown) for name in judges]
    slices = _columns(_members(sides.fields, len(items))[:, sides.order].T)
    rows = [
        ItemAnswers(
            item=item,
            ratings=tuple(ratings[item.id]),
            classes=sides.classes[k],
            strata=sides.strata[k],
            slices=slices[k],
            disagreement=sides.disagreement[k],
            judges=tuple(
                JudgeAnswers(tuple(by_item[item.id]), *of_judge[k])
                for by_item, of_judge in zip(verdicts, sides.judges, strict=True)
            ),
        )
        for k, item in enumerate(shown)
    ]
    return AnsweredItems(
        task=source.task,
        judges=judges,
        classes=sides.names,
        rows=tuple(rows),
        n_items=len(items),
        slices=tuple((field.name, value) for field in sides.fields for value in field.values),
    )


def _of_open_scale(source: Source) -> _Sides:
    """Select the first items in the task's order. On open scales, answers have no classes."""
    order = list(range(min(len(source.items), MAX_ITEMS)))
    nothing: list[tuple[int, ...]] = [()] * len(order)
    of_judge: list[tuple[tuple[int, ...], Agreement]] = [((), "")] * len(order)
    return _Sides(
        order=order,
        fields=sliced_fields(source.task, source.items),
        names=(),
        classes=nothing,
        strata=nothing,
        disagreement=[None] * len(order),
        judges=[of_judge] * len(source.judges),
    )


def _of_options(source: Source, strata: Sequence[Stratum]) -> _Sides:
    """Select the most disputed items, classify the answers, and compare judges with the raters."""
    task, items = source.task, source.items
    human = human_table(task, items)
    judges = [judge_table(task, items, j.name, source.verdicts[j.name]) for j in source.judges]
    dispute = Dispute.of(human, judges)
    order: list[int] = dispute.order[:MAX_ITEMS].tolist()
    fields = sliced_fields(task, items)
    by_judge = (
        (_classes(with_outcomes(table)[order]), map(_agreement, shared[order].tolist()))
        for table, shared in zip(judges, dispute.shared, strict=True)
    )
    return _Sides(
        order=order,
        fields=slices_of_items(fields, task, items, human) if fields else (),
        names=(*task.space.options, CANNOT_ASSESS, *NO_VERDICT),
        classes=_classes(with_abstention(human)[order]),
        strata=_columns(_strata(source, human, strata)[:, order].T),
        disagreement=[None if isnan(x) else x for x in dispute.share[order].tolist()],
        judges=[list(zip(classes, shared, strict=True)) for classes, shared in by_judge],
    )


def _agreement(shared: float) -> Agreement:
    return "" if isnan(shared) else "agrees" if shared > 0 else "differs"


def _ratings(source: Source, items: Sequence[Item]) -> dict[str, list[GivenRating]]:
    """Return the ratings of some items, grouped by item."""
    columns = source.task.rating_columns
    ratings: dict[str, list[GivenRating]] = {item.id: [] for item in items}

    @cache
    def given(rater: int, answer: int) -> GivenRating:
        return GivenRating(columns.raters[rater], *columns.answers[answer])

    at = np.flatnonzero(columns.rows_of(ratings) >= 0)
    codes = (codes[at].tolist() for codes in (columns.item, columns.rater, columns.answer))
    for item, rater, answer in zip(*codes, strict=True):
        ratings[columns.items[item]].append(given(rater, answer))
    return ratings


def _verdicts(source: Source, judge: str, items: Sequence[Item]) -> dict[str, list[GivenVerdict]]:
    """Return a judge's verdicts on some items, grouped by item."""
    by_item: dict[str, list[GivenVerdict]] = {item.id: [] for item in items}
    verdicts = source.verdicts[judge]
    for v in each_verdict_at(verdicts, columns_of(verdicts).of_items(by_item)):
        given = GivenVerdict(v.elicitation, v.outcome, v.value, v.text, v.swapped)
        by_item[v.item].append(given)
    return by_item


def _classes(counts: FloatArray) -> list[tuple[int, ...]]:
    """Return the column indices of each row's modes. A row without counts has no modes."""
    return _columns(np.nan_to_num(modes(counts)) > 0)


def _columns(cells: BoolArray) -> list[tuple[int, ...]]:
    """Return the column indices of the true cells in each row."""
    columns = range(cells.shape[1])
    return [tuple(compress(columns, row)) for row in cells.tolist()]


def _strata(source: Source, human: RatingTable, strata: Sequence[Stratum]) -> BoolArray:
    """Return an (S, n) bool array that shows whether each stratum contains each item."""
    scale = OptionScale.of(source.task)
    counts = scale.counts(human)
    members = members_of(strata, counts, scale.numbers)
    return np.array(members, dtype=np.bool_).reshape(len(strata), len(counts))


def _members(fields: Sequence[SlicedField], n_items: int) -> BoolArray:
    """Return an (F, n) bool array that shows which items are in each slice of the fields."""
    members = [field.members for field in fields]
    return np.vstack([np.zeros((0, n_items), dtype=np.bool_), *members])
