"""Reader for tables with known column roles. It yields items, answers and rejected rows.

It serves both imports and data sets that are read in place.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from harness.files.tables.checks import MAX_ID_CHARS, quoted
from harness.tasks.columns.cell_values import name_of, readable
from harness.tasks.columns.table_columns import JOINT, item_names
from harness.tasks.item import Item
from harness.tasks.model import SETS_RANK_FROM, share_with_sets
from harness.tasks.options import DEFAULT_PROPERTY
from harness.tasks.schema import MAX_POWERSET_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from harness.files.json_values import JsonObject
    from harness.tasks.columns.answer_cells import AnswerReader, CellAnswer
    from harness.tasks.columns.column_mapping import ColumnMapping
    from harness.tasks.columns.table_answers import LabelReading, RatedOptions, TableAnswers
    from harness.tasks.columns.table_columns import Table


class TableItem(NamedTuple):
    """An item and the row in which it first occurs, with or without a rating."""

    row: int
    item: Item
    is_rated: bool


class TableAnswer(NamedTuple):
    """A rating or, if ``is_judge``, a verdict. ``name`` is the rater's or the judge's name.

    ``rated_at`` is the time of the rating, or "" if the table has no times.
    """

    row: int
    item: str
    name: str
    is_judge: bool
    column: str
    elicitation: str
    value: str | tuple[str, ...]
    rated_at: str = ""

    @property
    def cell(self) -> str:
        """The value, as written in a task's files."""
        return (
            self.value
            if isinstance(self.value, str)
            else json.dumps(self.value, ensure_ascii=False)
        )


class Rejected(NamedTuple):
    """A row that can't be used, or a cell in the row."""

    row: int
    column: str
    reason: str
    is_repeat: bool = False  # the rating is there already, from an earlier row


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemColumns:
    """Definition of items by a table's columns.

    Attributes
    ----------
    fields : mapping of str to str
        Maps columns that become fields to the names of the fields.
    criterion : str or None
        The only criterion to read, or None for all of them.
    joint : bool
        Whether an item combines a row's item and a criterion.
    """

    fields: Mapping[str, str]
    criterion: str | None = None
    joint: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTask:
    """A table's meaning as a task: the roles of its columns and the meaning of its labels.

    Attributes
    ----------
    name : str
        Name of the task.
    rated : RatedOptions
        The rated property and the raters, whose kind and ids are known.
    cells : AnswerReader
        The table with the roles of its columns.
    answers : TableAnswers
        Meaning of its labels.
    columns : ItemColumns
        Definition of an item.
    source, licence : str
        Origin and terms of use of the data; "" if unknown.
    """

    name: str
    rated: RatedOptions
    cells: AnswerReader
    answers: TableAnswers
    columns: ItemColumns
    source: str = ""
    licence: str = ""

    @property
    def table(self) -> Table:
        """The table."""
        return self.cells.table

    @property
    def mapping(self) -> ColumnMapping:
        """The roles of the table's columns."""
        return self.cells.mapping

    def check(self) -> None:
        """Raise `TaskError` if the table's meaning is unclear."""

    def reader(self) -> TableReader:
        """Return a new reader for the table."""
        return TableReader(self.cells, self.answers, self.columns)

    def described(
        self,
        fields: Collection[str],
        answered: Collection[tuple[str, str]],
        sets: Collection[tuple[str, ...]],
    ) -> JsonObject:
        """Return the fields to write to ``task.yaml``.

        Parameters
        ----------
        fields : collection of str
            Fields that any item has.
        answered : collection of (str, str)
            Pairs of item and elicitation of the ratings, except CANNOT_ASSESS.
        sets : collection of tuple of str
            Response sets of ratings and verdicts.
        """
        table, share = self.table.path.name, share_with_sets(answered)
        listed = self.answers.listed_sets(sets)
        ranked_by_sets = share is not None and share >= SETS_RANK_FROM
        ranked_by_sets &= len(self.answers.labels) <= MAX_POWERSET_OPTIONS or bool(listed)
        shown = [self.columns.fields[name] for name in self.mapping.text]
        said = {
            "name": self.name,
            "property": self.rated.property or DEFAULT_PROPERTY,
            **self.answers.fields(),
            "response_sets": listed,
            "ranks_by": "response_set" if ranked_by_sets else "forced_choice",
            "raters": self.rated.kind,
            "rater_ids": self.rated.rater_ids,
            "text": [name for name in shown if name in fields],
            "image": self.columns.fields.get(self.mapping.image, ""),
            "source": f"{self.source}; imported from {table}" if self.source else table,
            "licence": self.licence,
        }
        return {name: value for name, value in said.items() if value not in ("", [])}


@dataclass(slots=True)
class _Seen:
    """Items, ratings and verdicts that were read so far."""

    items: dict[str, int] = field(default_factory=dict)  # number of the item's fields, by id
    first_row: dict[str, int] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)  # rows
    judged_rows: set[int] = field(default_factory=set)
    rated: dict[tuple[str, str, str], str | tuple[str, ...]] = field(default_factory=dict)
    rated_items: set[str] = field(default_factory=set)
    judged: dict[tuple[str, str, str], str | tuple[str, ...]] = field(default_factory=dict)


class TableReader:
    """Reader for a table with known column roles.

    Parameters
    ----------
    cells : AnswerReader
        The table's cells, by the roles of the columns.
    answers : TableAnswers
        Meaning of the labels in the cells.
    columns : ItemColumns
        What an item is.
    """

    def __init__(self, cells: AnswerReader, answers: TableAnswers, columns: ItemColumns) -> None:
        self._cells, self._answers, self._columns = cells, answers, columns
        table, mapping = cells.table, cells.mapping
        self._table, self._mapping = table, mapping
        self._lines: list[int] = table.lines.tolist()
        self._names = item_names(table, mapping.id)
        self._shown = table.keys(mapping.text).tolist()
        self._groups, self._criteria, self._elicitations = (
            item_names(table, (name,)) if name else []
            for name in (mapping.group, mapping.criterion, mapping.elicitation)
        )
        self._times = item_names(table, (mapping.rated_at,)) if mapping.rated_at else []
        self._readings: dict[tuple[str, str, bool], LabelReading] = {}
        self._seen = _Seen()

    def line(self, row: int) -> int:
        """Return a row's line in the file."""
        return self._lines[row]

    def rated(self) -> Iterator[TableItem | TableAnswer | Rejected]:
        """Yield all entries, with each item just before its first usable rating.

        In a table with a row per item, reject rows without a rating.
        """
        unrated: dict[str, TableItem] = {}
        for entry in self.read():
            if isinstance(entry, TableItem):
                if entry.is_rated:
                    unrated[entry.item.id] = entry
                elif self._mapping.one_row_per_item:
                    yield Rejected(entry.row, "", "no rater rated this item")
                continue
            if isinstance(entry, TableAnswer) and not entry.is_judge and entry.item in unrated:
                yield unrated.pop(entry.item)
            yield entry

    def read(self) -> Iterator[TableItem | TableAnswer | Rejected]:
        """Yield items and their ratings row by row, then all verdicts."""
        next_row = 0
        verdicts = []
        for answer in self._cells.answers():
            if self._columns.criterion not in {None, answer.criterion}:
                continue
            if answer.is_judge:
                verdicts.append(answer)
                self._seen.judged_rows.add(answer.row)
                continue
            yield from self._unrated(next_row, answer.row)
            next_row = answer.row + 1
            yield from self._rating(answer)
        yield from self._unrated(next_row, self._table.n_rows)
        for verdict in verdicts:
            yield from self._verdict(verdict)

    def _unrated(self, start: int, end: int) -> Iterator[TableItem | Rejected]:
        """Yield the items in rows without a rating, except in rows with only a judge's verdict."""
        one_row = self._mapping.one_row_per_item
        criterion = self._columns.criterion if self._criteria else None
        for row in range(start, end):
            if criterion is not None and self._criteria[row] != criterion:
                continue
            if name := self._names[row]:
                if one_row or row not in self._seen.judged_rows:
                    yield TableItem(row, self._made(row, name, ""), is_rated=False)
            elif one_row:
                yield self._refused(row, "the item is not named")

    def _item(self, row: int, criterion: str) -> Iterator[TableItem | Rejected]:
        """Yield a row's item the first time it occurs, or the reason why the row can't be used."""
        name, seen = self._names[row], self._seen
        if row in seen.refused:
            return
        if not name:
            yield self._refused(row, "the item is not named")
            return
        first = seen.first_row.setdefault(name, row)
        if self._mapping.one_row_per_item and first != row:
            line = self._lines[first]
            yield self._refused(row, f"{quoted('item', name)} is also on line {line}")
            return
        item = self._id(row, criterion)
        if item not in seen.items:
            seen.items[item] = self._shown[row]
            yield TableItem(row, self._made(row, item, criterion), is_rated=True)

    def _refused(self, row: int, reason: str) -> Rejected:
        """Reject a row, and remember it so that its other answers are skipped."""
        self._seen.refused.add(row)
        return Rejected(row, ", ".join(self._mapping.id), reason)

    def _id(self, row: int, criterion: str) -> str:
        name = self._names[row]
        return f"{name}{JOINT}{criterion}" if self._columns.joint else name

    def _made(self, row: int, item: str, criterion: str) -> Item:
        fields = {}
        for column_name, name in self._columns.fields.items():
            column = self._table.columns[column_name]
            if text := column.texts[column.codes[row]]:
                fields[name] = readable(text)
        group = self._groups[row] if self._groups else ""
        group = group or (self._names[row] if self._columns.joint else "")
        criterion = self._criteria[row] if self._criteria else name_of(criterion)
        return Item(item, fields, group or None, criterion or None)

    def _rating(self, answer: CellAnswer) -> Iterator[TableItem | TableAnswer | Rejected]:
        row = answer.row
        yield from self._item(row, answer.criterion)
        if row in self._seen.refused:
            return
        item = self._id(row, answer.criterion)
        elicitation, value, problem = self._reading(answer)
        key = (item, answer.name, elicitation)
        problem = answer.problem or problem or self._problem(answer.name, key)
        if problem:
            is_repeat = bool(value) and self._seen.rated.get(key) == value
            yield Rejected(row, answer.column, problem, is_repeat)
        elif self._seen.items[item] != self._shown[row]:
            columns = ", ".join(self._mapping.text)
            problem = f"{quoted('item', item)} differs from an earlier row"
            yield Rejected(row, columns, problem)
        else:
            self._seen.rated[key] = value
            self._seen.rated_items.add(item)
            time = self._times[row] if self._times else ""
            rated = (row, item, answer.name, False, answer.column, elicitation, value, time)
            yield TableAnswer(*rated)

    def _problem(self, rater: str, key: tuple[str, str, str]) -> str:
        """Return why a rating can't be used, or "" if the rating is usable."""
        if not rater or len(rater) > MAX_ID_CHARS:
            return "the rater's name is too long" if rater else "the rater is not named"
        is_repeated = key in self._seen.rated
        return f"{quoted('rater', rater)} has rated this item before" if is_repeated else ""

    def _reading(self, answer: CellAnswer) -> LabelReading:
        elicitation = self._elicitations[answer.row] if self._elicitations else ""
        key = (answer.text, elicitation, answer.is_judge)
        if key not in self._readings:
            read = self._answers.read_verdict if answer.is_judge else self._answers.read
            self._readings[key] = read(answer.text, elicitation)
        return self._readings[key]

    def _verdict(self, answer: CellAnswer) -> Iterator[TableAnswer | Rejected]:
        """Yield a verdict, or the reason why it can't be used. Its item must have a rating."""
        mapping, seen, row = self._mapping, self._seen, answer.row
        item = self._id(row, answer.criterion)
        if item not in seen.rated_items or row in seen.refused:
            if mapping.rater:
                reason = "no rater rated this item, so the verdict on it is not used"
                yield Rejected(row, answer.column, reason)
            return
        elicitation, value, problem = self._reading(answer)
        if problem:
            yield Rejected(row, answer.column, problem)
        if not value:
            return
        key = (item, answer.name, elicitation)
        if key not in seen.judged:
            seen.judged[key] = value
            yield TableAnswer(row, item, answer.name, True, answer.column, elicitation, value)
        elif (
            answer.column in {mapping.label, mapping.set, *mapping.criteria}
            or seen.judged[key] != value
        ):  # a judge's column may repeat its verdict on an item's rows
            problem = f"{quoted('judge', answer.name)} has rated this item before"
            yield Rejected(row, answer.column, problem)
