"""Runs units of work in this process: per judge, as many workers as calls may be in flight."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from harness.judging.running.ask import ask_unit, claim_many
from harness.judging.running.services import Services

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from harness.judging.running.services import Clock, WorkUnit
    from harness.judging.running.session import JudgeRun, Session

LOOKUP_BATCH = 64  # units looked up in the store at once
CLAIMED_PER_PLACE = 4  # units locked at once on another machine, so that few commits are waited for
WORKERS_PER_PLACE = 4  # most workers (calling or backing off) per call that may be in flight


class LocalExecutor:
    """An `Executor` over asyncio: a pool of workers for each judge."""

    def __init__(self, session: Session) -> None:
        del session

    async def run(self, judges: Sequence[JudgeRun]) -> None:
        """Ask all open units of some judges."""
        async with asyncio.TaskGroup() as group:
            for judge in judges:
                group.create_task(self.ask_all(judge))

    async def ask_all(self, judge: JudgeRun) -> None:
        """Ask all open units of one judge."""
        async with asyncio.TaskGroup() as group:
            pool = WorkerPool(judge, group)
            pool.hire()
        pool.units.close()
        judge.end()


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
        self._places = Places(self._concurrency, judge.gate)
        is_far = session.cache.write_through
        self._n_claimed = max(LOOKUP_BATCH, CLAIMED_PER_PLACE * self._concurrency * is_far)
        self._services = Services(
            judge=judge.judge,
            reader=judge.reader,
            cache=session.cache,
            limiter=judge.gate,
            budget=session.budget,
            retry=session.retry,
            clock=self,
            deadline=Deadline(spec.deadline_s),
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

    async def _work(self) -> None:
        """Ask one unit after the other."""
        for unit in self.units:
            if self._judge.gate.is_shut:
                self._release(unit)
                break
            if unit is None:
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
        outcome = await ask_unit(unit, self._services)
        if outcome.too_few:
            self._samples_per_request = 1
        await self._judge.record_outcome(outcome)
        for part in outcome.unanswered:
            if not self._judge.gate.is_shut:
                await self.answer(part)

    def _units(self) -> Generator[WorkUnit | None]:
        """Yield units that must be asked, and None now and then, to let other tasks run.

        Those whose reply is stored are recorded on the way.
        """
        samples = self._judge.job.samples
        size = self._n_claimed // samples * samples or self._n_claimed  # keeps samples together
        open_units = self._judge.open_units()
        while batch := list(islice(open_units, size)):
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
                    self._release(unit)
            yield None

    def _claim(self, batch: Sequence[WorkUnit]) -> list[WorkUnit]:
        """Lock and look up many units at once; return those to be asked. Pairs are not locked."""
        judge = self._judge
        units = judge.without_stored(batch)
        pairs = [unit for unit in units if unit.elicitation == "paired"]
        claims = claim_many([u for u in units if u.elicitation != "paired"], self._services)
        judge.record_stored(claims.stored)
        judge.count_pending(command for _, command in claims.pending)
        return [*claims.units, *pairs]

    def _release(self, unit: WorkUnit | None) -> None:
        if unit is not None and unit.claimed:
            for request in unit.hashes:
                self._services.cache.locks.release(request)


class Places(asyncio.Semaphore):
    """Places of calls that are sent or not recorded yet; one that backs off leaves its own.

    Parameters
    ----------
    n : int
        Number of places.
    clock : Clock
        How calls wait.
    """

    def __init__(self, n: int, clock: Clock) -> None:
        super().__init__(n)
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        """Wait; meanwhile another call may take this one's place."""
        self.release()
        try:
            await self._clock.sleep(seconds)
        finally:
            await self.acquire()


class Deadline:
    """A context, for many tasks at once, that ends with `TimeoutError` after ``seconds``.

    `asyncio.timeout` has a timer for each call and takes 4 us of CPU, 3 % of what a request costs;
    this takes 0.4 us. A task that is cancelled for another reason stays cancelled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._ends: dict[asyncio.Task[Any], float] = {}  # in the order in which they end
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._ends[task] = time.monotonic() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._cancel_late)

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        task = asyncio.current_task(self._loop)
        assert task is not None
        if self._ends.pop(task, None) is not None:
            return
        if task.uncancel() == 0 and error_type is asyncio.CancelledError:
            raise TimeoutError

    def _cancel_late(self) -> None:
        self._timer = None
        while self._ends:
            task, end = next(iter(self._ends.items()))
            left_s = end - time.monotonic()
            if left_s > 0:
                self._timer = self._loop.call_later(left_s, self._cancel_late)
                break
            del self._ends[task]
            task.cancel()

    def __repr__(self) -> str:
        return f"Deadline({self._seconds:g} s, {len(self._ends)} calls)"


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
