"""Differences between the means for a field's values, such as systems."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

from harness.stats.estimation.difference_plan import PromptedStratum
from harness.stats.estimation.mean_differences import (
    JudgedPrompts,
    PromptSums,
    mean_difference,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.estimation.judged_items import JudgedItems
    from harness.stats.estimation.population import Bounded, PopulationMean
    from harness.stats.estimation.stratified import PopulationStratum
    from harness.tasks import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDifference:
    """The mean for one value of a field minus the mean for another.

    Attributes
    ----------
    first, second : str
        The two values. The difference is the second value's mean minus the first value's mean.
    estimate : Bounded
        The difference, with an interval that is simultaneous with all other differences' intervals.
    n_rated : int
        Number of rated items for both values.
    n_shared : int
        Number of prompts (groups) with rated items for both values.
    """

    first: str
    second: str
    estimate: Bounded
    n_rated: int
    n_shared: int


class MeanAt(Protocol):
    """Function that estimates a stratum's mean with an interval at a confidence level."""

    def __call__(self, stratum: PopulationStratum, level: float) -> PopulationMean:
        """Return the mean with its interval."""


@dataclass(frozen=True, slots=True)
class ValueData:
    """Rated and unlabelled items with one value of a field.

    Attributes
    ----------
    stratum : PopulationStratum
        Rated and unlabelled items, with a value for every item.
    items : sequence of Item
        The rated items.
    judged : JudgedItems
        The unlabelled items.
    unanswered : float
        Value for an unlabelled item without a usable answer.
    """

    stratum: PopulationStratum
    items: Sequence[Item]
    judged: JudgedItems
    unanswered: float

    @property
    def prompted(self) -> PromptedStratum:
        """Labels and verdicts grouped by prompt."""
        judged = self.stratum.judged
        totals = {
            prompt: (int(n + missing), total + missing * self.unanswered)
            for prompt, (n, total, missing) in self.judged.by_group.items()
        }
        return PromptedStratum(
            self.stratum,
            tuple(
                f"g{item.group}" if item.group is not None else f"i{item.id}" for item in self.items
            ),
            JudgedPrompts(
                judged.n,
                judged.mean,
                judged.deviations / max(judged.n, 1),
                {f"g{prompt}": sums for prompt, sums in totals.items()},
            ),
        )

    def sums(self, mean: PopulationMean) -> PromptSums:
        """Return each prompt's contribution to the mean."""
        own, uses_judge = self.prompted, mean.method != "labels_alone"
        return PromptSums.of(self.stratum.labelled, own.prompts, own.judged, uses_judge=uses_judge)


def level_of_each(level: float, n: int) -> float:
    """Return the level for each of n intervals at which all n have the simultaneous ``level``."""
    return 1.0 - (1.0 - level) / max(n, 1)


def value_differences(
    values: Mapping[str, ValueData], mean_at: MeanAt, bounds: tuple[float, float], level: float
) -> tuple[ValueDifference, ...]:
    """Estimate all pairwise differences between values, with simultaneous (Bonferroni) intervals.

    Parameters
    ----------
    values : mapping of str to ValueData
        Data by value, in the order of the values.
    mean_at : MeanAt
        Function that estimates the mean for each value.
    bounds : (low, high)
        Lowest and highest possible mean.
    level : float
        Probability that all intervals contain their differences.
    """
    pairs = list(combinations(values, 2))
    if not pairs:
        return ()
    each = level_of_each(level, len(pairs))
    means = {name: mean_at(value.stratum, each) for name, value in values.items()}
    sums = {name: value.sums(means[name]) for name, value in values.items()}
    differences = []
    for first, second in pairs:
        one, other = means[first].estimate, means[second].estimate
        if one is None or other is None or one.value is None or other.value is None:
            continue
        shared = sums[first].labelled.keys() & sums[second].labelled.keys()
        differences.append(
            ValueDifference(
                first=first,
                second=second,
                estimate=mean_difference(one, other, bounds, sums[first].correlation(sums[second])),
                n_rated=len(values[first].items) + len(values[second].items),
                n_shared=len(shared),
            )
        )
    return tuple(differences)
