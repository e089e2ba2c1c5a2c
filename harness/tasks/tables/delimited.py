"""csv and jsonl by the standard library: a line is decoded, bounded and numbered, then read."""

from __future__ import annotations

import csv
from itertools import chain, count
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from harness.tasks.tables.limits import PlaceError, Row, check_columns, check_lengths
from harness.tasks.tables.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from harness.tasks.tables.limits import Caps

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
BOM = b"\xef\xbb\xbf"


def csv_rows(path: Path, required: Collection[str], caps: Caps) -> Iterator[tuple[int, Row]]:
    """Yield the line a row begins on and its cells by column; blank lines are passed over.

    Columns are separated by commas; where the header has none, by semicolons or tabs.
    """
    csv.field_size_limit(caps.field_chars)  # the csv module has but this one limit, process-wide
    with path.open("rb") as file:
        texts = (text for _, text in _lines(file, caps))
        ahead = _header(texts)
        separator = _separator("".join(ahead))
        table = csv.reader(chain(ahead, texts), delimiter=separator, strict=True)
        names: list[str] = []
        line = 1
        try:
            for cells in table:
                if not names and cells:
                    names = cells
                    check_columns(names, required, caps, f"line {line}")
                elif cells:
                    if len(cells) != len(names):
                        _ragged(line, len(cells), len(names), SEPARATORS[separator])
                    yield line, dict(zip(names, cells, strict=True))
                line = table.line_num + 1
        except csv.Error as fault:
            what = f"cannot be read as CSV ({fault}); is a quote left open?"
            raise PlaceError(f"line {line}", what) from None


def jsonl_rows(path: Path, required: Collection[str], caps: Caps) -> Iterator[tuple[int, Row]]:
    """Yield number and object of each line; blank lines are passed over."""
    with path.open("rb") as file:
        for line, text in _lines(file, caps):
            if text and not text.isspace():
                yield line, _object(text, required, caps, f"line {line}")


def _object(text: str, required: Collection[str], caps: Caps, where: str) -> Row:
    try:
        row = parse_json(text)
    except ValueError as fault:
        raise PlaceError(where, f"{fault}; write one strict JSON object per line.") from None
    if not isinstance(row, dict):
        raise PlaceError(where, "is not a JSON object; write one object per line.")
    if len(row) > caps.n_columns or "" in row or any(name not in row for name in required):
        check_columns(list(row), required, caps, where)
    if len(text) > caps.field_chars:
        check_lengths(row, caps, where)
    return row


def _lines(file: BinaryIO, caps: Caps) -> Iterator[tuple[int, str]]:
    for line in count(1):
        raw = file.readline(caps.line_bytes + 1)
        if not raw:
            return
        where = f"line {line}"
        if len(raw) > caps.line_bytes:
            raise PlaceError(where, f"is longer than {caps.line_bytes} bytes; shorten its texts.")
        if line == 1:
            raw = raw.removeprefix(BOM)
        if b"\0" in raw:
            raise PlaceError(where, "holds the character NUL; save the file as UTF-8 text.")
        try:
            yield line, raw.decode()
        except UnicodeDecodeError as fault:
            found = f"byte {fault.start + 1} (0x{raw[fault.start]:02x}) is not UTF-8"
            raise PlaceError(where, f"{found}; save the file as UTF-8.") from None


def _header(texts: Iterator[str]) -> list[str]:
    """Take lines up to the first that says something."""
    taken = []
    for text in texts:
        taken.append(text)
        if text.strip():
            break
    return taken


def _separator(header: str) -> str:
    """Return the comma, or what some spreadsheets write in its place."""
    return next((mark for mark in SEPARATORS if mark in header), ",")


def _ragged(line: int, found: int, wanted: int, held: str) -> NoReturn:
    cells = "1 cell" if found == 1 else f"{found} cells"
    do = f"quote cells that hold {held}" if found > wanted else "write the empty ones, too"
    raise PlaceError(f"line {line}", f"found {cells} where the header has {wanted}; {do}.")
