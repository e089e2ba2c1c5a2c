"""A combination of several confidences that increases with each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.stats.data.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, repr=False)
class CombinedConfidence:
    """A weighted sum of confidences, each converted to its rank among the fitted items.

    Attributes
    ----------
    ordered : dict of str to (k,) array
        The sorted values of each confidence on these items.
    weights : dict of str to float
        Weights of at least 0, so that a higher confidence never lowers the sum.
    """

    ordered: Mapping[str, FloatArray]
    weights: Mapping[str, float]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {weight:.2f}" for name, weight in self.weights.items())
        return f"CombinedConfidence({shown})"

    @classmethod
    def fit(cls, signals: Mapping[str, FloatArray], correct: FloatArray) -> Self:
        """Fit the weights to the correctness of the verdicts by least squares.

        Parameters
        ----------
        signals : mapping of str to (n,) array
            Confidences by name; nan if a verdict has none.
        correct : (n,) array in [0, 1]
            One minus the error of each verdict.
        """
        from scipy.optimize import nnls  # noqa: PLC0415 -- 0.1 s, for several confidences only

        ordered = {name: np.sort(s[~np.isnan(s)]) for name, s in signals.items()}
        ranks = np.column_stack([_ranks(s, ordered[name]) for name, s in signals.items()])
        if not len(correct):
            return cls(ordered, dict.fromkeys(signals, 0.0))
        weights, _ = nnls(ranks - ranks.mean(axis=0), correct - correct.mean())
        return cls(ordered, dict(zip(signals, weights.tolist(), strict=True)))

    def of(self, signals: Mapping[str, FloatArray]) -> FloatArray:
        """Return (n,) combined confidences, or nan for verdicts without any confidence."""
        ranks = {name: _ranks(signals[name], values) for name, values in self.ordered.items()}
        total = np.sum([self.weights[name] * rank for name, rank in ranks.items()], axis=0)
        missing = np.all([np.isnan(signals[name]) for name in ranks], axis=0)
        return np.where(missing, np.nan, total)


def _ranks(values: FloatArray, ordered: FloatArray) -> FloatArray:
    """Return the share of the sorted values that each value reaches, or 0 for nan."""
    places: IntArray = np.searchsorted(ordered, values, side="right")
    return np.where(np.isnan(values), 0.0, places / max(len(ordered), 1))
