"""Turns of calls to servers that may ignore the token limit of a request, under a limit of cost.

What such a server bills is known only when its reply is there. So that no more than one reply of
unknown length is in flight, the first calls of all judges are sent one after another.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from harness.tasks.item import Elicitation


class Trial(NamedTuple):
    """What a first call tests: a judge that keeps its choices short may write long sets."""

    judge: str
    elicitation: Elicitation


class CapTrials:
    """Admits calls of one run: first calls alone, then as many as replies kept to their limit.

    So a judge has 1, 2, 4, ... calls in flight, and one that ignores its limit in some replies is
    found out by about one of them.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # of first calls
        self._places: dict[Trial, asyncio.Semaphore] = {}
        self._kept: set[Trial] = set()

    @asynccontextmanager
    async def admit(self, trial: Trial | None) -> AsyncIterator[bool]:
        """Wait until a call may be sent; yield whether it is a first one.

        ``trial`` is None for a call that cannot cost more than its reserve.
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
        """Note a reply within its limit, which allows one more call in flight."""
        if trial is not None:
            self._kept.add(trial)
            self._places[trial].release()
