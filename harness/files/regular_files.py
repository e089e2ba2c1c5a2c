"""Reading and writing regular files in untrusted folders, without following links."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from errno import EFBIG, EINVAL, EISDIR, ELOOP, EMFILE, ENFILE, ENXIO
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from pathlib import Path
    from typing import BinaryIO

    from harness.errors import HarnessError

SAFE_FLAGS = sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)
MAX_FILE_BYTES = 256 << 20  # largest file that is loaded into memory
MAX_LINE_BYTES = 64 << 20  # longest line of a log, which has at most two replies
MAX_ENTRIES = 10_000  # largest number of entries in a folder and its subfolders
NO_DESCRIPTORS = frozenset({EMFILE, ENFILE})  # too many files are open
NOT_REGULAR = "it is not a regular file"


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o644) -> int:
    """Open a regular file and return its descriptor. Reject links, FIFOs and devices.

    A new file gets the permissions ``mode``, without those that the umask masks.

    Raises
    ------
    OSError
        If the path isn't a regular file or can't be opened.
    """
    try:
        descriptor = os.open(path, flags | SAFE_FLAGS, mode)
    except OSError as error:
        if error.errno in {ELOOP, ENXIO, EISDIR}:  # a link, a FIFO, a folder
            raise OSError(EINVAL, NOT_REGULAR, str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(EINVAL, NOT_REGULAR, str(path))
    return descriptor


def reader(path: Path) -> BufferedReader:
    """Open a regular file for reading bytes. `open_regular` lists the errors."""
    return os.fdopen(open_regular(path), "rb")


class TooLarge(OSError):  # noqa: N818 -- a state of the file, not a mistake
    """Error for a file that is too large to load into memory."""


def read_file(path: Path, max_bytes: int = MAX_FILE_BYTES, *, follow_links: bool = False) -> bytes:
    """Read a whole regular file. See `open_regular`.

    Follow links only for a file that the user names, never in an untrusted folder.

    Raises
    ------
    TooLarge
        If the file has more than ``max_bytes`` bytes.
    OSError
        As for `open_regular`.
    """
    with path.open("rb") if follow_links else reader(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise TooLarge(EFBIG, f"it is larger than {max_bytes} bytes", str(path))
    return content


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of an open log.

    Raises
    ------
    OSError
        If a line is too long for memory.
    """
    for number in count(1):
        line = file.readline(MAX_LINE_BYTES + 1)
        if len(line) > MAX_LINE_BYTES:
            raise OSError(EFBIG, f"line {number} is longer than {MAX_LINE_BYTES} bytes")
        if not line:
            return
        yield line


def append_text(path: Path, text: str) -> None:
    """Append to a regular file. The file is created if needed. See `open_regular`."""
    descriptor = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with os.fdopen(descriptor, "ab") as file:
        file.write(text.encode())


def write_file(path: Path, data: bytes, *, durable: bool = False, mode: int = 0o666) -> Path:
    """Write a file atomically: write a new file with a random name, then rename it.

    If the process is killed before the renaming, ``.RANDOM.part`` remains in the folder and is
    ignored.

    Parameters
    ----------
    path : Path
        Path of a new file, or of a regular file to replace.
    data : bytes
        Content of the file.
    durable : bool
        Whether the file survives a power failure once this returns.
    mode : int
        Permissions of the file, reduced by the umask.

    Raises
    ------
    OSError
        If the path is something else, or can't be written.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise OSError(
            EINVAL, "something that isn't a regular file already has this name", str(path)
        )
    part = path.with_name(f".{os.urandom(8).hex()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE_FLAGS, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(descriptor)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)
    return path


@contextmanager
def writing_to(path: Path, error: type[HarnessError]) -> Iterator[None]:
    """Convert an `OSError` from writing to ``error``, whose message names the path."""
    try:
        yield
    except OSError as fault:
        raise error(f"{path}: cannot be written ({fault.strerror}).") from None


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that new files in it survive a power failure.

    This does nothing on Windows, which cannot flush folders.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unsafe_entry(folder: Path) -> str:
    """Return why an entry, or the number of entries, makes a folder unsafe to use, or "".

    Raises
    ------
    OSError
        If the folder cannot be listed.
    """
    for n_entries, entry in enumerate(_entries(folder)):
        if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
            kind = "a link" if entry.is_symlink() else "neither a file nor a folder"
            return f"{os.path.relpath(entry.path, folder)} is {kind}"
        if n_entries >= MAX_ENTRIES:
            return f"it contains more than {MAX_ENTRIES} files"
    return ""


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    pending: list[Path | str] = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
