"""Convert items with all ratings and replies to texts, and define the page's item filters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.parsing.verdict import PairValue
from harness.report.certainty_charts import stratum_words
from harness.report.formatting import control_pictures, cut
from harness.report.judge_charts import option_label
from harness.report.slice_rows import slice_name
from harness.stats.data.rating_table import ELICITATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.analysis import Validation
    from harness.analysis.item_answers import AnsweredItems, GivenRating, GivenVerdict, JudgeAnswers
    from harness.tasks import Item, Task
    from harness.tasks.item import Elicitation


MAX_CHARACTERS = 3_000_000  # characters of the ratings and replies that open in place
MAX_TEXT = 240
MAX_FULL_TEXT = 6000
MAX_REPLY = 600
MAX_TALLIES = 1000  # remembered texts: most items have the same answers as others
ANSWER_SIZE = 25  # a rating's or reply's characters in the page besides its text
NOT_ASKED = "not_asked"
TIMES = "\N{MULTIPLICATION SIGN}"  # before a count in a table row
DIGITS = 4
AGREEMENT = {"agrees": "as most raters", "differs": "other than most raters"}
NUMERIC = re.compile(r"[-+]?\d+([.,]\d+)?")
CLASS_WORDS = {"CANNOT_ASSESS": "cannot assess"}


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """A rating or reply. ``name`` is the rater's or the judge's."""

    name: str
    elicitation: Elicitation
    text: str
    reply: str = ""

    @property
    def size(self) -> int:
        """Approximate number of characters that the answer adds to the page."""
        return len(self.text) + len(self.reply) + ANSWER_SIZE


@dataclass(frozen=True, slots=True)
class JudgeCell:
    """One judge's answers to an item.

    Attributes
    ----------
    text : str
        Count of each answer, one line per elicitation.
    classes : tuple of int
        The most frequent of `ItemTable.classes`; several if tied.
    outcomes : tuple of str
        Outcomes of its replies; ``not_asked`` if there are none.
    agreement : str
        "agrees" if its most common choice is one of the raters', "differs" if it isn't, "" if
        either side made no choice.
    """

    text: str
    classes: tuple[int, ...]
    outcomes: tuple[str, ...]
    agreement: str


@dataclass(frozen=True, slots=True)
class ItemRow:
    """Row of the item table.

    Attributes
    ----------
    text : str
        Start of its text; "" if there is none.
    raters : str
        Number of raters per answer, most common first, one line per elicitation.
    classes : tuple of int
        The raters' most common of `ItemTable.classes`; several if tied.
    strata, slices : tuple of int
        Strata and `ItemTable.slices` that contain it.
    disagreement : float or None
        Share of the pairs of the raters' forced choices that differ; None below two choices.
    judges : tuple of JudgeCell
        A cell for each judge, in the table's order of judges.
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
        """Number of judges whose most common answer is not one of the raters' most common answers.

        The number is None if no judge and rater made a choice.
        """
        if not any(cell.agreement for cell in self.judges):
            return None
        return sum(cell.agreement == "differs" for cell in self.judges)


@dataclass(frozen=True, slots=True)
class FullItem:
    """Full text of an item, with its ratings and replies."""

    text: str
    raters: tuple[ShownAnswer, ...]
    judges: tuple[ShownAnswer, ...]

    @property
    def size(self) -> int:
        """Approximate number of characters that the item adds to the page."""
        return len(self.text) + sum(answer.size for answer in (*self.raters, *self.judges))


@dataclass(frozen=True, slots=True, repr=False)
class ItemTable:
    """Items with answers from raters and judges, most disputed items first.

    Attributes
    ----------
    judges : tuple of str
        Names of the judges.
    classes : tuple of str
        Classes of answers: options, CANNOT_ASSESS, and for judges ``refused``, ``invalid`` and
        ``failed``.
    rows : tuple of ItemRow
        Rows for the items of `AnsweredItems`.
    n_items : int
        Number of items in the task or the run.
    full : tuple of FullItem
        The table's first items with all ratings and replies; fewer than ``rows`` if these exceed
        `MAX_CHARACTERS`.
    slices : tuple of str
        Names of the slices of the items.
    keys : tuple of (str, str)
        Options with a short key and a label; empty if the rows have labels.
    """

    judges: tuple[str, ...]
    classes: tuple[str, ...]
    rows: tuple[ItemRow, ...]
    n_items: int
    full: tuple[FullItem, ...]
    slices: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"ItemTable({len(self.rows)} items, {len(self.judges)} judges)"


def item_table(
    answers: AnsweredItems, raters: Mapping[str, str] | None = None, *, by_key: bool = False
) -> ItemTable:
    """Return a source's items and answers as texts.

    Parameters
    ----------
    answers : AnsweredItems
        Items with the raters' and judges' answers.
    raters : mapping of str to str, optional
        Raters' displayed names, see `harness.report.pseudonyms`; their own names by default.
    by_key : bool, optional
        Whether rows use options' keys if these are shorter than their labels.
    """
    task, labels, called = answers.task, option_labels(answers.task), raters or {}
    keys = _keys(task) if by_key else ()
    short = {key: quoted_number(key) for key, _ in keys} or labels
    tally = partial(_tally, is_open=task.is_open)

    @cache
    def in_row(elicitation: Elicitation, value: object) -> tuple[str, str]:
        return elicitation, answer_text(value, short)

    @cache
    def shown(rating: GivenRating) -> ShownAnswer:
        name = called.get(rating.rater, rating.rater)
        return ShownAnswer(name, rating.elicitation, answer_text(rating.value, labels))

    ratings = [[shown(rating) for rating in row.ratings] for row in answers.rows]
    rows = [
        ItemRow(
            id=row.item.id,
            text=cut(item_text(row.item, task), MAX_TEXT),
            raters=tally(tuple(in_row(r.elicitation, r.value) for r in row.ratings)),
            classes=row.classes,
            strata=row.strata,
            slices=row.slices,
            disagreement=row.disagreement,
            judges=tuple(_judge_cell(cell, short, is_open=task.is_open) for cell in row.judges),
        )
        for row in answers.rows
    ]
    return ItemTable(
        judges=answers.judges,
        classes=answers.classes,
        rows=tuple(rows),
        n_items=answers.n_items,
        full=tuple(_full_items(answers, ratings, labels)),
        slices=tuple(slice_name(*of_slice) for of_slice in answers.slices),
        keys=keys,
    )


def _judge_cell(answers: JudgeAnswers, labels: Mapping[str, str], *, is_open: bool) -> JudgeCell:
    texts = tuple((v.elicitation, _verdict_text(v, labels)) for v in answers.verdicts)
    return JudgeCell(
        text=_tally(texts, is_open=is_open),
        classes=answers.classes,
        outcomes=tuple(sorted({v.outcome for v in answers.verdicts})) or (NOT_ASKED,),
        agreement=answers.agreement,
    )


def _reply_text(verdict: GivenVerdict) -> str:
    """Return a reply's text. Add a note if the answers were shown in reverse order."""
    order = "(answers shown in the other order) " if verdict.swapped else ""
    return order + cut(verdict.text, MAX_REPLY)


def _full_items(
    answers: AnsweredItems, ratings: Sequence[Sequence[ShownAnswer]], labels: Mapping[str, str]
) -> Iterator[FullItem]:
    """Yield items with all ratings and replies, until the page's size limit is reached."""
    size = 0
    for row, of_raters in zip(answers.rows, ratings, strict=True):
        replies = [
            ShownAnswer(name, v.elicitation, _verdict_text(v, labels), _reply_text(v))
            for name, cell in zip(answers.judges, row.judges, strict=True)
            for v in cell.verdicts
        ]
        text = cut(item_text(row.item, answers.task), MAX_FULL_TEXT)
        full = FullItem(text, tuple(of_raters), tuple(_counted(replies)))
        size += full.size
        if size > MAX_CHARACTERS:
            return
        yield full


def _counted(answers: list[ShownAnswer]) -> list[ShownAnswer]:
    """Merge equal answers, and add their count."""
    if len({answer.name for answer in answers}) == len(answers):  # quick: one reply of each judge
        return answers
    return [
        replace(answer, text=f"{answer.text} ({n} times)") if n > 1 else answer
        for answer, n in Counter(answers).items()
    ]


def answer_text(value: object, labels: Mapping[str, str]) -> str:
    """Format a value: an option, a set in braces, or a set followed by its choice."""
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
    """Return an option's name, in quotation marks if it looks like a count."""
    return f'"{text}"' if NUMERIC.fullmatch(text) else text


def option_labels(task: Task) -> dict[str, str]:
    """Return each option's label, or its key if it has no label."""
    return {option.key: quoted_number(option.label or option.key) for option in task.options}


def _keys(task: Task) -> tuple[tuple[str, str], ...]:
    """Return the options' keys and labels, if the keys are short enough to replace the labels.

    Otherwise, return an empty tuple.
    """
    pairs = [(option.key, option.label or option.key) for option in task.options]
    are_short = sum(len(key) for key, _ in pairs) < sum(len(label) for _, label in pairs)
    return tuple(pairs) if are_short else ()


def _verdict_text(verdict: GivenVerdict, labels: Mapping[str, str]) -> str:
    is_answered = verdict.outcome == "answered"
    return answer_text(verdict.value, labels) if is_answered else verdict.outcome


@lru_cache(MAX_TALLIES)
def _tally(answers: tuple[tuple[str, str], ...], *, is_open: bool) -> str:
    """Count answers, given as pairs of elicitation and text, with one line per elicitation.

    The most frequent answers come first, but numbers on an open scale are sorted by value.
    """
    if is_open:
        return _open_tally([text for _, text in answers])
    by_elicitation: dict[str, Counter[str]] = {}
    for elicitation, text in answers:
        by_elicitation.setdefault(elicitation, Counter())[text] += 1
    lines = [
        " · ".join(
            text if counts.total() == 1 else f"{text} {TIMES}{n}"
            for text, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        )
        for _, counts in sorted(
            by_elicitation.items(), key=lambda pair: ELICITATIONS.index(pair[0])
        )
    ]
    return "\n".join(lines)


def _open_tally(answers: Sequence[str]) -> str:
    """Count numbers in increasing order, or texts from the most to the least frequent."""
    counts = Counter(answers)
    try:
        order = sorted(counts, key=float)
    except ValueError:
        order = sorted(counts, key=lambda text: (-counts[text], text))
    return " · ".join(
        f"{text} ({counts[text]} times)" if counts[text] > 1 else text for text in order
    )


def item_text(item: Item, task: Task) -> str:
    """Return an item's text as judges see it. An image appears as its file name."""
    parts = [item.fields[name] for name in task.text if item.fields.get(name)]
    if task.image and (name := item.fields.get(task.image)):
        parts.append(f"(image: {name})")
    return "\n\n".join(parts)


def item_block(table: ItemTable) -> dict[str, object]:
    """Return the table's rows, its distinct texts and classes, and the full items, as JSON data.

    A row contains id, text, raters, disagreement, number of judges that disagree, strata, slices
    and a cell per judge. Raters, strata, slices and cells are indices. An item in full contains its
    text (null if the row has all of it) and four indices of texts for each rating and reply: name,
    elicitation, answer and reply.
    """
    raters, strata, slices, cells, texts = (
        defaultdict[Hashable, int](count().__next__) for _ in range(5)
    )  # index of each value, in order of first use
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
    """Return a full item as indices of texts. Its own text is None if the row shows it all."""
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
    """Filter for the item table: its name in the URL, its label, and the values to choose from."""

    name: str
    label: str
    choices: tuple[tuple[str, str], ...]


def item_filters(v: Validation, table: ItemTable) -> list[ItemFilter]:
    """Return filters for the values in the table. A filter needs at least two values."""
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
