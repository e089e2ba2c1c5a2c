"""Response cache on one machine, with paid replies and locks on requests.

Replies are JSON bytes in a `diskcache.Cache`. The process with the lock on a request may send it;
the others wait and then find the reply. Locks are in a separate file, so that they work while the
database is locked, full or damaged.

The cache is a convenience, not the record: ``verdicts.jsonl`` contains all received replies, and
``harness cache copy`` rebuilds the cache from it. All samples of one request are under one key, as
a JSON array of replies. Each reply counts only under the hash of its own request.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import sys
import time
from collections import deque
from contextlib import closing, contextmanager, suppress
from errno import EACCES, EAGAIN
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import diskcache
import msgspec
from diskcache.core import DBNAME, METADATA, MODE_RAW

from harness.errors import RunError
from harness.files.regular_files import open_regular
from harness.judging.parsing.verdict import Reply
from harness.judging.storage.held_requests import HeldRequests
from harness.judging.storage.reply_origins import ReplyFilter, ReplyOrigin, decode_origins
from harness.judging.storage.reply_store import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

T = TypeVar("T")
BUSY_TIMEOUT_S = 10.0  # longest wait for another process's write
PUT_AGAIN_S = 5.0  # delay before storing again, because an attempt can wait for a lock
CLOCK_STEP_S = 0.001  # rounding of replies' times
OPENING = "f" * 64  # lock that is held while the database is opened or replaced
SETTINGS = {
    "eviction_policy": "none",  # a paid reply is never dropped
    "cull_limit": 0,
    "sqlite_auto_vacuum": 0,
    "sqlite_cache_size": 512,  # pages; with more, or with a map, memory grows with the cache
    "sqlite_mmap_size": 0,
    "sqlite_wal_autocheckpoint": 8000,  # pages, so that a page with many replies is written once
}
SCHEMA = {"Cache": "table", "Settings": "table", "Cache_key_raw": "index"}  # of any diskcache
FIND = (
    "SELECT Cache.key, mode, filename, Cache.value FROM json_each(?) AS wanted "
    "JOIN Cache ON Cache.key = wanted.value AND raw = 1"
)
EVERY_REPLY = ReplyFilter()
READ = "SELECT mode, filename, value FROM Cache"
ORIGINS = "SELECT rowid, mode, filename, value FROM Cache"
STORE = (
    "INSERT OR REPLACE INTO Cache (key, raw, size, mode, filename, value) VALUES (?, 1, ?, ?, ?, ?)"
)
DIGITS = 15  # hex digits of a hash that are a byte's offset; the lock files stay empty
N_LOCK_FILES = 16  # setting a lock is slow if a file has many: 12 us with 1,200 locks
POLL_S = 0.05
NOTICE_AFTER_S = 5.0  # time of waiting for a lock before this is reported
IS_MACOS = sys.platform == "darwin"
FLOCK = "qqihh" if IS_MACOS else "hhqqi"  # type, whence, start, length, process
ADVICE = "Choose a different one with --cache DIR, or use --no-store"
WHEN_DAMAGED = (
    "The next run moves the damaged cache aside. The replies of finished runs are also in the "
    "runs' folders"
)
_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(list[Reply]).decode
_ROWS = msgspec.json.Decoder(list[msgspec.Raw]).decode
_DECODE_ROW = msgspec.json.Decoder(Reply).decode


class CacheUnwritable(RunError):  # noqa: N818 -- a state of the disk, not a mistake
    """Error for replies that cannot be stored now. The verdict log contains them."""


class CacheUnusable(RunError):  # noqa: N818 -- a state of the disk, not a mistake
    """Error for a cache that cannot be opened or read, with the ``cause``."""

    def __init__(self, folder: Path, error: sqlite3.Error | OSError) -> None:
        problem = str(error.strerror if isinstance(error, OSError) else error)  # without its path
        self.cause = f"damaged ({problem})" if _is_damage(error) else problem
        advice = WHEN_DAMAGED if _is_damage(error) else ADVICE
        super().__init__(f"{folder}: cannot be used as a cache: {self.cause}", f"{advice}.")


class ReplyDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache has no types
    """Disk format for diskcache with text keys and JSON replies. Other rows are ignored.

    `diskcache.Disk` unpickles any row marked as a pickle, and opens and removes files that rows
    name (CVE-2025-69872).
    """

    def put(self, key: str) -> tuple[str, bool]:
        """Return the key in the form that the database stores."""
        return key, True

    def get(self, key: object, _raw: object) -> object:
        """Return the key from its form in the database."""
        return key

    def store(self, value: Sequence[Reply], *_: object, **__: object) -> tuple[object, ...]:
        """Encode replies for the database as size, mode, no file name, and JSON."""
        data = _ENCODE(value)
        return len(data), MODE_RAW, None, data

    def fetch(self, mode: object, filename: object, value: object, *_: object) -> list[Reply]:
        """Decode replies from the database."""
        if mode != MODE_RAW or filename is not None or not isinstance(value, bytes):
            return []
        try:
            return _DECODE(value)
        except ValueError:
            return _readable(value)

    def fetch_origins(self, mode: object, filename: object, value: object) -> list[ReplyOrigin]:
        """Return the origins of the replies that `fetch` would return."""
        with suppress(ValueError):
            if mode == MODE_RAW and filename is None and isinstance(value, bytes):
                return decode_origins(value)
        return [
            ReplyOrigin(task=reply.task, judge=reply.judge, received_at=reply.received_at)
            for reply in self.fetch(mode, filename, value)
        ]

    def remove(self, file_path: object) -> None:
        """Do nothing, because there are no files."""


def _readable(value: bytes) -> list[Reply]:
    """Decode the replies in an entry, leaving out replies that cannot be decoded."""
    replies = []
    with suppress(ValueError):
        for row in _ROWS(value):
            with suppress(ValueError):
                replies.append(_DECODE_ROW(row))
    return replies


class BulkCache(diskcache.Cache):  # type: ignore[misc]  # diskcache has no types
    """Cache of replies that reads and writes many entries with one SQL statement."""

    def get_many(self, keys: Iterable[str]) -> dict[str, list[Reply]]:
        """Return the entries that exist for these keys."""
        rows, fetch = self._sql(FIND, (_ENCODE(list(keys)).decode(),)), self.disk.fetch
        return {key: fetch(mode, file, value) for key, mode, file, value in rows.fetchall()}

    def add_many(self, replies: Iterable[Reply], *, replaces: bool = False) -> None:
        """Add replies to entries in one transaction. By default, stored replies are kept."""
        added = [(reply.cache_key or reply.request, reply) for reply in replies]
        with self.transact():
            cached = self.get_many(dict(added)).items()
            entries = {key: {reply.request: reply for reply in entry} for key, entry in cached}
            for key, reply in added:
                entry = entries.setdefault(key, {})
                entry[reply.request] = reply if replaces else entry.get(reply.request, reply)
            rows = [(key, *self.disk.store([*entry.values()])) for key, entry in entries.items()]
            self._con.executemany(STORE, rows)

    def remove(self, wanted: ReplyFilter) -> int:
        """Remove replies in one transaction, and return how many were removed.

        Their space is returned to the file system, unless there is not enough room to do so.
        """
        whole: list[tuple[int]] = []
        parts: list[tuple[int]] = []
        n = 0
        with self.transact():
            for row, *stored in self._sql(ORIGINS):
                origins = self.disk.fetch_origins(*stored)
                n_removed = sum(map(wanted.includes, origins))
                n += n_removed
                if n_removed == len(origins) and (n_removed or wanted == EVERY_REPLY):
                    whole.append((row,))
                elif n_removed:
                    parts.append((row,))
            for part in parts:
                self._remove_part(part, wanted)
            self._con.executemany("DELETE FROM Cache WHERE rowid = ?", whole)
        with suppress(sqlite3.OperationalError):
            self._sql("VACUUM")
            self._sql("PRAGMA wal_checkpoint(TRUNCATE)")
        return n

    def _remove_part(self, row: tuple[int], wanted: ReplyFilter) -> None:
        """Remove the replies that a filter selects from one entry."""
        [stored] = self._sql(f"{READ} WHERE rowid = ?", row).fetchall()
        replies = zip(self.disk.fetch(*stored), self.disk.fetch_origins(*stored), strict=True)
        kept = [reply for reply, origin in replies if not wanted.includes(origin)]
        size, *_, data = self.disk.store(kept)
        self._sql("UPDATE Cache SET size = ?, value = ? WHERE rowid = ?", (size, data, *row))


class FileLocks:
    """Locks of this process on requests. Each lock is on one byte of a file.

    The system releases a process's locks however it ends, but a stopped process (Ctrl-Z) keeps
    them. If the file system does not support locks, every claim succeeds. ``on_wait`` is called
    once with the process that holds a lock after a wait for it. OSError is raised if the files
    cannot be opened.
    """

    def __init__(self, folder: Path, on_wait: Callable[[int], None] = lambda _: None) -> None:
        folder.mkdir(exist_ok=True)
        files = [folder / f"{i:x}" for i in range(N_LOCK_FILES)]
        self._descriptors = [open_regular(file, os.O_RDWR | os.O_CREAT) for file in files]
        self._on_wait = on_wait
        self._reported: set[int] = set()
        self._offsets: dict[str, int] = {}  # hashes that are locked

    def claim(self, name: str) -> bool:
        """Lock a hash, or return False if any process, including this one, already holds it."""
        from fcntl import LOCK_EX, LOCK_NB, lockf  # noqa: PLC0415 -- Windows lacks it

        if name in self._offsets:
            return False
        offset = int(name[:DIGITS], 16)
        try:
            lockf(self._descriptors[offset % N_LOCK_FILES], LOCK_EX | LOCK_NB, 1, offset)
        except OSError as error:
            if error.errno in {EACCES, EAGAIN}:
                return False
        self._offsets[name] = offset
        return True

    def release(self, name: str) -> None:
        """Unlock a hash if this process holds it."""
        from fcntl import LOCK_UN, lockf  # noqa: PLC0415 -- as above

        offset = self._offsets.pop(name, None)
        if offset is not None:
            with suppress(OSError):
                lockf(self._descriptors[offset % N_LOCK_FILES], LOCK_UN, 1, offset)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Wait until no other process holds the lock on a hash, then lock it."""
        notice_s = time.monotonic() + NOTICE_AFTER_S
        while not self.claim(name):
            if time.monotonic() > notice_s:
                self.report_holder(name)
            time.sleep(POLL_S)
        try:
            yield
        finally:
            self.release(name)

    def report_holder(self, name: str) -> None:
        """Report another process that holds a lock on a hash, once per process."""
        from fcntl import F_GETLK, F_WRLCK, fcntl  # noqa: PLC0415 -- as above

        offset = int(name[:DIGITS], 16)
        kind, place = (F_WRLCK, os.SEEK_SET), (offset, 1, 0)
        lock = struct.pack(FLOCK, *(place + kind if IS_MACOS else kind + place))
        with suppress(OSError):
            lock = fcntl(self._descriptors[offset % N_LOCK_FILES], F_GETLK, lock)
        process = struct.unpack(FLOCK, lock)[2 if IS_MACOS else 4]  # 0 if nobody else holds it
        if process > 0 and process not in self._reported:
            self._reported.add(process)
            self._on_wait(process)

    def close(self) -> None:
        """Release all locks."""
        while self._descriptors:
            os.close(self._descriptors.pop())
        self._offsets.clear()


class CacheStats(NamedTuple):
    """Size of a cache. A request has one reply per sample."""

    n_requests: int
    n_replies: int
    n_unreadable: int  # rows without a reply, which are never used
    n_bytes: int  # size on disk


class ResponseCache:
    """Store of replies on this machine, for all runs that share its folder.

    Replies that cannot be stored stay in memory until a later attempt; the log has them too.
    ``say`` receives a line for each damaged database that is moved aside and for each process that
    it waits for. CacheUnusable is raised if the folder cannot be written or contains a different
    program's database, or if its path names an environment variable, which diskcache would replace.
    With ``is_refreshed``, the cache only finds replies received since it was opened, and replaces
    older ones.

    Attributes
    ----------
    held : HeldRequests
        Requests in batches, which outlive any process.
    """

    def __init__(
        self,
        folder: Path,
        say: Callable[[str], None] = lambda _: None,
        *,
        is_refreshed: bool = False,
    ) -> None:
        if os.path.expandvars(folder.absolute()) != str(folder.absolute()):
            raise CacheUnusable(folder, sqlite3.Error("its path names an environment variable"))
        self.folder = folder
        self._path: Path = folder / DBNAME
        self._held_folder = folder / "held"  # missing if no batch was ever submitted
        self._say = say
        self._is_refreshed = is_refreshed
        self._since = time.time() - CLOCK_STEP_S if is_refreshed else 0.0
        self._unstored: deque[Reply] = deque()
        self._put_again_s = float("-inf")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.locks = FileLocks(folder / "locks", self._say_holder)
            with self.locks.held(OPENING):
                self._connect()
            self.held = HeldRequests(self._held_folder, say)
        except (sqlite3.Error, OSError) as error:
            raise CacheUnusable(folder, error) from None

    def get(self, requests: Sequence[tuple[str, str]]) -> dict[str, Reply]:
        """Return cached replies by request hash."""
        keys, hashes = dict(requests), {request for _, request in requests}
        try:
            entries = self._retried(lambda database: database.get_many(keys))
        except (sqlite3.Error, OSError) as error:
            raise CacheUnusable(self.folder, error) from None
        cached = (reply for entry in entries.values() for reply in entry)
        return {
            reply.request: reply
            for reply in cached
            if reply.request in hashes and (reply.received_at or 0.0) >= self._since
        }

    def add_many(self, replies: Sequence[Reply]) -> None:
        """Store replies in one transaction. Raise `CacheUnwritable` if this fails now."""
        try:
            replaces = self._is_refreshed
            self._retried(lambda database: database.add_many(replies, replaces=replaces))
        except (sqlite3.Error, OSError, diskcache.Timeout) as error:
            reason = str(error) or "it is locked"
            raise CacheUnwritable(f"{self.folder}: cannot be written ({reason})") from None

    async def put(self, replies: Sequence[Reply]) -> None:
        """Store replies and release their requests, now or as soon as possible."""
        self._unstored += replies
        if time.monotonic() >= self._put_again_s:
            self.flush()

    def flush(self) -> str:
        """Retry storing replies that could not be stored. Return the error, or "" on success."""
        if not self._unstored:
            return ""
        try:
            self.add_many(self._unstored)
        except CacheUnwritable as error:
            self._put_again_s = time.monotonic() + PUT_AGAIN_S
            return str(error)
        self.release(reply.request for reply in self._unstored)
        self._unstored.clear()
        return ""

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Claim free requests, and return replies stored since the requests were looked up."""
        granted = {request for _, request in requests if self.locks.claim(request)}
        wanted = [key for key in requests if key[1] in granted]
        stored = self.get(wanted) if wanted else {}
        open_requests = [request for _, request in requests if request not in stored]
        held = self.held.find(open_requests) if self._held_folder.is_dir() else {}
        self.release(granted.intersection((*stored, *held)))
        return Claim(granted.difference(stored, held), stored, held)

    def count_paid(self, request: str) -> bool:
        """Return False, because a run on one machine starts no other processes."""
        del request
        return False

    def release(self, requests: Iterable[str]) -> None:
        """Release the locks on requests."""
        for request in requests:
            self.locks.release(request)

    def report_holder(self, request: str) -> None:
        """Report, only once, the process that has claimed a request."""
        self.locks.report_holder(request)

    def shared_progress(self) -> None:
        """Return None, because each run has one process."""

    def _say_holder(self, process: int) -> None:
        self._say(
            f"waiting for requests that process {process} has started. If that process is "
            f"stopped, continue it (fg) or end it (kill {process})"
        )

    def replies(self) -> Iterator[Reply]:
        """Yield all cached replies."""
        for key in self._database.iterkeys():
            yield from self._database.get(key, ())

    def clear(self, wanted: ReplyFilter = EVERY_REPLY) -> int:
        """Remove replies, and return how many were removed.

        CacheUnwritable is raised if they cannot be removed now.
        """
        try:
            return self._database.remove(wanted)
        except (sqlite3.Error, diskcache.Timeout) as error:
            reason = str(error) or "it is locked"
            raise CacheUnwritable(f"{self.folder}: cannot be cleared ({reason})") from None

    def close(self) -> None:
        """Close the database and release all locks."""
        self._database.close()
        self.locks.close()

    def _connect(self) -> None:
        """Open the database. If it is damaged, move it aside and create a new one."""
        try:
            with closing(sqlite3.connect(self._path, BUSY_TIMEOUT_S)) as connection, connection:
                if "Settings" in tables_of(connection):
                    connection.execute("DELETE FROM Settings")  # diskcache would apply all of them
            folder = str(self.folder.absolute())
            self._database = BulkCache(folder, timeout=BUSY_TIMEOUT_S, disk=ReplyDisk, **SETTINGS)
            self._file = self._path.stat()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            self._move_aside()
            self._connect()

    def _retried(self, action: Callable[[BulkCache], T]) -> T:
        """Run an action. If the database is damaged, repeat the action on a new database."""
        try:
            return action(self._database)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        self._database.close()
        with self.locks.held(OPENING):
            if os.path.samestat(self._path.stat(), self._file):
                self._move_aside()  # unless another run has done so
            self._connect()
        return action(self._database)

    def _move_aside(self) -> None:
        aside = self.folder.with_name(f"{self.folder.name}.damaged-{time.time_ns()}")
        aside.mkdir()
        for file in self.folder.glob(f"{DBNAME}*"):
            with suppress(FileNotFoundError):
                file.rename(aside / file.name)
        self._say(
            f"The cache was damaged and was moved to {aside}. Its replies are requested again."
        )


def measure_cache(folder: Path, *, timeout_s: float = BUSY_TIMEOUT_S) -> CacheStats:
    """Count a cache's contents. Raise `CacheUnusable` if the cache cannot be read."""
    if not (folder / DBNAME).exists():
        return CacheStats(0, 0, 0, 0)
    with _reading(folder, timeout_s) as (connection, disk):
        [integrity] = connection.execute("PRAGMA quick_check(1)").fetchone()
        if integrity != "ok":
            raise sqlite3.DatabaseError(integrity)
        n_replies = [len(disk.fetch(*row)) for row in _rows(connection)]
    n_bytes = sum(file.stat().st_size for file in folder.glob(f"{DBNAME}*"))
    n_requests = sum(map(bool, n_replies))
    return CacheStats(n_requests, sum(n_replies), len(n_replies) - n_requests, n_bytes)


class CountedReplies(NamedTuple):
    """Numbers of replies in a cache: all, selected by a filter, and of unknown origin."""

    n: int
    n_included: int
    n_unknown: int


def count_replies(folder: Path, wanted: ReplyFilter) -> CountedReplies:
    """Count a cache's replies. Raise `CacheUnusable` if the cache cannot be read."""
    n = n_included = n_unknown = 0
    if (folder / DBNAME).exists():
        with _reading(folder, BUSY_TIMEOUT_S) as (connection, disk):
            for row in _rows(connection):
                origins = disk.fetch_origins(*row)
                n += len(origins)
                n_included += sum(map(wanted.includes, origins))
                n_unknown += sum(map(wanted.is_unknown, origins))
    return CountedReplies(n, n_included, n_unknown)


@contextmanager
def _reading(folder: Path, timeout_s: float) -> Iterator[tuple[sqlite3.Connection, ReplyDisk]]:
    """Open a cache's database read-only. Raise `CacheUnusable` if it cannot be read."""
    address = f"{(folder / DBNAME).absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=timeout_s)) as connection:
            yield connection, ReplyDisk(str(folder))
    except sqlite3.Error as error:
        raise CacheUnusable(folder, error) from None


def _rows(connection: sqlite3.Connection) -> Iterable[tuple[object, ...]]:
    """Return the mode, file name and value of each entry."""
    return connection.execute(READ) if "Cache" in tables_of(connection) else ()


def tables_of(connection: sqlite3.Connection) -> set[str]:
    """Return the names of a diskcache's tables. Some are missing if the disk was full."""
    types = dict(connection.execute("SELECT name, type FROM sqlite_master").fetchall())
    is_whole = SCHEMA.items() <= types.items() or _is_begun(connection, types)
    if types and ("view" in types.values() or not is_whole):
        raise sqlite3.OperationalError("the database belongs to a different program")
    return {name for name, kind in types.items() if kind == "table"}


def _is_begun(connection: sqlite3.Connection, types: Mapping[str, str]) -> bool:
    """Return whether a database has only the first tables of a new diskcache."""
    tables = {name: kind for name, kind in types.items() if not name.startswith("sqlite_")}
    if "Settings" not in tables or tables.items() - SCHEMA.items():
        return False
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(Settings)")]
    return columns == ["key", "value"] and all(
        key in {*diskcache.DEFAULT_SETTINGS, *METADATA, *SETTINGS}
        for (key,) in connection.execute("SELECT key FROM Settings")
    )


def _is_damage(error: Exception) -> bool:
    return type(error) is sqlite3.DatabaseError  # subclasses have other causes
