"""Intervals for a mean over strata, combined from one interval per stratum.

Zou and Donner, Construction of confidence limits about effect measures: a general approach
(Statistics in Medicine 2008): the method of variance estimates recovery, MOVER. Each stratum's
limits determine its mean's possible distance on each side, so that a rare stratum keeps its
skewness.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import reduce
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.stats.estimation.effective_counts import (
    Labelled,
    effective_counts,
    effective_number,
    freedom,
    two_phase_counts,
)
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.two_phase import (
    DISCRETENESS,
    TwoPhaseCounts,
    share_interval,
    squared_critical,
    two_phase_interval,
)
from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class PopulationStratum:
    """A stratum's labelled items, and the judge's verdicts on its unlabelled items.

    Attributes
    ----------
    labelled : Labelled
        Labelled items; weights, if any, apply within the stratum.
    judged : JudgedMean
        Its unlabelled items.
    size : int or None
        Number of items that determines the stratum's share; None means its unlabelled items.
    """

    labelled: Labelled
    judged: JudgedMean
    size: int | None = None

    @property
    def n_items(self) -> int:
        """Number of items that determines the stratum's share of the population."""
        return self.judged.n if self.size is None else self.size


@dataclass(frozen=True, slots=True)
class PopulationLimits:
    """A share or mean score with its interval, for each of R data sets.

    Attributes
    ----------
    value, low, high : (R,) arrays
        The mean and the ends of its interval.
    """

    value: FloatArray
    low: Annotated[FloatArray, MadeBy("prediction-powered")]
    high: Annotated[FloatArray, MadeBy("prediction-powered")]

    @property
    def width(self) -> FloatArray:
        """Widths of the intervals, as an (R,) array."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSums:
    """Labels and verdicts for a share, in each of S strata and R data sets.

    Attributes
    ----------
    counts : TwoPhaseCounts
        (S, R) effective counts; see `effective_counts`.
    likely : (S, R) array
        Most likely share.
    mean, n_alone : (S, R) arrays
        Share from only the labels, and the equivalent number of independent labels.
    freedom : tuple of int or None
        Degrees of freedom of each stratum; see `freedom`.
    shares : (S, R) array
        Share of each stratum among the unlabelled items.
    n_items : (R,) array
        Unlabelled items.
    linked : bool
        Whether strata share groups of items.
    """

    counts: TwoPhaseCounts
    likely: FloatArray
    mean: FloatArray
    n_alone: FloatArray
    freedom: tuple[int | None, ...]
    shares: FloatArray
    n_items: FloatArray
    linked: bool

    @classmethod
    def of(cls, data_sets: Sequence[Sequence[PopulationStratum]]) -> ShareSums:
        """Compute the sums for data sets of the same design. Without strata, pass one stratum."""
        cells, likely, mean, n_alone = [], [], [], []
        for strata in data_sets:
            effective = [effective_counts(s.labelled, s.judged) for s in strata]
            cells.append([astuple(counts) for counts in effective])
            likely.append([_most_likely(*pair) for pair in zip(strata, effective, strict=True)])
            mean.append([float(s.labelled.shares @ s.labelled.labels) for s in strata])
            n_alone.append([effective_number(s.labelled) for s in strata])
        design = data_sets[0]
        sizes = np.array([[float(s.n_items) for s in strata] for strata in data_sets]).T
        return cls(
            counts=TwoPhaseCounts(*np.array(cells)[..., 0].transpose(2, 1, 0)),
            likely=np.array(likely).T,
            mean=np.array(mean).T,
            n_alone=np.array(n_alone).T,
            freedom=tuple(freedom(s.labelled) for s in design),
            shares=sizes / sizes.sum(axis=0),
            n_items=sizes.sum(axis=0),
            linked=share_groups(design),
        )

    def of_stratum(self, place: int) -> TwoPhaseCounts:
        """Return the counts of one stratum in each of R data sets."""
        return TwoPhaseCounts(*(cell[place] for cell in astuple(self.counts)))

    def alone(self, level: float) -> PopulationLimits:
        """Return the share from labels only."""
        ends = share_interval(self.mean * self.n_alone, self.n_alone, self._critical(level, 1))
        return self._over_strata(self.mean, ends, level, 1)

    def with_judge(self, level: float, n_judges: int) -> PopulationLimits:
        """Return the share from labels and verdicts, adjusted for ``n_judges`` judges."""
        ends = two_phase_interval(self.counts, self._critical(level, n_judges))
        return self._over_strata(self.likely, ends, level, n_judges)

    def reported(self, level: float, n_judges: int) -> tuple[PopulationLimits, BoolArray]:
        """Return the reported share, and whether it uses the judge."""
        alone, both = self.alone(level), self.with_judge(level, n_judges)
        return reported(alone, both, helps(alone, both, n_judges))

    def _critical(self, level: float, n_judges: int) -> FloatArray:
        return np.array([[squared_critical(level, n_judges, freedom=f)] for f in self.freedom])

    def _over_strata(
        self,
        values: FloatArray,
        ends: tuple[FloatArray, FloatArray],
        level: float,
        n_judges: int,
    ) -> PopulationLimits:
        if len(values) == 1:
            return PopulationLimits(values[0], ends[0][0], ends[1][0])
        critical = squared_critical(level, n_judges) / DISCRETENESS
        reach = critical * shares_variance(values, self.shares, self.n_items)
        low, high = mover(values, *ends, self.shares, shares_reach=reach, linked=self.linked)
        mean = (self.shares * values).sum(axis=0)
        return PopulationLimits(mean, np.maximum(low, 0.0), np.minimum(high, 1.0))


def helps(alone: PopulationLimits, both: PopulationLimits, n_judges: int) -> BoolArray:
    """Return whether to report the share that also uses the judge's verdicts.

    It is reported unless the judge was selected from several and its interval is not narrower than
    the interval from only the labels. For a selected judge, the interval is simultaneously valid
    for all judges.
    """
    return np.asarray((n_judges == 1) | (both.width < alone.width))


def reported(
    alone: PopulationLimits, both: PopulationLimits, by_judge: BoolArray
) -> tuple[PopulationLimits, BoolArray]:
    """Select the limits with or without the judge, and return them with that selection."""
    pairs = zip(astuple(both), astuple(alone), strict=True)
    return PopulationLimits(*(np.where(by_judge, *pair) for pair in pairs)), by_judge


def _most_likely(stratum: PopulationStratum, effective: TwoPhaseCounts) -> float:
    labelled, judged = stratum.labelled, stratum.judged
    counts = two_phase_counts(labelled, judged) if labelled.independent else effective
    return float(counts.estimate[0])


def mover(
    values: FloatArray,
    low: FloatArray,
    high: FloatArray,
    shares: FloatArray,
    *,
    shares_reach: FloatArray | float = 0.0,
    linked: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Combine each stratum's limits into limits for the mean over strata.

    Parameters
    ----------
    values, low, high : (S, ...) arrays
        Mean of each stratum, with its limits.
    shares : (S, ...) array
        Share of each stratum in the population.
    shares_reach : float, optional
        Squared half-width of an interval for the contribution of the strata's shares; see
        `shares_variance`.
    linked : bool, optional
        Whether strata share groups of items. Their errors can then be identical, so half-widths are
        added, not their squares.

    Examples
    --------
    >>> low, high = np.array([0.0, 0.4]), np.array([0.1, 0.6])
    >>> ends = mover(np.array([0.0, 0.5]), low, high, np.array([0.98, 0.02]))
    >>> [round(float(end), 3) for end in ends]
    [0.008, 0.108]
    """
    mean = (shares * values).sum(axis=0)
    below, above = shares * (values - low), shares * (high - values)
    if linked:
        reaches = below.sum(axis=0) ** 2, above.sum(axis=0) ** 2
    else:
        reaches = (below**2).sum(axis=0), (above**2).sum(axis=0)
    return mean - np.sqrt(reaches[0] + shares_reach), mean + np.sqrt(reaches[1] + shares_reach)


def shares_variance(
    values: FloatArray, shares: FloatArray, n_items: FloatArray | float
) -> FloatArray:
    """Return the variance in the mean over strata that comes from estimating the strata's shares.

    Parameters
    ----------
    values, shares : (S, ...) arrays
        Mean and share of each stratum.
    n_items : float or array
        Number of unlabelled items, from which the shares of strata are estimated.
    """
    mean = (shares * values).sum(axis=0)
    return np.asarray((shares * (values - mean) ** 2).sum(axis=0) / n_items)


def share_groups(strata: Sequence[PopulationStratum]) -> bool:
    """Return whether any group has items in several strata."""
    owned = [np.unique(s.labelled.groups) for s in strata if s.labelled.groups is not None]
    n_groups = len(np.unique(np.concatenate(owned))) if owned else 0
    return sum(map(len, owned)) > n_groups


def n_units(strata: Sequence[PopulationStratum]) -> int:
    """Count labelled items, or groups of them if they are grouped."""
    return sum(
        len(s.labelled.labels if s.labelled.groups is None else np.unique(s.labelled.groups))
        for s in strata
    )


def all_verdicts(strata: Sequence[PopulationStratum]) -> JudgedMean:
    """Sum the unlabelled items' verdicts over all strata."""
    return reduce(JudgedMean.plus, (stratum.judged for stratum in strata))
