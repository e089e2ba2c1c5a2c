"""Population mean scores by stratum, from labels with and without a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.estimation.bounded_mean import ScoreUnits
from harness.stats.estimation.effective_counts import verdict_dispersion
from harness.stats.estimation.prediction_powered import MIN_UNITS, fitted_weights
from harness.stats.estimation.stratified import (
    PopulationLimits,
    mover,
    reported,
    share_groups,
    shares_variance,
)
from harness.stats.inference.special_functions import ndtri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.estimation.prediction_powered import JudgedMean
    from harness.stats.estimation.stratified import PopulationStratum

Ends = tuple[float, float]
MANY = 20.0  # from this many values on, no single one dominates a spread


@dataclass(frozen=True, slots=True)
class _Scores:
    """Units of one stratum in one data set, and the possible scores of an extra unit."""

    sums: FloatArray
    sizes: FloatArray
    noise: float
    ends: Ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSums:
    """Labels and verdicts for a mean score, in each of S strata and R data sets.

    Attributes
    ----------
    alone_units, judge_units : tuple of tuple
        (S, R) units, without and with the judge.
    shares : (S, R) array
        Share of each stratum among the unlabelled items.
    n_items : (R,) array
        Unlabelled items.
    linked : bool
        Whether strata share groups of items.
    bounds : (low, high)
        Least and greatest score.
    """

    alone_units: tuple[tuple[_Scores, ...], ...]
    judge_units: tuple[tuple[_Scores, ...], ...]
    shares: FloatArray
    n_items: FloatArray
    linked: bool
    bounds: Ends

    @classmethod
    def of(cls, data_sets: Sequence[Sequence[PopulationStratum]], bounds: Ends) -> ScoreSums:
        """Compute the sums for data sets of the same design."""
        by_stratum = tuple(zip(*data_sets, strict=True))
        sizes = np.array([[float(s.n_items) for s in strata] for strata in by_stratum])
        return cls(
            alone_units=tuple(tuple(_alone(s, bounds) for s in own) for own in by_stratum),
            judge_units=tuple(tuple(_with_judge(s, bounds) for s in own) for own in by_stratum),
            shares=sizes / sizes.sum(axis=0),
            n_items=sizes.sum(axis=0),
            linked=share_groups(data_sets[0]),
            bounds=bounds,
        )

    def alone(self, level: float) -> PopulationLimits:
        """Return the mean from labels only."""
        return self._limits(self.alone_units, level, 1)

    def with_judge(self, level: float, n_judges: int) -> PopulationLimits:
        """Return the mean from labels and verdicts, adjusted for ``n_judges`` judges."""
        return self._limits(self.judge_units, level, n_judges)

    def reported(self, level: float, n_judges: int) -> tuple[PopulationLimits, BoolArray]:
        """Return the reported mean, and whether it uses the judge."""
        alone, both = self.alone(level), self.with_judge(level, n_judges)
        return reported(alone, both, both.width < alone.width)

    def _limits(
        self, units: tuple[tuple[_Scores, ...], ...], level: float, n_judges: int
    ) -> PopulationLimits:
        tail = (1.0 - level) / (2.0 * n_judges)
        found = np.array([_limits_of(own, tail) for own in units])
        values, low, high = found[:, 0], found[:, 1], found[:, 2]
        if len(units) > 1:
            squared = float(ndtri(1.0 - tail)) ** 2
            reach = squared * shares_variance(values, self.shares, self.n_items)
            low, high = mover(
                values, low, high, self.shares, shares_reach=reach, linked=self.linked
            )
            values = (self.shares * values).sum(axis=0)
        else:
            values, low, high = values[0], low[0], high[0]
        return PopulationLimits(*(np.clip(ends, *self.bounds) for ends in (values, low, high)))


def _limits_of(scores: Sequence[_Scores], tail: float) -> FloatArray:
    """Return a (3, R) array with a stratum's means, lower limits and upper limits."""
    widest = max(len(own.sums) for own in scores)

    def padded(values: FloatArray) -> FloatArray:
        return np.pad(values, (0, widest - len(values)))

    units = ScoreUnits(
        np.array([padded(own.sums) for own in scores]),
        np.array([padded(own.sizes) for own in scores]),
        np.array([own.noise for own in scores]),
    )
    low, high = (units.limit(np.array([own.ends[side] for own in scores]), tail) for side in (0, 1))
    return np.array([units.mean, low, high])


def _alone(stratum: PopulationStratum, bounds: Ends) -> _Scores:
    labelled = stratum.labelled
    return _by_unit(stratum, labelled.labels, 0.0, bounds)


def _with_judge(stratum: PopulationStratum, bounds: Ends) -> _Scores:
    """Correct labels with verdicts. The verdicts' weights are fitted on other labels.

    If few labels differ from the verdicts' predictions, the extra unit can have its label at one
    end of the scale and its verdict at the other.
    """
    labelled, judged = stratum.labelled, stratum.judged
    units = np.arange(len(labelled.labels)) if labelled.groups is None else labelled.groups
    if len(np.unique(units)) < MIN_UNITS:
        return _alone(stratum, bounds)
    weights = fitted_weights(labelled.labels, labelled.verdicts, judged, labelled.shares, units)
    values = labelled.labels - weights * (labelled.verdicts - judged.mean)
    weight = float(labelled.shares @ weights)
    ends = bounds
    if _n_behind_spread(values) < MANY:
        moves = [weight * (end - judged.mean) for end in bounds]
        ends = bounds[0] - max(moves), bounds[1] - min(moves)
    return _by_unit(stratum, values, weight**2 * _error(stratum), ends)


def _n_behind_spread(values: FloatArray) -> float:
    """Return the effective sample size for estimating a variance: n over the kurtosis."""
    squares = (values - values.mean()) ** 2
    fourths = float(squares @ squares)
    return float(squares.sum()) ** 2 / fourths if fourths > 0.0 else 0.0


def _error(stratum: PopulationStratum) -> float:
    """Return the variance of the unlabelled items' mean verdict."""
    judged: JudgedMean = stratum.judged
    return judged.variance / judged.n * verdict_dispersion(stratum.labelled, judged)


def _by_unit(stratum: PopulationStratum, values: FloatArray, noise: float, ends: Ends) -> _Scores:
    labelled = stratum.labelled
    sizes = labelled.shares
    sums = sizes * values
    if labelled.groups is not None:
        place = np.unique(labelled.groups, return_inverse=True)[1]
        sums = np.bincount(place, weights=sums).astype(np.float64)
        sizes = np.bincount(place, weights=sizes).astype(np.float64)
    return _Scores(sums, sizes, noise, ends)
