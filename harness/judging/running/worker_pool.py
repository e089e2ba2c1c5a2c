"""Asks units of work: per judge, as many workers as calls may be in flight."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.errors import NotAsked
from harness.judging.running.ask import LOCK_POLL_S, NOTICE_AFTER_S, Asker
from harness.judging.running.units import WorkUnit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence

    from harness.judging.running.ask import UnitOutcome
    from harness.judging.running.session import JudgeRun

LOOKUP_BATCH = 64  # units that are looked up and claimed at once, at least
CLAIMED_PER_PLACE = 4  # units that are claimed at once per call that may be in flight
WORKERS_PER_PLACE = 4  # most workers (calling or backing off) per call that may be in flight


class Pause(Enum):
    """What is yielded in place of a unit while others are asking for all that are left."""

    PAUSE = 0


PAUSE = Pause.PAUSE


async def ask_all(judge: JudgeRun) -> None:
    """Ask all open units of one judge."""
    async with asyncio.TaskGroup() as group:
        pool = WorkerPool(judge, group)
        pool.hire()
    pool.units.close()
    session = judge.session
    if session.store.shared_progress() is None:
        return
    if session.budget.exhausted:
        await session.others_paid()
    if session.budget.exhausted or judge.stop_reason:
        await pool.take_stored()


class WorkerPool:
    """Workers that take one judge's units from one iterator.

    As many work as calls may be in flight. While one backs off, another is hired in its place, up
    to a limit, so that waiting delays no other unit.
    """

    def __init__(self, judge: JudgeRun, group: asyncio.TaskGroup) -> None:
        spec, session = judge.judge.spec, judge.session
        self.units = self._units()
        self._judge = judge
        self._group = group
        self._concurrency = judge.gate.rate.ceiling
        self._samples_per_request = spec.n_per_request
        self._n_workers = self._n_waiting = 0
        self._places = Places(self._concurrency, judge.gate.sleep)
        self._n_claimed = max(LOOKUP_BATCH, CLAIMED_PER_PLACE * self._concurrency)
        self._waiting: deque[WorkUnit] = deque()  # others are asking for them
        self._left: list[WorkUnit] = []  # when nothing more was to be sent
        self._open_units = self._not_done()
        self._looked_s = self._noticed_s = float("-inf")
        self._asker = Asker(
            judge.judge,
            judge.reader,
            session.store,
            gate=judge.gate,
            budget=session.budget,
            retry=session.retry,
            sleep=self.sleep,
        )

    def hire(self) -> None:
        """Start one more worker, unless enough are at work."""
        at_work = self._n_workers - self._n_waiting
        most = self._concurrency * WORKERS_PER_PLACE
        if at_work < self._concurrency and self._n_workers < most:
            self._n_workers += 1
            self._group.create_task(self._work())

    async def sleep(self, seconds: float) -> None:
        """Wait; meanwhile another worker may take this one's place."""
        self._n_waiting += 1
        self.hire()
        try:
            await self._places.sleep(seconds)
        finally:
            self._n_waiting -= 1

    async def take_stored(self) -> None:
        """Record the units left whose replies are stored; nothing is asked."""
        recorder = self._judge.session.recorder
        left = [part for unit in self._left for part in unit.split()]
        while batch := [*left, *self._waiting, *islice(self._open_units, self._n_claimed)]:
            left.clear()
            self._waiting.clear()
            recorder.record(self._asker.stored_pairs(self._without_stored(batch)))
            await asyncio.sleep(0)

    async def _work(self) -> None:
        """Ask one unit after the other."""
        for unit in self.units:
            if isinstance(unit, Pause):
                if self._judge.session.recorder.is_idle:
                    await self._judge.session.budget.return_allowance()
                with suppress(NotAsked):
                    await self._judge.gate.sleep(LOCK_POLL_S)
            if self._judge.gate.is_shut:
                self._leave(unit)
                break
            if not isinstance(unit, WorkUnit):
                await asyncio.sleep(0)
                continue
            self.hire()
            async with self._places:
                await self.answer(unit)
            if self._n_workers - self._n_waiting > self._concurrency:
                break  # those that backed off are back
        self._n_workers -= 1

    async def answer(self, unit: WorkUnit) -> None:
        """Ask one unit and record its outcome."""
        recorder = self._judge.session.recorder
        recorder.begin()
        try:
            outcome = await self._asker.ask(unit)
        finally:
            recorder.end()
        if outcome.too_few:
            self._samples_per_request = 1
        await self._record(outcome)
        if not (outcome.verdicts or outcome.held_by):
            self._left.append(unit)
        for part in outcome.unanswered:
            if self._judge.gate.is_shut:
                self._left.append(part)
            else:
                await self.answer(part)

    async def _record(self, outcome: UnitOutcome) -> None:
        """Record an outcome, and stop the judge or the run if it demands that."""
        judge, session = self._judge, self._judge.session
        if outcome.failure is not None:
            judge.count_failure(outcome.failure)
        if outcome.held_by:
            judge.count_held([outcome.held_by])
        if session.budget.exhausted:
            session.drain()
        if outcome.verdicts:
            await session.recorder.record_soon(outcome.verdicts, outcome.received)
            judge.judge.recorded(outcome.received)

    def _not_done(self) -> Iterator[WorkUnit]:
        """Yield the units that the log does not answer; tell the observer about the others."""
        session = self._judge.session
        for unit in self._judge.job.open_units(session.done):
            if isinstance(unit, WorkUnit):
                yield unit
            else:
                session.observer.resumed(unit.judge, [unit])

    def _units(self) -> Generator[WorkUnit | Pause | None]:
        """Yield units that must be asked, and None now and then, to let other tasks run.

        Those whose reply is stored are recorded on the way. Those that others are asking for are
        looked at again later; while only such are left, `PAUSE` is yielded.
        """
        samples = self._judge.job.samples
        size = self._n_claimed // samples * samples or self._n_claimed  # keeps samples together
        while True:
            batch = [*self._waited_for(size), *islice(self._open_units, size)]
            if not batch and not self._waiting:
                return
            units = deque(grouped(self._claim(batch), self._samples_per_request))
            try:
                while units:
                    unit = units.popleft()
                    if len(unit.samples) > self._samples_per_request:  # fewer since it was grouped
                        units.extendleft(reversed(unit.split()))
                    else:
                        yield unit
            finally:
                for unit in units:
                    self._leave(unit)
            yield None if batch else PAUSE

    def _waited_for(self, n: int) -> list[WorkUnit]:
        """Take some units that others were asking for, unless they were just looked at."""
        now = time.monotonic()
        if not self._waiting or now - self._looked_s < LOCK_POLL_S:
            return []
        self._looked_s = now
        return [self._waiting.popleft() for _ in range(min(n, len(self._waiting)))]

    def _claim(self, batch: Sequence[WorkUnit]) -> list[WorkUnit]:
        """Look up and claim many units at once; return those to be asked. Pairs are not claimed."""
        if not batch:
            return []
        units = self._without_stored(batch)
        pairs = [unit for unit in units if unit.elicitation == "paired"]
        claims = self._asker.claim([u for u in units if u.elicitation != "paired"])
        if claims.stored:
            self._judge.session.recorder.record(self._asker.read_stored(claims.stored))
        if claims.held:
            self._judge.count_held(claims.held)
        self._wait_for(claims.waiting, is_progress=len(claims.waiting) < len(batch))
        return [*claims.claimed, *pairs]

    def _without_stored(self, units: Sequence[WorkUnit]) -> Sequence[WorkUnit]:
        """Record the units whose reply is stored; return the others and all pairs."""
        alone = [unit for unit in units if unit.elicitation != "paired"]
        stored = self._judge.session.store.get([unit.key for unit in alone])
        if not stored:
            return units
        answered, remaining = [], []
        for unit in units:
            reply = stored.get(unit.hashes[0]) if unit.elicitation != "paired" else None
            if reply is None:
                remaining.append(unit)
            else:
                answered.append((unit, reply))
        self._judge.session.recorder.record(self._asker.read_stored(answered))
        return remaining

    def _wait_for(self, units: Sequence[WorkUnit], *, is_progress: bool) -> None:
        """Put units aside that others are asking for, and say who is if nothing else happens."""
        self._waiting += units
        now = time.monotonic()
        if is_progress:
            self._noticed_s = now
        elif now - self._noticed_s > NOTICE_AFTER_S:
            self._noticed_s = now
            self._judge.session.store.report_holder(units[0].hashes[0])

    def _leave(self, unit: WorkUnit | Pause | None) -> None:
        """Set a unit aside that is not asked, and release its requests."""
        if not isinstance(unit, WorkUnit):
            return
        self._left.append(unit)
        if unit.claimed:
            self._judge.session.store.release(unit.hashes)


class Places(asyncio.Semaphore):
    """Places of calls that are sent or not recorded yet; one that backs off leaves its own.

    Parameters
    ----------
    n : int
        Number of places.
    sleep : callable
        How calls wait.
    """

    def __init__(self, n: int, sleep: Callable[[float], Awaitable[None]]) -> None:
        super().__init__(n)
        self._sleep = sleep

    async def sleep(self, seconds: float) -> None:
        """Wait; meanwhile another call may take this one's place."""
        self.release()
        try:
            await self._sleep(seconds)
        finally:
            await self.acquire()


def grouped(units: Sequence[WorkUnit], most: int) -> list[WorkUnit]:
    """Join units that differ in the sample alone, at most ``most`` at a time; pairs stay alone."""
    if most == 1:
        return list(units)
    groups: list[WorkUnit] = []
    for unit in units:
        group = groups[-1] if groups else None
        if (
            group is not None
            and group.request is unit.request
            and group.claimed
            and unit.claimed
            and len(group.samples) < most
            and unit.elicitation != "paired"
        ):
            groups[-1] = replace(
                group, samples=group.samples + unit.samples, hashes=group.hashes + unit.hashes
            )
        else:
            groups.append(unit)
    return groups
