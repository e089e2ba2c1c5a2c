"""Bets against the hypothesis that a judge is worse, while drawing items without replacement.

Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting (Journal of the
Royal Statistical Society B, 2024), in the form without replacement, for items drawn with
probabilities proportional to the range of their loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from harness.stats.data.arrays import FloatArray

PRIOR = 10.0  # weight of the bets' prior, in items
LARGEST_BET = 0.75  # share of the wealth, so that no bet can lose all of it
IMPOSSIBLE = 1.0 + 1e-9  # mean difference that is impossible under the hypothesis
LEAN = 0.2  # prior sum of differences in a strict race, which never bets without one


@dataclass(frozen=True, slots=True)
class Draws:
    """Units of a pool in the order of drawing, and the pool's known properties.

    A unit is an item, or a group of items that is drawn as a whole and whose range and losses are
    sums.

    Attributes
    ----------
    ranges : (n,) array
        Bound on the difference between two judges on each unit. Units are drawn with probabilities
        proportional to it.
    sizes : (n,) array
        Number of items in each unit.
    """

    ranges: FloatArray
    sizes: FloatArray


def draw_order(ranges: FloatArray, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order of the units, drawn with probability proportional to their ranges.

    Parameters
    ----------
    ranges : (n,) array
        Positive weights.
    rng : numpy.random.Generator
        The only source of randomness of a race.

    Returns
    -------
    order : (n,) array of int
        Indices of the units, ordered by exponential waiting times with rates ``ranges``, which is
        successive sampling without replacement.
    """
    return np.argsort(rng.exponential(size=len(ranges)) / ranges, kind="stable")


def log_growth(
    leader: FloatArray, challenger: FloatArray, draws: Draws, *, within: float, lean: float = 0.0
) -> FloatArray:
    """Return the log of the factor by which bets against a hypothesis grow with each unit.

    The hypothesis is that over the whole pool, the leader's mean loss is at least ``within`` above
    the challenger's. Under it, the product of the factors is a nonnegative supermartingale that
    starts at 1, so the probability that it ever reaches 1 / alpha is at most alpha (Ville's
    inequality).

    Parameters
    ----------
    leader, challenger : (t,) arrays
        Losses on the first t units, in the order of ``draws``, in [0, size].
    draws : Draws
        The whole pool, n >= t units.
    within : float
        Difference in means that does not matter.
    lean : float, optional
        Prior sum of the differences.

    Returns
    -------
    log_growth : (t,) array
        Infinite if the hypothesis is impossible, given earlier units.
    """
    t = len(leader)
    gains = challenger - leader
    ranges = draws.ranges[:t]
    y = gains / ranges
    drawn = np.concatenate([[0.0], np.cumsum(gains)])[:t]
    range_left = draws.ranges.sum() - np.concatenate([[0.0], np.cumsum(ranges)])[:t]
    # The least mean of the remaining differences, in units of their ranges, is -offset.
    offset = (within * draws.sizes.sum() + drawn) / range_left
    earlier = np.arange(t) + PRIOR
    mean = (np.concatenate([[lean], y]).cumsum()[:t]) / earlier
    square = np.concatenate([[1.0], y**2]).cumsum()[:t] / earlier
    edge = mean + offset
    variance = square - mean**2
    cap = LARGEST_BET / np.maximum(1.0 - offset, 1e-9)
    bets = np.clip(edge / (variance + edge**2), 0.0, cap)
    return np.where(offset > IMPOSSIBLE, np.inf, np.log1p(bets * (y + offset)))
