"""Estimate order bias and position bias: how an answer's position affects replies."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.judging.parsing.option_probabilities import distribution
from harness.judging.parsing.verdict import PairValue
from harness.judging.prompts.presentation_orders import N_ORDERS
from harness.judging.storage.verdict_columns import columns_of, verdicts_at
from harness.stats import Resampling
from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.estimate import Estimate, Exclusion, ItemSums
from harness.stats.inference.estimate_sums import estimate_sums
from harness.stats.inference.metric import SHARE, Metric, mean, no_items
from harness.stats.inference.non_inferiority import bounded_mean_interval
from harness.stats.modes import InvertedEnd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.stats.data.arrays import FloatArray
    from harness.stats.reasons import NAReason
    from harness.tasks import Item, Task
    from harness.tasks.schema import PairwiseFields


def item_mean(
    values: Sequence[float] | FloatArray,
    resampling: Resampling,
    *,
    bounds: tuple[float, float] = SHARE,
    missing: NAReason | None = None,
) -> Estimate:
    """Return a mean over items with its score interval.

    Parameters
    ----------
    values : (n,) array_like
        One value per item; nan if it has none.
    resampling : Resampling
        Groups of items, and the interval's level.
    bounds : (float, float)
        Least and greatest value.
    missing : str
        Reason that an item has no value; None if each item has one.
    """
    column = np.asarray(values, dtype=np.float64)
    if not column.size:
        return Estimate(value=None, reason="no_items", n_used=0)
    used = ~np.isnan(column)
    n_missing = int((~used).sum())
    items = ItemSums(
        contributions=np.column_stack([np.nan_to_num(column), used]).astype(np.float64),
        metrics=(Metric(name="mean", value=mean, reason=no_items, bounds=bounds),),
        used=used,
        excluded=(Exclusion(missing, n_missing),) if missing and n_missing else (),
    )
    return estimate_sums({"": items}, resampling=resampling)[""]["mean"]


def share_of_items(share: Estimate) -> str:
    """Format a share with its interval and the number of items."""
    if share.value is None:
        return "NA"
    ends = share.interval
    interval = f" [{ends.low:.0%}, {ends.high:.0%}]" if ends else ""
    return f"{share.value:.0%}{interval} of {share.n_used} items"


def points(change: Estimate) -> str:
    """Format a change in a share in percentage points, with its interval."""
    if change.value is None:
        return "NA"
    ends = change.interval
    interval = f" [{100 * ends.low:+.0f}, {100 * ends.high:+.0f}]" if ends else ""
    return f"{100 * change.value:+.0f}{interval}"


def points_on_items(change: Estimate) -> str:
    """Format a change in a share in percentage points, with the number of items."""
    if change.value is None:
        return "NA"
    return f"{points(change)} points on {change.n_used} items"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceBias:
    """Share of choices for the option shown at a position, minus 1 / K for K options.

    Options are shown at every place equally often, so the expected excess is 0 for a judge that
    ignores their order.

    Attributes
    ----------
    place : int
        Place, counted from 1.
    excess : float
        The share minus 1 / K, for K options.
    low, high : float or None
        The interval, robust to similar replies within an item or group; None below two.
    n_replies, n_items : int
        Choices, and the items that they cover.
    """

    place: int
    excess: float
    low: InvertedEnd
    high: InvertedEnd
    n_replies: int
    n_items: int


def order_bias(
    verdicts: Sequence[Verdict], items: Sequence[Item], level: float
) -> tuple[PlaceBias, ...]:
    """Return a judge's bias for each position. Empty if options were never shuffled.

    Parameters
    ----------
    verdicts : sequence of Verdict
        One judge's verdicts on single replies.
    items : sequence of Item
        Items, whose groups are the clusters. An item without a group is a separate cluster.
    level : float
        Confidence level of the intervals.
    """
    shown = columns_of(verdicts).of_kinds(lambda kind: kind.has_order)
    if not shown.any():
        return ()
    clusters = {item.id: item.unit for item in items}
    chosen = [
        verdict
        for verdict in verdicts_at(verdicts, shown)
        if _is_shuffled_choice(verdict) and verdict.item in clusters
    ]
    if not chosen:
        return ()
    shares = np.array([list(_shares_by_place(verdict)) for verdict in chosen])
    numbers = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters.values()))}
    labels = np.array([numbers[clusters[verdict.item]] for verdict in chosen])
    n_items = len({verdict.item for verdict in chosen})
    biases = []
    for j, column in enumerate(shares.T):
        estimate = cluster_mean(column - 1.0 / shares.shape[1], labels)
        bounds = -1.0 / shares.shape[1], 1.0 - 1.0 / shares.shape[1]
        ends = bounded_mean_interval(column - 1.0 / shares.shape[1], labels, bounds, level)
        low, high = ends or (None, None)
        biases.append(
            PlaceBias(
                place=j + 1,
                excess=estimate.mean,
                low=low,
                high=high,
                n_replies=len(chosen),
                n_items=n_items,
            )
        )
    return tuple(biases)


def order_notes(biases: Mapping[str, Sequence[PlaceBias]]) -> list[str]:
    """Describe how often each judge chose the option shown first or, with several biases, last."""
    return [
        f"{judge} chose the option shown {word} {_points(bias)} points more often than 1 in "
        f"{len(of_judge)} ({bias.n_replies} replies on {bias.n_items} items)"
        for judge, of_judge in biases.items()
        for word, bias in _first_and_last(of_judge)
    ]


def _first_and_last(biases: Sequence[PlaceBias]) -> Iterator[tuple[str, PlaceBias]]:
    if biases:
        yield "first", biases[0]
    if len(biases) > len(("first", "last")):
        yield "last", biases[-1]


def _points(bias: PlaceBias) -> str:
    number = f"{100 * bias.excess:.1f}"
    if bias.low is None or bias.high is None:
        return number
    return f"{number} [{100 * bias.low:.1f}, {100 * bias.high:.1f}]"


def _is_shuffled_choice(verdict: Verdict) -> bool:
    return bool(verdict.shown) and isinstance(verdict.value, str) and verdict.value in verdict.shown


def _shares_by_place(verdict: Verdict) -> Iterator[float]:
    """Yield the option's share at each position. The share is 0, 1 or a probability."""
    shares = _shares(verdict)
    return (shares.get(option, 0.0) for option in verdict.shown)


OrderPair = tuple["Verdict", "Verdict"]  # in the item's order, and in the reverse order
CHANGE = (-1.0, 1.0)  # bounds of a difference of shares
NOT_IN_BOTH: Final = "not_answered_in_both_orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEffects:
    """Effects of the order of two answers on a judge's choices.

    Attributes
    ----------
    consistency : Estimate
        Mean over items of the share of reply pairs with the same verdict in both orders.
    bias : Estimate
        Mean over items of the share of replies that prefer the answer shown first, minus the share
        that prefer the answer shown second. It is in [-1, 1], and 0 without bias.
    """

    consistency: Estimate
    bias: Estimate


def position_effects(
    verdicts: Sequence[Verdict], task: Task, items: Sequence[Item], level: float
) -> PositionEffects | None:
    """Return the order's effects on a judge, or None if the judge saw only one order.

    ``verdicts`` are on single replies. Groups of items are resampled, or single items if there are
    no groups.
    """
    if task.pairwise is None:
        return None
    choices = [verdict for verdict in verdicts if verdict.elicitation == "forced_choice"]
    if not any(verdict.swapped for verdict in choices):
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
    """Describe how often the answers' order changes a judge's verdict, and in which direction."""
    return [
        f"{judge}: {in_words(of_judge.consistency, of_judge.bias)}"
        for judge, of_judge in effects.items()
        if of_judge is not None
    ]


def in_words(consistency: Estimate, bias: Estimate) -> str:
    """Describe the effects of the answers' order in a sentence without a full stop."""
    if consistency.value is None:
        return "no item was answered in both orders"
    return (
        f"the verdict is the same in both orders in {share_of_items(consistency)}. Preference "
        f"for the answer that is shown first: {points_on_items(bias)}"
    )


def _order_pairs(verdicts: Sequence[Verdict]) -> Iterator[OrderPair]:
    """Yield pairs of successive replies with an answer, one for each order."""
    by_pair: dict[tuple[str, int], dict[bool, Verdict]] = {}
    for verdict in verdicts:
        if verdict.outcome == "answered":
            pair = by_pair.setdefault((verdict.item, verdict.sample // N_ORDERS), {})
            pair[verdict.swapped] = verdict
    for pair in by_pair.values():
        if len(pair) == N_ORDERS:
            yield pair[False], pair[True]


def consistency(pairs: Sequence[OrderPair]) -> float:
    """Return the share of an item's reply pairs with equal verdicts, or nan without pairs."""
    return _mean([float(given.value == swapped.value) for given, swapped in pairs])


def bias(pairs: Sequence[OrderPair], pairwise: PairwiseFields) -> float:
    """Return the share of replies that prefer the answer shown first, minus the second's share."""
    return _mean(
        [(_lead(given, pairwise) - _lead(swapped, pairwise)) / N_ORDERS for given, swapped in pairs]
    )


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else np.nan


def _lead(verdict: Verdict, pairwise: PairwiseFields) -> float:
    """Return the verdict's share for the item's first answer minus its share for the second."""
    shares = _shares(verdict)
    return shares.get(pairwise.first, 0.0) - shares.get(pairwise.second, 0.0)


def _shares(verdict: Verdict) -> Mapping[str, float]:
    if verdict.elicitation == "forced_choice" and verdict.probabilities is not None:
        return distribution(verdict.probabilities)
    value = verdict.value
    if isinstance(value, PairValue):
        return {value.choice: 1.0}
    return dict.fromkeys((value,) if isinstance(value, str) else value or (), 1.0)
