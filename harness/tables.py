"""Rows of csv, jsonl and parquet files: one at a time, within caps, each with its place for messages."""

from __future__ import annotations

import csv
import json
import math
import os
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from harness.errors import HarnessError, TaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

Row = dict[str, Any]
BOM = b"\xef\xbb\xbf"
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Caps:
    """What a table may hold at most; a file above any of these is refused, not cut.

    Attributes
    ----------
    n_bytes, line_bytes : int
        Size of the file, and of one line of csv or jsonl, in bytes.
    n_rows, n_columns : int
        Number of rows, and of columns (keys of a row).
    field_chars : int
        Length of one text, in characters.
    """

    n_bytes: int = 1 << 30
    line_bytes: int = 8 << 20
    n_rows: int = 5_000_000
    n_columns: int = 256
    field_chars: int = 1 << 20


CAPS = Caps()


class _Fault(ValueError):
    """Something wrong at one place of a table; the message still lacks the file."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}" if where else what)


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
        A file that ends in ``.csv`` (with a header), ``.jsonl`` or ``.parquet``.
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
    readers: dict[str, Callable[[Path, Collection[str], Caps], Iterator[tuple[int, Row]]]] = {
        ".csv": _csv_rows,
        ".jsonl": _jsonl_rows,
        ".parquet": _parquet_rows,
    }
    try:
        reader = readers.get(path.suffix.lower())
        if reader is None:
            raise _Fault("", f"found '{path.suffix}'; a table ends in .csv, .jsonl or .parquet.")  # noqa: TRY301 -- one place adds the file's name
        _check_size(path, caps)
        n_rows = 0
        for line, row in reader(path, required, caps):
            n_rows += 1
            if n_rows > caps.n_rows:
                _too_many_rows(caps)
            yield line, row
        if not n_rows:
            raise _Fault("", "no rows were found; give at least one.")  # noqa: TRY301 -- see above
    except _Fault as fault:
        raise error(f"{path}: {fault}") from None
    except OSError as fault:
        raise error(f"{path}: cannot be read ({fault.strerror or type(fault).__name__}).") from None


def parse_json(text: str) -> Any:  # noqa: ANN401 -- JSON can be anything
    """Parse JSON strictly: each key once, finite numbers, at most 64 levels, no lone surrogates.

    Raises
    ------
    ValueError
        Saying what is wrong, without quoting the text.
    """
    if text.count("[") + text.count("{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    try:
        value = _JSON.decode(text)
    except json.JSONDecodeError as fault:
        raise ValueError(f"not JSON ({fault.msg} at column {fault.colno})") from None
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None
    if "\\u" in text:
        _check_escapes(text, value)
    return value


def _depth(text: str) -> int:
    depth = deepest = 0
    quoted = escaped = False
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = quoted
        elif char == '"':
            quoted = not quoted
        elif not quoted and char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif not quoted and char in "]}":
            depth -= 1
    return deepest


def _check_escapes(text: str, value: object) -> None:
    if "\\u0000" in text and "\0" in str(value):
        raise ValueError("holds the character NUL")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair") from None


def _unique(pairs: list[tuple[str, Any]]) -> Row:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {_short(twice)} is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{_short(text)} is too large for a number")
    return number


def _whole(text: str) -> int:
    if len(text) > 100:  # noqa: PLR2004 -- far beyond any rating, far below what int() refuses
        raise ValueError(f"{_short(text)} is too large for a number")
    return int(text)


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "...")  # noqa: PLR2004 -- fits a line


def _check_size(path: Path, caps: Caps) -> None:
    if not path.exists():
        raise _Fault("", "the file was not found.")
    if not path.is_file():
        raise _Fault("", "this is not a regular file.")
    size = path.stat().st_size
    if not size:
        raise _Fault("", "the file is empty; give at least one row.")
    if size > caps.n_bytes:
        raise _Fault("", f"found {size} bytes; at most {caps.n_bytes} are read. Split the task.")


def _too_many_rows(caps: Caps) -> NoReturn:
    raise _Fault("", f"more than {caps.n_rows} rows were found; split the task.")


def _check_columns(names: list[str], required: Collection[str], caps: Caps, where: str) -> None:
    if len(names) > caps.n_columns:
        raise _Fault(where, f"found {len(names)} columns; at most {caps.n_columns} are read.")
    if "" in names:
        raise _Fault(where, "a column has no name; name every column.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise _Fault(where, f"column {_short(twice[0])} is given twice; keep one of them.")
    if missing := [name for name in required if name not in names]:
        found = ", ".join(_short(name) for name in names[:10])
        raise _Fault(where, f"{missing[0]!r} is missing (found {found}); add it.")


def _lines(file: BinaryIO, caps: Caps) -> Iterator[tuple[int, str]]:
    for line in count(1):
        raw = file.readline(caps.line_bytes + 1)
        if not raw:
            return
        where = f"line {line}"
        if len(raw) > caps.line_bytes:
            raise _Fault(where, f"longer than {caps.line_bytes} bytes; shorten its texts.")
        if line == 1:
            raw = raw.removeprefix(BOM)
        if b"\0" in raw:
            raise _Fault(where, "holds the character NUL; save the file as UTF-8 text.")
        try:
            yield line, raw.decode()
        except UnicodeDecodeError as fault:
            found = f"byte {fault.start + 1} (0x{raw[fault.start]:02x}) is not UTF-8"
            raise _Fault(where, f"{found}; save the file as UTF-8.") from None


def _csv_rows(path: Path, required: Collection[str], caps: Caps) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(caps.field_chars)  # the csv module has but this one limit, process-wide
    with path.open("rb") as file:
        table = csv.reader((text for _, text in _lines(file, caps)), strict=True)
        names: list[str] = []
        line = 1
        try:
            for cells in table:
                if not names:
                    names = cells
                    _check_columns(names, required, caps, f"line {line}")
                elif cells:
                    if len(cells) != len(names):
                        _ragged(line, len(cells), len(names))
                    yield line, dict(zip(names, cells, strict=True))
                line = table.line_num + 1
        except csv.Error as fault:
            raise _Fault(
                f"line {line}", f"cannot be read as CSV ({fault}); is a quote left open?"
            ) from None


def _ragged(line: int, found: int, wanted: int) -> NoReturn:
    raise _Fault(
        f"line {line}",
        f"found {found} cells where the header has {wanted}; put cells that hold commas in quotes.",
    )


def _jsonl_rows(path: Path, required: Collection[str], caps: Caps) -> Iterator[tuple[int, Row]]:
    with path.open("rb") as file:
        for line, text in _lines(file, caps):
            if text.isspace():
                continue
            where = f"line {line}"
            try:
                row = parse_json(text)
            except ValueError as fault:
                raise _Fault(where, f"{fault}; write one JSON object per line.") from None
            if not isinstance(row, dict):
                raise _Fault(where, "is not a JSON object; write one object per line.")
            if len(row) > caps.n_columns or "" in row or any(name not in row for name in required):
                _check_columns(list(row), required, caps, where)
            if len(text) > caps.field_chars:
                _check_lengths(row, caps, where)
            yield line, row


def _check_lengths(row: Row, caps: Caps, where: str) -> None:
    for name, value in row.items():
        if isinstance(value, str) and len(value) > caps.field_chars:
            raise _Fault(
                where,
                f"{_short(name)} holds {len(value)} characters; at most {caps.field_chars} are read.",
            )


def _parquet_rows(path: Path, required: Collection[str], caps: Caps) -> Iterator[tuple[int, Row]]:
    _check_parquet(path, required, caps)
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    from datasets import load_dataset  # noqa: PLC0415 -- heavy, and only parquet needs it

    try:
        rows = load_dataset("parquet", data_files=str(path), split="train", streaming=True)
        for number, row in enumerate(rows, 1):
            where = f"row {number}"
            _check_lengths(row, caps, where)
            yield number, {name: _plain(value, name, where) for name, value in row.items()}
    except (ValueError, RuntimeError) as fault:
        if isinstance(fault, _Fault):
            raise
        raise _Fault("", f"cannot be read as parquet ({type(fault).__name__}).") from None


def _check_parquet(path: Path, required: Collection[str], caps: Caps) -> None:
    import pyarrow as pa  # noqa: PLC0415 -- heavy, and only parquet needs it
    from pyarrow import parquet  # noqa: PLC0415 -- heavy, and only parquet needs it

    try:
        with parquet.ParquetFile(path) as file:
            declared, names = file.metadata, file.schema_arrow.names
    except pa.ArrowException as fault:
        raise _Fault("", f"cannot be read as parquet ({type(fault).__name__}).") from None
    groups = range(declared.num_row_groups)
    if declared.num_rows > caps.n_rows:
        _too_many_rows(caps)
    if sum(declared.row_group(group).total_byte_size for group in groups) > caps.n_bytes:
        raise _Fault("", f"unpacks to more than {caps.n_bytes} bytes; split the task.")
    _check_columns(names, required, caps, "columns")


def _plain(value: object, name: str, where: str) -> object:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list):
        return [_plain(part, name, where) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part, name, where) for key, part in value.items()}
    kind = "no finite number" if isinstance(value, float) else type(value).__name__
    raise _Fault(where, f"{_short(name)} holds {kind}; give text, numbers or lists of them.")
