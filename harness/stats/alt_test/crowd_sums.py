"""Sums of each rater over resamples, and with one unit left out, from sparse matrices.

In a pool of many raters each of whom rated a few items, all work is linear in the number of
ratings. Rows of a matrix are sums by rater, ``k * m + rater`` for the k-th sum of m raters; columns
are the units that are drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scipy.sparse import csr_array

    from harness.stats.inference.bootstrap import Resamples

CELLS = 1 << 21  # numbers held at once: 16 MiB
EXACT = 1 << 24  # whole numbers below this are exact in single precision, which is twice as fast


def sums_by_resample(
    matrices: Sequence[csr_array], resamples: Resamples, n_raters: int
) -> Iterator[tuple[int, slice, FloatArray]]:
    """Yield the sums of each matrix in each resample, some resamples at a time.

    Parameters
    ----------
    matrices : sequence of (P * m, C) sparse arrays
        Of one dtype, in which the sums are added up.
    resamples : Resamples
        Of C units.
    n_raters : int
        m.

    Yields
    ------
    j, at, sums : int, slice, (P, m, b) array
        Which matrix, which resamples, and its sums in these.
    """
    step, start = max(1, CELLS // max(matrices[0].shape)), 0
    for block in resamples.blocks():
        for first in range(0, len(block), step):
            weights: FloatArray = np.ascontiguousarray(
                block[first : first + step].T, dtype=matrices[0].dtype
            )
            at = slice(start, start + weights.shape[1])
            for j, matrix in enumerate(matrices):
                sums = (matrix @ weights).astype(np.float64, copy=False)
                yield j, at, sums.reshape(-1, n_raters, weights.shape[1])
            start = at.stop


def means_left_out(
    matrix: csr_array,
    sums: FloatArray,
    values: FloatArray,
    value: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the mean over raters of a value with each unit left out in turn: (U,).

    Parameters
    ----------
    matrix : (P * m, U) sparse array
        What each unit adds.
    sums : (P, m) array
        Over all units.
    values : (m,) array
        Of these sums; nan for raters who do not enter.
    value : callable
        Sums (P, E) to values (E,), nan where undefined.

    Returns
    -------
    (U,) array
        nan where the value of no rater is defined.
    """
    m = len(values)
    by_unit = matrix.tocoo()
    row, unit = by_unit.coords
    row, rater = np.divmod(row, m)
    pairs, place = np.unique(unit.astype(np.int64) * m + rater, return_inverse=True)
    unit, rater = np.divmod(pairs, m)
    left = sums[:, rater]
    np.subtract.at(left, (row, place), by_unit.data)
    entering = ~np.isnan(values)
    changed = np.where(entering[rater], value(left), np.nan)
    lost = entering[rater] & np.isnan(changed)
    change = np.nan_to_num(changed) - np.nan_to_num(values)[rater]
    total = np.nansum(values) + np.bincount(unit, change, matrix.shape[1])
    n_lost = np.bincount(unit[lost], minlength=matrix.shape[1])
    return ratio(total, entering.sum() - n_lost)
