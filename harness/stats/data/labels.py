"""Summaries of an item's labels: counts, median, mode and agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio, reduced, row_shares
from harness.stats.data.forms import hard

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import Counts, IntArray


def label_counts(labels: ArrayLike, K: int) -> IntArray:
    """Convert (n, m) option indices to (n, K) label counts. Missing labels are nan.

    Raises
    ------
    ValueError
        If labels are not an (n, m) array, or contain a number that is not an option index.
    """
    table = np.asarray(labels)
    if table.ndim != 2:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"labels has shape {table.shape}; wanted (n, m)")
    n = len(table)
    if table.dtype.kind in "bui":
        cells = (option_indices(table, K) + np.arange(0, n * K, K)[:, None]).ravel()
    else:
        rated = ~np.isnan(table)
        cells = option_indices(table[rated], K) + np.nonzero(rated)[0] * K
    return np.bincount(cells, minlength=n * K).reshape(n, K)


def option_indices(labels: Counts, K: int) -> IntArray:
    """Return labels as int64. Raise ValueError if a label is not an index of one of K options."""
    codes = labels.astype(np.int64, copy=False)
    outside = codes.size and codes.view(np.uint64).max() >= K  # negative numbers become huge
    if outside or (labels.dtype.kind == "f" and (codes != labels).any()):
        raise ValueError(f"labels contains a number that is not an option index from 0 to {K - 1}")
    return codes


def numbers_of(scale: ArrayLike | None, K: int) -> FloatArray:
    """Return the options' (K,) numbers, which increase. The default is 1 to K.

    Raises
    ------
    ValueError
        If the options do not have one number each, or they do not increase.
    """
    numbers = np.arange(1.0, K + 1.0) if scale is None else np.asarray(scale, dtype=np.float64)
    if numbers.shape != (K,) or not (np.diff(numbers) > 0).all():
        raise ValueError(f"scale has shape {numbers.shape}; wanted {K} increasing numbers")
    return numbers


def medians(counts: Counts, scale: ArrayLike | None = None) -> FloatArray:
    """Return each item's median label. It is halfway between the two middle labels if they differ.

    Parameters
    ----------
    counts : (n, K) array
        Number of times each option was chosen.
    scale : (K,) numbers, optional
        Increasing numbers for the options; by default 1 to K.

    Returns
    -------
    (n,) array
        Medians; nan if nobody rated the item.
    """
    c = np.asarray(counts)
    numbers = numbers_of(scale, c.shape[1])
    m = c.sum(axis=1, keepdims=True)
    reached = np.cumsum(c, axis=1)
    ones = np.ones(c.shape[1], dtype=np.int64)  # a product is faster than a sum if K is small
    lower, upper = ((reached < place) @ ones for place in ((m + 1) // 2, m // 2 + 1))
    rated = m[:, 0] > 0
    padded = np.append(numbers, np.nan)  # without ratings, no place is reached
    return np.where(rated, (padded[lower] + padded[upper]) / 2.0, np.nan)


def modes(counts: Counts) -> FloatArray:
    """Return each item's most common label as a one-hot row of (n, K), splitting ties evenly.

    Rows are nan if nobody rated the item. `hard` does the same for distributions.
    """
    c = np.asarray(counts, dtype=np.float64)
    return hard(row_shares(c))


def majority_shares(counts: Counts) -> FloatArray:
    """Return the most common label's share as an (n,) array, or nan for items without ratings."""
    c = np.asarray(counts, dtype=np.float64)
    return ratio(c.max(axis=1, initial=0.0), reduced(np.add, c))


def median_shares(
    counts: Counts,
    scale: ArrayLike | None = None,
    *,
    floor: bool = False,
) -> FloatArray:
    """Return (n,) shares of labels that equal the item's median, or nan for items without ratings.

    Parameters
    ----------
    counts, scale
        As in `medians`.
    floor : bool, optional
        Whether to round the median down first, as the code of Elangovan et al. 2025 does. Otherwise
        no label equals a median halfway between two labels.
    """
    c = np.asarray(counts, dtype=np.float64)
    middle = medians(counts, scale)
    if floor:
        middle = np.floor(middle)
    equal = numbers_of(scale, c.shape[1])[None, :] == middle[:, None]
    return ratio(np.where(equal, c, 0.0).sum(axis=1), c.sum(axis=1))


def n_distinct(counts: Counts) -> FloatArray:
    """Return the number of distinct labels as an (n,) array, or nan for items without ratings."""
    different = (np.asarray(counts) > 0).sum(axis=1).astype(np.float64)
    return np.where(different > 0, different, np.nan)
