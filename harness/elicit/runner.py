"""Asks every judge every open unit: bounded, resumable, retried in one layer, paid for once.

Each judge has a lane of its own, so that one judge's trouble never changes another's results. A
lane looks its units up in the store, asks for the rest with as many calls in flight as the judge
allows, and writes every verdict to the log before anything is made of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from harness.elicit.log import UnitKey, replies_of, unit_key
from harness.elicit.prompts import Unit
from harness.elicit.verdicts import Verdict, failed, read_reply
from harness.errors import BudgetSpent, CallFailed, RunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.elicit.budget import Budget
    from harness.elicit.cache import ResponseStore
    from harness.elicit.judges import Judge
    from harness.elicit.log import VerdictLog
    from harness.elicit.prompts import Elicitation, Request
    from harness.elicit.verdicts import Reply
    from harness.task import Item, Task

LOOKUP_BATCH = 256  # units looked up in the store at once
FLUSH_EVERY_S = 0.2  # how long a logged reply may wait for its place in the store
WAITING_PER_SLOT = 4  # units in hand (in flight or backing off) per call that may be in flight


@dataclass(frozen=True, slots=True)
class Job:
    """All that one judge is asked in a run."""

    judge: Judge
    items: tuple[Item, ...]
    elicitations: tuple[Elicitation, ...]
    samples: int

    def units(self) -> Iterator[Unit]:
        """Units in the order of asking: by elicitation first, so that prompts share prefixes."""
        for elicitation in self.elicitations:
            for item in self.items:
                for sample in range(self.samples):
                    yield Unit(item=item.id, elicitation=elicitation, sample=sample)

    @property
    def planned(self) -> dict[Elicitation, int]:
        """How many units each elicitation has."""
        return dict.fromkeys(self.elicitations, len(self.items) * self.samples)


@dataclass(frozen=True, slots=True)
class Settings:
    """How calls are retried.

    Attributes
    ----------
    attempts : int
        Most requests sent for one call.
    backoff_s, backoff_max_s : float
        First and largest bound of the random wait between attempts, in seconds.
    retry_after_max_s : float
        Longest wait a server may ask for; a longer one stops its judge.
    """

    attempts: int = 6
    backoff_s: float = 0.5
    backoff_max_s: float = 30.0
    retry_after_max_s: float = 60.0


class Observer(Protocol):
    """Who watches a run: progress bars, plain lines, nobody."""

    def advanced(self, judge: str, verdicts: Sequence[Verdict]) -> None:
        """These verdicts stand in the log, just written or since an earlier start of the run."""

    def ended(self, judge: str, reason: str) -> None:
        """A judge is at its end; ``reason`` is empty if it was asked all it was to be asked."""

    def say(self, line: str) -> None:
        """Something happened that the user should know."""


class _Lane:
    """The state of one judge during a run."""

    def __init__(self, job: Job) -> None:
        spec = job.judge.spec
        self.job = job
        self.judge = job.judge
        self.name = spec.name
        self.deadline_s = spec.deadline_s
        self.slots = asyncio.Semaphore(spec.concurrency)
        self.window = asyncio.Semaphore(spec.concurrency * WAITING_PER_SLOT)
        self.stopped = ""


class _NotAsked(Exception):  # noqa: N818 -- a state of the world, not a mistake
    """The run is draining or the judge has stopped; the unit stays unasked."""


class Runner:
    """One run over several judges.

    Parameters
    ----------
    task : Task
        Says how replies are read.
    jobs : sequence of Job
        One per judge.
    log : VerdictLog
        Where verdicts are written.
    store : ResponseStore
        Where replies are looked up first.
    done : mapping of UnitKey to Verdict
        What the log held when the run began. Failed units and units whose request has changed
        since are asked again.
    """

    def __init__(
        self,
        task: Task,
        jobs: Sequence[Job],
        *,
        log: VerdictLog,
        store: ResponseStore,
        done: Mapping[UnitKey, Verdict],
        observer: Observer,
        budget: Budget,
        settings: Settings | None = None,
    ) -> None:
        self._task = task
        self._jobs = jobs
        self._log = log
        self._store = store
        self._done = done
        self._observer = observer
        self._budget = budget
        self._settings = settings or Settings()
        self._draining = asyncio.Event()
        self._unstored: deque[Reply] = deque()
        self._retrying = AsyncRetrying(
            retry=retry_if_exception(_worth_a_retry),
            stop=stop_after_attempt(self._settings.attempts),
            wait=self._wait_s,
            sleep=self._sleep,
            reraise=True,
        )

    async def run(self) -> dict[str, str]:
        """Ask until everything is asked or something ends it.

        Returns
        -------
        ends : dict of str to str
            Per judge, why it stopped early; empty if it did not.

        Raises
        ------
        RunError
            If verdicts can no longer be written.
        """
        lanes = [_Lane(job) for job in self._jobs]
        flusher = asyncio.create_task(self._flush_regularly())
        try:
            async with asyncio.TaskGroup() as group:
                for lane in lanes:
                    group.create_task(self._serve(lane))
        except* RunError as errors:
            raise errors.exceptions[0] from None
        finally:
            flusher.cancel()
            self._flush()
            await asyncio.gather(*(job.judge.aclose() for job in self._jobs))
        return {lane.name: lane.stopped for lane in lanes}

    def drain(self) -> None:
        """Send nothing more; what is in flight is still received."""
        self._draining.set()

    async def _serve(self, lane: _Lane) -> None:
        """Take one judge through its units; never more tasks than the lane's window."""
        units = self._open_units(lane)
        async with asyncio.TaskGroup() as calls:
            while not self._stops(lane) and (batch := list(islice(units, LOOKUP_BATCH))):
                known = self._store.get_many([request.hash for _, request in batch])
                self._record(
                    lane, [v for pair in batch if (v := self._read_known(lane, *pair, known))]
                )
                for unit, request in batch:
                    reply = known.get(request.hash)
                    if reply is not None and unit.elicitation != "paired":
                        continue
                    await lane.window.acquire()
                    if self._stops(lane):
                        break
                    calls.create_task(self._answer(lane, unit, request, reply))
                await asyncio.sleep(0)
        self._observer.ended(lane.name, lane.stopped)

    def _open_units(self, lane: _Lane) -> Iterator[tuple[Unit, Request]]:
        """Units that the log has no answer to, or an answer to another request."""
        for unit in lane.job.units():
            request = lane.judge.request(unit)
            before = self._done.get(UnitKey(lane.name, unit.item, unit.elicitation, unit.sample))
            if (
                before is None
                or before.outcome == "failed"
                or first_request(before) != request.hash
            ):
                yield unit, request
            else:
                self._observer.advanced(lane.name, [before])

    def _read_known(
        self, lane: _Lane, unit: Unit, request: Request, known: Mapping[str, Reply]
    ) -> Verdict | None:
        reply = known.get(request.hash)
        if reply is None or unit.elicitation == "paired":
            return None
        return read_reply(reply, unit, lane.name, self._task, cached=True)

    async def _answer(self, lane: _Lane, unit: Unit, request: Request, known: Reply | None) -> None:
        """Get one unit's verdict and write it down, whatever it is."""
        try:
            verdict = await self._converse(lane, unit, request, known)
        except _NotAsked:
            return
        finally:
            lane.window.release()
        self._record(lane, [self._numbered(verdict)])

    async def _converse(
        self, lane: _Lane, unit: Unit, request: Request, known: Reply | None
    ) -> Verdict:
        first: Reply | None = None
        asked = 0
        try:
            reply = known or await self._call(lane, request)
            asked += known is None
            if unit.elicitation == "paired":
                if not reply.text.strip():
                    return self._without_choice(lane, unit, reply, cached=not asked)
                first, request = reply, lane.judge.follow_up(request, reply)
                known = self._store.get_many([request.hash]).get(request.hash)
                reply = known or await self._call(lane, request)
                asked += known is None
        except CallFailed as error:
            if error.stops_judge:
                lane.stopped = lane.stopped or error.reason
            return failed(unit, lane.name, request.hash, reason=error.reason, first=first)
        return read_reply(reply, unit, lane.name, self._task, first=first, cached=not asked)

    def _without_choice(self, lane: _Lane, unit: Unit, first: Reply, *, cached: bool) -> Verdict:
        """Read a pair whose first turn was blank: there is no conversation to go on with."""
        alone = unit.model_copy(update={"elicitation": "response_set"})
        verdict = read_reply(first, alone, lane.name, self._task, cached=cached)
        changes = {"elicitation": "paired", "first": first, "reply": None}
        return verdict.model_copy(update={**changes, "reason": f"set:{verdict.reason}"})

    def _numbered(self, verdict: Verdict) -> Verdict:
        """Count how often a unit was tried, over all starts of the run."""
        before = self._done.get(unit_key(verdict))
        return verdict.model_copy(update={"attempt": before.attempt + 1}) if before else verdict

    async def _call(self, lane: _Lane, request: Request) -> Reply:
        """Send one request until it is answered, fails for good or may not be sent.

        A slot is held only while a request is in flight, never while backing off.
        """
        return await self._retrying(self._attempt, lane, request)

    async def _attempt(self, lane: _Lane, request: Request) -> Reply:
        async with lane.slots:
            if self._stops(lane):
                raise _NotAsked
            try:
                with self._budget.reserving(lane.judge.spec, request) as bill:
                    async with asyncio.timeout(lane.deadline_s):
                        reply = await lane.judge.ask(request)
                    bill.settle(reply)
            except BudgetSpent:
                self.drain()
                raise _NotAsked from None
            except TimeoutError:
                raise CallFailed("timeout", retry=True) from None
            except CallFailed as error:
                raise self._final(error) from None
            except Exception as error:  # noqa: BLE001 -- a judge's bug is that judge's trouble alone
                raise CallFailed(f"unexpected_{type(error).__name__}") from None
        return reply

    def _final(self, error: CallFailed) -> CallFailed:
        """Stop the judge of a server that asks for a longer wait than we grant."""
        if (error.retry_after_s or 0) <= self._settings.retry_after_max_s:
            return error
        return CallFailed(
            error.reason, stops_judge=True, hint=f"asked to wait {error.retry_after_s:.0f} s"
        )

    def _wait_s(self, state: RetryCallState) -> float:
        """Full jitter, but at least what the server asked for."""
        error = state.outcome.exception() if state.outcome else None
        asked = getattr(error, "retry_after_s", None) or 0.0
        jitter = wait_random_exponential(self._settings.backoff_s, self._settings.backoff_max_s)
        return max(asked, jitter(state))

    async def _sleep(self, seconds: float) -> None:
        """Wait, unless the run begins to drain first."""
        try:
            async with asyncio.timeout(seconds):
                await self._draining.wait()
        except TimeoutError:
            return
        raise _NotAsked

    def _stops(self, lane: _Lane) -> bool:
        return bool(lane.stopped) or self._draining.is_set()

    def _record(self, lane: _Lane, verdicts: Sequence[Verdict]) -> None:
        """Write verdicts down; only then do they count, and only then may they reach the store."""
        if verdicts:
            self._log.append(verdicts)
            self._unstored.extend(r for v in verdicts if not v.cached for r in replies_of(v))
            self._observer.advanced(lane.name, verdicts)

    async def _flush_regularly(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            self._flush()

    def _flush(self) -> None:
        if self._unstored:
            self._store.put_many(self._unstored)
            self._unstored.clear()


def first_request(verdict: Verdict) -> str:
    """Hash of the request that a unit began with."""
    return verdict.first.request if verdict.first else verdict.request


def _worth_a_retry(error: BaseException) -> bool:
    return isinstance(error, CallFailed) and error.retry and not error.stops_judge
