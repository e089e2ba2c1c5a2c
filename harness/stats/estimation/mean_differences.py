"""Differences between systems' means, each corrected with that system's own labels.

Each mean has a separate interval, from that system's labels and the judge's verdicts on it, so that
a judge's preference for a system is corrected for that system. The interval of a difference joins
both (the method of variance estimates recovery: Zou and Donner, Construction of confidence limits
about effect measures, Statistics in Medicine 2008, with its term for correlated estimates).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import sqrt
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.estimation.population import Bounded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.stats.data.arrays import FloatArray
    from harness.stats.estimation.effective_counts import Labelled

MIN_SHARED = 10  # rated prompts of both systems; with fewer, they aren't paired


@dataclass(frozen=True, slots=True)
class JudgedPrompts:
    """A judge's verdicts on unlabelled items.

    Attributes
    ----------
    n : int
        Number of items.
    mean, variance : float
        Mean and variance of their verdicts.
    totals : mapping of str to (int, float)
        Number of items and sum of their verdicts, by prompt.
    """

    n: int
    mean: float
    variance: float
    totals: Mapping[str, tuple[int, float]]

    def deviation(self, prompt: str) -> float:
        """Return the sum of a prompt's verdicts minus their number times the mean verdict."""
        count, total = self.totals[prompt]
        return total - count * self.mean


@dataclass(frozen=True, slots=True)
class PromptSums:
    """Each prompt's contribution to a system's mean.

    Attributes
    ----------
    labelled : mapping of str to float
        For each prompt with labels, the deviation of the label minus the part that verdicts
        explain, summed over its items with their shares of all labelled items.
    unlabelled : mapping of str to float
        The same sum for verdicts on unlabelled items, times the slope.
    variance : float
        Variance of the mean.
    """

    labelled: Mapping[str, float]
    unlabelled: Mapping[str, float]
    variance: float

    @classmethod
    def of(
        cls,
        labelled: Labelled,
        prompts: Sequence[str],
        judged: JudgedPrompts,
        *,
        uses_judge: bool,
    ) -> Self:
        """Compute the sums for a system.

        Parameters
        ----------
        labelled : Labelled
            (n,) labels and verdicts.
        prompts : (n,) sequence of str
            Prompt of each labelled item.
        judged : JudgedPrompts
            Verdicts on unlabelled items.
        uses_judge : bool
            Whether the system's mean uses labels and verdicts; otherwise only labels.
        """
        slope = power_slope(labelled, judged) if uses_judge else 0.0
        residuals = labelled.labels - slope * labelled.verdicts
        deviations = residuals - labelled.shares @ residuals
        of_labels = _sums(labelled.shares * deviations, prompts)
        share = slope / max(judged.n, 1)
        of_judged = {prompt: share * judged.deviation(prompt) for prompt in judged.totals}
        in_prompts = sum(count for count, _ in judged.totals.values())
        alone = share**2 * judged.variance * (judged.n - in_prompts)
        squares = sum(value**2 for value in chain(of_labels.values(), of_judged.values()))
        return cls(of_labels, of_judged, squares + alone)

    def correlation(self, other: PromptSums) -> float:
        """Return the correlation between two systems' means, which share prompts, in [0, 1].

        It is the estimate minus one standard error, and 0 with fewer than ten rated prompts that
        both answered.
        """
        covariance = _products(self.labelled, other.labelled)
        covariance += _products(self.unlabelled, other.unlabelled)
        shared = len(self.labelled.keys() & other.labelled.keys())
        return shrunk_correlation(covariance, (self.variance, other.variance), shared)


def shrunk_correlation(covariance: float, variances: tuple[float, float], n_shared: int) -> float:
    """Return a correlation minus its standard error, limited to [0, 1].

    It is 0 with fewer than ten rated prompts that both systems answered.
    """
    if n_shared < MIN_SHARED or min(variances) <= 0.0:
        return 0.0
    estimate = covariance / sqrt(variances[0] * variances[1])
    return min(max(estimate - (1.0 - estimate**2) / sqrt(n_shared), 0.0), 1.0)


def power_slope(labelled: Labelled, judged: JudgedPrompts) -> float:
    """Return the multiple of the verdict that, subtracted from the label, minimises the variance.

    It is the covariance of labels and verdicts divided by the variance of verdicts, times N / (n +
    N) (Angelopoulos, Duchi and Zrnic, PPI++, 2023).
    """
    verdicts = labelled.verdicts - labelled.verdicts.mean()
    spread = float(verdicts @ verdicts)
    if not spread:
        return 0.0
    return float(verdicts @ labelled.labels) / spread * judged.n / (judged.n + len(verdicts))


def _sums(values: FloatArray, prompts: Sequence[str]) -> dict[str, float]:
    """Sum the values for each prompt."""
    sums: dict[str, float] = {}
    for prompt, value in zip(prompts, values.tolist(), strict=True):
        sums[prompt] = sums.get(prompt, 0.0) + value
    return sums


def _products(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    return sum(first[prompt] * second[prompt] for prompt in first.keys() & second.keys())


def mean_difference(
    first: Bounded, second: Bounded, bounds: tuple[float, float], correlation: float = 0.0
) -> Bounded:
    """Return the second mean minus the first, with an interval.

    Parameters
    ----------
    first, second : Bounded
        Means with intervals at the level wanted for the difference.
    bounds : (low, high)
        Least and greatest value of a mean.
    correlation : float in [0, 1], optional
        Correlation of the two means; see `PromptSums.correlation`.

    Raises
    ------
    ValueError
        If a mean has no value, only an interval.

    Examples
    --------
    >>> found = mean_difference(Bounded(0.5, 0.4, 0.6), Bounded(0.7, 0.6, 0.8), (0.0, 1.0))
    >>> round(found.value, 2), round(found.low, 3), round(found.high, 3)
    (0.2, 0.059, 0.341)
    """
    if first.value is None or second.value is None:
        raise ValueError("a mean has no value, only an interval")
    value = second.value - first.value
    below = _reach(second.value - second.low, first.high - first.value, correlation)
    above = _reach(second.high - second.value, first.value - first.low, correlation)
    range_ = bounds[1] - bounds[0]
    return Bounded(value, max(value - below, -range_), min(value + above, range_))


def _reach(one: float, other: float, correlation: float) -> float:
    return float(np.sqrt(max(one**2 + other**2 - 2.0 * correlation * one * other, 0.0)))
