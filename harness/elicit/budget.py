"""What a run may cost: a call's worst price is reserved before it is sent, its real one booked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.elicit.judges import estimate, price_of
from harness.errors import BudgetSpent

if TYPE_CHECKING:
    from typing import Self

    from harness.elicit.judges import JudgeSpec
    from harness.elicit.prompts import Request
    from harness.elicit.verdicts import Reply


class Bill:
    """One call's cost in USD: reserved while the call is in flight, until it is settled."""

    __slots__ = ("_budget", "_reserved_usd", "cost_usd")

    def __init__(self, budget: Budget, reserved_usd: float) -> None:
        self._budget = budget
        self._reserved_usd = self.cost_usd = reserved_usd

    def settle(self, reply: Reply) -> None:
        """Take the price of the reply, where it is known."""
        if reply.cost_usd is not None:
            self.cost_usd = reply.cost_usd

    def __enter__(self) -> Self:
        self._budget.reserved_usd += self._reserved_usd
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._budget.reserved_usd -= self._reserved_usd
        if error is None:  # no reply, no price
            self._budget.spent_usd += self.cost_usd


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

    def reserving(self, spec: JudgeSpec, request: Request) -> Bill:
        """Hold, as a context, the most that a call may cost while it is in flight.

        Raises
        ------
        BudgetSpent
            If the call could take the run over its limit. Nothing was sent.
        """
        if self.limit_usd is None:
            return Bill(self, 0.0)
        most = worst_cost(spec, request)
        if self.spent_usd + self.reserved_usd + most > self.limit_usd:
            self.exhausted = True
            raise BudgetSpent(f"the next request could exceed --max-cost {self.limit_usd:g}")
        return Bill(self, most)


def worst_cost(spec: JudgeSpec, request: Request) -> float:
    """Most that a request may cost in USD; 0 where the price is unknown."""
    price = price_of(spec)
    if price is None:
        return 0.0
    prompt_tokens, completion_tokens = estimate(spec, request)
    return price.cost_usd(prompt_tokens, completion_tokens)
