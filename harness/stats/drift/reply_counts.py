"""Windows of rounds, a judge's reply counts in them, and the retest flip rate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import IntArray, frozen
from harness.stats.drift.bag_tests import exact_p
from harness.stats.inference.estimate import Estimate, exclusions, share_interval

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.reasons import NAReason


LENGTHS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """Consecutive rounds that are compared with everything before them.

    Attributes
    ----------
    look : int
        The last round of the window, from 1 on.
    length : int
        Number of rounds in it, at most ``look``.
    """

    look: int
    length: int

    @property
    def first_look(self) -> int:
        """Return the window's first round."""
        return self.look - self.length + 1

    @property
    def weight(self) -> float:
        """Return the window's share of the error rate. The shares of all windows sum to 1."""
        look = self.look
        if look == 1:
            return 0.5
        n_short = sum(length < look for length in LENGTHS)
        share = 0.5 if self.length == look else 0.5 / n_short
        return share / (look * (look + 1))


@lru_cache(maxsize=4096)
def windows_of(look: int) -> tuple[Window, ...]:
    """Return the windows that end in a round: all rounds, and the last 1, 2, 4, ..., 64.

    Examples
    --------
    >>> [window.length for window in windows_of(5)]
    [5, 1, 2, 4]
    """
    return (Window(look, look), *(Window(look, m) for m in LENGTHS if m < look))


N_AXES = 3


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReplyCounts:
    """Reply counts for one stream, which is one judge and one elicitation.

    Attributes
    ----------
    categories : tuple of str
        The C categories in a fixed order, which breaks ties: verdicts, response sets (each set is a
        category), and outcomes such as ``invalid``, ``refused`` and ``abstained``. A category that
        first occurs in a later round is appended at the end, which does not change earlier results.
    counts : (T + 1, n, C) int array
        Number of times each of n items got each category: row 0 is the baseline, row t is round t.
    outcomes : frozenset of str
        The categories that are outcomes without a value; see `window_evidence`.

    Raises
    ------
    ValueError
        If a category is repeated, the shape does not fit, or a count is negative or not an integer.

    Notes
    -----
    Missing replies follow the rule of *available replies*: a reply that never arrived (a transport
    error) is left out, and each item enters each window with the replies that it has. An item
    without a reply in the window, or without one before it, adds nothing. This is valid if a
    reply's content does not affect whether it arrives.

    Examples
    --------
    >>> baseline, round = [[2, 0], [1, 1]], [[1, 0], [0, 1]]
    >>> ReplyCounts(("yes", "no"), np.array([baseline, round]))
    ReplyCounts(2 items, 2 categories, 1 rounds)
    """

    categories: tuple[str, ...]
    counts: IntArray
    outcomes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", tuple(self.categories))
        counts = np.asarray(self.counts)
        if len(set(self.categories)) < len(self.categories):
            raise ValueError(
                f"categories {self.categories}: one is repeated; each must be different"
            )
        if counts.ndim != N_AXES or counts.shape[2] != len(self.categories) or not len(counts):
            raise ValueError(
                f"counts has shape {counts.shape}; wanted (looks + 1, items, "
                f"{len(self.categories)}), with the baseline first"
            )
        if not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
            raise ValueError("counts contains negative numbers or non-integers")
        object.__setattr__(self, "counts", frozen(counts.astype(np.int64)))

    def __repr__(self) -> str:
        looks, n, C = self.counts.shape
        return f"ReplyCounts({n} items, {C} categories, {looks - 1} rounds)"

    @property
    def n_looks(self) -> int:
        """Return T, the number of rounds since the baseline."""
        return len(self.counts) - 1

    @property
    def is_outcome(self) -> BoolArray:
        """Return a (C,) mask of the categories that are outcomes."""
        return np.array([category in self.outcomes for category in self.categories], dtype=bool)

    def before(self, window: Window) -> IntArray:
        """Return (n, C) counts of all replies before a window, including the baseline."""
        return np.asarray(self.counts[: window.first_look].sum(axis=0))

    def inside(self, window: Window) -> IntArray:
        """Return (n, C) counts of the replies in a window."""
        return np.asarray(self.counts[window.first_look : window.look + 1].sum(axis=0))


MIN_REPLIES = 2  # one reply shows no noise


@dataclass(frozen=True, slots=True)
class LookFlips:
    """Difference between a round and the baseline. It is descriptive, without an error rate.

    Attributes
    ----------
    flip_rate : Estimate
        Mean over items of the probability that a baseline reply and a reply in the round differ.
    p_value : float
        Exact p-value of this round against only the baseline, not adjusted for other rounds.
    """

    flip_rate: Estimate
    p_value: float


def retest_flip_rate(counts: ReplyCounts) -> Estimate:
    """Estimate how often two replies to the same item differ if the judge is unchanged.

    Parameters
    ----------
    counts : ReplyCounts
        Counts, of which only the baseline is used.

    Returns
    -------
    Estimate
        Mean over items of the share of pairs of baseline replies that differ, with an exact
        interval: exact in its variance for two replies per item, conservative for more. Items with
        fewer than two baseline replies are excluded; NA with reason "fewer_than_two_replies" if
        none remain.

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
    return _mean_share(1.0 - same, used, "fewer_than_two_replies")


def look_flips(counts: ReplyCounts, look: int) -> LookFlips:
    """Describe how a round's replies differ from the baseline.

    Parameters
    ----------
    counts : ReplyCounts
        Baseline and rounds.
    look : int
        Round, from 1 to ``counts.n_looks``.

    Raises
    ------
    ValueError
        If there is no such round.
    """
    if not 1 <= look <= counts.n_looks:
        raise ValueError(f"look is {look}; wanted 1 to {counts.n_looks}")
    baseline, replies = counts.counts[0], counts.counts[look]
    pairs = baseline.sum(axis=1) * replies.sum(axis=1)
    used = pairs > 0
    same = (baseline * replies).sum(axis=1)[used] / pairs[used]
    flip_rate = _mean_share(1.0 - same, used, "no_reply_on_either_side")
    p = float(exact_p((baseline + replies)[None], replies[None])[0])
    return LookFlips(flip_rate, p)


def _mean_share(shares: FloatArray, used: BoolArray, reason: NAReason) -> Estimate:
    n, n_excluded = len(shares), int((~used).sum())
    value = min(max(float(shares.mean()), 0.0), 1.0) if n else None
    return Estimate(
        value=value,
        reason="" if n else reason,
        interval=None if value is None else share_interval(value, n),
        n_used=n,
        n_excluded=n_excluded,
        excluded=exclusions([(reason, n_excluded)]),
    )
