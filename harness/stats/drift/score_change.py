"""Change in a metric: confidence sequences, and tests of whether a judge became worse."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import frozen, ratio
from harness.stats.drift.reply_counts import Window
from harness.stats.inference.estimate import Estimate, Interval, exclusions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.reasons import NAReason


BETS = np.array([0.1, 0.2, 0.4, 0.6, 0.8])
BET_SHARES = np.array([0.1, 0.1, 0.2, 0.3, 0.3])
MARGIN_STEP = 0.001
START_TOTAL = 2.1097428012368920  # sum over k > 1 of 1 / (k log^2 k)
EARLY_SHARE = 0.35  # of a start round's weight, for each of its windows with one or two rounds


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ItemScores:
    """Scores of each item's replies per round, for a metric that is a mean over items.

    Attributes
    ----------
    sums : (T + 1, n) array
        Sums of the scores of single replies, each in [0, 1], where higher is better (a loss such as
        the squared error enters as 1 minus itself). Row 0 is the baseline.
    n_replies : (T + 1, n) int array
        Number of replies in each sum; an item with 0 does not enter.

    Raises
    ------
    ValueError
        If the shapes differ or a score lies outside [0, 1].
    """

    sums: FloatArray
    n_replies: IntArray

    def __post_init__(self) -> None:
        sums = np.asarray(self.sums, dtype=np.float64)
        n_replies = np.asarray(self.n_replies)
        if sums.shape != n_replies.shape or sums.ndim != 2:  # noqa: PLR2004 -- rounds and items
            raise ValueError(f"sums has shape {sums.shape} but n_replies has {n_replies.shape}")
        if not ((sums >= 0.0) & (sums <= n_replies + 1e-9)).all():
            raise ValueError("a score is outside [0, 1]; sums must be between 0 and n_replies")
        object.__setattr__(self, "sums", frozen(sums))
        object.__setattr__(self, "n_replies", frozen(n_replies))

    def __repr__(self) -> str:
        return f"ItemScores({self.sums.shape[1]} items, {len(self.sums) - 1} rounds)"

    def changes(self, window: Window) -> FloatArray:
        """Return the change in mean score from baseline to window, for items with both."""
        looks = slice(window.first_look, window.look + 1)
        n_before, n_inside = self.n_replies[0], self.n_replies[looks].sum(axis=0)
        both = (n_before > 0) & (n_inside > 0)
        inside = self.sums[looks].sum(axis=0)[both] / n_inside[both]
        return np.asarray(inside - self.sums[0][both] / n_before[both])


@dataclass(frozen=True, slots=True, repr=False)
class WorsePath:
    """Evidence that the mean score fell by more than a margin.

    Attributes
    ----------
    margin : float
        The null hypothesis: the mean change over items is at least ``-margin``.
    log_e_sums : tuple of float
        For each round, the log of the sum of weights times e-values over all windows so far, from
        every starting round.
    """

    margin: float
    log_e_sums: tuple[float, ...]

    def __repr__(self) -> str:
        return f"WorsePath({len(self.log_e_sums)} looks, margin {self.margin})"

    def first_look_at(self, threshold: float) -> int | None:
        """Return the first round whose sum is at least ``1 / threshold``, or None."""
        bound = -np.log(threshold)
        return next((t for t, value in enumerate(self.log_e_sums, 1) if value >= bound), None)


def worse_path(scores: ItemScores, *, margin: float = 0.0) -> WorsePath:
    """Test after each round whether a judge became worse by more than a margin.

    Parameters
    ----------
    scores : ItemScores
        Baseline and rounds.
    margin : float in [0, 1)
        Tolerated fall in the mean score.

    Returns
    -------
    WorsePath
        Call a judge ``worse`` only if it already changed and `WorsePath.first_look_at` at its own
        share of alpha (`JudgeChange.threshold`) is not None. Both claims about all judges then
        share one alpha.

    Raises
    ------
    ValueError
        If the margin is out of range.

    Notes
    -----
    A window contains the rounds from u to t. Its e-value is the mean over five bets b of ``prod(1 -
    b (z + margin))``, where z is an item's change and b is .1, .2, .4, .6 or .8 divided by ``1 +
    margin``, with the shares .1, .1, .2, .3 and .3. This is valid for sampled items and for fixed
    items with independent replies, without distributional assumptions. The weights, fixed
    beforehand, are ``1 / ((u + 1) log^2(u + 1))`` over its sum, times .35 for the first two rounds
    from u on and ``.6 / (d (d - 1))`` for the d-th. So for a fall in any round, a window begins
    there whose weight is not much less than that of a window from round 1.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, Journal of
    the Royal Statistical Society B 86 (2024), 1-27.

    Examples
    --------
    >>> baseline, round = np.full(50, 5), np.full(50, 1)
    >>> scores = ItemScores(np.array([baseline, 0 * round]), np.array([baseline, round]))
    >>> worse_path(scores, margin=0.1).first_look_at(0.05)
    1
    """
    if not 0.0 <= margin < 1.0:
        raise ValueError(f"margin is {margin}; wanted a number at least 0 and below 1")
    return WorsePath(margin, tuple(_log_e_sums(scores, margin)))


def largest_margin(scores: ItemScores, threshold: float) -> float | None:
    """Return the largest margin that the fall in mean score significantly exceeds.

    Parameters
    ----------
    scores : ItemScores
        Baseline and rounds.
    threshold : float in (0, 1)
        The judge's share of alpha.

    Returns
    -------
    float or None
        Margin in steps of 0.001, rounded down; None if there is no evidence even for margin 0.
    """
    bound = -np.log(threshold)

    def shown(step: int) -> bool:
        sums = _log_e_sums(scores, step * MARGIN_STEP)
        return bool(sums) and sums[-1] >= bound

    steps = range(round(1.0 / MARGIN_STEP))
    n_shown = bisect_left(steps, x=True, key=lambda step: not shown(step))
    return (n_shown - 1) * MARGIN_STEP if n_shown else None


def log_window_weights(look: int) -> FloatArray:
    """Return the log weights of the windows that end in a round, ordered by first round.

    The weights sum to 1 over all windows of all rounds.

    Examples
    --------
    >>> np.exp(log_window_weights(2)).round(4).tolist()
    [0.1726, 0.0458]
    """
    first_look = np.arange(1, look + 1)
    n_looks = look - first_look + 1
    start = START_TOTAL * (first_look + 1) * np.log(first_look + 1) ** 2
    later = 2.0 * (1.0 - 2.0 * EARLY_SHARE) / (n_looks * np.maximum(n_looks - 1.0, 1.0))
    shares = np.where(n_looks <= 2, EARLY_SHARE, later)  # noqa: PLR2004 -- one and two
    return np.asarray(np.log(shares / start))


def log_e_below(
    scores: ItemScores, references: Sequence[FloatArray], *, margin: float = 0.0
) -> float:
    """Return a round's evidence that the mean is below a reference by more than a margin.

    Parameters
    ----------
    scores : ItemScores
        Baseline and rounds; the baseline is not used.
    references : sequence of (n,) array
        Scores of each reference on the items, in [0, 1]; nan if it has none.
    margin : float in [0, 1)
        Tolerated shortfall of the mean.

    Returns
    -------
    float
        Log of weights times e-values of the windows that end in the last round, averaged over the
        references. If the mean is not below any reference by more than the margin, the sum over
        rounds ever reaches ``1 / a`` with a probability of at most ``a``.

    Notes
    -----
    Windows, weights and e-values are as in `worse_path`, with a reference instead of the baseline.
    This is valid for sampled items, whatever the judge's mean on these particular items, and for
    fixed items. With several references, none is selected: a mean of e-values is an e-value.

    Examples
    --------
    >>> looks = np.full((5, 50), 1)
    >>> round(log_e_below(ItemScores(0.2 * looks, looks), [np.full(50, 0.7)]), 1)
    13.0
    """
    look = len(scores.sums) - 1
    log_e = [
        np.logaddexp.reduce(_window_log_e(_beside(scores, reference), look, margin))
        for reference in references
    ]
    return float(np.logaddexp.reduce(log_e) - log(len(references)))


def _beside(scores: ItemScores, reference: FloatArray) -> ItemScores:
    """Replace the baseline with a reference."""
    has_score = np.isfinite(reference)
    return ItemScores(
        np.vstack([np.where(has_score, reference, 0.0), scores.sums[1:]]),
        np.vstack([has_score.astype(np.int64), scores.n_replies[1:]]),
    )


def _log_e_sums(scores: ItemScores, margin: float) -> list[float]:
    log_e_sums = [-np.inf]
    for look in range(1, len(scores.sums)):
        log_e = _window_log_e(scores, look, margin)
        log_e_sums.append(float(np.logaddexp.reduce(np.append(log_e, log_e_sums[-1]))))
    return log_e_sums[1:]


def _window_log_e(scores: ItemScores, look: int, margin: float) -> FloatArray:
    """Return log weighted e-values of the windows that end in a round, ordered by first round."""
    n_before, before = scores.n_replies[0], ratio(scores.sums[0], scores.n_replies[0])
    n_inside = np.cumsum(scores.n_replies[look:0:-1], axis=0)[::-1]
    inside = np.cumsum(scores.sums[look:0:-1], axis=0)[::-1]
    both = (n_inside > 0) & (n_before > 0)
    falls = np.where(both, ratio(inside, n_inside) - before + margin, 0.0)
    return np.asarray(log_window_weights(look) + _log_bets(falls, margin))


def _log_bets(falls: FloatArray, margin: float, n_items: IntArray | int = 1) -> FloatArray:
    """Average the bets on (..., n) changes plus the margin, and return the (...,) logs."""
    log_shares = [
        np.log(share) + (n_items * np.log1p(-bet * falls)).sum(axis=-1)
        for bet, share in zip(BETS / (1.0 + margin), BET_SHARES, strict=True)
    ]
    return np.asarray(np.logaddexp.reduce(log_shares, axis=0))


def log_betting_e_value(changes: FloatArray, margin: float, n_items: IntArray | int = 1) -> float:
    """Return one window's log e-value against a mean change of at least ``-margin``.

    ``changes`` are (n,) in [-1, 1], each for one item or for a given number. With a negative
    margin, the test is whether the mean falls short of that rise.
    """
    return float(_log_bets(changes + margin, margin, n_items))


STEP = 0.001  # step size for the ends


def score_change(scores: ItemScores, look: int, *, alpha: float) -> Estimate:
    """Return a round's change in mean score from the baseline.

    Parameters
    ----------
    scores : ItemScores
        Baseline and rounds.
    look : int
        Round, from 1 to the number of rounds.
    alpha : float in (0, 1)
        Probability that the interval of any round misses the truth.

    Returns
    -------
    Estimate
        Mean over items of the score in the round minus the mean score in the baseline, in [-1, 1].
        The intervals cover the expectation of this difference in all rounds simultaneously with a
        probability of at least ``1 - alpha``. Their ends are rounded outwards to 0.001. NA with
        reason "no_reply_on_either_side" if no item has replies both in the baseline and in the
        round.

    Raises
    ------
    ValueError
        If there is no such round or alpha is out of range.

    Notes
    -----
    Round t has the share ``alpha / (t (t + 1))``, half of it for each end. An end is the farthest
    change that the e-value of `worse_path` for only this round does not reject. This is valid for
    fixed items with independent replies and for sampled items, without distributional assumptions.
    The changes of different rounds can differ.

    References
    ----------
    I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting, Journal of
    the Royal Statistical Society B 86 (2024), 1-27.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.stats.drift.score_change import ItemScores
    >>> baseline, round = np.full(50, 5), np.full(50, 1)
    >>> scores = ItemScores(np.array([baseline, 0 * round]), np.array([baseline, round]))
    >>> change = score_change(scores, 1, alpha=0.05)
    >>> change.value, change.interval.low, change.n_used
    (-1.0, -1.0, 50)
    """
    n_looks = len(scores.sums) - 1
    if not 1 <= look <= n_looks:
        raise ValueError(f"look is {look}; wanted 1 to {n_looks}")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha is {alpha}; wanted a number between 0 and 1")
    changes = scores.changes(Window(look, 1))
    reason: NAReason = "no_reply_on_either_side"
    n_excluded = scores.sums.shape[1] - len(changes)
    interval = None
    if len(changes):
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
        value=float(changes.mean()) if len(changes) else None,
        reason="" if len(changes) else reason,
        interval=interval,
        n_used=len(changes),
        n_excluded=n_excluded,
        excluded=exclusions([(reason, n_excluded)]),
    )


def _upper_end(changes: FloatArray, n_items: IntArray, bound: float) -> float:
    """Return the smallest change such that all larger ones are rejected, or 1 if there is none."""
    n_steps = round(1.0 / STEP)

    def rejected(step: int) -> bool:
        return log_betting_e_value(changes, -step * STEP, n_items) >= bound

    inside = range(1 - n_steps, n_steps)
    return (1 - n_steps + bisect_left(inside, x=True, key=rejected)) * STEP
