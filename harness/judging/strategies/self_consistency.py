"""Strategies that combine several replies, in the same or in different option orders."""

from __future__ import annotations

from collections import defaultdict
from math import fsum
from typing import TYPE_CHECKING

from msgspec.structs import replace

from harness.judging.parsing.option_probabilities import distribution
from harness.judging.prompts.presentation_orders import OptionOrders
from harness.judging.strategies.strategy import DEFAULT, Combining, Strategy
from harness.judging.strategies.voting import choosable, majority, votes_by_unit
from harness.judging.strategies.wrapped import Wrapped, is_templated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.presentation_orders import Order
    from harness.judging.strategies.voting import Ballot
    from harness.tasks import Task

SEED = 0  # seed of the orders, the same in every run


class SelfConsistency(Wrapped):
    """Strategy that takes the majority of several replies to a wrapped strategy."""

    registered = "self-consistency"
    rank = 1
    numbers = range(2, 101)

    def takes(self, inner: Strategy) -> bool:
        """Return whether a strategy's replies are full verdicts that can vary."""
        return not (inner.gives_distribution or inner.asks_each_option)

    def replies_per_verdict(self, n_options: int) -> int:
        """Return the number of replies that vote on a verdict."""
        return self.number * self._inner.replies_per_verdict(n_options)

    @property
    def is_computed(self) -> bool:
        """True, because verdicts combine several replies."""
        return True

    def combine(self, verdicts: Iterable[Verdict], of: Combining) -> Sequence[Verdict]:
        """Return the majority verdicts. Sample s combines replies ks to ks + k - 1."""
        replies = sorted(self._inner.combine(verdicts, of), key=lambda verdict: verdict.sample)
        units = votes_by_unit(replies, of, self.number, n_replies=self.number)
        return [self.decided(ballot, votes, of.task) for ballot, votes in units]

    def decided(self, ballot: Ballot, votes: Sequence[Verdict], task: Task) -> Verdict:
        """Return the majority verdict for these votes."""
        return majority(ballot, votes, choosable(task))


class SeveralOrders(SelfConsistency):
    """Strategy that shows several option orders and averages probabilities or votes."""

    registered = "option-orders"
    numbers = range(2, 21)

    def __init__(self, name: str, number: int = 0, inner: Strategy = DEFAULT) -> None:
        super().__init__(name, number, inner)
        self.changes_cache_key = True
        self.needs_options = True
        self.needs_prompts = True

    def takes(self, inner: Strategy) -> bool:
        """Return whether a strategy's template can show all options in any order."""
        single = inner.asks_each_option or inner.joins_members
        return is_templated(inner) and not (inner.keeps_order or single)

    def option_orders(self, task: Task, orders: OptionOrders | None) -> OptionOrders:
        """Return orders that show every option in every position in K successive samples."""
        return orders or OptionOrders(tuple(task.options), SEED)

    def order(
        self, keys: Sequence[str], orders: OptionOrders | None, item: str, sample: int
    ) -> Order:
        """Return the order of a sample."""
        del keys
        return orders.order_for(item, sample) if orders else ()

    def decided(self, ballot: Ballot, votes: Sequence[Verdict], task: Task) -> Verdict:
        """Return the option with the highest mean probability, or else with the most votes."""
        verdict = super().decided(ballot, votes, task)
        masses = [vote.probabilities for vote in votes if vote.probabilities is not None]
        if verdict.outcome != "answered" or len(masses) < len(votes):
            return verdict
        totals: defaultdict[str, list[float]] = defaultdict(list)
        for mass in masses:
            for name, probability in mass.items():
                totals[name].append(probability)
        means = {name: fsum(values) / len(masses) for name, values in totals.items()}
        shares = distribution(means)
        if not shares:
            return verdict
        best = max(shares, key=shares.__getitem__)
        return replace(verdict, value=best, probabilities=means)
