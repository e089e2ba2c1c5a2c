"""Wrapper to run a judge in batches, which cost half as much at some providers.

A call waits until a batch returns its reply. Waiting calls are submitted together. If an earlier
session of the run submitted a request, its call waits for that batch.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec.structs import replace
from tenacity import AsyncRetrying, retry_if_result
from tenacity.wait import wait_exponential

from harness.errors import CallFailed, NotAsked, RunError
from harness.extras.batch.batch_apis import Http, batch_api_of
from harness.extras.batch.batch_ledger import PendingBatch
from harness.judging.judges.base import Judge
from harness.judging.judges.pricing import price_of, reply_cap, worst_cost

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from harness.extras.batch.batch_apis import BatchApi, BatchResult
    from harness.extras.batch.batch_ledger import BatchLedger
    from harness.judging.judges.endpoint import HttpJudge
    from harness.judging.judges.http_exchange import PreparedRequest
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.question import Unit
    from harness.judging.prompts.requests import Request
    from harness.tasks.item import AnswerKind

MAX_REQUESTS = 10_000
MAX_BYTES = 64 << 20
COMPLETE_S = 0.3  # without a new call before the waiting calls are submitted
POLL_GROWTH, POLL_MAX = 1.5, 10.0  # factor between waits; the maximum, in first waits
LONGEST_S = 40 * 86_400.0  # maximum time that a call waits


@dataclass(frozen=True, slots=True)
class Batching:
    """Settings that all batched judges of a run share.

    Attributes
    ----------
    ledger : BatchLedger
        Batches of the run, including those from an earlier session.
    say : callable
        Receives a line for each batch.
    is_limited : bool
        Whether the run has a cost limit, so that the ledger records each batch's maximum cost.
    sleep : callable
        Waits between status checks.
    is_closed : bool
        Whether to collect only submitted batches, without sending new requests.
    """

    ledger: BatchLedger
    say: Callable[[str], None]
    is_limited: bool = False
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    is_closed: bool = False


@dataclass(eq=False, slots=True)
class _Call:
    """Call in a batch that waits for its reply."""

    request: Request
    reply: asyncio.Future[Reply]
    is_sent: bool = False


class BatchedJudge(Judge):
    """Wrapper that sends a judge's requests in batches and passes it the responses.

    Parameters
    ----------
    judge : HttpJudge
        Writes requests and reads replies. Its own connections send nothing.
    batching : Batching
        Settings of the run.
    """

    tried_first = False

    def __init__(self, judge: HttpJudge, batching: Batching) -> None:
        self.spec = judge.spec.model_copy(
            update={
                "concurrency": MAX_REQUESTS,
                "concurrency_start": None,
                "deadline_s": LONGEST_S,
                "rpm": None,
                "tpm": None,
            }
        )
        self._judge = judge
        self._batching = batching
        self._ledger = batching.ledger
        self._waiting: dict[str, _Call] = {}  # by request hash
        self._queue: list[_Call] = []
        self._early: dict[str, BatchResult] = {}  # results for which no call waits yet
        self._handing_in: asyncio.Task[None] | None = None
        self._collecting: dict[str, asyncio.Task[None]] = {}  # by token
        self._collected: set[str] = set()  # tokens
        self._http: Http | None = None
        self._api: BatchApi | None = None
        self._has_left = False

    @property
    def n_connections(self) -> int:
        """Number of simultaneous connections, which is 0 because calls do not use any."""
        return 0

    def request(self, unit: Unit) -> Request:
        """Return a unit's request, or the first of the two requests for a set-then-choice pair."""
        return self._judge.request(unit)

    def follow_up(self, request: Request, reply: Reply) -> Request:
        """Return a set-then-choice pair's second request, which follows the first reply."""
        return self._judge.follow_up(request, reply)

    def ask_again(self, request: Request, reply: Reply, unit: Unit, kind: AnswerKind) -> Request:
        """Return the second question after an unreadable reply, for a later batch."""
        return self._judge.ask_again(request, reply, unit, kind)

    async def prepare(self) -> None:
        """Load the judge's resources."""
        await self._judge.prepare()

    async def ask(self, request: Request) -> Reply:
        """Wait for a batch to return the reply."""
        if self._has_left:
            raise NotAsked
        call = self._waiting.get(request.hash)
        if call is None:
            call = _Call(request, asyncio.get_running_loop().create_future())
            self._waiting[request.hash] = call
            call.reply.add_done_callback(lambda _: self._waiting.pop(request.hash))
            await self._begin(call)
        return await asyncio.shield(call.reply)  # several calls may wait for one request

    async def _begin(self, call: _Call) -> None:
        """Collect the reply from its batch, or queue the request for a new batch."""
        batch = self._ledger.batch_of(call.request.hash)
        if batch is None and self._batching.is_closed:
            self._end([call.request.hash], None)
            return
        if batch is None:
            self._enqueue(call)
            return
        call.is_sent = True
        if result := self._early.pop(call.request.hash, None):
            self._deliver(call, await self._read(call, result, batch))
        else:
            self._collect_soon(batch)

    def recorded(self, replies: Sequence[Reply]) -> None:
        """Mark replies as written to the log, and remove batches without missing replies."""
        for batch in self._ledger.settle(reply.request for reply in replies):
            self._batching.say(f"{self.spec.name}: batch {batch.id} has returned")

    def leave(self) -> None:
        """Stop waiting for batches. A resumed run waits for them again."""
        self._has_left = True
        for task in (*self._collecting.values(), self._handing_in):
            if task is not None:
                task.cancel()
        self._end(self._waiting, None)

    async def aclose(self) -> None:
        """Close connections, and drop batches that no calls wait for."""
        tasks = [*self._collecting.values(), *([self._handing_in] if self._handing_in else [])]
        await asyncio.gather(*tasks, return_exceptions=True)
        if not self._has_left:
            own = [batch for batch in self._ledger.batches if batch.judge == self.spec.name]
            for batch in own:
                if batch.token in self._collected or batch.token not in self._collecting:
                    self._ledger.drop(batch)
        if self._http is not None:
            await self._http.aclose()
        await self._judge.aclose()

    def _end(self, requests: Iterable[str], error: Exception | None) -> None:
        """End the calls that wait for these requests, with ``error`` or, if None, `NotAsked`."""
        for request in tuple(requests):
            call = self._waiting.get(request)
            if call is not None and not call.reply.done():
                call.reply.set_exception(error or NotAsked(is_sent=call.is_sent))

    def _enqueue(self, call: _Call) -> None:
        self._queue.append(call)
        if self._handing_in is None or self._handing_in.done():
            self._handing_in = asyncio.create_task(self._hand_in_all())

    async def _hand_in_all(self) -> None:
        """Submit the waiting calls once no more calls arrive."""
        while self._queue:
            n = len(self._queue)
            await asyncio.sleep(COMPLETE_S)
            if n < len(self._queue) < MAX_REQUESTS:
                continue
            calls, self._queue = self._queue[:MAX_REQUESTS], self._queue[MAX_REQUESTS:]
            try:
                await self._hand_in(calls)
            except (CallFailed, RunError) as error:
                self._end([call.request.hash for call in calls], error)

    async def _hand_in(self, calls: Sequence[_Call]) -> None:
        """Submit as many calls as fit into a batch, and queue the others again."""
        written = await self._judge.write_requests([call.request for call in calls])
        n_fitting = max(1, sum(n < MAX_BYTES for n in accumulate(len(w.body) for w in written)))
        calls, rest = calls[:n_fitting], calls[n_fitting:]
        self._queue[:0] = rest
        requests = [call.request.hash for call in calls]
        costs: list[float] = []
        if self._batching.is_limited:
            price, cap = price_of(self.spec), reply_cap(self.spec)
            costs = [worst_cost(call.request, price, cap) for call in calls]
        batch = PendingBatch(
            self.spec.name,
            secrets.token_hex(8),
            time.time(),
            requests,
            reserved_usd=sum(costs),
        )
        api = self._open_api(written[0])
        self._ledger.put(batch)
        for call in calls:
            call.is_sent = True
        bodies = [w.body for w in written[:n_fitting]]
        try:
            batch_id = await api.submit(batch, list(zip(requests, bodies, strict=True)))
        except CallFailed as failure:
            if failure.unsent or not failure.retry:
                self._ledger.drop(batch)
            raise  # otherwise it may have been received, and repeated calls search for it
        batch = batch._replace(id=batch_id)
        self._ledger.put(batch)
        n_requests = f"{len(requests)} requests"
        self._batching.say(f"{self.spec.name}: submitted batch {batch.id} with {n_requests}")
        self._collect_soon(batch)

    def _open_api(self, written: PreparedRequest) -> BatchApi:
        """Return the provider's batch API, at the address in the judge's requests."""
        if self._api is None:
            style = batch_api_of(self._judge.spec)
            assert style is not None
            self._http = Http(written.headers)
            self._api = style(self._http, written.url)
        return self._api

    def _collect_soon(self, batch: PendingBatch) -> None:
        task = self._collecting.get(batch.token)
        if task is None or task.done():
            self._collecting[batch.token] = asyncio.create_task(self._collect(batch))

    async def _collect(self, batch: PendingBatch) -> None:
        """Wait for a batch, and pass its results to the waiting calls."""
        try:
            await self._collect_results(batch)
        except (CallFailed, RunError) as error:
            self._end(batch.requests, error)

    async def _collect_results(self, batch: PendingBatch) -> None:
        waiting = next(self._waiting[r] for r in batch.requests if r in self._waiting)
        [written] = await self._judge.write_requests([waiting.request])
        api = self._open_api(written)
        if not batch.id:
            taken = {other.id for other in self._ledger.batches if other.id}
            batch = batch._replace(id=await api.find(batch, taken))
            if not batch.id:  # it was never received
                self._ledger.drop(batch)
                for unsent in [self._waiting[r] for r in batch.requests if r in self._waiting]:
                    unsent.is_sent = False
                    await self._begin(unsent)
                return
            self._ledger.put(batch)
        await self._polling(self._is_done, api, batch)
        left, answers = set(batch.requests), []
        async for result in api.results(batch.id):
            left.discard(result.request)
            call = self._waiting.get(result.request)
            if call is None:
                self._early[result.request] = result
            else:
                answers.append((call, await self._read(call, result, batch)))
        for (
            call,
            answer,
        ) in answers:  # immediately, so that a judge that stops now has every reply it paid for
            self._deliver(call, answer)
        self._ledger.settle(left)
        self._end(left, CallFailed("batch_unanswered", retry=True))
        self._collected.add(batch.token)

    async def _read(
        self, call: _Call, result: BatchResult, batch: PendingBatch
    ) -> Reply | CallFailed:
        """Parse a result. The reply's time is the time of the batch."""
        if result.answer is None:
            return CallFailed(result.reason, retry=True)
        try:
            reply = await self._judge.read_result(call.request, result.answer)
        except CallFailed as failure:
            return failure
        return replace(reply, received_at=round(batch.created, 3))

    def _deliver(self, call: _Call, answer: Reply | CallFailed) -> None:
        """Pass a result to the call that waits for it."""
        if call.reply.done():
            return
        if isinstance(answer, CallFailed):
            self._ledger.settle([call.request.hash])
            self._end([call.request.hash], answer)
        else:
            call.reply.set_result(answer)

    @property
    def _polling(self) -> AsyncRetrying:
        """Return a retry loop that checks at growing intervals until the result is true."""
        first_s = self.spec.batch_poll_s
        return AsyncRetrying(
            retry=retry_if_result(lambda is_done: not is_done),
            wait=wait_exponential(first_s, first_s * POLL_MAX, POLL_GROWTH),
            sleep=self._batching.sleep,
        )

    async def _is_done(self, api: BatchApi, batch: PendingBatch) -> bool:
        try:
            return await api.ended(batch.id)
        except CallFailed as failure:
            if failure.retry:
                return False
            raise
