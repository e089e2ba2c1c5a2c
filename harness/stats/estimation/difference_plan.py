"""Number of labels needed for differences between systems, found by simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.label_plan import UNSEEN, drawn_rows, least_labels, scaled
from harness.stats.estimation.mean_differences import (
    JudgedPrompts,
    mean_difference,
    power_slope,
    shrunk_correlation,
)
from harness.stats.estimation.population import Bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.estimation.label_plan import LabelPlan
    from harness.stats.estimation.stratified import PopulationLimits, PopulationStratum

    Means = Callable[[Sequence[Sequence[PopulationStratum]]], tuple[PopulationLimits, BoolArray]]


@dataclass(frozen=True, slots=True)
class PromptedStratum:
    """A system's labels and verdicts, with the prompt of each.

    Attributes
    ----------
    stratum : PopulationStratum
        Labels and verdicts.
    prompts : (n,) tuple of str
        Prompt of each labelled item.
    judged : JudgedPrompts
        Verdicts on unlabelled items.
    """

    stratum: PopulationStratum
    prompts: tuple[str, ...]
    judged: JudgedPrompts


def plan_difference_labels(
    systems: Sequence[PromptedStratum],
    width: float,
    means: Means,
    *,
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> LabelPlan:
    """Return how many labels are probably needed for a target width of all differences' intervals.

    Parameters
    ----------
    systems : sequence of PromptedStratum
        Labels so far. More labels are spread over prompts and systems like these.
    width : float
        Wanted width of the widest interval.
    means : function
        Returns the limits that will be reported for a system's mean in data sets, at the level of a
        difference, and whether each uses the judge.
    bounds : (low, high)
        Least and greatest label.
    rng : Generator
        Generator for the draws.

    Notes
    -----
    This works like `plan_labels`, which plans for one mean. Future prompts are drawn from the
    labelled ones by the Bayesian bootstrap, with the labels of all systems that answered them. The
    means therefore keep their correlation.
    """
    rows = _Rows.of(systems)
    n_now = len(rows.system)
    n_items = n_now + sum(own.stratum.judged.n for own in systems)
    seed = int(rng.integers(2**63))

    def simulated(n: int, n_data_sets: int) -> FloatArray:
        draws = np.random.default_rng([seed, n])
        grown = [rows.grown(n - n_now, bounds, draws) for _ in range(n_data_sets)]
        return _widest(systems, grown, means, bounds)

    now = float(_widest(systems, [rows.grown(0, bounds, rng)], means, bounds)[0])
    return least_labels(simulated, width, now, n_now, n_items)


@dataclass(frozen=True, slots=True)
class _Grown:
    """A system's labels in a simulated data set, with each label's prompt number."""

    stratum: PopulationStratum
    units: IntArray


@dataclass(frozen=True, slots=True)
class _Rows:
    """The labels of all systems, stacked.

    Attributes
    ----------
    systems : sequence of PromptedStratum
        The systems.
    system, unit : (n,) int arrays
        Index of each label's system, and number of its prompt.
    labels, verdicts : (n,) arrays
        Labels and verdicts of all systems.
    """

    systems: Sequence[PromptedStratum]
    system: IntArray
    unit: IntArray
    labels: FloatArray
    verdicts: FloatArray

    @classmethod
    def of(cls, systems: Sequence[PromptedStratum]) -> _Rows:
        labelled = [own.stratum.labelled for own in systems]
        prompts = [prompt for own in systems for prompt in own.prompts]
        return cls(
            systems,
            np.repeat(np.arange(len(systems)), [len(own.labels) for own in labelled]),
            np.unique(np.array(prompts), return_inverse=True)[1],
            np.concatenate([own.labels for own in labelled]),
            np.concatenate([own.verdicts for own in labelled]),
        )

    def grown(
        self, n_more: int, bounds: tuple[float, float], rng: np.random.Generator
    ) -> list[_Grown]:
        """Add labels, drawn by prompt, and return all labels of each system."""
        ends = np.array(list(product(bounds, bounds)))
        n_systems, n_units = len(self.systems), int(self.unit.max()) + 1
        system = np.concatenate([self.system, np.arange(n_systems).repeat(len(ends))])
        labels = np.concatenate([self.labels, np.tile(ends[:, 0], n_systems)])
        verdicts = np.concatenate([self.verdicts, np.tile(ends[:, 1], n_systems)])
        units = np.concatenate([self.unit, n_units + np.arange(n_systems * len(ends))])
        kept, unit = np.arange(len(self.system)), self.unit
        if n_more:
            chances = rng.dirichlet([1.0] * n_units + [UNSEEN] * (n_systems * len(ends)))
            rows, new = drawn_rows(units, chances, n_more, rng)
            kept, unit = np.concatenate([kept, rows]), np.concatenate([unit, n_units + new])
        grown = []
        for place, own in enumerate(self.systems):
            mine = system[kept] == place
            grown.append(_with(own, labels[kept][mine], verdicts[kept][mine], unit[mine]))
        return grown


def _with(
    own: PromptedStratum, labels: FloatArray, verdicts: FloatArray, units: IntArray
) -> _Grown:
    """Return a system with these labels and correspondingly fewer unlabelled items."""
    stratum = own.stratum
    left = max(stratum.judged.n - (len(labels) - len(stratum.labelled.labels)), 1)
    weights = stratum.labelled.weights
    if weights is not None:
        more = np.full(len(labels) - len(weights), weights.mean())
        weights = np.concatenate([weights, more])
    is_grouped = stratum.labelled.groups is not None
    labelled = Labelled(labels, verdicts, groups=units if is_grouped else None, weights=weights)
    judged = scaled(stratum.judged, left)
    return _Grown(replace(stratum, labelled=labelled, judged=judged, size=stratum.n_items), units)


def _widest(
    systems: Sequence[PromptedStratum],
    data_sets: Sequence[Sequence[_Grown]],
    means: Means,
    bounds: tuple[float, float],
) -> FloatArray:
    """Return the width of the widest interval for a difference in each data set."""
    limits, by_judge = [], []
    for place in range(len(systems)):
        found, uses_judge = means([[grown[place].stratum] for grown in data_sets])
        limits.append(found)
        by_judge.append(uses_judge)
    pairs = list(combinations(range(len(systems)), 2))
    unlabelled = {pair: _unlabelled(*(systems[place].judged for place in pair)) for pair in pairs}
    alone = [_alone(own.judged) for own in systems]
    widths = []
    for row, grown in enumerate(data_sets):
        bounded = [
            Bounded(float(own.value[row]), float(own.low[row]), float(own.high[row]))
            for own in limits
        ]
        added = [
            _Added.of(own, full.judged, variance, uses_judge=bool(uses[row]))
            for own, full, variance, uses in zip(grown, systems, alone, by_judge, strict=True)
        ]
        widths.append(
            max(
                mean_difference(
                    bounded[a], bounded[b], bounds, added[a].correlation(added[b], unlabelled[a, b])
                ).width
                for a, b in pairs
            )
        )
    return np.array(widths)


@dataclass(frozen=True, slots=True)
class _Added:
    """Contributions of prompts to a system's mean, as in `PromptSums`, ordered by prompt number.

    Attributes
    ----------
    labelled : (u,) array
        Contribution of each prompt with labels.
    has_labels : (u,) bool array
        Whether each prompt has labels.
    slope : float
        Multiple of a verdict that is subtracted.
    left : float
        Share of the unlabelled items that stay unlabelled.
    variance : float
        Variance of the mean.
    """

    labelled: FloatArray
    has_labels: BoolArray
    slope: float
    left: float
    variance: float

    @classmethod
    def of(
        cls, grown: _Grown, judged: JudgedPrompts, unlabelled: float, *, uses_judge: bool
    ) -> _Added:
        own = grown.stratum.labelled
        now = replace(judged, n=grown.stratum.judged.n)
        slope = power_slope(own, now) if uses_judge else 0.0
        residuals = own.labels - slope * own.verdicts
        added = own.shares * (residuals - own.shares @ residuals)
        labelled = np.bincount(grown.units, weights=added).astype(np.float64)
        left = now.n / max(judged.n, 1)
        variance = float(labelled @ labelled) + slope**2 * unlabelled / left
        return cls(labelled, np.bincount(grown.units) > 0, slope, left, variance)

    def correlation(self, other: _Added, unlabelled: float) -> float:
        """Return the correlation between two means, as in `PromptSums.correlation`."""
        n = min(len(self.labelled), len(other.labelled))
        shared = int((self.has_labels[:n] & other.has_labels[:n]).sum())
        covariance = float(self.labelled[:n] @ other.labelled[:n])
        covariance += self.slope * other.slope * unlabelled / np.sqrt(self.left * other.left)
        return shrunk_correlation(covariance, (self.variance, other.variance), shared)


def _unlabelled(first: JudgedPrompts, second: JudgedPrompts) -> float:
    """Return the covariance of two systems' mean verdicts on shared prompts."""
    shared = first.totals.keys() & second.totals.keys()
    products = (first.deviation(prompt) * second.deviation(prompt) for prompt in shared)
    return sum(products) / (max(first.n, 1) * max(second.n, 1))


def _alone(judged: JudgedPrompts) -> float:
    """Return the variance of a system's mean verdict."""
    in_prompts = sum(count for count, _ in judged.totals.values())
    squares = sum(judged.deviation(prompt) ** 2 for prompt in judged.totals)
    return (squares + judged.variance * (judged.n - in_prompts)) / max(judged.n, 1) ** 2
