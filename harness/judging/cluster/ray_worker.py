"""Actor of Ray that asks units of work; secrets are never sent to it.

Judges are built from their specifications and keep their connections. What was paid for is guarded
by the shared store: a reply is stored before its unit is finished, and without its driver a worker
sends nothing. A worker that sees the run folder writes its verdicts to a part of the log; otherwise
it returns them.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace as replace_fields

from harness.errors import RunError
from harness.files import read_file
from harness.judging.cluster import open_store, session_limits
from harness.judging.judges.judge_registry import build, check, reader_of
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN
from harness.judging.prompts.requests import Prompts, Unit
from harness.judging.running.ask import ask_unit, claim_many
from harness.judging.running.local_executor import Deadline, Places, grouped
from harness.judging.running.services import Counts, NoObserver, Outcome, Services
from harness.judging.running.session import Recorder
from harness.judging.storage.verdict_log import VerdictLog, open_part
from harness.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.errors import CallFailed
    from harness.judging.judges.base import Judge
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.demonstrations import Demonstrations
    from harness.judging.prompts.presentation_orders import OptionOrders
    from harness.judging.prompts.templates import Template
    from harness.judging.running.rate_limit import RateGate
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.running.services import WorkUnit

GATHER_S = 0.02  # for which finished units are gathered before they are returned
LONGEST_EXCHANGE_S = 1.0
SIGHT_FILE = "workers.seen"  # in the run folder: who reads there what the driver wrote sees it


@dataclass(frozen=True, slots=True)
class WorkerDescription:
    """What a worker is made from.

    The task is without items and ratings, judges have the calls in flight of one worker, and their
    keys are named by environment variable. ``driver`` is the lease of the process that started the
    run, ``log`` its verdict log, and ``token`` the content of `SIGHT_FILE` beside that.
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
    max_cost_soft: bool
    log: Path
    token: str = ""


def without_items(task: Task) -> Task:
    """Return what judges need to know of a task; the texts of items stand in requests."""
    fields = {name: getattr(task, name) for name in Task.model_fields}
    return Task.model_construct(**fields | {"items": (), "ratings": (), "ignored": ()})


@dataclass(slots=True)
class FinishedUnits:
    """Units that were asked, as they are returned to the driver; their replies are stored.

    Nothing more will come of ``units``. Verdicts are to be written; if the worker writes them,
    there are counts in their place. The cost is that of the replies received, where it is known.
    """

    units: list[Unit] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    cost_usd: float = 0.0
    failures: list[CallFailed] = field(default_factory=list)
    budget_is_spent: bool = False


class UnitWorker:
    """Asks the units of work that it is sent, as many at once as its judges allow."""

    def __init__(self, description: WorkerDescription) -> None:
        self._description = description
        self._judges: dict[str, WorkerJudge] = {}

    async def start(self) -> None:
        """Open the store and build the judges, unless that was done; Ray restarts dead workers."""
        if self._judges:
            return
        description = self._description
        for spec in description.specs:
            check(spec, description.task)
        longest_call_s = max(spec.deadline_s for spec in description.specs)
        self._store = open_store(
            description.store, description.run, longest_call_s, driver=description.driver
        )
        limits = session_limits(
            self._store, description.max_cost, is_soft=description.max_cost_soft
        )
        self._budget = limits["budget"]
        log = _open_log(description)
        self._recorder = Recorder(
            cast("VerdictLog", log), self._store, NoObserver(), self._stop_all
        )
        self._log = log
        self._storing = asyncio.create_task(self._recorder.store_regularly())
        for spec in description.specs:
            services = self._services(spec, limits["make_gate"])
            self._judges[spec.name] = WorkerJudge(
                services, self._recorder, writes=isinstance(log, VerdictLog)
            )

    async def exchange(
        self, judge: str, units: Sequence[WorkUnit], attempts: Mapping[Unit, int]
    ) -> FinishedUnits:
        """Take units of a judge and return what is finished, as soon as there is anything.

        After `LONGEST_EXCHANGE_S` that may be nothing. ``attempts`` are the numbers of units that
        were attempted before.
        """
        await self.start()
        finished = await self._judges[judge].exchange(units, attempts)
        if not any(judge.is_asking for judge in self._judges.values()):
            await self._budget.return_allowance()
        finished.budget_is_spent = self._budget.exhausted
        return finished

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
            self._log.close()

    def _stop_all(self) -> None:
        for judge in self._judges.values():
            judge.stop()

    def _services(
        self, spec: JudgeSpec, make_gate: Callable[[Judge, RetryPolicy, int], RateGate]
    ) -> Services:
        d = self._description
        prompts = Prompts(d.task, d.templates, d.demonstrations, d.orders)
        judge = build(spec, d.task, prompts, seed=d.seed)
        gate = make_gate(judge, d.retry, spec.concurrency)
        return Services(
            judge=judge,
            reader=reader_of(spec, d.task, d.orders),
            cache=self._store,
            limiter=gate,
            budget=self._budget,
            retry=d.retry,
            clock=gate,
            deadline=Deadline(spec.deadline_s),
        )


class WorkerJudge:
    """One judge in a worker: asks units as they come and keeps them until they are fetched.

    ``writes`` says whether the recorder writes verdicts to a log; otherwise they are returned.
    """

    def __init__(self, services: Services, recorder: Recorder, *, writes: bool) -> None:
        self._places = Places(services.judge.spec.concurrency, services.clock)
        self._services = replace(services, clock=self._places)
        self._recorder = recorder
        self._samples_per_request = services.judge.spec.n_per_request
        self._writes = writes
        self._attempts: dict[Unit, int] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._finished = FinishedUnits()
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

    async def exchange(
        self, units: Sequence[WorkUnit], attempts: Mapping[Unit, int]
    ) -> FinishedUnits:
        """Take units and return what is finished; see `UnitWorker.exchange`."""
        self._attempts |= attempts
        self._accept(units)
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_EXCHANGE_S):
                await self._has_finished.wait()
                await asyncio.sleep(GATHER_S)
        if self._error is not None:
            raise self._error
        self._has_finished.clear()
        finished, self._finished = self._finished, FinishedUnits()
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
        if claims.stored:
            stored = [verdict(r, unit.unit(), name, cached=True) for unit, r in claims.stored]
            outcome = self._numbered(Outcome(stored))
            self._recorder.record(outcome.verdicts)
            self._note([unit.unit() for unit, _ in claims.stored], outcome)
        for unit in (*grouped(claims.units, self._samples_per_request), *pairs):
            task = asyncio.create_task(self._ask(unit))
            self._asking.add(task)
            task.add_done_callback(self._end)

    async def _ask(self, unit: WorkUnit) -> None:
        """Ask a unit and what is to be asked after it; each reply is stored before it counts."""
        async with self._places:
            outcome = self._numbered(await ask_unit(unit, self._services))
            if outcome.too_few:
                self._samples_per_request = 1
            await self._recorder.record_soon(outcome.verdicts, outcome.received)
        later = {part for unanswered in outcome.unanswered for part in _parts(unanswered)}
        self._note([part for part in _parts(unit) if part not in later], outcome)
        for unanswered in outcome.unanswered:
            await self._ask(unanswered)

    def _numbered(self, outcome: Outcome) -> Outcome:
        """Return an outcome whose verdicts say how often their unit was attempted."""
        if not self._attempts:
            return outcome
        attempts = self._attempts
        verdicts = [
            replace_fields(v, attempt=attempts.get(Unit(v.item, v.elicitation, v.sample), 1))
            for v in outcome.verdicts
        ]
        return outcome._replace(verdicts=verdicts)

    def _note(self, units: Sequence[Unit], outcome: Outcome) -> None:
        """Note what was recorded, for the driver."""
        finished = self._finished
        finished.units += units
        if self._writes:
            finished.counts = _sum(finished.counts, outcome)
        else:
            finished.verdicts += outcome.verdicts
        finished.cost_usd += sum(reply.cost_usd or 0.0 for reply in outcome.received)
        if outcome.failure is not None:
            finished.failures.append(outcome.failure)
        for unit in units if self._attempts else ():
            self._attempts.pop(unit, None)
        self._has_finished.set()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = error
            self._has_finished.set()


def _parts(unit: WorkUnit) -> tuple[Unit, ...]:
    """Return the units of all samples of a unit of work."""
    return tuple(unit.unit(position) for position in range(len(unit.samples)))


def _sum(counts: Counts, outcome: Outcome) -> Counts:
    """Return counts with those of an outcome; the first turn of a pair is no verdict yet."""
    verdicts = [v for v in outcome.verdicts if v.reason != AWAITS_SECOND_TURN]
    costs = [counts.cost_usd, *(reply.cost_usd for reply in outcome.received)]
    priced = [cost_usd for cost_usd in costs if cost_usd is not None]
    return Counts(
        counts.n + len(verdicts),
        counts.n_failed + sum(v.outcome == "failed" for v in verdicts),
        counts.n_cached + sum(v.cached for v in verdicts),
        sum(priced) if len(priced) == len(costs) else None,
    )


def _open_log(description: WorkerDescription) -> VerdictLog | _NoLog:
    """Open a part of the run's log where this machine sees the run folder."""
    path, expected = description.log.with_name(SIGHT_FILE), description.token.encode()
    with suppress(OSError, RunError):
        if read_file(path, len(expected)) == expected:
            return open_part(description.log)
    return _NoLog(description.log)


class _NoLog:
    """Log of a worker that does not see the run folder: its verdicts are returned."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, verdicts: Iterable[Verdict]) -> None:
        """Discard verdicts."""

    def close(self) -> None:
        """Do nothing."""
