"""Tests for raters who agree less with other raters, or whose answers vary less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, IntArray, ratio
from harness.stats.inference.multiple_testing import holm

if TYPE_CHECKING:
    from collections.abc import Callable

TILTS = np.geomspace(0.01, 100.0, 40)  # exponents of the Chernoff bound
MIN_UNITS = 30  # units of a rater, for the t approximation of a correlation
MIN_FOR_DEVIATION = 3  # ratings of an item: two always agree equally with each other


@dataclass(frozen=True, slots=True)
class RaterChoices:
    """Choices by identified raters, with one element per rating.

    Attributes
    ----------
    item, rater, option : (R,) int arrays
        Indices from 0. A rater rates an item at most once.
    unit : (n,) int array
        Unit of each item: a group whose items may depend on each other, or a separate number.
    n_raters, n_options : int
        Number of raters and of options.
    """

    item: IntArray
    rater: IntArray
    option: IntArray
    unit: IntArray
    n_raters: int
    n_options: int

    def counts(self) -> IntArray:
        """Count how often each option was chosen for each item, as an (n, K) array."""
        n, K = len(self.unit), self.n_options
        return np.bincount(self.item * K + self.option, minlength=n * K).reshape(n, K)

    def subset(self, kept: IntArray) -> RaterChoices:
        """Return the ratings at the given indices."""
        return RaterChoices(
            self.item[kept],
            self.rater[kept],
            self.option[kept],
            self.unit,
            self.n_raters,
            self.n_options,
        )

    def units(self) -> tuple[IntArray, IntArray]:
        """Return the size of each rating's unit among the rater's ratings, and units per rater.

        Returns
        -------
        sizes : (R,) int array
        n_units : (m,) int array
        """
        key = self.rater * (self.unit.max(initial=0) + 1) + self.unit[self.item]
        pairs, position, sizes = np.unique(key, return_inverse=True, return_counts=True)
        n_units = np.bincount(pairs // (self.unit.max(initial=0) + 1), minlength=self.n_raters)
        return sizes[position], n_units


@dataclass(frozen=True, slots=True, repr=False)
class RaterDeviation:
    """Comparison of each rater with interchangeable raters.

    Attributes
    ----------
    n_items, n_units : (m,) int arrays
        Number of the rater's items with at least three ratings, and of the units they belong to.
    agreement : (m,) array
        Mean share of the other raters' choices that equal the rater's; nan without such items.
    expected : (m,) array
        Mean of the same share over all raters of these items.
    p, p_adjusted : (m,) arrays
        P-values of the hypothesis that raters are interchangeable, against lower agreement, before
        and after Holm's adjustment; nan if not tested.
    """

    n_items: IntArray
    n_units: IntArray
    agreement: FloatArray
    expected: FloatArray
    p: FloatArray
    p_adjusted: FloatArray

    def __repr__(self) -> str:
        n_low = int((self.p_adjusted <= 0.05).sum())  # noqa: PLR2004 -- the usual level
        return f"RaterDeviation({len(self.p)} raters, {n_low} low)"


def rater_deviation(choices: RaterChoices) -> RaterDeviation:
    """Test whether each rater agrees less with other raters than interchangeable raters do.

    Parameters
    ----------
    choices : RaterChoices
        Choices of raters. Items with fewer than three ratings are left out, because two raters
        always agree equally.

    Returns
    -------
    RaterDeviation
        One row per rater.

    Notes
    -----
    If the raters of an item are interchangeable, each of them is equally likely to have given each
    of its ratings. Chernoff's bound on the lower tail of the rater's sum of agreements is then a
    valid p-value for any number of items. Within a unit, Hoelder's inequality keeps it valid
    however items depend on each other. With Holm's adjustment, the probability that any of several
    interchangeable raters is below the level is at most the level.
    """
    counts = choices.counts()
    m = counts.sum(axis=1)
    used = choices.subset(np.flatnonzero(m[choices.item] >= MIN_FOR_DEVIATION))
    shares = ratio(counts, m[:, None])
    agreements = ratio(counts - 1, m[:, None] - 1)
    sizes, n_units = used.units()

    def total(values: FloatArray) -> FloatArray:
        sums = np.bincount(used.rater, weights=values, minlength=choices.n_raters)
        return np.asarray(sums, dtype=np.float64)

    scores = agreements[used.item, used.option]
    n_items = np.bincount(used.rater, minlength=choices.n_raters)
    means = (shares * np.maximum(agreements, 0.0)).sum(axis=1)

    def log_mgf(tilt: float) -> FloatArray:
        exponents = -tilt * sizes[:, None] * agreements[used.item]
        return np.asarray(_log_mean(exponents, shares[used.item]) / sizes, dtype=np.float64)

    p = _chernoff(total, log_mgf, total(scores), n_items)
    return RaterDeviation(
        n_items=n_items,
        n_units=n_units,
        agreement=ratio(total(scores), n_items),
        expected=ratio(total(means[used.item]), n_items),
        p=p,
        p_adjusted=holm(p),
    )


def _log_mean(exponents: FloatArray, weights: FloatArray) -> FloatArray:
    """Return log sum_k w_k exp(x_k) for each row. Options that nobody chose have weight 0."""
    high = np.where(weights > 0, exponents, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    terms = np.where(weights > 0, np.exp(np.minimum(exponents - high, 0.0)), 0.0)
    return np.asarray(high[:, 0] + np.log((weights * terms).sum(axis=1)), dtype=np.float64)


def _chernoff(
    total: Callable[[FloatArray], FloatArray],
    log_mgf: Callable[[float], FloatArray],
    observed: FloatArray,
    n_items: IntArray,
) -> FloatArray:
    """Bound P(sum <= observed) by the minimum of exp(K(-t) + t observed) over some values of t."""
    bounds = [total(log_mgf(float(tilt))) + tilt * observed for tilt in TILTS]
    p = np.exp(np.minimum(np.min(bounds, axis=0), 0.0))
    return np.where(n_items > 0, p, np.nan)


def same_answer_p_values(choices: RaterChoices) -> tuple[IntArray, FloatArray]:
    """Test raters who always chose the same option against interchangeable raters.

    Parameters
    ----------
    choices : RaterChoices
        Choices of all raters.

    Returns
    -------
    option : (m,) int array
        The rater's constant choice; -1 if choices vary or there are none.
    p_adjusted : (m,) array
        Probability that an interchangeable rater gives any one answer to all these items, summed
        over the options, at most 1, and adjusted by Holm over all raters with a rating. 1 for
        raters who vary, nan for raters without ratings.
    """
    counts = choices.counts()
    shares = ratio(counts, counts.sum(axis=1)[:, None])
    sizes, n_units = choices.units()
    chosen = np.zeros((choices.n_raters, choices.n_options), dtype=np.int64)
    np.add.at(chosen, (choices.rater, choices.option), 1)
    always = (chosen > 0).sum(axis=1) == 1
    with np.errstate(divide="ignore"):
        logs = np.log(shares[choices.item]) / sizes[:, None]
    chances = [
        np.exp(np.bincount(choices.rater, weights=logs[:, k], minlength=choices.n_raters))
        for k in range(choices.n_options)
    ]
    p = np.where(always, np.minimum(np.sum(chances, axis=0), 1.0), 1.0)
    option = np.where(always, chosen.argmax(axis=1), -1)
    return option, holm(np.where(n_units > 0, p, np.nan))


def drift_p_values(choices: RaterChoices, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Test whether raters agree more or less with other raters over time.

    Parameters
    ----------
    choices : RaterChoices
        Choices of all raters.
    times : (R,) array
        Time of each rating, in any unit; nan if unknown.

    Returns
    -------
    rho : (m,) array in [-1, 1]
        Correlation of the rank of time with the rater's agreement beyond the median of the item's
        raters, over units of mean time and agreement; nan below 30 units or if either is constant.
        Relative to the mean, all other raters would seem to change if one rater does.
    p_adjusted : (m,) array
        Two-sided p-values for no relation by Student's t, adjusted by Holm; nan if not tested.
    """
    from scipy.stats import pearsonr, rankdata  # noqa: PLC0415 -- takes a while to load

    counts = choices.counts()
    m = counts.sum(axis=1)
    agreements = ratio(counts - 1, m[:, None] - 1)
    usual = _median_agreements(counts, agreements)
    excess = agreements[choices.item, choices.option] - usual[choices.item]
    timed = (m[choices.item] >= MIN_FOR_DEVIATION) & ~np.isnan(times)
    rho, p = np.full((2, choices.n_raters), np.nan)
    for j in range(choices.n_raters):
        rows = np.flatnonzero((choices.rater == j) & timed)
        _, unit, sizes = np.unique(
            choices.unit[choices.item[rows]], return_inverse=True, return_counts=True
        )
        mean_time, mean_excess = (
            np.bincount(unit, weights=values[rows], minlength=len(sizes)) / sizes
            for values in (times, excess)
        )
        if len(sizes) >= MIN_UNITS and np.ptp(mean_time) > 0 and np.ptp(mean_excess) > 0:
            rho[j], p[j] = pearsonr(rankdata(mean_time), mean_excess)
    return rho, holm(p)


def _median_agreements(counts: IntArray, agreements: FloatArray) -> FloatArray:
    """Return the (lower) median agreement over each item's ratings, as an (n,) array."""
    order = np.argsort(agreements, axis=1)
    reached = np.take_along_axis(counts, order, axis=1).cumsum(axis=1)
    place = (2 * reached >= counts.sum(axis=1, keepdims=True)).argmax(axis=1)
    middle = np.take_along_axis(order, place[:, None], axis=1)
    return np.take_along_axis(agreements, middle, axis=1)[:, 0]
