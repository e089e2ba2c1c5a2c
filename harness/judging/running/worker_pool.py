"""Asks every judge every open unit: bounded, resumable, retried in one layer, paid for once.

Each judge has a lane of its own, so that one judge's trouble never changes another's results. A
lane looks its units up in the store, asks for the rest with as many calls in flight as the judge
allows, and writes every verdict to the log before anything is made of it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import force_setattr, replace
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from harness.errors import BudgetSpent, CallFailed, RunError
from harness.judging.judges.pricing import max_tokens
from harness.judging.judges.response_errors import is_retryable, limit_wait
from harness.judging.parsing.verdict import Reader, Reply, Verdict, failed
from harness.judging.prompts.requests import Unit
from harness.judging.running.jobs import Job, Observer, Settings
from harness.judging.running.judge_queue import Lane, Open, first_request, together
from harness.judging.running.rate_gate import NotAsked, gate_of
from harness.judging.running.recorder import Recorder
from harness.judging.storage.verdict_log import UnitKey

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from harness.judging.prompts.requests import Request
    from harness.judging.running.budget import Budget
    from harness.judging.running.rate_limit import Event
    from harness.judging.running.services import CacheService
    from harness.judging.storage.verdict_log import VerdictLog
    from harness.tasks import Task

LOOKUP_BATCH = 64  # units looked up in the store at once
NOT_TOGETHER = frozenset({"bad_request", "unsupported_params"})  # what `n` may be answered with
LEASE_POLL_S = 0.1  # how often to look whether somebody else's reply has come in


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
    store : CacheService
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
        store: CacheService,
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
        self._recorder = Recorder(log, store, observer, self.drain)
        self._gates = {job.judge.spec.name: gate_of(job.judge) for job in jobs}
        self._reader = Reader(task)
        self._retrying = AsyncRetrying(
            retry=retry_if_exception(is_retryable),
            stop=stop_after_attempt(self._settings.attempts),
            wait=self._wait_s,
            reraise=True,
        )

    async def run(self) -> dict[str, str]:
        """Ask until everything is asked or something ends it.

        Returns
        -------
        ends : dict of str to str
            Per judge, why it was not run to the end; empty if it was.

        Raises
        ------
        RunError
            If verdicts can no longer be written, or the store not be read.
        """
        flusher = asyncio.create_task(self._recorder.flush_regularly())
        try:
            async with asyncio.TaskGroup() as group:
                lanes = [group.create_task(self._serve(job)) for job in self._jobs]
        except* RunError as errors:
            raise _first(errors) from None
        finally:
            flusher.cancel()
            self._recorder.flush(last=True)
            await asyncio.gather(*(job.judge.aclose() for job in self._jobs))
        return dict(lane.result() for lane in lanes)

    @property
    def paces(self) -> dict[str, Sequence[Event]]:
        """How the pace of each remote judge has changed, on the monotonic clock."""
        remote = [job.judge.spec.name for job in self._jobs if job.judge.spec.remote]
        return {name: self._gates[name].rate.history for name in remote}

    def drain(self) -> None:
        """Send nothing more; what is in flight is still received."""
        for gate in self._gates.values():
            gate.shut()

    async def _serve(self, job: Job) -> tuple[str, str]:
        """Take one judge through its units; return its name and why not to the end."""
        async with asyncio.TaskGroup() as calls:
            lane = Lane(job, calls, self._gates[job.judge.spec.name])
            lane.units = units = self._to_ask(lane)
            self._hire(lane)
        units.close()
        return lane.end(self._observer)

    def _hire(self, lane: Lane) -> None:
        if lane.short_handed:
            lane.n_workers += 1
            lane.calls.create_task(self._work(lane))

    async def _work(self, lane: Lane) -> None:
        """Answer one unit after the other."""
        for unit in lane.units:
            if lane.gate.is_shut:
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

    def _to_ask(self, lane: Lane) -> Generator[Open | None]:
        """Units that must be asked, and None now and then, for others to have their turn.

        Those whose reply is in the store are written down on the way.
        """
        units = self._open_units(lane)
        samples = lane.job.samples
        size = LOOKUP_BATCH // samples * samples or LOOKUP_BATCH  # no item's samples are parted
        while batch := list(islice(units, size)):
            batch = self._left_to_us(lane, self._without_known(lane, batch))
            if lane.n_per_request > 1:
                batch = together(batch, lane.n_per_request)
            batch.reverse()
            try:
                while batch:
                    unit = batch.pop()
                    if lane.n_per_request == 1 and unit.more:  # found out meanwhile
                        batch += reversed(unit.more)
                        unit.more = ()
                    yield unit
            finally:
                for unit in batch:
                    self._give_up(unit)
            yield None

    def _left_to_us(self, lane: Lane, batch: list[Open]) -> list[Open]:
        """Claim what is not known; return what nobody else has asked for or received meanwhile."""
        for unit in batch:
            unit.mine = not unit.known and self._store.locks.claim(unit.hash)
        batch = self._without_known(lane, batch)  # it may have come in just before the claim
        return self._without_awaited(lane, batch)

    def _without_known(self, lane: Lane, batch: list[Open]) -> list[Open]:
        """Write down those whose reply is in the store; return the others."""
        if not batch:
            return []
        known = self._store.get_many(
            [(unit.request.cache_key, unit.hash) for unit in batch if not unit.known]
        )
        answered = []
        remaining = []
        for unit in batch:
            reply = known.get(unit.hash)
            if reply is None:
                remaining.append(unit)
                continue
            if unit.mine:
                self._store.locks.release(unit.hash)
            if unit.unit.elicitation == "paired":
                unit.known, unit.mine = reply, False
                remaining.append(unit)
            else:
                answered.append(self._read(lane, unit.unit, reply))
        self._recorder.record(lane.name, answered)
        return remaining

    def _without_awaited(self, lane: Lane, batch: list[Open]) -> list[Open]:
        """Leave out those that wait in batches of other runs."""
        if not batch:
            return []
        awaited = self._store.batches.find(
            [unit.hash for unit in batch if not unit.known], lane.name
        )
        for unit in batch:
            if unit.hash in awaited:
                self._give_up(unit)
                lane.leave([awaited[unit.hash]])
        return [unit for unit in batch if unit.hash not in awaited] if awaited else batch

    def _give_up(self, unit: Open | None) -> None:
        """Let others ask for a unit."""
        for one in (unit, *unit.more) if unit else ():
            if one.mine:
                self._store.locks.release(one.hash)

    def _open_units(self, lane: Lane) -> Iterator[Open]:
        """Units that the log has no answer to, or an answer to another request."""
        job = lane.job
        for elicitation in job.elicitations:
            for item in job.items:
                request = lane.judge.request(Unit(item.id, elicitation))
                for sample, asked in enumerate(request.hashes(job.samples)):
                    unit = Unit(item.id, elicitation, sample)
                    before = self._before(lane.name, unit)
                    if before and before.outcome != "failed" and first_request(before) == asked:
                        self._observer.advanced(lane.name, [before])
                    else:
                        yield Open(unit, request, asked)

    def _before(self, judge: str, unit: Unit) -> Verdict | None:
        """What the log held of a unit when the run began."""
        return self._done.get(UnitKey(judge, *unit)) if self._done else None

    def _read(
        self,
        lane: Lane,
        unit: Unit,
        reply: Reply,
        first: Reply | None = None,
        *,
        cached: bool = True,
    ) -> Verdict:
        return self._reader.verdict(reply, unit, lane.name, first=first, cached=cached)

    async def _answer(self, lane: Lane, unit: Open) -> None:
        """Get one unit's verdict and write it down, whatever it is."""
        received: list[Reply] = []
        with suppress(NotAsked):
            if unit.more:
                await self._answer_together(lane, (unit, *unit.more))
                return
            verdict = await self._converse(lane, unit, received)
            await self._recorder.record_soon(lane.name, [self._numbered(verdict)], received)

    async def _answer_together(self, lane: Lane, units: Sequence[Open]) -> None:
        """Ask for several samples in one request; those that it did not bring, one by one."""
        replies: list[Reply] = []
        failure: CallFailed | None = None
        try:
            requests = [unit.request.for_sample(unit.unit.sample, unit.hash) for unit in units]
            replies = await self._call(lane, requests)
        except CallFailed as error:
            failure = error
        finally:
            for unit in units[len(replies) :]:
                self._store.locks.release(unit.hash)
        pairs = zip(units, replies, strict=False)
        verdicts = [self._read(lane, unit.unit, reply, cached=False) for unit, reply in pairs]
        if failure is None or failure.reason in NOT_TOGETHER:
            if len(replies) < len(units):
                lane.n_per_request = 1
        else:
            lane.fail(failure)
            told = units[:1] if failure.stops_judge else units
            verdicts = [failed(u.unit, lane.name, u.hash, reason=failure.reason) for u in told]
        verdicts = [self._numbered(verdict) for verdict in verdicts]
        await self._recorder.record_soon(lane.name, verdicts, replies)
        for unit in units[len(verdicts) :]:
            unit.more, unit.mine = (), False
            await self._answer(lane, unit)

    async def _converse(self, lane: Lane, open_unit: Open, received: list[Reply]) -> Verdict:
        """Ask what one unit needs; replies that were paid for are put among the received."""
        unit = open_unit.unit
        request = open_unit.request.for_sample(unit.sample, open_unit.hash)
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
            lane.fail(error)
            return failed(unit, lane.name, request.hash, reason=error.reason, first=first)
        except NotAsked:
            if first is None or not received:
                raise
            return failed(unit, lane.name, request.hash, reason="interrupted", first=first)

    async def _obtain(
        self, lane: Lane, request: Request, received: list[Reply], *, mine: bool = False
    ) -> Reply:
        """Get a reply from the judge, or from the store if it has come in meanwhile.

        While somebody else is asking the same, here or in another run, their reply is waited for.
        """
        while not mine:
            mine = self._store.locks.claim(request.hash)
            if mine and (known := self._store.get_many([(request.cache_key, request.hash)])):
                self._store.locks.release(request.hash)
                return known[request.hash]
            if awaited := self._store.batches.find([request.hash], lane.name):
                if mine:
                    self._store.locks.release(request.hash)
                lane.leave(awaited.values())
                raise NotAsked
            if not mine:
                await lane.gate.sleep(LEASE_POLL_S)
        try:
            [reply] = await self._call(lane, [request])
        except BaseException:
            self._store.locks.release(request.hash)
            raise
        received.append(reply)
        return reply

    def _without_choice(self, lane: Lane, unit: Unit, first: Reply, *, cached: bool) -> Verdict:
        """Read a pair whose first turn was blank: there is no conversation to go on with."""
        alone = unit._replace(elicitation="response_set")
        verdict = self._read(lane, alone, first, cached=cached)
        why = f"set:{verdict.reason}"
        return replace(verdict, elicitation="paired", first=first, reply=None, reason=why)

    def _numbered(self, verdict: Verdict) -> Verdict:
        """Count how often a unit was tried, over all starts of the run."""
        if not self._done:
            return verdict
        unit = Unit(verdict.item, verdict.elicitation, verdict.sample)
        before = self._before(verdict.judge, unit)
        return replace(verdict, attempt=before.attempt + 1) if before else verdict

    async def _call(self, lane: Lane, requests: Sequence[Request]) -> list[Reply]:
        """Send one request until it is answered, fails for good or may not be sent.

        Of several that differ in the sample alone, one is sent for all; there may be fewer replies.
        A place is held only while a request is in flight, never while backing off.
        """
        try:
            return await self._attempt(lane, requests)
        except CallFailed as error:
            if not is_retryable(error):
                raise
            failures = [error]  # tenacity takes over from here, with the first failure at hand
        lane.n_waiting += 1
        self._hire(lane)
        try:
            retrying = self._retrying.copy(sleep=lane.gate.sleep)
            return await retrying(self._again, lane, requests, failures)
        finally:
            lane.n_waiting -= 1

    async def _again(
        self, lane: Lane, requests: Sequence[Request], failures: list[CallFailed]
    ) -> list[Reply]:
        if failures:
            raise failures.pop()
        return await self._attempt(lane, requests)

    async def _attempt(self, lane: Lane, requests: Sequence[Request]) -> list[Reply]:
        gate, spec, request, n = lane.gate, lane.judge.spec, requests[0], len(requests)
        ticket = await gate.enter(max_tokens(spec, request, n) if gate.rate.minds_tokens else 0)
        try:
            if self._budget.limit_usd is not None:
                await self._budget.room(spec, request, n)
            gate.check()
            with self._budget.reserving(spec, request, n) as bill:
                if n == 1:
                    replies = [await lane.deadline.within(lane.judge.ask(request))]
                else:
                    replies = await lane.deadline.within(lane.judge.ask_many(requests))
                bill.settle(replies)
            for request, reply in zip(requests, replies, strict=False):
                force_setattr(reply, "cache_key", request.cache_key)
            gate.succeeded()
        except BudgetSpent:
            self.drain()
            raise NotAsked from None
        except TimeoutError:
            raise CallFailed("timeout", retry=True) from None
        except CallFailed as error:
            gate.failed(ticket, error)
            raise limit_wait(error, spec.retry_after_max_s) from None
        except (NotAsked, RunError):
            raise
        except Exception as error:  # noqa: BLE001 -- a judge's bug is that judge's trouble alone
            raise CallFailed(f"unexpected_{type(error).__name__}") from None
        finally:
            gate.leave()
        return replies

    def _wait_s(self, state: RetryCallState) -> float:
        """Full jitter, but at least what the server asked for."""
        error = state.outcome.exception() if state.outcome else None
        asked = getattr(error, "retry_after_s", None) or 0.0
        jitter = wait_random_exponential(self._settings.backoff_s, self._settings.backoff_max_s)
        return max(asked, jitter(state))


def _first(errors: BaseExceptionGroup[RunError]) -> RunError:
    """Return the first error of a group of groups."""
    error = errors.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
