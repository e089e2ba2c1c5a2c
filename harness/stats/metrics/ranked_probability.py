"""Ranked probability score: how far two distributions on an ordered scale lie apart."""

from __future__ import annotations

import numpy as np

from harness.stats.data.arrays import FloatArray, row_sums
from harness.stats.inference.metric import (
    SquaredDistance,
    average_metric,
    both_rated,
    weighted,
)


def cumulative(shares: FloatArray) -> FloatArray:
    """Return (n, K - 1) shares of answers up to each option but the last, in their order."""
    return np.asarray(np.cumsum(shares, axis=1)[:, :-1], dtype=np.float64)


def ranked_probability_score(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Squared difference of the cumulative shares, averaged over the K - 1 steps: (n, 2).

    0 for equal distributions, 1 for opposite ends of the scale. It knows the order of options,
    which the Jensen-Shannon divergence does not. Epstein 1969, in the form of Murphy 1971.
    """
    steps = cumulative(human) - cumulative(judge)
    return weighted(row_sums(steps**2) / max(steps.shape[1], 1), both_rated(human, judge))


RANKED_PROBABILITY_SCORE = average_metric(
    "ranked_probability_score(s/s)",
    ranked_probability_score,
    ("s", "s"),
    display_name="disagreement with raters on the scale",
    bounds=(0.0, 1.0),
    symmetric=True,
    family="ordinal",
    paper="Epstein 1969; Murphy 1971, divided by K - 1",
    squared=SquaredDistance(cumulative, averaged=True),
)
