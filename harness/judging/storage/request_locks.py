"""Request locks: one byte of a lock file for every request that is under way.

Several runs may share a cache. The process that holds the lock on a request's byte may send that
request; the others wait and then find the reply in the cache. The system releases a process's locks
when it ends, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DIGITS = 15  # of a request's hash: 60 bits, the offset of its byte; the files stay empty
N_FILES = 16  # the system walks past all our other locks on a file to set one
POLL_S = 0.05
HELD_ELSEWHERE = frozenset({errno.EACCES, errno.EAGAIN})


class FileLocks:
    """Byte-range locks of this process on the files of one folder.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.

    Attributes
    ----------
    supported : bool
        False where the file system has no locks: then every claim succeeds.

    Raises
    ------
    OSError
        If the files cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._descriptors: list[int] = []
        self._offsets: set[int] = set()
        self.supported = True
        try:
            for i in range(N_FILES):
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
                self._descriptors.append(os.open(folder / f"{i:x}", flags, 0o644))
        except OSError:
            self.close()
            raise

    def claim(self, name: str) -> bool:
        """Lock a hash; False if anybody holds it, this process included."""
        offset = int(name[:DIGITS], 16)
        if offset in self._offsets:
            return False
        try:
            fcntl.lockf(self._descriptor(offset), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except OSError as error:
            if error.errno in HELD_ELSEWHERE:
                return False
            self.supported = False
        self._offsets.add(offset)
        return True

    def release(self, name: str) -> None:
        """Unlock a hash, if this process holds it."""
        offset = int(name[:DIGITS], 16)
        if offset in self._offsets:
            self._offsets.discard(offset)
            if self.supported:
                fcntl.lockf(self._descriptor(offset), fcntl.LOCK_UN, 1, offset)

    def wait_for(self, name: str) -> None:
        """Wait until nobody holds a hash, then lock it."""
        while not self.claim(name):
            time.sleep(POLL_S)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold the lock on a hash within a context."""
        self.wait_for(name)
        try:
            yield
        finally:
            self.release(name)

    def close(self) -> None:
        """Release all locks."""
        while self._descriptors:
            os.close(self._descriptors.pop())
        self._offsets.clear()

    def _descriptor(self, offset: int) -> int:
        return self._descriptors[offset % N_FILES]

    def __repr__(self) -> str:
        return f"FileLocks({len(self._offsets)} held)"
