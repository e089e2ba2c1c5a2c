"""Interface of a store for replies, with claims on requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Reply


class Claim(NamedTuple):
    """Result of claiming requests. Requests not listed are being sent by other processes.

    Attributes
    ----------
    granted : set of str
        Requests to send. Release them unless their replies are put into the store.
    stored : mapping of str to Reply
        Requests that need not be sent, with their replies.
    held : mapping of str to str
        Requests that must not be sent because they are in other runs' batches, each with the
        command that fetches its reply.
    """

    granted: set[str]
    stored: Mapping[str, Reply]
    held: Mapping[str, str]


class SharedProgress(NamedTuple):
    """Progress of all processes that work on one run through a shared store.

    Attributes
    ----------
    n_processes : int
        Processes that are sending requests now.
    n_replies : int
        Replies received and stored, including those of earlier processes.
    """

    n_processes: int
    n_replies: int


class Store(Protocol):
    """Store of paid replies, which also grants the right to send a request, for all runs.

    A request is identified by its cache key and its hash. The right to send one ends with the
    process that has it.
    """

    def get(self, requests: Sequence[tuple[str, str]]) -> Mapping[str, Reply]:
        """Return stored replies by request hash."""

    async def put(self, replies: Sequence[Reply]) -> None:
        """Store replies and release their requests. Return when the calls can end."""

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Claim the right to send requests that have no holder and no reply."""

    def count_paid(self, request: str) -> bool:
        """Return whether a child process paid for a stored reply. True only once per reply."""

    def release(self, requests: Iterable[str]) -> None:
        """Give up the right to send requests that will not get a reply now."""

    def report_holder(self, request: str) -> None:
        """Tell the user which process has claimed an awaited request."""

    def shared_progress(self) -> SharedProgress | None:
        """Return the progress of all of this run's processes, or None for a single process."""

    def flush(self) -> str:
        """Retry storing replies that could not be stored. Return the error, or "" on success."""

    def close(self) -> None:
        """Release all claims."""


class NoStore:
    """Store that keeps nothing and grants every claim (``--no-store``)."""

    def get(self, requests: Sequence[tuple[str, str]]) -> dict[str, Reply]:
        """Return no reply."""
        del requests
        return {}

    async def put(self, replies: Sequence[Reply]) -> None:
        """Discard replies."""

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Grant all requests."""
        return Claim({request for _, request in requests}, {}, {})

    def count_paid(self, request: str) -> bool:
        """Return False, because there are no other processes."""
        del request
        return False

    def release(self, requests: Iterable[str]) -> None:
        """Do nothing."""

    def report_holder(self, request: str) -> None:
        """Do nothing."""

    def shared_progress(self) -> None:
        """Return None."""

    def flush(self) -> str:
        """Return an empty reason."""
        return ""

    def close(self) -> None:
        """Do nothing."""
