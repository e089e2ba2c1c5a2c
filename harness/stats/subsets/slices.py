"""Slices: means over the items that share a field's value, compared with the other items.

Among many slices, some are worse by chance. So intervals are simultaneous over all slices: the
critical value is the quantile of the largest of the studentized differences, which are jointly
normal with the covariance of the slices (plug-in sup-t; J. L. Montiel Olea, M. Plagborg-Moller,
Simultaneous confidence bands, Journal of Applied Econometrics 34 (2019), 1-17).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from harness.stats.data.arrays import ratio
from harness.stats.inference.interval_methods import MIN_UNITS, NO_SPREAD, score_roots
from harness.stats.inference.special_functions import ndtr, stdtrit
from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray

N_DRAWS = 2000  # draws of the largest difference
N_THIRDS = 3
NORMAL_KURTOSIS = 3.0
PRIOR_UNITS = 20.0  # prior units of a slice, which vary like the other items


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SliceMeans:
    """Means of F slices, and their differences from the mean of all other items.

    Attributes
    ----------
    n_items, n_units : (F,) arrays
        Number of items with a value in each slice, and of their groups.
    mean, low, high : (F,) arrays
        Mean of each slice, and the ends of its interval; nan if undefined.
    rest : (F,) array
        Mean of the other items.
    gap, gap_low, gap_high : (F,) arrays
        Mean of the slice minus the mean of the other items, and the ends of its interval. The ends
        are nan with fewer than five units on either side, and if all values are the same.
    """

    n_items: IntArray
    n_units: IntArray
    mean: FloatArray
    low: Annotated[FloatArray, MadeBy("simultaneous")]
    high: Annotated[FloatArray, MadeBy("simultaneous")]
    rest: FloatArray
    gap: FloatArray
    gap_low: Annotated[FloatArray, MadeBy("simultaneous")]
    gap_high: Annotated[FloatArray, MadeBy("simultaneous")]

    def __repr__(self) -> str:
        return f"SliceMeans({len(self.mean)} slices)"


class _Side(NamedTuple):
    """One side of each comparison: the slices, or the items outside each slice."""

    mean: FloatArray  # (F,)
    influence: FloatArray  # (F, U) contribution of each unit to the error of the mean
    n_units: FloatArray  # (F,)

    @property
    def spread(self) -> FloatArray:
        """Variances per unit, as an (F,) array."""
        n = self.n_units
        return ratio(n * n * (self.influence**2).sum(axis=1), n - 1.0)

    @property
    def kurtosis(self) -> FloatArray:
        """Kurtosis per unit in an (F,) array. It is the normal kurtosis if units do not vary."""
        squares = self.influence**2
        total = squares.sum(axis=1)
        kurtosis = ratio(self.n_units * (squares**2).sum(axis=1), total**2)
        return np.where(total > NO_SPREAD**2, np.nan_to_num(kurtosis), NORMAL_KURTOSIS)


def slice_means(
    values: FloatArray,
    members: BoolArray,
    *,
    units: IntArray,
    level: float,
    bounds: tuple[float, float],
    rng: np.random.Generator,
    weights: FloatArray | None = None,
) -> SliceMeans:
    """Return each slice's mean and its difference from the other items, simultaneously valid.

    Parameters
    ----------
    values : (n,) array
        Values of the items; nan for an item that does not enter.
    members : (F, n) bool array
        Whether each item is in each slice. Slices can overlap.
    units : (n,) int array
        The group of each item; items are independent if all differ.
    level : float in (0, 1)
        Probability that all intervals for the means, and all for the differences, contain the true
        values.
    bounds : (low, high)
        Smallest and largest possible value of an item.
    rng : numpy Generator
        Draws the largest of the differences.
    weights : (n,) array, optional
        Number of times each item counts. Default: once.

    Notes
    -----
    A few items with equal values have no variance. So the variance of a slice is at least what it
    would be with 20 more units that vary like the other items, as in the moderated t statistic (G.
    K. Smyth, Linear models and empirical Bayes methods for assessing differential expression,
    Statistical Applications in Genetics and Molecular Biology 3 (2004), 3), and the variance of
    either side is at least what it would be with one more unit as far away as any item (or, if all
    items are equal, as far as the bounds). Degrees of freedom are Satterthwaite's. Each side has
    the degrees of freedom of its own variance, which depend on the kurtosis (B. O'Neill, Some
    useful moment results in sampling problems, The American Statistician 68 (2014), 282-296).
    """
    enters = ~np.isnan(values)
    weight = np.where(enters, 1.0 if weights is None else weights, 0.0)
    inside = np.asarray(members & enters, dtype=np.bool_)
    of_slice = _side(np.nan_to_num(values), inside, weight, units)
    of_rest = _side(np.nan_to_num(values), ~members & enters, weight, units)
    n, others, ends = of_slice.n_units, of_rest.n_units, _extremes(values[enters], bounds)
    rest_spread = _allowing_for_more(of_rest, ends)
    spread = np.fmax(_allowing_for_more(of_slice, ends), _moderated(of_slice, of_rest))
    variance = ratio(spread, n) + ratio(rest_spread, others) + _shared(of_slice, of_rest)
    compared = (n >= MIN_UNITS) & (others >= MIN_UNITS) & (variance > NO_SPREAD**2)
    errors = np.sqrt(np.where(compared, variance, np.nan))
    freedom = _freedom(of_slice, of_rest, spread, rest_spread)
    tail = _largest_tail((of_slice.influence - of_rest.influence)[compared], level, rng)
    reach = _quantiles(tail, freedom) * errors
    low, high = _intervals(of_slice, spread, compared, _quantiles(tail, freedom), bounds)
    gap, width = of_slice.mean - of_rest.mean, bounds[1] - bounds[0]
    return SliceMeans(
        n_items=inside.sum(axis=1),
        n_units=n.astype(np.int64),
        mean=of_slice.mean,
        low=low,
        high=high,
        rest=of_rest.mean,
        gap=gap,
        gap_low=np.maximum(gap - reach, -width),
        gap_high=np.minimum(gap + reach, width),
    )


def worst_slice(
    judge: SliceMeans,
    beyond_raters: SliceMeans,
    eligible: BoolArray,
    *,
    less_is_worse: bool = True,
) -> int | None:
    """Return the slice that is worst compared with the rest, or None if it is not significant.

    Parameters
    ----------
    judge : SliceMeans
        Performance or loss of the judge.
    beyond_raters : SliceMeans
        The same minus a rater's, because a slice on which raters are worse too is not the judge's
        fault.
    eligible : (F,) bool array
        Slices that can be returned.
    less_is_worse : bool, optional
        False if higher values are worse.

    Notes
    -----
    Both intervals must be on the worse side of 0. This is an intersection-union test (R. L. Berger,
    Multiparameter hypothesis testing and acceptance sampling, Technometrics 24 (1982), 295-300): at
    a level of 95 %, it names a slice in at most 5 % of data sets if the judge is not worse in any
    by more than raters are.
    """
    with np.errstate(invalid="ignore"):
        if less_is_worse:
            worse = (judge.gap_high < 0.0) & (beyond_raters.gap_high < 0.0)
        else:
            worse = (judge.gap_low > 0.0) & (beyond_raters.gap_low > 0.0)
    worse = worse & eligible
    gap = judge.gap if less_is_worse else -judge.gap
    return int(np.where(worse, gap, np.inf).argmin()) if worse.any() else None


def thirds(numbers: FloatArray) -> tuple[float, float] | None:
    """Return the largest numbers in the lower and the middle third, or None with fewer than three.

    Equal numbers stay together: the cuts are the occurring numbers nearest to thirds.

    Parameters
    ----------
    numbers : (n,) array
        Numbers of the items; nan for an item without one.
    """
    present = np.sort(numbers[~np.isnan(numbers)])
    distinct, first = np.unique(present, return_index=True)
    if len(distinct) < N_THIRDS:
        return None
    upto = np.append(first[1:], len(present)) / len(present)  # share of the numbers up to each
    lower = int(np.abs(upto[:-2] - 1.0 / N_THIRDS).argmin())
    middle = lower + 1 + int(np.abs(upto[lower + 1 : -1] - 2.0 / N_THIRDS).argmin())
    return float(distinct[lower]), float(distinct[middle])


def _side(values: FloatArray, inside: BoolArray, weight: FloatArray, units: IntArray) -> _Side:
    """Return means and influences of the items selected by each row of (F, n) ``inside``."""
    weights = np.where(inside, weight, 0.0)
    totals = weights.sum(axis=1)
    mean = ratio(weights @ values, totals)
    influence = ratio(weights * (values - np.nan_to_num(mean)[:, None]), totals[:, None])
    influence = np.nan_to_num(influence)
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.diff(units[order], prepend=units[order[:1]] - 1))
    if len(starts) == len(units):
        return _Side(mean, influence, inside.sum(axis=1).astype(np.float64))
    n_units = np.logical_or.reduceat(inside[:, order], starts, axis=1).sum(axis=1)
    of_units = np.add.reduceat(influence[:, order], starts, axis=1)
    return _Side(mean, of_units, n_units.astype(np.float64))


def _extremes(values: FloatArray, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest and largest of (n,) values, or the bounds if all values are equal."""
    if len(values) and (least := float(values.min())) < (most := float(values.max())):
        return least, most
    return bounds


def _allowing_for_more(side: _Side, ends: tuple[float, float]) -> FloatArray:
    """Return (F,) unit variances that account for one more unit at the farther end."""
    n, spread = side.n_units, side.spread
    if not isfinite(ends[1] - ends[0]):
        return spread
    far = np.maximum(side.mean - ends[0], ends[1] - side.mean)
    return np.asarray(np.fmax(spread, ratio((n - 1.0) * spread + far**2 * n / (n + 1.0), n)))


def _moderated(of_slice: _Side, of_rest: _Side) -> FloatArray:
    """Return (F,) unit variances, with the other items counted as a number of units."""
    n = of_slice.n_units
    return np.asarray((n * of_slice.spread + PRIOR_UNITS * of_rest.spread) / (n + PRIOR_UNITS))


def _shared(of_slice: _Side, of_rest: _Side) -> FloatArray:
    """Return how much groups with items on both sides add to the differences' variances."""
    return np.asarray(-2.0 * (of_slice.influence * of_rest.influence).sum(axis=1))


def _freedom(
    of_slice: _Side, of_rest: _Side, spread: FloatArray, rest_spread: FloatArray
) -> FloatArray:
    """Return the (F,) degrees of freedom of the differences' variances."""
    kurtosis = np.maximum(of_slice.kurtosis, of_rest.kurtosis)
    own = ratio(spread, of_slice.n_units), _freedom_of(of_slice.n_units, kurtosis)
    rest = ratio(rest_spread, of_rest.n_units), _freedom_of(of_rest.n_units, of_rest.kurtosis)
    return ratio((own[0] + rest[0]) ** 2, own[0] ** 2 / own[1] + rest[0] ** 2 / rest[1])


def _freedom_of(n: FloatArray, kurtosis: FloatArray) -> FloatArray:
    """Return the (F,) degrees of freedom of a variance over n units."""
    n = np.maximum(n, 2.0)
    return 2.0 * n / np.maximum(kurtosis - (n - 3.0) / (n - 1.0), 2.0 / n)


def _largest_tail(influence: FloatArray, level: float, rng: np.random.Generator) -> float:
    """Return the two-sided normal tail probability beyond the critical value.

    The largest of the (F,) differences, each divided by its error, exceeds that value with
    probability 1 - level.
    """
    if not len(influence):
        return 1.0 - level
    covariance = influence @ influence.T
    scale = np.sqrt(np.maximum(np.diag(covariance), NO_SPREAD**2))
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1.0)  # also for a slice whose items are equal
    eigenvalues, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    draws = np.abs(rng.standard_normal((N_DRAWS, len(root))) @ root.T).max(axis=1)
    return 2.0 * float(ndtr(-float(np.quantile(draws, level))))


def _quantiles(tail: float, freedom: FloatArray) -> FloatArray:
    return -np.asarray(stdtrit(np.nan_to_num(freedom, nan=1.0), tail / 2.0), dtype=np.float64)


def _intervals(
    side: _Side,
    spread: FloatArray,
    compared: BoolArray,
    quantiles: FloatArray,
    bounds: tuple[float, float],
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the intervals for the slices' means."""
    low, high = np.full(len(spread), np.nan), np.full(len(spread), np.nan)
    for f in np.flatnonzero(compared).tolist():
        mean, n, quantile = float(side.mean[f]), float(side.n_units[f]), float(quantiles[f])
        if isfinite(sum(bounds)) and min(mean - bounds[0], bounds[1] - mean) <= NO_SPREAD:
            other = quantile**2 / (n + quantile**2)
            low[f], high[f] = mean - other * (mean - bounds[0]), mean + other * (bounds[1] - mean)
        else:
            ends = score_roots(mean, quantile * float(spread[f] / n) ** 0.5, bounds)
            low[f], high[f] = max(ends[0], bounds[0]), min(ends[1], bounds[1])
    return low, high
