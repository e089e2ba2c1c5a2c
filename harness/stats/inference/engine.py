"""Values of judges, raters and baselines on all items and on the same resamples of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from harness.stats.data.arrays import FloatArray
    from harness.stats.inference.bootstrap import Resampling, Units

Side: TypeAlias = "Callable[[FloatArray], FloatArray]"  # (B, n) weights of items -> (B,) values


class Drawn(NamedTuple):
    """Values of S sides, (S,), and their replicates, (S, B)."""

    values: FloatArray
    replicates: FloatArray


class Engine:
    """Resamples of some items, drawn once, on which any side can be evaluated.

    Attributes
    ----------
    weights : (n,) array
        How often each item counts.
    units : Units
        What is resampled.
    resamples : Resamples
        The draws; they are the same however often a side is evaluated.
    """

    def __init__(self, weights: FloatArray, units: Units, resampling: Resampling) -> None:
        self.weights = weights
        self.units = units
        self.level = resampling.level
        self.method = resampling.method
        self.resamples = resampling.draw(units)

    def of(self, sides: Iterable[Side]) -> Drawn:
        """Return values and replicates of some sides; no replicates without resamples."""
        every = list(sides)
        values = np.array([float(side(self.weights[None])[0]) for side in every])
        if not every or not self.resamples.n_replicates:
            return Drawn(values, np.empty((len(every), self.resamples.n_replicates)))
        blocks = [[side(weights) for side in every] for weights in self._weights_of_items()]
        return Drawn(values, np.concatenate(blocks, axis=1))

    def _weights_of_items(self) -> Iterator[FloatArray]:
        """Yield the (b, n) weights of the items, block by block of resamples."""
        for by_unit in self.resamples.blocks():
            times = by_unit if self.units.kind == "item" else by_unit[:, self.units.of_item]
            yield times * self.weights
