"""Sums of floats that don't depend on the order of the rows."""

from __future__ import annotations

import numpy as np

from harness.stats.data.arrays import FloatArray, IntArray, Summands, blocks

STEPS = (2.0**-10, 2.0**-36, 2.0**-62)  # what numbers are split into multiples of, to be added


N_SUMS = len(STEPS) + 1  # one per step, and that of what is left


SUMMED_CELLS = 1 << 14  # numbers split at once: what stays in the processor's cache


def total(rows: Summands, times: IntArray | None = None) -> FloatArray:
    """Return (d,): the sum of (n, d) rows, identical to the last bit in any order.

    If numbers are near or below 2**-62, or above 2**17, the last bits can depend on the order.

    Parameters
    ----------
    rows : (n, d) array or Rows
        Rows to add up.
    times : (n,) int array, optional
        Number of times each row counts. Default: once.
    """
    sums = np.zeros((N_SUMS, rows.shape[1]))
    for at in blocks(len(rows)):
        sums += sums_by_step(rows[at], None if times is None else times[at])
    return joined_steps(sums)


def weighted_total(rows: Summands, weights: FloatArray) -> FloatArray:
    """Return (d,): `total` of (n, d) rows times (n,) weights; whole weights are counts."""
    whole = np.rint(weights)
    if np.array_equal(whole, weights):
        return total(rows, whole.astype(np.int64))
    return total(weights[:, None] * np.asarray(rows))


def sums_by_step(rows: FloatArray, times: IntArray | None = None) -> FloatArray:
    """Return (4, d): exact sums of (n, d) numbers, split into multiples of each of `STEPS`.

    The sums are exact, because 2**26 numbers below 2**17 need at most the 53 bits of a float. The
    last row is the sum of the remainders, at most 2**-63 of each number.
    """
    n, d = rows.shape
    weights = np.ones(n) if times is None else times.astype(np.float64)
    sums = np.zeros((N_SUMS, d))
    size = max(1, SUMMED_CELLS // max(d, 1))
    for start in range(0, n, size):
        at = slice(start, start + size)
        rest = rows[at].astype(np.float64)
        multiples = np.empty_like(rest)
        for i, step in enumerate(STEPS):
            if not np.count_nonzero(rest):
                break
            np.multiply(rest, 1 / step, out=multiples)
            np.rint(multiples, out=multiples)
            multiples *= step
            sums[i] += weights[at] @ multiples
            rest -= multiples
        sums[-1] += weights[at] @ rest
    return sums


def joined_steps(sums: FloatArray) -> FloatArray:
    """Return (d,): the total of the (4, d) result of `sums_by_step`, added smallest first."""
    return np.asarray(sums[3] + sums[2] + sums[1] + sums[0])
