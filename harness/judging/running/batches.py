"""A second way to ask: requests in batches, at half the price where providers offer it.

The log, the cache, the parser and the budget are those of `Runner`. What was handed in stands in
``batches.json`` of the run folder before and after it is, so that a run that was ended at any
moment, or a day ago, goes on waiting and hands nothing in twice.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import defaultdict
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import force_setattr
from tenacity import AsyncRetrying, retry_if_result
from tenacity.wait import wait_exponential

from harness.errors import CallFailed
from harness.judging.parsing.verdict import failed
from harness.judging.running.batch_api import KEPT, BatchWire, Http, Sent, style_of
from harness.judging.running.budget import worst_cost
from harness.judging.running.judge_queue import Lane, Open
from harness.judging.running.rate_gate import NotAsked
from harness.judging.running.worker_pool import LOOKUP_BATCH, Runner
from harness.judging.storage.batch_ledger import PendingBatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Request
    from harness.judging.running.batch_api import Api, Outcome
    from harness.judging.running.jobs import Job
    from harness.judging.storage.batch_ledger import BatchLedger

MOST_PER_BATCH = 10_000
MOST_BATCH_BYTES = 64 << 20
RECORD_EVERY = 100  # results written to the log at once
POLL_GROWS_BY, POLL_GROWS_TO = 1.5, 10.0  # from one look to the next; times the first wait


class _Asked(NamedTuple):
    """A unit that waits for the reply to a request.

    Of a pair's second turn, with the first, and whether that was bought just now.
    """

    unit: Open
    request: Request
    first: Reply | None = None
    bought: bool = False


class _Desk:
    """What one judge's batches need: its own way of writing requests, and the provider's API."""

    def __init__(self, lane: Lane, leased: set[str]) -> None:
        self.judge: Any = lane.judge  # one that is asked over HTTP
        self.wire = BatchWire()
        vars(self.judge)["wire"] = self.wire  # in the place of its connections
        self.style = style_of(lane.judge.spec)
        self.pending: dict[str, list[_Asked]] = {}
        self.handed_in: set[str] = set()
        self.leased = leased
        self.http: Http | None = None
        self.api: Api | None = None

    def add(self, asked: _Asked) -> None:
        self.pending.setdefault(asked.request.hash, []).append(asked)

    async def write(self, request: Request) -> Sent:
        """Write a request as the judge would send it."""
        self.wire.sent = self.wire.answer = None
        try:
            await self.judge.ask(request)
        except CallFailed as failure:
            if failure.reason != KEPT or self.wire.sent is None:
                raise
        assert self.wire.sent is not None
        return self.wire.sent

    async def read(self, request: Request, outcome: Outcome) -> Reply:
        """Read a reply as the judge would."""
        if outcome.answer is None:
            raise CallFailed(outcome.reason, retry=True)
        self.wire.answer = outcome.answer
        try:
            reply: Reply = await self.judge.ask(request)
            force_setattr(reply, "cache_key", request.cache_key)
        finally:
            self.wire.answer = None
        return reply

    async def reach(self) -> Api:
        """Find out where the provider's batches are, from a request of the judge's."""
        if self.api is None:
            assert self.style is not None
            sent = await self.write(next(iter(self.pending.values()))[0].request)
            self.http = Http(sent.headers)
            self.api = self.style(self.http, sent.url)
        return self.api

    async def aclose(self) -> None:
        if self.http is not None:
            await self.http.aclose()


class BatchRunner(Runner):
    """A `Runner` that hands in batches for the judges whose provider takes them.

    Parameters
    ----------
    book : BatchLedger
        Batches that an earlier start of the run handed in.
    """

    def __init__(self, *arguments: Any, book: BatchLedger, **named: Any) -> None:  # noqa: ANN401 -- a Runner's
        super().__init__(*arguments, **named)
        self._book = book
        self._leased: dict[str, set[str]] = defaultdict(set)  # before any judge asks for them
        for ticket in book.batches:
            self._leased[ticket.judge] |= set(filter(self._store.locks.claim, ticket.requests))

    async def _serve(self, job: Job) -> tuple[str, str]:
        if style_of(job.judge.spec) is None:
            return await super()._serve(job)
        lane = Lane(job, asyncio.TaskGroup(), self._gates[job.judge.spec.name])
        desk = _Desk(lane, self._leased[lane.name])
        try:
            self._look_up(lane, desk)
            while desk.pending:
                mine = self._mine(lane)
                if not mine:
                    mine = await self._looking(lane, None)(self._hand_in, lane, desk)
                for ticket in mine:
                    await self._collect(lane, desk, ticket)
        except NotAsked:
            pass
        except CallFailed as failure:
            lane.stop(failure.reason)
        finally:
            self._release(desk, desk.leased.intersection(desk.pending))
            await desk.aclose()
        return lane.end(self._observer)

    def _mine(self, lane: Lane) -> list[PendingBatch]:
        return [ticket for ticket in self._book.batches if ticket.judge == lane.name]

    def _look_up(self, lane: Lane, desk: _Desk) -> None:
        """Collect the units that neither the log nor the store can answer."""
        units = self._open_units(lane)
        while batch := list(islice(units, LOOKUP_BATCH)):
            for unit in self._without_known(lane, batch):
                request = unit.request.for_sample(unit.unit.sample)
                if unit.known is None:
                    desk.add(_Asked(unit, request))
                elif verdict := self._take(lane, desk, _Asked(unit, request), unit.known):
                    self._recorder.record(lane.name, [self._numbered(verdict)])

    def _claim(self, desk: _Desk, key: str) -> bool:
        """Take the lease on a request; False if somebody else is asking for the same."""
        if key not in desk.leased:
            if not self._store.locks.claim(key):
                return False
            desk.leased.add(key)
        return True

    def _release(self, desk: _Desk, keys: Iterable[str]) -> None:
        for key in keys:
            desk.leased.discard(key)
            self._store.locks.release(key)

    def _claimed(self, lane: Lane, desk: _Desk) -> list[str]:
        """Take the leases on as many pending requests as a batch holds.

        Those that others have got the replies to are written down on the way, those that wait in
        batches of other runs are left out.
        """
        claimed = list(islice((k for k in desk.pending if self._claim(desk, k)), MOST_PER_BATCH))
        known = self._known(desk, claimed)
        self._release(desk, known)
        for key, reply in known.items():
            made = [self._take(lane, desk, asked, reply) for asked in desk.pending.pop(key)]
            verdicts = [self._numbered(verdict) for verdict in made if verdict]
            self._recorder.record(lane.name, verdicts)
        claimed = [key for key in claimed if key not in known]
        awaited = self._store.batches.find(claimed, lane.name)
        self._release(desk, awaited)
        for key, command in awaited.items():
            lane.leave(command for _ in desk.pending.pop(key))
        return [key for key in claimed if key not in awaited]

    def _known(self, desk: _Desk, keys: Sequence[str]) -> dict[str, Reply]:
        known: dict[str, Reply] = {}
        for start in range(0, len(keys), LOOKUP_BATCH):
            some = keys[start : start + LOOKUP_BATCH]
            known |= self._store.get_many(
                [(desk.pending[key][0].request.cache_key, key) for key in some]
            )
        return known

    async def _hand_in(self, lane: Lane, desk: _Desk) -> list[PendingBatch] | None:
        """Hand in as many pending requests as a batch and the budget take.

        None if others are asking for all that is pending: their replies are waited for.
        """
        claimed = self._claimed(lane, desk)
        if not claimed:
            lane.gate.check()
            return None if desk.pending else []
        chosen = await self._chosen(lane, desk, claimed)
        self._release(desk, claimed[len(chosen) :])
        if not chosen:
            self._budget.exhausted = True
            self.drain()
        lane.gate.check()
        keys = [key for key, _ in chosen]
        ticket = PendingBatch(
            lane.name, secrets.token_hex(8), time.time(), len(keys), requests=keys
        )
        self._book.put(ticket)
        ticket = await self._submit(lane, desk, ticket, chosen)
        desk.handed_in = set(keys)
        self._observer.say(f"{lane.name}: handed in batch {ticket.id} of {ticket.n} requests")
        return [ticket]

    async def _chosen(
        self, lane: Lane, desk: _Desk, keys: Sequence[str]
    ) -> list[tuple[str, dict[str, Any]]]:
        """Write the first of some requests, as many as the size of a batch and the budget allow."""
        chosen: list[tuple[str, Any]] = []
        size, left = 0, self._room()
        for key in keys:
            request = desk.pending[key][0].request
            body = (await desk.write(request)).body
            size += len(json.dumps(body))
            left -= worst_cost(lane.judge.spec, request)
            if left < 0 or (chosen and size > MOST_BATCH_BYTES):
                break
            chosen.append((key, body))
        return chosen

    async def _submit(
        self, lane: Lane, desk: _Desk, ticket: PendingBatch, chosen: Sequence[tuple[str, Any]]
    ) -> PendingBatch:
        """Hand a batch in; after a doubtful failure only if the provider does not have it."""
        api = await desk.reach()
        for attempt in range(self._settings.attempts):
            try:
                found = await self._found(api, ticket) if attempt else ""
                done = ticket._replace(id=found or await api.submit(ticket, chosen))
            except CallFailed as failure:
                if not failure.retry or attempt + 1 == self._settings.attempts:
                    if not failure.retry:
                        self._book.drop(ticket)
                    raise
                await lane.gate.sleep(self._settings.backoff_s * 2**attempt)
            else:
                self._book.put(done)
                return done
        raise AssertionError("the last attempt returns or raises")

    async def _found(self, api: Api, ticket: PendingBatch) -> str:
        known = {one.id for one in self._book.batches if one.id}
        return await api.find(ticket, known)

    async def _collect(self, lane: Lane, desk: _Desk, ticket: PendingBatch) -> None:
        """Wait for a batch and write its results down."""
        api = await desk.reach()
        if not ticket.id:
            ticket = ticket._replace(id=await self._found(api, ticket))
            if not ticket.id:  # it was never received
                self._book.drop(ticket)
                return
            self._book.put(ticket)
        await self._looking(lane, False)(self._ended, api, ticket)
        verdicts: list[Verdict] = []
        received: list[Reply] = []
        async for outcome in api.outcomes(ticket.id):
            waiting = desk.pending.pop(outcome.request, ())
            made = [await self._settle(lane, desk, one, outcome, received) for one in waiting]
            verdicts += [self._numbered(verdict) for verdict in made if verdict is not None]
            if len(verdicts) >= RECORD_EVERY:
                self._recorder.record(lane.name, verdicts, received)
                verdicts, received = [], []
        missing = [asked for key in desk.handed_in for asked in desk.pending.pop(key, ())]
        for asked in missing:
            lane.fail(CallFailed("batch_unanswered", retry=True))
            verdicts.append(self._numbered(_failed(lane, asked, "batch_unanswered")))
        self._release(desk, [asked.request.hash for asked in missing])
        desk.handed_in = set()
        self._recorder.record(lane.name, verdicts, received)
        self._book.drop(ticket)
        self._observer.say(f"{lane.name}: batch {ticket.id} is in")

    def _looking(self, lane: Lane, not_yet: object) -> AsyncRetrying:
        """Look again and again, ever more rarely, for as long as `not_yet` is found."""
        first = lane.judge.spec.batch_poll_s
        return AsyncRetrying(
            retry=retry_if_result(lambda found: found is not_yet),
            wait=wait_exponential(first, first * POLL_GROWS_TO, POLL_GROWS_BY),
            sleep=partial(self._wait, lane),
        )

    async def _wait(self, lane: Lane, seconds: float) -> None:
        await lane.gate.sleep(seconds)

    async def _ended(self, api: Api, ticket: PendingBatch) -> bool:
        try:
            return await api.ended(ticket.id)
        except CallFailed as failure:
            if failure.retry:
                return False
            raise

    async def _settle(
        self, lane: Lane, desk: _Desk, asked: _Asked, outcome: Outcome, received: list[Reply]
    ) -> Verdict | None:
        """Make a verdict of a result; None if a pair's second turn must be asked first."""
        try:
            reply = await desk.read(asked.request, outcome)
        except CallFailed as failure:
            self._release(desk, [asked.request.hash])
            lane.fail(failure)
            return _failed(lane, asked, failure.reason)
        self._budget.spent_usd += reply.cost_usd or 0.0
        received.append(reply)
        if asked.unit.unit.elicitation == "paired" and asked.first is None:
            verdict = self._go_on(lane, desk, asked, reply, cached=False)
            if verdict is None:  # the reply must be safe before the second turn is there
                halfway = _failed(lane, asked._replace(first=reply), "awaits_second_turn")
                self._log.append([self._numbered(halfway)])
            return verdict
        return self._read(lane, asked.unit.unit, reply, asked.first, cached=False)

    def _take(self, lane: Lane, desk: _Desk, asked: _Asked, reply: Reply) -> Verdict | None:
        """Make a verdict of a reply that somebody else got; None as `_settle`."""
        unit = asked.unit.unit
        if unit.elicitation == "paired" and asked.first is None:
            return self._go_on(lane, desk, asked, reply)
        return self._read(lane, unit, reply, asked.first, cached=not asked.bought)

    def _go_on(
        self, lane: Lane, desk: _Desk, asked: _Asked, first: Reply, *, cached: bool = True
    ) -> Verdict | None:
        """Ask a pair's second turn, unless there is no conversation to go on with."""
        if not first.text.strip():
            return self._without_choice(lane, asked.unit.unit, first, cached=cached)
        request = lane.judge.follow_up(asked.request, first)
        known = self._store.get_many([(request.cache_key, request.hash)]).get(request.hash)
        if known is not None:
            return self._read(lane, asked.unit.unit, known, first, cached=cached)
        desk.add(_Asked(asked.unit, request, first, bought=not cached))
        return None

    def _room(self) -> float:
        limit = self._budget.limit_usd
        return float("inf") if limit is None else limit - self._budget.spent_usd


def _failed(lane: Lane, asked: _Asked, reason: str) -> Verdict:
    return failed(asked.unit.unit, lane.name, asked.request.hash, reason=reason, first=asked.first)
