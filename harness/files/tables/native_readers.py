"""Separate process that writes the rows of a parquet, arrow or xlsx file as lines of JSON.

pyarrow and calamine are compiled, so a damaged or crafted file can crash the process, which no
``except`` catches. `native_rows` runs this file in a process, and reports the table if that process
ends early. This file doesn't import anything from the package, so it starts quickly.

Each line is a list with a row's cells. For parquet and arrow, the first line contains the number of
rows that the file, or its first batch, declares, and the column names. A problem is an object with
a location and a sentence.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from contextlib import suppress
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

MEMORY_BYTES = 2 << 30  # address space, including the libraries
CPU_S = 300
BATCH = 1000  # rows unpacked at a time
CELL_BYTES = 16  # counted per value in addition to its text
UNBOUNDED = "DELTA_BYTE_ARRAY"  # each value can repeat a long prefix of the previous one
MAX_WHOLE = 1e15  # larger floats can't be relied on to be whole numbers
ARROW_FILE = b"ARROW1"  # first bytes of the file format; other contents are a stream


class Refused(Exception):  # noqa: N818 -- a property of the file
    """Error for a rejected file. The arguments are the location in the file and the problem."""


def main(kind: str, unpacked_bytes: int, sheet: str = "") -> None:
    """Read a file from standard input, and write its rows to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one
    import resource  # noqa: PLC0415 -- Windows lacks it, and tables of text need none

    for name, bound in (("AS", MEMORY_BYTES), ("CPU", CPU_S), ("CORE", 0)):
        with suppress(OSError, ValueError):  # a lower limit is set, or the system has none
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (bound, bound))
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    with os.fdopen(0, "rb") as file, os.fdopen(1, "w", encoding="utf-8") as output:
        for line in _lines(kind, file, unpacked_bytes, sheet):
            output.write(encode(line) + "\n")


def _lines(kind: str, file: BufferedReader, unpacked_bytes: int, sheet: str) -> Iterator[Any]:
    """Yield a file's rows. If a problem occurs, yield the problem after the rows read so far."""
    try:
        if kind == "xlsx":
            yield from _xlsx(file, sheet)
        else:
            yield from READERS[kind](file, unpacked_bytes)
    except Refused as refused:
        where, problem = refused.args
        yield {"where": where, "problem": problem}
    except MemoryError:
        problem = f"takes more than {MEMORY_BYTES >> 20} MiB of memory to read"
        yield {"where": "", "problem": f"{problem}. Split the file."}
    except Exception as error:  # noqa: BLE001 -- damaged files make the libraries raise anything
        problem = f"cannot be read as {kind} ({type(error).__name__})"
        yield {"where": "", "problem": f"{problem}. Write the file again."}


def _parquet(file: BufferedReader, unpacked_bytes: int) -> Iterator[list[Any]]:
    """Yield the row count and column names, then rows.

    Row groups' sizes are checked before unpacking.
    """
    from pyarrow import parquet  # noqa: PLC0415 -- workbooks do not need it

    plain = parquet.ParquetFile(file)
    declared, schema = plain.metadata, plain.schema_arrow
    yield [declared.num_rows, *schema.names]
    _check_declared(declared, unpacked_bytes)
    columns = [declared.schema.column(i) for i in range(declared.num_columns)]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    table = parquet.ParquetFile(file, metadata=declared, read_dictionary=texts)
    n_bytes = n_rows = 0
    for i in range(declared.num_row_groups):
        group = table.read_row_group(i, use_threads=False)
        chunks = (chunk for column in group.columns for chunk in column.chunks)
        n_bytes += sum(map(_unpacked_bytes, chunks))
        if n_bytes > unpacked_bytes:
            _too_large(unpacked_bytes)
        for start in range(0, group.num_rows, BATCH):
            yield from _cells(group.slice(start, BATCH).cast(schema), n_rows + start)
        n_rows += group.num_rows


def _check_declared(declared: Any, unpacked_bytes: int) -> None:  # noqa: ANN401 -- no types
    """Reject a size above the limit, and encodings that don't bound the size."""
    n_bytes = 0
    for i in range(declared.num_row_groups):
        group = declared.row_group(i)
        n_bytes += group.total_byte_size
        for k in range(group.num_columns):
            chunk = group.column(k)
            width = max(declared.schema.column(k).length, CELL_BYTES)  # -1 if the length varies
            n_bytes += chunk.num_values * width
            if UNBOUNDED in chunk.encodings:
                problem = f"{chunk.path_in_schema[:80]!r} is encoded as {UNBOUNDED}"
                raise Refused("", f"{problem}. Write the file with a different encoding.")
    if n_bytes > unpacked_bytes:
        _too_large(unpacked_bytes)


def _too_large(unpacked_bytes: int) -> None:
    raise Refused("", f"unpacks to more than {unpacked_bytes} bytes. Split the file.")


def _unpacked_bytes(array: Any) -> int:  # noqa: ANN401 -- pyarrow has no types
    """Return the size of a column's values in bytes. Repeated texts count each time."""
    import pyarrow as pa  # noqa: PLC0415 -- workbooks do not need it
    from pyarrow import compute  # noqa: PLC0415 -- the same

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


def _arrow(file: BufferedReader, unpacked_bytes: int) -> Iterator[list[Any]]:
    """Yield the first batch's row count and column names, then rows. Reads both arrow formats."""
    del unpacked_bytes  # counted by the process that reads the rows
    n_rows = 0
    for number, batch in enumerate(_batches(file)):
        batch.validate(full=True)
        if number == 0:
            yield [batch.num_rows, *batch.schema.names]
        for start in range(0, batch.num_rows, BATCH):
            yield from _cells(batch.slice(start, BATCH), n_rows + start)
        n_rows += batch.num_rows


def _batches(file: BufferedReader) -> Iterator[Any]:
    from pyarrow import ipc  # noqa: PLC0415 -- workbooks do not need it

    is_file = file.read(len(ARROW_FILE)) == ARROW_FILE
    file.seek(0)
    if is_file:
        table = ipc.open_file(file)
        yield from (table.get_batch(i) for i in range(table.num_record_batches))
    else:
        yield from ipc.open_stream(file)


def _xlsx(file: BufferedReader, sheet: str) -> Iterator[list[Any]]:
    """Yield the number of sheets without a table and the names of sheets with one, then rows.

    A sheet with one row or one column, such as a note, isn't a table, unless all sheets are that
    small.
    """
    from python_calamine import CalamineWorkbook  # noqa: PLC0415 -- only for workbooks

    workbook = CalamineWorkbook.from_filelike(file)
    sheets = {name: workbook.get_sheet_by_name(name) for name in workbook.sheet_names}
    filled = [name for name, cells in sheets.items() if cells.height]
    tables = [name for name in filled if min(sheets[name].height, sheets[name].width) > 1]
    tables = tables or filled
    yield [len(filled) - len(tables), *tables]
    name = sheet or (tables or workbook.sheet_names)[0]
    if name not in workbook.sheet_names:
        raise Refused("", f"has no sheet {name[:80]!r}. Its sheets are {', '.join(filled)[:200]}.")
    for cells in workbook.get_sheet_by_name(name).to_python(skip_empty_area=False):
        yield [_plain_cell(cell) for cell in cells]


def _plain_cell(cell: object) -> object:
    """Convert a cell's dates and times to text, and whole numbers to integers."""
    if isinstance(cell, float):
        return int(cell) if cell.is_integer() and abs(cell) < MAX_WHOLE else cell
    if isinstance(cell, date | time):  # a datetime is a date, too
        return cell.isoformat()
    return str(cell) if isinstance(cell, timedelta) else cell


def _cells(table: Any, n_before: int) -> Iterator[list[Any]]:  # noqa: ANN401 -- no types
    """Yield the cells of each row in a batch."""
    names = table.schema.names
    columns = [column.to_pylist() for column in table.columns]
    for number, cells in enumerate(zip(*columns, strict=True), n_before + 1):
        yield [
            cell if cell is None or isinstance(cell, str) else _plain(cell, name, number)
            for name, cell in zip(names, cells, strict=True)
        ]


def _plain(cell: object, name: str, number: int) -> object:
    """Convert a cell to a text, a number, or a list or dict of texts and numbers."""
    if cell is None or isinstance(cell, str | int):
        return cell
    if isinstance(cell, float) and math.isfinite(cell):
        return cell
    if isinstance(cell, date | time):  # a datetime is a date, too
        return cell.isoformat()
    if isinstance(cell, list):
        return [_plain(part, name, number) for part in cell]
    if isinstance(cell, dict):
        return {key: _plain(part, name, number) for key, part in cell.items()}
    kind = "an infinite or undefined number" if isinstance(cell, float) else type(cell).__name__
    problem = f"{name[:80]!r} contains {kind}. Use text, numbers or lists of them."
    raise Refused(f"row {number}", problem)


READERS = {"parquet": _parquet, "arrow": _arrow}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
