"""Actor of Ray that asks units of work; secrets are never sent to it.

Judges are built from their specifications and keep their connections. What was paid for is guarded
by the shared store: a reply is stored before it is returned, and without its driver a worker sends
nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from harness.judging.cluster import open_store, session_limits
from harness.judging.judges.judge_registry import build, check, shuffles
from harness.judging.parsing.verdict import Reader
from harness.judging.prompts.requests import Prompts
from harness.judging.running.ask import ask_unit, claim_many
from harness.judging.running.local_executor import Deadline, Places, grouped
from harness.judging.running.services import Outcome, Services
from harness.judging.running.session import Recorder
from harness.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.judging.judges.base import Judge
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.demonstrations import Demonstrations
    from harness.judging.prompts.presentation_orders import OptionOrders
    from harness.judging.prompts.requests import Unit
    from harness.judging.prompts.templates import Template
    from harness.judging.running.rate_limit import RateGate
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.running.services import WorkUnit

GATHER_S = 0.02  # for which finished units are gathered before they are returned
LONGEST_EXCHANGE_S = 1.0


@dataclass(frozen=True, slots=True)
class WorkerDescription:
    """What a worker is made from.

    Attributes
    ----------
    task : Task
        Without items and ratings.
    specs : tuple of JudgeSpec
        With the calls in flight of one worker; keys are named by environment variable.
    store, run, driver : str
        Address of the shared store, name of the run, and lease of the process that started it.
    """

    task: Task
    specs: tuple[JudgeSpec, ...]
    templates: Mapping[str, Template]
    demonstrations: Demonstrations | None
    orders: OptionOrders | None
    seed: int
    retry: RetryPolicy
    store: str
    run: str
    driver: str
    max_cost: float | None


def without_items(task: Task) -> Task:
    """Return what judges need to know of a task; the texts of items stand in requests."""
    fields = {name: getattr(task, name) for name in Task.model_fields}
    return Task.model_construct(**fields | {"items": (), "ratings": (), "ignored": ()})


class FinishedUnits(NamedTuple):
    """Units that were asked, as they are returned to the driver.

    Attributes
    ----------
    units : tuple of Unit
        Those of which nothing more will come.
    outcome : Outcome
        What is to be recorded; its replies are stored already.
    cost_usd : float
        Cost of the replies that were received.
    """

    units: tuple[Unit, ...]
    outcome: Outcome
    cost_usd: float


class UnitWorker:
    """Asks the units of work that it is sent, as many at once as its judges allow."""

    def __init__(self, description: WorkerDescription) -> None:
        self._description = description
        self._judges: dict[str, WorkerJudge] = {}

    async def start(self) -> None:
        """Open the store and build the judges, unless that was done; Ray restarts dead workers.

        Raises
        ------
        HarnessError
            If the store or a judge cannot be used on this machine.
        """
        if self._judges:
            return
        description = self._description
        for spec in description.specs:
            check(spec, description.task)
        longest_call_s = max(spec.deadline_s for spec in description.specs)
        self._store = open_store(
            description.store, description.run, longest_call_s, driver=description.driver
        )
        limits = session_limits(self._store, description.max_cost)
        self._budget = limits["budget"]
        silent = cast("Any", _NoLog())
        self._recorder = Recorder(silent, self._store, silent, lambda: None)
        self._storing = asyncio.create_task(self._recorder.store_regularly())
        for spec in description.specs:
            services = self._services(spec, limits["make_gate"])
            self._judges[spec.name] = WorkerJudge(services, self._recorder)

    async def exchange(
        self, judge: str, units: Sequence[WorkUnit]
    ) -> tuple[list[FinishedUnits], bool]:
        """Take units of a judge and return those that are finished, as soon as there are any.

        Returns
        -------
        finished : list of FinishedUnits
            Empty after `LONGEST_EXCHANGE_S`.
        exhausted : bool
            Whether the budget of the run is spent.
        """
        await self.start()
        finished = await self._judges[judge].exchange(units)
        if not any(judge.is_asking for judge in self._judges.values()):
            await self._budget.return_allowance()
        return finished, self._budget.exhausted

    async def stop(self, judge: str) -> None:
        """Ask a judge nothing more; calls in flight end."""
        if self._judges:
            self._judges[judge].stop()
            if all(of_judge.is_stopped for of_judge in self._judges.values()):
                self._budget.stop()

    async def close(self) -> None:
        """Release everything."""
        if self._judges:
            self._storing.cancel()
            self._recorder.flush(last=True)
            await asyncio.gather(*(judge.close() for judge in self._judges.values()))
            self._store.close()

    def _services(
        self, spec: JudgeSpec, make_gate: Callable[[Judge, RetryPolicy, int], RateGate]
    ) -> Services:
        d = self._description
        prompts = Prompts(d.task, d.templates, d.demonstrations, d.orders)
        judge = build(spec, d.task, prompts, seed=d.seed)
        gate = make_gate(judge, d.retry, spec.concurrency)
        return Services(
            judge=judge,
            reader=Reader(
                d.task,
                spec.strategy,
                d.orders if shuffles(spec) else None,
                both_orders=bool(spec.both_orders),
            ),
            cache=self._store,
            limiter=gate,
            budget=self._budget,
            retry=d.retry,
            clock=gate,
            deadline=Deadline(spec.deadline_s),
        )


class WorkerJudge:
    """One judge in a worker: asks units as they come and keeps them until they are fetched."""

    def __init__(self, services: Services, recorder: Recorder) -> None:
        self._places = Places(services.judge.spec.concurrency, services.clock)
        self._services = replace(services, clock=self._places)
        self._recorder = recorder
        self._samples_per_request = services.judge.spec.n_per_request
        self._asking: set[asyncio.Task[None]] = set()
        self._finished: list[FinishedUnits] = []
        self._has_finished = asyncio.Event()
        self._error: BaseException | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing more is sent."""
        return cast("RateGate", self._services.limiter).is_shut

    @property
    def is_asking(self) -> bool:
        """Whether units are being asked."""
        return bool(self._asking)

    async def exchange(self, units: Sequence[WorkUnit]) -> list[FinishedUnits]:
        """Take units and return those that are finished; see `UnitWorker.exchange`."""
        self._accept(units)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_EXCHANGE_S):
                await self._has_finished.wait()
                await asyncio.sleep(GATHER_S)
        if self._error is not None:
            raise self._error
        self._has_finished.clear()
        finished, self._finished = self._finished, []
        return finished

    def stop(self) -> None:
        """Send nothing more."""
        cast("RateGate", self._services.limiter).shut()

    async def close(self) -> None:
        """Close connections."""
        for task in self._asking:
            task.cancel()
        await self._services.judge.aclose()

    def _accept(self, units: Sequence[WorkUnit]) -> None:
        """Lock and look up many units at once; begin to ask those that are not stored."""
        pairs = [unit for unit in units if unit.elicitation == "paired"]
        alone = [unit for unit in units if unit.elicitation != "paired"]
        claims = claim_many(alone, self._services)
        verdict, name = self._services.reader.verdict, self._services.judge.spec.name
        for unit, reply in claims.stored:
            stored = verdict(reply, unit.unit(), name, cached=True)
            self._note(FinishedUnits(_parts(unit), Outcome([stored]), 0.0))
        for unit in (*grouped(claims.units, self._samples_per_request), *pairs):
            task = asyncio.create_task(self._ask(unit))
            self._asking.add(task)
            task.add_done_callback(self._end)

    async def _ask(self, unit: WorkUnit) -> None:
        """Ask a unit and what is to be asked after it; each reply is stored before it counts."""
        async with self._places:
            outcome = await ask_unit(unit, self._services)
            if outcome.too_few:
                self._samples_per_request = 1
            await self._recorder.record_soon((), outcome.received)
        later = {part for unanswered in outcome.unanswered for part in _parts(unanswered)}
        cost_usd = sum(reply.cost_usd or 0.0 for reply in outcome.received)
        units = tuple(part for part in _parts(unit) if part not in later)
        kept = outcome._replace(received=(), unanswered=())
        self._note(FinishedUnits(units, kept, cost_usd))
        for unanswered in outcome.unanswered:
            await self._ask(unanswered)

    def _note(self, finished: FinishedUnits) -> None:
        self._finished.append(finished)
        self._has_finished.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error
            self._has_finished.set()


def _parts(unit: WorkUnit) -> tuple[Unit, ...]:
    """Return the units of all samples of a unit of work."""
    return tuple(unit.unit(position) for position in range(len(unit.samples)))


class _NoLog:
    """Log and observer of a worker: the driver writes the verdicts and shows the progress."""

    path = Path("verdicts.jsonl")

    def append(self, verdicts: Iterable[Verdict]) -> None:
        """Discard verdicts."""

    def say(self, line: str) -> None:
        """Do nothing."""
