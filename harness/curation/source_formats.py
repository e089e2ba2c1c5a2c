"""Reading tables of ratings, whatever their format."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from harness.curation.annotation_exports import rows_of_json
from harness.tasks.columns.table_columns import Table, encode
from harness.tasks.dataset_fields import derived
from harness.tasks.tables import LIMITS, parse_json, read_rows
from harness.tasks.tables.checks import (
    PlaceError,
    check_columns,
    check_lengths,
    check_size,
    reading,
    too_many_rows,
)
from harness.tasks.tables.delimited import BOM, csv_rows
from harness.tasks.tables.native_rows import native_lines, native_rows
from harness.tasks.tables.reader import counted_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.tasks.tables import Limits, Row

    Ragged = list[tuple[int, str]]

    Reader = Callable[[Path, Limits, list[str]], Iterator[tuple[int, Row]]]


CHUNK = 1 << 20
SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
FORMULA = re.compile(rb'<c r="([A-Z]+\d+)"[^<>]*>\s*<f\b[^<>]*?(?:/>|>[^<]*</f>)\s*(<v>[^<]|<is>)?')
STATE = "state.json"
IMPORT_LIMITS = replace(LIMITS, n_columns=4096)  # a column per criterion and rater
SEPARATORS = {".csv": "", ".tsv": "\t"}  # of csv it is read from the header


def excel_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and cells by column of each row of the first sheet; blank rows are skipped."""
    n_formulas = _check_unpacked(path, limits)
    with closing(native_lines("xlsx", path, limits)) as lines:
        names = next(lines)
        _add_notes(names, n_formulas, notes)
        yield from _sheet_rows(lines, limits)


def _add_notes(names: Sequence[str], n_formulas: int, notes: list[str]) -> None:
    if len(names) > 1:
        others = ", ".join(map(repr, names[1:6]))
        notes.append(f"only the first sheet, {names[0]!r}, is read, not {others}")
    if n_formulas:
        notes.append(f"{n_formulas} cells are formulas; their stored values are read")


def _sheet_rows(cells: Iterable[Sequence[object]], limits: Limits) -> Iterator[tuple[int, Row]]:
    header: list[str] = []
    for line, texts in enumerate(cells, 1):
        if all(text == "" for text in texts):
            continue
        if not header:
            header = _header([str(text) for text in texts])
            check_columns(header, (), limits, f"row {line}")
            continue
        if line > limits.n_rows:
            too_many_rows(limits)
        if extra := [text for text in texts[len(header) :] if text != ""]:
            raise PlaceError(
                f"found {len(extra)} cells beyond the header's columns.", f"row {line}"
            )
        entries = dict(zip(header, texts, strict=False))
        check_lengths(entries, limits, f"row {line}")
        yield line, entries


def _header(names: list[str]) -> list[str]:
    while names and not names[-1].strip():
        names.pop()
    return names


def _check_unpacked(path: Path, limits: Limits) -> int:
    """Unpack the workbook's parts once, within the limit, and count the cells that are formulas."""
    n_bytes = n_formulas = 0
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(part.file_size for part in archive.infolist()) > limits.n_bytes:
                _too_large(limits)
            for part in archive.infolist():
                is_sheet = SHEET.fullmatch(part.filename) is not None
                tail = b""
                with archive.open(part) as file:
                    while chunk := file.read(CHUNK):
                        n_bytes += len(chunk)
                        if n_bytes > limits.n_bytes:
                            _too_large(limits)
                        if is_sheet:
                            text = tail + chunk
                            end = max(text.rfind(b"</c>"), 0)
                            n_formulas += _n_formulas(text[:end])
                            tail = text[end:][-CHUNK:]
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise PlaceError(f"cannot be read as xlsx ({error}); save it anew.") from None
    return n_formulas


def _too_large(limits: Limits) -> NoReturn:
    raise PlaceError(f"unpacks to more than {limits.n_bytes} bytes; split the file.")


def _n_formulas(text: bytes) -> int:
    """Count the formulas in a piece of a sheet, each of which must have a stored value."""
    matches = list(FORMULA.finditer(text))
    for match in matches:
        if match[2] is None:
            cell = match[1].decode()
            problem = "holds a formula without a stored value; open the file and save it"
            raise PlaceError(f"{problem}, or paste the values.", f"cell {cell}")
    return len(matches)


def arrow_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and row of each entry of an arrow file, stream or file format."""
    del notes
    return native_rows("arrow", path, (), limits)


def saved_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and row of each entry of a folder that ``save_to_disk`` wrote."""
    n_before = 0
    for file in _saved_files(path, limits):
        check_size(file, limits)
        number = 0
        for number, row in arrow_rows(file, limits, notes):
            yield n_before + number, row
        n_before += number


def _saved_files(path: Path, limits: Limits) -> list[Path]:
    """Return the arrow files that a folder's state names, in order."""
    try:
        check_size(path / STATE, limits)
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        names = [str(entry["filename"]) for entry in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise PlaceError(
            f"this folder has no {STATE} of save_to_disk; give a file, or the folder of a split.",
        ) from None
    if state.get("_indices_files") or any("/" in name or "\\" in name for name in names):
        raise PlaceError("the data set selects rows of another; save it after flatten_indices().")
    return [path / name for name in names]


def _json_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and row of each entry of a JSON file."""
    raw = path.read_bytes().removeprefix(BOM)
    if b"\0" in raw:
        raise PlaceError("holds the character NUL; save the file as UTF-8 text.")
    try:
        content = parse_json(raw.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is not UTF-8"
        raise PlaceError(f"{problem}; save the file as UTF-8.") from None
    except ValueError as error:
        raise PlaceError(f"{error}; write strict JSON.") from None
    for number, row in enumerate(rows_of_json(content, notes), 1):
        check_lengths(row, limits, f"row {number}")
        yield number, row


READERS: dict[str, Reader] = {
    ".xlsx": excel_rows,
    ".json": _json_rows,
    ".arrow": arrow_rows,
}


def read_source(
    path: Path, *, limits: Limits = IMPORT_LIMITS, derive: Mapping[str, str] | None = None
) -> Table:
    """Read a table of ratings; ragged rows of csv and tsv are left out and listed.

    Parameters
    ----------
    path : Path
        A csv, tsv, jsonl, json, parquet, arrow or xlsx file, or a folder of ``save_to_disk``.
    limits : Limits, optional
        Limits of size.
    derive : mapping of str to str, optional
        New columns; see `harness.tasks.dataset_fields.derived`.

    Raises
    ------
    TaskError
        If it cannot be read, or two columns have the same name.
    """
    notes: list[str] = []
    ragged: Ragged = []
    rows = source_rows(path, limits, notes, ragged)
    return encode(path, derived(derive, rows) if derive else rows, notes, ragged)


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
        yield from read_rows(path, limits=limits)
        return
    with reading(path):
        if not path.is_dir():
            check_size(path, limits)
        yield from counted_rows(rows, limits, [] if ragged is None else ragged)
