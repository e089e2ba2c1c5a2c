"""Metrics from mergeable counts of items by block.

What an item adds to a metric is a function of how it was rated. Items that were rated alike are
counted, per block; counts of shards are whole numbers, so their sums do not depend on how the items
were divided into shards. Values are those of `evaluate` to the last bit. Blocks are resampled for
their intervals: an item's block is a hash of its id, so that the weight of an item follows from its
id and the seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import nan, prod
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import IntArray, Kinds, frozen
from harness.stats.data.rating_table import (
    ELICITATIONS,
    OUTCOMES,
    Distributions,
    RatingTable,
    aggregate,
)
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.crossed_raters import CountedRatings
from harness.stats.inference.estimate import Estimated, ItemSums, estimate_all
from harness.stats.selection.comparisons import Side, human_sums, judge_sums, scorer
from harness.stats.selection.rater_panel import RaterPanel, rater_covariances, with_rater_variance
from harness.stats.selection.references import added_exactly, baseline_values
from harness.stats.selection.replies import counts_of, samples_per_item, vectors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.stats.alt_test.rater_comparisons import RaterComparisons
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import Cut
    from harness.stats.inference.bootstrap import Resamples, Resampling
    from harness.stats.inference.estimate import Estimate
    from harness.stats.inference.metric import Metric

N_BLOCKS = 1024


@dataclass(frozen=True, slots=True, repr=False)
class Choices:
    """Choices that m raters made, one per rater and item.

    Attributes
    ----------
    item, rater, option : (N,) int arrays
        Of each.
    n_raters : int
        m.
    """

    item: IntArray
    rater: IntArray
    option: IntArray
    n_raters: int

    def __repr__(self) -> str:
        return f"Choices({len(self.item)} by {self.n_raters} raters)"

    def among(self, items: BoolArray) -> Choices:
        """Return the choices about some of (n,) items, numbered anew."""
        kept, place = items[self.item], np.cumsum(items) - 1
        item = place[self.item[kept]]
        return Choices(item, self.rater[kept], self.option[kept], self.n_raters)

    def by_kind(self, kinds: Kinds, n_options: int) -> IntArray:
        """Return (R, m, K): on how many items of each kind a rater chose each option."""
        shape = (len(kinds.first), self.n_raters, n_options)
        cell = (kinds.of_item[self.item] * self.n_raters + self.rater) * n_options + self.option
        return frozen(np.bincount(cell, minlength=prod(shape)).reshape(shape))


@dataclass(frozen=True, slots=True, repr=False)
class BlockCounts:
    """How many items of each block one judge and the humans rated in each way.

    Attributes
    ----------
    kinds : (R, 2, K + 5) int array
        How often the humans, then the judge, chose each option and ended in each of `OUTCOMES`;
        sorted, each once.
    counts : (R, N_BLOCKS) int array
        Number of items.
    chosen : (R, m, K) int array or None
        On how many of the items each of m raters chose each option; None where raters are many, or
        not named.
    """

    kinds: IntArray
    counts: IntArray
    chosen: IntArray | None = None

    @classmethod
    def of(
        cls,
        human: IntArray,
        judge: IntArray,
        block: IntArray,
        choices: Choices | None = None,
        kinds: Kinds | None = None,
    ) -> Self:
        """Count items.

        Parameters
        ----------
        human, judge : (n, K + 5) int arrays
            What they answered.
        block : (n,) int array
            Of the items.
        choices : Choices, optional
            Of the raters, about these items.
        kinds : Kinds, optional
            `Kinds` of ``human`` and ``judge``.
        """
        kinds = kinds or Kinds.of(human, judge)
        n_kinds, width = len(kinds.first), human.shape[1]
        cells = np.bincount(kinds.of_item * N_BLOCKS + block, minlength=n_kinds * N_BLOCKS)
        pairs = np.stack([human[kinds.first], judge[kinds.first]], axis=1).astype(np.int64)
        chosen = None
        if choices is not None:
            chosen = choices.by_kind(kinds, width - len(OUTCOMES))
        return cls(frozen(pairs), frozen(cells.reshape(n_kinds, N_BLOCKS)), chosen)

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> tuple[Self, list[IntArray]]:
        """Add up the counts of shards, in any order.

        Returns
        -------
        BlockCounts, list of (R,) int arrays
            And the place of the kinds of each part among the kinds of the whole.
        """
        kinds = np.concatenate([part.kinds for part in parts])
        width = prod(kinds.shape[1:])
        rows, place = np.unique(kinds.reshape(-1, width), axis=0, return_inverse=True)
        place = place.ravel().astype(np.int64)
        counts = np.zeros((len(rows), N_BLOCKS), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
        tables = [part.chosen for part in parts if part.chosen is not None]
        chosen = None
        if len(tables) == len(parts):
            chosen = np.zeros((len(rows), *tables[0].shape[1:]), dtype=np.int64)
            np.add.at(chosen, place, np.concatenate(tables))
        starts = np.cumsum([len(part.kinds) for part in parts])[:-1]
        places: list[IntArray] = list(np.split(place, starts))
        return cls(
            frozen(rows.reshape(len(rows), *kinds.shape[1:])), frozen(counts), chosen
        ), places

    def with_raters(self, place: IntArray, n_raters: int | None) -> Self:
        """Return counts of so many raters, where those here stand at (m,) places; None for none."""
        if self.chosen is None or n_raters is None:
            return replace(self, chosen=None)
        n_kinds, _, n_options = self.chosen.shape
        chosen = np.zeros((n_kinds, n_raters, n_options), dtype=np.int64)
        chosen[:, place] = self.chosen
        return replace(self, chosen=chosen)

    @property
    def ratings(self) -> CountedRatings | None:
        """Who chose what, where five or more raters rated most items; else None."""
        if self.chosen is None:
            return None
        options = self.kinds[:, 0, : self.chosen.shape[2]]
        ratings = CountedRatings(options, self.times, self.chosen)
        return ratings if ratings.is_crossed else None

    @property
    def times(self) -> IntArray:
        """How many items are of each kind: (R,)."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    @property
    def n_rated(self) -> int:
        """Number of items that the humans rated."""
        return int(self.times[self._n_answers[:, 0] > 0].sum())

    def answered_fraction(self, n_replies: float) -> float:
        """Share of the rated items with so many replies of the judge; nan without such items."""
        replies, times = self.replies
        return float(times[replies >= n_replies].sum() / times.sum()) if times.sum() else nan

    @property
    def samples_per_item(self) -> float:
        """The most replies that enough of the rated items have."""
        replies, times = self.replies
        return samples_per_item(replies.astype(np.float64), times=times)

    @property
    def replies(self) -> tuple[IntArray, IntArray]:
        """Replies of the judge to the kinds that the humans rated, and their `times`: (r,)."""
        of_judge, rated = self._n_answers[:, 1], self._n_answers[:, 0] > 0
        return of_judge[rated], self.times[rated]

    @property
    def _n_answers(self) -> IntArray:
        """Return (R, 2): how often the humans and the judge chose an option."""
        n_options = self.kinds.shape[2] - len(OUTCOMES)
        return np.asarray(self.kinds[:, :, :n_options].sum(axis=2))

    def __repr__(self) -> str:
        return f"BlockCounts({self.n_items} items, {len(self.kinds)} kinds)"


@dataclass(frozen=True, slots=True, repr=False)
class BlockDraws:
    """Resamples of blocks.

    Attributes
    ----------
    filled : (N_BLOCKS,) bool array
        Blocks that hold items; these alone are resampled.
    resamples : Resamples
        Of them.
    """

    filled: BoolArray
    resamples: Resamples

    @classmethod
    def of(cls, counts: BlockCounts, resampling: Resampling) -> Self:
        """Draw blocks in which some items were counted."""
        filled = np.asarray(counts.counts.any(axis=0))
        n = int(filled.sum())
        return cls(filled, resampling.draw(Units(np.arange(n), n, "group")))

    @property
    def units(self) -> Units:
        """What is resampled."""
        n = self.resamples.n_units
        return Units(np.arange(n), n, "group")

    def within(self, compared: RaterComparisons) -> RaterComparisons:
        """Return comparisons of blocks, numbered as these are."""
        return replace(compared, item=(np.cumsum(self.filled) - 1)[compared.item])

    @property
    def weights(self) -> FloatArray:
        """How often each block counts in each resample; (B, n_units)."""
        drawn = self.resamples.weights() if self.resamples.n_replicates else ()
        return np.concatenate([np.ones((0, self.resamples.n_units)), *drawn])

    def __repr__(self) -> str:
        return f"BlockDraws({self.resamples!r})"


@dataclass(frozen=True, slots=True, repr=False)
class BlockEvaluation:
    """Metrics of some judges, with intervals over blocks of items.

    Attributes
    ----------
    judges : dict of str to dict of str to Estimated
        By judge and name of the metric.
    human_agreement : dict of str to Estimate
        By name of the coefficient.
    """

    judges: dict[str, dict[str, Estimated]]
    human_agreement: dict[str, Estimate]

    def __repr__(self) -> str:
        return f"BlockEvaluation({len(self.judges)} judges)"


def evaluate_blocks(
    judges: Mapping[str, BlockCounts],
    draws: BlockDraws,
    *,
    space: OptionSpace,
    metrics: Sequence[Metric],
    cut: Cut,
    resampling: Resampling,
    n_replies: Mapping[str, float] | None = None,
    agreement: Callable[[RatingTable], Sequence[ItemSums]] = lambda _: (),
) -> BlockEvaluation:
    """Evaluate metrics from counts over the same items.

    Parameters
    ----------
    judges : mapping of str to BlockCounts
        By judge.
    draws : BlockDraws
        Of blocks that hold all these items.
    space : OptionSpace
        The options, in the order of the counts.
    metrics : sequence of Metric
        Those that need response sets are NA, unless these follow from the choices.
    cut, n_replies
        As in `evaluate`.
    resampling : Resampling
        How intervals are made.
    agreement : callable, optional
        What the items of the humans' table add to more coefficients of agreement.
    """
    groups = [
        _item_sums(counts, space, metrics, cut, n_replies=n_replies, more=agreement)
        for counts in judges.values()
    ]
    blocks = [
        [
            _block_sums(item_sums, counts.counts[:, draws.filled])
            for item_sums in (*of_judge, *of_humans)
        ]
        for (of_judge, of_humans), counts in zip(groups, judges.values(), strict=True)
    ]
    resampled = estimate_all(blocks, draws.units, resampling, draws.resamples)
    results = [
        _with_values(of_blocks, (*of_judge, *of_humans), counts, resampling)
        for of_blocks, (of_judge, of_humans), counts in zip(
            resampled, groups, judges.values(), strict=True
        )
    ]
    rows = [metric.name for _, of_humans in groups[:1] for s in of_humans for metric in s.metrics]
    return BlockEvaluation(
        judges={
            name: {metric.name: of_judge[metric.name] for metric in metrics}
            for name, of_judge in zip(judges, results, strict=True)
        },
        human_agreement={
            name: of_judge[name].estimate for of_judge in results[:1] for name in rows
        },
    )


def baselines_of_blocks(
    every: BlockCounts,
    shared: BlockCounts,
    draws: BlockDraws,
    *,
    space: OptionSpace,
    metric: Metric,
    cut: Cut,
    n_replies: float,
) -> dict[str, FloatArray]:
    """Evaluate computed baselines, fitted on all items, on those that all judges answered.

    ``every`` and ``shared`` are the counts of any judge over these items. By name of the baseline,
    (1 + B,): its value, then those in the resamples, in each of which it is fitted anew; nan where
    undefined.
    """
    humans = _table("humans", np.concatenate([every.kinds[:, 0], shared.kinds[:, 0]]), space)
    evaluated = np.arange(len(humans.items)) >= len(every.kinds)
    counts = np.asarray(counts_of(humans, metric.judge_form), dtype=np.float64)
    by_block = np.concatenate([every.counts, shared.counts])[:, draws.filled]
    values = partial(
        baseline_values,
        metric.contributions,
        metric.value,
        aggregate(Distributions.of(humans), metric.human_form, tau=cut.tau, positive=cut.positive),
        np.where(evaluated[:, None], 0.0, counts),
        n_replies,
        vectors=vectors_of(humans, metric.judge_form, cut),
        evaluated=evaluated,
        squared=metric.squared,
    )
    point = values(weights=by_block.sum(axis=1, dtype=np.float64)[None], add=added_exactly)
    resampled = values(weights=draws.weights @ by_block.T)
    return {name: np.append(point[name], rows) for name, rows in resampled.items()}


def _item_sums(
    counts: BlockCounts,
    space: OptionSpace,
    metrics: Sequence[Metric],
    cut: Cut,
    *,
    n_replies: Mapping[str, float] | None,
    more: Callable[[RatingTable], Sequence[ItemSums]],
) -> tuple[list[ItemSums], list[ItemSums]]:
    """Return what an item of each kind adds to the metrics of a judge, and to human agreement."""
    human, judge = (
        Side.of(table, cut, metrics, times=counts.times) for table in tables_of(counts, space)
    )
    agreement = human_sums(human.table, counts.times)
    if counts.ratings is None:
        return judge_sums(human, judge, metrics, n_replies), [*agreement, *more(human.table)]
    panel = RaterPanel(counts.ratings, None)
    covariances = rater_covariances(
        panel,
        human.table,
        metrics,
        [scorer(judge, n_replies)],
        cut,
    )
    raters = {name: covariance.variance(np.ones(1)) for name, covariance in covariances.items()}
    defined = {name: variance for name, variance in raters.items() if variance is not None}
    return (
        judge_sums(human, judge, metrics, n_replies, defined),
        [*with_rater_variance(agreement, panel, human.table), *more(human.table)],
    )


def tables_of(counts: BlockCounts, space: OptionSpace) -> tuple[RatingTable, RatingTable]:
    """Return what the humans and the judge answered, with an item per kind."""
    return _table("humans", counts.kinds[:, 0], space), _table("judge", counts.kinds[:, 1], space)


def _table(name: str, answers: IntArray, space: OptionSpace) -> RatingTable:
    """Return a table with an item per kind."""
    n, n_options = len(answers), len(space.options)
    outcomes = np.zeros((n, len(ELICITATIONS), len(OUTCOMES)), dtype=np.int64)
    outcomes[:, ELICITATIONS.index("forced_choice")] = answers[:, n_options:]
    return RatingTable(
        space=space,
        name=name,
        items=tuple(map(str, range(n))),
        forced_choice=answers[:, :n_options],
        response_set=np.zeros((n, len(space.sets)), dtype=np.int64),
        joint=None,
        outcomes=outcomes,
    )


def _block_sums(sums: ItemSums, counts: IntArray) -> ItemSums:
    """Return what each block adds: the sum over kinds, in their order."""
    contributions = np.asarray(sums.contributions)
    added = np.einsum("ru,rd->ud", counts.astype(np.float64), contributions)
    used = np.asarray(counts[sums.entered].any(axis=0))
    return replace(sums, contributions=added, used=used, n_ratings=None)


def _with_values(
    of_blocks: Mapping[str, Estimated],
    sums: Sequence[ItemSums],
    counts: BlockCounts,
    resampling: Resampling,
) -> dict[str, Estimated]:
    """Return what is estimated from all items, with the intervals of the blocks."""
    alone = replace(resampling, n_resamples=0, rng=np.random.default_rng(0))  # draws nothing
    [of_items] = estimate_all([sums], Units.alike(counts.times), alone)
    return {
        name: replace(
            resampled,
            estimate=replace(
                of_items[name].estimate,
                interval=resampled.estimate.interval,
                interval_reason=resampled.estimate.interval_reason,
                n_resamples=resampled.estimate.n_resamples,
                undefined_share=resampled.estimate.undefined_share,
            ),
        )
        for name, resampled in of_blocks.items()
    }
