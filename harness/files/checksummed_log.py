"""Append-only log of lines with checksums, for one writer. An incomplete last line is cut off.

A line is a JSON object in ASCII without spaces, with its CRC-32 last. Lines are never changed. A
checksum that doesn't match means that the line was damaged, and readers set such lines aside.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from contextlib import suppress
from errno import EAGAIN
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING

import msgspec

from harness.errors import RunError
from harness.files.regular_files import bounded_lines, open_regular, reader, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Self

    from harness.errors import HarnessError

CRC = b',"crc":"%08x"}'  # the end of a line
CRC_PLACE = CRC.index(b"%")
CRC_BYTES = len(CRC % 0)
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_ENCODER = msgspec.json.Encoder()


class DamagedLine(ValueError):  # noqa: N818 -- a state of the file
    """Error for a line that is incomplete or has a wrong checksum.

    The message never quotes the line.
    """


def encode(record: msgspec.Struct) -> bytes:
    """Encode a record as a line with a checksum."""
    try:
        body = _ENCODER.encode(record)
    except UnicodeEncodeError:  # half of a surrogate pair
        body = json.dumps(_finite(msgspec.to_builtins(record)), separators=(",", ":")).encode()
    if not body.isascii():
        body = NOT_ASCII.sub(_escaped, body.decode()).encode()
    return with_checksum(body)


def _escaped(text: re.Match[str]) -> str:
    """Return the matched characters as JSON escapes."""
    return encode_basestring_ascii(text[0])[1:-1]


def _finite(value: object) -> object:
    """Replace numbers that JSON doesn't support, such as minus infinity, with null."""
    return json.loads(json.dumps(value), parse_constant=lambda _: None)


def with_checksum(body: bytes) -> bytes:
    """Convert a JSON object to a line, with its CRC-32 as the last member."""
    return body[:-1] + CRC % zlib.crc32(body) + b"\n"


def without_checksum(line: bytes) -> bytes:
    """Check a line from `with_checksum`, and return its JSON object without the checksum.

    Raises
    ------
    DamagedLine
        If the line is damaged.
    """
    line = line.removesuffix(b"\n")
    body, checksum = line[:-CRC_BYTES] + b"}", line[-CRC_BYTES:]
    if checksum == CRC % zlib.crc32(body):
        return body
    if checksum.startswith(CRC[:CRC_PLACE]) and checksum.endswith(b'"}'):
        raise DamagedLine("the checksum doesn't match, so the line was changed or damaged")
    raise DamagedLine("the line doesn't end with a checksum, so it is incomplete or not from a log")


class ChecksummedLog:
    """An open log, which is locked until it is closed. Opening it cuts off an incomplete last line.

    Parameters
    ----------
    path : Path
        Path of the log, which is created if it doesn't exist.
    header : bytes
        First line of a new file.
    mode : int
        Permissions of a new file, reduced by the umask.
    durable : bool
        Whether written lines survive a power failure.

    Attributes
    ----------
    size : int
        Size in bytes.

    Raises
    ------
    BlockingIOError
        If another process has the file open.
    OSError
        If it cannot be opened, read or written.
    """

    def __init__(
        self, path: Path, *, header: bytes = b"", mode: int = 0o644, durable: bool = False
    ) -> None:
        self.path = path
        self._durable = durable
        self._descriptor = open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode)
        try:
            self._lock()
            self.size = self._cut_torn_line()
            if header and self.size == 0:
                self.write(header)
        except BaseException:
            self.close()
            raise

    def append(self, records: Iterable[msgspec.Struct]) -> None:
        """Write records in one system call. They survive a power failure once this returns.

        Raises
        ------
        HarnessError
            If the records can't be written (see `unwritable`). Earlier lines are kept.
        """
        try:
            self.write(b"".join(map(encode, records)))
        except OSError as error:
            raise self.unwritable(error) from None

    def unwritable(self, error: OSError) -> HarnessError:
        """Return the error to show the user if records can't be written."""
        return RunError(f"{self.path}: cannot be written ({error.strerror}).")

    def write(self, lines: bytes) -> None:
        """Append whole lines. They survive a power failure once this returns.

        Raises
        ------
        OSError
            If not all lines could be written. Earlier lines and complete lines are kept.
        """
        written = 0
        try:
            while written < len(lines):
                written += os.write(self._descriptor, lines[written:])
            if self._durable:
                os.fsync(self._descriptor)
        except OSError:
            self.size += lines.rfind(b"\n", 0, written) + 1
            with suppress(OSError):  # else the torn line is cut off when the log is opened again
                os.ftruncate(self._descriptor, self.size)
            raise
        if self._durable and self.size == 0:
            sync_folder(self.path.parent)
        self.size += written

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {self.size} bytes)"

    def _lock(self) -> None:
        import fcntl  # noqa: PLC0415 -- Windows lacks it, and reading needs none

        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BlockingIOError(EAGAIN, "another process has the file open") from None

    def _cut_torn_line(self) -> int:
        """Cut off an incomplete last line, and return the size of the file."""
        with reader(self.path) as file:
            n_whole = sum(len(line) for line in bounded_lines(file) if line.endswith(b"\n"))
        if n_whole != os.fstat(self._descriptor).st_size:
            os.ftruncate(self._descriptor, n_whole)
        return n_whole
