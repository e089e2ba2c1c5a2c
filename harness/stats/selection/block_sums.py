"""Judges against humans from counts that merge: how many items of a block were rated in each way.

What an item adds to a metric is a function of how it was rated. Items that were rated alike are
counted, per block; counts of shards are whole numbers, so their sums do not depend on how the items
were divided into shards. Blocks are resampled: an item's block is a hash of its id, so that the
weight of an item follows from its id and the seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import IntArray, frozen
from harness.stats.data.item_kinds import Kinds
from harness.stats.data.rating_table import ELICITATIONS, OUTCOMES, RatingTable
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.estimate import Estimated, ItemSums, estimate_all
from harness.stats.selection.comparisons import Cut, Side, judge_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.metric import Metric

N_BLOCKS = 1024


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
    """

    kinds: IntArray
    counts: IntArray

    @classmethod
    def of(cls, human: IntArray, judge: IntArray, block: IntArray) -> Self:
        """Count items: what the humans and the judge answered, (n, K + 5) each, and blocks (n,)."""
        kinds = Kinds.of(human, judge)
        n_kinds = len(kinds.first)
        cells = np.bincount(kinds.of_item * N_BLOCKS + block, minlength=n_kinds * N_BLOCKS)
        pairs = np.stack([human[kinds.first], judge[kinds.first]], axis=1).astype(np.int64)
        return cls.merged([cls(pairs, cells.reshape(n_kinds, N_BLOCKS))])

    @classmethod
    def merged(cls, parts: Sequence[Self]) -> Self:
        """Add up the counts of shards, in any order."""
        kinds = np.concatenate([part.kinds for part in parts])
        rows, place = np.unique(kinds.reshape(len(kinds), -1), axis=0, return_inverse=True)
        counts = np.zeros((len(rows), N_BLOCKS), dtype=np.int64)
        np.add.at(counts, place.ravel(), np.concatenate([part.counts for part in parts]))
        return cls(frozen(rows.reshape(len(rows), *kinds.shape[1:])), frozen(counts))

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"BlockCounts({self.n_items} items, {len(self.kinds)} kinds)"


def evaluate_blocks(
    judges: Mapping[str, BlockCounts],
    *,
    space: OptionSpace,
    metrics: Sequence[Metric],
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
) -> tuple[dict[str, dict[str, Estimated]], int]:
    """Evaluate metrics of forced choices from counts over the same items.

    Parameters
    ----------
    judges : mapping of str to BlockCounts
        By judge.
    space : OptionSpace
        The options, in the order of the counts.
    metrics : sequence of Metric
        Of forced choices alone.
    tau, positive
        As in `evaluate`.
    resampling : Resampling
        How intervals are made; blocks are resampled.

    Returns
    -------
    estimates : dict of str to dict of str to Estimated
        By judge and name of the metric.
    n_blocks : int
        Blocks that hold items.
    """
    filled = np.any([counts.counts.any(axis=0) for counts in judges.values()], axis=0)
    n_blocks = int(filled.sum())
    units = Units(np.arange(n_blocks), n_blocks, "group")
    cut = Cut(tau, tuple(positive))
    items = [list(_item_sums(name, counts, space, metrics, cut)) for name, counts in judges.items()]
    blocks = [
        [_block_sums(sums, counts.counts[:, filled]) for sums in of_judge]
        for of_judge, counts in zip(items, judges.values(), strict=True)
    ]
    results = estimate_all(blocks, units, resampling)
    evaluated = {
        name: dict(_with_items(result, of_judge, counts))
        for (name, counts), result, of_judge in zip(judges.items(), results, items, strict=True)
    }
    return evaluated, n_blocks


def _item_sums(
    name: str, counts: BlockCounts, space: OptionSpace, metrics: Sequence[Metric], cut: Cut
) -> Iterable[ItemSums]:
    """Return what an item of each kind adds."""
    times = counts.counts.sum(axis=1)
    human, judge = (
        Side.of(_table(label, counts.kinds[:, side], space), cut, metrics, times=times)
        for side, label in enumerate(("humans", name))
    )
    return judge_sums(human, judge, metrics)


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


def _with_items(
    result: Mapping[str, Estimated], of_judge: Sequence[ItemSums], counts: BlockCounts
) -> Iterable[tuple[str, Estimated]]:
    """Yield estimates with the number of items in place of that of blocks."""
    times = counts.counts.sum(axis=1)
    for sums in of_judge:
        n_used = int(times[sums.entered].sum())
        for metric in sums.metrics:
            of_blocks = result[metric.name]
            estimate = replace(
                of_blocks.estimate, n_used=n_used, n_excluded=counts.n_items - n_used
            )
            yield metric.name, replace(of_blocks, estimate=estimate)
