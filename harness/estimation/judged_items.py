"""Sums of a judge's answers for unlabelled items, updated one chunk at a time."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from harness.estimation.unlabelled import OF_SAMPLES
from harness.stats.estimation.effective_counts import group_dispersion
from harness.stats.estimation.prediction_powered import JudgedMean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stats.data.arrays import IntArray
    from harness.tasks import Item

NO_VERDICTS = JudgedMean(0, 0.0, 0.0)


class JudgedItems:
    """Sums of a judge's answers for a stratum's items by group, and of the items' text lengths."""

    def __init__(self) -> None:
        self.lengths = array("L")
        self.counts: Counter[float] = Counter()
        self.n_unanswered = 0
        self.sums = NO_VERDICTS
        self.alone = NO_VERDICTS  # items without a group
        self.n_alone_unanswered = 0
        self.by_group: dict[str, list[float]] = {}  # answers, their sum, items without an answer

    def add(self, judged_items: Iterable[tuple[Item, float]]) -> None:
        """Add items with their verdicts. An unusable verdict is nan."""
        values, alone = array("d"), array("d")
        for item, value in judged_items:
            self.lengths.append(length_of(item))
            is_missing = isnan(value)
            if is_missing:
                self.n_unanswered += 1
            else:
                self.counts[value] += 1
                values.append(value)
            if item.group is not None:
                group = self.by_group.setdefault(item.group, [0.0, 0.0, 0.0])
                change = (0.0, 0.0, 1.0) if is_missing else (1.0, value, 0.0)
                group[:] = (have + more for have, more in zip(group, change, strict=True))
            elif is_missing:
                self.n_alone_unanswered += 1
            else:
                alone.append(value)
        self.sums = self.sums.plus(JudgedMean.of(np.array(values)))
        self.alone = self.alone.plus(JudgedMean.of(np.array(alone)))

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.lengths)

    @property
    def n_alone(self) -> int:
        """Number of items without a group."""
        return self.alone.n + self.n_alone_unanswered

    def answers(self, kinds: Iterable[float]) -> IntArray:
        """Return the count of each answer. The last count is of unusable answers."""
        return np.array([*(self.counts[kind] for kind in kinds), self.n_unanswered])

    def filled(self, unanswered: float, bounds: tuple[float, float]) -> JudgedMean:
        """Return the sums, counting each item without a usable answer as ``unanswered``.

        Parameters
        ----------
        unanswered : float
            Value for items without a usable answer.
        bounds : (low, high)
            Least and greatest value.
        """
        sums = self.sums.plus(_constant(self.n_unanswered, unanswered))
        if not self.by_group:
            return sums
        n, totals, missing = np.array(list(self.by_group.values())).T
        sizes = n + missing
        residuals = totals + missing * unanswered - sizes * sums.mean
        alone = self.alone.plus(_constant(self.n_alone_unanswered, unanswered))
        squares = alone.deviations
        if alone.n:
            squares += alone.n * (alone.mean - sums.mean) ** 2
        scale = bounds[1] - bounds[0]
        dispersion = group_dispersion(
            residuals / scale,
            sizes,
            sums.deviations / scale**2,
            n_alone=alone.n,
            alone_squares=squares / scale**2,
        )
        return replace(sums, dispersion=dispersion)


def _constant(n: int, value: float) -> JudgedMean:
    return JudgedMean(n, n * value, 0.0)


def length_of(item: Item) -> int:
    """Return the number of characters in an item's texts."""
    return sum(len(text) for name, text in item.fields.items() if name not in OF_SAMPLES)
