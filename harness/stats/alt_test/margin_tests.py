"""Tests of a difference that is -1, 0 or 1 on each item against a margin; exact for few items."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray
from harness.stats.inference.special_functions import gammaln

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray


SMALLEST = 1e-300  # stands for a probability of 0, whose logarithm is finite
TIE = 1e-9  # statistics this close are equal
GRID = 500  # places at which the maximum is looked for before it is refined
CLOSE = 0.9  # local maxima on the grid, as a share of the greatest, that are refined


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Tango's score test with the normal approximation.

    Attributes
    ----------
    statistic : float
        Small values are evidence against H0.
    p_win_restricted : float
        Maximum likelihood estimate of P(win) under P(loss) = P(win) + eps.
    p : float
        Normal approximation.
    """

    statistic: float
    p_win_restricted: float
    p: float


@dataclass(frozen=True, slots=True)
class ExactMarginTest:
    """Test of H0: P(loss) - P(win) >= eps on items that are won, lost or tied.

    Attributes
    ----------
    statistic : float
        Tango's score statistic; small values are evidence against H0.
    p_win_restricted : float
        Maximum likelihood estimate of P(win) under P(loss) = P(win) + eps.
    p_asymptotic : float
        Normal approximation, whose size reaches .086 with few items.
    p_exact : float
        Largest probability under H0 of a statistic this small or smaller.
    """

    statistic: float
    p_win_restricted: float
    p_asymptotic: float
    p_exact: float


def exact_margin_test(n: int, wins: int, losses: int, eps: float) -> ExactMarginTest:
    """Test whether losses exceed wins by less than a margin, without an approximation.

    Parameters
    ----------
    n : int
        Number of items, including ties.
    wins, losses : int
        Number of items that the judge wins and loses.
    eps : float in (0, 1)
        The margin: H0 is P(loss) - P(win) >= eps.

    Returns
    -------
    ExactMarginTest
        ``p_exact`` is the maximum over P(win) in [0, (1 - eps)/2] of the probability of all tables
        whose statistic is at most the observed one.

    Raises
    ------
    ValueError
        If the counts do not fit n, or eps is outside (0, 1).

    References
    ----------
    T. Tango, Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design, Statistics in Medicine 17 (1998), 891-908.
    """
    score = score_test(n, wins, losses, eps)
    lost, won = _tables(n)
    rejected = _score(n, won, lost, eps) <= score.statistic + TIE
    return ExactMarginTest(
        statistic=score.statistic,
        p_win_restricted=score.p_win_restricted,
        p_asymptotic=score.p,
        p_exact=_largest_probability(n, won[rejected], lost[rejected], eps),
    )


def score_test(n: int, wins: int, losses: int, eps: float, *, correction: float = 0.0) -> ScoreTest:
    """Run the test of `exact_margin_test` with the normal approximation.

    Parameters
    ----------
    correction : float, optional
        Items added to the losses for the p-value.

    Raises
    ------
    ValueError
        If the counts do not fit n, or eps is outside (0, 1).
    """
    if min(wins, losses) < 0 or wins + losses > n or n < 1:
        raise ValueError(f"{wins} wins and {losses} losses do not fit {n} items")
    if not 0.0 < eps < 1.0:
        raise ValueError(f"eps is {eps}; wanted a margin between 0 and 1")
    counts = np.array([float(wins)]), np.array([float(losses)])
    statistic = float(_score(n, *counts, eps)[0])
    restricted = float(_restricted(n, *counts, eps)[0])
    spread = sqrt(n * (2.0 * restricted + eps - eps * eps))
    return ScoreTest(statistic, restricted, NormalDist().cdf(statistic + correction / spread))


def _tables(n: int) -> tuple[FloatArray, FloatArray]:
    """Return the losses and wins of every possible table of n items."""
    lost, won = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    possible = lost + won <= n
    return lost[possible], won[possible]


def _restricted(n: int, wins: FloatArray, losses: FloatArray, eps: float) -> FloatArray:
    b = (2.0 * n - losses + wins) * eps - losses - wins
    c = -wins * eps * (1.0 - eps)
    root = np.sqrt(np.maximum(b * b - 8.0 * n * c, 0.0))
    return np.asarray((root - b) / (4.0 * n), dtype=np.float64)


def _score(n: int, wins: FloatArray, losses: FloatArray, eps: float) -> FloatArray:
    p_win = _restricted(n, wins, losses, eps)
    spread = np.sqrt(n * (2.0 * p_win + eps - eps * eps))
    return np.asarray((losses - wins - n * eps) / spread, dtype=np.float64)


def _largest_probability(n: int, won: FloatArray, lost: FloatArray, eps: float) -> float:
    """Maximise over P(win), which has several local maxima, some of them at an end."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 -- takes a while to load

    tied = n - won - lost
    ways = gammaln(n + 1.0) - gammaln(won + 1.0) - gammaln(lost + 1.0) - gammaln(tied + 1.0)

    counts = np.column_stack([lost, won, tied])

    def probability(p_win: FloatArray) -> FloatArray:
        chances = np.array([p_win + eps, p_win, 1.0 - 2.0 * p_win - eps])
        logs = ways[:, None] + counts @ np.log(np.maximum(chances, SMALLEST))
        return np.asarray(np.exp(logs).sum(axis=0), dtype=np.float64)

    grid = np.linspace(0.0, (1.0 - eps) / 2.0, GRID + 1)
    heights = probability(grid)
    best = float(heights.max())
    inner = np.flatnonzero((heights[1:-1] >= heights[:-2]) & (heights[1:-1] >= heights[2:])) + 1
    for i in inner[heights[inner] > CLOSE * best]:
        peak = minimize_scalar(
            lambda p_win: -float(probability(np.array([p_win]))[0]),
            bounds=(grid[i - 1], grid[i + 1]),
            method="bounded",
            options={"xatol": 1e-10},
        )
        best = max(best, -float(peak.fun))
    return min(best, 1.0)
