"""Request hash -> reply, on disk, as JSON bytes and never as a pickle.

The cache is a convenience, not the record: what was received stands in ``verdicts.jsonl``, from
which the cache is filled in batches and can be filled again.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from harness.errors import RunError, VerdictError
from harness.judging.cache_folder import leave_note, note_of, read_note, resuming, trouble
from harness.judging.parsing.verdict import Reply
from harness.judging.storage.batch_ledger import Shelf
from harness.judging.storage.database import Database
from harness.judging.storage.request_locks import Leases
from harness.judging.storage.verdict_log import LogReading, read_log, replies_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class StoreUnwritable(RunError):  # noqa: N818 -- a state of the world, not a mistake
    """Replies could not be remembered now; they stand in the log."""


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Reply)
RECOVERED_AT_ONCE = 1000  # replies brought here from a log in one transaction


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

    def awaited(self, requests: Sequence[str], judge: str) -> dict[str, str]:
        """Tell which requests wait in batches of other runs, and the command that gets each.

        Of our own run, those count that a judge other than ``judge`` has handed in.
        """

    def follow(self, log: Path, book: Path | None = None) -> None:
        """Say where this process writes down what it receives, and the batches that it hands in.

        Should it be killed, whoever looks for a reply next takes from there what is not here yet,
        and nobody asks for what is in a batch.
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

    def awaited(self, requests: Sequence[str], judge: str) -> dict[str, str]:
        """Know of no other run."""
        del requests, judge
        return {}

    def follow(self, log: Path, book: Path | None = None) -> None:
        """Have nothing that could be taken from a log."""
        del log, book

    def close(self) -> None:
        """Have nothing to close."""


def open_store(folder: Path, say: Callable[[str], None]) -> DiskStore:
    """Open the cache in ``folder``; a database that is of no use is moved aside, never deleted.

    Of one that another program keeps locked the replies are taken over, a damaged one is not read.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    say : callable
        Is told, in one line, what was moved where, now or later.

    Raises
    ------
    RunError
        If the folder cannot be written to, or holds another program's database.
    """
    try:
        return DiskStore(folder, say)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> RunError:
    return RunError(
        f"{folder}: the cache cannot be written ({error.strerror}); "
        "free some space, choose another with --cache DIR, or use --no-cache."
    )


class DiskStore:
    """`ResponseStore` over a `Database`, with leases and notes that runs leave each other."""

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda _: None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._notes = folder / "logs"
        self._followed: Path | None = None
        self._behind = False
        self._absent: set[str] = set()  # what was last looked for in vain
        self._leases = Leases(folder / "leases")
        try:
            self._database = Database(folder, self._leases, say)
            self._notes.mkdir(exist_ok=True)
            self._shelf = Shelf(folder / "batches", say)
        except sqlite3.Error as error:
            self._leases.close()
            raise self._unusable(error) from None
        except BaseException:
            self._leases.close()
            raise

    def get_many(self, hashes: Sequence[str]) -> dict[str, Reply]:
        """Replies that are known; an entry that cannot be read counts as unknown."""
        found = self._get(hashes)
        return self._get(hashes) if len(found) < len(hashes) and self._adopt() else found

    def _get(self, hashes: Sequence[str]) -> dict[str, Reply]:
        try:
            if self._absent.issuperset(hashes) and not self._database.changed():
                return {}
            entries = self._database.find(hashes)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from None
        found = {}
        for key, raw in entries:
            try:
                reply = _DECODER.decode(raw)
            except ValueError:
                continue
            if reply.request == key:
                found[key] = reply
        self._absent = set(hashes).difference(found)
        return found

    def claim(self, request: str) -> bool:
        """Take the lease on a request."""
        return self._leases.take(request)

    def release(self, request: str) -> None:
        """Give a lease back."""
        self._leases.give_back(request)

    def put_many(self, replies: Sequence[Reply]) -> None:
        """Write one transaction."""
        rows = [(reply.request, _ENCODER.encode(reply)) for reply in replies]
        self._absent.clear()
        try:
            self._database.keep(rows)
        except (sqlite3.Error, OSError) as error:
            self._behind = True
            raise StoreUnwritable(f"{self.folder}: the cache cannot be written ({error})") from None
        self._behind = False

    def awaited(self, requests: Sequence[str], judge: str) -> dict[str, str]:
        """Look in the books of all runs that hand in batches."""
        waiting = self._shelf.awaited(requests, judge)
        return {request: resuming(run, self.folder) for request, run in waiting.items()}

    def follow(self, log: Path, book: Path | None = None) -> None:
        """Leave notes where our book is, and, for as long as its lease is held, our log.

        Raises
        ------
        RunError
            If they cannot be written.
        """
        self._followed = log.absolute()
        self._leases.await_turn(self._note.name)
        try:
            leave_note(self._notes, self._followed)
            if book is not None:
                self._shelf.add(book)
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    @property
    def _note(self) -> Path:
        return note_of(self._notes, self._followed or Path())

    def _adopt(self) -> bool:
        """Take in what processes had received that were killed; tell whether there were any."""
        if not self._leases.working:
            return False
        try:
            notes = list(self._notes.iterdir())
        except OSError:  # somebody has deleted the cache meanwhile
            return False
        orphans = [note for note in notes if not note.suffix and self._leases.take(note.name)]
        for note in orphans:
            try:
                with suppress(StoreUnwritable, FileNotFoundError):
                    with suppress(VerdictError):
                        put_back(read_log(read_note(note)), self)
                    note.unlink()
            finally:
                self._leases.give_back(note.name)
        return bool(orphans)

    def close(self) -> None:
        """Close the database and give all leases back."""
        if self._followed and not self._behind:
            with suppress(OSError):  # whoever finds the note takes in what is here already
                self._note.unlink(missing_ok=True)
        self._shelf.close()
        self._database.close()
        self._leases.close()

    def __len__(self) -> int:
        return len(self._database)

    def __repr__(self) -> str:
        return f"DiskStore({str(self.folder)!r}, {len(self)} replies)"

    def _unusable(self, error: sqlite3.Error | OSError) -> RunError:
        found, advice = trouble(error)
        return RunError(
            f"{self.folder}: cannot be used as a cache: {found}; {advice}, or use --no-cache."
        )


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
