"""What a store of replies offers to runs: look-up, claims on requests, and what was paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.judging.parsing.verdict import Reply


class Claim(NamedTuple):
    """Answer to a claim on some requests, by their hashes; the others somebody else is sending.

    Attributes
    ----------
    granted : set of str
        May be sent; to be released unless their replies are put into the store.
    stored : mapping of str to Reply
        Need not be sent.
    held : mapping of str to str
        May not be sent: they wait in batches of other runs, each with the command that brings its
        reply.
    """

    granted: set[str]
    stored: Mapping[str, Reply]
    held: Mapping[str, str]


class SharedProgress(NamedTuple):
    """What all processes of a run on a shared store have done.

    Attributes
    ----------
    n_processes : int
        Processes that are asking now.
    n_replies : int
        Replies that they received and stored, those of earlier processes included.
    """

    n_processes: int
    n_replies: int


class Store(Protocol):
    """Replies that were paid for, and the right to send a request, for all runs that share it.

    A request is given by its cache key and its hash. The right to send one ends with the process
    that holds it.
    """

    def get(self, requests: Sequence[tuple[str, str]]) -> Mapping[str, Reply]:
        """Return stored replies by request hash."""

    async def put(self, replies: Sequence[Reply]) -> None:
        """Store replies and release their requests; return when their calls may end."""

    def claim(self, requests: Sequence[tuple[str, str]]) -> Claim:
        """Take the right to send those requests that nobody else holds and that have no reply."""

    def count_paid(self, request: str) -> bool:
        """Whether processes that this one started paid for a stored reply; True once for each."""

    def release(self, requests: Iterable[str]) -> None:
        """Give the right to send requests back: there will be no reply now."""

    def report_holder(self, request: str) -> None:
        """Tell the user who holds the right to send a request that is waited for."""

    def shared_progress(self) -> SharedProgress | None:
        """Return what all processes of this run have done; None where it has one process."""

    def flush(self) -> str:
        """Store what could not be stored before; return why that is not possible, else ""."""

    def close(self) -> None:
        """Release everything."""


class NoStore:
    """Stores nothing and grants every claim (``--no-store``)."""

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
        """Return no reason."""
        return ""

    def close(self) -> None:
        """Do nothing."""
