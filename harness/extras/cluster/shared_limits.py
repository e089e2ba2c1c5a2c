"""Rate limits and a budget that all workers of a store share.

Both take from the store in batches: the rate for calls that wait now, and the budget for several
future calls.
"""

from __future__ import annotations

import asyncio
from collections import deque
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING

from harness.errors import BudgetSpent, CallFailed, NotAsked
from harness.extras.cluster.database import StoreAway
from harness.judging.running.budget import NOTHING_USD, CallBill, CostBudget
from harness.judging.running.rate_limit import BURST_S, WINDOW_S, RateGate, rate_gate

if TYPE_CHECKING:
    from harness.extras.cluster.shared_store import SharedStore
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.judges.base import Judge
    from harness.judging.running.retry import RetryPolicy

AHEAD_S = 2.0  # share of a rate that a worker takes in advance
POLL_S = 0.2  # between checks for amounts that other workers return


class SharedRate:
    """Named rate limit, in uses per minute, that all workers of a store share."""

    def __init__(self, store: SharedStore, name: str, per_minute: float) -> None:
        self._store = store
        self._name = name
        self._interval_s = (WINDOW_S + BURST_S) / per_minute
        self._queue: deque[tuple[float, asyncio.Future[float]]] = deque()
        self._filling: asyncio.Task[None] | None = None

    async def take(self, n: float) -> float:
        """Reserve ``n`` uses. Return when they start, on the event loop's clock.

        Raises `NotAsked` if no more calls may be sent.
        """
        loop = asyncio.get_running_loop()
        begins: asyncio.Future[float] = loop.create_future()
        self._queue.append((n, begins))
        if self._filling is None or self._filling.done():
            self._filling = loop.create_task(self._fill())
        return await begins

    def stop(self) -> None:
        """End all waiting calls."""
        while self._queue:
            _, begins = self._queue.popleft()
            if not begins.done():
                begins.set_exception(NotAsked())

    async def _fill(self) -> None:
        """Reserve uses for all waiting calls, in blocks of some seconds."""
        loop = asyncio.get_running_loop()
        while self._queue:
            batch = self._next_batch()
            seconds = sum(n for n, _ in batch) * self._interval_s
            try:
                wait_s = await asyncio.to_thread(self._store.take_rate, self._name, seconds)
            except StoreAway:
                self._queue.extendleft(reversed(batch))
                await asyncio.sleep(POLL_S)
                continue
            begins_s = loop.time() + wait_s
            for n, begins in batch:
                if not begins.done():
                    begins.set_result(begins_s)
                begins_s += n * self._interval_s
            await asyncio.sleep(max(0.0, begins_s - loop.time() - AHEAD_S))

    def _next_batch(self) -> list[tuple[float, asyncio.Future[float]]]:
        batch = [self._queue.popleft()]
        seconds = batch[0][0] * self._interval_s
        while self._queue and seconds + self._queue[0][0] * self._interval_s <= AHEAD_S:
            batch.append(self._queue.popleft())
            seconds += batch[-1][0] * self._interval_s
        return batch


class SharedGate(RateGate):
    """Rate limit for one judge: requests and tokens per minute, summed over all workers.

    Calls wait while the store does not permit any. If the lease of this process has lapsed, the
    judge stops.
    """

    def __init__(self, gate: RateGate, store: SharedStore, spec: JudgeSpec) -> None:
        super().__init__(gate.rate)
        self._store = store
        name = sha256(f"{spec.model} {spec.base_url}".encode()).hexdigest()
        self._requests = spec.rpm and SharedRate(store, f"requests {name}", spec.rpm)
        self._tokens = spec.tpm and SharedRate(store, f"tokens {name}", spec.tpm)

    async def enter(self, tokens: float) -> int:
        """Wait for a slot in flight and for the shared rate. Return the call's ticket."""
        ticket = await super().enter(tokens)
        try:
            await self._wait_for_share(tokens)
        except BaseException:
            self.leave()
            raise
        return ticket

    def shut(self) -> None:
        """Stop letting calls through."""
        super().shut()
        for rate in (self._requests, self._tokens):
            if rate:
                rate.stop()

    async def _wait_for_share(self, tokens: float) -> None:
        for rate, n in ((self._requests, 1.0), (self._tokens, tokens)):
            late_s = BURST_S
            while rate and late_s >= BURST_S:  # uses that started too long ago have passed
                late_s = await self._take(rate, n)
        lease = self._store.lease
        while not (lease.may_send or lease.has_lapsed):
            await self.sleep(POLL_S)
        if lease.has_lapsed:
            raise CallFailed("store_lost", stops_judge=True)

    async def _take(self, rate: SharedRate, n: float) -> float:
        """Reserve uses of a rate and wait until they start. Return the delay in seconds."""
        begins_s = await rate.take(n)
        loop = asyncio.get_running_loop()
        if (wait_s := begins_s - loop.time()) > 0:
            await self.sleep(wait_s)
        return loop.time() - begins_s


def shared_gate(store: SharedStore, judge: Judge, retry: RetryPolicy, ceiling: int) -> RateGate:
    """Return a judge's rate limit for all workers of a store. See `rate_gate`."""
    return SharedGate(rate_gate(judge, retry, ceiling), store, judge.spec)


class SharedBudget(CostBudget):
    """Budget that all workers of a run share. Each worker takes allowances for its calls.

    ``spent_usd`` is the run's cost when it was resumed. `SharedStore.open_budget` sets the limit.
    """

    def __init__(
        self,
        limit_usd: float | None,
        spent_usd: float,
        store: SharedStore,
        *,
        is_soft: bool = False,
    ) -> None:
        super().__init__(limit_usd, spent_usd, is_soft=is_soft)
        self._store = store
        self._allowance_usd = 0.0
        self._promised_usd: dict[str, float] = {}  # by request, until it is sent
        self._exchange = asyncio.Lock()
        self._is_stopped = False
        store.at_close.append(self.close)

    async def wait_for_room(self, request: str, cost_usd: float) -> None:
        """Wait until the budget permits this call or is used up for good."""
        if request in self._promised_usd:
            return
        while self._lacks(cost_usd):
            async with self._exchange:
                if self._lacks(cost_usd):
                    await self._exchange_allowance(cost_usd)
            self._note_held()
        if self._allowance_usd >= cost_usd:
            self._allowance_usd -= cost_usd
            self._promised_usd[request] = cost_usd

    def reserve(
        self, judge: str, request: str, cost_usd: float, most_usd: float | None = None
    ) -> CallBill:
        """Return a context that spends the USD promised to a call, or raise `BudgetSpent`."""
        del cost_usd
        promised_usd = self._promised_usd.pop(request, None)
        if promised_usd is None:
            raise BudgetSpent(f"the next request could exceed --max-cost {self.limit_usd:g}")
        return CallBill(self, judge, promised_usd, most_usd)

    def book(self, reserved_usd: float, cost_usd: float, *, is_known: bool) -> None:
        """Replace a call's reservation with its actual cost. The allowance regains the rest."""
        super().book(reserved_usd, cost_usd, is_known=is_known)
        self._allowance_usd += reserved_usd - cost_usd
        self._note_held()

    def stop_waiting(self) -> None:
        """Stop waiting for allowances, because no more calls are sent."""
        self._is_stopped = True

    async def is_held_by_others(self) -> bool:
        """Return whether other processes hold allowances, or whether the store is unreachable."""
        try:
            held_usd = await asyncio.to_thread(self._store.held_by_others)
        except StoreAway:
            return not self._store.lease.has_lapsed
        return held_usd > NOTHING_USD

    async def return_allowance(self) -> None:
        """Return the unspent allowance, because other processes may need it."""
        async with self._exchange:
            if returned_usd := self._take_all():
                try:
                    await asyncio.to_thread(
                        self._store.exchange_budget, returned_usd, inf, self._kept_usd()
                    )
                except StoreAway:
                    self._allowance_usd += returned_usd
        self._note_held()

    def close(self) -> None:
        """Return the unspent allowance to the shared budget."""
        if left_usd := self._take_all():
            self._store.exchange_budget(left_usd, inf)

    def _take_all(self) -> float:
        """Clear the allowance and the promises to unsent calls, and return their total in USD."""
        left_usd = self._allowance_usd + sum(self._promised_usd.values())
        self._allowance_usd = 0.0
        self._promised_usd.clear()
        return left_usd

    def _lacks(self, cost_usd: float) -> bool:
        """Return whether a call has to wait for a new allowance."""
        return self._allowance_usd < cost_usd and not (self.exhausted or self._is_stopped)

    async def _exchange_allowance(self, cost_usd: float) -> None:
        returned_usd, self._allowance_usd = self._allowance_usd, 0.0
        try:
            allowance_usd, possible_usd = await asyncio.to_thread(
                self._store.exchange_budget, returned_usd, cost_usd, self._kept_usd()
            )
        except StoreAway:
            self._allowance_usd += returned_usd
            await asyncio.sleep(POLL_S)
            return
        self._allowance_usd += allowance_usd
        if not allowance_usd:
            own_usd = self._allowance_usd + self._kept_usd()  # calls ended during the exchange
            self.exhausted = possible_usd + own_usd < cost_usd
            await asyncio.sleep(0 if self.exhausted else POLL_S)

    def _kept_usd(self) -> float:
        """Return the USD for calls in flight and for calls about to be sent."""
        return self.reserved_usd + sum(self._promised_usd.values())

    def _note_held(self) -> None:
        """Report this worker's held USD to the lease, except during a budget exchange."""
        if not self._exchange.locked():
            self._store.lease.held_usd = self._allowance_usd + self._kept_usd()
