"""Row-by-row readers for csv, jsonl and parquet tables."""

from __future__ import annotations

import csv
import re
from contextlib import closing
from functools import partial
from io import BytesIO
from itertools import chain, count
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO

from harness.errors import HarnessError, TaskError
from harness.files.tables.checks import (
    LIMITS,
    Limits,
    PlaceError,
    Row,
    check_columns,
    check_lengths,
    check_size,
    counted_rows,
    reading,
    short,
)
from harness.files.tables.native_rows import native_rows
from harness.files.tables.strict_json import parse_flat_lines, parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator
    from pathlib import Path

    Reader = Callable[[Path, Collection[str], Limits], Iterator[tuple[int, Row]]]


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
NUMBERS = re.compile(r"-?[\d.]+( -?[\d.]+){2,}")  # at least three, separated by spaces
READ_AT_ONCE = 1 << 18  # bytes
N_OPENING = 20  # lines that are searched for the header
WESTERN = frozenset(
    {"latin_1", "cp1252", "iso8859_15", "cp1250", "cp1254", "mac_roman", "cp437", "cp850"}
)
PUNCTUATION = (
    "\u2018\u2019\u201c\u201d\u2013\u2014\u2026\u20ac\u00bf\u00a1\u00ab\u00bb\u00b0\u00a3\u00a7"
)
BOM = b"\xef\xbb\xbf"
QUOTED = re.compile(rb'"[^"]*"')
LIMIT_OF_CSV = Lock()


def csv_rows(
    path: Path, required: Collection[str], limits: Limits, separator: str = ""
) -> Iterator[tuple[int, Row]]:
    """Yield each row's first line number and its cells by column. Blank lines are skipped.

    The default separator is a comma or, if the header contains no comma, a semicolon or tab.
    """
    names: list[str] = []
    with closing(csv_cells(path, limits, separator)) as table:
        for line, cells, mark in table:
            if not names:
                names = cells
                check_columns(names, required, limits, f"line {line}")
            elif len(cells) == len(names):
                yield line, dict(zip(names, cells, strict=True))
            else:
                raise PlaceError(ragged(len(cells), len(names), mark), f"line {line}")


def csv_cells(
    path: Path, limits: Limits, separator: str = "", encoding: str = ""
) -> Generator[tuple[int, list[str], str]]:
    """Yield each row's first line number, its cells and the separator. Blank lines are skipped."""
    with open_text(path, limits, encoding) as file:
        texts = (text for _, text in _lines(file, limits))
        header = _header(texts)
        separator = separator or _separator(header[-1] if header else "")
        is_unquoted = separator == "\t" and _is_unquoted(path)
        table = csv.reader(
            chain(header, texts),
            delimiter=separator,
            strict=True,
            quoting=csv.QUOTE_NONE if is_unquoted else csv.QUOTE_MINIMAL,
        )
        line = 1
        try:
            for cells in _rows(table, limits.field_chars):
                if cells:
                    yield line, cells, separator
                line = table.line_num + 1
        except csv.Error as error:
            problem = f"cannot be read as CSV ({error}). Check for a quote that isn't closed."
            raise PlaceError(problem, f"line {line}") from None


def _is_unquoted(path: Path) -> bool:
    """Return whether quotes are part of the cells between tabs, as nothing closes one of them.

    All lines have equally many tabs, so no cell has line breaks that need quotes.
    """
    with path.open("rb") as file:
        n_tabs, is_open = set[int](), False
        for line in filter(bytes.strip, file):
            n_tabs.add(line.count(b"\t"))
            cells = line.rstrip(b"\r\n").split(b"\t") if b'"' in line else []
            quoted = [cell.replace(b'""', b"") for cell in cells if cell.startswith(b'"')]
            is_open |= any(cell and not QUOTED.fullmatch(cell) for cell in quoted)
            if len(n_tabs) > 1:
                return False
    return is_open


def _rows(table: Iterator[list[str]], field_chars: int) -> Iterator[list[str]]:
    """Yield the rows of a `csv.reader`, setting the csv module's size limit while a row is read.

    The limit is global, so threads take turns. Otherwise, one thread could restore another's limit.
    """
    while True:
        with LIMIT_OF_CSV:
            own = csv.field_size_limit(field_chars)
            try:
                row = next(table, None)
            finally:
                csv.field_size_limit(own)
        if row is None:
            return
        yield row


def open_text(path: Path, limits: Limits, encoding: str) -> BinaryIO:
    """Open a file as UTF-8. A file in a different encoding is recoded completely."""
    if not encoding:
        return path.open("rb")
    if path.stat().st_size > limits.json_bytes:
        raise PlaceError(
            f"files above {limits.json_bytes} bytes must be UTF-8. Convert the file to UTF-8."
        )
    try:
        text = path.read_bytes().decode(encoding)
    except LookupError:
        raise PlaceError(f"--encoding: unknown encoding {short(encoding)}.") from None
    except UnicodeError as error:
        raise PlaceError(
            f"is not {encoding} ({type(error).__name__}). Pass a different --encoding."
        ) from None
    return BytesIO(text.removeprefix("\ufeff").encode())


def jsonl_rows(
    path: Path, required: Collection[str], limits: Limits, encoding: str = ""
) -> Iterator[tuple[int, Row]]:
    """Yield each line's number and object. Blank lines are skipped."""
    wanted = frozenset(required)
    with open_text(path, limits, encoding) as file:
        line = 1
        while lines := file.read(READ_AT_ONCE):
            lines += file.readline(limits.line_bytes + 1)
            rows = _flat_rows(lines, wanted, limits)
            if rows is None:
                yield from _strict_rows(lines, required, limits, line)
            else:
                yield from enumerate(rows, line)
            line += lines.count(b"\n")


def _flat_rows(lines: bytes, wanted: frozenset[str], limits: Limits) -> list[Row] | None:
    """Parse lines in one call. Return None if they must be parsed one by one."""
    if len(lines) > min(limits.line_bytes, limits.field_chars):
        return None
    rows = parse_flat_lines(lines)
    for names in set(map(tuple, rows or ())):
        if len(names) > limits.n_columns or "" in names or not wanted.issubset(names):
            return None
    return rows


def _strict_rows(
    lines: bytes, required: Collection[str], limits: Limits, first: int
) -> Iterator[tuple[int, Row]]:
    """Yield each line's number and object, parsing lines one by one."""
    for line, text in _lines(BytesIO(lines), limits, first):
        if text and not text.isspace():
            row = _object(text, limits, line)
            if not row.keys() >= frozenset(required):
                check_columns(list(row), required, limits, f"line {line}")
            yield line, row


def _object(text: str, limits: Limits, line: int) -> Row:
    where = f"line {line}"
    try:
        row = parse_json(text)
    except ValueError as error:
        raise PlaceError(f"{error}. Write one strict JSON object per line.", where) from None
    if not isinstance(row, dict):
        raise PlaceError("is not a JSON object. Write one object per line.", where)
    if len(row) > limits.n_columns or "" in row:
        check_columns(list(row), (), limits, where)
    if len(text) > limits.field_chars:
        check_lengths(row, limits, where)
    return row


def _lines(file: BinaryIO, limits: Limits, first: int = 1) -> Iterator[tuple[int, str]]:
    for line in count(first):
        raw = file.readline(limits.line_bytes + 1)
        if not raw:
            return
        where = f"line {line}"
        if len(raw) > limits.line_bytes:
            raise PlaceError(f"is longer than {limits.line_bytes} bytes. Shorten its texts.", where)
        if line == 1:
            raw = raw.removeprefix(BOM)
        if b"\0" in raw:
            problem = f"contains the character NUL{encoding_of(raw)}"
            raise PlaceError(f"{problem}. Save the file as UTF-8 text.", where)
        try:
            yield line, raw.decode()
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8"
            raise PlaceError(
                f"{problem}{encoding_of(raw)}. Save the file as UTF-8.", where
            ) from None


def encoding_of(raw: bytes) -> str:
    """Name the likely encoding of bytes that aren't UTF-8, and the option for it, for a message."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 -- only for this message

    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or raw[1::2].count(0) > len(raw) // 4:
        name = "utf-16"
    elif b"\0" in raw or (best := from_bytes(raw).best()) is None:
        return ""
    else:
        name = "cp1252" if best.encoding in WESTERN or _is_western(raw) else best.encoding
    return f" (if it's {name}, pass --encoding {name} to an import)"


def _is_western(raw: bytes) -> bool:
    """Return whether bytes are mostly ASCII, and the rest Western European letters in cp1252."""
    others = [byte for byte in raw if byte > 127]  # noqa: PLR2004 -- ASCII
    letters = bytes(others).decode("cp1252", errors="replace")
    return len(others) < len(raw) // 5 and all(
        char.isalpha() or char in PUNCTUATION for char in letters
    )


def _header(texts: Iterator[str]) -> list[str]:
    """Return the lines up to the first line with a separator, but at most `N_OPENING` lines."""
    lines = []
    for text in texts:
        lines.append(text)
        if any(mark in text for mark in SEPARATORS) or len(lines) == N_OPENING:
            break
    return lines


def _separator(header: str) -> str:
    """Return the most common separator in the header. The default is a comma.

    If the first line contains only numbers and spaces, the separator is a space.
    """
    if NUMBERS.fullmatch(header.strip()):
        return " "
    return max(SEPARATORS, key=lambda mark: (header.count(mark), mark == ","))


def ragged(n_cells: int, n_columns: int, separator: str) -> str:
    """Describe the problem in a row with too few or too many cells, and its remedy."""
    cells = "1 cell" if n_cells == 1 else f"{n_cells} cells"
    many = n_cells > n_columns
    remedy = (
        f"Put cells with {SEPARATORS.get(separator, 'a space')} in quotes"
        if many
        else "Also write the separators of empty cells"
    )
    return f"found {cells}, but the header has {n_columns}. {remedy}."


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
    """Read a table row by row. Memory holds only a row (csv, jsonl) or a batch (parquet).

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
        Error of type ``error``, with file, line, what was found and what to do, if the file has
        none of the three formats, isn't UTF-8 (a byte order mark is tolerated), has a missing,
        repeated or blank column name, has rows of different lengths, isn't strict JSON, has no
        rows, or exceeds a limit.
    """
    with reading(path, error):
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            ending = path.suffix or "no ending"
            raise PlaceError(
                f"found {ending}. The name of a table must end in .csv, .jsonl or .parquet."
            )
        check_size(path, limits)
        yield from counted_rows(reader(path, required, limits), limits)
