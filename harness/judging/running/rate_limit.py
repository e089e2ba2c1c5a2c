"""Limits on one judge's calls in flight, and on requests and tokens per minute.

The limit on calls in flight increases additively and is halved once per episode of 429s or of files
that cannot be opened: other calls in flight at that moment do not halve it again. Requests and
tokens per minute are spread evenly according to the judge's own limits. A server that does not
reply is probed with one call at a time, each after a longer wait, and then given up. While a server
requests a wait, no calls are sent. `Rate` takes the time as an argument, so that it can be tested
on a simulated clock. `RateGate` does the waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import CallFailed, NotAsked

if TYPE_CHECKING:
    from harness.judging.judges.base import Judge
    from harness.judging.running.retry import RetryPolicy

OPENS_AFTER = 10  # consecutive failures after which a server is probed
PROBES = 6
NO_REPLY = frozenset({"unreachable", "connection_lost", "timeout"})
CUTTING = frozenset({"rate_limited", "too_many_files"})  # failures that halve the limit
WINDOW_S = 60.0
BURST_S = 1.0  # part of a window that can be used at once, in seconds
CUT = 0.5
MOST_EVENTS = 1000


class RateEvent(NamedTuple):
    """Change of a judge's rate, for the run's log.

    Attributes
    ----------
    at_s : float
        Seconds on the caller's clock.
    limit : int
        Allowed calls in flight from then on.
    reason : str
        ``start``, ``cut`` (after a 429) or ``ceiling`` (the judge's own limit).
    """

    at_s: float
    limit: int
    reason: str


@dataclass(slots=True)
class _Spacing:
    """Even spacing of uses, with fewer than ``per_minute`` in any minute before the last use."""

    per_minute: float | None = None
    next_s: float = float("-inf")

    def reserve(self, now: float, n: float) -> float:
        """Reserve the next ``n`` uses. Return the seconds to wait before the first use."""
        if self.per_minute is None:
            return 0.0
        start = max(now, self.next_s - BURST_S)
        self.next_s = max(now, self.next_s) + n * (WINDOW_S + BURST_S) / self.per_minute
        return start - now


class Rate:
    """State of one judge's rate limit.

    Parameters
    ----------
    ceiling : int
        Maximum calls in flight.
    start : int or None
        Initial calls in flight; the ceiling if None.
    rpm, tpm : float or None
        Requests and tokens per minute that the judge allows.
    probe_s, longest_probe_s : float
        Seconds before the first probe, and maximum before any. Each wait is twice the previous one.
    now : float
        Time on the caller's clock.

    Attributes
    ----------
    limit : float
        Calls allowed in flight now, in [1, ceiling].
    n_started : int
        Calls so far.
    next_call_s : float
        When the next call may be sent, on the caller's clock: after a probe's wait, or a wait that
        the server requested.
    history : list of RateEvent
        Changes with their times; at most `MOST_EVENTS`.
    """

    def __init__(
        self,
        ceiling: int,
        *,
        start: int | None = None,
        rpm: float | None = None,
        tpm: float | None = None,
        probe_s: float = 1.0,
        longest_probe_s: float = 30.0,
        now: float = 0.0,
    ) -> None:
        self.ceiling = ceiling
        self.limit = float(min(ceiling, max(1, start or ceiling)))
        self.in_flight = 0
        self.history: list[RateEvent] = []
        self._requests, self._tokens = _Spacing(rpm), _Spacing(tpm)
        self.n_started = 0
        self._cut_at = 0  # calls started before the last cut
        self.next_call_s = self._next_probe_s = self._refused_until_s = float("-inf")
        self._probe_s, self._longest_probe_s = probe_s, longest_probe_s
        self._n_unanswered = self._n_probes = 0
        self._probed_at = 0  # calls started before the last probe was planned
        self._note(now, "start")

    @property
    def needs_tokens(self) -> bool:
        """Whether `enter` requires the number of tokens."""
        return self._tokens.per_minute is not None

    @property
    def is_probing(self) -> bool:
        """Whether calls are sent one at a time, to check whether the server replies."""
        return self._n_probes > 0

    @property
    def n_places(self) -> int:
        """Number of calls that can be in flight now."""
        return 1 if self._n_probes else int(self.limit)

    @property
    def is_settled(self) -> bool:
        """Whether another successful reply would leave the rate unchanged."""
        return self.limit >= self.ceiling and not self._n_unanswered

    def enter(self, now: float, tokens: float = 0.0) -> tuple[int, float]:
        """Take a slot for a call.

        Returns
        -------
        ticket : int
            Number to pass to `limited` if the call is rejected, or to `unanswered` if no reply
            comes.
        wait_s : float
            Seconds to wait before sending the call.
        """
        self.in_flight += 1
        self.n_started += 1
        wait_s = max(self._requests.reserve(now, 1.0), self._tokens.reserve(now, tokens))
        return self.n_started, max(wait_s, self.next_call_s - now)

    def leave(self) -> None:
        """Free a slot."""
        self.in_flight -= 1

    def succeeded(self, now: float) -> None:
        """Raise the limit by one per reply or, after the first 429, by one per round of replies.

        After a successful probe, calls continue as before.
        """
        if self._n_unanswered:
            self._n_unanswered = self._n_probes = 0
            self._next_probe_s = float("-inf")
            self._plan_next_call()
        if self.limit >= self.ceiling:
            return
        self.limit = min(self.ceiling, self.limit + (1 / self.limit if self._cut_at else 1.0))
        if self.limit >= self.ceiling:
            self._note(now, "ceiling")

    def limited(self, now: float, ticket: int, wait_s: float = 0.0) -> None:
        """Halve the limit, unless the rejected call was sent before the last cut.

        No calls are sent for ``wait_s``, the wait that the server requested.
        """
        self._refused_until_s = max(self._refused_until_s, now + wait_s)
        self._plan_next_call()
        if ticket > self._cut_at:
            self.limit = max(1.0, self.limit * CUT)
            self._cut_at = self.n_started
            self._note(now, "cut")

    def unanswered(self, now: float, ticket: int) -> bool:
        """Count a call without a usable reply. Return whether to stop calling the server.

        Calls in flight when the last probe was planned count as one with it.
        """
        self._n_unanswered += 1
        if self._n_unanswered < OPENS_AFTER or (self.is_probing and ticket <= self._probed_at):
            return False
        self._next_probe_s = now + min(self._probe_s * 2.0**self._n_probes, self._longest_probe_s)
        self._plan_next_call()
        self._probed_at = self.n_started
        self._n_probes += 1
        return self._n_probes > PROBES

    def _plan_next_call(self) -> None:
        self.next_call_s = max(self._next_probe_s, self._refused_until_s)

    def _note(self, now: float, reason: str) -> None:
        if len(self.history) < MOST_EVENTS:
            self.history.append(RateEvent(now, int(self.limit), reason))

    def __repr__(self) -> str:
        return f"Rate({self.in_flight} of {int(self.limit)} in flight, at most {self.ceiling})"


class RateGate:
    """Gate that admits a judge's calls as fast as the judge's `Rate` allows.

    Parameters
    ----------
    rate : Rate
        The judge's rate, created at ``time.monotonic()``.

    Attributes
    ----------
    is_shut : bool
        Whether no more requests are sent to the judge.
    n_unreadable : int
        Number of unreadable responses that were probably paid for.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.n_unreadable = 0
        self.is_shut = False
        self._shut = asyncio.Event()
        self._queue: deque[asyncio.Future[None]] = deque()

    async def enter(self, tokens: float) -> int:
        """Wait for a slot, and return the call's ticket. Call `leave` after the call."""
        rate = self.rate
        while rate.in_flight >= rate.n_places:
            await self._wait_turn()
        now = time.monotonic()
        ticket, wait_s = rate.enter(now, tokens)
        try:
            while wait_s > 0:
                await self.sleep(wait_s)
                now = time.monotonic()
                wait_s = rate.next_call_s - now
        except BaseException:
            self.leave()
            raise
        return ticket

    @property
    def needs_tokens(self) -> bool:
        """Whether `enter` requires the number of tokens."""
        return self.rate.needs_tokens

    def shut(self) -> None:
        """Stop admitting calls, and end every `sleep`."""
        self.is_shut = True
        self._shut.set()

    def check(self) -> None:
        """Raise `NotAsked` if no more calls are admitted."""
        if self.is_shut:
            raise NotAsked

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds.

        Raises
        ------
        NotAsked
            As soon as the gate is shut.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._shut.wait()
        except TimeoutError:
            return
        raise NotAsked

    def succeeded(self) -> None:
        """Report that a call got a reply."""
        if not self.rate.is_settled:
            self.rate.succeeded(time.monotonic())

    def failed(self, ticket: int, failure: CallFailed) -> CallFailed:
        """Report a failed call. Return its failure, or the failure that must stop the judge.

        A judge whose server is given up on must stop.
        """
        now = time.monotonic()
        self.n_unreadable += failure.paid
        if failure.reason in CUTTING:
            self.rate.limited(now, ticket, failure.retry_after_s or 0.0)
        if is_unanswered(failure) and self.rate.unanswered(now, ticket):
            return CallFailed(failure.reason, stops_judge=True, hint="the server does not reply")
        return failure

    def leave(self) -> None:
        """Free a slot, and admit waiting calls."""
        self.rate.leave()
        self._wake()

    async def _wait_turn(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            self._wake()  # it could have been this call's turn
            raise

    def _wake(self) -> None:
        if not self._queue:
            return
        free = self.rate.n_places - self.rate.in_flight
        while self._queue and free > 0:
            waiter = self._queue.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


def rate_gate(judge: Judge, retry: RetryPolicy, ceiling: int) -> RateGate:
    """Return the rate limit for a judge's specification, with at most ``ceiling`` calls in flight.

    A server that does not reply is probed after twice the waits of ``retry``.
    """
    spec, now = judge.spec, time.monotonic()
    rate = Rate(
        ceiling,
        start=spec.concurrency_start,
        rpm=spec.rpm,
        tpm=spec.tpm,
        probe_s=2 * retry.backoff_s,
        longest_probe_s=retry.backoff_max_s,
        now=now,
    )
    return RateGate(rate)


def is_unanswered(failure: CallFailed) -> bool:
    """Return whether a call got no reply, an unreadable reply or a server error."""
    return failure.paid or failure.reason in NO_REPLY or failure.reason.startswith("http_5")
