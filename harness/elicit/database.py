"""The file under the cache: opened, kept in use, and replaced when it is of no use.

A database that is damaged, or that another program keeps locked, is moved aside and another takes
its place. Runs that have it open notice at their next look, and go on in the new one.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from harness.elicit.folders import is_locked, read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from harness.elicit.leases import Leases

T = TypeVar("T")

RAW = 1  # diskcache's mode for a value that stands in the row itself
CHECKPOINT_PAGES = 8000  # a page that many replies fall on is brought home once for all of them
LOCKED_AFTER_S = 10.0  # how long another program may keep the cache to itself
PLACE = hashlib.sha256(b"cache.db").hexdigest()  # the lease on opening and replacing the database
FILES = ("cache.db-journal", "cache.db-shm", "cache.db-wal", "cache.db")
DAMAGE = (sqlite3.DatabaseError, TypeError)  # these alone; what diskcache finds can be odd
COUNT = "SELECT count(*) FROM Cache WHERE raw = 1 AND mode = 1"


class Database:
    """A table of keys and bytes that lasts.

    diskcache makes and opens the file; many rows at once are read and written with one statement
    over a second connection.

    Parameters
    ----------
    folder : Path
        Where the file is.
    leases : Leases
        Of all processes that use it.
    say : callable
        Is told, in one line, what was moved where.

    Raises
    ------
    sqlite3.Error
        Here and below: if it cannot be used and another file would not help.
    """

    def __init__(self, folder: Path, leases: Leases, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._path = folder / "cache.db"
        self._leases = leases
        self._say = say
        self._ours: tuple[int, int] | None = None
        self._open()

    def read(self, query: str, values: Sequence[str]) -> list[Any]:
        """Return all rows that a query finds."""
        return self._lasting(lambda: self._connection.execute(query, values).fetchall())

    def write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Execute a statement for many rows in one transaction."""

        def act() -> None:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(statement, rows)

        self._lasting(act)
        while self._replaced():  # in the meantime: the rows are in the file that was moved aside
            self._lasting(act)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._cache.close()
        self._ours = None

    def __len__(self) -> int:
        return len(self._cache)

    def _lasting(self, act: Callable[[], T]) -> T:
        """Do something with the file that is in place; if it is of no use, with another."""
        while True:
            if self._replaced():
                self.close()
                self._open()
            try:
                return act()
            except sqlite3.DatabaseError as error:
                self._replace(error)

    def _replaced(self) -> bool:
        """Whether another run has put another database in the place of ours."""
        there = _identity(self._path)
        if there is None:  # it is about to, or somebody has removed the cache
            with self._alone():
                there = _identity(self._path)
        return there not in {None, self._ours}

    def _replace(self, error: sqlite3.DatabaseError) -> None:
        """Go on with another database, unless another run has done so just now."""
        with self._alone():
            if _identity(self._path) == self._ours:
                self._put_aside(error)
            self.close()
        self._open()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from opening and from replacing the database."""
        self._leases.await_turn(PLACE)
        try:
            yield
        finally:
            self._leases.give_back(PLACE)

    def _open(self) -> None:
        """Open the file, or another in its place."""
        with self._alone():
            try:
                self._connect()
            except DAMAGE as error:
                self._put_aside(error)
                self._connect()

    def _connect(self) -> None:
        from diskcache import Cache  # noqa: PLC0415 -- costs 30 ms that only runs need

        self._connection = sqlite3.connect(self._path, timeout=LOCKED_AFTER_S, isolation_level=None)
        try:
            self._connection.execute("BEGIN IMMEDIATE")  # diskcache would wait a minute for a lock
            self._connection.execute("ROLLBACK")
            self._cache: Any = Cache(
                str(self._folder),
                disk=_bytes_disk(),
                eviction_policy="none",
                cull_limit=0,
                statistics=0,
                timeout=LOCKED_AFTER_S,
            )
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        except BaseException:
            self._connection.close()
            raise
        self._ours = _identity(self._path)

    def _put_aside(self, error: Exception) -> None:
        """Move a damaged or locked database out of the way.

        Raises
        ------
        Exception
            ``error`` itself, if it is another trouble, or the database may be another program's, or
            cannot be moved.
        """
        locked = isinstance(error, sqlite3.Error) and is_locked(error)
        used = (self._folder / "logs").is_dir()  # by runs; other programs' have no such notes
        try:
            if type(error) in DAMAGE:
                aside = self._move_aside("damaged")
                self._say(f"The cache was damaged and is now {aside}; replies will be asked anew.")
            elif locked and used:
                self._take_over()
            else:
                raise error
        except OSError:
            raise error from None

    def _take_over(self) -> None:
        """Put a copy in the place of a database that another program keeps locked.

        A lock on writing leaves it readable; if others have written meanwhile, it is not locked.
        """
        copy = self._path.with_suffix(".part")
        copy.unlink(missing_ok=True)
        try:
            n_replies = _copy(self._path, copy)
            if n_replies is None:
                return
            told = f"its {n_replies} replies were taken over."
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
            told = (
                "none of its replies can be read, so they will be asked anew, unless the lock is "
                f"released and its files are moved back to {self._folder} first."
            )
        aside = self._move_aside("locked")
        with suppress(FileNotFoundError):
            copy.replace(self._path)
        self._say(
            f"Another program kept the cache locked for {LOCKED_AFTER_S:g} s; it is now {aside}; "
            f"{told}"
        )

    def _move_aside(self, why: str) -> Path:
        """Move the database's files, not what runs share: their leases and notes."""
        aside = self._folder.with_name(f"{self._folder.name}.{why}-{time.time_ns()}")
        aside.mkdir()
        for name in FILES:
            with suppress(FileNotFoundError):
                (self._folder / name).rename(aside / name)
        return aside


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell which file is at a path; None if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- at every look, and half as fast through Path
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _copy(source: Path, target: Path) -> int | None:
    """Copy a database by reading it alone.

    Returns
    -------
    n_replies : int or None
        How many replies the copy holds; None if there is none, as others wrote meanwhile.

    Raises
    ------
    sqlite3.OperationalError
        If it cannot be read, or the copy not be written.
    """
    try:
        with closing(read_only(source, LOCKED_AFTER_S)) as database:
            [before] = database.execute("PRAGMA data_version").fetchone()
            database.execute("VACUUM INTO ?", (str(target),))
            [n_replies] = database.execute(COUNT).fetchone()
            [after] = database.execute("PRAGMA data_version").fetchone()
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    if after != before:
        target.unlink()
        return None
    return int(n_replies)


def _bytes_disk() -> type:
    """Make the Disk that stores and reads bytes in the row, whatever the row says of itself."""
    from diskcache import Disk  # noqa: PLC0415 -- see Database

    class BytesDisk(Disk):  # type: ignore[misc]  # diskcache has no types
        """Keys are text, values are bytes; whatever else a row holds reads as nothing."""

        def put(self, key: object) -> tuple[str, bool]:
            if not isinstance(key, str):
                raise TypeError("a cache key is text")
            return key, True

        def get(self, key: object, raw: object) -> object:
            return key if raw and isinstance(key, str) else None

        def store(
            self, value: object, read: object, key: object = None
        ) -> tuple[int, int, None, memoryview]:
            del read, key
            if not isinstance(value, bytes):
                raise TypeError("a cache value is bytes")
            return 0, RAW, None, sqlite3.Binary(value)

        def fetch(self, mode: int, filename: object, value: object, read: object) -> bytes | None:
            del filename, read
            return value if mode == RAW and isinstance(value, bytes) else None

    return BytesDisk
