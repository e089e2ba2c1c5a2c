"""Sums of a permuted variable by the values of another one, many permutations at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.stats.arrays import BoolArray, FloatArray, IntArray

CELLS = 1 << 22  # permuted numbers held at once: 32 MiB
MAX_TABLE = 400  # cells of a table up to which it is drawn cell by cell


def tabled_sums(
    y: FloatArray, sizes: IntArray, *, n_draws: int, rng: np.random.Generator
) -> FloatArray | None:
    """Permute y over all items and add it up by code: (n_draws, C), or None.

    Parameters
    ----------
    y : (n,) array
        What is permuted.
    sizes : (C,) int array
        How many items have each code.
    n_draws : int
        Permutations.
    rng : numpy Generator
        Draws them.

    Returns
    -------
    (n_draws, C) array or None
        None where y and codes have too many different values for this to be the quick way.

    Notes
    -----
    What is drawn is the table of how often values and codes meet, which given its margins is the
    same in distribution, and whose size does not depend on n.
    """
    values, counts = np.unique(y, return_counts=True)
    if len(values) * len(sizes) > MAX_TABLE:
        return None
    left = np.tile(np.asarray(sizes, dtype=np.int64), (n_draws, 1))
    sums = np.zeros(left.shape)
    for value, count in zip(values[:-1].tolist(), counts[:-1].tolist(), strict=True):
        wanted = np.full(n_draws, count, dtype=np.int64)
        after = left.sum(axis=1)
        for k in range(left.shape[1]):
            after -= left[:, k]
            drawn = rng.hypergeometric(left[:, k], after, wanted)
            wanted -= drawn
            left[:, k] -= drawn
            sums[:, k] += value * drawn
    return np.asarray(sums + values[-1] * left)


def sums_within(
    y: FloatArray, Z: FloatArray, of: IntArray, *, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Permute y within groups and add up its products with Z: (n_draws, C).

    Parameters
    ----------
    y : (n,) array
        What is permuted.
    Z : (n, C) array
        What stays in place.
    of : (n,) int array
        The group of each item.
    n_draws : int
        Permutations.
    rng : numpy Generator
        Draws them.
    """
    order = np.argsort(of, kind="stable")
    first = np.flatnonzero(np.diff(of[order], prepend=-1))
    sizes = np.diff(first, append=len(of))
    mixed = _varies(y[order][:, None], first) & _varies(Z[order], first)
    sums = np.zeros((n_draws, Z.shape[1]))
    still = order[np.repeat(~mixed, sizes)]  # a group alike throughout adds the same always
    sums += y[still] @ Z[still]
    for size in np.unique(sizes[mixed]).tolist():
        rows = order[first[mixed & (sizes == size)][:, None] + np.arange(size)]
        step = max(1, CELLS // rows.size)
        for begin in range(0, n_draws, step):
            b = min(step, n_draws - begin)
            drawn = np.broadcast_to(y[rows], (b, *rows.shape)).copy()
            rng.permuted(drawn, axis=-1, out=drawn)
            sums[begin : begin + b] += drawn.reshape(b, -1) @ Z[rows.ravel()]
    return sums


def _varies(ordered: FloatArray, first: IntArray) -> BoolArray:
    """Return whether any column varies within each group."""
    spread = np.maximum.reduceat(ordered, first) - np.minimum.reduceat(ordered, first)
    return np.asarray((spread > 0).any(axis=1), dtype=np.bool_)


def sums_between(
    per_group: FloatArray, Z: FloatArray, *, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Permute whole groups and add up their products with Z: (n_draws, c, C).

    Parameters
    ----------
    per_group : (G, c) array
        What is permuted, row by row.
    Z : (G, C) array
        What stays in place.
    n_draws : int
        Permutations.
    rng : numpy Generator
        Draws them.
    """
    G = len(per_group)
    step = max(1, CELLS // max(per_group.size, 1))
    parts = []
    for begin in range(0, n_draws, step):
        places = np.broadcast_to(np.arange(G), (min(step, n_draws - begin), G)).copy()
        rng.permuted(places, axis=1, out=places)
        parts.append(np.einsum("bgc,gk->bck", per_group[places], Z, optimize=True))
    return np.concatenate(parts)
