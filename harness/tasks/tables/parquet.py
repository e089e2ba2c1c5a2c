"""Rows of parquet files, streamed with pyarrow; what they unpack to is bounded."""

from __future__ import annotations

import math
from datetime import date, time
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

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


BATCH = 1000  # rows unpacked at a time
CELL_BYTES = 16  # counted per value beside its text
UNBOUNDED = "DELTA_BYTE_ARRAY"  # repeats the beginning of the text before, which may be long


def parquet_rows(
    path: Path, required: Collection[str], limits: Limits
) -> Iterator[tuple[int, Row]]:
    """Yield number and values of each row; what the metadata says of columns is ignored."""
    with path.open("rb") as file:
        rows = chain.from_iterable(_unpacked(file, required, limits))
        for number, row in enumerate(rows, 1):
            where = f"row {number}"
            check_lengths(row, limits, where)
            yield number, {name: plain_value(value, name, where) for name, value in row.items()}


def _unpacked(file: BinaryIO, required: Collection[str], limits: Limits) -> Iterator[list[Row]]:
    """Yield rows in batches; the size of a row group is known before its texts are unpacked."""
    import pyarrow as pa  # noqa: PLC0415 -- heavy, and only parquet needs it

    n_bytes = 0
    try:
        for group, schema in _row_groups(file, required, limits):
            chunks = (chunk for column in group.columns for chunk in column.chunks)
            n_bytes += sum(map(_unpacked_bytes, chunks))
            if n_bytes > limits.unpacked_bytes:
                _too_large(limits)
            for start in range(0, group.num_rows, BATCH):
                yield group.slice(start, BATCH).cast(schema).to_pylist()
    except PlaceError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError) as error:
        problem = f"cannot be read as parquet ({type(error).__name__})"
        raise PlaceError("", f"{problem}; write it anew.") from None


def _row_groups(
    file: BinaryIO, required: Collection[str], limits: Limits
) -> Iterator[tuple[Any, Any]]:
    """Yield each row group with texts in dictionaries, and the schema without dictionaries."""
    from pyarrow import parquet  # noqa: PLC0415 -- heavy, and only parquet needs it

    plain = parquet.ParquetFile(file)
    declared = plain.metadata
    check_columns(plain.schema_arrow.names, required, limits, "columns")
    _check_declared(declared, limits)
    columns = [declared.schema.column(i) for i in range(declared.num_columns)]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    table = parquet.ParquetFile(file, metadata=declared, read_dictionary=texts)
    for i in range(declared.num_row_groups):
        yield table.read_row_group(i, use_threads=False), plain.schema_arrow


def _check_declared(declared: Any, limits: Limits) -> None:  # noqa: ANN401 -- pyarrow has no types
    """Refuse too many rows, too many bytes, and an encoding whose size is not bounded."""
    if declared.num_rows > limits.n_rows:
        too_many_rows(limits)
    n_bytes = 0
    for i in range(declared.num_row_groups):
        group = declared.row_group(i)
        n_bytes += group.total_byte_size
        for k in range(group.num_columns):
            chunk = group.column(k)
            width = max(declared.schema.column(k).length, CELL_BYTES)  # -1: of no fixed length
            n_bytes += chunk.num_values * width
            if UNBOUNDED in chunk.encodings:
                problem = f"{short(chunk.path_in_schema)} is encoded as {UNBOUNDED}"
                raise PlaceError("", f"{problem}; write it with another encoding.")
    if n_bytes > limits.unpacked_bytes:
        _too_large(limits)


def _too_large(limits: Limits) -> NoReturn:
    raise PlaceError("", f"unpacks to more than {limits.unpacked_bytes} bytes; split the file.")


def _unpacked_bytes(array: Any) -> int:  # noqa: ANN401 -- pyarrow has no types
    """Return the size of the values of a column, with each text counted as often as it occurs."""
    import pyarrow as pa  # noqa: PLC0415 -- heavy, and only parquet needs it
    from pyarrow import compute  # noqa: PLC0415 -- heavy, and only parquet needs it

    kind = array.type
    parts: list[Any] = []
    n_bytes = CELL_BYTES * len(array)
    if pa.types.is_dictionary(kind):
        lengths = compute.binary_length(array.dictionary).take(array.indices)
        n_bytes += compute.sum(lengths).as_py() or 0
    elif pa.types.is_map(kind):
        parts = [array.keys, array.items]
    elif pa.types.is_nested(kind):
        parts = array.flatten() if pa.types.is_struct(kind) else [array.values]
    return n_bytes + sum(map(_unpacked_bytes, parts))


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
