"""Cells and columns of a table that another program wrote."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from harness.errors import TaskError
from harness.tasks.tables import LIMITS, parse_json, read_rows
from harness.tasks.tables.checks import MAX_ID_CHARS, as_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.tasks.tables import Limits, Row

MAX_LABELS = 100  # a column with more distinct values holds no labels
MAX_LABEL_CHARS = 200
SAMPLE_ROWS = 1000
SAMPLE_CHARS = 300
MISSING = frozenset({"", "nan", "NaN", "null", "NULL", "<NA>"})
WHOLE = re.compile(r"-?\d+\.0+")
JOINT = "__"


def rows_of(path: Path, *, limits: Limits = LIMITS) -> Iterator[tuple[int, Row]]:
    """Read a table as `read_rows` does, with column names on one line and without odd spaces.

    Spreadsheets let a header break its line, begin with a space or hold a no-break space.

    Raises
    ------
    TaskError
        If the table cannot be read, or two columns then have the same name.
    """
    names: dict[str, str] = {}
    for line, row in read_rows(path, limits=limits):
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
    """Write a cell as text without spaces around it; missing values become ""."""
    text = as_text(value).strip()
    return "" if text in MISSING else text


def labels_of(value: object) -> tuple[tuple[str, ...], bool]:
    """Read the labels in a cell, and whether they are a response set (a JSON array).

    A whole number loses its ``.0``, which tables with gaps add to integers.

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
    r"""Read a name: on one line, without unprintable characters.

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
    """Join the cells that name a row's item; "" if a cell is empty.

    A name that is too long or has line breaks becomes a short digest.
    """
    parts = [_label(row.get(name)) for name in columns]
    name = JOINT.join(parts) if all(parts) else ""
    if len(name) <= MAX_ID_CHARS and name.isprintable():
        return name
    return f"text-{sha256(name.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        As `rows_of` gives it.
    n_filled : int
        Rows in which it is not empty.
    labels : mapping of str to int or None
        How often each label occurs; None where there are too many, or too long ones, to be labels.
    unique : bool
        Whether every row holds a different value, short enough for a name.
    mean_chars : float
        Mean length of its values.
    """

    name: str
    n_filled: int
    labels: Mapping[str, int] | None
    unique: bool
    mean_chars: float


@dataclass(frozen=True, slots=True)
class Table:
    """A table that another program wrote.

    Attributes
    ----------
    columns : mapping of str to Column
        In the table's order.
    sample : tuple of dict
        The first rows, their cells as text, long ones cut.
    """

    path: Path
    n_rows: int
    columns: Mapping[str, Column]
    sample: tuple[Mapping[str, str], ...]

    def without_labels(self, remarks: Collection[str]) -> Table:
        """Remove remarks from the labels of every column that has other labels."""

        def without(column: Column) -> Column:
            labels = {k: n for k, n in (column.labels or {}).items() if k not in remarks}
            return replace(column, labels=labels) if labels else column

        return replace(self, columns={name: without(c) for name, c in self.columns.items()})

    def __repr__(self) -> str:
        return f"Table({self.path.name!r}, {self.n_rows} rows, {len(self.columns)} columns)"


@dataclass(slots=True)
class _ColumnCounts:
    n_filled: int = 0
    n_chars: int = 0
    labels: Counter[str] | None = field(default_factory=Counter)
    hashes: set[int] | None = field(default_factory=set)

    def add(self, value: object) -> None:
        text = text_of(value)
        if not text:
            return
        self.n_filled += 1
        self.n_chars += len(text)
        if self.hashes is not None:
            self._add_name(text)
        if self.labels is not None:
            self._add_labels(value)

    def _add_name(self, text: str) -> None:
        assert self.hashes is not None
        digest = hash(text)
        if digest in self.hashes or len(text) > MAX_ID_CHARS:
            self.hashes = None
        else:
            self.hashes.add(digest)

    def _add_labels(self, value: object) -> None:
        assert self.labels is not None
        labels, _ = labels_of(value)
        self.labels.update(labels)
        if len(self.labels) > MAX_LABELS or any(len(label) > MAX_LABEL_CHARS for label in labels):
            self.labels = None

    def column(self, name: str, n_rows: int) -> Column:
        filled = max(self.n_filled, 1)
        unique = self.hashes is not None and self.n_filled == n_rows
        return Column(name, self.n_filled, self.labels, unique, self.n_chars / filled)


def profile(path: Path, *, limits: Limits = LIMITS) -> Table:
    """Read a table once and describe its columns.

    Parameters
    ----------
    path : Path
        A csv, jsonl or parquet file.
    limits : Limits, optional
        Limits of size.

    Raises
    ------
    TaskError
        If it cannot be read; see `rows_of`.
    """
    counts: dict[str, _ColumnCounts] = {}
    sample: list[dict[str, str]] = []
    n_rows = 0
    for _, row in rows_of(path, limits=limits):
        n_rows += 1
        for name, value in row.items():
            counts.setdefault(name, _ColumnCounts()).add(value)
        if len(sample) < SAMPLE_ROWS:
            sample.append({name: text_of(value)[:SAMPLE_CHARS] for name, value in row.items()})
    columns = {name: count.column(name, n_rows) for name, count in counts.items()}
    return Table(path, n_rows, columns, tuple(sample))
