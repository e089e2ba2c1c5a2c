"""Lets a judge's calls through one by one, as fast as its `Rate` allows."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

from harness.judging.running.rate_limit import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.errors import CallFailed
    from harness.judging.judges.base import Judge

RATE_LIMITED = "rate_limited"


class NotAsked(Exception):  # noqa: N818 -- a state of the world, not a mistake
    """The run is draining or the judge has stopped; the unit stays unasked."""


class Gate:
    """The places in flight of one judge.

    Parameters
    ----------
    rate : Rate
        Made at ``time.monotonic()``.

    Attributes
    ----------
    is_shut : bool
        Whether the judge is asked nothing more.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._shut = asyncio.Event()
        self._queue: deque[asyncio.Future[None]] = deque()

    def told(self, headers: Mapping[str, str]) -> None:
        """Mind what a server's headers say is left."""
        self.rate.told(time.monotonic(), headers, time.time())

    async def enter(self, tokens: float) -> int:
        """Wait for a place in flight and for the pace; return the call's ticket.

        Whoever gets one gives it back with `leave`.
        """
        rate = self.rate
        while rate.full:
            await self._turn()
        ticket, wait_s = rate.enter(time.monotonic(), tokens)
        try:
            while wait_s > 0:
                await self.sleep(wait_s)
                wait_s = rate.blocked_s(time.monotonic())
        except BaseException:
            self.leave()
            raise
        return ticket

    @property
    def is_shut(self) -> bool:  # noqa: D102 -- in the class docstring
        return self._shut.is_set()

    def shut(self) -> None:
        """Let nobody through any more, and wake those who wait for a time."""
        self._shut.set()

    def check(self) -> None:
        """Raise `NotAsked` if the gate is shut."""
        if self.is_shut:
            raise NotAsked

    async def sleep(self, seconds: float) -> None:
        """Wait.

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
        """Say that a call got its reply."""
        self.rate.succeeded(time.monotonic())

    def failed(self, ticket: int, failure: CallFailed) -> None:
        """Say that a call got none."""
        if failure.reason == RATE_LIMITED:
            self.rate.limited(time.monotonic(), ticket)

    def leave(self) -> None:
        """Give a place back, and let in as many as there are now."""
        self.rate.leave()
        self._wake()

    async def _turn(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            self._wake()  # the turn may have come with the end
            raise

    def _wake(self) -> None:
        free = int(self.rate.limit) - self.rate.in_flight
        while self._queue and free > 0:
            waiter = self._queue.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


def gate_of(judge: Judge) -> Gate:
    """Make the gate that a judge's specification asks for; its server's headers are minded."""
    spec, now = judge.spec, time.monotonic()
    rate = Rate(spec.concurrency, start=spec.concurrency_start, rpm=spec.rpm, tpm=spec.tpm, now=now)
    gate = Gate(rate)
    wire = getattr(judge, "wire", None)  # only judges that are asked over HTTP have one
    if wire is not None and spec.remote:
        wire.on_headers = gate.told
    return gate
