"""Intervals where the same raters rated all items: both items and raters are a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.special_functions import stdtrit

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import FloatArray, IntArray

MIN_RATERS = 5  # with fewer an interval is for these raters alone


@dataclass(frozen=True, slots=True, repr=False)
class CrossedRatings:
    """Ratings of n items by m raters who are shared between items.

    Attributes
    ----------
    item, rater, option : (N,) int arrays
        Place of the item, of the rater and of the option of each rating.
    shape : (n, m, K)
        Number of items, raters and options.
    group : (n,) int array
        Cluster of each item; items that are independent are clusters of their own.
    """

    item: IntArray
    rater: IntArray
    option: IntArray
    shape: tuple[int, int, int]
    group: IntArray

    def __repr__(self) -> str:
        n, m, _ = self.shape
        return f"CrossedRatings({len(self.item)} ratings of {n} items by {m} raters)"

    def counts(self, *, without: int | None = None) -> IntArray:
        """Return (n, K) counts of ratings, with all raters or without one of them."""
        n, _, K = self.shape
        kept = slice(None) if without is None else self.rater != without
        cells = self.item[kept] * K + self.option[kept]
        return np.bincount(cells, minlength=n * K).reshape(n, K)


@dataclass(frozen=True, slots=True)
class CrossedVariance:
    """Variance of a statistic over items and raters.

    Attributes
    ----------
    value : float
        The statistic.
    variance : float
        V_items + V_raters - V_cells, and at least V_items.
    degrees_of_freedom : float
        After Satterthwaite.
    items, raters, cells : float
        The components.
    """

    value: float
    variance: float
    degrees_of_freedom: float
    items: float
    raters: float
    cells: float

    def interval(self, level: float) -> tuple[float, float]:
        """Return value -/+ a t quantile times the standard error."""
        quantile = float(stdtrit(self.degrees_of_freedom, (1.0 + level) / 2.0))
        reach = quantile * float(np.sqrt(self.variance))
        return self.value - reach, self.value + reach


def crossed_variance(
    ratings: CrossedRatings,
    contributions: Callable[[IntArray, IntArray], FloatArray],
    value: Callable[[FloatArray], FloatArray],
) -> CrossedVariance:
    """Return the jackknife variance of a statistic of items that shared raters rated.

    Parameters
    ----------
    ratings : CrossedRatings
        At least two clusters of items and two raters.
    contributions : callable
        ``(counts, rows) -> (n', d)``: what the items at ``rows``, (n',), would add if they had
        these (n', K) counts of ratings.
    value : callable
        ``totals (..., d) -> (...)``.

    Returns
    -------
    CrossedVariance
        nan where a component is undefined.

    Notes
    -----
    Two-way clustering: what items and raters vary by, less what both count, the single ratings
    (Cameron, Gelbach and Miller 2011, equation 2.11; Owen 2007 for the bootstrap of crossed
    factors). Each component is a delete-one jackknife.
    """
    n, m, K = ratings.shape
    counts = ratings.counts()
    every = np.arange(n)
    sums = contributions(counts, every)
    totals = sums.sum(axis=0)
    n_groups = int(ratings.group.max()) + 1
    by_group = np.zeros((n_groups, sums.shape[1]))
    np.add.at(by_group, ratings.group, sums)
    v_items = _jackknife(value(totals - by_group), np.ones(n_groups))
    without = [contributions(ratings.counts(without=j), every).sum(axis=0) for j in range(m)]
    v_raters = _jackknife(value(np.array(without)), np.ones(m))
    deleted, weights = [], []
    for k in range(K):
        rows = np.flatnonzero(counts[:, k])
        fewer = counts[rows] - np.eye(K, dtype=np.int64)[k]
        deleted.append(value(totals - sums[rows] + contributions(fewer, rows)))
        weights.append(counts[rows, k])
    v_cells = _jackknife(np.concatenate(deleted), np.concatenate(weights).astype(np.float64))
    variance, freedom = satterthwaite(
        (v_items, n_groups - 1.0), (v_raters, m - 1.0), (v_cells, len(ratings.item) - 1.0)
    )
    return CrossedVariance(
        value=float(value(totals)),
        variance=variance,
        degrees_of_freedom=freedom,
        items=v_items,
        raters=v_raters,
        cells=v_cells,
    )


def satterthwaite(
    items: tuple[float, float], raters: tuple[float, float], cells: tuple[float, float]
) -> tuple[float, float]:
    """Combine components of variance, each with its degrees of freedom.

    Returns
    -------
    variance, degrees_of_freedom : float
        V_items + V_raters - V_cells and at least V_items; nan degrees of freedom where it is 0.
    """
    variance = max(items[0] + raters[0] - cells[0], items[0])
    components = (items, raters, cells)
    spread = sum(component**2 / freedom for component, freedom in components if freedom > 0)
    return variance, variance**2 / spread if spread > 0 else float("nan")


def _jackknife(values: FloatArray, weights: FloatArray) -> float:
    """Return (N - 1)/N times the sum of squares of N delete-one values about their mean."""
    n = weights.sum()
    centre = (values * weights).sum() / n
    return float((n - 1.0) / n * (weights * (values - centre) ** 2).sum())
