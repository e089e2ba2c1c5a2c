"""Distances of the ratio level added up over all pairs of numbers, without visiting pairs.

``((a - b) / (a + b))^2`` is ``tanh(t / 2)^2`` of the difference t of the logarithms. On a short
stretch of logarithms a polynomial is as good as that function: its nearest pole lies pi off the
real line. So numbers enter by the Chebyshev moments of the stretch they fall in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import BLOCK

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray

TERMS = 16  # of a polynomial; on a stretch of one logarithm, the next would add less than rounding
FARTHEST = 1e300  # quotient up to which a logarithm of it can be taken


@dataclass(slots=True, repr=False)
class RatioPairs:
    """Positive numbers, and how many zeros, of which all pairs can be compared.

    Attributes
    ----------
    low, high : float
        Least and greatest positive number that may be added.
    moments : (C, 16) array
        Sums of the Chebyshev polynomials over the numbers in each stretch of logarithms.
    n_zeros : int
        Zeros added.
    """

    low: float
    high: float
    moments: FloatArray
    n_zeros: int = 0

    @classmethod
    def between(cls, low: float, high: float) -> Self:
        """Make room for numbers from ``low`` to ``high``, both positive."""
        n_stretches = max(1, int(np.ceil(np.log(high) - np.log(low))))
        return cls(low, high, np.zeros((n_stretches, TERMS)))

    def __repr__(self) -> str:
        return f"RatioPairs({self.moments[:, 0].sum():.0f} positive numbers, {self.n_zeros} zeros)"

    @property
    def stretch(self) -> float:
        """How long a stretch is, in logarithms."""
        return float(_logarithms(np.array([self.high]), self.low, self.high)[0]) / len(self.moments)

    def add(self, numbers: FloatArray) -> None:
        """Add (N,) numbers, none of them negative."""
        for start in range(0, len(numbers), BLOCK):
            some = numbers[start : start + BLOCK]
            positive = some[some > 0.0]
            self.n_zeros += len(some) - len(positive)
            self._add(_logarithms(positive, self.low, self.high))

    def _add(self, logarithms: FloatArray) -> None:
        n_stretches = len(self.moments)
        along = logarithms / (self.stretch or 1.0)
        place = np.minimum(along.astype(np.int64), n_stretches - 1)
        z = 2.0 * (along - place) - 1.0
        before, now = np.ones(len(z)), z
        for k in range(TERMS):
            self.moments[:, k] += np.bincount(place, before, n_stretches)
            before, now = now, 2.0 * z * now - before

    def total(self) -> float:
        """Return the sum of ``((a - b) / (a + b))^2`` over all ordered pairs; 0 and 0 are alike."""
        n = float(self.moments[:, 0].sum())
        if self.low == self.high:
            return 2.0 * self.n_zeros * n
        filled = np.flatnonzero(self.moments[:, 0])
        angles = np.pi * (np.arange(TERMS) + 0.5) / TERMS
        basis = np.cos(np.outer(np.arange(TERMS), angles)) * 2.0 / TERMS
        basis[0] /= 2.0
        weight = self.moments[filled] @ basis  # as if the numbers lay on the nodes
        node = (filled[:, None] + (np.cos(angles) + 1.0) / 2.0) * self.stretch
        apart = sum(
            float(w @ (np.tanh((at[:, None] - node.ravel()) / 2.0) ** 2 @ weight.ravel()))
            for w, at in zip(weight, node, strict=True)
        )
        return apart + 2.0 * self.n_zeros * n


def _logarithms(x: FloatArray, low: float, high: float) -> FloatArray:
    """Return log(x / low), exact to rounding also where the two hardly differ."""
    if high < low * FARTHEST:
        return np.asarray(np.log1p((x - low) / low), dtype=np.float64)
    return np.asarray(np.log(x) - np.log(low), dtype=np.float64)
