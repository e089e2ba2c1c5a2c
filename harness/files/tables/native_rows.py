"""Reading parquet, arrow and xlsx files in a separate process, because the readers can crash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from harness.files.tables import native_readers
from harness.files.tables.checks import (
    PlaceError,
    Row,
    check_columns,
    check_lengths,
    too_many_rows,
)
from harness.files.tables.native_readers import CPU_S, MEMORY_BYTES
from harness.files.tables.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator

    from harness.files.tables.checks import Limits

NativeKind = Literal["parquet", "arrow", "xlsx"]
NO_COLUMNS: list[Any] = [0]  # an empty arrow file
READERS = Path(native_readers.__file__)


def native_rows(
    kind: Literal["parquet", "arrow"], path: Path, required: Collection[str], limits: Limits
) -> Iterator[tuple[int, Row]]:
    """Yield each row's number and its values by column."""
    with closing(native_lines(kind, path, limits)) as lines:
        n_rows, *names = next(lines, NO_COLUMNS)
        check_columns(names, required, limits, "columns")
        if n_rows > limits.n_rows:
            too_many_rows(limits)
        for number, cells in enumerate(lines, 1):
            row = dict(zip(names, cells, strict=True))
            check_lengths(row, limits, f"row {number}")
            yield number, row


def native_lines(
    kind: NativeKind, path: Path, limits: Limits, sheet: str = ""
) -> Generator[list[Any]]:
    """Yield the lines that a process running ``native_readers.py`` writes about a file.

    The process gets the open file without its name, and an environment without keys.

    Raises
    ------
    PlaceError
        If the process rejects the file, crashes, or writes more than ``limits.n_bytes``.
    """
    n_bytes = 0
    with path.open("rb") as file, _process(kind, file, limits, sheet) as process:
        try:
            for number, line in enumerate(process.stdout or ()):
                n_bytes += len(line)
                if n_bytes > limits.n_bytes:
                    problem = f"unpacks to more than {limits.n_bytes} bytes"
                    raise PlaceError(f"{problem}. Split the file.")
                yield _cells(line, f"row {number}" if number else "columns")
            _check_ended(kind, process.wait())
        finally:
            process.kill()


def _process(
    kind: NativeKind, file: IO[bytes], limits: Limits, sheet: str
) -> subprocess.Popen[bytes]:
    folders = os.pathsep.join(map(os.path.abspath, sys.path))
    return subprocess.Popen(  # noqa: S603 -- a file of this package
        [sys.executable, "-PS", str(READERS), kind, str(limits.unpacked_bytes), sheet],
        env={"PYTHONPATH": folders, "ARROW_DEFAULT_MEMORY_POOL": "system"},
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _cells(line: bytes, where: str) -> list[Any]:
    try:
        content = parse_json(line.decode())
    except ValueError as error:
        raise PlaceError(f"{error}. Write the file again.", where) from None
    if isinstance(content, dict):
        raise PlaceError(content["problem"], content["where"])
    return list(content)


def _check_ended(kind: NativeKind, code: int) -> None:
    """Reject a file that the process did not read completely."""
    if code:
        cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        problem = f"it is damaged, or takes more than {MEMORY_BYTES >> 20} MiB or {CPU_S} s"
        raise PlaceError(f"crashes the {kind} reader ({cause}): {problem}. Write the file again.")
