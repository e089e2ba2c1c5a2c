"""Selection of items to label, and intervals that are valid whenever labelling stops."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.stats.inference.special_functions import rel_entr
from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray

UNIFORM_SHARE = 0.5  # share of the draw probability that is equal for all items
PRIOR_LABELS = 4.0  # prior labels for the predictable bets, with mean and spread 1/2
CLEARLY = 0.75  # the judge's verdicts are used below this share of the width without them
LARGEST_BET = 0.75
GRID = 2001  # candidate means of a confidence sequence
JUDGE_ALPHA = 0.005  # error probability for the judge's share of the unlabelled items


def draw_probabilities(spread: FloatArray, n_labels: int) -> FloatArray:
    """Return each item's probability of being drawn for labelling.

    Half of it is the same for all items; the other half is proportional to the label's expected
    standard deviation. Labels are then collected where they contain the most information, and no
    probability is so small that the item's weight becomes large (Zrnic and Candes, Active
    statistical inference, 2024).

    Parameters
    ----------
    spread : (N,) array
        Expected standard deviation of each item's label given the judge's verdict; see
        `label_spreads`.
    n_labels : int
        Expected number of labels to collect; at most N.

    Returns
    -------
    probabilities : (N,) array
        Probabilities of independent draws, with the sum ``n_labels``. The weight of a label is the
        inverse of its item's probability.

    Raises
    ------
    ValueError
        If more labels are requested than there are items.
    """
    n = len(spread)
    if n_labels > n:
        raise ValueError(f"{n_labels} labels are requested, but there are only {n} items")
    total = spread.sum()
    active = spread / total if total > 0.0 else np.full(n, 1.0 / n)
    wanted = n_labels * (UNIFORM_SHARE / n + (1.0 - UNIFORM_SHARE) * active)
    certain = np.zeros(n, dtype=bool)
    while (wanted[~certain] > 1.0).any():  # the excess over 1 goes to the other items
        certain |= wanted > 1.0
        rest = n_labels - certain.sum()
        wanted = np.where(certain, 1.0, wanted * rest / wanted[~certain].sum())
    return np.asarray(wanted, dtype=np.float64)


def label_spreads(labels: FloatArray, verdicts: FloatArray, asked: FloatArray) -> FloatArray:
    """Return the expected standard deviation of each item's label given the judge's verdict.

    Parameters
    ----------
    labels, verdicts : (n,) arrays
        Labels and verdicts of labelled items.
    asked : (N,) array
        The judge's verdicts on other items. For a verdict with few or no labels, the standard
        deviation is shrunk towards the standard deviation of all labels, with the weight of one
        label.
    """
    overall = float(labels.var())
    spreads = np.empty(len(asked))
    for verdict in np.unique(asked):
        same = labels[verdicts == verdict]
        squares = float(((same - same.mean()) ** 2).sum()) if same.size else 0.0
        spreads[asked == verdict] = np.sqrt((squares + overall) / (len(same) + 1.0))
    return spreads


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """Intervals that are valid simultaneously at every number of labels.

    Attributes
    ----------
    low, high : (n,) arrays
        Ends of the interval after each label. Intervals never widen.
    level : float
        Probability that all intervals contain the mean.
    """

    low: Annotated[FloatArray, MadeBy("betting")]
    high: Annotated[FloatArray, MadeBy("betting")]
    level: float


def confidence_sequence(
    labels: FloatArray,
    verdicts: FloatArray,
    judge_share: float,
    n_unlabelled: int,
    *,
    level: float = 0.95,
) -> ConfidenceSequence:
    """Return intervals for a share that are valid whenever labelling stops.

    The method bets against each candidate mean (Waudby-Smith and Ramdas, Estimating means of
    bounded random variables by betting, 2024) on the label, or on its correction of the judge's
    verdict, ``(label - w (verdict - judge_share) + w) / (1 + 2 w)`` in [0, 1], where earlier labels
    determine the weight w and the bets. A label's verdict is used if the earlier labels would have
    had a clearly narrower interval with their verdicts, so a judge costs almost nothing if it
    does not help. A small part of the error probability is reserved for the judge's share, which is
    estimated from ``n_unlabelled`` items (Chernoff's inequality).

    Parameters
    ----------
    labels, verdicts : (n,) arrays in [0, 1]
        Values in the order of labelling; items must be drawn at random.
    judge_share : float
        Mean verdict over the unlabelled items.
    n_unlabelled : int
        Number of unlabelled items.
    level : float, optional
        Probability that all intervals contain the population mean.
    """
    alpha = 1.0 - level
    judge_ends = share_bounds(judge_share, n_unlabelled, JUDGE_ALPHA * alpha)
    slack = judge_share - judge_ends[0], judge_ends[1] - judge_share
    threshold = log(2.0 / ((1.0 - JUDGE_ALPHA) * alpha))
    chosen, without, with_judge = (_Wealth(threshold) for _ in range(3))
    low, high = np.empty(len(labels)), np.empty(len(labels))
    history = _History()
    for t, (label, verdict) in enumerate(zip(labels, verdicts, strict=True)):
        is_better = with_judge.width < CLEARLY * without.width
        by_label = without.bet(label, 0.0, 0.0, history, slack)
        difference = verdict - judge_share
        by_judge = with_judge.bet(label, difference, history.weight, history, slack)
        chosen.multiply(by_judge if is_better else by_label)
        low[t], high[t] = chosen.ends
        history.add(label, verdict)
    return ConfidenceSequence(low, high, level)


def share_bounds(share: float, n: int, alpha: float) -> tuple[float, float]:
    """Return an interval for a mean of n values in [0, 1], from Chernoff's inequality.

    Examples
    --------
    >>> tuple(round(float(end), 3) for end in share_bounds(0.02, 2000, 0.005))
    (0.011, 0.033)
    """
    grid = np.linspace(0.0, 1.0, GRID)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = rel_entr(share, grid) + rel_entr(1.0 - share, 1.0 - grid)
    inside = np.flatnonzero(n * divergence <= log(2.0 / alpha))
    if not inside.size:  # between two grid points
        return share, share
    step = grid[1]
    return max(0.0, grid[inside[0]] - step), min(1.0, grid[inside[-1]] + step)


class _Wealth:
    """Wealth from betting against each candidate mean, and the means that remain."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.grid = np.linspace(0.0, 1.0, GRID)
        self.logs = np.zeros((2, GRID))  # for bets that the mean is larger, and smaller
        self.alive = np.ones(GRID, dtype=bool)
        self.ends = 0.0, 1.0

    @property
    def width(self) -> float:
        """Width of the interval."""
        return self.ends[1] - self.ends[0]

    def bet(
        self,
        label: float,
        difference: float,
        weight: float,
        history: _History,
        slack: tuple[float, float],
    ) -> FloatArray:
        """Bet on a label minus the weighted verdict, and return the log winnings."""
        scale = 1.0 + 2.0 * weight
        outcome = (label - weight * difference + weight) / scale
        stake = history.bet(weight, self.threshold)
        won = np.empty_like(self.logs)
        # The judge's share can be wrong by the slack, which moves the mean by weight x slack.
        for side, sign in enumerate((1.0, -1.0)):
            null = (self.grid + weight + sign * weight * slack[side]) / scale
            cap = LARGEST_BET / np.maximum(null if sign > 0.0 else 1.0 - null, 1e-6)
            won[side] = np.log1p(np.minimum(stake, cap) * sign * (outcome - null))
        self.multiply(won)
        return won

    def multiply(self, won: FloatArray) -> None:
        """Add log winnings and drop rejected means. An interval never widens."""
        self.logs += won
        self.alive &= (self.logs < self.threshold).all(axis=0)
        inside = np.flatnonzero(self.alive)
        if inside.size:
            self.ends = float(self.grid[inside[0]]), float(self.grid[inside[-1]])


class _History:
    """Estimates of the judge's weight and the remaining variance, from earlier labels."""

    def __init__(self) -> None:
        self.n = PRIOR_LABELS
        self.sums = PRIOR_LABELS * np.array([0.5, 0.5, 0.5, 0.5, 0.25])  # y, f, y^2, f^2, y f

    def _moments(self) -> tuple[float, float, float]:
        y, f, y2, f2, yf = self.sums / self.n
        return float(y2 - y * y), float(f2 - f * f), float(yf - y * f)

    @property
    def weight(self) -> float:
        _, spread, covariance = self._moments()
        return float(np.clip(covariance / spread, 0.0, 1.0)) if spread > 0.0 else 0.0

    def bet(self, weight: float, threshold: float) -> float:
        label_spread, spread, covariance = self._moments()
        scale = 1.0 + 2.0 * weight
        left = label_spread - 2.0 * weight * covariance + weight**2 * spread
        variance = max(left, 1e-4) / scale**2
        seen = self.n - PRIOR_LABELS + 1.0
        return float(np.sqrt(2.0 * threshold / (variance * seen * log(seen + 2.0))))

    def add(self, label: float, verdict: float) -> None:
        self.n += 1.0
        self.sums += np.array([label, verdict, label**2, verdict**2, label * verdict])
