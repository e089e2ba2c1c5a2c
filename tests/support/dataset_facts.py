"""Facts of a data set with identified raters: who rated how much, and how raters agree by pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.data.labels import label_counts, numbers_of
from harness.stats.inference.estimate import Estimate, point_estimates
from harness.stats.inference.metric import Metric
from harness.stats.metrics.chance import chance_corrected
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT, pearson_by_rater, pearsons

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class DatasetFacts:
    """What a data set holds, and how its raters agree.

    Attributes
    ----------
    n_raters, n_items : int
        Raters with a rating; items with a rating.
    items_per_rater, raters_per_item : float or None
        Means; None without ratings.
    agreement : mapping of str to Estimate
        Every row of `HUMAN_AGREEMENT`, and ``pairwise_agreement_mean_over_items``.
    by_pairs : mapping of str to Estimate
        Unweighted means over the pairs of raters that share an item: ``cohen_kappa``,
        ``cohen_kappa_overlap_weighted`` (weighted by shared items), ``mae`` and ``pearson`` of the
        numbers that options stand for. Pairs without a value are left out and counted.
    n_pairs : int
        Pairs of raters that share an item.
    """

    n_raters: int
    n_items: int
    items_per_rater: float | None
    raters_per_item: float | None
    agreement: Mapping[str, Estimate]
    by_pairs: Mapping[str, Estimate]
    n_pairs: int

    def __repr__(self) -> str:
        return f"DatasetFacts({self.n_items} items, {self.n_raters} raters)"


def dataset_facts(
    ratings: ArrayLike, n_options: int, *, scale: ArrayLike | None = None
) -> DatasetFacts:
    """Describe a data set, without intervals.

    Parameters
    ----------
    ratings : (n, m) array
        Index of the option that each rater chose for each item; nan where missing.
    n_options : int
        Number of options.
    scale : (n_options,) numbers, optional
        What the options stand for, for mae and pearson; by default 1 to n_options.

    Raises
    ------
    ValueError
        If ratings are no option indices, or the scale does not increase.
    """
    table = np.asarray(ratings, dtype=np.float64)
    counts = label_counts(table, n_options)
    numbers = numbers_of(scale, n_options)
    rated = ~np.isnan(table)
    n_ratings, n_raters = int(rated.sum()), int(rated.any(axis=0).sum())
    n_items = int(rated.any(axis=1).sum())
    pairs = np.array(list(_each_pair(table, rated, numbers))).reshape(-1, 4)
    return DatasetFacts(
        n_raters=n_raters,
        n_items=n_items,
        items_per_rater=n_ratings / n_raters if n_raters else None,
        raters_per_item=n_ratings / n_items if n_items else None,
        agreement=_agreement(counts),
        by_pairs=_by_pairs(pairs),
        n_pairs=len(pairs),
    )


def _agreement(counts: IntArray) -> dict[str, Estimate]:
    m = counts.sum(axis=1)
    agreement: dict[str, Estimate] = {}
    for row in HUMAN_AGREEMENT:
        used = (m >= row.min_ratings) & (m <= row.max_ratings)
        metric = Metric(name=row.name, value=row.value, reason=row.reason, paper=row.paper)
        agreement |= point_estimates(
            row.contributions(counts).sum(axis=0), [metric], n_used=int(used.sum())
        )
    several = counts[m > 1]
    pairs = several.sum(axis=1) * (several.sum(axis=1) - 1)
    per_item = ratio((several * (several - 1)).sum(axis=1), pairs)
    agreement["pairwise_agreement_mean_over_items"] = _mean(per_item, np.ones(len(several)))
    return agreement


def _each_pair(
    table: FloatArray, rated: BoolArray, numbers: FloatArray
) -> Iterator[tuple[float, float, float, float]]:
    """Give shared items, kappa, absolute difference and correlation of pairs that share an item."""
    for a, b in combinations(range(table.shape[1]), 2):
        both = rated[:, a] & rated[:, b]
        if both.any():
            first, second = (table[both, rater].astype(np.int64) for rater in (a, b))
            apart = float(np.abs(numbers[first] - numbers[second]).mean())
            sums = pearson_by_rater(numbers[first][:, None], numbers[second]).sum(axis=0)
            kappa = _cohen(first, second, len(numbers))
            yield len(first), kappa, apart, float(pearsons(sums)[0])


def _cohen(first: IntArray, second: IntArray, n_options: int) -> float:
    """Cohen's kappa of two raters' codes, from margins: n_options may be large."""
    n = float(len(first))
    expected = np.bincount(first, minlength=n_options) @ np.bincount(second, minlength=n_options)
    hits = float((first == second).sum())
    return float(chance_corrected(np.asarray(n * hits), np.asarray(float(expected)), n * n))


def _by_pairs(pairs: FloatArray) -> dict[str, Estimate]:
    shared, kappa, apart, pearson = pairs.T
    alike = np.ones(len(pairs))
    return {
        "cohen_kappa": _mean(kappa, alike),
        "cohen_kappa_overlap_weighted": _mean(kappa, shared),
        "mae": _mean(apart, alike),
        "pearson": _mean(pearson, alike),
    }


def _mean(values: FloatArray, weights: FloatArray) -> Estimate:
    defined = ~np.isnan(values)
    n = int(defined.sum())
    reason = "constant_labels" if len(values) else "too_few_raters"
    mean = float((values * weights)[defined].sum() / weights[defined].sum()) if n else None
    return Estimate(value=mean, reason="" if n else reason, n_used=n, n_excluded=len(values) - n)
