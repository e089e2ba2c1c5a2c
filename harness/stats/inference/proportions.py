"""Score intervals of proportions."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from harness.stats.inference.estimate import Interval

if TYPE_CHECKING:
    from harness.stats.inference.bootstrap import Unit


def wilson_interval(
    share: float, n: float, *, level: float = 0.95, unit: Unit = "item"
) -> Interval:
    """Return the score interval of a share.

    Parameters
    ----------
    share : float in [0, 1]
        The share that was observed.
    n : float
        Independent units behind it. Where units come in clusters, the number of clusters makes the
        interval hold however alike a cluster's units are.
    level : float in (0, 1)
        Nominal coverage.
    unit : str
        What ``n`` counts.

    Returns
    -------
    interval : Interval
        Within [0, 1], of positive width.

    Raises
    ------
    ValueError
        If ``share`` or ``level`` is out of its range or ``n`` is not positive.

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22 (1927), 209-212.

    Examples
    --------
    >>> interval = wilson_interval(0.0, 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.0, 0.278)
    """
    if not (0 <= share <= 1 and 0 < level < 1 and n > 0):
        raise ValueError(f"share {share}, level {level} and n {n} make no interval")
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = max(0.0, centre - half) if share > 0 else 0.0  # exactly, not but for rounding
    high = min(1.0, centre + half) if share < 1 else 1.0
    return Interval(low, high, level, "wilson", unit)
