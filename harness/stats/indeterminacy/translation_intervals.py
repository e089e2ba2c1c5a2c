"""Exact intervals for the entries of F, based on the effective number of units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, frozen
from harness.stats.indeterminacy.translation import F_hat, pairs_by_item
from harness.stats.inference.estimate import share_interval

if TYPE_CHECKING:
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Units


def effective_units(weights: FloatArray) -> FloatArray:
    """Return how many equal units are as informative as units with these (U, V) weights.

    This is the square of the sum divided by the sum of squares (Kish 1965); nan for none.
    """
    squares = (weights**2).sum(axis=0)
    total = weights.sum(axis=0) ** 2
    return np.where(squares > 0, total / np.where(squares > 0, squares, 1.0), np.nan)


def share_intervals(
    shares: FloatArray, n_effective: FloatArray, *, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the (K, V) ends of each share's exact interval, or nan if share or n is undefined."""
    low, high = np.full((2, *shares.shape), np.nan)
    for k, v in np.argwhere(~np.isnan(shares) & (n_effective > 0)).tolist():
        share = float(np.clip(shares[k, v], 0.0, 1.0))
        interval = share_interval(share, float(n_effective[k, v]), level=level)
        low[k, v], high[k, v] = interval.low, interval.high
    return frozen(low), frozen(high)


def F_intervals(table: RatingTable, units: Units, *, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the (K, V) ends of the intervals for `F_hat`.

    Parameters
    ----------
    table : RatingTable
        Paired ratings in ``joint``.
    units : Units
        Independent items, or independent groups of items.
    level : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    low, high : (K, V) array
        nan for a set that is in no pair or has one option, and off the support.

    Notes
    -----
    If all units have the same number of pairs with a set, a unit's pairs count as one, so that the
    interval is valid however similar they are.
    """
    membership = table.space.membership
    weights = np.zeros((units.n_units, membership.shape[1]))
    np.add.at(weights, units.of_item, pairs_by_item(table).sum(axis=1))
    chosen = membership & (membership.sum(axis=0) > 1)  # a set of one option leaves no choice
    n_effective = np.where(chosen, effective_units(weights), np.nan)
    return share_intervals(F_hat(table).F, n_effective, level=level)
