"""A permutation test of whether the items' mean depends on a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, ratio

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

N_PERMUTATIONS = 999
FEWEST = 99  # permutations for very many items
CELLS = 1 << 22  # total permuted labels, if there are many items
CELLS_AT_ONCE = 1 << 17  # labels in memory at once


def permutation_p(
    values: FloatArray, labels: IntArray, blocks: IntArray, rng: np.random.Generator
) -> float | None:
    """Return the p-value for equal means by label, permuting labels within blocks.

    Parameters
    ----------
    values : (n,) array
        Values of the items.
    labels : (n,) int array
        Labels from 0; -1 for an item without one, which does not enter.
    blocks : (n,) int array
        Exchangeable items share a number; without groups, all have the same one.
    rng : numpy Generator
        Draws the permutations.

    Returns
    -------
    float or None
        (1 + permutations with at least as large a sum of squares between labels) / (1 + all). None
        if no permutation changes anything, because there is one label in total or in each block.

    Notes
    -----
    The test is exact: without an effect, at most a share alpha of data sets has a p-value of at
    most alpha (E. J. G. Pitman, Significance tests which may be applied to samples from any
    populations, Supplement to the Journal of the Royal Statistical Society 4 (1937), 119-130).
    """
    enters = labels >= 0
    values, labels, blocks = values[enters], labels[enters], blocks[enters]
    order = np.argsort(blocks, kind="stable")
    values, labels, blocks = values[order], labels[order], blocks[order]
    same_block = blocks[1:] == blocks[:-1]
    if not (same_block & (labels[1:] != labels[:-1])).any() or not np.ptp(values):
        return None
    n_permutations = min(N_PERMUTATIONS, max(FEWEST, CELLS // len(values)))
    centred = values - values.mean()
    least = _between(centred, labels[None])[0] * (1.0 - TOLERANCE)
    at_once = max(1, CELLS_AT_ONCE // len(values))
    n_as_large = 0
    for done in range(0, n_permutations, at_once):
        keys = rng.random((min(at_once, n_permutations - done), len(labels)))
        permuted = labels[np.lexsort((keys, np.broadcast_to(blocks, keys.shape)))]
        n_as_large += int(np.count_nonzero(_between(centred, permuted) >= least))
    return (1.0 + n_as_large) / (1.0 + n_permutations)


def _between(centred: FloatArray, labels: IntArray) -> FloatArray:
    """Return (p,) sums of squares between labels, for (n,) centred values and (p, n) labels."""
    n_rows, n_labels = len(labels), int(labels.max()) + 1
    places = (labels + n_labels * np.arange(n_rows)[:, None]).ravel()
    sums = np.bincount(places, np.tile(centred, n_rows), n_rows * n_labels)
    squares = sums.reshape(n_rows, n_labels) ** 2
    counts = np.bincount(labels[0], minlength=n_labels)  # permutations don't change them
    total: FloatArray = np.nansum(ratio(squares, counts), axis=1)
    return total
