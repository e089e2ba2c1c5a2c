"""Readers for verdicts in tables (a column per judge, or a row per verdict) and in label files."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from harness.curation.importing.source_formats import source_rows
from harness.curation.verdicts.verdict_entries import Entry, id_column, listed
from harness.files.tables import LIMITS, parse_json
from harness.files.tables.checks import PlaceError, check_size, short
from harness.judging.parsing.external_verdicts import is_empty, key_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from harness.curation.verdicts.verdict_entries import Selection
    from harness.files.tables import Row


LONG = frozenset(("judge", "value"))


def table_entries(path: Path, selection: Selection) -> Iterator[Entry]:
    """Yield the verdicts in a table, in any format that `harness curate import` reads.

    A table with the columns ``judge`` and ``value`` has a row per verdict, unless ``judges`` names
    columns. Any other table has a column for each judge in ``judges``.
    """
    rows = source_rows(path, LIMITS)
    first = next(rows)
    columns = list(first[1])
    item = id_column(columns, selection)
    is_long = set(columns) >= LONG and not set(columns) & selection.judges.keys()
    if not is_long:
        _check_columns(columns, selection)
    for line, row in chain([first], rows):
        if is_long:
            verdicts = {key_text(row.get("judge")) or "": row.get("value")}
        else:
            verdicts = {column: row.get(column) for column in selection.judges}
        for source, value in verdicts.items():
            yield Entry(
                line=line,
                item=key_text(row.get(item)) or "",
                source=source,
                value=value,
                sample=_sample(row, line),
                elicitation=str(row.get("elicitation") or "") if is_long else "",
            )


def _check_columns(columns: Collection[str], selection: Selection) -> None:
    if not selection.judges:
        raise PlaceError(f"name the verdict columns with --map COLUMN=JUDGE ({listed(columns)}).")
    if missing := [name for name in selection.judges if name not in columns]:
        raise PlaceError(f"--map: found no column {short(missing[0])} ({listed(columns)}).")


def _sample(row: Row, line: int) -> int:
    sample = row.get("sample")
    text = "0" if is_empty(sample) else key_text(sample) or ""
    if not (text.isascii() and text.isdecimal()):
        raise PlaceError("sample isn't a number. Number repeated verdicts from 0.", f"line {line}")
    return int(text)


def label_entries(path: Path, _: Selection) -> Iterator[Entry]:
    """Yield the labels in a label file as entries."""
    check_size(path, LIMITS)
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlaceError(f"{error}. Write strict JSON.") from None
    judges = content if _is_nested(content) else {path.stem: content}
    if not judges or not all(map(_holds_labels, judges.values())):
        raise PlaceError(
            "isn't an inspect_ai log, promptfoo results, or labels by item. Other supported "
            "JSON is a list of rows.",
        )
    for judge, labels in judges.items():
        for number, (item, label) in enumerate(labels.items(), 1):
            yield Entry(line=number, item=item, source=judge, value=label)


def _is_nested(content: object) -> bool:
    return isinstance(content, dict) and all(isinstance(part, dict) for part in content.values())


def _holds_labels(labels: object) -> bool:
    return isinstance(labels, dict) and all(map(_is_label, labels.values()))


def _is_label(label: object) -> bool:
    if isinstance(label, list):
        return all(isinstance(member, str | int | float) for member in label)
    return label is None or isinstance(label, str | int | float)
