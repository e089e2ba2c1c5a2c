"""Batches that were handed in and not collected: of one run, and of all runs on one cache."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import RunError
from harness.files import read_file, write_file
from harness.judging.storage.verdict_log import RunNotes
from harness.user_folders import resume_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

RESULTS_KEPT_S = 29 * 86400.0  # by Anthropic; by OpenAI a day longer


class PendingBatch(NamedTuple):
    """A batch that was or is about to be handed in.

    ``token`` is ours, ``created`` in seconds since 1970, ``id`` the provider's, empty while it is
    unknown whether the batch was received; ``requests`` are the hashes of its requests.
    ``reserved_usd`` is the most that it may cost, under a cost limit.
    """

    judge: str
    token: str
    created: float
    n: int
    id: str = ""
    requests: Sequence[str] = ()
    reserved_usd: float = 0.0


class BatchLedger:
    """A run's batches whose results are not all in the log: ``batches.json``.

    Raises
    ------
    RunError
        If the file exists and cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: list[PendingBatch] = []
        if path.exists():
            try:
                entries = json.loads(read_file(path))
                self.batches = [PendingBatch(**entry) for entry in entries]
            except (OSError, ValueError, TypeError):
                raise RunError(
                    f"{path}: cannot be read, so batches might be handed in twice; repair it, "
                    "or remove it when no batch of this run is outstanding."
                ) from None

    def put(self, batch: PendingBatch) -> None:
        """Record a batch, or what is now known of it."""
        self.batches = [other for other in self.batches if other.token != batch.token] + [batch]
        self._save()

    def drop(self, batch: PendingBatch) -> None:
        """Remove a batch whose results are in the log, or that was never received."""
        self.batches = [other for other in self.batches if other.token != batch.token]
        self._save()

    def _save(self) -> None:
        try:
            text = json.dumps([batch._asdict() for batch in self.batches])
            write_file(self.path, text.encode(), durable=True)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written ({error.strerror}).") from None


class _Snapshot(NamedTuple):
    """Outstanding request hashes of a ledger by judge, and the state of the file they are from."""

    state: tuple[int, int, int]
    requests: dict[str, set[str]]


class OutstandingBatches:
    """The ledgers of all runs on one cache: requests that none of them may send again.

    A run leaves a note that points at its ledger before it hands in batches and for as long as any
    is outstanding. Ledgers are read again when they have changed.

    Parameters
    ----------
    cache : Path
        Folder of the cache.
    say : callable
        Receives one line for each batch that can no longer be collected.
    """

    def __init__(self, cache: Path, say: Callable[[str], None]) -> None:
        self._cache = cache
        self._notes = RunNotes(cache / "batches")
        self._say = say
        self._own: Path | None = None
        self._spare = os.open(os.devnull, os.O_RDONLY)
        self._snapshots: dict[Path, _Snapshot] = {}

    def register(self, ledger: Path) -> None:
        """Leave a note that points at this run's ledger."""
        self._own = ledger.resolve()
        self._notes.leave(self._own)

    def close(self) -> None:
        """Remove this run's note, unless a batch is outstanding."""
        self._close_spare()
        with suppress(RunError, OSError):
            if self._own and not BatchLedger(self._own).batches:
                self._notes.remove(self._own)

    def find(self, requests: Sequence[str], judge: str) -> dict[str, str]:
        """Return the outstanding ones of some requests, each with the command that collects it.

        Those that ``judge`` itself has handed in for this run are not among them.

        Raises
        ------
        RunError
            If a ledger cannot be read.
        """
        self._close_spare()  # so that this needs no more descriptors than there are
        try:
            return self._find(requests, judge)
        finally:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY)

    def _close_spare(self) -> None:
        if self._spare >= 0:
            os.close(self._spare)
        self._spare = -1

    def _find(self, requests: Sequence[str], judge: str) -> dict[str, str]:
        commands: dict[str, str] = {}
        try:
            notes = self._notes.read_all()
        except OSError as error:
            raise _unreadable(self._cache / "batches", error) from None
        for ledger in (note.path for note in notes):
            for owner, outstanding in self._read(ledger).items():
                if ledger != self._own or owner != judge:
                    command = resume_command(ledger.parent, self._cache)
                    commands |= dict.fromkeys(outstanding.intersection(requests), command)
        return commands

    def _read(self, ledger: Path) -> dict[str, set[str]]:
        """Return the outstanding request hashes of a ledger by judge."""
        try:
            status = ledger.stat()
        except (FileNotFoundError, NotADirectoryError):
            if not ledger.parent.is_dir():
                self._notes.remove(ledger)
                self._say(
                    f"{ledger.parent} no longer exists; the requests in its batches are asked again"
                )
            return {}
        except OSError as error:
            raise _unreadable(ledger, error) from None
        state = (status.st_ino, status.st_mtime_ns, status.st_size)
        snapshot = self._snapshots.get(ledger)
        if snapshot is None or snapshot.state != state:
            snapshot = self._snapshots[ledger] = _Snapshot(state, self._outstanding(ledger))
        return snapshot.requests

    def _outstanding(self, ledger: Path) -> dict[str, set[str]]:
        requests: dict[str, set[str]] = {}
        for batch in BatchLedger(ledger).batches:
            if time.time() - batch.created < RESULTS_KEPT_S:
                requests.setdefault(batch.judge, set()).update(batch.requests)
            elif ledger != self._own:
                self._say(
                    f"{ledger.parent}: the results of batch {batch.id} are older than 29 days and "
                    "no longer kept; its requests are asked again"
                )
        return requests


def _unreadable(path: Path, error: OSError) -> RunError:
    return RunError(
        f"{path}: cannot be read ({error.strerror}), so its requests might be paid for twice; "
        "repair it, or choose another cache with --cache DIR."
    )
