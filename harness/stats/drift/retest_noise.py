"""Retest noise: self-contradiction within the baseline, and between baseline and look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stats.drift.bag_tests import exact_p
from harness.stats.inference.estimate import Estimate, Exclusion, wilson_interval

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.drift.reply_counts import ReplyCounts

MIN_REPLIES = 2  # one reply shows no noise


@dataclass(frozen=True, slots=True)
class LookFlips:
    """How a look differs from the baseline; a description, which sets no verdict.

    Attributes
    ----------
    flip_rate : Estimate
        Mean over items of the chance that a baseline reply and a reply of the look differ.
    p_value : float
        Exact p-value of this look against the baseline alone, not adjusted for other looks.
    """

    flip_rate: Estimate
    p_value: float


def retest_flip_rate(counts: ReplyCounts, *, level: float = 0.95) -> Estimate:
    """Estimate how often two replies to the same item differ although nothing changed.

    Parameters
    ----------
    counts : ReplyCounts
        Of which the baseline is used.
    level : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    Estimate
        Mean over items of the share of pairs of baseline replies that differ, with a Wilson
        interval: exact in its variance for two replies per item, conservative for more. Items with
        fewer than two baseline replies are excluded; NA with reason "fewer_than_two_replies" where
        that leaves none.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.stats.drift.reply_counts import ReplyCounts
    >>> retest_flip_rate(ReplyCounts(("yes", "no"), np.array([[[2, 0], [1, 1]]]))).value
    0.5
    """
    baseline = counts.counts[0]
    n = baseline.sum(axis=1)
    used = n >= MIN_REPLIES
    same = (baseline * (baseline - 1)).sum(axis=1)[used] / (n * (n - 1))[used]
    return _mean_share(1.0 - same, used, "fewer_than_two_replies", level)


def look_flips(counts: ReplyCounts, look: int, *, level: float = 0.95) -> LookFlips:
    """Describe how the replies of a look differ from the baseline.

    Parameters
    ----------
    counts : ReplyCounts
        Baseline and looks.
    look : int
        From 1 to ``counts.n_looks``.
    level : float in (0, 1)
        Nominal coverage of the interval of the flip rate.

    Raises
    ------
    ValueError
        If there is no such look.
    """
    if not 1 <= look <= counts.n_looks:
        raise ValueError(f"look is {look}; wanted 1 to {counts.n_looks}")
    baseline, replies = counts.counts[0], counts.counts[look]
    pairs = baseline.sum(axis=1) * replies.sum(axis=1)
    used = pairs > 0
    same = (baseline * replies).sum(axis=1)[used] / pairs[used]
    flip_rate = _mean_share(1.0 - same, used, "no_reply_on_either_side", level)
    p = float(exact_p((baseline + replies)[None], replies[None])[0])
    return LookFlips(flip_rate, p)


def _mean_share(shares: FloatArray, used: BoolArray, reason: str, level: float) -> Estimate:
    n, n_excluded = len(shares), int((~used).sum())
    excluded = (Exclusion(reason, n_excluded),) if n_excluded else ()
    if not n:
        return Estimate(
            value=None, reason=reason, n_used=0, n_excluded=n_excluded, excluded=excluded
        )
    value = min(max(float(shares.mean()), 0.0), 1.0)
    interval = wilson_interval(value, n, level=level)
    return Estimate(
        value=value, interval=interval, n_used=n, n_excluded=n_excluded, excluded=excluded
    )
