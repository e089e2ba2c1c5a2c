"""Who may ask what: one byte of a file, locked, for every request that is under way.

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

DIGITS = 15  # of a request's hash: 60 bits, the place of its byte; the file itself stays empty
LOOK_AGAIN_S = 0.05  # for a lease that is waited for
TAKEN = frozenset({errno.EACCES, errno.EAGAIN})


class Leases:
    """The leases of this process on one file.

    Attributes
    ----------
    working : bool
        False where the file system knows no locks: then every lease is granted.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._mine: set[int] = set()
        self.working = True

    def take(self, request: str) -> bool:
        """Take the lease on a request's hash; False if anybody has it, this process included."""
        place = int(request[:DIGITS], 16)
        if place in self._mine:
            return False
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
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
                fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Give all leases back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._mine.clear()

    def __repr__(self) -> str:
        return f"Leases({len(self._mine)} held)"
