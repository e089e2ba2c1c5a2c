"""Budget of a run, and which replies were paid for.

The most that a call may cost is reserved, then replaced by its real cost.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from harness.errors import BudgetSpent
from harness.judging.judges.pricing import estimate, price_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.prompts.requests import Request
    from harness.judging.storage.verdict_log import LogReading


NOTHING_USD = 1e-12


class CallBill:
    """Cost of one call in USD: reserved while it is in flight, then settled."""

    __slots__ = ("_budget", "_judge", "_reserved_usd", "cost_usd")

    def __init__(self, budget: CostBudget, judge: str, reserved_usd: float) -> None:
        self._budget = budget
        self._judge = judge
        self._reserved_usd = self.cost_usd = reserved_usd

    def settle(self, replies: Sequence[Reply]) -> None:
        """Replace the reserved cost by that of the replies, where it is known."""
        cost_usd = 0.0
        for reply in replies:
            if reply.cost_usd is None:
                return
            cost_usd += reply.cost_usd
        self.cost_usd = cost_usd

    def __enter__(self) -> Self:
        self._budget.reserved_usd += self._reserved_usd
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:
            self.cost_usd = 0.0  # no reply, no price
        self._budget.book(self._judge, self._reserved_usd, self.cost_usd)


class CostBudget:
    """Budget of one run, shared by all judges; without a limit it only counts.

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
        self._excess: dict[str, float] = {}  # by judge, largest ratio of cost to reserve
        self._waiting: list[asyncio.Future[None]] = []

    async def wait_for_room(self, spec: JudgeSpec, request: Request, n: int = 1) -> None:
        """Wait while only the reserves of calls in flight keep this call from being sent.

        Calls mostly cost less than is reserved, so a run comes close to its limit before it stops.
        """
        while self.limit_usd is not None and self.reserved_usd > 0:
            left = self.limit_usd - self.spent_usd - self._worst_cost(spec, request, n)
            if left < 0 or left >= self.reserved_usd:
                return
            settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled

    def reserve(self, spec: JudgeSpec, request: Request, n: int = 1) -> CallBill:
        """Return a context that reserves the most that a call for ``n`` samples may cost.

        Raises
        ------
        BudgetSpent
            If the call could take the run over its limit. Nothing was sent.
        """
        if self.limit_usd is None:
            return CallBill(self, spec.name, 0.0)
        cost_usd = self._worst_cost(spec, request, n)
        if self.spent_usd + self.reserved_usd + cost_usd > self.limit_usd:
            self.exhausted = True
            raise BudgetSpent(f"the next request could exceed --max-cost {self.limit_usd:g}")
        return CallBill(self, spec.name, cost_usd)

    def book(self, judge: str, reserved_usd: float, cost_usd: float) -> None:
        """Replace what was reserved for a call by what it cost."""
        left = self.reserved_usd - reserved_usd
        self.reserved_usd = left if left > NOTHING_USD else 0.0  # rounding of sums
        self.spent_usd += cost_usd
        if cost_usd > reserved_usd > 0:  # more tokens than estimated
            self._excess[judge] = self._excess.get(judge, 1.0) * cost_usd / reserved_usd
        for settled in self._waiting:
            if not settled.done():
                settled.set_result(None)
        self._waiting.clear()

    def _worst_cost(self, spec: JudgeSpec, request: Request, n: int) -> float:
        return worst_cost(spec, request, n) * self._excess.get(spec.name, 1.0)


def worst_cost(spec: JudgeSpec, request: Request, n: int = 1) -> float:
    """Return the most that ``n`` samples of a request may cost in USD; 0 for an unknown price."""
    price = price_of(spec)
    if price is None:
        return 0.0
    prompt_tokens, completion_tokens = estimate(spec, request)
    written_tokens = prompt_tokens if price.cache_write and price.cache_write > price.input else 0
    return price.cost_usd(prompt_tokens, completion_tokens * n, written_tokens=written_tokens)


class PaidReplies:
    """Counts each paid reply once, from verdict to verdict.

    A pair's first turn may be the reply to a response set. It is if it took the same time: without
    a cache, the same was bought twice. So response sets come before the pairs that begin with them,
    as they do while judges are asked. It keeps 64 bits of each reply but forced choices, which
    serve one unit alone.
    """

    def __init__(self) -> None:
        self._counted: set[int] = set()

    def new(self, verdict: Verdict) -> Sequence[Verdict | Reply]:
        """Return a verdict's replies that no verdict before it had; a verdict stands for its own.

        They were paid for unless the verdict is ``cached``.
        """
        own = _own(verdict)
        if verdict.elicitation == "forced_choice":
            return own
        turns = own if verdict.first is None else (verdict.first, *own)
        return [turn for turn in turns if self._is_new(turn)]

    def _is_new(self, reply: Verdict | Reply) -> bool:
        n_counted = len(self._counted)
        self._counted.add(hash((reply.request, reply.latency_s)))
        return len(self._counted) > n_counted


def paid_replies(
    verdicts: Iterable[Verdict],
) -> Iterator[tuple[Verdict, Sequence[Verdict | Reply]]]:
    """Yield verdicts, pairs last, each with the replies that no verdict before it had."""
    verdicts = list(verdicts)
    pairs = [verdict for verdict in verdicts if verdict.elicitation == "paired"]
    new = PaidReplies().new if pairs else _own  # only pairs share replies with others
    yield from ((verdict, new(verdict)) for verdict in verdicts if verdict.elicitation != "paired")
    yield from ((verdict, new(verdict)) for verdict in pairs)


def logged_cost_usd(log: LogReading) -> float:
    """Return the cost of the replies in a log in USD, each counted once; cached ones are free."""
    return sum(
        reply.cost_usd or 0.0
        for verdict, replies in paid_replies(log.final.values())
        if not verdict.cached
        for reply in replies
    )


def _own(verdict: Verdict) -> Sequence[Verdict | Reply]:
    """Return the reply that a verdict was read from: the verdict stands for it."""
    return (verdict,) if verdict.reply is not None else ()
