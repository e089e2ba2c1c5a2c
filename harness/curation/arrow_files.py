"""Rows of arrow files and of the folders that ``save_to_disk`` writes; nothing is unpickled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from harness.tasks.tables.checks import PlaceError, check_columns, check_lengths, too_many_rows
from harness.tasks.tables.parquet import plain_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.tasks.tables import Limits, Row

STATE = "state.json"


def saved_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and row of each entry of a folder that ``save_to_disk`` wrote."""
    try:
        state = json.loads((path / STATE).read_text(encoding="utf-8"))
        files = [entry["filename"] for entry in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise PlaceError(
            "",
            f"this folder has no {STATE} of save_to_disk; give a file, or the folder of a split.",
        ) from None
    if state.get("_indices_files") or any("/" in name or "\\" in name for name in files):
        raise PlaceError(
            "", "the data set selects rows of another; save it after flatten_indices()."
        )
    n_before = 0
    for name in files:
        for number, row in arrow_rows(path / name, limits, notes):
            yield n_before + number, row
        n_before += number


def arrow_rows(path: Path, limits: Limits, notes: list[str]) -> Iterator[tuple[int, Row]]:
    """Yield number and row of each entry of an arrow file, stream or file format."""
    del notes
    import pyarrow as pa  # noqa: PLC0415 -- heavy, and only arrow files need it

    number = 0
    try:
        with pa.memory_map(str(path)) as source:
            for batch in _batches(source):
                check_columns(batch.schema.names, (), limits, "columns")
                for row in batch.to_pylist():
                    number += 1
                    if number > limits.n_rows:
                        too_many_rows(limits)
                    where = f"row {number}"
                    entries = {name: plain_value(v, name, where) for name, v in row.items()}
                    check_lengths(entries, limits, where)
                    yield number, entries
    except pa.ArrowException as error:
        problem = f"cannot be read as arrow ({type(error).__name__})"
        raise PlaceError("", f"{problem}; write it anew.") from None


def _batches(source: Any) -> Iterator[Any]:  # noqa: ANN401 -- pyarrow has no types
    import pyarrow as pa  # noqa: PLC0415 -- heavy, and only arrow files need it

    try:
        yield from pa.ipc.open_stream(source)
    except pa.ArrowInvalid:
        source.seek(0)
        file = pa.ipc.open_file(source)
        for i in range(file.num_record_batches):
            yield file.get_batch(i)
