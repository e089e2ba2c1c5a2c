"""Join two runs by item, with each judge's answers in both runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from harness.analysis.inputs import shared_items
from harness.analysis.item_answers import answered_items
from harness.report.html.item_table import item_table
from harness.report.pseudonyms import pseudonyms
from harness.runs.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.report.html.item_table import FullItem, ItemRow, ItemTable, JudgeCell, ShownAnswer
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Item
    from harness.tasks.item import Elicitation


class AnswerCell(TypedDict):
    """One judge's answers to an item, as in the report's item table."""

    text: str
    outcomes: list[str]
    agreement: str


class JudgePair(TypedDict):
    """A judge's answers in the first and second run. None if the judge is not in a run."""

    judge: str
    before: AnswerCell | None
    now: AnswerCell | None
    is_same: bool | None


class ItemPair(TypedDict):
    """An item in both runs. ``raters_agree`` is None with fewer than two forced choices."""

    id: str
    text: str
    raters: str
    raters_agree: bool | None
    slices: list[int]
    judges: list[JudgePair]


class SideBySide(TypedDict):
    """Items of two runs, in the order of the second run's report."""

    first: str
    second: str
    judges: list[str]
    slices: list[str]
    n_items: tuple[int, int]
    items: list[ItemPair]


class ChangedAnswer(NamedTuple):
    """Item that a judge answers differently in the second run, with the raters' answers."""

    item: str
    text: str
    judge: str
    before: str
    now: str
    raters: str


class GivenAnswer(TypedDict):
    """A rating, or a reply and the answer parsed from it."""

    name: str
    elicitation: Elicitation
    text: str
    reply: str


class FullPair(TypedDict):
    """Full text of an item, with its ratings and the replies in both runs."""

    text: str
    raters: list[GivenAnswer]
    before: list[GivenAnswer]
    now: list[GivenAnswer]


@dataclass(frozen=True, slots=True, repr=False)
class RunItems:
    """A run's items, as in its report."""

    name: str
    items: tuple[Item, ...]
    table: ItemTable

    @classmethod
    def of(cls, folder: RunFolder, *, show_raters: bool = False) -> RunItems:
        """Read a run's items. Raters keep their names only if ``show_raters`` is True.

        Raises
        ------
        HarnessError
            If the folder can't be read, or belongs to a probe.
        """
        source = source_of(folder)
        raters = pseudonyms(source.task.rating_columns.raters, show_raters=show_raters)
        return cls(folder.path.name, source.items, item_table(answered_items(source), raters))

    def __repr__(self) -> str:
        return f"RunItems({self.name!r}, {len(self.items)} items)"

    def full(self, item: str) -> FullItem | None:
        """Return an item with its ratings and replies, or None if the table does not contain it."""
        ids = (row.id for row in self.table.rows)
        return next(
            (full for name, full in zip(ids, self.table.full, strict=False) if name == item), None
        )


def side_by_side(first: RunItems, second: RunItems) -> SideBySide:
    """Join the items of two runs that have the same id and text."""
    shared = {item.id for item in shared_items(first.items, second.items)}
    before = {row.id: row for row in first.table.rows}
    judges = list(dict.fromkeys((*second.table.judges, *first.table.judges)))
    pairs = [
        _pair((before[row.id], row), (first.table, second.table), judges)
        for row in second.table.rows
        if row.id in shared and row.id in before
    ]
    return {
        "first": first.name,
        "second": second.name,
        "judges": judges,
        "slices": list(second.table.slices),
        "n_items": (len(first.items), len(second.items)),
        "items": pairs,
    }


def changed_answers(runs: SideBySide) -> list[ChangedAnswer]:
    """Return the items on which a judge's answers differ between the runs."""
    return [
        ChangedAnswer(item["id"], item["text"], pair["judge"], *_texts(pair), item["raters"])
        for item in runs["items"]
        for pair in item["judges"]
        if pair["is_same"] is False
    ]


def _texts(pair: JudgePair) -> tuple[str, str]:
    before, now = (
        (cell["text"] or ", ".join(cell["outcomes"])) if cell else ""
        for cell in (pair["before"], pair["now"])
    )
    return before, now


def _pair(
    rows: tuple[ItemRow, ItemRow], tables: tuple[ItemTable, ItemTable], judges: Iterable[str]
) -> ItemPair:
    row = rows[1]
    return {
        "id": row.id,
        "text": row.text,
        "raters": row.raters,
        "raters_agree": None if row.disagreement is None else row.disagreement == 0,
        "slices": list(row.slices),
        "judges": [_judge_pair(name, rows, tables) for name in judges],
    }


def _judge_pair(
    name: str, rows: tuple[ItemRow, ItemRow], tables: tuple[ItemTable, ItemTable]
) -> JudgePair:
    cells = [
        row.judges[table.judges.index(name)] if name in table.judges else None
        for row, table in zip(rows, tables, strict=True)
    ]
    before, now = cells
    is_same = None if before is None or now is None else _is_same(before, now, tables)
    return {"judge": name, "before": _shown(before), "now": _shown(now), "is_same": is_same}


def _is_same(before: JudgeCell, now: JudgeCell, tables: tuple[ItemTable, ItemTable]) -> bool:
    """Return whether a judge's answers are the same. Without sets, compare its most common choice.

    Two runs can have different numbers of replies per item.
    """
    if before.text == now.text:
        return True
    kinds = [
        {table.classes[i] for i in cell.classes}
        for cell, table in zip((before, now), tables, strict=True)
    ]
    return "\n" not in before.text + now.text and bool(kinds[0]) and kinds[0] == kinds[1]


def _shown(cell: JudgeCell | None) -> AnswerCell | None:
    if cell is None:
        return None
    return {"text": cell.text, "outcomes": list(cell.outcomes), "agreement": cell.agreement}


def full_pair(first: RunItems, second: RunItems, item: str) -> FullPair | None:
    """Return an item of both runs with ratings and replies, or None if no table contains it."""
    before, now = first.full(item), second.full(item)
    shown = now or before
    if shown is None:
        return None
    return {
        "text": shown.text,
        "raters": _answers(shown.raters),
        "before": _answers(before.judges) if before else [],
        "now": _answers(now.judges) if now else [],
    }


def _answers(answers: Iterable[ShownAnswer]) -> list[GivenAnswer]:
    return [
        {"name": a.name, "elicitation": a.elicitation, "text": a.text, "reply": a.reply}
        for a in answers
    ]
