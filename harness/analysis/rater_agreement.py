"""Estimate agreement among raters, and rank items by disagreement among raters and judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.analysis.option_scale import OptionScale, disagreement
from harness.analysis.ratings import rater_panel
from harness.stats import ItemSums
from harness.stats.data.labels import modes
from harness.stats.metrics.alpha import alpha_metric, coincidences
from harness.stats.metrics.gwet import ac2_of_raters
from harness.stats.metrics.icc import ICC, crossed_ratings, two_way_sums
from harness.stats.selection.judge_sums import human_sums, set_sums
from harness.stats.selection.rater_panel import with_rater_variance
from harness.stats.subsets.abstention import with_abstention
from harness.tasks.schema import numeric_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import RatingTable
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.tasks import Task

FEW_ITEMS = 0.05  # share of the rated items that counts as few


def agreement_sums(p: Prepared) -> list[ItemSums]:
    """Return the item sums for every agreement coefficient that fits the raters' answers."""
    of_sets = set_sums(p.human) if p.human.response_set.any() else []
    if of_sets and not p.human.forced_choice.any():
        return of_sets
    sums = human_sums(p.human)
    if p.panel is not None:
        sums = with_rater_variance(sums, p.panel, p.human)
    return [*sums, *ordered_sums(p.task, p.human), *icc_sums(p), *of_sets]


def icc_sums(p: Prepared) -> list[ItemSums]:
    """Return the item sums for intraclass correlations. Empty without raters' names or numbers."""
    scale = OptionScale.of(p.task)
    if scale.numbers is None:
        return []
    panel = p.panel or rater_panel(p.task, p.source.items)
    if panel is None or panel.forced_choice is None:
        return []
    given = panel.forced_choice
    numbers = np.empty(len(scale.numbers))
    numbers[scale.order] = scale.numbers
    ratings = np.full(given.shape[:2], np.nan)
    ratings[given.item, given.rater] = numbers[given.option]
    return [ItemSums(contributions=two_way_sums(crossed_ratings(ratings)), metrics=ICC)]


def note_on_pairs(human: RatingTable) -> str:
    """Return a note if a few items have most of the pairs of ratings, else ""."""
    counts = human.forced_choice if human.forced_choice.any() else human.response_set
    m = counts.sum(axis=1).astype(np.float64)
    pairs = np.sort(m * (m - 1.0) / 2.0)[::-1]
    shares = np.cumsum(pairs) / max(pairs.sum(), 1.0)
    n_few = int(np.searchsorted(shares, 0.5, side="right")) + 1
    n_items = int(np.count_nonzero(m))
    if not pairs.any() or n_few > FEW_ITEMS * n_items:
        return ""
    most, its = ("items have", "them") if n_few > 1 else ("items has", "it")
    return (
        f"{n_few} of {n_items} rated {most} {shares[n_few - 1]:.1%} of all pairs of ratings, so "
        f"coefficients that count all pairs mostly describe {its}. To count items equally, use "
        "coefficients for unequal numbers of raters"
    )


def ordered_sums(task: Task, human: RatingTable) -> list[ItemSums]:
    """Return item sums for alpha and AC2 on ordered scales, and for alpha with the task's weights.

    The ratio level needs options that are numbers, none of them negative.
    """
    scale = OptionScale.of(task)
    batches: list[ItemSums] = []
    if scale.numbers is not None:
        sums = coincidences(scale.counts(human))
        numbers = scale.numbers.tolist()
        ordered = [alpha_metric("ordinal"), alpha_metric("interval", scale=numbers)]
        if numeric_keys(scale.options) and numbers[0] >= 0:
            ordered.append(alpha_metric("ratio", scale=numbers))
        batches.append(
            ItemSums(contributions=sums, metrics=tuple(ordered), nothing="too_few_raters")
        )
        ac2 = ac2_of_raters(numbers)
        sums = ac2.contributions(scale.counts(human))
        batches.append(ItemSums(contributions=sums, metrics=(ac2,), nothing="too_few_raters"))
    if task.weights is not None:
        of_options = len(task.weights) == len(scale.options)
        counts = human.forced_choice if of_options else with_abstention(human)
        weighted = (alpha_metric(weights=task.weights),)
        sums = coincidences(counts)
        batches.append(ItemSums(contributions=sums, metrics=weighted, nothing="too_few_raters"))
    return batches


@dataclass(frozen=True, slots=True, repr=False)
class Dispute:
    """Disagreement among raters and judges on each item.

    Attributes
    ----------
    share : (n,) array
        Share of pairs of raters' choices that differ; nan below two choices.
    shared : (J, n) array
        Share of each judge's modes that are also the raters' modes; nan if either side made no
        choice.
    order : (n,) int array
        Items, most disputed first, by ``share``. For equal shares, items with more ratings come
        first. If all raters agree, items on which more judges disagree come first.
    """

    share: FloatArray
    shared: FloatArray
    order: IntArray

    @classmethod
    def of(cls, human: RatingTable, judges: Sequence[RatingTable]) -> Self:
        """Compute disagreement on a task's items, leaving out abstentions."""
        share = disagreement(human.forced_choice)
        human_modes = modes(human.forced_choice.astype(np.float64))
        shared = np.empty((len(judges), len(share)))
        for j, table in enumerate(judges):
            common = human_modes * modes(table.forced_choice.astype(np.float64))
            shared[j] = common.sum(axis=1)
        apart = (shared == 0.0).sum(axis=0)
        n_ratings = human.forced_choice.sum(axis=1)
        second, place = np.where(share > 0.0, n_ratings, apart), np.arange(len(share))
        order: IntArray = np.lexsort((place, -second, -np.nan_to_num(share)))
        return cls(share, shared, order)
