"""Ratings inside cells: lists of objects become rows, and lists by criterion become columns."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.curation.importing.column_facts import holds_ballots
from harness.files.tables.strict_json import parse_json
from harness.tasks.columns.cell_values import (
    ballots_by_rater,
    counts_of,
    list_of,
    readable,
    text_of,
)
from harness.tasks.columns.column_words import LABELS, RATERS, contains_word
from harness.tasks.columns.table_columns import encode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from harness.files.json_values import JsonObject
    from harness.files.tables import Row
    from harness.tasks.columns.table_columns import Column, Table

MOST_DEEP = 3  # most levels of lists: questions, systems and reviews
LOOKED_AT = 200  # distinct cells that decide what a column is
SHARED = 0.5  # mean share of all objects' fields that one object has
ROUNDED = 0.02  # most that rounded shares add up to more or less than their whole
RATED = LABELS | RATERS  # words in the names of fields
NAME = "name"  # column for the keys above objects, such as their raters
LIST = "list"  # column for the list that an object comes from


def unnested(table: Table) -> Table | None:
    """Unnest objects in a table's cells into rows and columns, or return None if there are none.

    Each object in a list becomes a row, and each of its fields a column. If several columns list
    objects with the same fields, a new column names the list. A column of objects with a list per
    field, and the same fields in each row, becomes a column per field. Conversations are texts and
    stay unchanged, as does a single column of objects that name a rater and a label.

    Parameters
    ----------
    table : Table
        The table as read from its file.
    """
    former, known, notes, opened = table, set[str](), list[str](), list[str]()
    for _ in range(MOST_DEEP):
        while (spread := _spread(table, notes, known)) is not table:
            table = spread
        lists = _listing(table, known)
        known |= {*table.columns}
        if not lists:
            break
        opened += lists
        table = _made(table, _rows(table, lists))
    if opened:
        shown = ", ".join(opened)
        notes.append(f"each object in {shown} is read as a row (--drop leaves out a column)")
    return None if table is former else replace(table, notes=(*former.notes, *dict.fromkeys(notes)))


def _made(table: Table, rows: Iterator[tuple[int, Row]]) -> Table:
    """Create a table from rows, with the other attributes of the original table."""
    made = encode(table.path, rows)
    return replace(made, notes=table.notes, reading=table.reading)


def _listing(table: Table, known: Collection[str]) -> list[str]:
    """Return the new columns that list objects with the same fields as the likeliest column.

    A single column with labels by rater stays unchanged. Several such columns are separate items.
    """
    new = {n: column for n, column in table.columns.items() if n not in known}
    ballots = [n for n, column in new.items() if _is_ballot(column.values[:LOOKED_AT])]
    fields = {n: _fields(of) for n, of in new.items() if len(ballots) > 1 or n not in ballots}
    rated = [of for of in fields.values() if any(contains_word(n, RATED) for n in of)]
    likeliest = next((of for of in (*rated, *fields.values()) if of), frozenset[str]())
    return [name for name, of in fields.items() if of and of == likeliest]


def _fields(column: Column) -> frozenset[str]:
    """Return the fields of the objects that a column lists, or none for other columns."""
    cells = [_objects(text) for text in column.values[:LOOKED_AT]]
    listed = [entry for entries in cells for entry in entries]
    is_told = any(readable(text) != text for text in column.values[:LOOKED_AT])
    if not listed or not all(cells) or is_told:
        return frozenset()
    fields = Counter(name for entry in listed for name in entry)
    is_shared = fields.total() >= SHARED * len(fields) * len(listed)
    return frozenset(fields) if is_shared else frozenset()


def _is_ballot(texts: Sequence[str]) -> bool:
    """Return whether cells list objects that say who gave which label, and no other labels."""
    listed = [_objects(of) for of in texts if ballots_by_rater(of) is not None]
    fields: dict[str, list[object]] = {}
    for name, value in (pair for entries in listed for entry in entries for pair in entry.items()):
        fields.setdefault(name, []).append(value)
    n_labels = sum(
        not contains_word(name, RATERS | {"user"})
        and all(isinstance(value, str | int) for value in values)
        and 2 * len({*values}) <= len(values)
        for name, values in fields.items()
    )
    return len(listed) == len(texts) > 0 and all(listed) and n_labels <= 1


def _objects(text: str) -> list[JsonObject]:
    """Return the objects in a cell's list, or none if the cell isn't a list of objects."""
    parsed = _parsed(text, "[") or _by_name(_parsed(text, "{"))
    if not isinstance(parsed, list):
        return []
    objects = [entry for entry in parsed if isinstance(entry, dict) and entry]
    return objects if len(objects) == len(parsed) else []


def _by_name(parsed: object) -> list[JsonObject]:
    """Return the objects below several names, with the names added, or none for other content."""
    entries = [*parsed.items()] if isinstance(parsed, dict) else []
    objects = [{NAME: name, **of} for name, of in entries if isinstance(of, dict)]
    fields = {frozenset(of) for of in objects}
    are_alike = len(fields) == 1 and NAME not in next(iter(entries))[1]
    return objects if len(objects) == len(entries) > 1 and are_alike else []


def _parsed(text: str, opening: str) -> object:
    if not text.startswith(opening):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None


def _rows(table: Table, lists: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Yield each listed object's line, and its cells together with the other cells in its row.

    If a column is named like one of several lists, as ``bart.text`` is named like ``bart.reviews``,
    it becomes the field ``text`` of that list's objects only.
    """
    others = [column for name, column in table.columns.items() if name not in lists]
    openings = {name: name.rpartition(".")[0] for name in lists}
    shared = len({*openings.values()} - {""}) < len(lists) or len(lists) == 1
    cells = {name: [_objects(text) for text in table.columns[name].texts] for name in lists}
    zipped = {n: of for n in lists for of in others if _are_parallel(cells[n], table, n, of)}
    for row, line in enumerate(table.lines.tolist()):
        for name in lists:
            outer: dict[str, object] = {}
            for column in others:
                opening, _, field = column.name.rpartition(".")
                if shared or opening not in openings.values():
                    outer[column.name] = column.texts[column.codes[row]]
                elif opening == openings[name]:
                    outer[_free(field, outer)] = column.texts[column.codes[row]]
            place = {LIST: name} if len(lists) > 1 else {}
            beside = zipped.get(name)
            parts = list_of(beside.texts[beside.codes[row]]) if beside else None
            for k, entry in enumerate(cells[name][table.columns[name].codes[row]]):
                part = {beside.name: _cell(parts[k])} if beside and parts else {}
                inner = {_free(field, outer): _cell(value) for field, value in entry.items()}
                yield line, outer | part | place | inner


def _are_parallel(
    cells: Sequence[Sequence[JsonObject]], table: Table, name: str, of: Column
) -> bool:
    """Return whether a column lists what a list of objects of a similar name is about, in order."""
    codes, sizes = table.columns[name].codes, [len(list_of(text) or ()) for text in of.texts]
    pairs = {(len(cells[c]), sizes[o]) for c, o in zip(codes, of.codes, strict=True)}
    return name.startswith(of.name) and all(own == other for own, other in pairs)


def _free(field: str, outer: Mapping[str, object]) -> str:
    while field in outer:
        field += "_"
    return field


def _cell(value: object) -> object:
    nested = isinstance(value, list | dict)
    return json.dumps(value, ensure_ascii=False) if nested else value


def _spread(table: Table, notes: list[str], known: Collection[str]) -> Table:
    """Convert objects to a column per field.

    Objects inside a listed object are one rater's answers, not several raters' votes.
    """
    columns: dict[str, Column] = {}
    for name, column in table.columns.items():
        read = _lists if column.values and _lists(column.values[0]) else _leaves
        is_vote = read is _leaves and (not known or name in known) and _is_vote(column)
        fields = [*read(column.values[0])] if column.values and not is_vote else []
        objects = [read(text) for text in column.texts] if fields else []
        if not fields or any([*of] != fields for of in objects[1:]):
            columns[name] = column
            continue
        if read is _lists:
            notes.append(f"{name} contains a list for each of {', '.join(fields)}")
        for field in fields:
            texts = ["", *(text_of(_cell(of[field])) for of in objects[1:])]
            spread = table.with_texts(name, texts).columns[name]
            columns[f"{name}.{field}"] = replace(spread, name=f"{name}.{field}")
    return replace(table, columns=columns) if columns.keys() != table.columns.keys() else table


def _lists(text: str) -> JsonObject:
    """Parse an object whose fields are lists. Return an empty object for other cells."""
    parsed = None if list_of(text) is not None else _parsed(text, "{")
    if not isinstance(parsed, dict) or not all(isinstance(of, list) for of in parsed.values()):
        return {}
    return parsed


def _is_vote(column: Column) -> bool:
    """Return whether cells count raters by label, or give labels by rater.

    Numbers or Booleans for the same names in every row are one rater's answers instead.
    """
    values = column.values[:LOOKED_AT]
    if all(map(_is_count, values)):
        return True
    objects = [_parsed(text, "{") for text in values]
    answers = [of for of in objects if isinstance(of, dict) and _are_numbers(of)]
    if len(answers) == len(values) and len({frozenset(of) for of in answers}) == 1:
        return False
    return holds_ballots(column)


def _are_numbers(answers: JsonObject) -> bool:
    return all(isinstance(value, bool | int | float) for value in answers.values())


def _is_count(text: str) -> bool:
    """Return whether an object contains counts from 0 by label, or shares of 1 or 100."""
    counts = [*(counts_of(text) or {}).values()]
    are_whole = all(n >= 0 and n == int(n) for n in counts)
    is_shared = min(counts, default=-1) >= 0 and any(
        abs(sum(counts) - whole) <= ROUNDED * whole for whole in (1, 100)
    )
    return bool(counts) and (are_whole or is_shared)


def _leaves(text: str) -> JsonObject:
    """Return an object's innermost fields by path, or none for other cells."""
    parsed = None if list_of(text) is not None else _parsed(text, "{")
    is_plain = isinstance(parsed, dict) and not _by_name(parsed)
    return dict(_paths(parsed)) if is_plain and isinstance(parsed, dict) else {}


def _paths(content: JsonObject, opening: str = "") -> Iterator[tuple[str, object]]:
    for field, value in content.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{opening}{field}.")
        else:
            yield f"{opening}{field}", value
