"""Runs units of work in batches, at half the price where providers offer them.

What was handed in stands in the run's ``batches.json`` before and after it is, so that a run that
was ended at any moment, or a day ago, waits for it again and hands nothing in twice.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import force_setattr, replace
from tenacity import AsyncRetrying, retry_if_result
from tenacity.wait import wait_exponential

from harness.errors import CallFailed
from harness.judging.judges.base import without_key
from harness.judging.judges.pricing import worst_cost
from harness.judging.judges.response_errors import may_be_billed
from harness.judging.parsing.verdict import failed
from harness.judging.running.ask import first_turn, look_up_granted, read_without_choice
from harness.judging.running.batch_api import KEPT, BatchWire, Http, PreparedRequest, batch_api_of
from harness.judging.running.local_executor import LOOKUP_BATCH, LocalExecutor
from harness.judging.running.services import NotAsked
from harness.judging.storage.batch_ledger import PendingBatch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Request
    from harness.judging.running.batch_api import BatchApi, BatchResult
    from harness.judging.running.services import WorkUnit
    from harness.judging.running.session import JudgeRun, Session
    from harness.judging.storage.batch_ledger import BatchLedger

MAX_REQUESTS = 10_000
MAX_BYTES = 64 << 20
RESULTS_PER_WRITE = 100
POLL_GROWTH, POLL_MAX = 1.5, 10.0  # of the wait between looks; the maximum in first waits


class BatchExecutor:
    """An `Executor` that hands in batches for judges whose provider takes them.

    The units of other judges are run by a `LocalExecutor`.

    Parameters
    ----------
    session : Session
        What is asked.
    ledger : BatchLedger
        Batches that an earlier session of the run handed in.
    """

    def __init__(self, session: Session, ledger: BatchLedger) -> None:
        self.ledger = ledger
        self._local = LocalExecutor(session)
        self._claimed: dict[str, set[str]] = defaultdict(set)  # before any judge asks for them
        for batch in ledger.batches:
            session.budget.hold(batch.reserved_usd)
            self._claimed[batch.judge] |= set(filter(session.cache.locks.claim, batch.requests))

    async def run(self, judges: Sequence[JudgeRun]) -> None:
        """Ask all open units of some judges."""
        async with asyncio.TaskGroup() as group:
            for judge in judges:
                if batch_api_of(judge.judge.spec) is None:
                    group.create_task(self._local.ask_all(judge))
                else:
                    batches = self.judge_batches(judge, self._claimed[judge.name])
                    group.create_task(batches.ask_all())

    def judge_batches(self, judge: JudgeRun, claimed: set[str]) -> JudgeBatches:
        """Return what asks one judge; ``claimed`` are the requests that are locked for it."""
        return JudgeBatches(judge, self.ledger, claimed)


class PendingUnit(NamedTuple):
    """A unit that waits for the reply to a request: its own, or of a pair, the second turn's."""

    unit: WorkUnit
    request: Request


class JudgeConnection:
    """A judge's own way of writing requests and reading replies, and its provider's batch API."""

    def __init__(self, judge: Any) -> None:  # noqa: ANN401 -- one that is asked over HTTP
        self._judge = judge
        self._wire = BatchWire()
        vars(judge)["wire"] = self._wire  # in place of its connections
        self._http: Http | None = None
        self._api: BatchApi | None = None

    async def write(self, request: Request) -> PreparedRequest:
        """Write a request as the judge would send it."""
        self._wire.prepared = self._wire.answer = None
        await self._judge.prepare()
        try:
            await self._judge.ask(request)
        except CallFailed as failure:
            if failure.reason != KEPT or self._wire.prepared is None:
                raise
        assert self._wire.prepared is not None
        return self._wire.prepared

    async def read(self, request: Request, result: BatchResult) -> Reply:
        """Read a reply as the judge would."""
        if result.answer is None:
            raise CallFailed(result.reason, retry=True)
        self._wire.answer = result.answer
        try:
            reply: Reply = await self._judge.ask(request)
        finally:
            self._wire.answer = None
        reply = without_key(reply, self._judge.spec)
        force_setattr(reply, "cache_key", request.cache_key)
        return reply

    async def api(self, request: Request) -> BatchApi:
        """Return the provider's batch API, at the address that any request of the judge's names."""
        if self._api is None:
            style = batch_api_of(self._judge.spec)
            assert style is not None
            prepared = await self.write(request)
            self._http = Http(prepared.headers)
            self._api = style(self._http, prepared.url)
        return self._api

    async def aclose(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()


class JudgeBatches:
    """One judge's open units, handed in as batches and collected."""

    def __init__(self, judge: JudgeRun, ledger: BatchLedger, claimed: set[str]) -> None:
        self.judge = judge
        self.session = judge.session
        self._ledger = ledger
        self._claimed = claimed
        self._connection = JudgeConnection(judge.judge)
        self._pending: dict[str, list[PendingUnit]] = {}
        self._handed_in: set[str] = set()
        self._collected_usd = 0.0

    async def ask_all(self) -> None:
        """Ask all open units."""
        try:
            self._look_up()
            while self._pending:
                batches = [b for b in self._ledger.batches if b.judge == self.judge.name]
                if not batches:
                    batches = await self._polling(None)(self._hand_in)
                for batch in batches:
                    await self._collect(batch)
        except NotAsked:
            pass
        except CallFailed as failure:
            self.judge.stop(failure.reason)
        finally:
            self._release(self._claimed.intersection(self._pending))
            await self._connection.aclose()
        self.judge.end()

    def _look_up(self) -> None:
        """Collect the units that neither the log nor the store answers."""
        units = self.judge.open_units()
        while batch := list(islice(units, LOOKUP_BATCH)):
            remaining = self.judge.without_stored(batch)
            pairs = [unit.key for unit in remaining if unit.elicitation == "paired"]
            stored = self.session.cache.get_many(pairs)
            for unit in remaining:
                waiting = PendingUnit(unit, unit.request_for())
                first = unit.first or stored.get(unit.hashes[0])
                if first is None:
                    self._add(waiting)
                elif verdict := self._read(waiting, first, bought=unit.bought):
                    self.judge.record([verdict])

    def _add(self, waiting: PendingUnit) -> None:
        self._pending.setdefault(waiting.request.hash, []).append(waiting)

    def _claim(self, request: str) -> bool:
        """Lock a request; False while somebody else is asking for it."""
        if request not in self._claimed:
            if not self.session.cache.locks.claim(request):
                return False
            self._claimed.add(request)
        return True

    def _release(self, requests: Iterable[str]) -> None:
        for request in requests:
            self._claimed.discard(request)
            self.session.cache.locks.release(request)

    def _claim_pending(self) -> list[str]:
        """Lock as many pending requests as a batch holds.

        Those whose reply others have got are recorded, those that wait in batches of other runs
        are left out.
        """
        claims = (request for request in self._pending if self._claim(request))
        claimed = list(islice(claims, MAX_REQUESTS))
        keys = [(self._pending[request][0].request.cache_key, request) for request in claimed]
        stored, elsewhere = look_up_granted(keys, set(claimed), self.session.cache, self.judge.name)
        self._claimed.difference_update(stored, elsewhere)
        for request, reply in stored.items():
            self.judge.record(self._read_all(self._pending.pop(request), reply))
        for request, command in elsewhere.items():
            self.judge.count_pending(command for _ in self._pending.pop(request))
        return [request for request in claimed if request in self._claimed]

    async def _hand_in(self) -> list[PendingBatch] | None:
        """Hand in as many pending requests as a batch and the budget allow.

        None while others are asking for all that is pending.
        """
        claimed = self._claim_pending()
        if not claimed:
            self.judge.gate.check()
            for request in islice(self._pending, 1):
                self.session.cache.locks.report_holder(request)
            return None if self._pending else []
        bodies, reserved_usd = await self._write_affordable(claimed)
        self._release(claimed[len(bodies) :])
        if not bodies:
            if self.session.budget.reserved_usd > 0:  # of which there may be something left
                return None
            next_request = self._pending[claimed[0]][0].request
            self.session.budget.refuse(worst_cost(self.judge.judge.spec, next_request))
            self.session.drain()
        if self.judge.gate.is_shut:
            self._book(reserved_usd, 0.0)
        self.judge.gate.check()
        requests = [request for request, _ in bodies]
        batch = PendingBatch(
            self.judge.name,
            secrets.token_hex(8),
            time.time(),
            len(requests),
            requests=requests,
            reserved_usd=reserved_usd,
        )
        self._ledger.put(batch)
        batch = await self._submit(batch, bodies)
        self._handed_in = set(requests)
        self.session.observer.say(
            f"{self.judge.name}: handed in batch {batch.id} of {batch.n} requests"
        )
        return [batch]

    async def _write_affordable(
        self, requests: Sequence[str]
    ) -> tuple[list[tuple[str, dict[str, Any]]], float]:
        """Write the first of some requests, as many as batch size and budget allow.

        Returned with them is the most that they may cost in USD, which is reserved.
        """
        bodies: list[tuple[str, Any]] = []
        budget = self.session.budget
        n_bytes, reserved_usd = 0, 0.0
        for key in requests:
            request = self._pending[key][0].request
            body = (await self._connection.write(request)).body
            n_bytes += len(json.dumps(body))
            if bodies and n_bytes > MAX_BYTES:
                break
            if budget.limit_usd is not None:
                cost_usd = worst_cost(self.judge.judge.spec, request)
                if not budget.has_room(cost_usd):
                    break
                budget.hold(cost_usd)
                reserved_usd += cost_usd
            bodies.append((key, body))
        return bodies, reserved_usd

    def _book(self, reserved_usd: float, cost_usd: float | None) -> None:
        """Replace what was reserved by what it cost; where nobody said that, by all of it."""
        spent_usd = reserved_usd if cost_usd is None else cost_usd
        self.session.budget.book(reserved_usd, spent_usd, is_known=cost_usd is not None)

    def _drop(self, batch: PendingBatch) -> None:
        """Forget a batch that the provider does not have."""
        self._book(batch.reserved_usd, 0.0)
        self._ledger.drop(batch)

    async def _api(self) -> BatchApi:
        return await self._connection.api(next(iter(self._pending.values()))[0].request)

    async def _submit(self, batch: PendingBatch, bodies: Sequence[tuple[str, Any]]) -> PendingBatch:
        """Hand a batch in; after an uncertain failure only if the provider does not have it."""
        api, retry = await self._api(), self.session.retry
        for attempt in range(retry.attempts):
            try:
                batch_id = await self._find(api, batch) if attempt else ""
                received = batch._replace(id=batch_id or await api.submit(batch, bodies))
            except CallFailed as failure:
                if not failure.retry or attempt + 1 == retry.attempts:
                    if not failure.retry:
                        self._drop(batch)
                    raise
                await self.judge.gate.sleep(retry.backoff_s * 2**attempt)
            else:
                self._ledger.put(received)
                return received
        raise AssertionError("the last attempt returns or raises")

    async def _find(self, api: BatchApi, batch: PendingBatch) -> str:
        """Return the id of a batch that the provider may have received; empty if it has not."""
        return await api.find(batch, {other.id for other in self._ledger.batches if other.id})

    async def _collect(self, batch: PendingBatch) -> None:
        """Wait for a batch and record its results."""
        api = await self._api()
        if not batch.id:
            batch = batch._replace(id=await self._find(api, batch))
            if not batch.id:  # it was never received
                self._drop(batch)
                return
            self._ledger.put(batch)
        await self._polling(False)(self._is_done, api, batch)
        share_usd = batch.reserved_usd / max(batch.n, 1)
        n_left, collected = batch.n, self._collected_usd
        verdicts: list[Verdict] = []
        received: list[Reply] = []
        async for result in api.results(batch.id):
            n_left -= 1
            if units := self._pending.pop(result.request, []):
                verdicts += await self._receive(units, result, received, share_usd)
            else:  # received before, and not counted then if the run was killed
                self._book(share_usd, None)
            if len(verdicts) >= RESULTS_PER_WRITE:
                self.judge.record(verdicts, received)
                verdicts, received = [], []
        missing = [unit for key in self._handed_in for unit in self._pending.pop(key, ())]
        for waiting in missing:
            self.judge.count_failure(CallFailed("batch_unanswered", retry=True))
            verdicts.append(self._failed(waiting, "batch_unanswered"))
        self._release([waiting.request.hash for waiting in missing])
        self._handed_in = set()
        self.judge.record(verdicts, received)
        self._book(max(n_left, 0) * share_usd, None)
        self._ledger.drop(batch)
        cost_usd = self._collected_usd - collected
        self.session.budget.compare(self.judge.name, batch.reserved_usd, cost_usd)
        if failure := self.session.budget.overrun(self.judge.name):
            self.judge.count_failure(failure)
        self.session.observer.say(f"{self.judge.name}: batch {batch.id} is in")

    def _polling(self, not_done: object) -> AsyncRetrying:
        """Return what repeats a call, ever more rarely, while it returns ``not_done``."""
        first_s = self.judge.judge.spec.batch_poll_s
        return AsyncRetrying(
            retry=retry_if_result(lambda result: result is not_done),
            wait=wait_exponential(first_s, first_s * POLL_MAX, POLL_GROWTH),
            sleep=self.wait,
        )

    async def wait(self, seconds: float) -> None:
        """Wait between two looks."""
        await self.judge.gate.sleep(seconds)

    async def _is_done(self, api: BatchApi, batch: PendingBatch) -> bool:
        try:
            return await api.ended(batch.id)
        except CallFailed as failure:
            if failure.retry:
                return False
            raise

    async def _receive(
        self,
        waiting: Sequence[PendingUnit],
        result: BatchResult,
        received: list[Reply],
        reserved_usd: float,
    ) -> list[Verdict]:
        """Return the verdicts in a result, for all units that wait for it."""
        request = waiting[0].request
        try:
            reply = await self._connection.read(request, result)
        except CallFailed as failure:
            is_free = result.answer is None or not may_be_billed(failure)
            self._book(reserved_usd, 0.0 if is_free else None)
            self._release([request.hash])
            for _ in waiting:
                self.judge.count_failure(failure)
            return [self._failed(unit, failure.reason) for unit in waiting]
        self._book(reserved_usd, reply.cost_usd)
        self._collected_usd += reply.cost_usd or 0.0
        received.append(reply)
        return self._read_all(waiting, reply, bought=True)

    def _read_all(
        self, waiting: Sequence[PendingUnit], reply: Reply, *, bought: bool = False
    ) -> list[Verdict]:
        verdicts = [self._read(unit, reply, bought=bought) for unit in waiting]
        return [verdict for verdict in verdicts if verdict is not None]

    def _read(self, waiting: PendingUnit, reply: Reply, *, bought: bool) -> Verdict | None:
        """Return the verdict in a reply; None if a pair's second turn must be asked first."""
        unit = waiting.unit
        if unit.elicitation != "paired":
            return self._verdict(unit, reply, bought=bought)
        if unit.first is not None and waiting.request.hash != unit.first.request:
            return self._verdict(unit, reply, bought=bought or unit.bought)
        verdict = self._continue(unit, reply, bought=bought)
        if verdict is None and bought and unit.first is None:  # it must be safe before the second
            self.judge.record([first_turn(replace(unit, first=reply), self.judge.name)])
        return verdict

    def _continue(self, unit: WorkUnit, first: Reply, *, bought: bool) -> Verdict | None:
        """Ask a pair's second turn, unless there is no conversation to continue."""
        if not first.text.strip():
            return read_without_choice(
                self.judge.reader, first, unit.unit(), self.judge.name, cached=not bought
            )
        unit = replace(unit, first=first, bought=bought)
        request = self.judge.judge.follow_up(unit.request_for(), first)
        stored = self.session.cache.get_many([(request.cache_key, request.hash)])
        if request.hash in stored:
            return self._verdict(unit, stored[request.hash], bought=bought)
        self._add(PendingUnit(unit, request))
        return None

    def _verdict(self, unit: WorkUnit, reply: Reply, *, bought: bool) -> Verdict:
        reader, name = self.judge.reader, self.judge.name
        return reader.verdict(reply, unit.unit(), name, first=unit.first, cached=not bought)

    def _failed(self, waiting: PendingUnit, reason: str) -> Verdict:
        unit, request = waiting.unit, waiting.request.hash
        return failed(unit.unit(), self.judge.name, request, reason=reason, first=unit.first)
