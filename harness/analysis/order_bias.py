"""Order bias: how often a judge chooses the option at each position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.judging.parsing.option_probabilities import distribution
from harness.stats.inference.cluster_robust import cluster_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from harness.judging.parsing.verdict import Verdict
    from harness.tasks import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceBias:
    """Share of the single choices that fall on the option shown at a place, less an even share.

    Options are shown at every place equally often, so that the expected excess is 0 for a judge
    that reads the options alone.

    Attributes
    ----------
    place : int
        From 1.
    excess : float
        The share less 1 / K, for K options.
    low, high : float or None
        Its interval, robust to replies that are alike within an item or group; None below two.
    n_replies, n_items : int
        Choices, and the items that they are about.
    """

    place: int
    excess: float
    low: float | None
    high: float | None
    n_replies: int
    n_items: int


def order_bias(
    verdicts: Sequence[Verdict], items: Sequence[Item], level: float
) -> tuple[PlaceBias, ...]:
    """Return the bias of a judge for each place; nothing where options were not shuffled.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of one judge, on single replies.
    items : sequence of Item
        Their groups are the clusters; an item without a group is one of its own.
    level : float
        Of the intervals.
    """
    clusters = {i.id: ("item", i.id) if i.group is None else ("group", i.group) for i in items}
    chosen = [v for v in verdicts if _is_shuffled_choice(v) and v.item in clusters]
    if not chosen:
        return ()
    shares = np.array([list(_shares_by_place(verdict)) for verdict in chosen])
    numbers = {cluster: n for n, cluster in enumerate(dict.fromkeys(clusters.values()))}
    labels = np.array([numbers[clusters[verdict.item]] for verdict in chosen])
    n_items = len({verdict.item for verdict in chosen})
    biases = []
    for j, column in enumerate(shares.T):
        estimate = cluster_mean(column - 1.0 / shares.shape[1], labels)
        low, high = estimate.interval(level) or (None, None)
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
    """Say how often each judge chose the option shown first and, of more than two, last."""
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
    """Yield the share of the option at each place: 0 or 1, or its probability."""
    shares: Mapping[str, float] = {str(verdict.value): 1.0}
    if verdict.probabilities is not None:
        shares = distribution(verdict.probabilities)
    return (shares.get(option, 0.0) for option in verdict.shown)
