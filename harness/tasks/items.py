"""Items of a task and the groups that share their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.tasks.cells import as_text, identifier
from harness.tasks.model import Item
from harness.tasks.tables import read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from harness.tasks.tables import Row


def read_items(items: Path, groups: Path | None) -> tuple[Item, ...]:
    """Read items, each with the fields of its group before its own.

    Raises
    ------
    TaskError
        If an id is missing or repeated, a group is unknown, or a field stands in both tables.
    """
    if groups is None:
        return tuple(_read(items))
    shared = {group.id: group.fields for group in _read(groups)}
    return tuple(_joined(items, item, shared) for item in _read(items))


def _joined(path: Path, item: Item, shared: Mapping[str, dict[str, str]]) -> Item:
    if item.group is None:
        return item
    where = f"{path}: item {item.id!r}"
    fields = shared.get(item.group)
    if fields is None:
        raise TaskError(f"{where}: group {item.group!r} is not in the groups file; add it there.")
    if twice := fields.keys() & item.fields.keys():
        raise TaskError(f"{where}: its group has the field {min(twice)!r} too; rename one of them.")
    return Item(item.id, fields | item.fields, item.group, item.criterion)


def _read(path: Path) -> Iterator[Item]:
    seen: set[str] = set()
    for line, row in read_rows(path, required=("id",)):
        where = f"{path}: line {line}"
        ident = identifier(row.pop("id"), "id", where)
        if ident in seen:
            raise TaskError(f"{where}: id {ident!r} is given twice; give each row its own id.")
        seen.add(ident)
        group = _optional(row, "group", where)
        criterion = _optional(row, "criterion", where)
        fields = {name: as_text(value) for name, value in row.items() if value is not None}
        yield Item(ident, fields, group, criterion)


def _optional(row: Row, column: str, where: str) -> str | None:
    value = row.pop(column, None)
    return None if value is None or value == "" else identifier(value, column, where)
