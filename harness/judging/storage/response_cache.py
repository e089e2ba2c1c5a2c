"""Response cache: the replies that were paid for, on disk, in a `diskcache.Cache` of JSON bytes.

The cache is a convenience, not the record: what was received stands in ``verdicts.jsonl``, from
which the cache is filled in batches and can be rebuilt. All samples of one request lie under one
key, as a JSON array of replies; each reply counts under the hash of its own request alone.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from errno import EINVAL
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import diskcache
import msgspec
from diskcache.core import DBNAME, MODE_RAW

from harness.errors import RunError
from harness.judging.parsing.verdict import Reply
from harness.judging.storage.batch_ledger import OutstandingBatches
from harness.judging.storage.request_locks import FileLocks
from harness.judging.storage.run_notes import RunNotes, note_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")

BUSY_TIMEOUT_S = 10.0  # for a write of another process to end
OPENING = "f" * 64  # stands for a request: held while the database is opened or replaced
DATABASE_FILES = (DBNAME, f"{DBNAME}-journal", f"{DBNAME}-shm", f"{DBNAME}-wal")
SETTINGS = {
    "eviction_policy": "none",  # a paid reply is never dropped
    "cull_limit": 0,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 512,  # pages; with more, memory grows with the cache, as with a map
    "sqlite_mmap_size": 0,
    "sqlite_wal_autocheckpoint": 8000,  # pages, so that one that many replies share is written once
}
SCHEMA = {"Cache": "table", "Settings": "table", "Cache_key_raw": "index"}  # of every diskcache
FIND = (
    "SELECT Cache.key, mode, filename, Cache.value FROM json_each(?) AS wanted "
    "JOIN Cache ON Cache.key = wanted.value AND raw = 1"
)
STORE = (
    "INSERT INTO Cache (key, raw, store_time, access_time, size, mode, filename, value) "
    "VALUES (?, 1, ?, ?, ?, ?, ?, ?) ON CONFLICT (key, raw) DO UPDATE SET "
    "store_time = excluded.store_time, size = excluded.size, mode = excluded.mode, "
    "filename = excluded.filename, value = excluded.value"
)
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(list[Reply]).decode


ADVICE = "choose another with --cache DIR, or use --no-cache"
WHEN_DAMAGED = (
    "the next run moves it aside and starts a new one; replies of finished runs are in their run "
    "folders"
)


class CacheUnwritable(RunError):  # noqa: N818 -- a state of the disk, not a mistake
    """Replies could not be stored now; they stand in the verdict log."""


class CacheUnusable(RunError):  # noqa: N818
    """A cache cannot be opened or read: ``problem`` says why, ``advice`` what to do about it."""

    def __init__(self, folder: Path, error: sqlite3.Error | OSError) -> None:
        problem = str(error.strerror if isinstance(error, OSError) else error)  # without its path
        self.problem = f"damaged ({problem})" if _is_damage(error) else problem
        self.advice = WHEN_DAMAGED if _is_damage(error) else ADVICE
        super().__init__(f"{folder}: cannot be used as a cache: {self.problem}; {self.advice}.")


class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Text keys and bytes values inside the database; never a pickle, never a file.

    `diskcache.Disk` unpickles what a row calls a pickle, and opens and removes the files that rows
    name (CVE-2025-69872). Here a row that is not plain bytes holds nothing.
    """

    def put(self, key: str) -> tuple[str, bool]:
        """Convert a key for the database."""
        return key, True

    def get(self, key: object, raw: object) -> object:
        """Convert a key from the database."""
        del raw
        return key

    def store(self, value: bytes, read: object, key: object = None) -> tuple[int, int, None, bytes]:
        """Convert a value for the database: size, mode, no file name, and the bytes."""
        del read, key
        return len(value), MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: object = None) -> bytes:
        """Convert a value from the database; empty for a row that is not plain bytes."""
        del read
        if mode == MODE_RAW and filename is None and isinstance(value, bytes):
            return value
        return b""

    def remove(self, file_path: object) -> None:
        """Remove no file."""


class BulkCache(diskcache.Cache):  # type: ignore[misc]  # diskcache has no types
    """A `diskcache.Cache` that reads and writes many entries in one statement."""

    def get_many(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the entries of those keys that have one."""
        rows = self._sql(FIND, (msgspec.json.encode(list(keys)).decode(),)).fetchall()
        fetch = self.disk.fetch
        return {key: fetch(mode, filename, value) for key, mode, filename, value in rows}

    def set_many(self, entries: Mapping[str, bytes]) -> None:
        """Write entries; call within `transact`."""
        now, store = time.time(), self.disk.store
        rows = [(key, now, now, *store(value, read=False)) for key, value in entries.items()]
        self._con.executemany(STORE, rows)

    def vacuum(self) -> None:
        """Return the space of removed entries to the file system."""
        self._sql("VACUUM")
        self._sql("PRAGMA wal_checkpoint(TRUNCATE)")


class CacheStats(NamedTuple):
    """What a cache holds; a request has one reply per sample."""

    n_requests: int
    n_replies: int
    n_unreadable: int  # rows that hold no reply; they are never used
    n_bytes: int  # on disk


class ResponseCache:
    """Cached replies, with the request locks and outstanding batches of all runs that share them.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    say : callable
        Receives one line for each damaged database that is moved aside, now or later, and for each
        process that holds what has been waited for.

    Raises
    ------
    CacheUnusable
        If the folder cannot be written, or holds another program's database; or if its path names
        an environment variable, which diskcache would replace.
    """

    write_through = False  # what is logged and not stored is read from the log

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        if os.path.expandvars(folder.absolute()) != str(folder.absolute()):
            raise CacheUnusable(folder, OSError(EINVAL, "its path names an environment variable"))
        self.folder = folder
        self._path: Path = folder / DBNAME
        self._say = say
        self._notes = RunNotes(folder / "logs")
        self._log: Path | None = None
        self._behind = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.locks = FileLocks(folder / "locks", self._say_holder)
            self._open()
            self.batches = OutstandingBatches(folder, say)
        except (sqlite3.Error, OSError) as error:
            raise CacheUnusable(folder, error) from None

    def get_many(self, requests: Sequence[tuple[str, str]]) -> dict[str, Reply]:
        """Return cached replies by request hash, of requests given by cache key and hash.

        An entry that cannot be read holds none. What killed runs had logged is stored first.
        """
        self._adopt_logs()
        keys, hashes = {key for key, _ in requests}, {request for _, request in requests}
        try:
            entries = self._retried(lambda database: database.get_many(keys))
        except (sqlite3.Error, OSError) as error:
            raise CacheUnusable(self.folder, error) from None
        cached = (reply for entry in entries.values() for reply in _read(entry))
        return {reply.request: reply for reply in cached if reply.request in hashes}

    def add_many(self, replies: Sequence[Reply]) -> None:
        """Store replies in one transaction; a stored reply is never replaced.

        Raises
        ------
        CacheUnwritable
            If none of them could be stored now; a later call may succeed.
        """
        by_key: dict[str, list[Reply]] = {}
        for reply in replies:
            by_key.setdefault(reply.cache_key or reply.request, []).append(reply)
        self._behind = True
        try:
            self._retried(lambda database: _extend(database, by_key))
        except (sqlite3.Error, OSError, diskcache.Timeout) as error:
            raise CacheUnwritable(
                f"{self.folder}: the cache cannot be written ({error or 'it is locked'})"
            ) from None
        self._behind = False

    def follow(self, log: Path, ledger: Path | None = None) -> None:
        """Register the verdict log and the batch ledger of this run.

        If the process is killed, the next look-up of another run stores what its log holds; that of
        a run that was killed before is stored here.
        """
        self._log = log.absolute()
        name = note_name(self._log)
        self.locks.wait_for(name)
        try:
            self._adopt(name)
            self._notes.leave(self._log)
            if ledger is not None:
                self.batches.register(ledger)
        except OSError as error:
            raise CacheUnusable(self.folder, error) from None

    def _adopt_logs(self) -> None:
        """Store the replies that killed runs had logged."""
        names: list[str] = []
        with suppress(OSError):
            names = self._notes.names()
        for name in names:
            if self.locks.claim(name):
                with suppress(CacheUnwritable, OSError):  # the note stays for another time
                    self._adopt(name)
                self.locks.release(name)

    def _adopt(self, name: str) -> None:
        if note := self._notes.read(name):
            note.recover(self.add_many)
            self._notes.remove(note.path)

    def _say_holder(self, process: int) -> None:
        """Say which run has been waited for, and since when it has been running."""
        holder = f"process {process}"
        for run in self._notes.read_all():
            if run.process == process:
                since = datetime.fromtimestamp(run.since_s, UTC).astimezone()
                holder = f"{run.path.parent} ({holder}, running since {since:%Y-%m-%d %H:%M:%S})"
        self._say(
            f"waiting for requests that {holder} has begun; if it is stopped, continue it (fg) "
            f"or end it (kill {process})"
        )

    def replies(self) -> Iterator[Reply]:
        """Yield all cached replies."""
        for key in self._database.iterkeys():
            yield from _read(self._database.get(key))

    def clear(self) -> None:
        """Remove all replies; CacheUnwritable if that is not possible now."""
        try:
            self._database.clear()
            self._database.vacuum()
        except (sqlite3.Error, diskcache.Timeout) as error:
            raise CacheUnwritable(f"{self.folder}: the cache cannot be cleared ({error})") from None

    def close(self) -> None:
        """Close the database and release all locks."""
        if self._log and not self._behind:
            with suppress(OSError):  # whoever reads the note stores what is stored already
                self._notes.remove(self._log)
        self.batches.close()
        self._database.close()
        self.locks.close()

    def _open(self, damaged: os.stat_result | None = None) -> None:
        """Open the database, or a new one in the place of a damaged one."""
        self.locks.wait_for(OPENING)
        try:
            if damaged and os.path.samestat(self._path.stat(), damaged):
                self._move_aside()  # else another run has done so
            self._connect()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._move_aside()
            self._connect()
        finally:
            self.locks.release(OPENING)

    def _connect(self) -> None:
        reset_settings(self._path)
        folder = str(self.folder.absolute())
        self._database = BulkCache(folder, timeout=BUSY_TIMEOUT_S, disk=BytesDisk, **SETTINGS)
        self._file = self._path.stat()

    def _retried(self, action: Callable[[BulkCache], T]) -> T:
        """Run an action; if the database is damaged, once more on a new one."""
        try:
            return action(self._database)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        self._database.close()
        self._open(damaged=self._file)
        return action(self._database)

    def _move_aside(self) -> None:
        aside = self.folder.with_name(f"{self.folder.name}.damaged-{time.time_ns()}")
        aside.mkdir()
        for name in DATABASE_FILES:
            with suppress(FileNotFoundError):
                (self.folder / name).rename(aside / name)
        self._say(f"The cache was damaged and was moved to {aside}; its replies are asked again.")

    def __repr__(self) -> str:
        return f"ResponseCache({str(self.folder)!r})"


def measure_cache(folder: Path, *, timeout_s: float = BUSY_TIMEOUT_S) -> CacheStats:
    """Count what a cache holds, without writing to it; nothing where there is none.

    Raises
    ------
    CacheUnusable
        If it cannot be read, is damaged, or is another program's.
    """
    path = folder / DBNAME
    if not path.exists():
        return CacheStats(0, 0, 0, 0)
    disk = BytesDisk(str(folder))
    address = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=timeout_s)) as connection:
            [integrity] = connection.execute("PRAGMA quick_check(1)").fetchone()
            if integrity != "ok":
                raise sqlite3.DatabaseError(integrity)
            query = "SELECT mode, filename, value FROM Cache"
            rows = connection.execute(query) if check_schema(connection) else ()
            n_replies = [len(_read(disk.fetch(*row))) for row in rows]
    except sqlite3.Error as error:
        raise CacheUnusable(folder, error) from None
    files = [folder / name for name in DATABASE_FILES]
    n_bytes = sum(file.stat().st_size for file in files if file.exists())
    n_requests = sum(map(bool, n_replies))
    return CacheStats(n_requests, sum(n_replies), len(n_replies) - n_requests, n_bytes)


def check_schema(connection: sqlite3.Connection) -> bool:
    """Return whether a database is a diskcache; False if it is new, an error if another's."""
    types = dict(connection.execute("SELECT name, type FROM sqlite_master").fetchall())
    if types and (SCHEMA.items() - types.items() or "view" in types.values()):
        raise sqlite3.OperationalError("it is a database of another program")
    return bool(types)


def reset_settings(path: Path) -> None:
    """Remove the settings of a diskcache, which it would apply unchecked; counts are kept."""
    with closing(sqlite3.connect(path, BUSY_TIMEOUT_S, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        if check_schema(connection):
            connection.execute(
                "DELETE FROM Settings WHERE typeof(value) != 'integer' "
                "OR key NOT IN ('count', 'size', 'hits', 'misses')"
            )
        connection.execute("COMMIT")


def _read(entry: bytes | None) -> list[Reply]:
    try:
        return _DECODE(entry) if entry else []
    except ValueError:
        return []


def _extend(database: BulkCache, replies: Mapping[str, Sequence[Reply]]) -> None:
    with database.transact():
        stored = database.get_many(replies)
        entries = {key: _merged(stored.get(key), new) for key, new in replies.items()}
        database.set_many(entries)


def _merged(entry: bytes | None, replies: Sequence[Reply]) -> bytes:
    """Extend an entry; of two replies to one request the first is kept."""
    if entry is None and len(replies) == 1:
        return _ENCODE(replies)
    merged: dict[str, Reply] = {}
    for reply in (*_read(entry), *replies):
        merged.setdefault(reply.request, reply)
    return _ENCODE(list(merged.values()))


def _is_damage(error: Exception) -> bool:
    return type(error) is sqlite3.DatabaseError  # its subclasses have other causes
