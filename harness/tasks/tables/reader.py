"""One reader for the three formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import HarnessError, TaskError
from harness.tasks.tables.delimited import csv_rows, jsonl_rows
from harness.tasks.tables.limits import CAPS, Caps, PlaceError, Row, check_size, too_many_rows
from harness.tasks.tables.parquet import parquet_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

READERS = {".csv": csv_rows, ".jsonl": jsonl_rows, ".parquet": parquet_rows}


def read_rows(
    path: Path,
    *,
    required: Collection[str] = (),
    caps: Caps = CAPS,
    error: type[HarnessError] = TaskError,
) -> Iterator[tuple[int, Row]]:
    """Read a table row by row, without holding more than a row (csv, jsonl) or a batch (parquet).

    Parameters
    ----------
    path : Path
        A file that ends in ``.csv`` (commas, a header), ``.jsonl`` or ``.parquet``.
    required : collection of str, optional
        Columns that every row must have. Other columns are passed on as they are.
    caps : Caps, optional
        Limits of size.
    error : type, optional
        Which branch of the error tree faults belong to.

    Yields
    ------
    line : int
        Number of the line the row begins on (csv, jsonl) or of the row (parquet), from 1.
    row : dict
        Values by column: text in csv; JSON values in jsonl; what the column holds in parquet.

    Raises
    ------
    HarnessError
        Of type ``error``, naming file, line, what was found and what to do: not one of the three
        formats, not UTF-8 (a byte order mark is tolerated), a missing, repeated or blank column
        name, rows of different length, JSON that is not strict, no rows at all, or above a cap.
    """
    try:
        yield from _counted(path, required, caps)
    except PlaceError as fault:
        raise error(f"{path}: {fault}") from None
    except OSError as fault:
        what = fault.strerror or type(fault).__name__
        raise error(f"{path}: cannot be read ({what}); check the file.") from None


def _counted(path: Path, required: Collection[str], caps: Caps) -> Iterator[tuple[int, Row]]:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        found = path.suffix or "no ending"
        raise PlaceError("", f"found {found}; a table ends in .csv, .jsonl or .parquet.")
    check_size(path, caps)
    n_rows = 0
    for line, row in reader(path, required, caps):
        n_rows += 1
        if n_rows > caps.n_rows:
            too_many_rows(caps)
        yield line, row
    if not n_rows:
        raise PlaceError("", "found no rows; give at least one.")
