"""Request hash -> reply, on disk, as JSON bytes and never as a pickle.

The cache is a convenience, not the record: what was received stands in ``verdicts.jsonl``, from
which the cache is filled in batches and can be filled again.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from harness.elicit.folders import trouble
from harness.elicit.leases import Leases
from harness.elicit.log import LogReading, read_log, replies_of
from harness.elicit.verdicts import Reply
from harness.errors import RunError, VerdictError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class StoreUnwritable(RunError):  # noqa: N818 -- a state of the world, not a mistake
    """Replies could not be remembered now; they stand in the log."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Reply)
RAW = 1  # diskcache's mode for a value that stands in the row itself
RECOVERED_AT_ONCE = 1000  # replies brought here from a log in one transaction
ADOPTING_S = 0.05  # how long to wait for whoever is reading our log
CHECKPOINT_PAGES = 8000  # a page that many replies fall on is brought home once for all of them
LOCKED_AFTER_S = 10.0  # how long another program may keep the cache to itself
GET = "SELECT key, value FROM Cache WHERE raw = 1 AND mode = 1 AND key IN ({})"
PUT = (
    "INSERT INTO Cache (key, raw, store_time, access_time, mode, value) VALUES (?, 1, ?, ?, 1, ?) "
    "ON CONFLICT (key, raw) DO UPDATE SET store_time = excluded.store_time, mode = 1, "
    "filename = NULL, value = excluded.value"
)


class ResponseStore(Protocol):
    """Where replies are looked up before anything is sent."""

    def get_many(self, hashes: Sequence[str]) -> dict[str, Reply]:
        """Replies that are known, by request hash."""

    def claim(self, request: str) -> bool:
        """Ask for the right to send a request; False if somebody else is about to.

        Whoever has it looks for the reply once more before sending: it may just have come in.
        """

    def release(self, request: str) -> None:
        """Give up the right to send a request: its reply is stored, or there will be none."""

    def put_many(self, replies: Sequence[Reply]) -> None:
        """Remember replies under the hash of their request.

        Raises
        ------
        StoreUnwritable
            If they could not be remembered, all of them; another time they may.
        """

    def follow(self, log: Path) -> None:
        """Say where this process writes down what it receives.

        Should it be killed, whoever looks for a reply next takes from there what is not here yet.
        """

    def close(self) -> None:
        """Give the files back."""


class NoStore:
    """Remembers nothing (``--no-cache``)."""

    def get_many(self, hashes: Sequence[str]) -> dict[str, Reply]:
        """Know nothing."""
        del hashes
        return {}

    def claim(self, request: str) -> bool:
        """Let everybody ask everything."""
        del request
        return True

    def release(self, request: str) -> None:
        """Have nothing to give up."""

    def put_many(self, replies: Sequence[Reply]) -> None:
        """Forget at once."""

    def follow(self, log: Path) -> None:
        """Have nothing that could be taken from a log."""
        del log

    def close(self) -> None:
        """Have nothing to close."""


def open_store(folder: Path, say: Callable[[str], None]) -> DiskStore:
    """Open the cache in ``folder``; a damaged one is moved aside, never read and never deleted.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    say : callable
        Is told, in one line, what was moved where, now or later.

    Raises
    ------
    RunError
        If the folder cannot be written to, or another program keeps the cache to itself.
    """
    try:
        return DiskStore(folder, say)
    except OSError as error:
        raise RunError(
            f"{folder}: the cache cannot be written ({error.strerror}); "
            "free some space, choose another with --cache DIR, or use --no-cache."
        ) from None


class DiskStore:
    """`ResponseStore` over diskcache, eviction off.

    diskcache makes and opens the file; many replies at once are read and written with one statement
    of our own over a second connection.
    """

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._say = say
        self._followed: Path | None = None
        self._behind = False
        try:
            self._open()
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from None
        except (sqlite3.DatabaseError, TypeError):  # diskcache's settings can be odd, too
            self._move_aside()

    def get_many(self, hashes: Sequence[str]) -> dict[str, Reply]:
        """Replies that are known; an entry that cannot be read counts as unknown."""
        found = self._get(hashes)
        return self._get(hashes) if len(found) < len(hashes) and self._adopt() else found

    def _get(self, hashes: Sequence[str]) -> dict[str, Reply]:
        try:
            rows = self._database.execute(GET.format(",".join("?" * len(hashes))), hashes)
            entries = rows.fetchall()
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from None
        except sqlite3.DatabaseError:
            self._move_aside()
            return {}
        found = {}
        for key, raw in entries:
            with suppress(ValueError):
                reply = _DECODER.decode(raw)
                if reply.request == key:
                    found[key] = reply
        return found

    def claim(self, request: str) -> bool:
        """Take the lease on a request."""
        return self._leases.take(request)

    def release(self, request: str) -> None:
        """Give a lease back."""
        self._leases.give_back(request)

    def put_many(self, replies: Sequence[Reply]) -> None:
        """Write one transaction."""
        now = time.time()
        rows = [(reply.request, now, now, _ENCODER.encode(reply)) for reply in replies]
        try:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany(PUT, rows)
            self._behind = False
        except sqlite3.OperationalError as error:
            self._behind = True
            raise StoreUnwritable(f"{self.folder}: the cache cannot be written ({error})") from None
        except sqlite3.DatabaseError:
            self._move_aside()
            self.put_many(replies)

    def follow(self, log: Path) -> None:
        """Leave a note where our log is, for as long as its lease is held."""
        self._followed = log.absolute()
        note = self._note
        while not self._leases.take(note.name):
            time.sleep(ADOPTING_S)
        part = note.with_suffix(".part")
        part.write_bytes(bytes(self._followed))
        part.replace(note)

    @property
    def _note(self) -> Path:
        return self._notes / hashlib.sha256(bytes(self._followed or Path())).hexdigest()

    def _adopt(self) -> bool:
        """Take in what processes had received that were killed; tell whether there were any."""
        if not self._leases.working:
            return False
        orphans = [
            note
            for note in self._notes.iterdir()
            if not note.suffix and self._leases.take(note.name)
        ]
        for note in orphans:
            try:
                with suppress(StoreUnwritable, FileNotFoundError):
                    log = Path(note.read_bytes().decode("utf-8", "surrogateescape"))
                    with suppress(VerdictError):
                        put_back(read_log(log), self)
                    note.unlink()
            finally:
                self._leases.give_back(note.name)
        return bool(orphans)

    def close(self) -> None:
        """Close the database and give all leases back."""
        if self._followed and not self._behind:
            self._note.unlink(missing_ok=True)
        self._database.close()
        self._cache.close()
        self._leases.close()

    def __len__(self) -> int:
        return len(self._cache)

    def __repr__(self) -> str:
        return f"DiskStore({str(self.folder)!r}, {len(self)} replies)"

    def _open(self) -> None:
        from diskcache import Cache  # noqa: PLC0415 -- costs 30 ms that only runs need

        self._database = sqlite3.connect(
            self.folder / "cache.db", timeout=LOCKED_AFTER_S, isolation_level=None
        )
        try:
            self._database.execute("BEGIN IMMEDIATE")  # diskcache would wait a minute for a lock
            self._database.execute("ROLLBACK")
            self._cache: Any = Cache(
                str(self.folder),
                disk=_bytes_disk(),
                eviction_policy="none",
                cull_limit=0,
                statistics=0,
                timeout=LOCKED_AFTER_S,
            )
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            self._notes = self.folder / "logs"
            self._notes.mkdir(exist_ok=True)
            self._leases = Leases(self.folder / "leases.lock")
        except BaseException:
            self._database.close()
            raise

    def _unusable(self, error: sqlite3.OperationalError) -> RunError:
        found, advice = trouble(error)
        return RunError(
            f"{self.folder}: cannot be used as a cache: {found}; {advice}, or use --no-cache."
        )

    def _move_aside(self) -> None:
        """Put a damaged cache out of the way and begin a new one."""
        if hasattr(self, "_leases"):
            self.close()
        aside = self.folder.with_name(f"{self.folder.name}.damaged-{time.time_ns()}")
        self.folder.rename(aside)
        self.folder.mkdir()
        self._open()
        if self._followed:
            self.follow(self._followed)
        self._say(f"The cache was damaged and is now {aside}; replies will be asked anew.")


def put_back(log: LogReading, store: ResponseStore) -> None:
    """Bring the replies that a log holds into a store.

    Raises
    ------
    StoreUnwritable
        If that is impossible now.
    """
    replies = (r for v in log.final.values() if not v.cached for r in replies_of(v))
    while batch := list(islice(replies, RECOVERED_AT_ONCE)):
        store.put_many(batch)


def _bytes_disk() -> type:
    """Make the Disk that stores and reads bytes in the row, whatever the row says of itself."""
    from diskcache import Disk  # noqa: PLC0415 -- see DiskStore

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
