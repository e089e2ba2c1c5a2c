"""Rows of parquet files, streamed through `datasets`; declared sizes are checked first."""

from __future__ import annotations

import glob
import math
import os
from datetime import date, time
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from harness.tasks.tables.checks import (
    PlaceError,
    Row,
    check_columns,
    check_lengths,
    short,
    too_many_rows,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from harness.tasks.tables.checks import Limits


BATCH = 1000  # rows in memory at a time


def parquet_rows(
    path: Path, required: Collection[str], limits: Limits
) -> Iterator[tuple[int, Row]]:
    """Yield number and values of each row, without network or progress bars."""
    n_rows = _check_declared(path, required, limits)
    for number, row in enumerate(_stream(path) if n_rows else (), 1):
        where = f"row {number}"
        check_lengths(row, limits, where)
        yield number, {name: plain_value(value, name, where) for name, value in row.items()}


def _stream(path: Path) -> Iterator[Row]:
    os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")
    from datasets import load_dataset  # noqa: PLC0415 -- heavy, and only parquet needs it

    pattern = glob.escape(str(path.resolve()))
    if "::" in pattern:
        raise PlaceError("", "a path with '::' means a chain of addresses here; rename the folder.")
    try:
        with TemporaryDirectory() as cache:  # a lock is written even when nothing is cached
            rows = load_dataset(
                "parquet", data_files=pattern, split="train", streaming=True, cache_dir=cache
            )
            for batch in rows.iter(batch_size=BATCH):
                columns = batch.values()
                for values in zip(*columns, strict=True):
                    yield dict(zip(batch, values, strict=True))
    except (ValueError, RuntimeError) as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> PlaceError:
    return PlaceError("", f"cannot be read as parquet ({type(error).__name__}); write it anew.")


def _check_declared(path: Path, required: Collection[str], limits: Limits) -> int:
    import pyarrow as pa  # noqa: PLC0415 -- heavy, and only parquet needs it
    from pyarrow import parquet  # noqa: PLC0415 -- heavy, and only parquet needs it

    try:
        with parquet.ParquetFile(path) as file:
            declared, names = file.metadata, file.schema_arrow.names
    except pa.ArrowException as error:
        raise _unreadable(error) from None
    if declared.num_rows > limits.n_rows:
        too_many_rows(limits)
    groups = range(declared.num_row_groups)
    if sum(declared.row_group(group).total_byte_size for group in groups) > limits.n_bytes:
        raise PlaceError("", f"unpacks to more than {limits.n_bytes} bytes; split the file.")
    check_columns(names, required, limits, "columns")
    return int(declared.num_rows)


def plain_value(value: object, name: str, where: str) -> object:
    """Return a cell as text, a number, or a list or dict of them."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, date | time):  # a datetime is a date, too
        return value.isoformat()
    if isinstance(value, list):
        return [plain_value(part, name, where) for part in value]
    if isinstance(value, dict):
        return {key: plain_value(part, name, where) for key, part in value.items()}
    kind = "no finite number" if isinstance(value, float) else type(value).__name__
    raise PlaceError(where, f"{short(name)} holds {kind}; give text, numbers or lists of them.")
