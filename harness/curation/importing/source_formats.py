"""Reading tables of ratings in any format."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from contextlib import closing
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from harness.curation.importing.headings import N_OPENING as N_COMPARED
from harness.curation.importing.headings import heading_of
from harness.curation.importing.import_options import FileOptions
from harness.curation.importing.json_tables import rows_of_json
from harness.errors import TaskError
from harness.files.tables import parse_json, read_rows
from harness.files.tables.checks import (
    IMPORT_LIMITS,
    PlaceError,
    check_columns,
    check_lengths,
    check_size,
    counted_rows,
    reading,
    too_many_rows,
)
from harness.files.tables.native_rows import native_lines, native_rows
from harness.files.tables.reader import BOM, csv_cells, encoding_of, jsonl_rows, ragged
from harness.tasks.columns.formats import N_OPENING, Reading, format_of
from harness.tasks.columns.table_columns import Table, cleaned, encode
from harness.tasks.dataset_fields import derived

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.files.tables import Limits, Row

    Ragged = list[tuple[int, str]]


CHUNK = 1 << 20
SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
FORMULA = re.compile(rb'<c r="([A-Z]+\d+)"[^<>]*>\s*<f\b[^<>]*?(?:/>|>[^<]*</f>)\s*(<v>[^<]|<is>)?')
STATE = "state.json"
MOST_OPENING_BYTES = 1 << 20
UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # opening of a file in either byte order
JSON_LINES = {".jsonl", ".ndjson", ".jsonlines"}
SEPARATORS = {".csv": "", ".tsv": "\t", ".txt": ""}  # of csv it is read from the header


def excel_rows(
    path: Path, limits: Limits, how: FileOptions, description: Reading
) -> Iterator[tuple[int, Row]]:
    """Yield each row's number and cells by column, from the named sheets or the only sheet."""
    n_formulas = _check_unpacked(path, limits)
    if n_formulas:
        are = "cells are formulas, so their stored values are"
        are = "cell is a formula, so its stored value is" if n_formulas == 1 else are
        description.notes.append(f"{n_formulas} {are} used")
    for sheet in how.sheets or ("",):
        with closing(native_lines("xlsx", path, limits, sheet)) as lines:
            n_others, *names = next(lines)
            if not sheet and len(names) > 1:
                raise PlaceError(
                    f"has the sheets {', '.join(map(repr, names[:8]))}. Pass --sheet with the "
                    "name of the sheet to read, or with several sheets that have the same "
                    "columns."
                )
            if not sheet and n_others:
                description.notes.append(
                    f"read from the sheet {names[0]!r}, the only one with a table"
                )
            cells = ((line, row, "") for line, row in enumerate(lines, 1))
            more = {"sheet": sheet} if len(how.sheets) > 1 else {}
            for line, row in _headed(cells, limits, how, description, "row"):
                yield line, row | more


def _headed(
    cells: Iterable[tuple[int, Sequence[Any], str]],
    limits: Limits,
    how: FileOptions,
    description: Reading,
    kind: Literal["line", "row"] = "line",
) -> Iterator[tuple[int, Row]]:
    """Yield each row's line and cells by column, for rows below the header."""
    rows = ((line, row, mark) for line, row, mark in cells if any(c not in {"", None} for c in row))
    opening = list(islice(rows, N_COMPARED))
    if not opening:
        return
    lines = [line for line, _, _ in opening]
    if how.header and how.header not in lines:
        raise PlaceError(
            f"--header: {kind} {how.header} is blank, or too far down. Pass a different line."
        )
    heading = heading_of([row for _, row, _ in opening], lines, how.header)
    description.notes += [heading.note] if heading.note else []
    names, titles = heading.names, [row for _, row, _ in opening[: heading.place + 1]]
    check_columns(names, (), limits, f"{kind} {lines[max(heading.place, 0)]}")
    for line, row, mark in chain(opening[heading.place + 1 :], rows):
        if titles and list(row) == list(titles[-1]):
            description.notes.append("lines that repeat the header are left out")
            continue
        if line > limits.n_rows + len(titles) and kind == "row":
            too_many_rows(limits)
        if kind == "row":
            if extra := [text for text in row[len(names) :] if text not in {"", None}]:
                raise PlaceError(
                    f"found {len(extra)} cells beyond the header's columns.", f"row {line}"
                )
        elif len(row) != len(names) and not (len(row) > len(names) and not any(row[len(names) :])):
            description.ragged.append((line, ragged(len(row), len(names), mark)))
            continue
        entries = dict(zip(names, row, strict=False))
        check_lengths(entries, limits, f"{kind} {line}")
        yield line, entries


def _check_unpacked(path: Path, limits: Limits) -> int:
    """Unpack a workbook's parts within the size limit, and count cells with formulas."""
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
        raise PlaceError(f"cannot be read as xlsx ({error}). Save the file again.") from None
    return n_formulas


def _too_large(limits: Limits) -> NoReturn:
    raise PlaceError(f"unpacks to more than {limits.n_bytes} bytes. Split the file.")


def _n_formulas(text: bytes) -> int:
    """Count formulas in a chunk of a sheet. Each formula must have a stored value."""
    matches = list(FORMULA.finditer(text))
    for match in matches:
        if match[2] is None:
            cell = match[1].decode()
            problem = (
                "contains a formula without a stored value. Open the file in a spreadsheet "
                "program and save it"
            )
            raise PlaceError(f"{problem}, or paste the values.", f"cell {cell}")
    return len(matches)


def saved_rows(path: Path, limits: Limits) -> Iterator[tuple[int, Row]]:
    """Yield each row's number and cells from a folder that ``save_to_disk`` wrote."""
    n_before = 0
    for file in _saved_files(path, limits):
        check_size(file, limits)
        number = 0
        for number, row in native_rows("arrow", file, (), limits):
            yield n_before + number, row
        n_before += number


def _saved_files(path: Path, limits: Limits) -> list[Path]:
    """Return the arrow files that a folder's state file names, in order."""
    try:
        check_size(path / STATE, limits)
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        names = [str(entry["filename"]) for entry in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise PlaceError(
            f"this folder has no {STATE} of save_to_disk. Pass a file, or the folder of a split.",
        ) from None
    if state.get("_indices_files") or any("/" in name or "\\" in name for name in names):
        raise PlaceError(
            "the data set is a selection of rows from another data set. Call flatten_indices() "
            "and save it again."
        )
    return [path / name for name in names]


def _json_rows(
    path: Path, limits: Limits, how: FileOptions, description: Reading
) -> Iterator[tuple[int, Row]]:
    """Yield each row's number and cells from a JSON file with a list of rows or a known format."""
    raw = path.read_bytes().removeprefix(BOM)
    if b"\0" in raw and not how.encoding:
        raise PlaceError("contains the character NUL. Save the file as UTF-8 text.")
    if _are_lines(raw):
        yield from jsonl_rows(path, (), limits, how.encoding)
        return
    try:
        content = parse_json(raw.decode(how.encoding or "utf-8"))
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is not UTF-8{encoding_of(raw[:65536])}"
        raise PlaceError(f"{problem}. Save the file as UTF-8.") from None
    except ValueError as error:
        raise PlaceError(f"{error}. Write strict JSON.") from None
    is_list = isinstance(content, list) and all(isinstance(row, dict) for row in content)
    tool = None if is_list else format_of(content)
    if tool is not None:
        description.name = tool.name
        yield from enumerate(tool.rows(content, description), 1)
    elif (rows := rows_of_json(content, description.notes)) is not None:
        yield from enumerate(rows, 1)
    else:
        raise PlaceError(
            "this JSON is neither a table nor a known export. Write a list of objects, one per row."
        )


def _delimited_rows(
    path: Path, limits: Limits, how: FileOptions, description: Reading
) -> Iterator[tuple[int, Row]]:
    """Yield each csv or tsv row's line and cells. A file with lines of JSON is also read."""
    if _opens_with_object(path):
        return _line_rows(path, limits, how, description)
    with path.open("rb") as file:
        marked = "utf-16" if file.read(2) in UTF_16 else ""
    cells = csv_cells(path, limits, SEPARATORS[path.suffix.lower()], how.encoding or marked)
    return _headed(cells, limits, how, description)


def _opens_with_object(path: Path) -> bool:
    """Return whether a file's first line is a JSON object."""
    with path.open("rb") as file:
        line = file.readline(MOST_OPENING_BYTES).removeprefix(BOM).strip()
    try:
        return line.startswith(b"{") and isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _line_rows(
    path: Path, limits: Limits, how: FileOptions, description: Reading
) -> Iterator[tuple[int, Row]]:
    """Yield each line's number and row. A file that begins with a bracket is one document."""
    with path.open("rb") as file:
        is_document = file.read(64).removeprefix(BOM).lstrip().startswith(b"[")
    if is_document and path.stat().st_size > limits.json_bytes:
        raise PlaceError(
            f"is one JSON document of more than {limits.json_bytes} bytes. Split the document."
        )
    if is_document:
        return _json_rows(path, limits, how, description)
    return jsonl_rows(path, (), limits, how.encoding)


def _are_lines(raw: bytes) -> bool:
    """Return whether a file's first two lines are JSON objects."""
    lines = list(islice((line for line in BytesIO(raw) if line.strip()), 2))
    try:
        first = [json.loads(line) for line in lines if len(lines) > 1]
    except ValueError:
        return False
    return bool(first) and all(isinstance(row, dict) for row in first)


def read_source(
    paths: Path | Sequence[Path],
    *,
    limits: Limits = IMPORT_LIMITS,
    derive: Mapping[str, str] | None = None,
    how: FileOptions | None = None,
) -> Table:
    """Read a table of ratings from one or several files.

    A file in a known format is read by that format's reader (`harness.curation.formats`). Title
    rows, a pandas index and rows of totals are left out, with a note. If there are several files or
    sheets, the column ``file`` or ``sheet`` names them. The table lists ragged rows from csv and
    tsv files.

    Parameters
    ----------
    paths : Path or sequence of Path
        Csv, tsv, jsonl, json, parquet, arrow or xlsx files, or folders of ``save_to_disk``.
    limits : Limits, optional
        Size limits.
    derive : mapping of str to str, optional
        New columns; see `harness.tasks.dataset_fields.derived`.
    how : FileOptions, optional
        Sheets, encoding, and columns to leave out.

    Raises
    ------
    TaskError
        If a file can't be read, or two columns have the same name.
    """
    files: Sequence[Path] = paths if isinstance(paths, list | tuple) else [paths]  # type: ignore[list-item]  # a path
    how = how or FileOptions()
    description = Reading()
    rows: Iterator[tuple[int, Row]] = (
        (line, row | {"file": file.stem} if len(files) > 1 else row)
        for file in files
        for line, row in source_rows(file, limits, how, description)
    )
    dropped: set[str] = set()
    rows = _without(rows, how.drop, dropped)
    with reading(files[0]):
        rows = _recognised(rows, limits, how, description)
        table = encode(files[0], derived(derive, rows) if derive else rows)
    if missing := set(how.drop) - dropped:
        raise TaskError(f"{files[0]}: --drop: found no column {min(missing)!r}.")
    return cleaned(table, description)


def read_records(records: Sequence[Row], name: str) -> Table:
    """Create a table from rows in memory, as `read_source` does.

    Error messages call it ``name``.
    """
    description, path = Reading(), Path(name)
    with reading(path):
        rows = counted_rows(enumerate(records, 1), IMPORT_LIMITS)
        table = encode(path, _recognised(rows, IMPORT_LIMITS, FileOptions(), description))
    return cleaned(table, description)


def _without(
    rows: Iterable[tuple[int, Row]], drop: Sequence[str], dropped: set[str]
) -> Iterator[tuple[int, Row]]:
    for line, row in rows:
        dropped |= row.keys() & set(drop)
        yield line, {name: cell for name, cell in row.items() if name not in drop} if drop else row


def _recognised(
    rows: Iterator[tuple[int, Row]], limits: Limits, how: FileOptions, description: Reading
) -> Iterator[tuple[int, Row]]:
    """Yield rows, converted by a format's reader if the first rows have that format."""
    opening = list(islice(rows, N_OPENING))
    known = None if how.plain or description.name else format_of([row for _, row in opening])
    every: Iterable[tuple[int, Row]] = chain(opening, rows)
    if known is not None:
        description.name = known.name
        every = enumerate(known.rows([row for _, row in every], description), 1)
    if description.name:
        description.notes.append(f"read as {description.name}")
    for line, row in every:
        check_lengths(row, limits, f"row {line}")
        yield line, row


def _check_file_options(path: Path, how: FileOptions) -> None:
    """Reject options that don't apply to a file's kind."""
    is_binary = path.is_dir() or path.suffix.lower() in {".xlsx", ".parquet", ".arrow"}
    if how.sheets and path.suffix.lower() != ".xlsx":
        raise TaskError(f"{path}: --sheet works only for workbooks. Leave out --sheet.")
    if how.encoding and is_binary:
        raise TaskError(f"{path}: --encoding works only for text files. Leave out --encoding.")


READERS = {
    **dict.fromkeys(SEPARATORS, _delimited_rows),
    **dict.fromkeys(JSON_LINES, _line_rows),
    ".json": _json_rows,
    ".xlsx": excel_rows,
}  # by ending


def source_rows(
    path: Path, limits: Limits, how: FileOptions | None = None, description: Reading | None = None
) -> Iterator[tuple[int, Row]]:
    """Yield each row's line and cells by column, from a file in any format.

    ``description`` lists the csv and tsv rows with too few or too many cells. Without it, the first
    of them is an error.

    Raises
    ------
    TaskError
        If the file can't be read.
    """
    how, kept = how or FileOptions(), description or Reading()
    _check_file_options(path, how)
    suffix = path.suffix.lower()
    with reading(path):
        if path.is_dir():
            rows = saved_rows(path, limits)
        else:
            check_size(path, limits)
            if suffix in READERS:
                rows = READERS[suffix](path, limits, how, kept)
            elif suffix == ".arrow":
                rows = native_rows("arrow", path, (), limits)
            elif _opens_with_object(path):
                rows = _line_rows(path, limits, how, kept)
            else:
                rows = read_rows(path, limits=limits)
        rows = counted_rows(rows, limits, kept.ragged)
        yield from rows if description else _whole(rows, kept.ragged)


def _whole(rows: Iterable[tuple[int, Row]], ragged_rows: Ragged) -> Iterator[tuple[int, Row]]:
    """Yield rows until a row has too few or too many cells, which is an error."""
    for entry in chain(rows, [None]):
        if ragged_rows:
            line, problem = ragged_rows[0]
            raise PlaceError(problem, f"line {line}")
        if entry is not None:
            yield entry
