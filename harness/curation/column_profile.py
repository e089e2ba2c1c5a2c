"""What a table holds, column by column, read once and kept small."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.curation.table_cells import labels_of, rows_of, text_of
from harness.tasks.cells import MAX_ID_CHARS
from harness.tasks.tables import CAPS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from harness.tasks.tables import Caps

MAX_LABELS = 100  # more distinct values than this are no labels
MAX_LABEL_CHARS = 200
SAMPLE_ROWS = 1000
SAMPLE_CHARS = 300


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        As people read it; see `rows_of`.
    n_filled : int
        Rows in which it holds something.
    labels : mapping of str to int or None
        How often each label occurs; None where there are too many, or too long ones, to be labels.
    unique : bool
        Whether every row holds something else, short enough for a name.
    mean_chars : float
        Mean length of what it holds.
    """

    name: str
    n_filled: int
    labels: Mapping[str, int] | None
    unique: bool
    mean_chars: float


@dataclass(frozen=True, slots=True)
class Table:
    """A table somebody else made.

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
        """Leave out of every column's labels what is no option, where others are left."""

        def cleared(column: Column) -> Column:
            left = {k: n for k, n in (column.labels or {}).items() if k not in remarks}
            return replace(column, labels=left) if left else column

        return replace(self, columns={name: cleared(c) for name, c in self.columns.items()})

    def __repr__(self) -> str:
        return f"Table({self.path.name!r}, {self.n_rows} rows, {len(self.columns)} columns)"


@dataclass(slots=True)
class _Tally:
    n_filled: int = 0
    n_chars: int = 0
    labels: Counter[str] | None = field(default_factory=Counter)
    seen: set[int] | None = field(default_factory=set)

    def add(self, value: object) -> None:
        text = text_of(value)
        if not text:
            return
        self.n_filled += 1
        self.n_chars += len(text)
        if self.seen is not None:
            self._add_name(text)
        if self.labels is not None:
            self._add_labels(value)

    def _add_name(self, text: str) -> None:
        assert self.seen is not None
        mark = hash(text)
        if mark in self.seen or len(text) > MAX_ID_CHARS:
            self.seen = None
        else:
            self.seen.add(mark)

    def _add_labels(self, value: object) -> None:
        assert self.labels is not None
        found = labels_of(value)[0]
        self.labels.update(found)
        if len(self.labels) > MAX_LABELS or any(len(one) > MAX_LABEL_CHARS for one in found):
            self.labels = None

    def column(self, name: str, n_rows: int) -> Column:
        filled = max(self.n_filled, 1)
        unique = self.seen is not None and self.n_filled == n_rows
        return Column(name, self.n_filled, self.labels, unique, self.n_chars / filled)


def profile(path: Path, *, caps: Caps = CAPS) -> Table:
    """Read a table once and describe its columns.

    Parameters
    ----------
    path : Path
        A csv, jsonl or parquet file.
    caps : Caps, optional
        What it may hold at most.

    Raises
    ------
    TaskError
        If it cannot be read; see `rows_of`.
    """
    tallies: dict[str, _Tally] = {}
    sample: list[dict[str, str]] = []
    n_rows = 0
    for _, row in rows_of(path, caps=caps):
        n_rows += 1
        for name, value in row.items():
            tallies.setdefault(name, _Tally()).add(value)
        if len(sample) < SAMPLE_ROWS:
            sample.append({name: text_of(value)[:SAMPLE_CHARS] for name, value in row.items()})
    columns = {name: tally.column(name, n_rows) for name, tally in tallies.items()}
    return Table(path, n_rows, columns, tuple(sample))
