"""Allocation of an error probability over a series of validations: shares and levels.

docs/explanation/error.md proves that no series exceeds its error probability.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from harness.stats.inference.special_functions import ndtri, owens_t

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST = 0.82  # share of alpha for the first validation: 0.041 of 0.05
SCREENING = 0.1  # share for leaving out judges that can't be the best: 0.005
LATER = 0.06  # share for all later validations together: 0.003
COPIES = 0.02  # share for copies of a rater: 0.001
GAIN = 0.8  # share for the gain of a search's winner, which is tested first: 0.04
N_HALVINGS = 30
TINY = 1e-12  # replaces a normal quantile of 0


def share_of_validation(number: int) -> float:
    """Return the share of alpha that a validation in a series uses.

    Parameters
    ----------
    number : int
        Number of the validation; 1 for the first, on items that were never used.

    Returns
    -------
    float
        ``FIRST``, then ``LATER / (number (number - 1))``. The later terms telescope: however many
        there are, their sum is below ``LATER``.

    Raises
    ------
    ValueError
        If the number is below 1.

    Examples
    --------
    >>> [round(share_of_validation(number), 4) for number in (1, 2, 3, 20)]
    [0.82, 0.03, 0.01, 0.0002]
    """
    if number < 1:
        raise ValueError(f"number is {number}; the first validation is 1")
    return FIRST if number == 1 else LATER / (number * (number - 1))


def share_after_gain(*, is_shown: bool) -> float:
    """Return the recommendation's share of the error probability after a gain was tested.

    The gain is always tested at the share ``GAIN`` of the error probability. The recommendation is
    tested at the rest, or at the full error probability if the gain is shown. The probability that
    either claim is wrong then stays within the full error probability. If there is no gain, an
    error needs a rejection in the first test, or in a test at the rest. If there is a gain, only
    the recommendation can be wrong.

    References
    ----------
    B. L. Wiens, A fixed sequence Bonferroni procedure for testing multiple endpoints,
    Pharmaceutical Statistics 2 (2003), 211-215.

    Examples
    --------
    >>> round(share_after_gain(is_shown=False), 2), share_after_gain(is_shown=True)
    (0.2, 1.0)
    """
    return 1.0 if is_shown else 1.0 - GAIN


def level_after(spent: float, earlier: Iterable[tuple[float, float]] = ()) -> float:
    """Return the level for testing a judge again, given the error probability for this test.

    Parameters
    ----------
    spent : float in (0, 1)
        Maximum probability that this test is the first to reject a true null hypothesis.
    earlier : iterable of (float, float)
        Level of each earlier test of the judge, and a lower bound on the correlation between its
        statistic and this one's.

    Returns
    -------
    float
        The highest level c, at least ``spent``, such that for some earlier test ``P(it does not
        reject, this one rejects at c) <= spent`` under the null hypothesis.

    References
    ----------
    K. K. G. Lan, D. L. DeMets, Discrete sequential boundaries for clinical trials, Biometrika 70
    (1983), 659-663. Their boundary uses all earlier tests; the boundary from a single test is never
    higher.

    Examples
    --------
    >>> round(level_after(0.0015, [(0.041, 0.998)]), 3), level_after(0.0015)
    (0.039, 0.0015)
    """
    level = spent
    for before, correlation in earlier:
        level = _raised(level, spent, before, correlation)
    return level


def _raised(level: float, spent: float, before: float, correlation: float) -> float:
    """Return the level that an earlier test allows, or the current level if that is higher."""
    if not (0.0 < before < 1.0 and correlation > 0.0):
        return level
    most = min(before + spent, 1.0)  # first rejections can't exceed the sum
    if correlation >= 1.0:
        return max(level, most)
    low, high = level, most
    if low >= high or _first_rejection(before, low, correlation) > spent:
        return level
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2.0
        is_within = _first_rejection(before, middle, correlation) <= spent
        low, high = (middle, high) if is_within else (low, middle)
    return low


def _first_rejection(earlier: float, level: float, correlation: float) -> float:
    """Return P(Z1 < z1, Z2 >= z2) for two normal statistics tested at these one-sided levels.

    This uses Owen's function (Annals of Mathematical Statistics 27, 1956, 1075-1090).
    """
    h, k = (float(ndtri(tail)) or TINY for tail in (earlier, level))
    spread = sqrt(1.0 - correlation**2)
    parts = owens_t([h, k], [(k / h - correlation) / spread, (h / k - correlation) / spread])
    both = (earlier + level) / 2.0 - float(parts.sum()) - (0.5 if h * k < 0.0 else 0.0)
    return level - both
