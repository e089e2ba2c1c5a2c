"""Request locks: one byte of a lock file for every request that is under way.

Several runs may share a cache. The process that holds the lock on a request's byte may send that
request; the others wait and then find the reply in the cache. The system releases a process's locks
when it ends, however it ends; a process that is stopped (Ctrl-Z) keeps them.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from contextlib import contextmanager, suppress
from errno import EACCES, EAGAIN
from fcntl import F_GETLK, F_WRLCK, LOCK_EX, LOCK_NB, LOCK_UN, fcntl, lockf
from typing import TYPE_CHECKING

from harness.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

DIGITS = 15  # of a request's hash: 60 bits, the offset of its byte; the files stay empty
N_FILES = 16  # the system walks past our other locks on a file to set one: with 1,200, 12 us
POLL_S = 0.05
NOTICE_AFTER_S = 5.0  # of waiting for a lock
IS_MACOS = sys.platform == "darwin"
FLOCK = "qqihh" if IS_MACOS else "hhqqi"  # type, whence, start, length, process; on macOS type last


class FileLocks:
    """Byte-range locks of this process on files of one folder; OSError if they cannot be opened.

    Where the file system has no locks, every claim succeeds. ``on_wait`` receives the process that
    holds a lock, once, when that has been waited for.
    """

    def __init__(self, folder: Path, on_wait: Callable[[int], None] = lambda _: None) -> None:
        folder.mkdir(exist_ok=True)
        files = [folder / f"{i:x}" for i in range(N_FILES)]
        self._descriptors = [open_regular(file, os.O_RDWR | os.O_CREAT) for file in files]
        self._on_wait = on_wait
        self._reported: set[int] = set()
        self._offsets: dict[str, int] = {}  # of the hashes that are locked

    def claim(self, name: str) -> bool:
        """Lock a hash; False if anybody holds it, this process included."""
        if name in self._offsets:
            return False
        offset = int(name[:DIGITS], 16)
        try:
            lockf(self._descriptors[offset % N_FILES], LOCK_EX | LOCK_NB, 1, offset)
        except OSError as error:
            if error.errno in {EACCES, EAGAIN}:
                return False
        self._offsets[name] = offset
        return True

    def claim_many(self, names: Sequence[str]) -> set[str]:
        """Lock some hashes; return those that nobody else holds."""
        return {name for name in names if self.claim(name)}

    def release(self, name: str) -> None:
        """Unlock a hash, if this process holds it."""
        offset = self._offsets.pop(name, None)
        if offset is not None:
            with suppress(OSError):
                lockf(self._descriptors[offset % N_FILES], LOCK_UN, 1, offset)

    def wait_for(self, name: str) -> None:
        """Wait until nobody holds a hash, then lock it."""
        notice_s = time.monotonic() + NOTICE_AFTER_S
        while not self.claim(name):
            if time.monotonic() > notice_s:
                self.report_holder(name)
            time.sleep(POLL_S)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold a hash, after waiting for it."""
        self.wait_for(name)
        try:
            yield
        finally:
            self.release(name)

    def report_holder(self, name: str) -> None:
        """Report the process that holds a hash, unless it is this one or was reported before."""
        offset = int(name[:DIGITS], 16)
        kind, place = (F_WRLCK, os.SEEK_SET), (offset, 1, 0)
        lock = struct.pack(FLOCK, *(place + kind if IS_MACOS else kind + place))
        with suppress(OSError):
            lock = fcntl(self._descriptors[offset % N_FILES], F_GETLK, lock)
        process = struct.unpack(FLOCK, lock)[2 if IS_MACOS else 4]  # 0 where nobody else holds it
        if process > 0 and process not in self._reported:
            self._reported.add(process)
            self._on_wait(process)

    def close(self) -> None:
        """Release all locks."""
        while self._descriptors:
            os.close(self._descriptors.pop())
        self._offsets.clear()
