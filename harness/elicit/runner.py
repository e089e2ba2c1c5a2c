"""Asks every judge every open unit: bounded, resumable, retried in one layer, paid for once.

Each judge has a lane of its own, so that one judge's trouble never changes another's results. A
lane looks its units up in the store, asks for the rest with as many calls in flight as the judge
allows, and writes every verdict to the log before anything is made of it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from harness.elicit.cache import StoreUnwritable
from harness.elicit.jobs import Job, Observer, Settings
from harness.elicit.log import UnitKey, unit_key
from harness.elicit.prompts import Unit
from harness.elicit.verdicts import Reader, Reply, Verdict, failed
from harness.errors import BudgetSpent, CallFailed, RunError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from harness.elicit.budget import Budget
    from harness.elicit.cache import ResponseStore
    from harness.elicit.log import VerdictLog
    from harness.elicit.prompts import Request
    from harness.task import Task

LOOKUP_BATCH = 64  # units looked up in the store at once
FLUSH_EVERY_S = 0.05  # how long a logged reply may wait for its place in the store
WAITING_PER_SLOT = 4  # units in hand (in flight or backing off) per call that may be in flight
LEASE_POLL_S = 0.1  # how often to look whether somebody else's reply has come in


class _Open(NamedTuple):
    """A unit that the log does not answer.

    ``request`` is that of the unit's item and elicitation, for any sample; ``hash`` is of the
    unit's own. ``known`` is the reply to the first turn of a pair, if the store has it; ``mine``
    says that the store has none and that this lane alone may ask.
    """

    unit: Unit
    request: Request
    hash: str
    known: Reply | None = None
    mine: bool = False


class _Lane:
    """The state of one judge during a run.

    Its workers take units from one iterator. As many work as calls may be in flight; for one that
    backs off another is hired, up to a limit, so that waiting holds nobody up.
    """

    def __init__(self, job: Job, calls: asyncio.TaskGroup) -> None:
        spec = job.judge.spec
        self.job = job
        self.judge = job.judge
        self.name = spec.name
        self.deadline_s = spec.deadline_s
        self.concurrency = spec.concurrency
        self.slots = asyncio.Semaphore(spec.concurrency)
        self.units: Iterator[_Open | None] = iter(())
        self.calls = calls
        self.n_workers = 0
        self.n_waiting = 0
        self.stopped = ""

    @property
    def short_handed(self) -> bool:
        """Whether one more worker may be hired."""
        at_work = self.n_workers - self.n_waiting
        return at_work < self.concurrency and self.n_workers < self.concurrency * WAITING_PER_SLOT


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
        self._jobs = jobs
        self._log = log
        self._store = store
        self._done = done
        self._observer = observer
        self._budget = budget
        self._settings = settings or Settings()
        self._draining = asyncio.Event()
        self._unstored: list[Reply] = []
        self._reader = Reader(task)
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
            If verdicts can no longer be written, or the store not be read.
        """
        flusher = asyncio.create_task(self._flush_regularly())
        try:
            async with asyncio.TaskGroup() as group:
                lanes = [group.create_task(self._serve(job)) for job in self._jobs]
        except* RunError as errors:
            raise _first(errors) from None
        finally:
            flusher.cancel()
            self._flush(last=True)
            await asyncio.gather(*(job.judge.aclose() for job in self._jobs))
        return dict(lane.result() for lane in lanes)

    def drain(self) -> None:
        """Send nothing more; what is in flight is still received."""
        self._draining.set()

    async def _serve(self, job: Job) -> tuple[str, str]:
        """Take one judge through its units; return its name and why it stopped early."""
        async with asyncio.TaskGroup() as calls:
            lane = _Lane(job, calls)
            lane.units = units = self._to_ask(lane)
            self._hire(lane)
        units.close()
        self._observer.ended(lane.name, lane.stopped)
        return lane.name, lane.stopped

    def _hire(self, lane: _Lane) -> None:
        if lane.short_handed:
            lane.n_workers += 1
            lane.calls.create_task(self._work(lane))

    async def _work(self, lane: _Lane) -> None:
        """Answer one unit after the other."""
        for unit in lane.units:
            if self._stops(lane):
                self._give_up(unit)
                break
            if unit is None:
                await asyncio.sleep(0)
                continue
            self._hire(lane)
            await self._answer(lane, unit)
            if lane.n_workers - lane.n_waiting > lane.concurrency:
                break  # those who backed off are back
        lane.n_workers -= 1

    def _to_ask(self, lane: _Lane) -> Generator[_Open | None]:
        """Units that must be asked, and None now and then, for others to have their turn.

        Those whose reply is in the store are written down on the way.
        """
        units = self._open_units(lane)
        while batch := list(islice(units, LOOKUP_BATCH)):
            batch = self._without_known(lane, batch)
            batch = [u if u.known else u._replace(mine=self._store.claim(u.hash)) for u in batch]
            batch = self._without_known(lane, batch)  # it may have come in just before the claim
            batch.reverse()
            try:
                while batch:
                    yield batch.pop()
            finally:
                for unit in batch:
                    self._give_up(unit)
            yield None

    def _without_known(self, lane: _Lane, batch: list[_Open]) -> list[_Open]:
        """Write down those whose reply is in the store; return the others."""
        known = self._store.get_many([unit.hash for unit in batch if not unit.known])
        answered = []
        remaining = []
        for unit in batch:
            reply = known.get(unit.hash)
            if reply is None:
                remaining.append(unit)
                continue
            self._give_up(unit)
            if unit.unit.elicitation == "paired":
                remaining.append(unit._replace(known=reply, mine=False))
            else:
                answered.append(self._read(lane, unit.unit, reply))
        self._record(lane, answered)
        return remaining

    def _give_up(self, unit: _Open | None) -> None:
        """Let others ask for a unit."""
        if unit and unit.mine:
            self._store.release(unit.hash)

    def _open_units(self, lane: _Lane) -> Iterator[_Open]:
        """Units that the log has no answer to, or an answer to another request."""
        job = lane.job
        for elicitation in job.elicitations:
            for item in job.items:
                request = lane.judge.request(Unit(item.id, elicitation))
                for sample in range(job.samples):
                    asked = request.hash_of(sample)
                    before = self._done.get(UnitKey(lane.name, item.id, elicitation, sample))
                    if before and before.outcome != "failed" and first_request(before) == asked:
                        self._observer.advanced(lane.name, [before])
                    else:
                        yield _Open(Unit(item.id, elicitation, sample), request, asked)

    def _read(
        self,
        lane: _Lane,
        unit: Unit,
        reply: Reply,
        first: Reply | None = None,
        *,
        cached: bool = True,
    ) -> Verdict:
        return self._reader.verdict(reply, unit, lane.name, first=first, cached=cached)

    async def _answer(self, lane: _Lane, unit: _Open) -> None:
        """Get one unit's verdict and write it down, whatever it is."""
        received: list[Reply] = []
        with suppress(_NotAsked):
            verdict = await self._converse(lane, unit, received)
            self._record(lane, [self._numbered(verdict)], received)

    async def _converse(self, lane: _Lane, open_unit: _Open, received: list[Reply]) -> Verdict:
        """Ask what one unit needs; replies that were paid for are put among the received."""
        unit = open_unit.unit
        request = open_unit.request.for_sample(unit.sample)
        first: Reply | None = None
        try:
            reply = open_unit.known
            if reply is None:
                reply = await self._obtain(lane, request, received, mine=open_unit.mine)
            if unit.elicitation != "paired":
                return self._read(lane, unit, reply, cached=not received)
            if not reply.text.strip():
                return self._without_choice(lane, unit, reply, cached=not received)
            first, request = reply, lane.judge.follow_up(request, reply)
            reply = await self._obtain(lane, request, received)
            return self._read(lane, unit, reply, first, cached=not received)
        except CallFailed as error:
            if error.stops_judge:
                lane.stopped = lane.stopped or error.reason
            return failed(unit, lane.name, request.hash, reason=error.reason, first=first)
        except _NotAsked:
            if first is None or not received:
                raise
            return failed(unit, lane.name, request.hash, reason="interrupted", first=first)

    async def _obtain(
        self, lane: _Lane, request: Request, received: list[Reply], *, mine: bool = False
    ) -> Reply:
        """Get a reply from the judge, or from the store if it has come in meanwhile.

        While somebody else is asking the same, here or in another run, their reply is waited for.
        """
        while not mine:
            mine = self._store.claim(request.hash)
            if not mine:
                await self._sleep(LEASE_POLL_S)
                if self._stops(lane):
                    raise _NotAsked
            elif known := self._store.get_many([request.hash]):
                self._store.release(request.hash)
                return known[request.hash]
        try:
            reply = await self._call(lane, request)
        except BaseException:
            self._store.release(request.hash)
            raise
        received.append(reply)
        return reply

    def _without_choice(self, lane: _Lane, unit: Unit, first: Reply, *, cached: bool) -> Verdict:
        """Read a pair whose first turn was blank: there is no conversation to go on with."""
        alone = unit._replace(elicitation="response_set")
        verdict = self._read(lane, alone, first, cached=cached)
        changes = {"elicitation": "paired", "first": first, "reply": None}
        return verdict.model_copy(update={**changes, "reason": f"set:{verdict.reason}"})

    def _numbered(self, verdict: Verdict) -> Verdict:
        """Count how often a unit was tried, over all starts of the run."""
        before = self._done.get(unit_key(verdict)) if self._done else None
        return verdict.model_copy(update={"attempt": before.attempt + 1}) if before else verdict

    async def _call(self, lane: _Lane, request: Request) -> Reply:
        """Send one request until it is answered, fails for good or may not be sent.

        A slot is held only while a request is in flight, never while backing off.
        """
        try:
            return await self._attempt(lane, request)
        except CallFailed as error:
            if not _worth_a_retry(error):
                raise
            failures = [error]  # tenacity takes over from here, with the first failure at hand
        lane.n_waiting += 1
        self._hire(lane)
        try:
            return await self._retrying(self._again, lane, request, failures)
        finally:
            lane.n_waiting -= 1

    async def _again(self, lane: _Lane, request: Request, failures: list[CallFailed]) -> Reply:
        if failures:
            raise failures.pop()
        return await self._attempt(lane, request)

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

    def _record(
        self, lane: _Lane, verdicts: Sequence[Verdict], received: Sequence[Reply] = ()
    ) -> None:
        """Write verdicts down; only then do they count, and only then may they reach the store."""
        if verdicts:
            self._log.append(verdicts)
            self._unstored += received
            self._observer.advanced(lane.name, verdicts)

    async def _flush_regularly(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            self._flush()

    def _flush(self, *, last: bool = False) -> None:
        """Bring what is in the log into the store, too; only then may others ask for it."""
        if not self._unstored:
            return
        try:
            self._store.put_many(self._unstored)
        except StoreUnwritable as error:
            if last:
                self._observer.say(f"{error}; the replies are safe in {self._log.path}")
            return
        for reply in self._unstored:
            self._store.release(reply.request)
        self._unstored.clear()


def first_request(verdict: Verdict) -> str:
    """Hash of the request that a unit began with."""
    return verdict.first.request if verdict.first else verdict.request


def _worth_a_retry(error: BaseException) -> bool:
    return isinstance(error, CallFailed) and error.retry and not error.stops_judge


def _first(errors: BaseExceptionGroup[RunError]) -> RunError:
    """Return the first error of a group of groups."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
