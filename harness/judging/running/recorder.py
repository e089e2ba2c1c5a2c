"""Recorder: writes what comes back from judges to the log, then puts the replies into the store.

What comes back within a few milliseconds is written in one call and stored in one transaction.
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

GATHER_S = 0.003  # for which what comes back is gathered, while calls are in flight


class Observer(Protocol):
    """Watches a run: progress bars, plain lines, nobody."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Receive verdicts that were written to the log."""

    def progressed(self, progress: SharedProgress) -> None:
        """Receive periodic progress from all of a run's processes on a shared store."""

    def resumed(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """Receive verdicts that the log held from an earlier start of the run."""

    def ended(self, judge: str, reason: str) -> None:
        """Receive the end of a judge; ``reason`` is empty if it was asked everything."""

    def say(self, line: str) -> None:
        """Receive a line for the user."""

    def show(self, text: str) -> None:
        """Receive a text of a judge to be shown to the user: it is for no log."""


class NoObserver:
    """Watches nothing; base class of observers of less than everything."""

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
    """What is written in one call, and the replies that are stored with it."""

    verdicts: list[Verdict] = field(default_factory=list)
    received: list[Reply] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    error: RunError | None = None


class Recorder:
    """Records verdicts: first in the log, then in the store, then for the observer.

    A call ends when its reply is stored. If nothing more is to be sent, it does not wait for a
    store that is away.

    Parameters
    ----------
    log : VerdictLog
        Where verdicts are written; afterwards their replies are received.
    store : Store
        Where their replies are put.
    observer : Observer
        Receives what was written.
    stop : callable
        Called when the log cannot be written.
    done : mapping of UnitKey to Verdict
        What the log held before, from which attempts at a unit are counted on.

    Attributes
    ----------
    received_usd : float
        What the replies that were received have cost, as far as their costs are known.
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
        """Count a unit that is being asked: what came back may wait for it a moment."""
        self._n_asking += 1

    def end(self) -> None:
        """Count a unit that is no longer being asked."""
        self._n_asking -= 1
        if not self._n_asking and self._group is not None:
            asyncio.get_running_loop().call_soon(self._write_group)

    @property
    def is_idle(self) -> bool:
        """Whether no unit is being asked."""
        return not self._n_asking

    async def record_soon(self, verdicts: Sequence[Verdict], received: Sequence[Reply]) -> None:
        """Write verdicts together with what else comes back now, and store their replies.

        Raises
        ------
        RunError
            Here and in `record`: if they cannot be written, or the store refuses them.
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
        """Write verdicts whose replies are stored already."""
        if verdicts:
            self._write(self._numbered(verdicts))

    def _numbered(self, verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        """Count how often units were attempted, over all sessions of the run."""
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
        """Let calls end before their replies are stored, since nothing more is sent."""
        self._may_wait = False
        for group in self._storing.values():
            group.done.set()

    async def close(self) -> None:
        """Write and store what is left."""
        self._write_group()
        for storing in self._storing:
            storing.cancel()
        await asyncio.gather(*self._storing, return_exceptions=True)
        if problem := self._store.flush():
            self._observer.say(f"{problem}; the replies are safe in {self._log.path}")

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
