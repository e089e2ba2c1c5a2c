"""Methods for the ends of intervals: score intervals, and percentiles for non-normal values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, isqrt, prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.special_functions import gammaincinv, stdtrit

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.inference.crossed_raters import RaterVariance

MIN_VALUES = 2  # one value has no spread
MIN_UNITS = 5  # fewer units show too little about the spread of a mean
RARE = 3.5  # fewer counted items are Poisson, not normal; resampling errors are noisy
AGREED, APART = 2.0, 0.5  # items added to a table with agreeing, and with different, labels
STEP = 1e-4  # step in items, for the slope in a cell
MOST_EMPTY = 256  # empty cells with a computed slope; all 7,921 cells of 89 options took 50 s
ENOUGH = 10.0  # with this many items per label, and disagreements, no smoothing is needed
NO_SPREAD = 1e-12  # smaller standard errors count as 0
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class FurtherItem:
    """Maximum that one more item could add to a mean, even if all observed items are similar.

    Attributes
    ----------
    least, most : float
        Smallest and largest possible value of an item.
    weight : float
        Share of a unit that depends on one rating of one item.
    """

    least: float
    most: float
    weight: float

    def widened(
        self, error: float, value: float, n_units: int, bounds: tuple[float, float]
    ) -> float:
        """Return a standard error that accounts for one more unit.

        In that unit, one rating of one item is as far as possible from the (n,) seen units, whose
        mean is ``value``. The variance is scaled to a value as in `score_ends`.
        """
        n = n_units
        far = self.most if self.most - value > value - self.least else self.least
        apart = self.weight * (far - value)
        mean = value + apart / (n + 1)
        variance = ((n - 1) * error**2 + apart**2 / (n + 1)) / (n + 1)
        allowed = sqrt(variance * _spread_at(value, bounds) / _spread_at(mean, bounds))
        return max(error, allowed)


@dataclass(frozen=True, slots=True)
class Smoothed:
    """A coefficient of a table to which items were added, and its standard error.

    Attributes
    ----------
    value, error : float
        Value and error with the added items.
    n_apart : float
        Units of the original table on which the two labels differ.
    """

    value: float
    error: float
    n_apart: float


def smoothed(
    value: Callable[[FloatArray], FloatArray], cells: FloatArray, n_units: int
) -> Smoothed | None:
    """Evaluate a coefficient on (K * K,) cells plus added items. Return None if none are needed.

    In a small table, the few cells of a rare option can all be empty. Kappa's standard error is
    then far too small, and its interval covered 49 to 90 % (20 items, prevalence 5 to 10 %). The
    added items agree on each label in equal parts, and a few differ. Adding equal parts to all
    cells instead treats an option that one side never chose as proof of no agreement, and coverage
    was then 81 to 92 %. If items are grouped, the number of items is the number of groups. The
    error is from the infinitesimal jackknife.
    """
    n_items, n_labels = float(cells.sum()), isqrt(len(cells))
    if n_units < MIN_UNITS or n_labels < MIN_VALUES or not n_items:
        return None
    table = cells * (n_units / n_items)
    if _fewest(table) >= ENOUGH:
        return None
    n_apart = float(table.sum() - table[:: n_labels + 1].sum())
    table = table + APART / (len(cells) - n_labels)
    table[:: n_labels + 1] += AGREED / n_labels - APART / (len(cells) - n_labels)
    n, (moved, weights) = float(table.sum()), _moved(cells, table)
    more = np.tile(table, (len(moved) + 1, 1))
    more[1 + np.arange(len(moved)), moved] += STEP
    values = value(more)
    influence = (values[1:] - values[0]) / STEP * n
    error = sqrt(float(weights @ influence**2) / (n * (n - 1.0)))
    return Smoothed(float(values[0]), error, n_apart) if isfinite(error) else None


def _moved(cells: FloatArray, table: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the cells whose influence is computed, and how many added items each represents.

    These are all cells, unless more than `MOST_EMPTY` off the diagonal are empty. Those have
    `APART` items together, and evenly spaced cells represent the rest.
    """
    is_empty = cells == 0.0
    is_empty[:: isqrt(len(cells)) + 1] = False
    empty = np.flatnonzero(is_empty)
    if len(empty) <= MOST_EMPTY:
        return np.arange(len(cells)), table
    some = empty[np.linspace(0, len(empty) - 1, MOST_EMPTY).astype(np.int64)]
    moved = np.concatenate([np.flatnonzero(~is_empty), some])
    weights = table[moved]
    weights[-MOST_EMPTY:] *= len(empty) / MOST_EMPTY
    return moved, weights


def _fewest(cells: FloatArray) -> float:
    """Return the smaller of two counts: the rarest label on either side, and disagreements."""
    table = cells.reshape(isqrt(len(cells)), -1)
    labels = np.stack([table.sum(axis=0), table.sum(axis=1)])
    used = labels.sum(axis=0) > 0
    return min(float(labels[:, used].min()), float(table.sum() - np.trace(table)))


def _spread_at(value: float, bounds: tuple[float, float]) -> float:
    """Return a number that is proportional to a value's variance between its bounds."""
    sides = (abs(value - bound) for bound in bounds if isfinite(bound))
    return prod(sides)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Sampled:
    """A value and its resamples.

    Attributes
    ----------
    value : float
        Value on all units; not nan.
    replicates : (B,) array
        Bootstrap replicates; nan if undefined.
    n_units : int
        Number of independent units: items, groups of items, or criteria.
    n_items : int or None
        Number of items; None if it equals the number of units.
    bounds : (low, high)
        Smallest and largest possible value.
    is_share : bool
        Whether the value is a share of counted items.
    raters : RaterVariance or None
        The raters' contribution to the variance, if they are a sample too.
    further : FurtherItem or None
        Possible further item, for a mean over items that can have unseen values.
    smoothed : Smoothed or None
        Smoothed table, for a coefficient of cells, whose interval is then included.
    """

    value: float
    replicates: FloatArray
    n_units: int
    n_items: int | None = None
    bounds: tuple[float, float] = (-inf, inf)
    is_share: bool = False
    raters: RaterVariance | None = None
    further: FurtherItem | None = None
    smoothed: Smoothed | None = None
    least_units: int = 0

    def __repr__(self) -> str:
        return f"Sampled({self.value:g}, {len(self.replicates)} replicates, {self.n_units} units)"

    @property
    def has_enough_units(self) -> bool:
        """Return whether an interval has enough units: five, or two for a counted share."""
        counted = self.is_share and self.n_items in {None, self.n_units}
        return self.n_units >= max(self.least_units, MIN_VALUES if counted else MIN_UNITS)

    @property
    def standard_error(self) -> float:
        """Standard error over items, and over raters if they are a sample, or nan if undefined."""
        return self.error_and_freedom[0]

    @property
    def error_and_freedom(self) -> tuple[float, float]:
        """Standard error and its degrees of freedom.

        Over items, this is the replicates' standard deviation times sqrt(n / (n - 1)), because the
        bootstrap's variance is the plug-in one, with n - 1 degrees of freedom. It accounts for one
        more item.
        """
        defined, n = self.replicates[~np.isnan(self.replicates)], self.n_units
        if min(defined.size, n) < MIN_VALUES:
            return float("nan"), n - 1.0
        error = float(defined.std()) * sqrt(n / (n - 1.0))
        if self.further is not None and error > NO_SPREAD:
            error = self.further.widened(error, self.value, n, self.bounds)
        if self.raters is None:
            return error, n - 1.0
        variance, freedom = self.raters.with_items(error**2, n - 1.0)
        defined_freedom = isfinite(freedom) and freedom > 0
        return sqrt(variance), freedom if defined_freedom else n - 1.0


def check_level(level: float) -> None:
    """Reject a confidence level outside (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level!r}; a confidence level must be between 0 and 1")


def _within(ends: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    return max(ends[0], bounds[0]), min(ends[1], bounds[1])


def score_ends(sampled: Sampled, level: float) -> tuple[float, float] | None:
    """Return the ends of the range of values within a t quantile of their own standard error.

    Parameters
    ----------
    sampled : Sampled
        The value, its replicates and bounds.
    level : float
        Nominal coverage.

    Returns
    -------
    (low, high) or None
        None without replicates, or if an unbounded value is the same in all of them.

    Notes
    -----
    The variance at a value x between the bounds L and H is the estimated variance times (x - L)(H -
    x), relative to this product at the estimate. For an infinite bound, its factor is omitted. For
    a share, this is Wilson's interval with n divided by the design effect, which is the ratio of
    the variance to the variance with independent items. If at most three items differ from a bound,
    the end towards that bound comes from a Poisson count: the modified Wilson interval of L. D.
    Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial proportion, Statistical
    Science 16 (2001), 101-133. Quantiles are from Student's t with one degree of freedom less than
    the number of units. Quantiles for a share are normal, widened by the ratio of t quantiles for
    units and items (Korn and Graubard 1998). If all replicates agree, an item can still differ and
    lie anywhere within the bounds. Its probability is the upper end of Wilson's interval for 0 of
    n. For a mean over items that is not a share, such as a divergence, the error comes from
    `FurtherItem`: if a judge nearly always agrees, a few items may not include any large
    disagreement, and its variance would be missing. If raters are a sample too, the variance and
    degrees of freedom come from `RaterVariance.with_items`. For agreement beyond chance, the
    interval includes the interval of `smoothed`. If at most three items differ, its upper end comes
    from a Poisson count of these items.
    """
    low, high = sampled.bounds
    value = sampled.value
    for bound in sampled.bounds:
        value = bound if abs(value - bound) <= NO_SPREAD else value  # apart from rounding
    if not low <= value <= high:  # can happen for an estimate without noise
        low, high = -inf, inf
    (error, freedom), n = sampled.error_and_freedom, sampled.n_units
    if np.isnan(error):
        return None
    quantile = t_quantile(level, freedom)
    if sampled.is_share:
        n_items = n if sampled.n_items is None else sampled.n_items
        widened = quantile / t_quantile(level, max(n_items - 1, 1))
        quantile = _NORMAL.inv_cdf((1.0 + level) / 2.0) * widened
    if error <= NO_SPREAD or min(value - low, high - value) <= NO_SPREAD:
        if not isfinite(high - low):
            return None
        other = quantile**2 / (n + quantile**2)
        ends = value - other * (value - low), value + other * (high - value)
        return _including(sampled.smoothed, ends, quantile, (low, high))
    ends = score_roots(value, quantile * error, (low, high))
    ends = _including(sampled.smoothed, ends, quantile, (low, high))
    if sampled.smoothed is not None and 0.0 < sampled.smoothed.n_apart < RARE:
        least = _least_rare(sampled.smoothed.n_apart, level)
        ends = ends[0], max(ends[1], high - (high - value) * least)
    if sampled.is_share:
        n_effective = (value - low) * (high - value) / (error * widened) ** 2
        ends = _with_rare(ends, value, n_effective, level)
    return _within(ends, (low, high))


def _including(
    smoothed: Smoothed | None,
    ends: tuple[float, float],
    quantile: float,
    bounds: tuple[float, float],
) -> tuple[float, float]:
    """Widen an interval to include the score interval of a smoothed table, if there is one."""
    if smoothed is None:
        return ends
    low, high = score_roots(smoothed.value, quantile * smoothed.error, bounds)
    return min(ends[0], low), max(ends[1], high)


def _with_rare(
    ends: tuple[float, float], share: float, n_effective: float, level: float
) -> tuple[float, float]:
    """Widen Wilson's interval for a share near 0 or 1 to the limit for a Poisson count."""
    low, high = ends
    n_with, n_without = n_effective * share, n_effective * (1.0 - share)
    if n_with < RARE:
        low = min(low, share * _least_rare(n_with, level))
    if n_without < RARE:
        high = max(high, 1.0 - (1.0 - share) * _least_rare(n_without, level))
    return low, high


def _least_rare(count: float, level: float) -> float:
    """Return the lower limit for the mean of a Poisson count, divided by the count."""
    return float(gammaincinv(count, 1.0 - level)) / count if count > 0.0 else 0.0


def score_roots(value: float, reach: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Solve (value - x)^2 = reach^2 v(x) / v(value).

    v is the product of distances to the bounds.
    """
    low, high = bounds
    above, below = value - low, high - value
    if isfinite(above) and isfinite(below):
        k = reach**2 / (above * below)  # (1 + k) y^2 - (2 above + k width) y + above^2 = 0
        width = above + below
        centre, scale = above + k * width / 2.0, 1.0 + k
        half = sqrt(max(k * (above * below + k * width**2 / 4.0), 0.0))
        return low + (centre - half) / scale, low + (centre + half) / scale
    if isfinite(above):
        k = reach**2 / above
        half = sqrt(k * above + k * k / 4.0)
        return value + k / 2.0 - half, value + k / 2.0 + half
    if isfinite(below):
        k = reach**2 / below
        half = sqrt(k * below + k * k / 4.0)
        return value - k / 2.0 - half, value - k / 2.0 + half
    return value - reach, value + reach


@lru_cache(maxsize=4096)
def t_quantile(level: float, degrees_of_freedom: float) -> float:
    """Return the quantile of Student's t for a two-sided interval at this level."""
    return float(stdtrit(degrees_of_freedom, (1.0 + level) / 2.0))


def percentile_ends(replicates: FloatArray, level: float) -> tuple[float, float] | None:
    """Return quantiles of (B,) replicates without nan, or None if all are nan."""
    defined = replicates[~np.isnan(replicates)]
    if not defined.size:
        return None
    return _quantiles(defined, (1.0 - level) / 2.0, (1.0 + level) / 2.0)


def _quantiles(values: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Compute the same as `numpy.quantile`, but six times faster."""
    ordered = np.sort(values)
    last = len(ordered) - 1
    ends = np.interp([low * last, high * last], np.arange(last + 1), ordered)
    return float(ends[0]), float(ends[1])
