"""A sitting of a run: asks every judge every open unit, with an executor of choice.

Judges do not affect each other: each has its own rate limit, and one that fails stops alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.errors import RunError
from harness.judging.parsing.verdict import Reader
from harness.judging.prompts.requests import Unit
from harness.judging.running.local_executor import LocalExecutor
from harness.judging.running.rate_limit import rate_gate
from harness.judging.running.recorder import Recorder
from harness.judging.running.retry import RetryPolicy
from harness.judging.running.services import WorkUnit
from harness.judging.storage.verdict_log import UnitKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from harness.errors import CallFailed
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.running.budget import CostBudget
    from harness.judging.running.rate_limit import RateEvent
    from harness.judging.running.services import Cache, Executor, Job, Observer, Outcome
    from harness.judging.storage.verdict_log import VerdictLog
    from harness.tasks import Task


class Session:
    """Asks judges what the log of a run does not answer.

    Parameters
    ----------
    task : Task
        Says how replies are read.
    jobs : sequence of Job
        One per judge.
    log : VerdictLog
        Where verdicts are written.
    cache : Cache
        Where replies are looked up first.
    done : mapping of UnitKey to Verdict
        What the log held when the session began. Failed units and units whose request has changed
        since are asked again.
    observer : Observer
        Watches.
    budget : CostBudget
        Of all judges together.
    retry : RetryPolicy, optional
        How calls are retried.
    executor : callable
        Makes the executor for a session; by default units run in this process.
    """

    def __init__(
        self,
        task: Task,
        jobs: Sequence[Job],
        *,
        log: VerdictLog,
        cache: Cache,
        done: Mapping[UnitKey, Verdict],
        observer: Observer,
        budget: CostBudget,
        retry: RetryPolicy | None = None,
        executor: Callable[[Session], Executor] = LocalExecutor,
    ) -> None:
        self.cache = cache
        self.observer = observer
        self.budget = budget
        self.retry = retry or RetryPolicy()
        self.reader = Reader(task)
        self.recorder = Recorder(log, cache, observer, self.drain)
        self._done = done
        self._judges = [JudgeRun(job, self) for job in jobs]
        self._executor = executor(self)

    async def run(self) -> dict[str, str]:
        """Ask until everything is asked or something ends it.

        Returns
        -------
        ends : dict of str to str
            Per judge, why it is incomplete; empty if it is complete.

        Raises
        ------
        RunError
            If verdicts can no longer be written, or the cache not be read.
        """
        flusher = asyncio.create_task(self.recorder.flush_regularly())
        try:
            await self._executor.run(self._judges)
        except* RunError as errors:
            raise _first_error(errors) from None
        finally:
            flusher.cancel()
            self.recorder.flush(last=True)
            await asyncio.gather(*(judge.judge.aclose() for judge in self._judges))
        return {judge.name: judge.stop_reason for judge in self._judges}

    @property
    def rate_history(self) -> dict[str, Sequence[RateEvent]]:
        """Changes in the rate of each remote judge, on the monotonic clock."""
        remote = (judge for judge in self._judges if judge.judge.spec.remote)
        return {judge.name: judge.gate.rate.history for judge in remote}

    def drain(self) -> None:
        """Send nothing more; what is in flight is still received."""
        for judge in self._judges:
            judge.gate.shut()

    def previous(self, judge: str, unit: Unit) -> Verdict | None:
        """Return the verdict on a unit that the log held when the session began."""
        return self._done.get(UnitKey(judge, *unit)) if self._done else None


class JudgeRun:
    """One judge during a session.

    Attributes
    ----------
    job : Job
        What it is asked.
    gate : RateGate
        Its rate limit; shut when it is asked nothing more.
    stop_reason : str
        Why it is incomplete; empty while it is not stopped.
    """

    def __init__(self, job: Job, session: Session) -> None:
        self.job = job
        self.judge = job.judge
        self.name = job.judge.spec.name
        self.session = session
        self.gate = rate_gate(job.judge)
        self.stop_reason = ""
        self._waiting: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def open_units(self) -> Iterator[WorkUnit]:
        """Yield units that the log does not answer, or answers to another request."""
        job, session = self.job, self.session
        for item, elicitation in job.questions():
            request = self.judge.request(Unit(item.id, elicitation))
            for sample, request_hash in enumerate(request.hashes(job.samples)):
                verdict = session.previous(self.name, Unit(item.id, elicitation, sample))
                if (
                    verdict
                    and verdict.outcome != "failed"
                    and _first_request(verdict) == request_hash
                ):
                    session.observer.resumed(self.name, [verdict])
                else:
                    yield WorkUnit(item.id, elicitation, request, (sample,), (request_hash,))

    def without_stored(self, units: Sequence[WorkUnit]) -> list[WorkUnit]:
        """Record the units whose reply is stored; return the others and all pairs."""
        alone = [unit for unit in units if unit.elicitation != "paired"]
        stored = self.session.cache.get_many([key for unit in alone for key in unit.keys])
        reader, name = self.session.reader, self.name
        verdicts = [
            reader.verdict(stored[unit.hashes[0]], unit.unit(), name, cached=True)
            for unit in alone
            if unit.hashes[0] in stored
        ]
        self.record(verdicts)
        return [
            unit for unit in units if unit.elicitation == "paired" or unit.hashes[0] not in stored
        ]

    def numbered(self, verdict: Verdict) -> Verdict:
        """Count how often a unit was attempted, over all sessions of the run."""
        unit = Unit(verdict.item, verdict.elicitation, verdict.sample)
        previous = self.session.previous(verdict.judge, unit)
        return replace(verdict, attempt=previous.attempt + 1) if previous else verdict

    def record(self, verdicts: Iterable[Verdict], received: Sequence[Reply] = ()) -> None:
        """Write verdicts to the log, and the replies received for them to the cache."""
        self.session.recorder.record(self.name, [self.numbered(v) for v in verdicts], received)

    async def record_outcome(self, outcome: Outcome) -> None:
        """Record an outcome, and stop the judge or the run if it demands that."""
        if outcome.failure is not None:
            self.count_failure(outcome.failure)
        if outcome.command:
            self.count_pending([outcome.command])
        if self.session.budget.exhausted:
            self.session.drain()
        if outcome.verdicts:
            verdicts = [self.numbered(verdict) for verdict in outcome.verdicts]
            await self.session.recorder.record_soon(self.name, verdicts, outcome.received)

    def stop(self, reason: str) -> None:
        """Ask this judge nothing more; calls that wait to be retried end."""
        self.stop_reason = self.stop_reason or reason
        self.gate.shut()

    def count_failure(self, failure: CallFailed) -> None:
        """Note a request that was given up; it may stop the judge."""
        if failure.stops_judge:
            self.stop(failure.reason)
        elif failure.retry:
            self._failures[failure.reason] += 1

    def count_pending(self, commands: Iterable[str]) -> None:
        """Note units in batches of other runs, by the commands that collect them."""
        self._waiting.update(commands)

    def end(self) -> None:
        """Tell the observer how this judge ended."""
        observer = self.session.observer
        for command, n in self._waiting.items():
            observer.say(
                f"{self.name}: {n} units wait in batches of another run and are not asked here; "
                f"first get them with `{command}`, then resume this run"
            )
            self.stop_reason = self.stop_reason or "in_a_batch"
        if self._failures and not self.stop_reason:
            [(self.stop_reason, _)] = self._failures.most_common(1)
        observer.ended(self.name, self.stop_reason)


def _first_request(verdict: Verdict) -> str:
    """Return the hash of the request that a unit begins with."""
    return verdict.first.request if verdict.first else verdict.request


def _first_error(errors: BaseExceptionGroup[RunError]) -> RunError:
    """Return the first error of a group of groups."""
    error = errors.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error
