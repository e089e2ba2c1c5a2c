"""What a table may hold at most, and the fault that names a place in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

Row = dict[str, Any]
SHOWN_CHARS = 60


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


class PlaceError(ValueError):
    """Something wrong at one place of a table; whoever knows the file's name adds it."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}" if where else what)


def short(text: str) -> str:
    """Quote a name, cut so that a message stays on its line."""
    return repr(text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "...")


def check_size(path: Path, caps: Caps) -> None:
    """Refuse what is no regular file, is empty, or is too large."""
    if not path.exists():
        raise PlaceError("", "the file was not found; put it there or correct its name.")
    if not path.is_file():
        raise PlaceError("", "this is not a regular file; give a file.")
    size = path.stat().st_size
    if not size:
        raise PlaceError("", "the file is empty; give at least one row.")
    if size > caps.n_bytes:
        raise PlaceError(
            "", f"found {size} bytes; at most {caps.n_bytes} are read. Split the file."
        )


def too_many_rows(caps: Caps) -> NoReturn:
    """Refuse a table above the cap on rows."""
    raise PlaceError("", f"found more than {caps.n_rows} rows, which is the most; split the file.")


def check_columns(names: Sequence[str], required: Collection[str], caps: Caps, where: str) -> None:
    """Refuse blank, repeated, missing or too many column names."""
    if len(names) > caps.n_columns:
        raise PlaceError(where, f"found {len(names)} columns; at most {caps.n_columns} are read.")
    if any(not name.strip() for name in names):
        raise PlaceError(where, "found a column without a name; name every column.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise PlaceError(where, f"column {short(twice[0])} is given twice; keep one of them.")
    if missing := [name for name in required if name not in names]:
        found = ", ".join(short(name) for name in names[:10]) or "no columns"
        raise PlaceError(where, f"column {missing[0]!r} is missing (found {found}); add it.")


def check_lengths(row: Row, caps: Caps, where: str) -> None:
    """Refuse texts that are too long."""
    for name, value in row.items():
        if isinstance(value, str) and len(value) > caps.field_chars:
            found = f"{short(name)} holds {len(value)} characters"
            raise PlaceError(where, f"{found}; at most {caps.field_chars} are read.")
