"""What a run may cost: a call's worst price is reserved before it is sent, its real one booked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from harness.errors import BudgetSpent
from harness.judging.judges.pricing import estimate, price_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.requests import Request


NOTHING_USD = 1e-12


class Bill:
    """One call's cost in USD: reserved while the call is in flight, until it is settled."""

    __slots__ = ("_budget", "_judge", "_reserved_usd", "cost_usd")

    def __init__(self, budget: Budget, judge: str, reserved_usd: float) -> None:
        self._budget = budget
        self._judge = judge
        self._reserved_usd = self.cost_usd = reserved_usd

    def settle(self, replies: Sequence[Reply]) -> None:
        """Take the price of the replies, where it is known."""
        costs = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
        if len(costs) == len(replies):
            self.cost_usd = sum(costs)

    def __enter__(self) -> Self:
        self._budget.reserved_usd += self._reserved_usd
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self.cost_usd = 0.0  # no reply, no price
        self._budget.book(self._judge, self._reserved_usd, self.cost_usd)


class Budget:
    """Money for one run; with no limit it only keeps count.

    Parameters
    ----------
    limit_usd : float or None
        What may be spent.
    spent_usd : float
        What the run had cost when it was resumed.

    Attributes
    ----------
    reserved_usd : float
        The most that the calls in flight may cost.
    exhausted : bool
        Whether a call was refused.
    """

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        self.reserved_usd = 0.0
        self.exhausted = False
        self._surprise: dict[str, float] = {}  # by judge, the most that a call cost of its reserve
        self._waiting: list[asyncio.Future[None]] = []

    async def room(self, spec: JudgeSpec, request: Request, n: int = 1) -> None:
        """Wait while only what calls in flight might cost at most keeps this one from being sent.

        They mostly cost less; so a run comes close to its limit before it stops.
        """
        while self.limit_usd is not None and self.reserved_usd > 0:
            left = self.limit_usd - self.spent_usd - self._most(spec, request, n)
            if left < 0 or left >= self.reserved_usd:
                return
            settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled

    def reserving(self, spec: JudgeSpec, request: Request, n: int = 1) -> Bill:
        """Hold, as a context, the most that a call for ``n`` samples may cost while in flight.

        Raises
        ------
        BudgetSpent
            If the call could take the run over its limit. Nothing was sent.
        """
        if self.limit_usd is None:
            return Bill(self, spec.name, 0.0)
        most = self._most(spec, request, n)
        if self.spent_usd + self.reserved_usd + most > self.limit_usd:
            self.exhausted = True
            raise BudgetSpent(f"the next request could exceed --max-cost {self.limit_usd:g}")
        return Bill(self, spec.name, most)

    def book(self, judge: str, reserved_usd: float, cost_usd: float) -> None:
        """Put what a call cost in the place of what was reserved for it."""
        left = self.reserved_usd - reserved_usd
        self.reserved_usd = left if left > NOTHING_USD else 0.0  # sums of floats leave crumbs
        self.spent_usd += cost_usd
        if cost_usd > reserved_usd > 0:  # text of more tokens than was guessed
            self._surprise[judge] = self._surprise.get(judge, 1.0) * cost_usd / reserved_usd
        for settled in self._waiting:
            if not settled.done():
                settled.set_result(None)
        self._waiting.clear()

    def _most(self, spec: JudgeSpec, request: Request, n: int) -> float:
        return worst_cost(spec, request, n) * self._surprise.get(spec.name, 1.0)


def worst_cost(spec: JudgeSpec, request: Request, n: int = 1) -> float:
    """Most that a request for ``n`` samples may cost in USD; 0 where the price is unknown."""
    price = price_of(spec)
    if price is None:
        return 0.0
    prompt_tokens, completion_tokens = estimate(spec, request)
    written = prompt_tokens if price.cache_write and price.cache_write > price.input else 0
    return price.cost_usd(prompt_tokens, completion_tokens * n, written_tokens=written)
