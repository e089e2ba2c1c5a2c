"""Circuit breaker of one judge: a server that does not reply is probed, then given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.errors import CallFailed

OPENS_AFTER = 10  # failed calls in a row
PROBES = 6
NO_REPLY = frozenset({"unreachable", "connection_lost", "timeout"})


class CircuitBreaker:
    """Counts the calls in a row to which no usable reply came.

    After `OPENS_AFTER` of them it is open: one call at a time is let through as a probe, each after
    a longer wait. A reply closes it; after `PROBES` failed probes the judge is given up. It takes
    the time as an argument, so that it can be tested on a simulated clock.

    Parameters
    ----------
    wait_s, longest_wait_s : float
        Seconds before the first probe and at most before any; each wait is twice the one before.

    Attributes
    ----------
    next_probe_s : float
        When the next call may be sent, on the caller's clock; minus infinity while it is closed.
    """

    def __init__(self, wait_s: float = 1.0, longest_wait_s: float = 30.0) -> None:
        self._first_wait_s = wait_s
        self._longest_wait_s = longest_wait_s
        self._n_failed = self._n_probes = 0
        self._opened_at = 0  # calls started before it opened
        self.next_probe_s = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether calls are sent one at a time."""
        return self._n_probes > 0

    def succeeded(self) -> None:
        """Count a reply."""
        if not self._n_failed:
            return
        self._n_failed = self._n_probes = 0
        self.next_probe_s = float("-inf")

    def failed(self, now: float, ticket: int, n_started: int) -> bool:
        """Count a call without a usable reply; return whether the server is given up.

        Parameters
        ----------
        now : float
            Seconds on the caller's clock.
        ticket : int
            Number of the call, from 1; calls from before it opened count for nothing.
        n_started : int
            Calls started so far.
        """
        self._n_failed += 1
        if self._n_failed < OPENS_AFTER or (self.is_open and ticket <= self._opened_at):
            return False
        wait_s = min(self._first_wait_s * 2.0**self._n_probes, self._longest_wait_s)
        self.next_probe_s = now + wait_s
        self._opened_at = n_started
        self._n_probes += 1
        return self._n_probes > PROBES

    def __repr__(self) -> str:
        return f"CircuitBreaker({self._n_failed} failed in a row, {self._n_probes} probes)"


def is_unanswered(failure: CallFailed) -> bool:
    """Whether no usable reply came: no response, an unreadable one, or a failed server's."""
    return failure.paid or failure.reason in NO_REPLY or failure.reason.startswith("http_5")
