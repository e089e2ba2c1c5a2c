"""Writers for csv and jsonl, and protection against spreadsheet formulas."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from harness.files.tables.checks import as_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")


def csv_text(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> str:
    """Return rows as CSV. Missing cells are empty, lists are JSON, and other keys are left out."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: as_text(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def jsonl_text(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as lines of JSON objects."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def neutralized(value: object) -> str:
    """Convert a cell to text that spreadsheets don't read as a formula. `restored` undoes this.

    Examples
    --------
    >>> neutralized("=1+1"), restored("'=1+1"), restored(neutralized("'quoted'"))
    ("'=1+1", '=1+1', "'quoted'")
    """
    cell = as_text(value)
    return f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell


def restored(cell: str) -> str:
    """Return the original text of a cell from `neutralized`."""
    return cell.removeprefix("'")
