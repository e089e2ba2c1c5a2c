"""Number of rated items that an estimate needs for the wanted interval width."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.estimation.compared_systems import DIFFERENCE
from harness.estimation.value_differences import level_of_each
from harness.stats.estimation.difference_plan import plan_difference_labels
from harness.stats.estimation.label_plan import plan_labels
from harness.stats.estimation.prediction_powered import MIN_UNITS
from harness.stats.estimation.score_sums import ScoreSums
from harness.stats.estimation.stratified import ShareSums, n_units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.estimation.value_differences import ValueData
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.estimation.label_plan import LabelPlan
    from harness.stats.estimation.stratified import PopulationLimits, PopulationStratum

    DataSets = Sequence[Sequence[PopulationStratum]]

SEED = 0  # of planned labels: the same data lead to the same plan
SHARE = (0.0, 1.0)


def limits(
    data_sets: DataSets, bounds: tuple[float, float], level: float, n_judges: int, *, is_share: bool
) -> tuple[PopulationLimits, BoolArray]:
    """Return each data set's reported interval, and a mask of the intervals that use the judge."""
    sums = ShareSums.of(data_sets) if is_share else ScoreSums.of(data_sets, bounds)
    return sums.reported(level, n_judges)


def labels_for_mean(
    strata: Sequence[PopulationStratum],
    width: float,
    bounds: tuple[float, float],
    level: float,
    n_judges: int,
    *,
    is_share: bool,
) -> LabelPlan | None:
    """Plan the number of labels at which the mean's interval is likely narrow enough.

    Return None if there are too few labels for planning.
    """
    if n_units(strata) < MIN_UNITS:
        return None

    def widths(data_sets: DataSets) -> FloatArray:
        return limits(data_sets, bounds, level, n_judges, is_share=is_share)[0].width

    return plan_labels(strata, width, widths, bounds=bounds, rng=np.random.default_rng(SEED))


def labels_for_differences(
    values: Sequence[ValueData],
    width: float,
    bounds: tuple[float, float],
    level: float,
    n_judges: int,
    *,
    is_share: bool,
) -> LabelPlan | None:
    """Plan the number of labels at which all differences' intervals are likely narrow enough.

    Return None for fewer than two values.
    """
    n = len(values)
    if n < 2 or min(n_units([value.stratum]) for value in values) < MIN_UNITS:  # noqa: PLR2004 -- a pair
        return None
    each = level_of_each(level, n * (n - 1) // 2)
    means = partial(limits, bounds=bounds, level=each, n_judges=n_judges, is_share=is_share)
    rng = np.random.default_rng(SEED)
    prompted = [value.prompted for value in values]
    return plan_difference_labels(prompted, width, means, bounds=bounds, rng=rng)


def labels_for_pairs(
    strata: Sequence[PopulationStratum], width: float, level: float, n_judges: int
) -> LabelPlan | None:
    """Plan the number of rated comparisons at which all intervals are likely narrow enough.

    Return None if there is no pair of systems.
    """
    if not strata:
        return None
    each = level_of_each(level, len(strata))

    def widest(data_sets: DataSets) -> FloatArray:
        by_pair = zip(*data_sets, strict=True)
        found = [
            limits([[own] for own in pair], DIFFERENCE, each, n_judges, is_share=False)[0]
            for pair in by_pair
        ]
        return np.asarray(np.max([own.width for own in found], axis=0), dtype=np.float64)

    return plan_labels(strata, width, widest, bounds=DIFFERENCE, rng=np.random.default_rng(SEED))
