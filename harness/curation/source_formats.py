"""Reading tables of ratings, whatever their format."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.curation.annotation_exports import rows_of_json
from harness.curation.arrow_files import arrow_rows, saved_rows
from harness.curation.excel import excel_rows
from harness.errors import TaskError
from harness.tasks.columns.table_columns import Table, encode
from harness.tasks.tables import LIMITS, parse_json, read_rows
from harness.tasks.tables.checks import PlaceError, check_lengths, check_size, too_many_rows
from harness.tasks.tables.delimited import BOM, csv_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from harness.curation.import_recipe import Recipe
    from harness.tasks.tables import Limits, Row

    Ragged = list[tuple[int, str]]
    Reader = Callable[[Path, Limits, list[str]], Iterator[tuple[int, Row]]]

IMPORT_LIMITS = replace(LIMITS, n_columns=4096)  # a column per criterion and rater


def _json_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and row of each entry of a JSON file."""
    raw = path.read_bytes().removeprefix(BOM)
    if b"\0" in raw:
        raise PlaceError("", "holds the character NUL; save the file as UTF-8 text.")
    try:
        content = parse_json(raw.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is not UTF-8"
        raise PlaceError("", f"{problem}; save the file as UTF-8.") from None
    except ValueError as error:
        raise PlaceError("", f"{error}; write strict JSON.") from None
    for number, row in enumerate(rows_of_json(content, notes), 1):
        if number > limits.n_rows:
            too_many_rows(limits)
        check_lengths(row, limits, f"row {number}")
        yield number, row


SEPARATORS = {".csv": "", ".tsv": "\t"}  # of csv it is read from the header
READERS: dict[str, Reader] = {
    ".xlsx": excel_rows,
    ".json": _json_rows,
    ".arrow": arrow_rows,
}


def read_source(
    path: Path, *, limits: Limits = IMPORT_LIMITS, recipe: Recipe | None = None
) -> Table:
    """Read a table of ratings; ragged rows of csv and tsv are left out and listed.

    Parameters
    ----------
    path : Path
        A csv, tsv, jsonl, json, parquet, arrow or xlsx file, or a folder of ``save_to_disk``.
    limits : Limits, optional
        Limits of size.
    recipe : Recipe, optional
        Adds columns.

    Raises
    ------
    TaskError
        If it cannot be read, or two columns have the same name.
    """
    notes: list[str] = []
    ragged: Ragged = []
    rows = source_rows(path, limits, notes, ragged)
    return encode(path, recipe.derived(rows) if recipe else rows, notes, ragged)


def source_rows(
    path: Path, limits: Limits, notes: list[str], ragged: Ragged | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield line and cells by column of each row of a table, whatever its format.

    ``ragged`` gets line and problem of each row of csv and tsv that has too few or too many cells;
    by default the first is an error.

    Raises
    ------
    TaskError
        If it cannot be read.
    """
    suffix = path.suffix.lower()
    if path.is_dir():
        rows = saved_rows(path, limits, notes)
    elif suffix in READERS:
        rows = READERS[suffix](path, limits, notes)
    elif suffix in SEPARATORS:
        rows = csv_rows(path, (), limits, SEPARATORS[suffix], ragged)
    else:
        return read_rows(path, limits=limits)
    return _rows(rows, path, limits, [] if ragged is None else ragged)


def _rows(
    rows: Iterator[tuple[int, Row]], path: Path, limits: Limits, ragged: Ragged
) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a file; an error names it."""
    n_rows = 0
    try:
        if not path.is_dir():
            check_size(path, limits)
        for n_rows, row in enumerate(rows, 1):
            if n_rows > limits.n_rows:
                too_many_rows(limits)
            yield row
    except PlaceError as fault:
        raise TaskError(f"{path}: {fault}") from None
    except OSError as fault:
        problem = fault.strerror or type(fault).__name__
        raise TaskError(f"{path}: cannot be read ({problem}); check the file.") from None
    if not n_rows and ragged:
        line, problem = ragged[0]
        raise TaskError(f"{path}: line {line}: {problem}")
    if not n_rows:
        raise TaskError(f"{path}: found no rows; give at least one.")
