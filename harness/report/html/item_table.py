"""Items with all their ratings and replies, and the classes that the page filters them by."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import compress, count
from math import isnan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.analysis.item_slices import slices_of_items
from harness.analysis.option_scale import OptionScale
from harness.analysis.rater_agreement import Dispute
from harness.analysis.ratings import human_table, judge_table
from harness.analysis.sliced_fields import sliced_fields
from harness.judging.parsing.verdict import PairValue
from harness.judging.storage.verdict_columns import columns_of, verdicts_at
from harness.report.certainty_charts import stratum_words
from harness.report.formatting import control_pictures, cut
from harness.report.judge_charts import option_label
from harness.report.slice_rows import slice_name
from harness.stats.data.labels import modes
from harness.stats.data.rating_table import ELICITATIONS
from harness.stats.subsets.abstention import NO_VERDICT, with_abstention, with_outcomes
from harness.stats.subsets.strata import members_of
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.analysis import Source, Validation
    from harness.analysis.sliced_fields import SlicedField
    from harness.judging.parsing.verdict import Verdict
    from harness.stats import RatingTable
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.subsets.strata import Stratum
    from harness.tasks import Item, Task
    from harness.tasks.item import Elicitation


MAX_ITEMS = 10_000
MAX_CHARACTERS = 3_000_000  # of the ratings and replies that open in place
MAX_TEXT = 240
MAX_FULL_TEXT = 6000
MAX_REPLY = 600
MAX_TALLIES = 1000  # that are remembered: most items are answered like others
ANSWER_SIZE = 25  # characters of a rating or a reply in the page besides its text
NOT_ASKED = "not_asked"
DIGITS = 4
AGREEMENT = {"agrees": "as most raters", "differs": "other than most raters"}
NUMERIC = re.compile(r"[-+]?\d+([.,]\d+)?")
CLASS_WORDS = {"CANNOT_ASSESS": "cannot assess"}


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One rating or reply; ``name`` is that of the rater or judge."""

    name: str
    elicitation: Elicitation
    text: str
    reply: str = ""

    @property
    def size(self) -> int:
        """Characters that it adds to the page, about."""
        return len(self.text) + len(self.reply) + ANSWER_SIZE


@dataclass(frozen=True, slots=True)
class JudgeCell:
    """The answers of one judge to one item.

    Attributes
    ----------
    text : str
        How often each answer was given, one line per elicitation.
    classes : tuple of int
        The most frequent of `ItemTable.classes`; several where tied.
    outcomes : tuple of str
        Of its replies; ``not_asked`` where there is none.
    agreement : str
        "agrees" where its most frequent choice is one of the raters', "differs" where it is none
        of them, "" where either side made no choice.
    """

    text: str
    classes: tuple[int, ...]
    outcomes: tuple[str, ...]
    agreement: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item of the table.

    Attributes
    ----------
    text : str
        Start of its text; "" if there is none.
    raters : str
        Number of raters per answer, most frequent first, one line per elicitation.
    classes : tuple of int
        The raters' most frequent of `ItemTable.classes`; several where tied.
    strata, slices : tuple of int
        Strata, and `ItemTable.slices`, that hold it.
    disagreement : float or None
        Share of the pairs of the raters' forced choices that differ; None below two choices.
    judges : tuple of JudgeCell
        In the table's order of judges.
    """

    id: str
    text: str
    raters: str
    classes: tuple[int, ...]
    strata: tuple[int, ...]
    slices: tuple[int, ...]
    disagreement: float | None
    judges: tuple[JudgeCell, ...]

    @property
    def n_judges_apart(self) -> int | None:
        """Judges whose most frequent choice is none of the raters' most frequent.

        None where no judge and rater made a choice.
        """
        if not any(cell.agreement for cell in self.judges):
            return None
        return sum(cell.agreement == "differs" for cell in self.judges)


@dataclass(frozen=True, slots=True)
class FullItem:
    """The whole text of an item, its ratings and the replies to it."""

    text: str
    raters: tuple[ShownAnswer, ...]
    judges: tuple[ShownAnswer, ...]

    @property
    def size(self) -> int:
        """Characters that it adds to the page, about."""
        return len(self.text) + sum(answer.size for answer in (*self.raters, *self.judges))


@dataclass(frozen=True, slots=True, repr=False)
class ItemTable:
    """Items with the answers of raters and judges, the most disputed first.

    Attributes
    ----------
    judges : tuple of str
        Their names.
    classes : tuple of str
        What answers are counted as: options, CANNOT_ASSESS, and for judges ``refused``,
        ``invalid`` and ``failed``.
    rows : tuple of ItemRow
        At most `MAX_ITEMS`.
    n_items : int
        Items of the task or the run.
    full : tuple of FullItem
        The first items of the table with all ratings and replies; fewer than ``rows`` where these
        exceed `MAX_CHARACTERS`.
    slices : tuple of str
        Names of the slices of the items.
    """

    judges: tuple[str, ...]
    classes: tuple[str, ...]
    rows: tuple[ItemRow, ...]
    n_items: int
    full: tuple[FullItem, ...]
    slices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ItemTable({len(self.rows)} items, {len(self.judges)} judges)"


def item_table(
    source: Source,
    strata: Sequence[Stratum] = (),
    *,
    raters: Mapping[str, str] | None = None,
) -> ItemTable:
    """Collect the items of a source with what raters and judges answered.

    Parameters
    ----------
    source : Source
        Items, ratings and verdicts.
    strata : sequence of Stratum
        By which items can be filtered.
    raters : mapping of str to str, optional
        What raters are called, see `harness.report.pseudonyms`; their own names by default.
    """
    called = raters or {}
    if source.task.is_open:
        return _open_item_table(source, called)
    task, items = source.task, source.items
    names = tuple(judge.name for judge in source.judges)
    human = human_table(task, items)
    judges = [judge_table(task, items, name, source.verdicts[name]) for name in names]
    dispute = Dispute.of(human, judges)
    order = dispute.order[:MAX_ITEMS].tolist()
    shown = [items[i] for i in order]
    ratings, verdicts = _ratings(source, shown, called), _verdicts(source, shown)
    cells = [
        _judge_cells(source, table, verdicts[table.name], dispute.shared[j], order)
        for j, table in enumerate(judges)
    ]
    human_classes = _classes(with_abstention(human)[order])
    inside = _columns(_strata(source, human, strata)[:, order].T)
    fields = slices_of_items(task, items, human)
    sliced = _columns(_members(fields, len(items))[:, order].T)
    rows = [
        ItemRow(
            id=items[i].id,
            text=cut(item_text(items[i], task), MAX_TEXT),
            raters=_tally(tuple((a.elicitation, a.text) for a in ratings[items[i].id])),
            classes=human_classes[k],
            strata=inside[k],
            slices=sliced[k],
            disagreement=None if isnan(dispute.share[i]) else float(dispute.share[i]),
            judges=tuple(column[k] for column in cells),
        )
        for k, i in enumerate(order)
    ]
    return ItemTable(
        judges=names,
        classes=(*task.space.options, CANNOT_ASSESS, *NO_VERDICT),
        rows=tuple(rows),
        n_items=len(items),
        full=tuple(_full_items(source, shown, ratings, verdicts)),
        slices=_slice_names(fields),
    )


def _open_item_table(source: Source, called: Mapping[str, str]) -> ItemTable:
    """Collect the items of a task without options, in the task's order."""
    names = tuple(judge.name for judge in source.judges)
    shown = source.items[:MAX_ITEMS]
    ratings, verdicts = _ratings(source, shown, called), _verdicts(source, shown)
    fields = sliced_fields(source.task, source.items)
    sliced = _columns(_members(fields, len(source.items))[:, : len(shown)].T)
    rows = [
        ItemRow(
            id=item.id,
            text=cut(item_text(item, source.task), MAX_TEXT),
            raters=_open_tally([rating.text for rating in ratings[item.id]]),
            classes=(),
            strata=(),
            slices=sliced[i],
            disagreement=None,
            judges=tuple(_open_cell(verdicts[name].get(item.id, ())) for name in names),
        )
        for i, item in enumerate(shown)
    ]
    full = _full_items(source, shown, ratings, verdicts)
    return ItemTable(
        names, (), tuple(rows), len(source.items), tuple(full), slices=_slice_names(fields)
    )


def _slice_names(fields: Sequence[SlicedField]) -> tuple[str, ...]:
    return tuple(slice_name(field.name, value) for field in fields for value in field.values)


def _open_cell(replies: Sequence[Verdict]) -> JudgeCell:
    text = _open_tally([_verdict_text(v, {}) for v in replies])
    outcomes = tuple(sorted({v.outcome for v in replies})) or (NOT_ASKED,)
    return JudgeCell(text=text, classes=(), outcomes=outcomes, agreement="")


def _ratings(
    source: Source, items: Sequence[Item], called: Mapping[str, str]
) -> dict[str, list[ShownAnswer]]:
    """Return the ratings of each of some items."""
    columns, labels = source.task.rating_columns, option_labels(source.task)
    ratings: dict[str, list[ShownAnswer]] = {item.id: [] for item in items}

    @cache
    def shown(rater: int, answer: int) -> ShownAnswer:
        elicitation, value = columns.answers[answer]
        name = columns.raters[rater]
        return ShownAnswer(called.get(name, name), elicitation, answer_text(value, labels))

    at = np.flatnonzero(columns.rows_of(ratings) >= 0)
    codes = (codes[at].tolist() for codes in (columns.item, columns.rater, columns.answer))
    for item, rater, answer in zip(*codes, strict=True):
        ratings[columns.items[item]].append(shown(rater, answer))
    return ratings


def _verdicts(source: Source, items: Sequence[Item]) -> dict[str, dict[str, list[Verdict]]]:
    """Return the verdicts on some items by judge and item."""
    by_judge: dict[str, dict[str, list[Verdict]]] = {}
    for judge in source.judges:
        by_item = by_judge[judge.name] = {item.id: [] for item in items}
        verdicts = source.verdicts[judge.name]
        for verdict in verdicts_at(verdicts, columns_of(verdicts).of_items(by_item)):
            by_item[verdict.item].append(verdict)
    return by_judge


def _judge_cells(
    source: Source,
    table: RatingTable,
    verdicts: Mapping[str, Sequence[Verdict]],
    shared: FloatArray,
    order: Sequence[int],
) -> list[JudgeCell]:
    """Return what a judge answered to each item of the table."""
    labels, classes = option_labels(source.task), _classes(with_outcomes(table)[order])
    cells = []
    for k, i in enumerate(order):
        replies = verdicts.get(source.items[i].id, ())
        agreement = "" if isnan(shared[i]) else "agrees" if shared[i] > 0 else "differs"
        cells.append(
            JudgeCell(
                text=_tally(tuple((v.elicitation, _verdict_text(v, labels)) for v in replies)),
                classes=classes[k],
                outcomes=tuple(sorted({v.outcome for v in replies})) or (NOT_ASKED,),
                agreement=agreement,
            )
        )
    return cells


def _classes(counts: FloatArray) -> list[tuple[int, ...]]:
    """Return the columns of the most frequent answers to each item; none where all are 0."""
    return _columns(np.nan_to_num(modes(counts)) > 0)


def _columns(cells: BoolArray) -> list[tuple[int, ...]]:
    """Return in which columns of each row the cells are true."""
    columns = range(cells.shape[1])
    return [tuple(compress(columns, row)) for row in cells.tolist()]


def _strata(source: Source, human: RatingTable, strata: Sequence[Stratum]) -> BoolArray:
    """Return (S, n): which items each stratum holds."""
    scale = OptionScale.of(source.task)
    counts = scale.counts(human)
    members = members_of(strata, counts, scale.numbers)
    return np.array(members, dtype=np.bool_).reshape(len(strata), len(counts))


def _members(fields: Sequence[SlicedField], n_items: int) -> BoolArray:
    """Return (F, n): which items each slice of some fields holds."""
    members = [field.members for field in fields]
    return np.vstack([np.zeros((0, n_items), dtype=np.bool_), *members])


def _reply_text(verdict: Verdict) -> str:
    """Return a reply, which says in which order the answers were where that was turned back."""
    order = "(answers shown in the other order) " if verdict.swapped else ""
    return order + cut(verdict.text, MAX_REPLY)


def _full_items(
    source: Source,
    items: Iterable[Item],
    ratings: Mapping[str, Sequence[ShownAnswer]],
    verdicts: Mapping[str, Mapping[str, Sequence[Verdict]]],
) -> Iterator[FullItem]:
    """Yield items with all ratings and replies while these fit into the page."""
    labels, size = option_labels(source.task), 0
    for item in items:
        replies = [
            ShownAnswer(name, v.elicitation, _verdict_text(v, labels), _reply_text(v))
            for name, by_item in verdicts.items()
            for v in by_item.get(item.id, ())
        ]
        text = cut(item_text(item, source.task), MAX_FULL_TEXT)
        full = FullItem(text, tuple(ratings[item.id]), tuple(_counted(replies)))
        size += full.size
        if size > MAX_CHARACTERS:
            return
        yield full


def _counted(answers: list[ShownAnswer]) -> list[ShownAnswer]:
    """Join equal answers to one, with how often it was given."""
    if len({answer.name for answer in answers}) == len(answers):  # quick: one reply of each judge
        return answers
    return [
        replace(answer, text=f"{answer.text} ({n} times)") if n > 1 else answer
        for answer, n in Counter(answers).items()
    ]


def answer_text(value: object, labels: Mapping[str, str]) -> str:
    """Return a value as text: an option, a set in braces, or a set and the choice from it."""
    match value:
        case None:
            return ""
        case PairValue():
            return f"{answer_text(value.set, labels)} > {answer_text(value.choice, labels)}"
        case tuple() | list():
            return "{" + ", ".join(answer_text(key, labels) for key in value) + "}"
        case _:
            return labels.get(str(value), str(value))


def quoted_number(text: str) -> str:
    """Return an option with quotation marks where it could be taken for a count."""
    return f'"{text}"' if NUMERIC.fullmatch(text) else text


def option_labels(task: Task) -> dict[str, str]:
    """Return the label of each option, its key where it has none."""
    return {option.key: quoted_number(option.label or option.key) for option in task.options}


def _verdict_text(verdict: Verdict, labels: Mapping[str, str]) -> str:
    is_answered = verdict.outcome == "answered"
    return answer_text(verdict.value, labels) if is_answered else verdict.outcome


def _open_tally(answers: Sequence[str]) -> str:
    """Count numbers, in their order, or texts, the most frequent first."""
    counts = Counter(answers)
    try:
        order = sorted(counts, key=float)
    except ValueError:
        order = sorted(counts, key=lambda text: (-counts[text], text))
    return " · ".join(
        f"{text} ({counts[text]} times)" if counts[text] > 1 else text for text in order
    )


@lru_cache(MAX_TALLIES)
def _tally(answers: tuple[tuple[str, str], ...]) -> str:
    """Count answers, given as elicitation and text, on one line per elicitation."""
    by_elicitation: dict[str, Counter[str]] = {}
    for elicitation, text in answers:
        by_elicitation.setdefault(elicitation, Counter())[text] += 1
    lines = [
        " · ".join(
            f"{text} {n}" if n > 1 else text
            for text, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        for _, counts in sorted(
            by_elicitation.items(), key=lambda pair: ELICITATIONS.index(pair[0])
        )
    ]
    return "\n".join(lines)


def item_text(item: Item, task: Task) -> str:
    """Return what judges are shown of an item; of an image, its name."""
    parts = [item.fields[name] for name in task.text if item.fields.get(name)]
    if task.image and (name := item.fields.get(task.image)):
        parts.append(f"(image: {name})")
    return "\n\n".join(parts)


def item_block(table: ItemTable) -> dict[str, object]:
    """Return the rows, the texts and classes they refer to, and the items in full.

    A row is id, text, raters, disagreement, judges apart, strata, slices and a cell per judge;
    raters, strata, slices and cells are indices. An item in full is its text (null where the row
    holds all of it) and four indices of texts for each rating and each reply: name, elicitation,
    answer and reply.
    """
    raters, strata, slices, cells, texts = (
        defaultdict[Hashable, int](count().__next__) for _ in range(5)
    )  # the index of each value, in the order of their first use
    rows = [
        [
            row.id,
            row.text,
            raters[row.raters, row.classes],
            None if row.disagreement is None else round(row.disagreement, DIGITS),
            row.n_judges_apart,
            strata[row.strata],
            slices[row.slices],
            *(cells[cell.text, cell.classes, cell.outcomes, cell.agreement] for cell in row.judges),
        ]
        for row in table.rows
    ]
    return {
        "rows": rows,
        "judges": table.judges,
        "classes": table.classes,
        "raters": list(raters),
        "strata": list(strata),
        "slices": list(slices),
        "cells": list(cells),
        "full": [
            _full(item, row, texts) for item, row in zip(table.full, table.rows, strict=False)
        ],
        "texts": list(texts),
    }


def _full(item: FullItem, row: ItemRow, texts: dict[Hashable, int]) -> list[object]:
    """Return an item in full; its text is None where the row has all of it."""
    text_place = None if item.text == row.text else texts[control_pictures(item.text)]
    sides = [
        [
            texts[control_pictures(text)]
            for answer in side
            for text in (answer.name, answer.elicitation, answer.text, answer.reply)
        ]
        for side in (item.raters, item.judges)
    ]
    return [text_place, *sides]


class ItemFilter(NamedTuple):
    """A filter of the item table: its name in the address, its label, and values with words."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]


def item_filters(v: Validation, table: ItemTable) -> list[ItemFilter]:
    """Return the filters with the values that occur in the table; one of a single value is none."""
    cells = [cell for row in table.rows for cell in row.judges]
    raters = {index for row in table.rows for index in row.classes}
    answers = {index for cell in cells for index in cell.classes}
    outcomes = sorted({outcome for cell in cells for outcome in cell.outcomes})
    agreements = {cell.agreement for cell in cells}
    filters = (
        ItemFilter("judge", "Judge", tuple((name, name) for name in table.judges)),
        ItemFilter("raters", "Raters' answer", _class_choices(v, table, raters)),
        ItemFilter("answer", "Judge's answer", _class_choices(v, table, answers)),
        ItemFilter(
            "agreement",
            "Judge answers",
            tuple(pair for pair in AGREEMENT.items() if pair[0] in agreements),
        ),
        ItemFilter(
            "outcome", "Outcome", tuple((name, name.replace("_", " ")) for name in outcomes)
        ),
        ItemFilter("stratum", "Agreement among raters", _stratum_choices(v)),
        ItemFilter("slice", "Slice", tuple((name, name) for name in table.slices)),
    )
    return [row for row in filters if len(row.choices) > 1 or row.name == "judge"]


def _class_choices(
    v: Validation, table: ItemTable, used: Iterable[int]
) -> tuple[tuple[str, str], ...]:
    keys = [table.classes[index] for index in sorted(used)]
    return tuple((key, CLASS_WORDS.get(key, quoted_number(option_label(v, key)))) for key in keys)


def _stratum_choices(v: Validation) -> tuple[tuple[str, str], ...]:
    strata = [row.stratum for row in v.certainty.strata if row.n_items] if v.certainty else []
    return tuple((stratum.name, stratum_words(stratum)) for stratum in strata)
