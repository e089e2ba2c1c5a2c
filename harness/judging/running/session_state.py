"""State that the judges of a session share, and the progress of each judge."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from harness.judging.judges.parameter_refusals import REFUSED
from harness.judging.judges.response_errors import UNREADABLE, is_lasting
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.running.cap_trials import CapTrials
from harness.judging.running.first_replies import N_FIRST, FirstReplies
from harness.judging.running.rate_limit import rate_gate
from harness.judging.running.recorder import Recorder
from harness.judging.running.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from harness.errors import CallFailed
    from harness.judging.judges.base import Judge
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.budget import CostBudget
    from harness.judging.running.rate_limit import RateGate
    from harness.judging.running.recorder import Observer
    from harness.judging.running.units import Job
    from harness.judging.storage.reply_store import Store
    from harness.judging.storage.verdict_log import UnitKey, VerdictLog
    from harness.tasks import Task

MOST_REFUSALS = 5  # for the same reason
NOTICE_AFTER_S = 5.0  # of waiting for other processes
OTHERS_EVERY_S = 0.2


class SessionLimits(NamedTuple):
    """Budget and rate limits of a session, and its policy for retrying calls.

    Without ``keep_going``, a judge stops if its first replies can't be read. Their texts are shown
    only if the session ``shows_text``.
    """

    budget: CostBudget
    make_gate: Callable[[Judge, RetryPolicy, int], RateGate] = rate_gate
    retry: RetryPolicy | None = None
    keep_going: bool = True
    shows_text: bool = False


class SessionState:
    """State that a session's judges share: stores for replies, limits, and when to end.

    Parameters
    ----------
    task : Task
        The task, which determines how replies are read.
    log : VerdictLog
        Log to write verdicts to.
    store : Store
        Store in which replies are looked up first.
    done : mapping of UnitKey to Verdict
        Contents of the log when the session began. Failed units, and units whose request has
        changed since, are requested again.
    observer : Observer
        Receives progress.
    limits : SessionLimits
        Budget of all judges together, rate limit of each, and policy for retrying calls.
    """

    def __init__(
        self,
        task: Task,
        *,
        log: VerdictLog,
        store: Store,
        done: Mapping[UnitKey, Verdict],
        observer: Observer,
        limits: SessionLimits,
    ) -> None:
        self.task = task
        self.store = store
        self.done = done
        self.observer = observer
        self.budget = limits.budget
        self.make_gate = limits.make_gate
        self.retry = limits.retry or RetryPolicy()
        self.keep_going, self.shows_text = limits.keep_going, limits.shows_text
        self.trials = CapTrials()
        self.recorder = Recorder(log, store, observer, self.interrupt, done)
        self.judges: list[JudgeRun] = []
        self.is_interrupted = False

    def drain(self) -> None:
        """Send no more requests, but receive the replies in flight."""
        for judge in self.judges:
            judge.shut()

    def interrupt(self) -> None:
        """Send no more requests, and wait only for calls in flight."""
        self.is_interrupted = True
        self.recorder.stop_waiting()
        self.budget.stop_waiting()
        self.drain()

    async def others_paid(self) -> None:
        """Wait until other processes hold no budget, so that they pay for no more replies."""
        await self.budget.return_allowance()
        since_s = time.monotonic()
        while not self.is_interrupted and await self.budget.is_held_by_others():
            if time.monotonic() - since_s > NOTICE_AFTER_S:
                self.observer.say("waiting for the last replies of other processes of this run")
                since_s = inf
            await asyncio.sleep(OTHERS_EVERY_S)


class JudgeRun:
    """One judge during a session.

    Attributes
    ----------
    job : Job
        Its job.
    gate : RateGate
        Its rate limit; shut once it gets no more requests.
    stop_reason : str
        Why it is incomplete; empty unless it was stopped.
    first : FirstReplies
        Its first replies.
    """

    def __init__(self, job: Job, session: SessionState, ceiling: int) -> None:
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
        """Return whether nothing so far prevents the judge from completing its job."""
        return not (self.gate.is_shut or self.stop_reason or self._failures or self._held)

    @property
    def is_dropped(self) -> bool:
        """Return whether the judge stopped for a reason that repeating requests can't fix."""
        return is_lasting(self.stop_reason) and not self.session.is_interrupted

    async def may_ask(self) -> bool:
        """Wait until one more request can be sent; return whether it can, or stop the judge."""
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
        """Stop this judge, and end calls that are waiting for a retry."""
        self.stop_reason = self.stop_reason or reason
        self.shut()

    def shut(self) -> None:
        """Send no more requests; receive those in flight, unless that takes too long."""
        self.gate.shut()
        self.first.let_all_through()
        self.judge.leave()

    def count_failure(self, failure: CallFailed) -> None:
        """Note that a request was given up, which can stop the judge.

        Repeated rejections for the same reason stop it if they concern a parameter or came before
        any reply.
        """
        self._refusals[failure.alike] += bool(failure.alike)
        is_lasting = failure.reason.startswith(REFUSED) or not self.first.n_received
        is_refused = self._refusals[failure.alike] >= MOST_REFUSALS and is_lasting
        if failure.stops_judge or is_refused:
            self.stop(failure.reason)
        elif failure.retry:
            self._failures[failure.reason] += 1

    def count_held(self, commands: Iterable[str]) -> None:
        """Note units in batches of other runs, with the commands that collect them."""
        self._held.update(commands)

    def end(self) -> None:
        """Tell the observer how this judge ended."""
        observer = self.session.observer
        for command, n in self._held.items():
            observer.say(
                f"{self.name}: {n} units are in another run's batches, so this run doesn't "
                f"request them. Get them with `{command}`, then resume this run"
            )
            self.stop_reason = self.stop_reason or "in_a_batch"
        if n_unreadable := self.gate.n_unreadable:
            observer.say(
                f"{self.name}: {n_unreadable} responses could not be read and were probably paid "
                "for. Their cost is not counted"
            )
        if self._failures and not self.stop_reason:
            [(self.stop_reason, _)] = self._failures.most_common(1)
        observer.ended(self.name, self.stop_reason)
