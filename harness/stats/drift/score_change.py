"""Confidence sequence of the change of a metric."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.drift.windows import Window
from harness.stats.drift.worse import log_betting_e_value
from harness.stats.inference.estimate import Estimate, Exclusion, Interval

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.drift.worse import ItemScores

STEP = 0.001  # of the ends


def score_change(scores: ItemScores, look: int, *, alpha: float) -> Estimate:
    """Return how far the mean score of a look lies from the baseline.

    Parameters
    ----------
    scores : ItemScores
        Baseline and looks.
    look : int
        From 1 to the number of looks.
    alpha : float in (0, 1)
        The chance that the interval of any look misses.

    Returns
    -------
    Estimate
        Mean over items of the score in the look less the mean score in the baseline, in [-1, 1].
        The interval covers the expectation of this difference, at all looks together with a chance
        of at least ``1 - alpha``; its ends are rounded outwards to 0.001. NA with reason
        "no_reply_on_either_side" where no item has replies both in the baseline and in the look.

    Raises
    ------
    ValueError
        If there is no such look or alpha is out of range.

    Notes
    -----
    Look t has the share ``alpha / (t (t + 1))``, half of it for each end. An end is the farthest
    change that the e-value of `worse_path`, of this look alone, does not reject. Valid for
    fixed items with independent replies and for sampled items, without a distributional
    assumption; the changes of different looks may differ.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, Journal of
    the Royal Statistical Society B 86 (2024), 1-27.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.stats.drift.worse import ItemScores
    >>> baseline, look = np.full(50, 5), np.full(50, 1)
    >>> scores = ItemScores(np.array([baseline, 0 * look]), np.array([baseline, look]))
    >>> change = score_change(scores, 1, alpha=0.05)
    >>> change.value, change.interval.low, change.n_used
    (-1.0, -1.0, 50)
    """
    n_looks = len(scores.sums) - 1
    if not 1 <= look <= n_looks:
        raise ValueError(f"look is {look}; wanted 1 to {n_looks}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is {alpha}; wanted a number between 0 and 1")
    changes, reason = scores.changes(Window(look, 1)), "no_reply_on_either_side"
    n_excluded = scores.sums.shape[1] - len(changes)
    excluded = (Exclusion(reason, n_excluded),) if n_excluded else ()
    if not len(changes):
        return Estimate(
            value=None, reason=reason, n_used=0, n_excluded=n_excluded, excluded=excluded
        )
    bound = log(2.0 * look * (look + 1) / alpha)
    different, n_items = np.unique(changes, return_counts=True)
    interval = Interval(
        low=-_upper_end(-different, n_items, bound),
        high=_upper_end(different, n_items, bound),
        level=1.0 - alpha,
        method="betting",
        unit="item",
    )
    return Estimate(
        value=float(changes.mean()),
        interval=interval,
        n_used=len(changes),
        n_excluded=n_excluded,
        excluded=excluded,
    )


def _upper_end(changes: FloatArray, n_items: IntArray, bound: float) -> float:
    """Return the least mean change, in steps, at and above which all are rejected; else 1."""
    low, high = round(-1.0 / STEP), round(1.0 / STEP)
    while high - low > 1:
        middle = (low + high) // 2
        rejected = log_betting_e_value(changes, -middle * STEP, n_items) >= bound
        low, high = (low, middle) if rejected else (middle, high)
    return high * STEP
