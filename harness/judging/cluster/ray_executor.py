"""Runs units of work on a Ray cluster; this process sends them out and shows the progress.

Plain actors serve better here than a map of Ray Data (docs/how-to/ray-cluster.md has the figures):
units are sent as places become free, a run that is stopped lets calls in flight end, and it starts
earlier. What was paid for is guarded by the shared store alone.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError, RunError
from harness.files import write_file
from harness.judging.cluster.ray_cluster import connected
from harness.judging.cluster.ray_worker import SIGHT_FILE, UnitWorker, WorkerDescription
from harness.judging.running.services import NotAsked
from harness.judging.storage.verdict_log import UnitKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.judging.cluster.ray_worker import FinishedUnits
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.requests import Unit
    from harness.judging.running.services import WorkUnit
    from harness.judging.running.session import JudgeRun, Session

ROOM = 64  # units that a worker holds beyond twice its calls in flight
IDLE_S = 0.2  # between looks for units that a dead worker held
RESTART_S = 0.5  # after a worker died; Ray starts it again


class RayExecutor:
    """An `Executor` over Ray actors: one per processor, at most one per call in flight.

    Parameters
    ----------
    session : Session
        Whose units are asked.
    description : WorkerDescription
        What the workers are made from; calls in flight are shared out among them.
    address : str or None
        Of the cluster; None starts Ray on this machine for the time of the run.
    """

    def __init__(
        self, session: Session, *, description: WorkerDescription, address: str | None
    ) -> None:
        self._session = session
        self._description = description
        self._address = address

    async def run(self, judges: Sequence[JudgeRun]) -> None:
        """Ask all open units of some judges."""
        token = secrets.token_hex()
        self._description = replace(self._description, token=token)
        async with connected(self._address) as ray:
            with _visible(self._description.log.with_name(SIGHT_FILE), token):
                await self._ask(judges, self._workers(ray))

    async def _ask(self, judges: Sequence[JudgeRun], workers: Sequence[_Worker]) -> None:
        await asyncio.gather(*(worker.call("start") for worker in workers))
        async with asyncio.TaskGroup() as group:
            for judge in judges:
                group.create_task(self._ask_all(judge, workers))
        closing = (worker.call("close") for worker in workers)
        await asyncio.gather(*closing, return_exceptions=True)

    def _workers(self, ray: Any) -> list[_Worker]:  # noqa: ANN401 -- Ray is imported late
        """Start the workers."""
        specs = self._description.specs
        n_cpus = int(ray.cluster_resources().get("CPU", 1))
        n = max(1, min(n_cpus, max(spec.concurrency for spec in specs)))
        actor = ray.remote(num_cpus=1, max_restarts=-1)(UnitWorker)
        workers = []
        for i in range(n):
            shares = [spec.concurrency // n + (i < spec.concurrency % n) for spec in specs]
            own = tuple(
                spec.model_copy(update={"concurrency": share})
                for spec, share in zip(specs, shares, strict=True)
                if share
            )
            description = replace(self._description, specs=own)
            rooms = {spec.name: 2 * spec.concurrency + ROOM for spec in own}
            workers.append(_Worker(actor.remote(description), rooms, ray.exceptions))
        return workers

    async def _ask_all(self, judge: JudgeRun, workers: Sequence[_Worker]) -> None:
        """Ask all open units of one judge."""
        asking = [worker for worker in workers if judge.name in worker.rooms]
        units = _OpenUnits(judge)
        stopping = asyncio.create_task(_stop_when_shut(judge, asking))
        try:
            async with asyncio.TaskGroup() as group:
                for worker in asking:
                    group.create_task(self._feed(judge, worker, units))
        finally:
            stopping.cancel()
        judge.end()

    async def _feed(self, judge: JudgeRun, worker: _Worker, units: _OpenUnits) -> None:
        """Send units to a worker and record what it returns, until none is open."""
        held: dict[Unit, WorkUnit] = {}
        room, done = worker.rooms[judge.name], self._session.done
        while True:
            batch = [] if judge.gate.is_shut else units.take(room - len(held))
            held.update((unit.unit(), unit) for unit in batch)
            if not held:
                if judge.gate.is_shut or units.are_finished:
                    return
                await asyncio.sleep(IDLE_S)
                continue
            try:
                attempts = _attempts(judge.name, batch, done) if done else {}
                finished = await worker.call("exchange", judge.name, batch, attempts)
            except worker.errors.RayActorError:
                units.put_back(held.values())
                held.clear()
                await asyncio.sleep(RESTART_S)
                continue
            self._record(judge, finished)
            for unit in finished.units:
                units.finish(held.pop(unit, None))

    def _record(self, judge: JudgeRun, finished: FinishedUnits) -> None:
        """Write the verdicts that a worker did not write itself, and show what was done."""
        session = self._session
        session.budget.exhausted |= finished.budget_is_spent
        session.budget.spent_usd += finished.cost_usd
        for failure in finished.failures:
            judge.count_failure(failure)
        if session.budget.exhausted:
            session.drain()
        if finished.verdicts:
            session.recorder.record(finished.verdicts)
        session.observer.counted(judge.name, finished.counts)


@contextmanager
def _visible(path: Path, token: str) -> Iterator[None]:
    """Write a token by which workers see that a folder is this one; it is removed in the end."""
    try:
        write_file(path, token.encode())
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror}).") from None
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def _attempts(
    judge: str, units: Iterable[WorkUnit], done: Mapping[UnitKey, Verdict]
) -> dict[Unit, int]:
    """Number the attempts at units that were attempted before."""
    previous = {unit.unit(): done.get(UnitKey(judge, *unit.unit())) for unit in units}
    return {unit: verdict.attempt + 1 for unit, verdict in previous.items() if verdict}


class _Worker:
    """An actor, and the units of each judge that it may hold."""

    def __init__(self, actor: Any, rooms: dict[str, int], errors: Any) -> None:  # noqa: ANN401
        self._actor = actor
        self.rooms = rooms
        self.errors = errors

    async def call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 -- as it returns
        """Call a method; errors of the harness are raised as they were there."""
        try:
            return await getattr(self._actor, method).remote(*arguments)
        except self.errors.RayTaskError as error:
            if isinstance(error.cause, HarnessError):
                raise error.cause from None
            raise


class _OpenUnits:
    """Open units of a judge, taken by several feeds; what a dead worker held comes back."""

    def __init__(self, judge: JudgeRun) -> None:
        self._units = judge.open_units()
        self._together = judge.job.samples if judge.judge.spec.n_per_request > 1 else 1
        self._returned: deque[WorkUnit] = deque()
        self._n_held = 0
        self._at_end = False

    @property
    def are_finished(self) -> bool:
        """Whether all were asked."""
        return self._at_end and not self._returned and not self._n_held

    def take(self, n: int) -> list[WorkUnit]:
        """Return at most ``n`` units; samples that one request may ask for stay together."""
        n -= n % self._together
        taken = [self._returned.popleft() for _ in range(min(n, len(self._returned)))]
        fresh = list(islice(self._units, n - len(taken)))
        self._at_end |= len(taken) + len(fresh) < n
        self._n_held += len(taken) + len(fresh)
        return taken + fresh

    def finish(self, unit: WorkUnit | None) -> None:
        """Note that a unit was asked; None if it was put back before."""
        self._n_held -= unit is not None

    def put_back(self, units: Iterable[WorkUnit]) -> None:
        """Take back units that were not finished."""
        n_before = len(self._returned)
        self._returned += units
        self._n_held -= len(self._returned) - n_before


async def _stop_when_shut(judge: JudgeRun, workers: Sequence[_Worker]) -> None:
    """Pass on that a judge is asked nothing more."""
    with suppress(NotAsked):
        while True:
            await judge.gate.sleep(3600)
    stopping = (worker.call("stop", judge.name) for worker in workers)
    await asyncio.gather(*stopping, return_exceptions=True)
