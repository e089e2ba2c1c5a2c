"""Interface of a reply store: look-up, claims on requests, and the record of paid replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Reply


class Claim(NamedTuple):
    """Answer to a claim on requests, by hash. Requests that aren't listed are being sent already.

    Attributes
    ----------
    granted : set of str
        Requests to send. Release them unless their replies are put into the store.
    stored : mapping of str to Reply
        Requests that needn't be sent, with their replies.
    held : mapping of str to str
        Requests that must not be sent because they are in other runs' batches, each with the
        command that fetches its reply.
    """

    granted: set[str]
    stored: Mapping[str, Reply]
    held: Mapping[str, str]


class SharedProgress(NamedTuple):
    """Progress of all of a run's processes on a shared store.

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
    """Paid replies, and the right to send a request, shared by all runs.

    A request is identified by its cache key and its hash. The right to send one ends with the
    process that has it.
    """

    def get(self, requests: Sequence[tuple[str, str]]) -> Mapping[str, Reply]:
        """Return stored replies by request hash."""

    async def put(self, replies: Sequence[Reply]) -> None:
        """Store replies and release their requests, and return once their calls can end."""

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Claim the right to send those requests that have neither a holder nor a reply."""

    def count_paid(self, request: str) -> bool:
        """Return whether child processes paid for a stored reply, only once for each reply."""

    def release(self, requests: Iterable[str]) -> None:
        """Return the right to send requests that will not get a reply now."""

    def report_holder(self, request: str) -> None:
        """Tell the user which process has claimed an awaited request."""

    def shared_progress(self) -> SharedProgress | None:
        """Return the progress of all of this run's processes, or None if it has only one."""

    def flush(self) -> str:
        """Store replies that couldn't be stored before, and return the reason if this fails."""

    def close(self) -> None:
        """Release everything."""


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
        """Return False: there are no other processes."""
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
