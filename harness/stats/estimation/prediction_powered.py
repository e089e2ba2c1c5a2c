"""Prediction-powered means, tuned for power.

Angelopoulos, Duchi and Zrnic, PPI++: Efficient prediction-powered inference (2023). The judge's
weight is fitted on items other than those it is applied to, so that it does not bias the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.cluster_robust import design_effect
from harness.stats.inference.special_functions import stdtrit

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

N_FOLDS = 10
MIN_UNITS = 10  # items or groups; fewer show too little about the spread of a mean


@dataclass(frozen=True, slots=True)
class JudgedMean:
    """Sums over unlabelled items' verdicts, from which their mean and standard error follow.

    Attributes
    ----------
    n : int
        Number of unlabelled items.
    total : float
        Sum of the judge's values.
    deviations : float
        Sum of the squared deviations from their mean. With sums of squares, rounding would destroy
        the variance of values far from 0.
    dispersion : float or None
        Variance of their mean relative to the same number of independent values, if items are
        grouped; None if their groups are not known.
    """

    n: int
    total: float
    deviations: float
    dispersion: float | None = None

    @classmethod
    def of(cls, values: FloatArray) -> JudgedMean:
        """Sum the judge's (N,) values."""
        if not values.size:
            return cls(0, 0.0, 0.0)
        return cls(len(values), float(values.sum()), float(((values - values.mean()) ** 2).sum()))

    @property
    def mean(self) -> float:
        """Mean of the judge's values."""
        return self.total / self.n

    @property
    def variance(self) -> float:
        """Variance of the judge's values, with N - 1 in the denominator."""
        return self.deviations / max(self.n - 1, 1)

    def plus(self, other: JudgedMean) -> JudgedMean:
        """Add the sums over other items.

        The groups of the combined items are no longer known, unless one side has no items.
        """
        if not self.n or not other.n:
            return self if self.n else other
        n, gap = self.n + other.n, other.mean - self.mean
        between = gap**2 * self.n * other.n / n
        deviations = self.deviations + other.deviations + between
        return JudgedMean(n, self.total + other.total, deviations)


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """Mean estimated from labels and a judge's verdicts together.

    Attributes
    ----------
    value, standard_error : float
        The mean and its standard error.
    freedom : int
        Degrees of freedom: the number of labelled items, or of their groups, minus one.
    weight : float
        Weight of the judge, lambda: 0 for only labels, 1 for its verdicts corrected by the labels.
    """

    value: float
    standard_error: float
    freedom: int
    weight: float

    def interval(self, level: float, n_judges: int = 1) -> tuple[float, float]:
        """Return the t interval, which is simultaneously valid for ``n_judges`` judges."""
        tail = (1.0 - level) / (2.0 * n_judges)
        reach = float(stdtrit(self.freedom, 1.0 - tail)) * self.standard_error
        return self.value - reach, self.value + reach


def powered_mean(
    labels: FloatArray,
    verdicts: FloatArray,
    judged: JudgedMean,
    *,
    bounds: tuple[float, float],
    groups: IntArray | None = None,
    weights: FloatArray | None = None,
    weight: float | None = None,
) -> PoweredMean | None:
    """Estimate the population's mean label.

    Parameters
    ----------
    labels : (n,) array
        Labels of the labelled items: a share of raters, or a mean score.
    verdicts : (n,) array
        The judge's values for the same items.
    judged : JudgedMean
        The judge's values for the unlabelled items.
    bounds : (low, high)
        Least and greatest label. The variance is at least what it would be with one more item at
        the end farther from the mean.
    groups : (n,) array of int, optional
        Group of each labelled item, if items in a group are similar.
    weights : (n,) array, optional
        Weights of the labelled items, e.g. inverse probabilities of being labelled.
    weight : float, optional
        Lambda; by default fitted on the other folds: Cov(label, verdict) / ((1 + n / N)
        Var(verdict)).

    Returns
    -------
    PoweredMean or None
        None with fewer than ten labelled items or groups.
    """
    n = len(labels)
    units = np.arange(n) if groups is None else groups
    n_units = len(np.unique(units))
    if n_units < MIN_UNITS:
        return None
    shares = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    if weight is None:
        lambdas = fitted_weights(labels, verdicts, judged, shares, units)
    else:
        lambdas = np.full(n, weight)
    mean_lambda = float(shares @ lambdas)
    value = float(shares @ (labels - lambdas * verdicts)) + mean_lambda * judged.mean
    residuals = shares * (labels - lambdas * (verdicts - judged.mean) - value)
    sums = np.bincount(np.unique(units, return_inverse=True)[1], weights=residuals)
    variance = float((sums**2).sum()) * n_units / (n_units - 1)
    farthest = max(value - bounds[0], bounds[1] - value)
    floor = (farthest / (n_units + 1)) ** 2 * n_units / (n_units + 1)
    of_judged = judged.variance / judged.n
    if judged.dispersion is not None:
        of_judged *= max(judged.dispersion, 1.0)
    elif groups is not None:  # unlabelled items are grouped in the same way
        of_judged *= design_effect(verdicts, groups)
    total = max(variance, floor) + mean_lambda**2 * of_judged
    return PoweredMean(value, sqrt(total), n_units - 1, mean_lambda)


def fitted_weights(
    labels: FloatArray,
    verdicts: FloatArray,
    judged: JudgedMean,
    shares: FloatArray,
    units: IntArray,
) -> FloatArray:
    """Fit the judge's weight for each item without the units in the item's fold."""
    _, place = np.unique(units, return_inverse=True)
    folds = place % N_FOLDS
    lambdas = np.empty(len(labels))
    for fold in range(N_FOLDS):
        held_out = folds == fold
        w = np.where(held_out, 0.0, shares)
        w = w / w.sum()
        centred = verdicts - w @ verdicts
        spread = float(w @ centred**2)
        covariance = float(w @ (centred * (labels - w @ labels)))
        ratio = (~held_out).sum() / judged.n
        lambdas[held_out] = covariance / ((1.0 + ratio) * spread) if spread > 0.0 else 0.0
    return np.clip(lambdas, -1.0, 1.0)
