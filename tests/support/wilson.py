"""Wilson's interval of a share, which known answers and score intervals are compared with."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple


class Ends(NamedTuple):
    """Of an interval."""

    low: float
    high: float


def wilson_interval(share: float, n: float, *, level: float = 0.95) -> Ends:
    """Return the ends where the score test of a binomial share is just significant.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22 (1927), 209-212.
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Ends(
        max(0.0, centre - half) if share > 0 else 0.0,
        min(1.0, centre + half) if share < 1 else 1.0,
    )
