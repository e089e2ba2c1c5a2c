"""Trial calls, under a cost limit, to servers that may ignore a request's token limit.

The cost of such a call is known only after its reply. The first calls of all judges are sent one
after another, so that at most one reply of unknown length is in flight.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from harness.tasks.item import Elicitation


class Trial(NamedTuple):
    """Subject of a first call: a judge whose choices are short can still write long sets."""

    judge: str
    elicitation: Elicitation


class CapTrials:
    """Admission of a run's calls: first calls one at a time, then one more per compliant reply.

    A judge therefore has 1, 2, 4, ... calls in flight, and about one reply is enough to detect a
    judge that ignores its limit in some replies.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # of first calls
        self._places: dict[Trial, asyncio.Semaphore] = {}
        self._kept: set[Trial] = set()

    @asynccontextmanager
    async def admit(self, trial: Trial | None) -> AsyncIterator[bool]:
        """Wait until a call may be sent; yield whether it is a first call.

        ``trial`` is None for a call that can't cost more than its reservation.
        """
        if trial is None:
            yield False
            return
        async with self._places.setdefault(trial, asyncio.Semaphore(1)):
            if trial in self._kept:
                yield False
                return
            async with self._turn:
                yield True

    def keep(self, trial: Trial | None) -> None:
        """Note a reply within its limit, which permits one more call in flight."""
        if trial is not None:
            self._kept.add(trial)
            self._places[trial].release()
