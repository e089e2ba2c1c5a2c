"""Weights of items that were sampled with unequal probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray


def inverse_probability_weights(probabilities: FloatArray) -> FloatArray | None:
    """Return how often each item counts to stand for the items it was sampled from.

    Parameters
    ----------
    probabilities : (n,) array in (0, 1]
        Probability with which each item was included.

    Returns
    -------
    (n,) array or None
        1 / probability, with mean 1, so that ratios of weighted sums are Hajek estimates. None
        where all probabilities are equal: the items then count alike.

    Raises
    ------
    ValueError
        If a probability is not above 0 and at most 1.

    References
    ----------
    J. Hajek, comment in V. P. Godambe and D. A. Sprott (eds.), Foundations of Statistical
    Inference, 1971.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if not ((p > 0) & (p <= 1)).all():
        raise ValueError("an inclusion probability is above 0 and at most 1")
    if not len(p) or (p == p[0]).all():
        return None
    return np.asarray(len(p) / p / (1.0 / p).sum(), dtype=np.float64)


def effective_number(weights: FloatArray) -> float:
    """Return how many items of equal weight tell as much about a mean: (sum w)^2 / sum w^2.

    Notes
    -----
    L. Kish, Survey Sampling, 1965: for values that do not depend on the weights.
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def linearized(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return (n,) values whose plain mean is the weighted mean, with its linearised error.

    For equal weights they are the values.
    """
    if (weights == weights[0]).all():
        return values
    mean = float(weights @ values / weights.sum())
    return np.asarray(mean + weights / weights.mean() * (values - mean), dtype=np.float64)
