"""Items and ratings from a task's data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.files.tables import read_rows
from harness.tasks.columns.answer_cells import AnswerReader
from harness.tasks.columns.column_mapping import ColumnMapping, listed_columns, mapping_of
from harness.tasks.columns.table_answers import TableAnswers, check_labels
from harness.tasks.columns.table_columns import encode
from harness.tasks.columns.table_reader import (
    ItemColumns,
    Rejected,
    TableAnswer,
    TableItem,
    TableReader,
)
from harness.tasks.dataset_fields import derived
from harness.tasks.hub_download import cached_split
from harness.tasks.item import TASK_FILE, path_inside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.files.tables import Row
    from harness.tasks.columns.table_columns import Table
    from harness.tasks.dataset_fields import DatasetFields
    from harness.tasks.item import Item
    from harness.tasks.schema import TaskFile

REMEDY = "Correct 'columns', 'derive', 'rename' or 'n_raters' under 'datasets' in task.yaml"


class DatasetTable:
    """The table in a task's data set.

    Raises `TaskError` if the table can't be read or lacks a column.
    """

    def __init__(self, file: TaskFile, folder: Path) -> None:
        assert file.datasets is not None, "asked before"
        source = file.datasets
        self.where = f"{folder / TASK_FILE}: {source.file or source.name}"
        path = (
            path_inside(folder, source.file, "datasets.file")
            if source.file
            else cached_split(source.name or "", source)
        )
        table = encode(path, derived(source.derive, read_rows(path)))
        mapping = _mapping(source, table, self.where)
        self._one_row_per_item = mapping.one_row_per_item
        cells = AnswerReader(table, mapping, source.n_raters)
        named = {"datasets.rename": source.rename, "ignore_labels": file.ignore_labels}
        check_labels(named, cells, self.where, file.scale)
        answers = TableAnswers.of_task(file, source.rename)
        columns = ItemColumns(fields={name: name for name in mapping.text})
        self._reader = TableReader(cells, answers, columns)
        self._entries = list(self._reader.read())

    def items(self) -> tuple[Item, ...]:
        """Return the items in row order.

        Each row must name an item, and an item's rows must not differ.
        """
        items: dict[str, Item] = {}
        for entry in self._entries:
            if not isinstance(entry, TableItem):
                continue
            item = entry.item
            if items.setdefault(item.id, item) is not item and (
                self._one_row_per_item or items[item.id] != item
            ):
                raise self._refusal(entry.row, "", f"item {item.id!r} is also in an earlier row")
        return tuple(items.values())

    def ratings(self) -> Iterator[tuple[str, Row]]:
        """Yield the location and cells of each rating, like a ratings table.

        Empty cells are skipped.
        """
        for entry in self._entries:
            if isinstance(entry, Rejected):
                raise self._refusal(entry.row, entry.column, entry.reason)
            if isinstance(entry, TableAnswer):
                row = {"item": entry.item, "rater": entry.name, "elicitation": entry.elicitation}
                value = list(entry.value) if isinstance(entry.value, tuple) else entry.value
                yield self._place(entry.row, entry.column), row | {"value": value}

    def _place(self, row: int, column: str) -> str:
        place = f"row {self._reader.line(row)}"
        return f"{place}, {column}" if column else place

    def _refusal(self, row: int, column: str, reason: str) -> TaskError:
        return TaskError(f"{self.where}: {self._place(row, column)}: {reason}. {REMEDY}.")


def _mapping(source: DatasetFields, table: Table, where: str) -> ColumnMapping:
    """Return the roles of the columns. All named columns must exist."""
    for role, names in source.columns.items():
        for name in names:
            if name not in table.columns:
                raise TaskError(
                    f"{where}: found no column {name!r} for {role}. The columns are "
                    f"{listed_columns(table)}."
                )
    roles = {str(role): names for role, names in source.columns.items()}
    return mapping_of(roles, table)
