"""Recorder: writes what comes back from judges to the log, then puts the replies into the store.

What comes back within a few milliseconds is written in one call and stored in one transaction.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.errors import RunError
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.running.services import Observer, Store
    from harness.judging.storage.verdict_log import VerdictLog

GATHER_S = 0.003  # for which what comes back is gathered, while calls are in flight


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
    """

    def __init__(
        self, log: VerdictLog, store: Store, observer: Observer, stop: Callable[[], None]
    ) -> None:
        self._log = log
        self._store = store
        self._observer = observer
        self._stop = stop
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
        group.verdicts += verdicts
        group.received += received
        await group.done.wait()
        if group.error is not None:
            raise group.error

    def record(self, verdicts: Sequence[Verdict]) -> None:
        """Write verdicts whose replies are stored already."""
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
            self.record(group.verdicts)
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
