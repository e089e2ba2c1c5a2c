"""Ledger of a run's submitted batches, whose requests other runs do not send."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import RunError
from harness.files.regular_files import read_file, write_file
from harness.judging.storage.held_requests import Holding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

RESULTS_KEPT_S = 29 * 86400.0  # by Anthropic. OpenAI keeps them a day longer


class PendingBatch(NamedTuple):
    """Batch that was submitted or is about to be submitted.

    ``token`` is ours, ``created`` is in seconds since 1970, and ``requests`` has the hashes of the
    requests. ``id`` comes from the provider, and is empty while it is unknown whether the batch was
    received. ``reserved_usd`` is the batch's maximum cost under a cost limit.
    """

    judge: str
    token: str
    created: float
    requests: Sequence[str]
    id: str = ""
    reserved_usd: float = 0.0


class BatchLedger:
    """Batches of a run with results that the log lacks, stored in ``batches.json``.

    Each batch is recorded before and after it is submitted. A run that was stopped at any moment,
    or a day ago, therefore waits for its batches again and does not submit any twice.

    Parameters
    ----------
    path : Path
        The file.
    hold : callable, optional
        Prevents other runs from sending the requests of these batches. See `HeldRequests.hold`.

    Raises
    ------
    RunError
        If the file exists but cannot be read.
    """

    def __init__(self, path: Path, hold: Callable[[Sequence[Holding]], None] | None = None) -> None:
        self.path = path
        self.batches: list[PendingBatch] = []
        self._hold = hold
        self._left: dict[str, set[str]] = {}  # requests without a written reply, by token
        if path.exists():
            try:
                entries = json.loads(read_file(path))
                self.batches = [PendingBatch(**entry) for entry in entries]
            except (OSError, ValueError, TypeError):
                raise RunError(
                    f"{path}: cannot be read, so batches might be submitted twice. Repair the "
                    "file, or remove it if no batch of this run is outstanding."
                ) from None
        self._left = {batch.token: set(batch.requests) for batch in self.batches}
        self._hold_requests()

    def batch_of(self, request: str) -> PendingBatch | None:
        """Return the batch that contains a request."""
        return next((b for b in self.batches if request in self._left[b.token]), None)

    def put(self, batch: PendingBatch) -> None:
        """Record a batch, or new information about it."""
        self.batches = [other for other in self.batches if other.token != batch.token] + [batch]
        self._left.setdefault(batch.token, set(batch.requests))
        self._save()

    def settle(self, requests: Iterable[str]) -> list[PendingBatch]:
        """Mark requests as settled, because their results are written or they have no result.

        Batches without open requests are removed and returned.
        """
        settled = set(requests)
        touched = [b for b in self.batches if settled & self._left[b.token]]
        for batch in touched:
            self._left[batch.token] -= settled
        ended = [batch for batch in touched if not self._left[batch.token]]
        for batch in ended:
            self.drop(batch)
        return ended

    def drop(self, batch: PendingBatch) -> None:
        """Remove a batch whose results are in the log, or that the provider never received."""
        self.batches = [other for other in self.batches if other.token != batch.token]
        self._save()

    def _save(self) -> None:
        try:
            text = json.dumps([batch._asdict() for batch in self.batches])
            write_file(self.path, text.encode(), durable=True)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written ({error.strerror}).") from None
        self._hold_requests()

    def _hold_requests(self) -> None:
        if self._hold is not None:
            self._hold(
                [
                    Holding(b.judge, b.created + RESULTS_KEPT_S, frozenset(b.requests))
                    for b in self.batches
                ]
            )

    def __repr__(self) -> str:
        return f"BatchLedger({str(self.path)!r}, {len(self.batches)} batches)"
