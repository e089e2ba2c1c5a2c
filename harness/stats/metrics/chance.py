"""Chance-corrected agreement, for two sides and for many raters."""

from __future__ import annotations

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio, remembered

MIN_FOR_AGREEMENT = 2  # agreement needs a pair


def square(totals: FloatArray) -> FloatArray:
    """Reshape sums of shape (..., K * K) to matrices of shape (..., K, K)."""
    K = round(totals.shape[-1] ** 0.5)
    return totals.reshape(*totals.shape[:-1], K, K)


def both_directions(totals: FloatArray) -> FloatArray:
    """Count each pair of labels in both orders. The shape stays (..., K * K)."""
    cells = square(totals)
    return (cells + np.swapaxes(cells, -1, -2)).reshape(totals.shape)


@remembered
def share_alike(totals: FloatArray) -> FloatArray:
    """Return the observed agreement: the diagonal's share of the total of (..., K * K) cells."""
    return ratio(np.trace(square(totals), axis1=-2, axis2=-1), totals.sum(axis=-1))


def chance_corrected(
    observed: FloatArray, expected: FloatArray, maximum: FloatArray | float = 1.0
) -> FloatArray:
    """Return (observed - expected) / (maximum - expected): 0 at chance, 1 at the maximum.

    nan if chance alone reaches the maximum, that is, if all labels are the same.
    """
    constant = expected >= (1.0 - TOLERANCE) * maximum
    return np.where(constant, np.nan, ratio(observed - expected, maximum - expected))


def above_uniform(observed: FloatArray, n_options: int) -> FloatArray:
    """Return Randolph's kappa (2005), in which chance is a draw among all declared options."""
    return chance_corrected(observed, np.full_like(observed, 1.0 / n_options))


def cohen_kappa(totals: FloatArray) -> FloatArray:
    """Return Cohen's kappa for (..., K * K) cells, human by judge (Cohen 1960)."""
    n, hits, human, judge = margins(totals)
    return chance_corrected(n * hits, np.vecdot(human, judge), n * n)


def scott_pi(totals: FloatArray) -> FloatArray:
    """Return Scott's pi for (..., K * K) cells. Chance agreement pools both margins."""
    n, hits, human, judge = margins(totals)
    pooled = (human + judge) / 2.0
    return chance_corrected(n * hits, np.vecdot(pooled, pooled), n * n)


def alpha(
    n_ratings: FloatArray | float, observed: FloatArray | float, expected: FloatArray | float
) -> FloatArray:
    """Return Krippendorff's alpha from summed squared distances, or nan if all ratings are equal.

    ``n_ratings`` is the number of pairable ratings. ``observed`` contains the distances within
    items, with each pair weighted by 1 / (ratings of its item - 1), and ``expected`` the distances
    between all pairs of ratings. Krippendorff 2011: 1 - (n - 1) D_o / D_e on these sums.
    """
    quotient = ratio(np.asarray(observed), np.asarray(expected))
    return np.asarray(1.0 - (n_ratings - 1.0) * quotient, dtype=np.float64)


def nominal_alpha(label_totals: FloatArray, coincidences: FloatArray) -> FloatArray:
    """Return alpha for the nominal level of measurement.

    It is computed from (..., K) pairable ratings of each option and (...) pairs of equal ratings
    within items, with each item's pairs adding up to its number of ratings.
    """
    n = label_totals.sum(axis=-1)
    expected = n * n - np.vecdot(label_totals, label_totals)
    return alpha(n, n - coincidences, np.where(expected > TOLERANCE * n * n, expected, 0.0))


@remembered
def margins(totals: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return (...) numbers of items and hits, and (..., K) human and judge counts per option."""
    cells = square(totals)
    human, judge = cells.sum(axis=-1), cells.sum(axis=-2)
    return human.sum(axis=-1), totals[..., :: cells.shape[-1] + 1].sum(axis=-1), human, judge
