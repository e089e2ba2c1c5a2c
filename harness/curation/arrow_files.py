"""Rows of arrow files and of the folders that ``save_to_disk`` writes; nothing is unpickled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.tasks.tables import native_rows
from harness.tasks.tables.checks import PlaceError, check_size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.tasks.tables import Limits, Row

STATE = "state.json"


def arrow_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and row of each entry of an arrow file, stream or file format."""
    del notes
    yield from native_rows.arrow_rows(path, (), limits)


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
            "",
            f"this folder has no {STATE} of save_to_disk; give a file, or the folder of a split.",
        ) from None
    if state.get("_indices_files") or any("/" in name or "\\" in name for name in names):
        raise PlaceError(
            "", "the data set selects rows of another; save it after flatten_indices()."
        )
    return [path / name for name in names]
