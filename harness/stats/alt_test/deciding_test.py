"""The test of a judge's losses against its wins that a decision rests on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

from harness.stats.alt_test.exact_test import exact_margin_test, score_test
from harness.stats.inference.cluster_robust import cluster_mean

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

MOST_EXACT = 100  # items up to which the exact p-value is computed
MIN_ITEMS = 10
MIN_GROUPS = 10  # that hold a win or loss; with fewer the simulated size is above .07
Method: TypeAlias = Literal["exact", "score", "cluster_robust"]


@dataclass(frozen=True, slots=True)
class DecidingTest:
    """Whether losses exceed wins by less than the margin.

    Attributes
    ----------
    p : float or None
        One-sided p-value of H0: P(loss) - P(win) >= eps; None where it is undefined.
    method : {"exact", "score", "cluster_robust"}
        Tango's statistic with its exact p-value up to 100 items, with the normal approximation
        above, or a t-test with CR2 errors where items come in groups.
    n, wins, losses : int
        Items, and those that the judge wins and loses.
    reason : str
        Why ``p`` is None: "too_few_items", or "too_few_groups" with a win or loss.
    """

    p: float | None
    method: Method
    n: int
    wins: int
    losses: int
    reason: str = ""


def deciding_test(
    difference: FloatArray, eps: float, *, groups: IntArray | None = None
) -> DecidingTest:
    """Test H0: E d >= eps, where d is 1 for a loss of the judge, -1 for a win and 0 for a tie.

    Parameters
    ----------
    difference : (n,) array of -1, 0 and 1
        d of each item.
    eps : float in (0, 1)
        The cost-benefit margin.
    groups : (n,) int array, optional
        The cluster of each item. Default: items are independent.

    Returns
    -------
    DecidingTest
        A size of at most the level where it is exact; the t-test and signed-rank test of the
        published procedure reach .18 and .94 on differences of indicators.
    """
    n = len(difference)
    wins, losses = int((difference < 0).sum()), int((difference > 0).sum())
    if n < MIN_ITEMS:
        return DecidingTest(None, "exact", n, wins, losses, "too_few_items")
    if groups is not None and len(np.unique(groups)) < n:
        return _clustered(difference, eps, groups, wins, losses)
    if n <= MOST_EXACT:
        return DecidingTest(_exact_p(n, wins, losses, eps), "exact", n, wins, losses)
    return DecidingTest(score_test(n, wins, losses, eps).p, "score", n, wins, losses)


@lru_cache(maxsize=4096)
def _exact_p(n: int, wins: int, losses: int, eps: float) -> float:
    return exact_margin_test(n, wins, losses, eps).p_exact


def _clustered(
    difference: FloatArray, eps: float, groups: IntArray, wins: int, losses: int
) -> DecidingTest:
    n = len(difference)
    estimate = cluster_mean(difference, groups)
    if not wins and not losses and estimate.n_clusters >= MIN_GROUPS:
        p = _exact_p(estimate.n_clusters, 0, 0, eps)  # as if a group were one item
        return DecidingTest(p, "cluster_robust", n, wins, losses)
    if len(np.unique(groups[difference != 0])) < MIN_GROUPS:
        return DecidingTest(None, "cluster_robust", n, wins, losses, "too_few_groups")
    statistic = estimate.t_statistic(eps)
    if np.isnan(statistic):  # all won, or all lost
        return DecidingTest(float(losses > 0), "cluster_robust", n, wins, losses)
    p = float(stdtr(estimate.degrees_of_freedom, statistic))
    return DecidingTest(p, "cluster_robust", n, wins, losses)
