"""Test that a mean of bounded differences is below a margin, for few and skewed values."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, log, log1p
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.interval_methods import MIN_UNITS
from harness.stats.inference.special_functions import ndtr, stdtr

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.inference.cluster_robust import ClusterMean

MIN_GROUPS = 10
CORRECTION = 0.4  # items added at the worst value, because sums of few values change in steps
STEEPEST, N_HALVINGS = 60.0, 45  # largest slope of an exponential tilt, and steps to find it
NEAR = 1e-4  # standard deviations from the null within which p is 1/2


@dataclass(frozen=True, slots=True)
class Margin:
    """Upper limit for a mean difference.

    Attributes
    ----------
    value : float
        The margin, in the metric's unit.
    worst : float
        The largest possible difference.
    """

    value: float
    worst: float


def least_items(alpha: float, share: float) -> int:
    """Return the minimum number of items needed to show that a mean is below a margin.

    Parameters
    ----------
    alpha : float in (0, 1)
        Error probability of the test.
    share : float in (0, 1]
        The margin as a share of the worst value.

    Returns
    -------
    int
        The smallest n with ``(1 - share)**n <= alpha``. With fewer items, those with the worst
        value, at the frequency that the margin allows, would be missed entirely too often.

    Examples
    --------
    >>> least_items(0.05, 0.05), least_items(0.01, 0.05)
    (59, 90)
    """
    return ceil(log(alpha) / log1p(-share)) if share < 1.0 else 1


def non_inferiority_p(
    values: FloatArray,
    groups: IntArray,
    estimate: ClusterMean,
    margin: Margin,
) -> float | None:
    """Test H0 that the mean is at least the margin.

    Parameters
    ----------
    values : (n,) array
        Differences; positive is worse.
    groups : (n,) int array
        The cluster of each value.
    estimate : ClusterMean
        Mean, standard error and degrees of freedom of the values; also over raters, if they are a
        sample.
    margin : Margin
        Upper limit for the mean.

    Returns
    -------
    float or None
        The larger of two p-values, `student_p` and `tilted_p`. None if the error is undefined.

    Notes
    -----
    By itself, Student's t has an error rate of 6 to 24 % if raters agree in 97 to 99 %
    (docs/coverage.md).
    """
    _, place = np.unique(groups, return_inverse=True)
    n = int(place.max()) + 1
    by_t = student_p(estimate, n, margin)
    apart = np.asarray(np.bincount(place, values - margin.value), dtype=np.float64)
    apart *= n / len(values)
    worst = max(margin.worst, float(values.max()))
    tilted = tilted_p(apart, worst - margin.value, CORRECTION * worst)
    return None if by_t is None else max(by_t, tilted)


def student_p(estimate: ClusterMean, n: int, margin: Margin) -> float | None:
    """Test H0 that the mean of n units is at least the margin, using Student's t.

    The variance is at least what it would be with one more unit at the worst value. The result is
    None if the error is undefined.
    """
    if not isfinite(estimate.standard_error) or not estimate.degrees_of_freedom > 0:
        return None
    spread = n * estimate.standard_error**2
    gap = margin.worst - estimate.mean
    further = ((n - 1.0) * spread + gap**2 * n / (n + 1.0)) / n
    error = float(np.sqrt(max(spread, further) / n))
    if error == 0.0:  # every difference is the worst possible one
        return 1.0
    return float(stdtr(estimate.degrees_of_freedom, (estimate.mean - margin.value) / error))


def tilted_p(values: FloatArray, worst: float, correction: float = 0.0) -> float:
    """Test H0 that the mean of independent values is at least 0, whatever their skewness.

    Parameters
    ----------
    values : (n,) array
        Values shifted so that the null is a mean of 0.
    worst : float
        The largest possible value, above 0.
    correction : float, optional
        Number to add to the sum of the values.

    Returns
    -------
    float
        Probability of a mean as low as observed, under the distribution with mean 0 that is nearest
        to the sample plus one worst value: its exponential tilt.

    References
    ----------
    B. Efron, Nonparametric standard errors and confidence intervals, Canadian Journal of Statistics
    9 (1981), 139-158, section 11 (tilting); R. Lugannani, S. Rice, Saddle point approximation for
    the distribution of the sum of independent random variables, Advances in Applied Probability 12
    (1980), 475-490.
    """
    n = len(values)
    observed = (float(values.sum()) + correction) / n
    if observed >= 0.0:
        return 1.0
    tilts = _Tilts.of(values, worst)
    return tilts.tail(tilts.slope(0.0), tilts.slope(observed), observed, n)


def tilted_bound(values: FloatArray, worst: float, alpha: float) -> float:
    """Return the largest mean of bounded values that `tilted_p` does not reject.

    Parameters
    ----------
    values : (n,) array
        Independent values.
    worst : float
        The largest possible value, at least 0.
    alpha : float
        Error probability.

    Returns
    -------
    float
        The mean under the tilt at which the observed mean has this probability; at most ``worst``.
    """
    if worst <= 0.0:  # nothing is greater than 0
        return 0.0
    n = len(values)
    observed = (float(values.sum()) + CORRECTION * worst) / n
    tilts = _Tilts.of(values, worst)
    there = tilts.slope(observed)
    low, high = there, tilts.steepest
    if observed >= worst or tilts.tail(high, there, observed, n) > alpha:
        return worst
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2.0
        rejected = tilts.tail(middle, there, observed, n) <= alpha
        low, high = (low, middle) if rejected else (middle, high)
    return min(tilts.at(high)[1], worst)


def mean_interval(
    values: FloatArray, groups: IntArray, bounds: tuple[float, float], level: float
) -> tuple[float, float]:
    """Return an interval for a mean of bounded values by inverting a test on each side.

    Parameters
    ----------
    values : (n,) array
        Values of the items.
    groups : (n,) int array
        The cluster of each value.
    bounds : (low, high)
        The smallest possible value, below 0, and the largest, above 0.
    level : float
        Nominal coverage; each side is tested at half of the error probability.

    Notes
    -----
    A t interval covers 40 to 83 % if raters nearly always agree, and is empty if all values are
    the same. The tilt adds a value at the bound to the sample on either side.
    """
    _, place = np.unique(groups, return_inverse=True)
    units = np.asarray(np.bincount(place, values), dtype=np.float64)
    units *= len(units) / len(values)
    least, most = min(bounds[0], float(units.min())), max(bounds[1], float(units.max()))
    alpha = (1.0 - level) / 2.0
    return -tilted_bound(-units, -least, alpha), tilted_bound(units, most, alpha)


def bounded_mean_interval(
    values: FloatArray,
    groups: IntArray,
    bounds: tuple[float, float],
    level: float,
    estimate: ClusterMean | None = None,
) -> tuple[float, float] | None:
    """Return an interval for a mean of bounded values, or None with too few units or no bounds.

    The interval is like `mean_interval`. If items are grouped, or ``estimate`` treats raters as a
    sample, it includes the t interval.
    """
    n_units = len(np.unique(groups))
    if n_units < MIN_UNITS or not isfinite(bounds[1] - bounds[0]):
        return None
    low, high = mean_interval(values, groups, bounds, level)
    by_t = cluster_mean(values, groups) if estimate is None else estimate
    ends = by_t.interval(level)
    is_widened = n_units < len(values) or by_t.degrees_of_freedom < n_units - 1.0
    if ends is not None and is_widened:
        low, high = min(low, ends[0]), max(high, ends[1])
    return max(low, bounds[0]), min(high, bounds[1])


class _Tilts:
    """Exponential tilts of a distribution on (V,) points."""

    def __init__(self, points: FloatArray, shares: FloatArray) -> None:
        self.points = points
        self.log_shares = np.log(shares)
        self.steepest = STEEPEST / float(np.abs(points).max())

    @classmethod
    def of(cls, values: FloatArray, worst: float) -> Self:
        """Create tilts of a sample to which one worst value is added."""
        points, times = np.unique(np.append(values, worst), return_counts=True)
        return cls(points, times / times.sum())

    def at(self, slope: float) -> tuple[float, float, float]:
        """Return the log of the moment generating function, and the tilt's mean and variance."""
        logs = self.log_shares + slope * self.points
        greatest = float(logs.max())
        weights = np.exp(logs - greatest)
        total = float(weights.sum())
        mean = float(weights @ self.points) / total
        variance = float(weights @ (self.points - mean) ** 2) / total
        return greatest + log(total), mean, variance

    def tail(self, null: float, there: float, observed: float, n: int) -> float:
        """Return the probability of a mean of n values up to the observed mean, at a given slope.

        ``there`` is the slope at which the tilt has the observed mean.
        """
        log_null, _, _ = self.at(null)
        log_there, _, variance = self.at(there)
        slope = there - null
        r = -np.sqrt(max(2.0 * n * (slope * observed - log_there + log_null), 0.0))
        if abs(r) < NEAR:
            return 0.5
        density = np.exp(-r * r / 2.0) / np.sqrt(2.0 * np.pi)
        tail = float(ndtr(r)) + density * (1.0 / r - 1.0 / (slope * np.sqrt(n * variance)))
        return float(np.clip(tail, 0.0, 1.0))

    def slope(self, mean: float) -> float:
        """Return the slope at which the tilt has a given mean."""
        low, high = -self.steepest, self.steepest
        for _ in range(N_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.at(middle)[1] < mean else (low, middle)
        return (low + high) / 2.0
