"""Rows of csv and jsonl files; each line is decoded, bounded and numbered first."""

from __future__ import annotations

import csv
from itertools import chain, count
from typing import TYPE_CHECKING, BinaryIO

from harness.tasks.tables.checks import PlaceError, Row, check_columns, check_lengths
from harness.tasks.tables.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from harness.tasks.tables.checks import Limits

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
BOM = b"\xef\xbb\xbf"


def csv_rows(
    path: Path,
    required: Collection[str],
    limits: Limits,
    separator: str = "",
    ragged: list[tuple[int, str]] | None = None,
) -> Iterator[tuple[int, Row]]:
    """Yield the first line of each row and its cells by column; blank lines are skipped.

    Without a separator, columns are separated by commas; where the header has none, by semicolons
    or tabs. ``ragged`` gets line and problem of each row whose cells are not as many as the
    header's; by default the first is an error.
    """
    csv.field_size_limit(limits.field_chars)  # the only limit of the csv module, process-wide
    with path.open("rb") as file:
        texts = (text for _, text in _lines(file, limits))
        header = _header(texts)
        separator = separator or _separator("".join(header))
        table = csv.reader(chain(header, texts), delimiter=separator, strict=True)
        names: list[str] = []
        line = 1
        try:
            for cells in table:
                if not names and cells:
                    names = cells
                    check_columns(names, required, limits, f"line {line}")
                elif cells:
                    if len(cells) == len(names):
                        yield line, dict(zip(names, cells, strict=True))
                    else:
                        problem = _ragged(len(cells), len(names), SEPARATORS[separator])
                        if ragged is None:
                            raise PlaceError(problem, f"line {line}")
                        ragged.append((line, problem))
                line = table.line_num + 1
        except csv.Error as error:
            problem = f"cannot be read as CSV ({error}); is a quote left open?"
            raise PlaceError(problem, f"line {line}") from None


def jsonl_rows(path: Path, required: Collection[str], limits: Limits) -> Iterator[tuple[int, Row]]:
    """Yield number and object of each line; blank lines are skipped."""
    with path.open("rb") as file:
        for line, text in _lines(file, limits):
            if text and not text.isspace():
                yield line, _object(text, required, limits, f"line {line}")


def _object(text: str, required: Collection[str], limits: Limits, where: str) -> Row:
    try:
        row = parse_json(text)
    except ValueError as error:
        raise PlaceError(f"{error}; write one strict JSON object per line.", where) from None
    if not isinstance(row, dict):
        raise PlaceError("is not a JSON object; write one object per line.", where)
    if len(row) > limits.n_columns or "" in row or any(name not in row for name in required):
        check_columns(list(row), required, limits, where)
    if len(text) > limits.field_chars:
        check_lengths(row, limits, where)
    return row


def _lines(file: BinaryIO, limits: Limits) -> Iterator[tuple[int, str]]:
    for line in count(1):
        raw = file.readline(limits.line_bytes + 1)
        if not raw:
            return
        where = f"line {line}"
        if len(raw) > limits.line_bytes:
            raise PlaceError(f"is longer than {limits.line_bytes} bytes; shorten its texts.", where)
        if line == 1:
            raw = raw.removeprefix(BOM)
        if b"\0" in raw:
            raise PlaceError("holds the character NUL; save the file as UTF-8 text.", where)
        try:
            yield line, raw.decode()
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8"
            raise PlaceError(f"{problem}; save the file as UTF-8.", where) from None


def _header(texts: Iterator[str]) -> list[str]:
    """Return the lines up to the first that is not blank."""
    lines = []
    for text in texts:
        lines.append(text)
        if text.strip():
            break
    return lines


def _separator(header: str) -> str:
    """Return the first separator that occurs in the header, by default the comma."""
    return next((mark for mark in SEPARATORS if mark in header), ",")


def _ragged(n_cells: int, n_columns: int, separators: str) -> str:
    cells = "1 cell" if n_cells == 1 else f"{n_cells} cells"
    many = n_cells > n_columns
    remedy = f"quote cells that hold {separators}" if many else "write the empty ones, too"
    return f"found {cells} where the header has {n_columns}; {remedy}."
