"""Which items to label, and intervals that hold whenever labelling stops."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.stats.modes import MadeBy

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray

UNIFORM_SHARE = 0.5  # of the chance of being drawn that every item has alike
PRIOR_LABELS = 4.0  # of the predictable bets: labels of mean and spread 1/2
LARGEST_BET = 0.75
GRID = 2001  # candidate means of a confidence sequence
JUDGE_ALPHA = 0.1  # part of the error probability for the judge's share of the unlabelled items


def draw_probabilities(spread: FloatArray, n_labels: int) -> FloatArray:
    """Return the chance with which each item is drawn for labelling.

    Half of it is alike for all items, half is proportional to the spread of the label that is to be
    expected: labels are then collected where they say most, and no item has a chance so small that
    its weight is large (Zrnic and Candes, Active statistical inference, 2024).

    Parameters
    ----------
    spread : (N,) array
        Expected standard deviation of each item's label around what the judge's verdict says of it;
        see `label_spreads`.
    n_labels : int
        Labels to collect, on average; at most N.

    Returns
    -------
    probabilities : (N,) array
        Each item is drawn independently; they add up to ``n_labels``. The weight of a label is one
        over its item's probability.

    Raises
    ------
    ValueError
        If more labels are wanted than there are items.
    """
    n = len(spread)
    if n_labels > n:
        raise ValueError(f"{n_labels} labels are wanted of {n} items")
    total = spread.sum()
    active = spread / total if total > 0.0 else np.full(n, 1.0 / n)
    wanted = n_labels * (UNIFORM_SHARE / n + (1.0 - UNIFORM_SHARE) * active)
    certain = np.zeros(n, dtype=bool)
    while (wanted[~certain] > 1.0).any():  # what exceeds 1 goes to the others
        certain |= wanted > 1.0
        rest = n_labels - certain.sum()
        wanted = np.where(certain, 1.0, wanted * rest / wanted[~certain].sum())
    return np.asarray(wanted, dtype=np.float64)


def label_spreads(labels: FloatArray, verdicts: FloatArray, asked: FloatArray) -> FloatArray:
    """Return the standard deviation of the label to expect of each item, given its verdict.

    Parameters
    ----------
    labels, verdicts : (n,) arrays
        Of labelled items.
    asked : (N,) array
        The judge's verdicts about other items. Of a verdict with few labels or none, the spread is
        drawn towards that of all labels, as by one label more.
    """
    overall = float(labels.var())
    spreads = np.empty(len(asked))
    for verdict in np.unique(asked):
        found = labels[verdicts == verdict]
        squares = float(((found - found.mean()) ** 2).sum()) if found.size else 0.0
        spreads[asked == verdict] = np.sqrt((squares + overall) / (len(found) + 1.0))
    return spreads


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """Intervals that hold at every number of labels at once.

    Attributes
    ----------
    low, high : (n,) arrays
        After each label. Intervals never widen.
    level : float
        Chance that the mean lies in all of them.
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
    """Return intervals for a share that hold whenever labelling stops.

    Bets against each candidate mean (Waudby-Smith and Ramdas, Estimating means of bounded random
    variables by betting, 2024) on what a label adds to the judge's verdict,
    ``(label - w (verdict - judge_share) + w) / (1 + 2 w)`` in [0, 1], with the weight w and the
    bets fixed by the labels before. A tenth of the error probability is kept for the judge's share,
    which is known from ``n_unlabelled`` items (Hoeffding's inequality).

    Parameters
    ----------
    labels, verdicts : (n,) arrays in [0, 1]
        In the order of labelling; items are drawn at random.
    judge_share : float
        Mean verdict over the unlabelled items.
    n_unlabelled : int
        Their number.
    level : float, optional
        Chance that all intervals hold the mean of the population.
    """
    alpha = 1.0 - level
    slack = float(np.sqrt(log(2.0 / (JUDGE_ALPHA * alpha)) / (2.0 * n_unlabelled)))
    grid = np.linspace(0.0, 1.0, GRID)
    threshold = log(2.0 / ((1.0 - JUDGE_ALPHA) * alpha))
    wealth = np.zeros((2, GRID))  # logarithm of the bets that the mean is larger, and smaller
    alive = np.ones(GRID, dtype=bool)
    low, high = np.empty(len(labels)), np.empty(len(labels))
    history = _History()
    for t, (label, verdict) in enumerate(zip(labels, verdicts, strict=True)):
        weight = history.weight
        scale = 1.0 + 2.0 * weight
        outcome = (label - weight * (verdict - judge_share) + weight) / scale
        # The judge's share may be off by the slack, which moves the mean by weight x slack.
        shift = weight * slack / scale
        bet = history.bet(scale, threshold)
        for side, sign in enumerate((1.0, -1.0)):
            null = (grid + weight) / scale + sign * shift
            cap = LARGEST_BET / np.maximum(null if sign > 0.0 else 1.0 - null, 1e-6)
            wealth[side] += np.log1p(np.minimum(bet, cap) * sign * (outcome - null))
        alive &= (wealth < threshold).all(axis=0)
        inside = np.flatnonzero(alive)
        if inside.size:
            low[t], high[t] = grid[inside[0]], grid[inside[-1]]
        else:
            low[t], high[t] = low[t - 1], high[t - 1]
        history.add(label, verdict)
    return ConfidenceSequence(low, high, level)


class _History:
    """What the labels so far say of the judge's weight and of the spread that is left."""

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

    def bet(self, scale: float, threshold: float) -> float:
        label_spread, spread, covariance = self._moments()
        weight = self.weight
        left = label_spread - 2.0 * weight * covariance + weight**2 * spread
        variance = max(left, 1e-4) / scale**2
        seen = self.n - PRIOR_LABELS + 1.0
        return float(np.sqrt(2.0 * threshold / (variance * seen * log(seen + 2.0))))

    def add(self, label: float, verdict: float) -> None:
        self.n += 1.0
        self.sums += np.array([label, verdict, label**2, verdict**2, label * verdict])
