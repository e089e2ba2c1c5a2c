"""Metrics of open answers in resamples of the items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from harness.stats.data.arrays import FloatArray
from harness.stats.open_scales.numeric_metrics import moments, rank_correlation

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, IntArray
    from harness.stats.inference.metric import Metric

Valued: TypeAlias = Callable[[FloatArray], FloatArray]
"""``(B, n) how often each item counts -> (B,) values``."""


@dataclass(frozen=True, slots=True, repr=False)
class AnswerRows:
    """Numbers that a judge gave to items, and the raters' mean on the item.

    Attributes
    ----------
    item : (N,) int array
        Of n items.
    answer, target : (N,) arrays
        What was answered, and what it is compared with.
    share : (N,) array
        What each row counts; the rows of an item add up to 1.
    n_items : int
        n.
    """

    item: IntArray
    answer: FloatArray
    target: FloatArray
    share: FloatArray
    n_items: int

    def __repr__(self) -> str:
        return f"AnswerRows({len(self.item)} answers to {self.n_items} items)"

    @classmethod
    def of(cls, item: IntArray, answer: FloatArray, target: FloatArray, n_items: int) -> AnswerRows:
        """Give the answers of an item equal shares."""
        times = np.bincount(item, minlength=n_items)
        return cls(item, answer, target, 1.0 / times[item], n_items)

    def among(self, items: BoolArray) -> AnswerRows:
        """Return the rows of some items, (n,) bool."""
        kept = items[self.item]
        return AnswerRows(
            self.item[kept], self.answer[kept], self.target[kept], self.share[kept], self.n_items
        )

    def sums(self) -> FloatArray:
        """Return what each item adds to `moments`, (n, 8): the mean over its rows."""
        rows = moments(self.answer, self.target) * self.share[:, None]
        sums = np.zeros((self.n_items, rows.shape[1]))
        np.add.at(sums, self.item, rows)
        return sums

    def valued_by(self, metric: Metric) -> Valued:
        """Return the metric of these rows as a function of how often each item counts."""
        if metric.name == "spearman":
            return self._rank_correlations
        sums = self.sums()
        return lambda weights: metric.value(weights @ sums)

    def _rank_correlations(self, weights: FloatArray) -> FloatArray:
        return rank_correlation(weights[:, self.item] * self.share, self.answer, self.target)
