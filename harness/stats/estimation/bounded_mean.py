"""Intervals for the mean of a bounded score, valid even if high or low scores are rare.

Each item gets a random exponential weight. An extra item at the end of the scale counts for three
quarters of an item. The upper limit is a quantile of the weighted mean with that item at the top;
for the lower limit, the item is at the bottom. If it counted in full, two-valued scores would have
the exact interval of Clopper and Pearson, which is wider than needed. Gaffke, Three test statistics
for a nonparametric one-sided hypothesis on the mean of a nonnegative variable (2004);
Learned-Miller and Thomas, A new confidence interval for the mean of a bounded random variable
(2019). Quantiles come from a saddlepoint approximation instead of draws (Lugannani and Rice,
Advances in Applied Probability 1980).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.special_functions import ndtri

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray

EXTRA = 0.75  # weight of the extra item, relative to an item
N_STEPS = 30  # most steps of a search
CONVERGED = 1e-5  # tolerance for a limit's normal score, and for the slope at a saddlepoint
NEAR_MEAN = 1e-4  # normal score below which the formula is 0 / 0
TINY = float(np.finfo(np.float64).tiny)
UNBOUNDED = 1e6  # saddlepoint, if nothing bounds it


@dataclass(frozen=True, slots=True)
class ScoreUnits:
    """Independent units in R data sets. A unit is an item or a group of items.

    Attributes
    ----------
    sums, sizes : (R, U) arrays
        Weighted sum of each unit's scores, and its weight; both are 0 if a data set has fewer
        units.
    noise : (R,) array
        Variance of additional information about the mean, such as from unlabelled items.
    """

    sums: FloatArray
    sizes: FloatArray
    noise: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Means over the units, as an (R,) array."""
        return np.asarray(self.sums.sum(axis=1) / self.sizes.sum(axis=1))

    def limit(self, end: FloatArray, tail: float) -> FloatArray:
        """Return (R,) confidence limits for the mean towards one end of the scale.

        Parameters
        ----------
        end : (R,) array
            Score of the extra unit, which has the size of a random item's unit. All scores are
            above the means, or all are below.
        tail : float
            Probability that a limit misses the mean.
        """
        limits = np.array(end, dtype=np.float64)
        open_rows = np.flatnonzero((end != self.mean) | (self.noise > 0.0))
        if open_rows.size:
            units = ScoreUnits(self.sums[open_rows], self.sizes[open_rows], self.noise[open_rows])
            limits[open_rows] = units._searched(limits[open_rows], tail)
        return limits

    def _searched(self, end: FloatArray, tail: float) -> FloatArray:
        """Find the limits by the secant method, and halve any step that leaves the bracket."""
        size = (self.sizes**2).sum(axis=1) / self.sizes.sum(axis=1)
        sums = np.column_stack([self.sums, end * size])
        sizes = np.column_stack([self.sizes, size])
        total = _total(sizes)
        noise = self.noise * total**2
        above = end >= self.mean
        wanted = np.where(above, 1.0, -1.0) * float(ndtri(1.0 - tail))
        far = 10.0 * np.sqrt(self.noise)
        low = np.where(above, self.mean, end - far)
        high = np.where(above, end + far, self.mean)
        middle = _total(sums) / total
        squares = _total((sums - middle[:, None] * sizes) ** 2) / total**2
        spread = np.sqrt(squares + self.noise)
        guess = middle + wanted * spread
        limit = np.where((guess > low) & (guess < high), guess, (low + high) / 2.0)
        slope = 1.0 / spread
        rows = np.arange(len(limit))
        for _ in range(N_STEPS):
            at = limit[rows]
            excess = _normal_score(sums[rows] - at[:, None] * sizes[rows], noise[rows])
            excess = excess - wanted[rows]
            low[rows] = np.where(excess < 0.0, at, low[rows])
            high[rows] = np.where(excess < 0.0, high[rows], at)
            step = at - excess / slope[rows]
            is_inside = (step > low[rows]) & (step < high[rows])
            limit[rows] = np.where(is_inside, step, (low[rows] + high[rows]) / 2.0)
            moved = limit[rows] - at
            left = (np.abs(excess) > CONVERGED) & (np.abs(moved) > CONVERGED * spread[rows])
            slope[rows] = np.where(is_inside, slope[rows], 2.0 * slope[rows])
            rows = rows[left]
            if not rows.size:
                break
        return limit


def _total(values: FloatArray) -> FloatArray:
    """Sum each row. The last value belongs to the extra unit and counts `EXTRA` times."""
    return np.asarray(values[:, :-1].sum(axis=1) + EXTRA * values[:, -1])


def _normal_score(factors: FloatArray, noise: FloatArray) -> FloatArray:
    """Return each row's z with Phi(z) = P(sum of factors x random weights + normal noise <= 0)."""
    spread = np.sqrt(_total(factors**2) + noise)
    scale = np.where(spread > 0.0, spread, 1.0)
    factors, noise = factors / scale[:, None], noise / scale**2
    point = _saddlepoint(factors, noise)
    share = point[:, None] * factors
    generating = noise * point**2 / 2.0 - _total(np.log1p(-share))
    tilted = factors / (1.0 - share)
    curvature = np.maximum(_total(tilted**2) + noise, TINY)
    w = np.sign(point) * np.sqrt(np.maximum(-2.0 * generating, 0.0))
    u = point * np.sqrt(curvature)
    near = np.abs(w) < NEAR_MEAN
    safe_w, ratio = np.where(near, 1.0, w), np.where(near, 1.0, u / np.where(near, 1.0, w))
    skew = 2.0 * _total(tilted**3) / curvature**1.5
    return np.where(near, w + skew / 6.0, safe_w + np.log(ratio) / safe_w)


def _saddlepoint(factors: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the point at which the derivative of the cumulant generating function is 0.

    This uses Newton's method, with halving if a step leaves the bracket.
    """
    largest, least = factors.max(axis=1), factors.min(axis=1)
    high = np.where(largest > 0.0, 1.0 / np.where(largest > 0.0, largest, 1.0), UNBOUNDED)
    low = np.where(least < 0.0, 1.0 / np.where(least < 0.0, least, 1.0), -UNBOUNDED)
    points = np.clip(-_total(factors), 0.9 * low, 0.9 * high)
    rows = np.arange(len(points))
    for _ in range(N_STEPS):
        own, point = factors[rows], points[rows]
        tilted = own / (1.0 - point[:, None] * own)
        slope = _total(tilted) + noise[rows] * point
        low[rows] = np.where(slope < 0.0, point, low[rows])
        high[rows] = np.where(slope < 0.0, high[rows], point)
        curvature = np.maximum(_total(tilted**2) + noise[rows], TINY)
        step = point - slope / curvature
        is_inside = (step > low[rows]) & (step < high[rows])
        points[rows] = np.where(is_inside, step, (low[rows] + high[rows]) / 2.0)
        rows = rows[np.abs(slope) > CONVERGED * np.sqrt(curvature)]
        if not rows.size:
            break
    return points
