"""Who may ask what: one byte of some file, locked, for every request that is under way.

Several runs may share a cache. Whoever holds the lock on a request's byte may send that request;
the others wait and then find the reply in the cache. The system gives the locks of a process back
when it ends, however it ends, so that no lease outlives its holder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DIGITS = 15  # of a request's hash: 60 bits, the place of its byte; the files themselves stay empty
N_FILES = 16  # for every lock the system walks past all others that we have on the same file
LOOK_AGAIN_S = 0.05  # for a lease that is waited for
TAKEN = frozenset({errno.EACCES, errno.EAGAIN})


class Leases:
    """The leases of this process, on the files of one folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.

    Attributes
    ----------
    working : bool
        False where the file system knows no locks: then every lease is granted.

    Raises
    ------
    OSError
        If the files cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._fds: list[int] = []
        self._mine: set[int] = set()
        self.working = True
        try:
            for i in range(N_FILES):
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                self._fds.append(os.open(folder / f"{i:x}", flags, 0o644))
        except OSError:
            self.close()
            raise

    def take(self, request: str) -> bool:
        """Take the lease on a request's hash; False if anybody has it, this process included."""
        place = int(request[:DIGITS], 16)
        if place in self._mine:
            return False
        try:
            fcntl.lockf(self._fd(place), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            if error.errno in TAKEN:
                return False
            self.working = False
        self._mine.add(place)
        return True

    def await_turn(self, name: str) -> None:
        """Wait until nobody has a lease, then take it."""
        while not self.take(name):
            time.sleep(LOOK_AGAIN_S)

    def give_back(self, request: str) -> None:
        """Give the lease on a request's hash back, if it is ours."""
        place = int(request[:DIGITS], 16)
        if place in self._mine:
            self._mine.discard(place)
            if self.working:
                fcntl.lockf(self._fd(place), fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Give all leases back."""
        while self._fds:
            os.close(self._fds.pop())
        self._mine.clear()

    def _fd(self, place: int) -> int:
        return self._fds[place % N_FILES]

    def __repr__(self) -> str:
        return f"Leases({len(self._mine)} held)"
