"""Items and ratings of a task that is read from a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.tasks.columns.answer_cells import AnswerReader
from harness.tasks.columns.cell_values import labels_of, readable
from harness.tasks.columns.column_mapping import ColumnMapping, listed_columns, mapping_fields
from harness.tasks.columns.table_columns import encode, item_names
from harness.tasks.dataset_fields import derived
from harness.tasks.folders import path_inside
from harness.tasks.hub_download import cached_split
from harness.tasks.model import Item
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import TASK_FILE
from harness.tasks.tables import read_rows
from harness.tasks.tables.checks import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from harness.tasks.columns.answer_cells import Answer
    from harness.tasks.columns.table_columns import Table
    from harness.tasks.dataset_fields import DatasetFields
    from harness.tasks.schema import TaskFile
    from harness.tasks.tables import Row

REMEDY = "correct 'columns', 'derive' or 'n_raters' under 'datasets' in task.yaml"


class DatasetTable:
    """The table of a task's data set; `TaskError` if it cannot be read or lacks a column."""

    def __init__(self, file: TaskFile, folder: Path) -> None:
        assert file.datasets is not None, "asked before"
        source = file.datasets
        self.where = f"{folder / TASK_FILE}: {source.file or source.name}"
        path = (
            path_inside(folder, source.file, "datasets.file")
            if source.file
            else cached_split(source.name or "", source)
        )
        self._table = encode(path, derived(source.derive, read_rows(path)))
        self._mapping = _mapping(source, self._table, self.where)
        self._names = item_names(self._table, self._mapping.id)
        self._lines = self._table.lines.tolist()
        self._source = source
        self._task = file

    def items(self) -> tuple[Item, ...]:
        """Return the items in the order of the rows, which must name them and not differ."""
        items: dict[str, Item] = {}
        places = {role: self._cells(role) for role in ("group", "criterion")}
        texts = {name: self._texts(name) for name in self._mapping.text}
        for row, name in enumerate(self._names):
            where = f"{self.where}: row {self._lines[row]}"
            if not name:
                raise TaskError(f"{where}: the item has no id; {REMEDY}.")
            fields = {field: cells[row] for field, cells in texts.items() if cells[row]}
            group, criterion = (cells[row] or None if cells else None for cells in places.values())
            item = Item(name, fields, group, criterion)
            if name not in items:
                items[name] = item
            elif self._mapping.one_row_per_item or items[name] != item:
                raise TaskError(f"{where}: item {short(name)} stands in an earlier row; {REMEDY}.")
        return tuple(items.values())

    def ratings(self) -> Iterator[tuple[str, Row]]:
        """Yield place and cells of each rating, as in a table of ratings; empty cells are none."""
        keys = self._keys()
        elicitations = self._cells("elicitation")
        answers = AnswerReader(self._table, self._mapping, self._source.n_raters).answers()
        for answer in answers:
            where = f"{self.where}: row {self._lines[answer.row]}, {answer.column}"
            if answer.problem:
                raise TaskError(f"{where}: {answer.problem}; {REMEDY}.")
            elicitation = elicitations[answer.row] if elicitations else ""
            if answer.text:
                value, is_list = self._value(answer, keys)
                yield (
                    where,
                    {
                        "item": self._names[answer.row],
                        "rater": answer.name,
                        "elicitation": elicitation or ("response_set" if is_list else ""),
                        "value": value,
                    },
                )

    def _value(self, answer: Answer, keys: Mapping[str, str]) -> tuple[object, bool]:
        """Return the value of a rating, and whether it is a response set."""
        if self._task.scale == "text":
            return answer.text, False
        labels, is_list = labels_of(answer.text)
        named = [keys.get(label.casefold(), label) for label in labels]
        return (named if is_list else "".join(named)), is_list

    def _keys(self) -> dict[str, str]:
        """Return the key that each label stands for, by the label in lower case."""
        options = self._task.options
        keys = {option.label.casefold(): option.key for option in options}
        keys |= {option.key.casefold(): option.key for option in options}
        keys |= {CANNOT_ASSESS.casefold(): CANNOT_ASSESS}
        return keys | {label.casefold(): key for label, key in self._source.rename.items()}

    def _cells(self, role: str) -> list[str]:
        """Return the cells of a role as names; nothing where it has no column."""
        column = getattr(self._mapping, role)
        return item_names(self._table, (column,)) if column else []

    def _texts(self, name: str) -> list[str]:
        """Return the cells of a column; conversations as text."""
        column = self._table.columns[name]
        texts = [readable(text) for text in column.texts]
        return [texts[code] for code in column.codes.tolist()]


def _mapping(source: DatasetFields, table: Table, where: str) -> ColumnMapping:
    """Return the roles of the columns, all of which must be there."""
    for role, names in source.columns.items():
        for name in names:
            if name not in table.columns:
                raise TaskError(
                    f"{where}: found no column {name!r} for {role}; the columns are "
                    f"{listed_columns(table)}."
                )
    roles = {str(role): names for role, names in source.columns.items()}
    return ColumnMapping(**mapping_fields(roles, table))
