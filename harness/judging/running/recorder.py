"""Recorder that writes judges' replies to the log, then stores them.

Replies that arrive within a few milliseconds are written in one call and stored in one transaction.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from harness.errors import RunError
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN
from harness.judging.storage.verdict_log import unit_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.storage.reply_store import SharedProgress, Store
    from harness.judging.storage.verdict_log import UnitKey, VerdictLog

GATHER_S = 0.003  # time for which arriving replies are gathered while calls are in flight


class Observer(Protocol):
    """Observer of a run, such as a progress bar."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Receive verdicts that were written to the log."""

    def progressed(self, progress: SharedProgress) -> None:
        """Receive periodic progress from all of a run's processes on a shared store."""

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Receive verdicts that earlier sessions of the run wrote to the log."""

    def ended(self, judge: str, reason: str) -> None:
        """Receive the end of a judge. ``reason`` is empty if the judge completed everything."""

    def say(self, line: str) -> None:
        """Receive a line for the user."""

    def show(self, text: str) -> None:
        """Receive text from a judge to show to the user. This text must not be logged."""


class NoObserver:
    """Observer that ignores everything, and a base class for partial observers."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Do nothing."""

    def progressed(self, progress: SharedProgress) -> None:
        """Do nothing."""

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Do nothing."""

    def ended(self, judge: str, reason: str) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""

    def show(self, text: str) -> None:
        """Do nothing."""


@dataclass(eq=False, slots=True)
class _Group:
    """Verdicts to write together, with the replies to store."""

    verdicts: list[Verdict] = field(default_factory=list)
    received: list[Reply] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    error: RunError | None = None


class Recorder:
    """Recorder of verdicts: first in the log, then in the store, then with the observer.

    A call ends when its reply is stored. Once no more requests are sent, calls do not wait for an
    unreachable store.

    Parameters
    ----------
    log : VerdictLog
        Log to write verdicts to. After that, their replies count as received.
    store : Store
        Store for their replies.
    observer : Observer
        Receives verdicts after they are written.
    stop : callable
        Called if the log cannot be written.
    done : mapping of UnitKey to Verdict
        Earlier contents of the log, from which the count of attempts at a unit continues.

    Attributes
    ----------
    received_usd : float
        Total known cost of the received replies.
    """

    def __init__(
        self,
        log: VerdictLog,
        store: Store,
        observer: Observer,
        stop: Callable[[], None],
        done: Mapping[UnitKey, Verdict] = MappingProxyType({}),
    ) -> None:
        self._log = log
        self._store = store
        self._observer = observer
        self._stop = stop
        self._done = done
        self.received_usd = 0.0
        self._n_asking = 0
        self._group: _Group | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._storing: dict[asyncio.Task[None], _Group] = {}
        self._may_wait = True

    def begin(self) -> None:
        """Add one to the number of units in progress, whose replies others can wait for."""
        self._n_asking += 1

    def end(self) -> None:
        """Subtract one from the number of units in progress."""
        self._n_asking -= 1
        if not self._n_asking and self._group is not None:
            asyncio.get_running_loop().call_soon(self._write_group)

    @property
    def is_idle(self) -> bool:
        """Return whether no units are in progress."""
        return not self._n_asking

    async def record_soon(self, verdicts: Sequence[Verdict], received: Sequence[Reply]) -> None:
        """Write verdicts, together with others that arrive now, and store their replies.

        Raises
        ------
        RunError
            If the verdicts cannot be written, or the store rejects the replies; also in `record`.
        """
        if self._group is None:
            self._group = _Group()
            loop = asyncio.get_running_loop()
            if self._n_asking:
                self._timer = loop.call_later(GATHER_S, self._write_group)
            else:
                loop.call_soon(self._write_group)
        group = self._group
        group.verdicts += self._numbered(verdicts)
        group.received += received
        for reply in received:
            self.received_usd += reply.cost_usd or 0.0
        await group.done.wait()
        if group.error is not None:
            raise group.error

    def record(self, verdicts: Sequence[Verdict]) -> None:
        """Write verdicts whose replies were already stored."""
        if verdicts:
            self._write(self._numbered(verdicts))

    def _numbered(self, verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        """Set each verdict's attempt number, counting all sessions of the run."""
        if not (done := self._done):
            return verdicts
        previous = [done.get(unit_key(verdict)) for verdict in verdicts]
        return [
            replace(verdict, attempt=earlier.attempt + 1) if earlier else verdict
            for verdict, earlier in zip(verdicts, previous, strict=True)
        ]

    def _write(self, verdicts: Sequence[Verdict]) -> None:
        try:
            self._log.append(verdicts)
        except RunError:
            self._stop()
            raise
        final: dict[str, list[Verdict]] = {}
        for verdict in verdicts:
            if verdict.reason != AWAITS_SECOND_TURN:
                final.setdefault(verdict.judge, []).append(verdict)
        for judge, group in final.items():
            self._observer.advanced(judge, group)

    def stop_waiting(self) -> None:
        """Let calls end before their replies are stored, because sending has stopped."""
        self._may_wait = False
        for group in self._storing.values():
            group.done.set()

    async def close(self) -> None:
        """Write the remaining verdicts and store their replies."""
        self._write_group()
        for storing in self._storing:
            storing.cancel()
        await asyncio.gather(*self._storing, return_exceptions=True)
        if problem := self._store.flush():
            self._observer.say(f"{problem}. The replies are safe in {self._log.path}")

    def _write_group(self) -> None:
        group, self._group = self._group, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if group is None:
            return
        try:
            self._write(group.verdicts)
        except RunError as error:
            group.error = error
        if not group.received:
            group.done.set()
            return
        storing = asyncio.ensure_future(self._put(group))  # even if the log is full
        self._storing[storing] = group
        storing.add_done_callback(self._storing.pop)
        if not self._may_wait:
            group.done.set()

    async def _put(self, group: _Group) -> None:
        try:
            await self._store.put(group.received)
        except RunError as error:
            group.error = group.error or error
            self._stop()
        finally:
            group.done.set()
