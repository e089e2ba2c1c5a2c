"""Power of the annotator test against one rater, from the binomial distribution."""

from __future__ import annotations

import numpy as np

from harness.stats.alt_test.margin_tests import score_test
from harness.stats.inference.special_functions import bdtr

NEGLIGIBLE = 1e-9  # probability of the numbers of differing items that are left out
LEAST_ITEMS = 10
MOST_ITEMS = 20_000


def power_against_rater(n: int, discordance: float, eps: float, *, level: float = 0.05) -> float:
    """Return the power with which a judge that is as good as a rater passes the score test.

    Parameters
    ----------
    n : int
        Number of items of the rater.
    discordance : float in [0, 1]
        Share of the items on which judge and rater differ in how well they match the other raters.
        Each is closer on half of these items.
    eps : float in (0, 1)
        Margin of the test (Calderon et al. 2025, section 3.1).
    level : float in (0, 1)
        Level of the test, before any adjustment for several raters.

    Returns
    -------
    float
        The power, exact for this test and model.
    """
    differing = np.arange(n + 1)
    chance = np.diff(bdtr(differing, n, discordance), prepend=0.0)
    likely = differing[chance > NEGLIGIBLE]
    most_lost, lost = [], -1
    for d in likely.tolist():  # one more win never hurts, so the search starts at the last result
        lost = _most_lost(n, d, eps, level, lost)
        most_lost.append(lost)
    passes = np.where(np.array(most_lost) >= 0, bdtr(np.array(most_lost), likely, 0.5), 0.0)
    return float(chance[likely] @ passes)


def _most_lost(n: int, differing: int, eps: float, level: float, least: int) -> int:
    """Return how many differing items a judge can lose and still pass, or -1 if it cannot.

    The result is at least ``least``, and at most one more unless ``least`` is -1.
    """
    low, high = least, differing if least < 0 else least + 1
    while low < high:
        lost = (low + high + 1) // 2
        if score_test(n, differing - lost, lost, eps).p <= level:
            low = lost
        else:
            high = lost - 1
    return low


def items_for_power(
    power: float, discordance: float, eps: float, *, level: float = 0.05
) -> int | None:
    """Return the smallest number of items with a given power, or None above 20,000.

    Power rises in steps, so somewhat more items can have slightly less power.
    """
    low, high = LEAST_ITEMS - 1, LEAST_ITEMS
    while power_against_rater(high, discordance, eps, level=level) < power:
        low, high = high, 2 * high
        if high > MOST_ITEMS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if power_against_rater(middle, discordance, eps, level=level) >= power:
            high = middle
        else:
            low = middle
    return high
