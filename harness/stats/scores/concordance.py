"""Threshold-free measures of how well scores order items, compared with raters.

References
----------
J. A. Hanley, B. J. McNeil, The meaning and use of the area under a receiver operating
characteristic (ROC) curve, Radiology 143 (1982), 29-36.
D. Deutsch, G. Foster, M. Freitag, Ties Matter: Meta-Evaluating Modern Metrics with Pairwise
Accuracy and Tie Calibration, EMNLP 2023.
A. Elangovan et al., Beyond correlation, ICLR 2025 (tables 2 and 7: mean and median).
B. Efron, C. Stein, The jackknife estimate of variance, Annals of Statistics 9 (1981), 586-596.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

import numpy as np

from harness.stats.data.labels import medians

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray

N_BLOCKS = 50  # blocks of items that the jackknife leaves out in turn
MAX_PAIRED = 1000  # items with all pairs compared; if there are more, a seeded sample
MIN_UNITS, UNITS_FOR_MEDIANS = 10, 30
NEVER = 1e-12
DIGITS = 9


class Scored(NamedTuple):
    """Items with a score and ratings.

    Attributes
    ----------
    score : (n,) array
        Score of each item; higher is better.
    shares : (n, K) array
        Share of the raters who chose each option, from the worst to the best.
    mean, median : (n,) array
        Mean and median of the ratings.
    """

    score: FloatArray
    shares: FloatArray
    mean: FloatArray
    median: FloatArray

    @classmethod
    def of(cls, score: FloatArray, ratings: FloatArray, numbers: FloatArray) -> Self:
        """Combine scores with (n, K) numbers of raters per option, starting with the worst one.

        ``numbers`` are the options' numbers, (K,), in ascending order. Every item needs a rating.
        """
        shares = ratings / ratings.sum(axis=1, keepdims=True)
        mean = np.round(shares @ numbers, DIGITS)  # equal means are ties
        return cls(score, shares, mean, medians(ratings, numbers))

    def only(self, rows: IntArray | BoolArray) -> Self:
        """Keep only the selected items."""
        return self._replace(
            score=self.score[rows],
            shares=self.shares[rows],
            mean=self.mean[rows],
            median=self.median[rows],
        )


ScoreMeasure: TypeAlias = Callable[[Scored], float]


def auc(items: Scored) -> float:
    """Return the probability that scores order two items in the same way as raters.

    One rater of each item is drawn, and pairs with the same label are left out. Equal scores count
    half. With two options it is the area under the ROC curve; nan without such pairs.
    """
    _, place = np.unique(items.score, return_inverse=True)
    shares = items.shares
    at = np.zeros((place.max(initial=-1) + 1, shares.shape[1]))
    np.add.at(at, place, shares)
    worse = np.cumsum(at, axis=1) - at  # labels below the column's label
    own = float((shares * (np.cumsum(shares, axis=1) - shares)).sum())  # of an item with itself
    lower = np.cumsum(worse, axis=0) - worse
    n_pairs = float((at * worse.sum(axis=0)).sum()) - own
    if n_pairs <= NEVER * len(shares):
        return np.nan
    return (float((at * (lower + worse / 2)).sum()) - own / 2) / n_pairs


def spearman(items: Scored, centre: FloatArray) -> float:
    """Return Spearman's correlation between the scores and the raters' (n,) centres."""
    from scipy.stats import spearmanr  # noqa: PLC0415 -- 0.3 s, only needed for scores

    return _defined(spearmanr, items.score, centre)


def kendall(items: Scored, centre: FloatArray) -> float:
    """Return Kendall's tau-b between the scores and the raters' (n,) centres."""
    from scipy.stats import kendalltau  # noqa: PLC0415 -- 0.3 s, only needed for scores

    return _defined(kendalltau, items.score, centre)


def _defined(
    correlation: Callable[[FloatArray, FloatArray], tuple[float, float]],
    x: FloatArray,
    y: FloatArray,
) -> float:
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:  # noqa: PLR2004 -- it needs a pair
        return np.nan
    return float(correlation(x, y)[0])


MEASURES: dict[str, ScoreMeasure] = {
    "auc": auc,
    "spearman_mean": lambda items: spearman(items, items.mean),
    "spearman_median": lambda items: spearman(items, items.median),
    "kendall_tau_b_mean": lambda items: kendall(items, items.mean),
    "kendall_tau_b_median": lambda items: kendall(items, items.median),
}


def least_units(name: str) -> int:
    """Return the number of items or groups that a measure needs for an interval.

    With fewer, coverage is too low for correlations with medians, which have many ties
    (`benchmarks/score_coverage.py`).
    """
    return UNITS_FOR_MEDIANS if name.endswith("_median") else MIN_UNITS


# Pairwise accuracy


class TiedPairs(NamedTuple):
    """Pairs of items, with their (P,) differences in scores and in mean ratings."""

    score: FloatArray
    rating: FloatArray

    @classmethod
    def of(cls, items: Scored) -> Self:
        """Create all pairs of the items."""
        first, second = np.triu_indices(len(items.score), k=1)
        return cls(items.score[first] - items.score[second], items.mean[first] - items.mean[second])

    def accuracy(self, width: float) -> float:
        """Return the share of pairs in the raters' order or tied in both, or nan without pairs.

        Pairs whose scores differ by at most ``width`` are tied.
        """
        tied = np.abs(self.score) <= width
        right = np.where(tied, self.rating == 0, self.score * self.rating > 0)
        return float(right.mean()) if right.size else np.nan

    def best_width(self) -> float:
        """Return the tie width with the highest accuracy. This is called tie calibration."""
        distance = np.abs(self.score)
        order = np.argsort(distance, kind="stable")
        widths, last = np.unique(distance[order][::-1], return_index=True)
        gained = np.cumsum((self.rating == 0)[order].astype(np.int64))
        lost = np.cumsum((self.score * self.rating > 0)[order].astype(np.int64))
        right = (gained - lost)[len(order) - 1 - last]  # relative to no ties
        best = int(right.argmax()) if right.size else -1
        return float(widths[best]) if best >= 0 and right[best] > 0 else 0.0


def pairwise_accuracy(items: Scored, width: float) -> float:
    """Return the share of item pairs that scores and mean ratings order the same, or both tie."""
    return TiedPairs.of(items).accuracy(width)


def some_rows(n: int) -> IntArray:
    """Return all items to compare in pairs, or a seeded sample if there are more than 1,000."""
    rows = np.random.default_rng(0).permutation(n)[:MAX_PAIRED]
    return np.asarray(np.sort(rows), dtype=np.int64)


# Intervals


def jackknife_interval(
    measure: ScoreMeasure,
    items: Scored,
    units: IntArray,
    *,
    level: float,
    bounds: tuple[float, float],
) -> tuple[float, float] | None:
    """Return a measure's interval, by leaving out blocks of units in turn.

    Parameters
    ----------
    measure : callable
        Returns the value for some items, nan if undefined.
    items : Scored
        n items.
    units : (n,) int array
        Items or groups; whole units are left out.
    level : float
        Nominal coverage.
    bounds : (low, high)
        Smallest and largest value. Errors are computed on the logit scale between them.

    Returns
    -------
    (low, high) or None
        None if the value is at a bound, or undefined without some block.
    """
    from scipy.stats import t  # noqa: PLC0415 -- 0.3 s, only needed for scores

    names, place = np.unique(units, return_inverse=True)
    n_blocks = min(N_BLOCKS, len(names))
    block = (np.random.default_rng(0).permutation(len(names)) % max(n_blocks, 1))[place]
    low, high = bounds

    def logit(value: float) -> float:
        share = (value - low) / (high - low)
        return float(np.log(share / (1 - share))) if NEVER < share < 1 - NEVER else np.nan

    whole = logit(measure(items))
    left = np.array([logit(measure(items.only(block != k))) for k in range(n_blocks)])
    if n_blocks < 2 or np.isnan(whole) or np.isnan(left).any():  # noqa: PLR2004 -- to vary
        return None
    error = np.sqrt((n_blocks - 1) / n_blocks * ((left - left.mean()) ** 2).sum())
    half = float(t.ppf((1 + level) / 2, n_blocks - 1) * error)
    ends = 1 / (1 + np.exp(-np.array([whole - half, whole + half])))
    return float(low + (high - low) * ends[0]), float(low + (high - low) * ends[1])
