"""Intervals for the endorsed share where beta is estimated from raters who gave choice and set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.estimation.two_phase import share_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import FloatArray

N_SHARES = 101  # candidate shares of choices, over which beta is profiled


@dataclass(frozen=True, slots=True)
class PairedBeta:
    """Beta as pairs show it: P(a positive option in the set, given a negative one was chosen).

    Attributes
    ----------
    value : float
        Pairs whose set hides a positive option, of the pairs with a negative choice.
    n_effective : float
        Independent pairs that say as much; fewer than there are where those of an item are alike.
    n_pairs : int
        Pairs with a negative choice.
    """

    value: float
    n_effective: float
    n_pairs: int


def paired_interval(
    statistic: Callable[[FloatArray], FloatArray],
    chosen: tuple[float, float],
    beta: PairedBeta,
    critical: float,
) -> tuple[float, float]:
    """Return the endorsed shares that choices and pairs together do not reject.

    The likelihood is a product: choices tell the share mu who choose a positive option, and pairs
    with a negative choice tell beta. A share mu + beta (1 - mu) is rejected if the statistics of
    both add up to more than the critical value at all mu and beta that give it: the profile, with
    one degree of freedom.

    Parameters
    ----------
    statistic : function
        How much the choices speak against each of (R,) shares mu.
    chosen : (low, high)
        Shares mu that they do not reject alone.
    beta : PairedBeta
        What the pairs say.
    critical : float
        What the sum may reach.
    """
    shares = np.linspace(*chosen, N_SHARES)
    left = np.maximum(critical - statistic(shares), 0.0)
    n = np.full(N_SHARES, beta.n_effective)
    low, high = share_interval(beta.value * n, n, left)
    ends = shares + low * (1.0 - shares), shares + high * (1.0 - shares)
    return float(ends[0].min()), float(ends[1].max())
