"""State that a session's judges share, and each judge's progress."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from harness.files.plain_text import visible
from harness.judging.judges.parameter_refusals import REFUSED
from harness.judging.judges.response_errors import UNREADABLE, is_lasting
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.running.budget import CapTrials
from harness.judging.running.rate_limit import rate_gate
from harness.judging.running.recorder import Recorder
from harness.judging.running.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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


MOST_REFUSALS = 5  # rejections for the same reason after which a judge stops
NOTICE_AFTER_S = 5.0  # time of waiting for other processes before this is reported
OTHERS_EVERY_S = 0.2


class SessionLimits(NamedTuple):
    """Budget, rate limits and retry policy of a session.

    Without ``keep_going``, a judge stops if its first replies cannot be read. Their texts are shown
    only if the session ``shows_text``.
    """

    budget: CostBudget
    make_gate: Callable[[Judge, RetryPolicy, int], RateGate] = rate_gate
    retry: RetryPolicy | None = None
    keep_going: bool = True
    shows_text: bool = False


class SessionState:
    """State that a session's judges share, such as the log, the store and the limits.

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
        """Stop sending requests, but receive the replies in flight."""
        for judge in self.judges:
            judge.shut()

    def interrupt(self) -> None:
        """Stop sending requests, and wait only for calls in flight."""
        self.is_interrupted = True
        self.recorder.stop_waiting()
        self.budget.stop_waiting()
        self.drain()

    async def others_paid(self) -> None:
        """Wait until no other process holds budget, so that no more replies are paid for."""
        await self.budget.return_allowance()
        since_s = time.monotonic()
        while not self.is_interrupted and await self.budget.is_held_by_others():
            if time.monotonic() - since_s > NOTICE_AFTER_S:
                self.observer.say("waiting for the last replies from this run's other processes")
                since_s = inf
            await asyncio.sleep(OTHERS_EVERY_S)


class JudgeRun:
    """State of one judge during a session.

    Attributes
    ----------
    job : Job
        Its job.
    gate : RateGate
        Its rate limit, which is shut once the judge gets no more requests.
    stop_reason : str
        Reason why it is incomplete; empty unless it was stopped.
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
        """Return whether the judge can still complete its job."""
        return not (self.gate.is_shut or self.stop_reason or self._failures or self._held)

    @property
    def is_dropped(self) -> bool:
        """Return whether the judge stopped for a lasting reason, which retries cannot fix."""
        return is_lasting(self.stop_reason) and not self.session.is_interrupted

    async def may_ask(self) -> bool:
        """Wait until one more request can be sent. Return False if the judge stops first."""
        await self.first.enter()
        may_ask = self.may_continue()
        if not may_ask:
            self.first.leave()
        return may_ask

    def may_continue(self) -> bool:
        """Return whether to send more requests. Stop a judge with unreadable first replies."""
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
        """Stop this judge, and end calls that wait for a retry."""
        self.stop_reason = self.stop_reason or reason
        self.shut()

    def shut(self) -> None:
        """Stop sending requests, and end long calls that are in flight."""
        self.gate.shut()
        self.first.let_all_through()
        self.judge.leave()

    def count_failure(self, failure: CallFailed) -> None:
        """Count a failed request, which can stop the judge.

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
        """Count units in other runs' batches, by the command that collects the batch."""
        self._held.update(commands)

    def end(self) -> None:
        """Report to the observer that this judge has ended."""
        observer = self.session.observer
        for command, n in self._held.items():
            observer.say(
                f"{self.name}: {n} units are in another run's batches, so this run doesn't "
                f"request them. Collect the replies with `{command}`, then resume this run"
            )
            self.stop_reason = self.stop_reason or "in_a_batch"
        if n_unreadable := self.gate.n_unreadable:
            observer.say(
                f"{self.name}: {n_unreadable} responses could not be read and were probably paid "
                "for. The cost of these responses is not counted"
            )
        if self._failures and not self.stop_reason:
            [(self.stop_reason, _)] = self._failures.most_common(1)
        observer.ended(self.name, self.stop_reason)


N_FIRST = 20  # number of first replies
MOST_READ = 5  # maximum readable first replies at which a judge stops
N_EXAMPLES = 3
EXAMPLE_CHARS = 80


class FirstReplies:
    """Gate for a judge's first `N_FIRST` requests. The rest wait for the first replies.

    A request for several samples counts once, by their readable share. Abstentions and refusals are
    readable. If a second question does not help, both replies count.

    Parameters
    ----------
    is_decided : bool
        Whether all requests pass from the start.

    Attributes
    ----------
    n_received : int
        Number of replies, including stored ones, up to `N_FIRST`.
    n_read : float
        Number of readable ones among them.
    examples : list of str
        Beginnings of the first unreadable replies.
    have_passed : bool
        Whether all first replies were received and enough are readable, so that requests need not
        wait.
    """

    def __init__(self, *, is_decided: bool = False) -> None:
        self.n_received = 0
        self.n_read = 0.0
        self.examples: list[str] = []
        self.have_passed = False
        self._is_decided = is_decided
        self._n_open = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait for a request's turn. Call `leave` after the request."""
        if self._queue or not self._has_room:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(turn)
            await turn
        else:
            self._n_open += 1

    def leave(self) -> None:
        """Record the end of a request, with or without a reply."""
        self._n_open -= 1
        if self._queue:
            self._let_through()

    @property
    def _has_room(self) -> bool:
        return self._is_decided or self._n_open + self.n_received < N_FIRST

    def _let_through(self) -> None:
        """Let waiting requests through in order, as long as there is room."""
        while self._queue and self._has_room:
            turn = self._queue.popleft()
            if not turn.done():
                self._n_open += 1
                turn.set_result(None)

    def count(self, verdicts: Sequence[Verdict]) -> None:
        """Count the replies to one request. Failed verdicts do not count."""
        if self.n_received == N_FIRST:
            return
        replies = [verdict for verdict in verdicts if verdict.outcome != "failed"]
        if not replies:
            return
        unread = [verdict for verdict in replies if verdict.outcome == "invalid"]
        n_replies = 1 + any(verdict.is_reasked for verdict in unread)
        self.n_received = min(self.n_received + n_replies, N_FIRST)
        self.n_read += 1 - len(unread) / len(replies)
        texts = filter(None, map(_example, unread))
        self.examples = list(dict.fromkeys([*self.examples, *texts]))[:N_EXAMPLES]
        if self.n_received == N_FIRST:
            self.have_passed = not self.are_unreadable
            self.let_all_through()

    def let_all_through(self) -> None:
        """Let all waiting requests through."""
        self._is_decided = True
        self._let_through()

    @property
    def are_unreadable(self) -> bool:
        """Return whether too few of the first replies are readable."""
        return self.n_received == N_FIRST and self.n_read <= MOST_READ

    def __repr__(self) -> str:
        return f"FirstReplies({self.n_received} received, {self.n_read:g} of the first read)"


def _example(verdict: Verdict) -> str:
    """Return the beginning of a reply or, if the reply is empty, of its reasoning."""
    texts = [text for reply in verdict.replies for text in (reply.text, reply.reasoning)]
    return visible(next(filter(None, map(str.strip, texts)), "")[:EXAMPLE_CHARS])
