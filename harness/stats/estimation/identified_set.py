"""Intervals for a share that the data only bound.

Among raters who chose a negative option, a share beta would accept a positive one as well
(guerdan2025, Section 4). The share of raters whose set meets the positive options is then mu + beta
(1 - mu), where mu is the share who choose a positive option.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.estimation.two_phase import share_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import FloatArray

N_HALVINGS = 60
_NORMAL = NormalDist()


def endorsed_share(chosen: float, beta: float) -> float:
    """Convert the share of raters who choose a positive option to the share who accept one."""
    return chosen + beta * (1.0 - chosen)


def share_above(tau: float, low: float, high: float) -> tuple[float, float]:
    """Bound the proportion of items whose share is at least tau, given the mean share.

    A few raters do not determine an item's share, but the mean over items bounds the number of
    items that reach tau (Markov's inequality, from both sides).

    Parameters
    ----------
    tau : float in (0, 1]
        Cut-off.
    low, high : float in [0, 1]
        Ends of an interval for the mean. The bounds have the interval's coverage.

    Examples
    --------
    >>> share_above(0.5, 0.2, 0.3)
    (0.0, 0.6)
    >>> share_above(0.5, 0.75, 0.9)
    (0.5, 1.0)
    """
    least = float(low >= 1.0) if tau >= 1.0 else (low - tau) / (1.0 - tau)
    return max(0.0, least), min(1.0, high / tau)


def partial_critical(width_in_errors: float, level: float) -> float:
    """Return the critical value for an interval that covers each point of an identified set.

    Imbens and Manski, Confidence intervals for partially identified parameters (Econometrica 2004),
    Eq. 7: the c with ``Phi(c + width / error) - Phi(-c) = level``. It ranges from the two-sided
    quantile, if the set is a point, to the one-sided quantile, if the set is wide. The ends are
    ordered by construction, as Stoye (Econometrica 2009) requires for uniform validity.

    Parameters
    ----------
    width_in_errors : float
        Width of the identified set divided by the larger standard error of its ends; not negative.
    level : float in (0, 1)
        Nominal coverage of every point of the set.

    Examples
    --------
    >>> round(partial_critical(0.0, 0.95), 3), round(partial_critical(9.0, 0.95), 3)
    (1.96, 1.645)
    """
    low, high = 0.0, _NORMAL.inv_cdf(0.5 + level / 2.0) + 1.0
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2.0
        covered = _NORMAL.cdf(middle + width_in_errors) - _NORMAL.cdf(-middle)
        low, high = (middle, high) if covered < level else (low, middle)
    return high


def identified_interval(
    interval_at: Callable[[float], tuple[float, float]],
    betas: tuple[float, float],
    level: float,
    *,
    pointwise: bool = True,
) -> tuple[float, float]:
    """Return an interval for the accepting share if only an interval for beta is known.

    Parameters
    ----------
    interval_at : function
        Interval for the share who choose a positive option, at a two-sided level.
    betas : (low, high)
        Interval that certainly contains beta. An estimated interval does not qualify: in that case,
        pass beta's confidence interval at ``1 - a`` here, and ``level + a`` as the level.
    level : float in (0, 1)
        Wanted coverage of every point of the identified set.
    pointwise : bool, optional
        Whether each end can be one-sided if the set is wide. With few labels, intervals miss on one
        side more often than on the other; pass False to cover the whole set instead.

    Returns
    -------
    low, high : float

    Raises
    ------
    ValueError
        If beta does not lie in [0, 1], or its ends are in the wrong order.
    """
    low, high = interval_at(level)
    one_sided = pointwise_level((low, high), betas, level)
    if pointwise:
        low, high = interval_at(one_sided)
    return endorsed_share(low, betas[0]), endorsed_share(high, betas[1])


def pointwise_level(
    interval: tuple[float, float], betas: tuple[float, float], level: float
) -> float:
    """Return the two-sided level at which an interval covers each point of the identified set.

    Parameters
    ----------
    interval : (low, high)
        Interval for the share who choose a positive option, at the wanted level. Its half-width
        determines the standard error of the set's ends.
    betas : (low, high)
        Interval that contains beta.
    level : float in (0, 1)
        Wanted coverage.

    Raises
    ------
    ValueError
        If beta does not lie in [0, 1], or its ends are in the wrong order.
    """
    low_beta, high_beta = betas
    if not 0.0 <= low_beta <= high_beta <= 1.0:
        raise ValueError(f"betas is {list(betas)}; pass two ordered values in [0, 1]")
    low, high = interval
    error = (1.0 - low_beta) * (high - low) / (2.0 * _NORMAL.inv_cdf(0.5 + level / 2.0))
    middle = (low + high) / 2.0
    width = endorsed_share(middle, high_beta) - endorsed_share(middle, low_beta)
    critical = partial_critical(width / error if error > 0.0 else float("inf"), level)
    return 2.0 * _NORMAL.cdf(critical) - 1.0


N_SHARES = 101  # candidate shares of choices, over which beta is profiled


@dataclass(frozen=True, slots=True)
class PairedBeta:
    """Estimate of beta from pairs: P(a positive option in the set | a negative one was chosen).

    Attributes
    ----------
    value : float
        Share of the pairs with a negative choice whose set hides a positive option.
    n_effective : float
        Equivalent number of independent pairs; fewer than ``n_pairs`` if an item's pairs are
        similar.
    n_pairs : int
        Number of pairs with a negative choice.
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
    """Return the accepting shares that choices and pairs do not jointly reject.

    The likelihood is a product: choices determine the share mu who choose a positive option, and
    pairs with a negative choice determine beta. A share mu + beta (1 - mu) is rejected if, for all
    mu and beta that result in it, the two statistics add up to more than the critical value. This
    is the profile likelihood, with one degree of freedom.

    Parameters
    ----------
    statistic : function
        Evidence from the choices against each of (R,) shares mu.
    chosen : (low, high)
        Range of mu that only the choices do not reject.
    beta : PairedBeta
        Estimate from the pairs.
    critical : float
        Critical value for the sum.
    """
    shares = np.linspace(*chosen, N_SHARES)
    left = np.maximum(critical - statistic(shares), 0.0)
    n = np.full(N_SHARES, beta.n_effective)
    low, high = share_interval(beta.value * n, n, left)
    ends = shares + low * (1.0 - shares), shares + high * (1.0 - shares)
    return float(ends[0].min()), float(ends[1].max())
