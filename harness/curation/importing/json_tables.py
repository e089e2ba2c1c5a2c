"""Rows in JSON documents without a known format: by id, by column, split, or below one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.files.json_values import JsonObject
    from harness.files.tables import Row

SHARED = 0.5  # mean share of all objects' fields that one object has
SPLIT = {"columns", "data"}


def rows_of_json(content: object, notes: list[str]) -> list[Row] | None:
    """Return the rows in a JSON document, or None if the document isn't a table.

    A table is a list of objects, which can be the only list below several keys, or any layout that
    pandas writes: objects by id, cells by column, or ``columns`` and ``data``.

    Examples
    --------
    >>> rows_of_json({"d0": {"text": "Hi.", "ann": "no"}, "d1": {"text": "Ho.", "ann": "yes"}}, [])
    [{'id': 'd0', 'text': 'Hi.', 'ann': 'no'}, {'id': 'd1', 'text': 'Ho.', 'ann': 'yes'}]
    """
    if isinstance(content, list) and _are_objects(content):
        return content
    if not isinstance(content, dict) or not content:
        return None
    return _split(content) or _by_column(content) or _by_id(content, notes) or _nested(content)


def _are_objects(content: object) -> bool:
    return isinstance(content, list) and all(isinstance(row, dict) for row in content)


def _split(content: JsonObject) -> list[Row] | None:
    """Read ``{"columns": [...], "data": [[...], ...]}``."""
    if not content.keys() >= SPLIT:
        return None
    columns, data = content["columns"], content["data"]
    if not isinstance(columns, list) or not isinstance(data, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    index = content.get("index", [])
    first = [{"id": name} for name in index] if len(index) == len(data) else [{} for _ in data]
    return [
        {**id_, **dict(zip(map(str, columns), row, strict=True))}
        for id_, row in zip(first, data, strict=True)
    ]


def _by_column(content: JsonObject) -> list[Row] | None:
    """Read lists of equal length by column, or cells by column and row number."""
    cells = list(content.values())
    if all(isinstance(column, list) and not _are_objects(column) for column in cells):
        if len(cells) > 1 and len({len(column) for column in cells}) == 1:
            rows = zip(*cells, strict=True)
            return [dict(zip(content, row, strict=True)) for row in rows]
        return None
    if not all(isinstance(column, dict) for column in cells):
        return None
    numbers = list(cells[0])
    if not numbers or numbers != [str(number) for number in range(len(numbers))]:
        return None
    if any(list(column) != numbers for column in cells):
        return None
    return [{name: column[number] for name, column in content.items()} for number in numbers]


def _by_id(content: JsonObject, notes: list[str]) -> list[Row] | None:
    """Read objects by id with mostly the same fields, or lists of objects by id."""
    entries = list(content.items())
    if all(_are_objects(entry) and entry for _, entry in entries) and len(entries) > 1:
        named = [(name, row) for name, rows in entries for row in rows]
    elif all(isinstance(entry, dict) and entry for _, entry in entries):
        named = entries
    else:
        return None
    fields = {name for _, row in named for name in row}
    if sum(len(row) for _, row in named) < SHARED * len(fields) * len(named):
        return None
    key = _free_name([row for _, row in named])
    notes.append(f"the keys of the JSON objects become the column {key!r}")
    return [{key: name, **row} for name, row in named]


def _free_name(rows: Sequence[Row]) -> str:
    """Return a column name for the keys that no field has."""
    name = "id"
    while any(name in row for row in rows):
        name += "_"
    return name


def _nested(content: JsonObject) -> list[Row] | None:
    """Read the only list of objects below any key."""
    lists = [value for value in content.values() if _are_objects(value) and value]
    return lists[0] if len(lists) == 1 else None
