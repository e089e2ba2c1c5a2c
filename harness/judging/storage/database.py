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
from typing import TYPE_CHECKING, TypeVar

import msgspec

from harness.judging.cache_folder import is_locked, read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from harness.judging.storage.request_locks import Leases

T = TypeVar("T")

CHECKPOINT_PAGES = 8000  # a page that many replies fall on is brought home once for all of them
PAGES_KIB = 8000  # of the database in memory: look-ups jump about in its index
LOCKED_AFTER_S = 10.0  # how long another program may keep the cache to itself
DATABASE, COPY = "cache.db", "cache.part"
BESIDE = ("cache.db-journal", "cache.db-shm", "cache.db-wal")  # SQLite's, of the database in place
PLACE = hashlib.sha256(DATABASE.encode()).hexdigest()  # the lease on opening and replacing it
TABLE = "CREATE TABLE replies (request TEXT PRIMARY KEY NOT NULL, reply BLOB NOT NULL)"
EARLIER = "(SELECT key AS request, value AS reply FROM Cache WHERE raw = 1 AND mode = 1)"
BRING_OVER = f"INSERT OR IGNORE INTO replies SELECT request, reply FROM {EARLIER}"  # noqa: S608 -- no input
FIND = (
    "SELECT request, reply FROM json_each(?) JOIN replies ON request = value "
    "WHERE typeof(reply) = 'blob'"
)
KEEP = (
    "INSERT INTO replies VALUES (?, ?) ON CONFLICT (request) DO UPDATE SET reply = excluded.reply"
)


class Database:
    """Replies as bytes, under the hashes of their requests, in a table that lasts.

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
    sqlite3.Error, OSError
        Here and below: if it cannot be used and another file would not help.
    """

    def __init__(self, folder: Path, leases: Leases, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._path = folder / DATABASE
        self._copy = folder / COPY
        self._leases = leases
        self._say = say
        self._ours: tuple[int, int] | None = None
        self._version: int | None = None
        self._open()

    def find(self, requests: Sequence[str]) -> list[tuple[str, bytes]]:
        """Return those of some requests that have a reply, and the replies."""
        wanted = msgspec.json.encode(requests).decode()
        return self._lasting(lambda: self._connection.execute(FIND, (wanted,)).fetchall())

    def keep(self, rows: Sequence[tuple[str, bytes]]) -> None:
        """Write requests and their replies in one transaction."""

        def act() -> None:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.executemany(KEEP, rows)

        self._lasting(act)
        while self._replaced():  # in the meantime: the rows are in the file that was moved aside
            self._lasting(act)

    def changed(self) -> bool:
        """Whether others may have written since this was last asked."""
        [version] = self._lasting(
            lambda: self._connection.execute("PRAGMA data_version").fetchone()
        )
        seen, self._version = self._version, version
        return bool(version != seen)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._ours = self._version = None

    def __len__(self) -> int:
        [[n_replies]] = self._connection.execute("SELECT count(*) FROM replies")
        return int(n_replies)

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
            except sqlite3.DatabaseError as error:
                self._put_aside(error)
                self._connect()

    def _connect(self) -> None:
        if self._path.exists():
            self._copy.unlink(missing_ok=True)  # whoever was making it was killed
        elif self._copy.exists():
            self._put_copy_in_place()  # as whoever made it was killed
        self._connection = sqlite3.connect(self._path, timeout=LOCKED_AFTER_S, isolation_level=None)
        try:
            source_of_replies(self._connection)  # another program's is left as it is
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            self._connection.execute(f"PRAGMA cache_size = -{PAGES_KIB}")
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._make_table()
        except BaseException:
            self._connection.close()
            raise
        self._ours = _identity(self._path)

    def _make_table(self) -> None:
        """Make the table of a new database, and bring over what an earlier version has kept."""
        source = source_of_replies(self._connection)
        if source != "replies":
            self._connection.execute(TABLE)
        if source == EARLIER:
            self._connection.execute(BRING_OVER)
            self._connection.execute("DROP TABLE Cache")
            self._connection.execute("DROP TABLE IF EXISTS Settings")

    def _put_aside(self, error: sqlite3.DatabaseError) -> None:
        """Move a damaged or locked database out of the way.

        Raises
        ------
        sqlite3.DatabaseError
            ``error`` itself, if it is another trouble, or the database may be another program's, or
            cannot be moved.
        """
        used = (self._folder / "logs").is_dir()  # by runs; other programs' have no such notes
        try:
            if type(error) is sqlite3.DatabaseError:  # what comes of it has other causes
                aside = self._move_aside("damaged")
                self._say(f"The cache was damaged and is now {aside}; replies will be asked anew.")
            elif is_locked(error) and used:
                self._take_over()
            else:
                raise error
        except OSError:
            raise error from None

    def _take_over(self) -> None:
        """Put a copy in the place of a database that another program keeps locked.

        A lock on writing leaves it readable; if others have written meanwhile, it is not locked.
        """
        self._copy.unlink(missing_ok=True)
        try:
            n_replies = _copy(self._path, self._copy)
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
        if self._copy.exists():
            self._put_copy_in_place()
        self._say(
            f"Another program kept the cache locked for {LOCKED_AFTER_S:g} s; it is now {aside}; "
            f"{told}"
        )

    def _put_copy_in_place(self) -> None:
        for name in BESIDE:  # what was written beside another database is none of the copy's
            (self._folder / name).unlink(missing_ok=True)
        self._copy.replace(self._path)

    def _move_aside(self, why: str) -> Path:
        """Move the database's files, not what runs share: their leases and notes."""
        aside = self._folder.with_name(f"{self._folder.name}.{why}-{time.time_ns()}")
        aside.mkdir()
        for name in (DATABASE, *BESIDE):
            with suppress(FileNotFoundError):
                (self._folder / name).rename(aside / name)
        return aside


def source_of_replies(connection: sqlite3.Connection) -> str:
    """Tell where a database has its replies, in SQL; nowhere if it has no tables yet.

    Raises
    ------
    sqlite3.OperationalError
        If it is another program's.
    """
    tables = {name for [name] in connection.execute("SELECT name FROM sqlite_master")}
    if "replies" in tables:
        return "replies"
    if not tables:
        return ""
    connection.execute(f"SELECT 1 FROM {EARLIER} LIMIT 1")  # noqa: S608 -- no input
    return EARLIER


def count_replies(connection: sqlite3.Connection) -> tuple[int, int]:
    """Count the rows that are replies, and those that are something else.

    Raises
    ------
    sqlite3.OperationalError
        If there are none, or they are another program's.
    """
    source = source_of_replies(connection)
    if not source:
        return 0, 0
    query = f"SELECT count(*), sum(substr(reply, 1, 1) != x'7b') FROM {source}"  # noqa: S608
    [[n_rows, n_foreign]] = connection.execute(query)
    return n_rows - (n_foreign or 0), n_foreign or 0


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
            n_replies, _ = count_replies(database)
            [after] = database.execute("PRAGMA data_version").fetchone()
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    if after != before:
        target.unlink()
        return None
    return n_replies
