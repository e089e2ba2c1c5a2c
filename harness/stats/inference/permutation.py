"""Sums of a permuted variable by the values of another one, many permutations at a time."""

from __future__ import annotations

from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray

CELLS = 1 << 22  # permuted numbers held at once: 32 MiB
MAX_SIZE = 20  # of a group whose orders are counted
BINOMIAL = 6  # what drawing a binomial number costs, in places permuted
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
        n_left = np.full(n_draws, count, dtype=np.int64)
        after = left.sum(axis=1)
        for k in range(left.shape[1]):
            after -= left[:, k]
            drawn = rng.hypergeometric(left[:, k], after, n_left)
            n_left -= drawn
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
        for members in _alike(y, Z, rows):
            sums += _permuted(y[members], Z[members], n_draws, rng)
    return sums


def _alike(y: FloatArray, Z: FloatArray, rows: IntArray) -> list[IntArray]:
    """Split groups of one size, (g, s) items, into those that permute alike."""
    g = len(rows)
    if g == 1:
        return [rows]
    traits = np.hstack([np.sort(y[rows], axis=1), Z[rows].reshape(g, -1)])
    _, kind = np.unique(traits, axis=0, return_inverse=True)
    by_kind = np.argsort(kind.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(kind.ravel()))[:-1]
    kinds = [rows[members] for members in np.split(by_kind, ends)]
    few = [members for members in kinds if not _pays(y[members[0]], len(members))]
    many = [members for members in kinds if _pays(y[members[0]], len(members))]
    return [*many, np.concatenate(few)] if few else many


def _pays(values: FloatArray, n_groups: int) -> bool:
    """Tell whether counting how often each order occurs is quicker than permuting each group."""
    if len(values) > MAX_SIZE:
        return False
    _, counts = np.unique(values, return_counts=True)
    n_orders = factorial(len(values)) // prod(map(factorial, counts.tolist()))
    return n_orders * BINOMIAL <= n_groups * len(values)


def _permuted(y: FloatArray, Z: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Permute y (g, s) within each of g groups and add up its products with Z (g, s, C)."""
    g, size = y.shape
    if g > 1 and _pays(y[0], g):
        orders = np.array(list(_orders(tuple(y[0].tolist()))))
        chances = np.full(len(orders), 1.0 / len(orders))
        return np.asarray(rng.multinomial(g, chances, n_draws) @ (orders @ Z[0]))
    sums = np.empty((n_draws, Z.shape[-1]))
    step = max(1, CELLS // y.size)
    for begin in range(0, n_draws, step):
        b = min(step, n_draws - begin)
        drawn = np.broadcast_to(y, (b, g, size)).copy()
        rng.permuted(drawn, axis=-1, out=drawn)
        sums[begin : begin + b] = drawn.reshape(b, -1) @ Z.reshape(g * size, -1)
    return sums


def _orders(values: tuple[float, ...]) -> Iterator[tuple[float, ...]]:
    """Give every different order of some values."""
    if not values:
        yield ()
    for group_value in sorted(set(values)):
        rest = list(values)
        rest.remove(group_value)
        yield from ((group_value, *others) for others in _orders(tuple(rest)))


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
