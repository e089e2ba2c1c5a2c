"""Number of labels needed for an interval of a target width, from simulated reports."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.estimation.effective_counts import Labelled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.estimation.prediction_powered import JudgedMean
    from harness.stats.estimation.stratified import PopulationStratum

    DataSet = Sequence[PopulationStratum]
    Widths = Callable[[Sequence[DataSet]], FloatArray]

WANTED_CHANCE = 0.8
N_SEARCHED = 100  # data sets per number during the search
N_CONFIRMED = 400  # data sets for the reported number
STEP = 1.05  # factor to a larger number, if the reported number's probability is too small
UNSEEN = 0.25  # weight of each combination of extreme label and verdict, in units


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """Number of labels that probably suffice for an interval of a target width.

    Attributes
    ----------
    n_now : int
        Labelled items.
    n : int or None
        Labelled items, including existing ones; None if labelling all items is not enough.
    chance : float
        Simulated probability that the interval then has the wanted width; if ``n`` is None, with
        all items labelled.
    n_items : int
        Items that are labelled or can be labelled.
    least_width : float
        Width that is reached with the wanted probability if all items are labelled.
    """

    n_now: int
    n: int | None
    chance: float
    n_items: int
    least_width: float


def plan_labels(
    strata: DataSet,
    width: float,
    widths: Widths,
    *,
    bounds: tuple[float, float],
    rng: np.random.Generator,
) -> LabelPlan:
    """Return how many labels are probably needed for an interval of a target width.

    Parameters
    ----------
    strata : sequence of PopulationStratum
        Labels so far. Future labels are distributed over strata like these.
    width : float
        Wanted width.
    widths : function
        Returns the widths of the intervals that will be reported for data sets.
    bounds : (low, high)
        Least and greatest label.
    rng : Generator
        Generator for the draws.

    Notes
    -----
    Future labels are drawn from the labels so far by the Bayesian bootstrap (Rubin, Annals of
    Statistics 1981), so that the probability accounts for what few labels do not show. Each
    combination of an extreme label and an extreme verdict counts for an extra quarter of a unit,
    because it can be rare. The plan is the smallest number with a probability of at least 80 %.
    """
    n_now = sum(len(stratum.labelled.labels) for stratum in strata)
    n_items = n_now + sum(_n_to_label(stratum) for stratum in strata)
    seed = int(rng.integers(2**63))

    def simulated(n: int, n_data_sets: int) -> FloatArray:
        draws = np.random.default_rng([seed, n])
        return widths([_grown(strata, n, bounds, draws) for _ in range(n_data_sets)])

    return least_labels(simulated, width, float(widths([strata])[0]), n_now, n_items)


def least_labels(
    simulated: Callable[[int, int], FloatArray],
    width: float,
    width_now: float,
    n_now: int,
    n_items: int,
) -> LabelPlan:
    """Return the smallest number of labels that probably suffices for a target width.

    Parameters
    ----------
    simulated : function
        Returns the widths at a number of labels, for a number of data sets.
    width, width_now : float
        Wanted width, and current width.
    n_now, n_items : int
        Number of labelled items, and of items that are or can be labelled.
    """

    def chance(n: int, n_data_sets: int) -> float:
        return float((simulated(n, n_data_sets) <= width).mean())

    least = float(np.quantile(simulated(n_items, N_SEARCHED), WANTED_CHANCE))
    if width_now <= width:
        return LabelPlan(n_now, n_now, 1.0, n_items, least)
    low, high = n_now, n_items
    while high > max(low + 1, STEP * low):
        middle = round((low * high) ** 0.5)
        enough = chance(middle, N_SEARCHED) >= WANTED_CHANCE
        low, high = (low, middle) if enough else (middle, high)
    n, found = high, chance(high, N_CONFIRMED)
    while found < WANTED_CHANCE and n < n_items:
        n = min(max(n + 1, round(STEP * n)), n_items)
        found = chance(n, N_CONFIRMED)
    return LabelPlan(n_now, n if found >= WANTED_CHANCE else None, found, n_items, least)


def _n_to_label(stratum: PopulationStratum) -> int:
    """Return how many unlabelled items labels can still be drawn from, given the weights."""
    n_drawn = 0 if stratum.labelled.weights is None else len(stratum.labelled.labels)
    return max(stratum.judged.n - n_drawn, 0)


def _grown(
    strata: DataSet, n: int, bounds: tuple[float, float], rng: np.random.Generator
) -> list[PopulationStratum]:
    """Draw future labels until there are n labels in total."""
    n_now = sum(len(stratum.labelled.labels) for stratum in strata)
    grown = []
    for stratum in strata:
        wanted = round(len(stratum.labelled.labels) * (n - n_now) / n_now)
        n_more = min(wanted, _n_to_label(stratum))
        labelled = _with_more(stratum.labelled, n_more, bounds, rng)
        left = stratum.judged.n
        if stratum.labelled.weights is None:
            left = max(left - n_more, 1)
        judged = scaled(stratum.judged, left)
        grown.append(replace(stratum, labelled=labelled, judged=judged, size=stratum.n_items))
    return grown


def scaled(judged: JudgedMean, n: int) -> JudgedMean:
    """Scale sums to n items."""
    part = n / judged.n
    return replace(judged, n=n, total=part * judged.total, deviations=part * judged.deviations)


def _with_more(
    labelled: Labelled, n_more: int, bounds: tuple[float, float], rng: np.random.Generator
) -> Labelled:
    """Return the labels plus additional labels, which are drawn by unit."""
    if n_more == 0:
        return labelled
    n = len(labelled.labels)
    groups = np.arange(n) if labelled.groups is None else labelled.groups
    place = np.unique(groups, return_inverse=True)[1]
    n_units = int(place.max()) + 1
    size = max(round(n / n_units), 1)
    ends = np.array(list(product(bounds, bounds)))
    labels = np.concatenate([labelled.labels, ends[:, 0].repeat(size)])
    verdicts = np.concatenate([labelled.verdicts, ends[:, 1].repeat(size)])
    units = np.concatenate([place, n_units + np.arange(len(ends)).repeat(size)])
    chances = rng.dirichlet([1.0] * n_units + [UNSEEN] * len(ends))
    rows, new_units = drawn_rows(units, chances, n_more, rng)
    kept = np.concatenate([np.arange(n), rows])
    weights = labelled.weights
    if weights is not None:
        weights = np.concatenate([weights, np.full(len(labels) - n, weights.mean())])[kept]
    return Labelled(
        labels[kept],
        verdicts[kept],
        groups=None if labelled.groups is None else np.concatenate([place, n_units + new_units]),
        weights=weights,
    )


def drawn_rows(
    units: IntArray, chances: FloatArray, n_more: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw units until they have the required number of rows. Return rows and unit numbers."""
    order = np.argsort(units, kind="stable")
    sizes = np.bincount(units)
    starts = np.concatenate([[0], sizes.cumsum()[:-1]])
    drawn = rng.choice(len(chances), size=n_more, p=chances)  # each unit has at least one row
    drawn = drawn[: int(np.searchsorted(sizes[drawn].cumsum(), n_more)) + 1]
    new_units = np.arange(len(drawn)).repeat(sizes[drawn])[:n_more]
    within = (
        np.arange(len(new_units)) - np.concatenate([[0], sizes[drawn].cumsum()[:-1]])[new_units]
    )
    return order[starts[drawn][new_units] + within], new_units
