"""Reading csv, jsonl and parquet tables row by row."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from harness.errors import HarnessError, TaskError
from harness.files.tables.checks import (
    LIMITS,
    Limits,
    PlaceError,
    Row,
    check_size,
    counted_rows,
    reading,
)
from harness.files.tables.delimited import csv_rows, jsonl_rows
from harness.files.tables.native_rows import native_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    Reader = Callable[[Path, Collection[str], Limits], Iterator[tuple[int, Row]]]

READERS: dict[str, Reader] = {
    ".csv": csv_rows,
    ".jsonl": jsonl_rows,
    ".parquet": partial(native_rows, "parquet"),
}


def read_rows(
    path: Path,
    *,
    required: Collection[str] = (),
    limits: Limits = LIMITS,
    error: type[HarnessError] = TaskError,
) -> Iterator[tuple[int, Row]]:
    """Read a table row by row, with only a row (csv, jsonl) or a batch (parquet) in memory.

    Parameters
    ----------
    path : Path
        A file that ends in ``.csv`` (commas, a header), ``.jsonl`` or ``.parquet``.
    required : collection of str, optional
        Columns that every row must have. Other columns are kept unchanged.
    limits : Limits, optional
        Limits of size.
    error : type, optional
        Class of the errors to raise.

    Yields
    ------
    line : int
        Number of the row's first line (csv, jsonl) or of the row (parquet), from 1.
    row : dict
        Values by column: text in csv; JSON values in jsonl; the column's type in parquet.

    Raises
    ------
    HarnessError
        Error of type ``error``, with file, line, what was found and what to do, for not one of the
        three formats, not UTF-8 (a byte order mark is tolerated), a missing, repeated or blank
        column name, rows of different length, JSON that is not strict, no rows at all, or above a
        limit.
    """
    with reading(path, error):
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            ending = path.suffix or "no ending"
            raise PlaceError(f"found {ending}. A table ends in .csv, .jsonl or .parquet.")
        check_size(path, limits)
        yield from counted_rows(reader(path, required, limits), limits)
