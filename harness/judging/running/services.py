"""What asking needs of its surroundings, as protocols; a cluster can put others in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from harness.judging.parsing.verdict import Reply


class ResponseStore(Protocol):
    """Where replies are looked up before a request is sent."""

    def get_many(self, requests: Sequence[tuple[str, str]]) -> Mapping[str, Reply]:
        """Return known replies by request hash, of requests given by cache key and hash."""

    def add_many(self, replies: Sequence[Reply]) -> None:
        """Store replies, all or none; `CacheUnwritable` if that is not possible now."""


class RequestLocks(Protocol):
    """The right to send a request; it ends with the process that holds it."""

    def claim(self, request: str, /) -> bool:
        """Take the right to send a request; False while anybody has it.

        Look the reply up once more before sending: it may just have been stored.
        """

    def release(self, request: str, /) -> None:
        """Give the right back: the reply is stored, or there will be none."""


class HandedIn(Protocol):
    """Requests in batches that were handed in elsewhere."""

    def find(self, requests: Sequence[str], judge: str) -> Mapping[str, str]:
        """Return the outstanding ones of some requests, each with the command that collects it.

        Those that ``judge`` itself has handed in for this run are not among them.
        """


class CacheService(ResponseStore, Protocol):
    """A response store with the locks and the outstanding batches of all runs that share it."""

    @property
    def locks(self) -> RequestLocks:
        """The right to send a request."""

    @property
    def batches(self) -> HandedIn:
        """Requests that other runs have handed in."""

    def follow(self, log: Path, ledger: Path | None = None) -> None:
        """Register the verdict log and the batch ledger of this run."""

    def close(self) -> None:
        """Release everything."""


class NoCache:
    """Stores nothing and locks nothing (``--no-cache``)."""

    def __init__(self) -> None:
        self.locks = self.batches = self

    def get_many(self, requests: Sequence[tuple[str, str]]) -> dict[str, Reply]:
        """Return no reply."""
        del requests
        return {}

    def add_many(self, replies: Sequence[Reply]) -> None:
        """Discard replies."""

    def claim(self, request: str, /) -> bool:
        """Allow every request."""
        del request
        return True

    def release(self, request: str, /) -> None:
        """Do nothing."""

    def find(self, requests: Sequence[str], judge: str) -> dict[str, str]:
        """Return no request."""
        del requests, judge
        return {}

    def follow(self, log: Path, ledger: Path | None = None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
