"""Value of one more rating of an item for the decision whether the item is positive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

HORIZON = 5  # ratings that are looked ahead: a single one seldom turns a decision
PRECISIONS = np.geomspace(0.2, 200.0, 61)


def fitted_prior(positive: IntArray, n_ratings: IntArray) -> tuple[float, float]:
    """Return the beta distribution of items' positive shares, of greatest beta-binomial likelihood.

    Parameters
    ----------
    positive, n_ratings : (n,) int arrays
        Positive ratings, and all ratings, of each item.

    Returns
    -------
    a, b : float
        With the pooled share, half a rating added to either side, as its mean.
    """
    from scipy.special import betaln  # noqa: PLC0415 -- takes a while to load

    mean = (positive.sum() + 0.5) / (n_ratings.sum() + 1.0)
    a, b = PRECISIONS * mean, PRECISIONS * (1.0 - mean)
    likelihood = (
        betaln(positive[:, None] + a, (n_ratings - positive)[:, None] + b) - betaln(a, b)
    ).sum(axis=0)
    best = int(likelihood.argmax())
    return float(a[best]), float(b[best])


def value_of_rating(
    positive: IntArray, n_ratings: IntArray, tau: float, prior: tuple[float, float]
) -> FloatArray:
    """Return the expected fall, per rating, of the chance that an item is decided wrongly.

    Parameters
    ----------
    positive, n_ratings : (n,) int arrays
        Positive ratings, and all ratings, of each item.
    tau : float in (0, 1]
        An item is positive where the share of all raters reaches it.
    prior : (float, float)
        Beta distribution of the shares, as of `fitted_prior`.

    Returns
    -------
    (n,) array
        The greatest over the next 1 to 5 ratings.
    """
    counts, place = np.unique(np.stack([positive, n_ratings]), axis=1, return_inverse=True)
    a, b = counts[0] + prior[0], counts[1] - counts[0] + prior[1]
    risk = _risk(a, b, tau)
    gains = [(risk - _risk_after(a, b, tau, r)) / r for r in range(1, HORIZON + 1)]
    return np.asarray(np.maximum(np.max(gains, axis=0), 0.0)[place.ravel()], dtype=np.float64)


def _risk(a: FloatArray, b: FloatArray, tau: float) -> FloatArray:
    """Return the chance that the likelier decision is wrong."""
    from scipy.special import betainc  # noqa: PLC0415 -- takes a while to load

    below = betainc(a, b, tau)
    return np.asarray(np.minimum(below, 1.0 - below), dtype=np.float64)


def _risk_after(a: FloatArray, b: FloatArray, tau: float, n: int) -> FloatArray:
    """Return the expected risk after n more ratings, beta-binomially distributed."""
    from scipy.special import betaln, gammaln  # noqa: PLC0415 -- takes a while to load

    expected = np.zeros(len(a))
    for k in range(n + 1):
        ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        chance = np.exp(ways + betaln(a + k, b + n - k) - betaln(a, b))
        expected += chance * _risk(a + k, b + n - k, tau)
    return expected
