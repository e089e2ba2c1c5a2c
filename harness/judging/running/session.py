"""Session of a run: asks every judge every open unit.

Judges do not affect each other: each has its own rate limit, and one that fails stops alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import RunError
from harness.judging.judges.parameter_refusals import REFUSED
from harness.judging.judges.response_errors import UNREADABLE, is_lasting
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.running.asker import NOTICE_AFTER_S, ask_all
from harness.judging.running.cap_trials import CapTrials
from harness.judging.running.first_replies import N_FIRST, FirstReplies
from harness.judging.running.open_files import open_files_limit, share_connections
from harness.judging.running.rate_limit import rate_gate
from harness.judging.running.recorder import Recorder
from harness.judging.running.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.errors import CallFailed
    from harness.judging.judges.base import Judge
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.budget import CostBudget
    from harness.judging.running.rate_limit import RateEvent, RateGate
    from harness.judging.running.recorder import Observer
    from harness.judging.running.units import Job
    from harness.judging.storage.reply_store import Store
    from harness.judging.storage.verdict_log import UnitKey, VerdictLog
    from harness.tasks import Task

MOST_REFUSALS = 5  # for the same reason
PROGRESS_EVERY_S = 1.0
OTHERS_EVERY_S = 0.2


class SessionLimits(NamedTuple):
    """Budget of a session, rate limits of its judges, and how calls are retried.

    Unless it is to ``keep_going``, a judge stops whose first replies cannot be read. Their texts
    are shown only if the session ``shows_text``.
    """

    budget: CostBudget
    make_gate: Callable[[Judge, RetryPolicy, int], RateGate] = rate_gate
    retry: RetryPolicy | None = None
    keep_going: bool = True
    shows_text: bool = False


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
    store : Store
        Where replies are looked up first.
    done : mapping of UnitKey to Verdict
        What the log held when the session began. Failed units and units whose request has changed
        since are asked again.
    observer : Observer
        Watches.
    limits : SessionLimits
        Budget of all judges together, the rate limit of each, and how calls are retried.
    next_jobs : callable, optional
        Returns, once all jobs are done, what the judges are asked next, in the same order; empty
        when there is nothing more. It gets the judges that stopped for a lasting reason, with the
        reason. It is not called after any other stop, or a failure that may pass.
    """

    def __init__(
        self,
        task: Task,
        jobs: Sequence[Job],
        *,
        log: VerdictLog,
        store: Store,
        done: Mapping[UnitKey, Verdict],
        observer: Observer,
        limits: SessionLimits,
        next_jobs: Callable[[Mapping[str, str]], Sequence[Job]] | None = None,
    ) -> None:
        self.next_jobs = next_jobs
        self.make_gate = limits.make_gate
        self.store = store
        self.observer = observer
        self.budget = limits.budget
        self.trials = CapTrials()
        self.keep_going, self.shows_text = limits.keep_going, limits.shows_text
        self.retry = limits.retry or RetryPolicy()
        self.task = task
        self.recorder = Recorder(log, store, observer, self.interrupt, done)
        self.is_interrupted = False
        self.done = done
        ceilings = self._ceilings([job.judge for job in jobs])
        self._judges = [JudgeRun(job, self, n) for job, n in zip(jobs, ceilings, strict=True)]
        by_name = {judge.name: judge.first for judge in self._judges}
        for verdict in done.values():
            if verdict.judge in by_name:
                by_name[verdict.judge].count([verdict])

    def _ceilings(self, judges: Sequence[Judge]) -> list[int]:
        """Return how many calls of each judge may be in flight at most."""
        wanted = [judge.n_connections for judge in judges if judge.n_connections]
        connections = share_connections(wanted)
        if connections != wanted:
            self.observer.say(
                f"at most {sum(connections)} of {sum(wanted)} calls are in flight at once: this "
                f"process may open {open_files_limit()} files (ulimit -n)"
            )
        shares = iter(connections)
        return [next(shares) if j.n_connections else j.spec.concurrency for j in judges]

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
        showing = asyncio.create_task(self._show_shared_progress())
        try:
            await self._ask_in_turns()
        except BaseExceptionGroup as errors:
            unwritten, others = errors.split(RunError)
            if unwritten is None or others is not None:
                raise
            raise _first_error(unwritten) from None
        finally:
            showing.cancel()
            await self.recorder.close()
            self.budget.count(self.recorder.received_usd)
            await asyncio.gather(*(judge.judge.aclose() for judge in self._judges))
        return {judge.name: judge.stop_reason for judge in self._judges}

    async def _ask_in_turns(self) -> None:
        """Ask all jobs, then those that follow from the replies, until there are none."""
        jobs: Sequence[Job] = [judge.job for judge in self._judges]
        while jobs:
            async with asyncio.TaskGroup() as group:
                for judge, job in zip(self._judges, jobs, strict=True):
                    judge.job = job
                    group.create_task(self._ask(judge))
            goes_on = all(judge.goes_on or judge.is_dropped for judge in self._judges)
            dropped = {judge.name: judge.stop_reason for judge in self._judges if judge.is_dropped}
            jobs = self.next_jobs(dropped) if self.next_jobs and goes_on else ()
        if self.next_jobs:
            for judge in self._judges:
                judge.end()

    async def _ask(self, judge: JudgeRun) -> None:
        """Ask one judge its job."""
        await ask_all(judge)
        if self.next_jobs is None:
            judge.end()

    async def _show_shared_progress(self) -> None:
        """Pass on now and then what all processes of this run have done."""
        while progress := self.store.shared_progress():
            self.observer.progressed(progress)
            await asyncio.sleep(PROGRESS_EVERY_S)

    @property
    def rate_history(self) -> dict[str, Sequence[RateEvent]]:
        """Changes in the rate of each remote judge, on the monotonic clock."""
        remote = (judge for judge in self._judges if judge.judge.spec.remote)
        return {judge.name: judge.gate.rate.history for judge in remote}

    @property
    def n_in_flight(self) -> int:
        """Requests that were sent and are not answered yet."""
        return sum(judge.gate.rate.in_flight for judge in self._judges)

    def drain(self) -> None:
        """Send nothing more; what is in flight is still received."""
        for judge in self._judges:
            judge.shut()

    def interrupt(self) -> None:
        """Send nothing more, and wait for nothing but what is in flight."""
        self.is_interrupted = True
        self.recorder.stop_waiting()
        self.budget.stop_waiting()
        self.drain()

    async def others_paid(self) -> None:
        """Wait until other processes hold nothing of the budget: they pay for no more replies."""
        await self.budget.return_allowance()
        since_s = time.monotonic()
        while not self.is_interrupted and await self.budget.is_held_by_others():
            if time.monotonic() - since_s > NOTICE_AFTER_S:
                self.observer.say("waiting for the last replies of other processes of this run")
                since_s = inf
            await asyncio.sleep(OTHERS_EVERY_S)

    def stop(self, reason: str) -> None:
        """Ask no judge anything more, for a reason."""
        for judge in self._judges:
            judge.stop(reason)


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
    first : FirstReplies
        Its first replies.
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
        self.first = FirstReplies(is_decided=not (spec.remote and job.judge.tried_first))
        self._refusals: Counter[str] = Counter()
        self._held: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()

    @property
    def goes_on(self) -> bool:
        """Whether nothing so far keeps it from being asked everything."""
        return not (self.gate.is_shut or self.stop_reason or self._failures or self._held)

    @property
    def is_dropped(self) -> bool:
        """Whether it stopped for a reason that asking again would not mend."""
        return is_lasting(self.stop_reason) and not self.session.is_interrupted

    async def may_ask(self) -> bool:
        """Wait until one more request can be sent; return whether it can be, or stop the judge."""
        await self.first.enter()
        may_ask = self.may_continue()
        if not may_ask:
            self.first.leave()
        return may_ask

    def may_continue(self) -> bool:
        """Return whether more can be sent; stop the judge if its first replies can't be read."""
        is_paid = self.judge.spec.remote and not self.session.keep_going
        if is_paid and self.first.are_unreadable and not self.gate.is_shut:
            self._say_examples()
            self.stop(UNREADABLE)
        return not self.gate.is_shut

    def _say_examples(self) -> None:
        observer, n_read = self.session.observer, self.first.n_read
        observer.say(f"{self.name}: {n_read:.3g} of the first {N_FIRST} replies can be read")
        for example in self.first.examples if self.session.shows_text else ():
            observer.show(example)

    def stop(self, reason: str) -> None:
        """Ask this judge nothing more; calls that wait to be retried end."""
        self.stop_reason = self.stop_reason or reason
        self.shut()

    def shut(self) -> None:
        """Send nothing more; what is in flight is still received, unless that takes too long."""
        self.gate.shut()
        self.first.let_all_through()
        self.judge.leave()

    def count_failure(self, failure: CallFailed) -> None:
        """Note a request that was given up; it may stop the judge.

        So do refusals for the same reason, if they are of a parameter, or came before any reply.
        """
        self._refusals[failure.alike] += bool(failure.alike)
        is_lasting = failure.reason.startswith(REFUSED) or not self.first.n_received
        is_refused = self._refusals[failure.alike] >= MOST_REFUSALS and is_lasting
        if failure.stops_judge or is_refused:
            self.stop(failure.reason)
        elif failure.retry:
            self._failures[failure.reason] += 1

    def count_held(self, commands: Iterable[str]) -> None:
        """Note units in batches of other runs, by the commands that collect them."""
        self._held.update(commands)

    def end(self) -> None:
        """Tell the observer how this judge ended."""
        observer = self.session.observer
        for command, n in self._held.items():
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


def _first_error(errors: BaseExceptionGroup[RunError]) -> RunError:
    """Return the first error of a group of groups."""
    error = errors.exceptions[0]
    return _first_error(error) if isinstance(error, BaseExceptionGroup) else error
