"""Rows of Excel workbooks, whose unpacked size is checked first."""

from __future__ import annotations

import re
import zipfile
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, NoReturn

from harness.tasks.tables.checks import PlaceError, check_columns, check_lengths, too_many_rows
from harness.tasks.tables.native_rows import native_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from harness.tasks.tables import Limits, Row

CHUNK = 1 << 20
SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
FORMULA = re.compile(rb'<c r="([A-Z]+\d+)"[^<>]*>\s*<f\b[^<>]*?(?:/>|>[^<]*</f>)\s*(<v>[^<]|<is>)?')


def excel_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and cells by column of each row of the first sheet; blank rows are skipped.

    Parameters
    ----------
    path : Path
        An xlsx workbook.
    limits : Limits
        Limits of size, also of the unpacked workbook.
    notes : list of str
        Gets what the reader of the import should know.
    """
    n_formulas = _check_unpacked(path, limits)
    with closing(native_lines("xlsx", path, limits)) as lines:
        names = next(lines)
        _add_notes(names, n_formulas, notes)
        yield from _rows(lines, limits)


def _add_notes(names: Sequence[str], n_formulas: int, notes: list[str]) -> None:
    if len(names) > 1:
        others = ", ".join(map(repr, names[1:6]))
        notes.append(f"only the first sheet, {names[0]!r}, is read, not {others}")
    if n_formulas:
        notes.append(f"{n_formulas} cells are formulas; their stored values are read")


def _rows(cells: Iterable[Sequence[object]], limits: Limits) -> Iterator[tuple[int, Row]]:
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
                f"row {line}", f"found {len(extra)} cells beyond the header's columns."
            )
        entries = dict(zip(header, texts, strict=False))
        check_lengths(entries, limits, f"row {line}")
        yield line, entries


def _header(names: list[str]) -> list[str]:
    while names and not names[-1].strip():
        names.pop()
    return names


def _check_unpacked(path: Path, limits: Limits) -> int:
    """Unpack the workbook's parts once, within the limit, and count the cells that are formulas.

    Raises
    ------
    PlaceError
        If it is no zip archive, unpacks to too much, or a formula has no stored value.
    """
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
        raise PlaceError("", f"cannot be read as xlsx ({error}); save it anew.") from None
    return n_formulas


def _too_large(limits: Limits) -> NoReturn:
    raise PlaceError("", f"unpacks to more than {limits.n_bytes} bytes; split the file.")


def _n_formulas(text: bytes) -> int:
    """Count the formulas in a piece of a sheet, each of which must have a stored value."""
    matches = list(FORMULA.finditer(text))
    for match in matches:
        if match[2] is None:
            cell = match[1].decode()
            problem = "holds a formula without a stored value; open the file and save it"
            raise PlaceError(f"cell {cell}", f"{problem}, or paste the values.")
    return len(matches)
