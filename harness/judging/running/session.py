"""Session of a run: asks every judge every open unit with an executor.

Judges do not affect each other: each has its own rate limit, and one that fails stops alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.errors import RunError
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN
from harness.judging.prompts.requests import Unit
from harness.judging.running.local_executor import LocalExecutor
from harness.judging.running.open_files import open_files_limit, share_connections
from harness.judging.running.rate_limit import rate_gate
from harness.judging.running.retry import RetryPolicy
from harness.judging.running.services import WorkUnit
from harness.judging.storage.response_cache import CacheUnwritable
from harness.judging.storage.verdict_log import UnitKey, unit_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from harness.errors import CallFailed
    from harness.judging.judges.base import Judge
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Request
    from harness.judging.running.budget import CostBudget
    from harness.judging.running.rate_limit import RateEvent, RateGate
    from harness.judging.running.services import Cache, Executor, Job, Observer, Outcome
    from harness.judging.storage.verdict_log import VerdictLog
    from harness.tasks import Task
    from harness.tasks.schema import Elicitation

FLUSH_EVERY_S = 0.2  # how long a logged reply may wait to be stored
STORE_AGAIN_S = 0.5  # after a store on another machine was away
FLUSH_AGAIN_S = 5.0  # after a failure, which may have waited for a lock


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
    make_gate : callable
        Makes the rate limit of a judge; by default that of this process alone.
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
        make_gate: Callable[[Judge, RetryPolicy, int], RateGate] = rate_gate,
    ) -> None:
        self.make_gate = make_gate
        self.cache = cache
        self.observer = observer
        self.budget = budget
        self.retry = retry or RetryPolicy()
        self.task = task
        self.recorder = Recorder(log, cache, observer, self.drain)
        self.done = done
        ceilings = self._ceilings([job.judge.spec for job in jobs])
        self._judges = [JudgeRun(job, self, n) for job, n in zip(jobs, ceilings, strict=True)]
        self._executor = executor(self)

    def _ceilings(self, specs: Sequence[JudgeSpec]) -> list[int]:
        """Return how many calls of each judge may be in flight at most."""
        wanted = [spec.concurrency for spec in specs if spec.remote]
        connections = share_connections(wanted)
        if connections != wanted:
            self.observer.say(
                f"at most {sum(connections)} of {sum(wanted)} calls are in flight at once: this "
                f"process may open {open_files_limit()} files (ulimit -n)"
            )
        shares = iter(connections)
        return [next(shares) if spec.remote else spec.concurrency for spec in specs]

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
        flusher = asyncio.create_task(self.recorder.store_regularly())
        try:
            await self._executor.run(self._judges)
        except BaseExceptionGroup as errors:
            unwritten, others = errors.split(RunError)
            if unwritten is None or others is not None:
                raise
            raise _first_error(unwritten) from None
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
        self.recorder.stop_waiting()
        for judge in self._judges:
            judge.gate.shut()


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

    def __init__(self, job: Job, session: Session, ceiling: int) -> None:
        self.job = job
        self.judge = job.judge
        self.name = job.judge.spec.name
        spec = job.judge.spec
        self.reader = ReplyReader(
            session.task, spec.asking, job.orders, both_orders=bool(spec.both_orders)
        )
        self.session = session
        self.gate = session.make_gate(job.judge, session.retry, ceiling)
        self.stop_reason = ""
        self._varies = len(job.samples_alike) > 1
        self._waiting: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    def open_units(self) -> Iterator[WorkUnit]:
        """Yield units that the log does not answer, or answers to another request."""
        job, session = self.job, self.session
        for item, elicitation in job.questions():
            for sample, request, request_hash in self._requests(item.id, elicitation):
                unit = WorkUnit(item.id, elicitation, request, (sample,), (request_hash,))
                if not session.done:
                    yield unit
                    continue
                verdict = session.done.get(UnitKey(self.name, item.id, elicitation, sample))
                if verdict and _first_request(verdict) != request_hash:
                    verdict = None
                if verdict and verdict.outcome != "failed":
                    session.observer.resumed(self.name, [verdict])
                    continue
                first = verdict and verdict.first
                yield replace(unit, first=first, bought=True) if first else unit

    def _requests(self, item: str, elicitation: Elicitation) -> Iterator[tuple[int, Request, str]]:
        """Yield each sample with a request for it and the request's hash.

        Samples with the same prompt follow each other, so that one call may ask for them.
        """
        job = self.job
        if not self._varies:
            request = self.judge.request(Unit(item, elicitation)).for_look(job.look)
            for sample, request_hash in enumerate(request.hashes(job.samples)):
                yield sample, request, request_hash
            return
        alike: dict[str, list[Request]] = {}
        for sample in range(job.samples):
            request = self.judge.request(Unit(item, elicitation, sample)).for_look(job.look)
            alike.setdefault(request.cache_key, []).append(request)
        for requests in alike.values():
            for request in requests:
                yield request.sample, requests[0], request.hash

    def without_stored(self, units: Sequence[WorkUnit]) -> list[WorkUnit]:
        """Record the units whose reply is stored; return the others and all pairs."""
        alone = [unit for unit in units if unit.elicitation != "paired"]
        stored = self.session.cache.get_many([unit.key for unit in alone])
        if not stored:
            return list(units)
        answered, remaining = [], []
        for unit in units:
            reply = stored.get(unit.hashes[0]) if unit.elicitation != "paired" else None
            if reply is None:
                remaining.append(unit)
            else:
                answered.append((unit, reply))
        self.record_stored(answered)
        return remaining

    def record_stored(self, replies: Iterable[tuple[WorkUnit, Reply]]) -> None:
        """Record units whose reply is stored."""
        verdict, name = self.reader.verdict, self.name
        self.record([verdict(reply, unit.unit(), name, cached=True) for unit, reply in replies])

    def record(self, verdicts: Sequence[Verdict], received: Sequence[Reply] = ()) -> None:
        """Write verdicts to the log, and the replies received for them to the cache."""
        self.session.recorder.record(self._numbered(verdicts), received)

    def _numbered(self, verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        """Count how often units were attempted, over all sessions of the run."""
        if not (done := self.session.done):
            return verdicts
        previous = [done.get(unit_key(verdict)) for verdict in verdicts]
        return [
            replace(verdict, attempt=earlier.attempt + 1) if earlier else verdict
            for verdict, earlier in zip(verdicts, previous, strict=True)
        ]

    async def record_outcome(self, outcome: Outcome) -> None:
        """Record an outcome, and stop the judge or the run if it demands that."""
        if outcome.failure is not None:
            self.count_failure(outcome.failure)
        if outcome.command:
            self.count_pending([outcome.command])
        if self.session.budget.exhausted:
            self.session.drain()
        if outcome.verdicts:
            verdicts = self._numbered(outcome.verdicts)
            await self.session.recorder.record_soon(verdicts, outcome.received)

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
        if n_unreadable := self.gate.n_unreadable:
            observer.say(
                f"{self.name}: {n_unreadable} responses could not be read and were probably paid "
                "for; their cost is not counted"
            )
        if self._failures and not self.stop_reason:
            [(self.stop_reason, _)] = self._failures.most_common(1)
        observer.ended(self.name, self.stop_reason)


class Recorder:
    """Records verdicts: first in the log, then for the observer; their replies go to the cache.

    Parameters
    ----------
    log : VerdictLog
        Where verdicts are written; afterwards their replies are received.
    cache : Cache
        Where their replies are stored; the locks on their requests are released then.
    observer : Observer
        Receives what was written.
    stop : callable
        Called when the log cannot be written.
    """

    def __init__(
        self, log: VerdictLog, cache: Cache, observer: Observer, stop: Callable[[], None]
    ) -> None:
        self._log = log
        self._cache = cache
        self._observer = observer
        self._stop = stop
        self._unwritten: list[Verdict] = []
        self._received: list[Reply] = []  # for what is not written yet
        self._unstored: list[Reply] = []
        self._waiting: list[asyncio.Future[None]] = []  # for what they received to be stored
        self._has_waiting = asyncio.Event()
        self._may_wait = cache.write_through

    async def record_soon(self, verdicts: Sequence[Verdict], received: Sequence[Reply]) -> None:
        """Write verdicts in one call with all others that are recorded at the same time.

        Raises
        ------
        RunError
            Here and in `record`: if they cannot be written.
        """
        self._unwritten += verdicts
        self._received += received
        try:
            await asyncio.sleep(0)
        finally:
            self._write()
        if received and self._may_wait:
            stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(stored)
            self._has_waiting.set()
            await stored

    def record(self, verdicts: Sequence[Verdict], received: Sequence[Reply] = ()) -> None:
        """Write verdicts, and keep what was received for them to be stored."""
        self._unwritten += verdicts
        self._received += received
        self._write()

    def _write(self) -> None:
        if not (self._unwritten or self._received):
            return
        verdicts, self._unwritten = self._unwritten, []
        self._unstored += self._received  # even if the log is full: the cache may not be
        self._received = []
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
        self._resume(len(self._waiting))

    def _resume(self, n: int) -> None:
        for stored in self._waiting[:n]:
            if not stored.done():
                stored.set_result(None)
        del self._waiting[:n]

    async def store_regularly(self) -> None:
        """Store what is logged, so that other runs find the replies that they wait for.

        Replies are stored at once where others see no log of them, else at intervals.
        """
        if self._cache.write_through:
            await self._store_at_once()
        pause_s = FLUSH_EVERY_S
        while True:
            await asyncio.sleep(pause_s)
            pause_s = FLUSH_EVERY_S if self.flush() else FLUSH_AGAIN_S

    async def _store_at_once(self) -> None:
        while True:
            await self._has_waiting.wait()
            self._has_waiting.clear()
            n, n_waiting = len(self._unstored), len(self._waiting)
            if n:
                try:
                    await asyncio.to_thread(self._cache.add_many, self._unstored[:n])
                except RunError:
                    self._has_waiting.set()
                    await asyncio.sleep(STORE_AGAIN_S)
                    continue
                self._forget(n)
            self._resume(n_waiting)

    def _forget(self, n: int) -> None:
        """Release the first ``n`` replies, which are stored."""
        for reply in self._unstored[:n]:
            self._cache.locks.release(reply.request)
        del self._unstored[:n]

    def flush(self, *, last: bool = False) -> bool:
        """Store replies that are in the log; return False if that is not possible now."""
        if not self._unstored:
            return True
        try:
            self._cache.add_many(self._unstored)
        except CacheUnwritable as error:
            if last:
                self._observer.say(f"{error}; the replies are safe in {self._log.path}")
            return False
        self._forget(len(self._unstored))
        return True


def _first_request(verdict: Verdict) -> str:
    """Return the hash of the request that a unit begins with."""
    return verdict.first.request if verdict.first else verdict.request


def _first_error(errors: BaseExceptionGroup[RunError]) -> RunError:
    """Return the first error of a group of groups."""
    error = errors.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error
