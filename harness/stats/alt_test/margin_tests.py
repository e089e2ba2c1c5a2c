"""Tests that compare a per-item difference of -1, 0 or 1 with a margin.

Student's t-test and Wilcoxon's signed-rank test follow Calderon et al. (2025), computed from
counts. The other tests are exact for few items.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, IntArray
from harness.stats.inference.special_functions import bdtr, gammaln, ndtr, stdtr

SMALLEST = 1e-300  # replaces a probability of 0, so that its logarithm is finite
TIE = 1e-9  # statistics this close are equal
GRID = 500  # points in the search for the maximum, before refinement
CLOSE = 0.9  # least height of refined local maxima, as a share of the greatest


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
    """Test of H0: P(loss) - P(win) >= eps, on items that are won, lost or tied.

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
    """Test exactly whether losses exceed wins by less than a margin.

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
        raise ValueError(f"{wins} wins and {losses} losses are impossible with {n} items")
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
    """Maximise the probability over P(win). It can have several local maxima, also at the ends."""
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


@dataclass(frozen=True, slots=True)
class StudentTest:
    """One-sided t-test of the null that the mean difference is at least eps.

    Attributes
    ----------
    n : int
        Number of items.
    mean, sd : float
        Mean and standard deviation of the difference; ``sd`` uses n - 1 and is None for a single
        item.
    t : float or None
        None if the differences do not vary.
    p : float or None
        If the differences do not vary, 0 if the mean is below eps, else 1. None for fewer than two
        items.
    """

    n: int
    mean: float
    sd: float | None
    t: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class SignedRankTest:
    """Wilcoxon's signed-rank test of the differences minus eps. The alternative is less.

    Attributes
    ----------
    n : int
        Number of items whose difference is not exactly eps; the rest are dropped.
    w_plus : float
        Sum of the ranks (midranks for ties) of the positive differences.
    p_exact : float
        Share of all sign patterns of these ranks whose sum is at most ``w_plus``.
    p_normal : float or None
        Normal approximation with tie correction, without continuity correction; None for n = 0.
    """

    n: int
    w_plus: float
    p_exact: float
    p_normal: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Moments:
    """Effective n, mean, standard deviation, t and p of weighted differences, in equal shapes."""

    n: FloatArray
    mean: FloatArray
    sd: FloatArray
    t: FloatArray
    p: FloatArray


def one_sided_t(minus: int, zero: int, plus: int, eps: float) -> StudentTest:
    """Test whether the mean of a difference with values -1, 0 and 1 is below a margin.

    Parameters
    ----------
    minus, zero, plus : int
        Number of items on which the difference is -1, 0 and 1.
    eps : float
        The margin.

    Notes
    -----
    Calderon et al. 2025, section 3.3. If the differences do not vary, t is undefined and p follows
    from the mean.

    Examples
    --------
    >>> round(one_sided_t(12, 20, 8, eps=0.1).p, 6)
    0.041079
    """
    n = _check_counts(minus, zero, plus)
    sums = np.array([n, plus - minus, plus + minus, n], dtype=np.float64)[:, None]
    t_test = student(*sums, eps=eps)
    return StudentTest(
        n=n,
        mean=(plus - minus) / n,
        sd=_or_none(t_test.sd[0]),
        t=_or_none(t_test.t[0]),
        p=_or_none(t_test.p[0]),
    )


def student(
    weight: FloatArray,
    total: FloatArray,
    squares: FloatArray,
    weight_squares: FloatArray,
    *,
    eps: float | FloatArray,
    weighted: bool = False,
) -> Moments:
    """Compute one-sided t-tests from sums that all have the same shape.

    Parameters
    ----------
    weight, total, squares, weight_squares : arrays of one shape
        Sums over items of w, w d, w d^2 and w^2, with w the weight and d the difference.
    eps : float or array
        Null: the mean is at least eps. An array is broadcast with the sums.
    weighted : bool
        If False, all weights are 1, and the variance is divided by n - 1. If True, the paper's
        weighted form: the variance is divided by the sum of weights, n is ``weight^2 /
        weight_squares``, and the degrees of freedom, which the paper does not specify, are n - 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        n = weight**2 / weight_squares if weighted else weight
        mean = total / weight
        spread = squares / weight - mean**2
        constant = spread <= TOLERANCE
        sd = np.sqrt(np.where(constant, 0.0, spread if weighted else spread * n / (n - 1.0)))
        t = np.where(constant, np.nan, (mean - eps) * np.sqrt(n) / sd)
        p = np.where(constant, mean >= eps - TOLERANCE, stdtr(n - 1.0, t))
    alone = ~(n > 1.0)  # True also if there is no item, when n is nan
    sd, t, p = (np.where(alone, np.nan, column) for column in (sd, t, p))
    return Moments(n, mean, sd, t, p)


def signed_rank(minus: int, zero: int, plus: int, eps: float) -> SignedRankTest:
    """Test whether differences are below a margin, without assuming normality.

    Parameters
    ----------
    minus, zero, plus : int
        Number of items on which the difference is -1, 0 and 1.
    eps : float in [0, 1)
        The margin.

    Notes
    -----
    The shifted differences have three sizes, so the exact null distribution, given the ranks, is
    that of a weighted sum of three binomial counts.

    Examples
    --------
    >>> signed_rank(3, 10, 4, eps=0.2).w_plus
    50.0
    """
    _check_counts(minus, zero, plus)
    classes = _rank_classes(minus, zero, plus, eps)
    n = sum(ranks.count for ranks in classes)
    doubled = sum(ranks.rank * ranks.count for ranks in classes if ranks.positive)
    return SignedRankTest(
        n=n,
        w_plus=doubled / 2.0,
        p_exact=_exact(classes, doubled),
        p_normal=_normal(classes, doubled) if n else None,
    )


@dataclass(frozen=True, slots=True)
class _TiedRanks:
    """Shifted differences that share one value: twice their midrank, their count and their sign."""

    rank: int
    count: int
    positive: bool


def _rank_classes(minus: int, zero: int, plus: int, eps: float) -> list[_TiedRanks]:
    """Rank |d - eps|. Tied values share a midrank, as happens if eps is 0.5."""
    sizes = [(1.0 + eps, minus, False), (eps, zero, False), (1.0 - eps, plus, True)]
    kept = [row for row in sizes if row[0] > TOLERANCE]
    classes = []
    for size, count, positive in kept:
        below = sum(c for other, c, _ in kept if other < size - TOLERANCE)
        tied = sum(c for other, c, _ in kept if abs(other - size) <= TOLERANCE)
        classes.append(_TiedRanks(2 * below + tied + 1, count, positive))
    return classes


def _exact(classes: list[_TiedRanks], doubled: int) -> float:
    """Return P(sum of rank x Binomial(count, 1/2) <= doubled)."""
    *others, last = sorted(classes, key=lambda ranks: ranks.count)
    chance, left = np.ones(1), np.array([doubled])
    for ranks in others:
        k = np.arange(ranks.count + 1)
        chance = np.multiply.outer(chance, _half(ranks.count, k)).ravel()
        left = np.subtract.outer(left, ranks.rank * k).ravel()
    up_to = bdtr(np.arange(-1.0, last.count + 1.0), last.count, 0.5)  # for -1 and all k
    up_to[0] = 0.0
    below = up_to[np.clip(left // last.rank, -1, last.count) + 1]
    return min(float(chance @ below), 1.0)


def _half(n: int, k: IntArray) -> FloatArray:
    """Return P(Binomial(n, 1/2) = k)."""
    log = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0) - n * np.log(2.0)
    return np.asarray(np.exp(log), dtype=np.float64)


def _normal(classes: list[_TiedRanks], doubled: int) -> float:
    """Approximate the probability of a sum of at most ``doubled``. Midranks correct for ties."""
    mean = sum(ranks.count * ranks.rank for ranks in classes) / 4.0
    variance = sum(ranks.count * ranks.rank**2 for ranks in classes) / 16.0
    return float(ndtr((doubled / 2.0 - mean) / np.sqrt(variance)))


def _check_counts(minus: int, zero: int, plus: int) -> int:
    if min(minus, zero, plus) < 0 or minus + zero + plus < 1:
        raise ValueError(
            f"counts are {(minus, zero, plus)}; wanted non-negative numbers that are not all 0"
        )
    return minus + zero + plus


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
