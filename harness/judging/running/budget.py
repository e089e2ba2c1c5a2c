"""Budget of a run, records of replies it paid for, and trial calls to servers.

The maximum cost of a call is reserved, then replaced by its actual cost. A call that may have been
billed but has no reply with a known price counts at its maximum.

A trial call goes to a server that may ignore a request's token limit: its cost is known only after
its reply. The first calls of all judges are sent one after another, so that at most one reply of
unknown length is in flight.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import BudgetSpent, CallFailed, NotAsked
from harness.judging.judges.response_errors import MEANINGS, may_be_billed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
    from typing import Self

    from harness.judging.parsing.verdict import Reply, Verdict
    from harness.judging.storage.verdict_log import LogReading
    from harness.tasks.item import Elicitation


NOTHING_USD = 1e-12
STEPS = 32  # number of steps in which spending is recorded in advance


class CallBill:
    """Cost of one call in USD, which is reserved during the call and settled afterwards.

    Parameters
    ----------
    budget : CostBudget
        Budget that pays for the call.
    judge : str
        Name of the judge.
    reserved_usd : float
        Amount reserved while the call is in flight.
    most_usd : float, optional
        Maximum cost if the server respects the token limit; by default the reserved amount.
    """

    __slots__ = ("_budget", "_judge", "_most_usd", "_reserved_usd", "cost_usd", "is_known")

    def __init__(
        self, budget: CostBudget, judge: str, reserved_usd: float, most_usd: float | None = None
    ) -> None:
        self._budget = budget
        self._judge = judge
        self._reserved_usd = reserved_usd
        self._most_usd = self.cost_usd = reserved_usd if most_usd is None else most_usd
        self.is_known = False

    def settle(self, replies: Sequence[Reply]) -> None:
        """Set the call's actual cost, if the costs of all replies are known."""
        cost_usd = 0.0
        for reply in replies:
            if reply.cost_usd is None:
                return
            cost_usd += reply.cost_usd
        self.cost_usd, self.is_known = cost_usd, True

    def __enter__(self) -> Self:
        self._budget.hold(self._reserved_usd)
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        is_free = isinstance(error, NotAsked) and not error.is_sent
        if error is not None and (is_free or not may_be_billed(error)):
            self.cost_usd, self.is_known = 0.0, True
        self._budget.end(self._judge, self._reserved_usd, self)

    @property
    def is_kept(self) -> bool:
        """Return whether the call cost no more than its token limit allows."""
        return self.cost_usd <= self._most_usd + NOTHING_USD


class CostBudget:
    """Budget of a run, which all judges share.

    Calls need its approval only if there is a limit. Otherwise it just adds up the costs of
    replies.

    Parameters
    ----------
    limit_usd : float or None
        Limit on spending.
    spent_usd : float
        Maximum that the run may have cost by the time it was resumed.
    is_soft : bool
        Whether replies may cost more than their reservation.
    record : callable
        Called before a call with the maximum cost of the run after it, in steps.

    Attributes
    ----------
    reserved_usd : float
        Maximum cost of the calls in flight.
    assumed_usd : float
        Unreported part of the spending: the maximum cost of calls that may have been billed but
        whose reply has no known price.
    exhausted : bool
        Whether a call was declined.
    refused_usd : float
        Amount that a declined call would have needed.
    dearest_usd : float
        Cost of the most expensive call so far. This amount is reserved for a call to an untested
        server: if one server ignores token limits, the next one may too.
    """

    def __init__(
        self,
        limit_usd: float | None,
        spent_usd: float = 0.0,
        *,
        is_soft: bool = False,
        record: Callable[[float], None] | None = None,
    ) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        self.reserved_usd = self.assumed_usd = self.refused_usd = 0.0
        self.exhausted = False
        self.dearest_usd = 0.0
        self._is_soft = is_soft
        self._record = record
        self._recorded_usd = spent_usd
        self._overrun: set[str] = set()  # judges whose replies cost more than reserved
        self._waiting: list[asyncio.Future[None]] = []

    async def wait_for_room(self, request: str, cost_usd: float) -> None:
        """Wait while the reservations of other calls prevent this call.

        Most calls cost less than their reservation, so a run gets close to its limit before it
        stops.

        Parameters
        ----------
        request : str
            Hash of the request.
        cost_usd : float
            Maximum cost of the call.
        """
        del request
        while self.reserved_usd > 0 and not self.has_room(cost_usd):
            await self.next_end()

    async def next_end(self) -> None:
        """Wait until any call ends."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(ended)
        await ended

    def has_room(self, cost_usd: float) -> bool:
        """Return whether the budget covers an amount in addition to all reservations."""
        limit_usd = self.limit_usd
        return limit_usd is None or self.spent_usd + self.reserved_usd + cost_usd <= limit_usd

    def reserve(
        self, judge: str, request: str, cost_usd: float, most_usd: float | None = None
    ) -> CallBill:
        """Return a context that reserves ``cost_usd`` for a call that costs up to ``most_usd``.

        Raises
        ------
        BudgetSpent
            If the call could take the run over its limit. Nothing was sent.
        """
        del request
        if not self.has_room(cost_usd):
            self.refuse(cost_usd)
            raise BudgetSpent(f"the next request could exceed --max-cost {self.limit_usd:g}")
        return CallBill(self, judge, cost_usd, most_usd)

    def refuse(self, cost_usd: float) -> None:
        """Record that a request with this maximum cost was declined."""
        self.exhausted, self.refused_usd = True, cost_usd

    def hold(self, cost_usd: float) -> None:
        """Reserve an amount, and record the run's new maximum cost before a call is sent."""
        self.reserved_usd += cost_usd
        most_usd = self.spent_usd + self.reserved_usd
        if self._record is None or self.limit_usd is None or most_usd <= self._recorded_usd:
            return
        step_usd = (self.limit_usd - self.spent_usd) / STEPS
        self._recorded_usd = max(most_usd, min(self.limit_usd, most_usd + step_usd))
        self._record(self._recorded_usd)

    def end(self, judge: str, reserved_usd: float, bill: CallBill) -> None:
        """Replace a call's reservation with its actual cost."""
        if not bill.is_kept:
            self._overrun.add(judge)
        if bill.is_known:
            self.dearest_usd = max(self.dearest_usd, bill.cost_usd)
        self.book(reserved_usd, bill.cost_usd, is_known=bill.is_known)

    def book(self, reserved_usd: float, cost_usd: float, *, is_known: bool) -> None:
        """Replace a reservation with the spent amount, which is known or assumed."""
        left = self.reserved_usd - reserved_usd
        self.reserved_usd = left if left > NOTHING_USD else 0.0  # rounding errors
        self.spent_usd += cost_usd
        if not is_known:
            self.assumed_usd += cost_usd
        for ended in self._waiting:
            if not ended.done():
                ended.set_result(None)
        self._waiting.clear()

    def count(self, received_usd: float) -> None:
        """Add the cost of a session's replies, unless each call was already booked."""
        if self.limit_usd is None:
            self.spent_usd += received_usd

    async def return_allowance(self) -> None:
        """Return unused reservations for future calls, so that other processes can use them."""

    async def is_held_by_others(self) -> bool:
        """Return whether the run's other processes hold part of the budget."""
        return False

    def stop_waiting(self) -> None:
        """Stop waiting for budget held by other processes, because no more requests are sent."""

    def overrun(self, judge: str) -> CallFailed | None:
        """Return the failure of a judge whose replies exceeded their reservations, or None."""
        if self._is_soft or judge not in self._overrun:
            return None
        return CallFailed("over_cap", stops_judge=True, hint=MEANINGS["over_cap"])


class PaidReplies:
    """Counter for paid replies, which counts a reply in several verdicts only once.

    A pair's first turn can reuse the reply to a response set. It does if both took the same time;
    without a cache, the reply was bought twice. Response sets must therefore come before the pairs
    that begin with them, as in a run. The counter keeps 64 bits of each reply, except of forced
    choices, which only serve one unit.
    """

    def __init__(self) -> None:
        self._counted: set[int] = set()

    def new(self, verdict: Verdict) -> Sequence[Reply]:
        """Return the replies in a verdict that were not in any earlier verdict.

        They were paid for unless the verdict is ``from_store``.
        """
        if verdict.elicitation == "forced_choice":
            return verdict.replies
        return [reply for reply in verdict.replies if self._is_new(reply)]

    def _is_new(self, reply: Reply) -> bool:
        n_counted = len(self._counted)
        self._counted.add(hash((reply.request, reply.latency_s)))
        return len(self._counted) > n_counted


def paid_replies(verdicts: Iterable[Verdict]) -> Iterator[tuple[Verdict, Sequence[Reply]]]:
    """Yield verdicts, set-then-choice pairs last, each with the replies not yielded before."""
    verdicts = list(verdicts)
    pairs = [verdict for verdict in verdicts if verdict.elicitation == "paired"]
    new = PaidReplies().new if pairs else _replies  # only pairs share replies
    yield from ((verdict, new(verdict)) for verdict in verdicts if verdict.elicitation != "paired")
    yield from ((verdict, new(verdict)) for verdict in pairs)


def logged_cost_usd(log: LogReading) -> float:
    """Sum the cost in USD of a log's replies, excluding stored and repeated replies."""
    return sum(
        reply.cost_usd or 0.0
        for verdict, replies in paid_replies(log.final.values())
        if not verdict.from_store
        for reply in replies
    )


def _replies(verdict: Verdict) -> Sequence[Reply]:
    return verdict.replies


class Trial(NamedTuple):
    """Judge and elicitation of a trial call. Each elicitation can have longer replies."""

    judge: str
    elicitation: Elicitation


class CapTrials:
    """Gate for a run's calls. After a trial call, each compliant reply permits one more call.

    A judge therefore has 1, 2, 4, ... calls in flight, and about one reply is enough to detect a
    judge that ignores its limit in some replies.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()  # taken by first calls
        self._places: dict[Trial, asyncio.Semaphore] = {}
        self._kept: set[Trial] = set()

    @asynccontextmanager
    async def admit(self, trial: Trial | None) -> AsyncIterator[bool]:
        """Wait until a call can be sent. Yield whether it is a trial call.

        ``trial`` is None for a call that cannot cost more than its reservation.
        """
        if trial is None:
            yield False
            return
        async with self._places.setdefault(trial, asyncio.Semaphore(1)):
            if trial in self._kept:
                yield False
                return
            async with self._turn:
                yield True

    def keep(self, trial: Trial | None) -> None:
        """Record a reply within its token limit, which permits one more call in flight."""
        if trial is not None:
            self._kept.add(trial)
            self._places[trial].release()
