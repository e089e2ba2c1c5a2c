"""Cells of somebody else's table: as text, as a label, as the labels of a response set."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.tasks.cells import MAX_ID_CHARS, as_text
from harness.tasks.tables import CAPS, parse_json, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness.tasks.tables import Caps, Row

NOTHING = frozenset({"", "nan", "NaN", "null", "NULL", "<NA>"})
WHOLE = re.compile(r"-?\d+\.0+")
JOINT = "__"


def rows_of(path: Path, *, caps: Caps = CAPS) -> Iterator[tuple[int, Row]]:
    """Read a table as `read_rows` does, with the names of its columns as people read them.

    Spreadsheets let a header break its line, begin with a space or hold one that is no space.

    Raises
    ------
    TaskError
        If the table cannot be read, or two columns then have one name.
    """
    names: dict[str, str] = {}
    for line, row in read_rows(path, caps=caps):
        for column in row:
            if column not in names:
                name = name_of(column) or column
                if name in names.values():
                    raise TaskError(
                        f"{path}: line {line}: two columns read {name!r}; rename one of them."
                    )
                names[column] = name
        yield line, {names[column]: value for column, value in row.items()}


def text_of(value: object) -> str:
    """Write a cell as text without spaces around it; what stands for nothing becomes ""."""
    text = as_text(value).strip()
    return "" if text in NOTHING else text


def labels_of(value: object) -> tuple[tuple[str, ...], bool]:
    """Read the labels in a cell, and whether they are a response set (a JSON array).

    A whole number is written without its ``.0``, which tables with gaps add to integers.

    Examples
    --------
    >>> labels_of("4.0"), labels_of('["a", "b"]')
    ((('4',), False), (('a', 'b'), True))
    """
    parts = _array(value)
    if parts is not None:
        return tuple(dict.fromkeys(label for part in parts if (label := _label(part)))), True
    label = _label(value)
    return ((label,) if label else ()), False


def _array(value: object) -> list[object] | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = parse_json(value)
        except ValueError:
            return None
    return value if isinstance(value, list) else None


def name_of(value: object) -> str:
    r"""Read a name: on one line, without characters that cannot be seen.

    Examples
    --------
    >>> name_of(" Rater 1\n(Anna)")
    'Rater 1 (Anna)'
    """
    text = text_of(value)
    if text.isprintable():
        return text
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _label(value: object) -> str:
    text = name_of(value)
    return text.split(".")[0] if WHOLE.fullmatch(text) else text


def id_of(row: Row, columns: Sequence[str]) -> str:
    """Join the cells that name a row's item; "" if one of them is empty.

    What is too long or has line breaks, as a text that names itself, becomes a short digest.
    """
    parts = [_label(row.get(name)) for name in columns]
    name = JOINT.join(parts) if all(parts) else ""
    if len(name) <= MAX_ID_CHARS and name.isprintable():
        return name
    return f"text-{sha256(name.encode()).hexdigest()[:16]}"
