"""Reading tables of ratings, whatever their format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.curation.excel import excel_rows
from harness.curation.table_columns import Table, encode
from harness.errors import TaskError
from harness.tasks.tables import LIMITS, read_rows
from harness.tasks.tables.checks import PlaceError, check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from harness.tasks.tables import Limits, Row

    Reader = Callable[[Path, Limits, list[str]], Iterator[tuple[int, Row]]]

IMPORT_LIMITS = replace(LIMITS, n_columns=4096)  # a column per criterion and rater
READERS: dict[str, Reader] = {".xlsx": excel_rows}


def read_source(path: Path, *, limits: Limits = IMPORT_LIMITS) -> Table:
    """Read a table of ratings.

    Parameters
    ----------
    path : Path
        A csv, jsonl, parquet or xlsx file.
    limits : Limits, optional
        Limits of size.

    Raises
    ------
    TaskError
        If it cannot be read, or two columns have the same name.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        return encode(path, read_rows(path, limits=limits), [])
    notes: list[str] = []
    return encode(path, _rows(reader, path, limits, notes), notes)


def _rows(
    reader: Reader, path: Path, limits: Limits, notes: list[str]
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file; an error names it."""
    n_rows = 0
    try:
        check_size(path, limits)
        for n_rows, row in enumerate(reader(path, limits, notes), 1):  # noqa: B007 -- counted
            yield row
    except PlaceError as fault:
        raise TaskError(f"{path}: {fault}") from None
    except OSError as fault:
        problem = fault.strerror or type(fault).__name__
        raise TaskError(f"{path}: cannot be read ({problem}); check the file.") from None
    if not n_rows:
        raise TaskError(f"{path}: found no rows; give at least one.")
