"""What a run may cost: a call's worst price is reserved before it is sent, its real one booked."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.elicit.judges import estimate, price_of
from harness.errors import BudgetSpent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.elicit.judges import JudgeSpec
    from harness.elicit.prompts import Request
    from harness.elicit.verdicts import Reply


@dataclass(slots=True)
class Bill:
    """One call's cost in USD: reserved until settled."""

    cost_usd: float

    def settle(self, reply: Reply) -> None:
        """Take the price of the reply, where it is known."""
        if reply.cost_usd is not None:
            self.cost_usd = reply.cost_usd


class Budget:
    """Money for one run; with no limit it only keeps count.

    Parameters
    ----------
    limit_usd : float or None
        What may be spent.
    spent_usd : float
        What the run had cost when it was resumed.
    """

    def __init__(self, limit_usd: float | None, spent_usd: float = 0.0) -> None:
        self.limit_usd = limit_usd
        self.spent_usd = spent_usd
        self.exhausted = False
        self._reserved_usd = 0.0

    @contextmanager
    def reserving(self, spec: JudgeSpec, request: Request) -> Iterator[Bill]:
        """Hold the most that a call may cost while it is in flight.

        Raises
        ------
        BudgetSpent
            If the call could take the run over its limit. Nothing was sent.
        """
        bill = Bill(0.0 if self.limit_usd is None else worst_cost(spec, request))
        if self.limit_usd is not None and self._committed_usd + bill.cost_usd > self.limit_usd:
            self.exhausted = True
            raise BudgetSpent(f"the next request could exceed --max-cost {self.limit_usd:g}")
        reserved = bill.cost_usd
        self._reserved_usd += reserved
        try:
            yield bill
        except BaseException:
            bill.cost_usd = 0.0  # no reply, no price
            raise
        finally:
            self._reserved_usd -= reserved
            self.spent_usd += bill.cost_usd

    @property
    def _committed_usd(self) -> float:
        return self.spent_usd + self._reserved_usd


def worst_cost(spec: JudgeSpec, request: Request) -> float:
    """Most that a request may cost in USD; 0 where the price is unknown."""
    price = price_of(spec)
    if price is None:
        return 0.0
    prompt_tokens, completion_tokens = estimate(spec, request)
    return price.cost_usd(prompt_tokens, completion_tokens)
