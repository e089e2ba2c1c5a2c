"""Judges that are ranked, and the items on which they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray

MIN_ANSWERED = 0.9


@dataclass(frozen=True, slots=True, repr=False)
class SharedItems:
    """Judges that answered enough, and the items that all of them answered.

    Attributes
    ----------
    answered_fraction : (J,) array
        Share of all items that each judge answered; nan without items.
    ranked : (J,) bool array
        Judges whose answered fraction reaches the minimum.
    shared : (n,) bool array
        Items that every ranked judge answered; none if no judge is ranked.
    """

    answered_fraction: FloatArray
    ranked: BoolArray
    shared: BoolArray

    def __repr__(self) -> str:
        return f"SharedItems({self.ranked.sum()} judges on {self.shared.sum()} items)"

    @property
    def shared_fraction(self) -> float | None:
        """Shared items as a share of all; None where no judge is ranked."""
        return float(self.shared.mean()) if self.ranked.any() else None


def shared_items(answered: BoolArray, *, min_answered: float = MIN_ANSWERED) -> SharedItems:
    """Choose the judges that are ranked and the items on which they are compared.

    A judge that answers only what is easy would win on its own items. Judges are therefore
    compared on the items that all of them answered, and one that answered too few is not ranked,
    so that it does not take items away from the others.

    Parameters
    ----------
    answered : (J, n) bool array
        Which items each judge answered; every judge was asked every item.
    min_answered : float in [0, 1], optional
        Share of the items that a ranked judge has answered, at least.
    """
    J, n = answered.shape
    fraction = answered.mean(axis=1) if n else np.full(J, np.nan)
    ranked = np.asarray(fraction >= min_answered - 1e-12, dtype=np.bool_)
    shared = np.asarray(answered[ranked].all(axis=0) & ranked.any(), dtype=np.bool_)
    return SharedItems(np.asarray(fraction, dtype=np.float64), ranked, shared)
