"""Size limits for tables, checks of rows and cells, and errors with a location in the file."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from harness.errors import HarnessError, TaskError
from harness.files.json_values import JsonObject

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path


Row = JsonObject
SHOWN_CHARS = 80
LABEL_CHARS, LABEL_WORDS = 40, 4  # longest label or name that an error shows
MAX_ID_CHARS = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """Size limits for a table. A file that exceeds any of them is rejected, not truncated.

    Attributes
    ----------
    n_bytes, line_bytes : int
        Size of the file, and of one line of csv or jsonl, in bytes.
    json_bytes : int
        Size of a JSON file in bytes. The whole file is loaded into memory.
    unpacked_bytes : int
        Size of all values in a parquet file, in bytes, including repetitions.
    n_rows, n_columns : int
        Number of rows, and of columns (the keys in a row).
    field_chars : int
        Length of a text in characters.
    """

    n_bytes: int = 1 << 30
    line_bytes: int = 8 << 20
    json_bytes: int = 128 << 20
    unpacked_bytes: int = 128 << 20
    n_rows: int = 5_000_000
    n_columns: int = 256
    field_chars: int = 1 << 20


LIMITS = Limits()
IMPORT_LIMITS = replace(LIMITS, n_columns=4096)  # a column per criterion and rater


class PlaceError(ValueError):
    """Error with a location in a file. Callers add the file's name."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(f"{where}: {problem}" if where else problem)


@contextmanager
def reading(path: Path, error: type[HarnessError] = TaskError) -> Iterator[None]:
    """Convert a `PlaceError` or a read error to ``error``, with the file's name."""
    try:
        yield
    except PlaceError as fault:
        raise error(f"{path}: {fault}") from None
    except OSError as fault:
        problem = fault.strerror or type(fault).__name__
        raise error(f"{path}: cannot be read ({problem}). Check the file.") from None


def as_text(value: object) -> str:
    """Convert a cell to text.

    None becomes "", True becomes "true", and lists and dicts become JSON.
    """
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def short(value: object) -> str:
    """Quote a cell or a name for a message, on one line and shortened."""
    text = as_text(value)
    return repr(text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "...")


def quoted(noun: str, text: str) -> str:
    """Quote a label, rater or item for a message. Long text, which could be a reply, is not quoted.

    Examples
    --------
    >>> quoted("label", "not toxic"), quoted("label", "My password is hunter2, keep it safe")
    ("label 'not toxic'", 'the label (36 characters)')
    """
    return f"{noun} {text!r}" if looks_like_label(text) else f"the {noun} ({len(text)} characters)"


def looks_like_label(text: str) -> bool:
    """Return whether a text is short, on one line, and has few words."""
    return len(text) <= LABEL_CHARS and len(text.split()) <= LABEL_WORDS and text.isprintable()


def identifier(value: object, column: str, where: str) -> str:
    """Read the name of an item, a rater, a group or a criterion.

    Raises
    ------
    TaskError
        If the name is empty, too long, not printable, or has leading or trailing spaces.
    """
    text = as_text(value)
    if not text or len(text) > MAX_ID_CHARS or text != text.strip() or not text.isprintable():
        raise TaskError(
            f"{where}: {column}: found {short(text)}. Write 1 to {MAX_ID_CHARS} printable "
            "characters without spaces around them."
        )
    return text


def check_size(path: Path, limits: Limits) -> None:
    """Reject an empty file, a file that is too large, and a path that isn't a regular file."""
    if not path.exists():
        raise PlaceError("the file was not found. Check the path.")
    if not path.is_file():
        raise PlaceError("this is not a regular file. Pass a file.")
    size = path.stat().st_size
    if not size:
        raise PlaceError("the file is empty. Add at least one row.")
    most = limits.json_bytes if path.suffix.lower() == ".json" else limits.n_bytes
    if size > most:
        raise PlaceError(f"found {size} bytes, but the limit is {most}. Split the file.")


def too_many_rows(limits: Limits) -> NoReturn:
    """Raise the error for a table with too many rows."""
    raise PlaceError(f"found more than {limits.n_rows} rows, which is the limit. Split the file.")


def counted_rows(
    rows: Iterable[tuple[int, Row]], limits: Limits, ragged: Sequence[tuple[int, str]] = ()
) -> Iterator[tuple[int, Row]]:
    """Yield a table's rows, and reject a table with no rows or too many rows.

    If the table has only ragged rows, the error describes the first of them.
    """
    n_rows = 0
    for n_rows, row in enumerate(rows, 1):
        if n_rows > limits.n_rows:
            too_many_rows(limits)
        yield row
    if not n_rows and ragged:
        line, problem = ragged[0]
        raise PlaceError(problem, f"line {line}")
    if not n_rows:
        raise PlaceError("found no rows. Add at least one.")


def check_columns(
    names: Sequence[str], required: Collection[str], limits: Limits, where: str
) -> None:
    """Reject too many column names, and blank, repeated or missing names."""
    if len(names) > limits.n_columns:
        raise PlaceError(
            f"found {len(names)} columns, but the limit is {limits.n_columns}. Split the table.",
            where,
        )
    if any(not name.strip() for name in names):
        raise PlaceError("found a column without a name. Name every column.", where)
    if repeated := [name for name in names if names.count(name) > 1]:
        raise PlaceError(f"column {short(repeated[0])} appears twice. Keep one of them.", where)
    if missing := [name for name in required if name not in names]:
        columns = ", ".join(short(name) for name in names[:10]) or "no columns"
        raise PlaceError(
            f"column {missing[0]!r} is missing (found {columns}). Add it, or rename the column "
            f"that contains it to {missing[0]!r}.",
            where,
        )


def check_lengths(row: Row, limits: Limits, where: str) -> None:
    """Reject texts that are too long."""
    for name, value in row.items():
        if isinstance(value, str) and len(value) > limits.field_chars:
            problem = f"{short(name)} contains {len(value)} characters"
            raise PlaceError(
                f"{problem}, but the limit is {limits.field_chars}. Shorten the text.", where
            )
