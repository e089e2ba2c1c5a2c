"""Position bias and consistency of judges on pairwise items.

The replies to an item are asked for in both orders in turn; each and the next one form a pair.
Verdicts name the answers of the item, whatever the order was.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.item_means import item_mean, points_on_items, share_of_items
from harness.judging.parsing.option_probabilities import distribution
from harness.judging.parsing.verdict import PairValue
from harness.judging.prompts.presentation_orders import N_ORDERS
from harness.stats import Estimate, Resampling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.tasks import Item, Task
    from harness.tasks.schema import PairwiseFields

OrderPair = tuple["Verdict", "Verdict"]  # in the order of the item, and in the other
CHANGE = (-1.0, 1.0)  # bounds of a difference of shares
NOT_IN_BOTH = "not_answered_in_both_orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEffects:
    """What the order of two answers does to a judge's single choices.

    Attributes
    ----------
    consistency : Estimate
        Share of the pairs of replies with the same verdict in both orders: mean over items.
    bias : Estimate
        Share of the replies that prefer the answer shown first less that of those that prefer the
        answer shown second: mean over items, 0 without bias, in [-1, 1].
    """

    consistency: Estimate
    bias: Estimate


def position_effects(
    verdicts: Sequence[Verdict], task: Task, items: Sequence[Item], level: float
) -> PositionEffects | None:
    """Return the effects of the order on a judge; None where it was asked in one order only.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of one judge, on single replies.
    task : Task
        Says which options prefer which answer.
    items : sequence of Item
        Their groups are resampled; without any, they are.
    level : float
        Of the intervals.
    """
    choices = [verdict for verdict in verdicts if verdict.elicitation == "forced_choice"]
    if task.pairwise is None or not any(verdict.swapped for verdict in choices):
        return None
    by_item: dict[str, list[OrderPair]] = {item.id: [] for item in items}
    for given, swapped in _order_pairs(choices):
        if given.item in by_item:
            by_item[given.item].append((given, swapped))
    groups = [item.group for item in items]
    resampling = Resampling(
        rng=np.random.default_rng(0), groups=groups if any(groups) else None, level=level
    )
    return PositionEffects(
        consistency=item_mean(
            [consistency(pairs) for pairs in by_item.values()], resampling, missing=NOT_IN_BOTH
        ),
        bias=item_mean(
            [bias(pairs, task.pairwise) for pairs in by_item.values()],
            resampling,
            bounds=CHANGE,
            missing=NOT_IN_BOTH,
        ),
    )


def position_notes(effects: Mapping[str, PositionEffects | None]) -> list[str]:
    """Say per judge how often the order changes its verdict, and which answer it favours."""
    return [
        f"{judge}: {in_words(of_judge.consistency, of_judge.bias)}"
        for judge, of_judge in effects.items()
        if of_judge is not None
    ]


def in_words(consistency: Estimate, bias: Estimate) -> str:
    """Return the effects of the order as a sentence without its full stop."""
    if consistency.value is None:
        return "no item was answered in both orders"
    return (
        f"the verdict is the same in both orders in {share_of_items(consistency)}. Preference for "
        f"the answer that stands first: {points_on_items(bias)}"
    )


def _order_pairs(verdicts: Sequence[Verdict]) -> Iterator[OrderPair]:
    """Yield the answered pairs of successive replies in different orders."""
    by_pair: dict[tuple[str, int], dict[bool, Verdict]] = {}
    for verdict in verdicts:
        if verdict.outcome == "answered":
            pair = by_pair.setdefault((verdict.item, verdict.sample // N_ORDERS), {})
            pair[verdict.swapped] = verdict
    for pair in by_pair.values():
        if len(pair) == N_ORDERS:
            yield pair[False], pair[True]


def consistency(pairs: Sequence[OrderPair]) -> float:
    """Return the share of an item's pairs with the same verdict in both orders; nan without any."""
    return _mean([float(given.value == swapped.value) for given, swapped in pairs])


def bias(pairs: Sequence[OrderPair], pairwise: PairwiseFields) -> float:
    """Return the share of replies that prefer what stands first less that of the second."""
    return _mean(
        [(_lead(given, pairwise) - _lead(swapped, pairwise)) / N_ORDERS for given, swapped in pairs]
    )


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else np.nan


def _lead(verdict: Verdict, pairwise: PairwiseFields) -> float:
    """Return by how much a verdict prefers the item's first answer to its second."""
    shares = _shares(verdict)
    return shares.get(pairwise.first, 0.0) - shares.get(pairwise.second, 0.0)


def _shares(verdict: Verdict) -> Mapping[str, float]:
    if verdict.elicitation == "forced_choice" and verdict.probabilities is not None:
        return distribution(verdict.probabilities)
    value = verdict.value
    if isinstance(value, PairValue):
        return {value.choice: 1.0}
    return dict.fromkeys((value,) if isinstance(value, str) else value or (), 1.0)
