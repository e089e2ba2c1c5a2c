"""Evaluation of judges, raters and baselines on all items and on the same resamples.

An `Engine` combines the units, the items' weights and the draws. It evaluates sides, which are
functions of the items' weights, and sums of contributions, with one matrix product for all judges,
metrics and resamples together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

from harness.stats.data.arrays import frozen
from harness.stats.data.kinds import Kinds
from harness.stats.inference.bootstrap import CHUNK_CELLS, Resamples, Units, UnitWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from harness.stats.data.arrays import BoolArray, Counts, FloatArray, IntArray, Summands
    from harness.stats.inference.bootstrap import Resampling, Weights
    from harness.stats.inference.estimate import ItemSums
    from harness.stats.inference.metric import Metric

Side: TypeAlias = "Callable[[FloatArray], FloatArray]"  # (B, n) weights -> (B,) values, or (S, B)
AnyWeights = TypeVar("AnyWeights", bound="Weights")
SideOfTotals: TypeAlias = "Callable[[Weights], FloatArray]"  # uses weights only in products


class Drawn(NamedTuple):
    """Values of S sides in an (S,) array, and their replicates in an (S, B) array."""

    values: FloatArray
    replicates: FloatArray


@dataclass(frozen=True, slots=True, repr=False)
class Replicated:
    """A statistic's sums, value and replicates.

    Attributes
    ----------
    totals : (d,) array
        Sums over all items.
    value : float
        The value; nan if undefined.
    replicates : (B,) array
        Value in each resample; nan if undefined. Empty without resampling.
    """

    totals: FloatArray
    value: float
    replicates: FloatArray


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Engine:
    """Resamples of items, which are drawn once and shared by all sides that are evaluated.

    Attributes
    ----------
    units : Units
        Units to resample.
    resamples : Resamples
        The draws, which are the same for every evaluation of a side.
    level : float
        Confidence level of intervals.
    weights : (n,) array or None
        Number of times each item counts; None for once.
    """

    units: Units
    resamples: Resamples
    level: float
    weights: FloatArray | None = None

    @classmethod
    def draw(
        cls, units: Units, resampling: Resampling, weights: FloatArray | None = None
    ) -> Engine:
        """Draw a seed from the resampling's generator for resamples of these units."""
        counts_once = weights is None or bool((weights == 1).all())
        return cls(
            units=units,
            resamples=Resamples.draw(units, resampling.n_resamples, resampling.rng),
            level=resampling.level,
            weights=None if counts_once else weights,
        )

    def __repr__(self) -> str:
        return f"Engine({self.resamples!r})"

    def kept(self) -> Engine:
        """Draw the weights once for all passes if they are few enough to store."""
        return replace(self, resamples=self.resamples.kept())

    def of_kinds(self, *tables: Counts) -> tuple[IntArray, Engine]:
        """Keep one item per kind that the tables distinguish, if items are resampled.

        Returns
        -------
        first : (R,) int array
            One item of each kind.
        engine : Engine
            Engine for these items, each of which represents all items of its kind.
        """
        n = len(self.units.of_item)
        if self.units.kind != "item":
            return np.arange(n), self
        kinds = Kinds.few(n // 2, *tables) or Kinds.single(n)
        resamples = self.resamples.of_kinds(kinds)
        return kinds.first, replace(self, units=Units.alike(kinds.times), resamples=resamples)

    def only(self, rows: BoolArray) -> Engine:
        """Keep the selected items, with their groups."""
        return replace(self, units=self.units.only(rows))

    def of(self, sides: Iterable[Side]) -> Drawn:
        """Return values and replicates for several sides. Without resamples, replicates are empty.

        A side can consist of several that are evaluated together.
        """
        blocks = (
            times if self.weights is None else times * self.weights
            for times in self._times_of_items()
        )
        return _drawn(list(sides), self._item_weights[None], blocks)

    def of_totals(self, side: SideOfTotals) -> Drawn:
        """Evaluate a side as `of` does, but by unit. The side can use weights only in products."""
        if self.units.times is not None:
            return self.of([side])
        drawn = self.resamples.blocks() if self.resamples.n_replicates else ()
        blocks = (UnitWeights(times, self.units, self.weights) for times in drawn)
        return _drawn([side], self._item_weights[None], blocks)

    @property
    def _item_weights(self) -> FloatArray:
        """Return how many times each item counts in the data, as an (n,) array."""
        weights = np.ones(len(self.units.of_item)) if self.weights is None else self.weights
        return weights if self.units.times is None else weights * self.units.times

    def refitted(self, fitted: Callable[[FloatArray], FloatArray], n_values: int) -> FloatArray:
        """Return (S, B) values of statistics that are refitted in each resample.

        Parameters
        ----------
        fitted : callable
            ``(n,) number of draws of each item -> (S,) values``.
        n_values : int
            S, the number of statistics.
        """
        blocks = self._times_of_items() if n_values else ()
        values = [fitted(times) for block in blocks for times in block]
        return np.array(values).reshape(len(values), n_values).T

    def _times_of_items(self) -> Iterator[FloatArray]:
        """Yield (b, n) blocks with the number of times each item was drawn in each resample."""
        if not self.resamples.n_replicates:
            return
        step = max(1, CHUNK_CELLS // max(len(self.units.of_item), 1))
        for by_unit in self.resamples.blocks():
            for start in range(0, len(by_unit), step):
                times = by_unit[start : start + step]
                yield times if self.units.by_item else times[:, self.units.of_item]

    def of_sums(self, sums: Sequence[ItemSums]) -> list[list[Replicated]]:
        """Evaluate metrics for the same items on the data and on the resamples.

        All contributions enter one matrix product, so that replicate ``b`` of any two metrics uses
        the same items and differences between them are paired. Columns that are 0 everywhere are
        not resampled. If the weights are stored, neither are columns that no metric reads;
        otherwise those columns affect which items are equal, and so how they are drawn. Weights are
        those in the sums; see `ItemSums.weighted`.

        Parameters
        ----------
        sums : sequence of ItemSums
            Sums over the same n items.

        Returns
        -------
        list of list of Replicated
            One result per metric of each of ``sums``.
        """
        columns: dict[int, slice] = {}
        different: list[Summands] = []
        width = 0
        is_kept = self.resamples.drawn is not None
        for item_sums in [of_items for of_items in sums if of_items.metrics or not is_kept]:
            contributions = item_sums.contributions
            if id(contributions) not in columns:
                d = contributions.shape[1]
                columns[id(contributions)] = slice(width, width + d)
                different.append(contributions)
                width += d
        totals, blocks = self.resamples.sums(different, self.units)
        places = [columns.get(id(item_sums.contributions), slice(0)) for item_sums in sums]
        B = self.resamples.n_replicates
        values = [np.empty((len(item_sums.metrics), B)) for item_sums in sums]
        start = 0
        for resampled in blocks:
            end = start + len(resampled)
            for item_sums, place, replicates in zip(sums, places, values, strict=True):
                _evaluate(item_sums.metrics, resampled[:, place], replicates[:, start:end])
            start = end
        return [
            [
                _replicated(metric, frozen(totals[place]), frozen(of_metric))
                for metric, of_metric in zip(item_sums.metrics, replicates, strict=True)
            ]
            for item_sums, place, replicates in zip(sums, places, values, strict=True)
        ]


def _drawn(
    sides: Sequence[Callable[[AnyWeights], FloatArray]],
    of_data: AnyWeights,
    blocks: Iterable[AnyWeights],
) -> Drawn:
    """Evaluate sides with the data's (1, n) weights, and with blocks of drawn weights."""
    values = _evaluated(sides, of_data)
    replicates = [_evaluated(sides, weights) for weights in blocks]
    return Drawn(values[:, 0], np.concatenate([values[:, :0], *replicates], axis=1))


def _evaluated(
    sides: Sequence[Callable[[AnyWeights], FloatArray]], weights: AnyWeights
) -> FloatArray:
    """Return the (S, B) values of several sides under (B, n) weights."""
    values = [np.atleast_2d(side(weights)) for side in sides]
    return np.concatenate([np.empty((0, len(weights))), *values])


def _evaluate(metrics: Sequence[Metric], sums: FloatArray, values: FloatArray) -> None:
    """Fill an (M, b) array with the metrics' values for (b, d) sums."""
    sums = sums if sums.any() else np.zeros((1, sums.shape[1]))
    for metric, of_metric in zip(metrics, values, strict=True):
        of_metric[:] = metric.value(sums)


def _replicated(metric: Metric, totals: FloatArray, replicates: FloatArray) -> Replicated:
    return Replicated(totals, float(metric.value(totals)), replicates)
