"""Inter-rater agreement, coefficients that are the same number, and disputed items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.analysis.option_scale import Scale, disagreement
from harness.stats import Estimate, ItemSums
from harness.stats.data.labels import modes
from harness.stats.metrics.alpha import alpha_metric, coincidences
from harness.stats.metrics.human_agreement import MIN_RATERS
from harness.stats.selection.comparisons import human_sums
from harness.stats.selection.rater_panel import with_rater_variance
from harness.stats.subsets.abstention import with_abstention
from harness.tasks.schema import numeric_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.estimates import Prepared
    from harness.stats import RatingTable
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.tasks import Task

MAX_DISPUTED = 20
NOMINAL_ALPHA = "krippendorff_alpha_nominal"
PERCENTAGES = {
    "pairwise_agreement": "percentage agreement: share of the pairs of ratings that are equal",
    "majority_share": "percentage agreement: mean share of an item's most frequent option",
    "two_rater_agreement": "percentage agreement: share of the items whose two ratings are equal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementRow:
    """One coefficient of agreement among the raters.

    Attributes
    ----------
    quantity : str
        What a percentage is of: three different shares have the same name.
    same_as : str
        The coefficient above it that is the same number on these ratings; "" if none is.
    """

    name: str
    estimate: Estimate
    quantity: str
    same_as: str
    paper: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputedItem:
    """An item on which its raters disagree: ids and counts, no texts.

    Attributes
    ----------
    disagreement : float
        Share of the pairs of its ratings that differ.
    human : dict of str to int
        How often each option was chosen.
    judges : dict of str to dict of str to int
        The same, per judge.
    """

    item: str
    n_ratings: int
    disagreement: float
    human: dict[str, int]
    human_abstained: int
    judges: dict[str, dict[str, int]]


def agreement_sums(p: Prepared) -> list[ItemSums]:
    """Return the sums behind every coefficient among the raters that fits the scale."""
    sums = human_sums(p.human)
    if p.panel is not None:
        sums = with_rater_variance(sums, p.panel, p.human)
    return [*sums, *alpha_sums(p.task, p.human)]


def agreement_rows(
    p: Prepared, estimates: Mapping[str, Estimate], sums: Sequence[ItemSums]
) -> tuple[AgreementRow, ...]:
    """Return a row for every coefficient; those that are equal are marked."""
    same = _same(p.human.choice_counts)
    papers = {metric.name: metric.paper for batch in sums for metric in batch.metrics}
    return tuple(
        AgreementRow(
            name=name,
            estimate=estimate,
            quantity=PERCENTAGES.get(name, ""),
            same_as=same.get(name, ""),
            paper=papers[name],
        )
        for name, estimate in estimates.items()
    )


def alpha_sums(task: Task, human: RatingTable) -> list[ItemSums]:
    """Return the sums of alpha on ordered scales, and with the weights of the task.

    The ratio level asks for options that are numbers, none negative.
    """
    scale = Scale.of(task)
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
    if task.weights is not None:
        of_options = len(task.weights) == len(scale.options)
        counts = human.forced_choice if of_options else with_abstention(human)
        weighted = (alpha_metric(weights=task.weights),)
        sums = coincidences(counts)
        batches.append(ItemSums(contributions=sums, metrics=weighted, nothing="too_few_raters"))
    return batches


def _same(counts: IntArray) -> dict[str, str]:
    """Return coefficients equal to another by construction: equally many ratings per item."""
    m = np.unique(counts.sum(axis=1))
    m = m[m > 0]
    if len(m) != 1 or m[0] < MIN_RATERS:
        return {}
    same = dict.fromkeys(
        ("fleiss_kappa_pooled_pairs", "fleiss_kappa_mean_over_items"), "fleiss_kappa"
    )
    if m[0] == MIN_RATERS:
        same["two_rater_agreement"] = "pairwise_agreement"
    if counts.shape[1] == 2:  # noqa: PLR2004 -- two options have one distance
        same |= dict.fromkeys(
            (f"krippendorff_alpha_{level}" for level in ("ordinal", "interval", "ratio")),
            NOMINAL_ALPHA,
        )
    return same


@dataclass(frozen=True, slots=True, repr=False)
class Dispute:
    """How far raters and judges disagree on each item.

    Attributes
    ----------
    share : (n,) array
        Share of the pairs of the raters' choices that differ; nan below two choices.
    shared : (J, n) array
        Share of each judge's modes that are the raters'; nan where either side made no choice.
    order : (n,) int array
        Items, the most disputed first: by ``share``; of equal shares that with more ratings, and
        where all raters agree, that with more judges apart.
    """

    share: FloatArray
    shared: FloatArray
    order: IntArray

    @classmethod
    def of(cls, human: RatingTable, judges: Sequence[RatingTable]) -> Self:
        """Compute the dispute on the items of a task, abstentions left out."""
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


def disputed_items(p: Prepared) -> tuple[DisputedItem, ...]:
    """Return the items whose raters disagree most, at most 20; see `Dispute`."""
    dispute = Dispute.of(p.human, p.judges)
    n_ratings = p.human.forced_choice.sum(axis=1)
    n_abstained = with_abstention(p.human)[:, -1].astype(np.int64)
    return tuple(
        DisputedItem(
            item=p.human.items[i],
            n_ratings=int(n_ratings[i]),
            disagreement=float(dispute.share[i]),
            human=_counts(p.human, i),
            human_abstained=int(n_abstained[i]),
            judges={table.name: _counts(table, i) for table in p.judges},
        )
        for i in dispute.order[:MAX_DISPUTED].tolist()
        if dispute.share[i] > 0
    )


def _counts(table: RatingTable, i: int) -> dict[str, int]:
    return dict(zip(table.space.options, table.forced_choice[i].tolist(), strict=True))
