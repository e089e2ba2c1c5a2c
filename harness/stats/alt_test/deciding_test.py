"""Non-inferiority test of a judge's losses against its wins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from harness.stats.alt_test.margin_tests import exact_margin_test, score_test
from harness.stats.alt_test.rater_comparisons import ScoredPanel
from harness.stats.data.kinds import renumbered
from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.crossed_raters import satterthwaite
from harness.stats.inference.multiple_testing import benjamini_yekutieli, partial_conjunction
from harness.stats.inference.special_functions import bdtr, stdtr, stdtrit
from harness.stats.modes import MadeBy
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.design import AltTestDesign
    from harness.stats.alt_test.panel import Coded, Panel
    from harness.stats.alt_test.rater_comparisons import RaterComparisons
    from harness.stats.data.arrays import FloatArray, IntArray

MOST_EXACT = 60  # most items with an exact p-value
CORRECTION = 0.25  # of an item, for more: size at most 1.04 times any level, 1.15 without
MIN_ITEMS = 10
MIN_FOR_DECIDING_TEST = 2
SMALL_PANEL = 10  # up to this many raters, half of them must be tested, too
ALPHA = 0.05
MIN_GROUPS = 10  # groups with a win or loss; also half of all groups, up to ENOUGH_GROUPS
ENOUGH_GROUPS = 20  # with fewer groups, the simulated size exceeds .07
ROUNDING = 1e-9  # tolerance for rounding in a share of raters
DecidingMethod: TypeAlias = Literal["exact", "score", "cluster_robust"]


@dataclass(frozen=True, slots=True)
class DecidingTest:
    """Test of whether losses exceed wins by less than the margin.

    Attributes
    ----------
    p : float or None
        One-sided p-value of H0: P(loss) - P(win) >= eps; None if undefined.
    method : {"exact", "score", "cluster_robust"}
        Tango's statistic with its exact p-value for up to 60 items and the normal approximation for
        more, or a t-test with CR2 errors if items are grouped.
    n, wins, losses : int
        Number of items, and of the items that the judge wins and loses.
    reason : str
        Reason that ``p`` is None: "too_few_items", or "too_few_groups" with a win or loss (10, and
        half of all groups or 20 of them).
    """

    p: float | None
    method: DecidingMethod
    n: int
    wins: int
    losses: int
    reason: Reason = ""


def deciding_test(
    difference: FloatArray, eps: float, *, groups: IntArray | None = None
) -> DecidingTest:
    """Test H0: E d >= eps. d is 1 if the judge loses, -1 if it wins, and 0 for a tie.

    Parameters
    ----------
    difference : (n,) array of -1, 0 and 1
        Difference d for each item.
    eps : float in [0, 1)
        The cost-benefit margin.
    groups : (n,) int array, optional
        The cluster of each item. Default: items are independent.

    Returns
    -------
    DecidingTest
        The exact test's size is at most its level. The published procedure's t-test and signed-rank
        test reach sizes of .18 and .94 on differences of indicators.
    """
    wins, ties, losses = (int((difference == sign).sum()) for sign in (-1, 0, 1))
    n = wins + ties + losses
    if n < MIN_ITEMS:
        return DecidingTest(None, "exact", n, wins, losses, "too_few_items")
    if groups is not None and len(np.unique(groups)) < n:
        return _clustered(difference, eps, groups, (n, wins, losses))
    if n <= MOST_EXACT or eps == 0.0:
        return DecidingTest(_exact_p(n, wins, losses, eps), "exact", n, wins, losses)
    return DecidingTest(
        score_test(n, wins, losses, eps, correction=CORRECTION).p, "score", n, wins, losses
    )


@lru_cache(maxsize=4096)
def _exact_p(n: int, wins: int, losses: int, eps: float) -> float:
    if eps == 0.0:  # the sign test of discordant items
        return float(bdtr(losses, wins + losses, 0.5)) if wins + losses else 1.0
    return exact_margin_test(n, wins, losses, eps).p_exact


def _clustered(
    difference: FloatArray, eps: float, groups: IntArray, counts: tuple[int, int, int]
) -> DecidingTest:
    n, wins, losses = counts
    estimate = cluster_mean(difference, groups)
    if not wins and not losses and estimate.n_clusters >= MIN_GROUPS:
        p = _exact_p(estimate.n_clusters, 0, 0, eps)  # as if each group were one item
        return DecidingTest(p, "cluster_robust", n, wins, losses)
    n_needed = min(ENOUGH_GROUPS, max(MIN_GROUPS, estimate.n_clusters / 2.0))
    if len(np.unique(groups[difference != 0])) < n_needed:
        return DecidingTest(None, "cluster_robust", n, wins, losses, "too_few_groups")
    statistic = estimate.score_statistic(eps)
    if np.isnan(statistic):  # if all are won, or all lost
        return DecidingTest(float(losses > 0), "cluster_robust", n, wins, losses)
    p = float(stdtr(estimate.degrees_of_freedom, statistic))
    return DecidingTest(p, "cluster_robust", n, wins, losses)


@dataclass(frozen=True, slots=True)
class PanelTest:
    """Test of whether a judge beats at least a given share of a panel's raters.

    Attributes
    ----------
    p : float or None
        One-sided p-value of H0: fewer than ``n_needed`` of the tested raters are beaten; None if
        too little of the panel can be tested.
    n_raters, n_tested, n_needed : int
        Number of raters in the panel, of raters who share at least ten items with the judge, and of
        those that the judge has to beat.
    reason : str
        Reason that ``p`` is None: "no_items", or the reason that most raters could not be tested.
    """

    p: float | None
    n_raters: int
    n_tested: int
    n_needed: int
    reason: Reason = ""


def panel_test(tests: Sequence[DecidingTest], n_raters: int, threshold: float) -> PanelTest:
    """Test whether a judge beats at least a given share of the raters.

    Parameters
    ----------
    tests : sequence of DecidingTest
        Tests of the judge against each rater who shares an item with it.
    n_raters : int
        Number of raters in the panel.
    threshold : float in (0, 1]
        Share of the tested raters that the judge has to beat.

    Returns
    -------
    PanelTest
        Covers raters with at least ten items; a rater with too few groups counts as not beaten. NA
        if the raters with a p-value gave less than half of the ratings, or are fewer than half of a
        panel of at most ten raters.

    References
    ----------
    `partial_conjunction`; its size is simulated in docs/coverage.md.
    """
    enough = [test for test in tests if test.n >= MIN_ITEMS]
    n_needed = max(1, ceil(threshold * len(enough) - ROUNDING))
    defined = [test.n for test in enough if test.p is not None]
    few_ratings = 2 * sum(defined) < sum(test.n for test in tests)
    few_raters = n_raters <= SMALL_PANEL and 2 * len(defined) < n_raters
    if few_ratings or few_raters or not defined:
        reasons = [test.reason for test in tests if test.p is None] or ["no_items"]
        reason = max(sorted(set(reasons)), key=reasons.count)
        return PanelTest(None, n_raters, len(enough), n_needed, reason)
    p = partial_conjunction([1.0 if test.p is None else test.p for test in enough], n_needed)
    return PanelTest(float(p), n_raters, len(enough), n_needed)


@dataclass(frozen=True, slots=True)
class DecidingAnnotatorTest:
    """The alternative annotator test, based on tests that keep their nominal size.

    Attributes
    ----------
    raters : dict of str to DecidingTest
        The judge against each rater.
    panel : PanelTest
        Test of whether it beats at least half of them, or the design's threshold. This test
        decides.
    alpha : float
        Error probability of ``passes``.
    passes : bool or None
        Whether the p-value of ``panel`` is at most ``alpha``; None if undefined.
    untested : tuple of str
        Raters of the panel without a p-value.
    share_beaten : float or None
        Share of the raters with a p-value that the judge beats after Benjamini-Yekutieli, for
        information only. None if no rater could be tested.
    net_wins : float or None
        Mean over raters of the share of items on which the judge does better minus the share on
        which it does worse.
    low, high : float or None
        Interval for the net wins over new items and new raters, within [-1, 1]; None with one
        rater.
    """

    raters: dict[str, DecidingTest]
    panel: PanelTest
    alpha: float
    passes: bool | None
    untested: tuple[str, ...]
    share_beaten: float | None
    net_wins: float | None
    low: Annotated[float | None, MadeBy("crossed")]
    high: Annotated[float | None, MadeBy("crossed")]

    @property
    def counted_as_unbeaten(self) -> tuple[str, ...]:
        """Raters whom ``panel`` counts as not beaten because they have too few groups to test."""
        tests = self.raters
        return tuple(r for r in self.untested if r in tests and tests[r].n >= MIN_ITEMS)


def deciding_annotator_test(
    panel: Panel,
    verdicts: Mapping[str, Hashable] | Coded,
    design: AltTestDesign,
    *,
    groups: IntArray | None = None,
    level: float = 0.95,
    alpha: float = ALPHA,
) -> DecidingAnnotatorTest:
    """Test whether a judge can replace a rater, using tests that keep their nominal size.

    Parameters
    ----------
    panel : Panel
        Ratings from identified raters.
    verdicts : mapping of item to value, or Coded
        The judge's verdicts.
    design : AltTestDesign
        Margin, score, unanswered items and threshold; ``small_n`` does not matter, and weighted
        designs keep the published t-test.
    groups : (n,) int array, optional
        The cluster of each item of the panel. Default: items are independent.
    level : float, optional
        Confidence level of the interval for net wins.
    alpha : float, optional
        Error probability; for the best of J judges, divide it by J.

    Returns
    -------
    DecidingAnnotatorTest
        Results per rater and for the judge.

    Raises
    ------
    ValueError
        If the design is weighted, or the raters are not identified.

    References
    ----------
    Calderon et al. 2025, algorithm 1, with the tests of `deciding_test`, and with `panel_test`
    instead of a count of rejected hypotheses.
    """
    if design.weighting != "none":
        raise ValueError("weighted designs have no exact test; use annotator_test")
    scored = ScoredPanel.of(panel, design)
    comparisons = scored.against(scored.coded(verdicts))
    clusters = None if groups is None else groups[comparisons.item]
    return decided(
        comparisons,
        panel.raters,
        design,
        quality=scored.quality,
        clusters=clusters,
        units=comparisons.item if clusters is None else clusters,
        level=level,
        alpha=alpha,
    )


def decided(
    comparisons: RaterComparisons,
    raters: Sequence[str],
    design: AltTestDesign,
    *,
    quality: FloatArray,
    clusters: IntArray | None,
    units: IntArray,
    level: float,
    alpha: float = ALPHA,
) -> DecidingAnnotatorTest:
    """Build the test for a judge that was compared with every rater.

    Parameters
    ----------
    comparisons : RaterComparisons
        Comparisons without weights.
    raters : m names
        Raters that the judge was compared with.
    design, level, alpha
        As in `deciding_annotator_test`.
    quality : (m,) array
        Quality of the raters.
    clusters : (D,) int array or None
        The cluster of each comparison, if items are clustered.
    units : (D,) int array
        The independent unit of each comparison, for the interval of net wins.
    """
    difference = comparisons.outcome.astype(np.float64) - 1.0
    by_rater = np.argsort(comparisons.rater, kind="stable")
    starts = np.searchsorted(comparisons.rater[by_rater], np.arange(1, len(raters)))
    tests = {}
    for rater, rows in zip(raters, np.split(by_rater, starts), strict=True):
        if len(rows):
            tests[rater] = deciding_test(
                difference[rows],
                design.eps,
                groups=None if clusters is None else clusters[rows],
            )
    panel = panel_test(list(tests.values()), len(raters), design.threshold)
    net_wins, ends = _net_wins(comparisons, difference, units, level)
    return DecidingAnnotatorTest(
        tests,
        panel,
        alpha,
        None if panel.p is None else panel.p <= alpha,
        tuple(rater for rater in raters if rater not in tests or tests[rater].p is None),
        _share_beaten(tests, quality[[raters.index(rater) for rater in tests]], design),
        net_wins,
        *ends,
    )


def _share_beaten(
    tests: Mapping[str, DecidingTest], quality: FloatArray, design: AltTestDesign
) -> float | None:
    p = np.array([test.p for test in tests.values()], dtype=np.float64)
    tested = ~np.isnan(p)
    if not tested.any():
        return None
    rejected = benjamini_yekutieli(p, design.q).rejected[tested]
    return float((quality[tested] * rejected).sum() / quality[tested].sum())


def _net_wins(
    comparisons: RaterComparisons, difference: FloatArray, units: IntArray, level: float
) -> tuple[float | None, tuple[float | None, float | None]]:
    """Return net wins averaged over raters, and their interval over items and raters."""
    if not len(difference):
        return None, (None, None)
    rater, _ = renumbered(comparisons.rater)
    n_ratings = np.bincount(rater).astype(np.float64)
    means = np.bincount(rater, -difference) / n_ratings
    m, n = len(means), float(n_ratings.sum())
    if m < MIN_FOR_DECIDING_TEST:
        return float(means.mean()), (None, None)
    influence = (-difference - means[rater]) / n_ratings[rater] / m  # by rating, on the mean
    unit, n_units = renumbered(units)
    v_items = float((np.bincount(unit, influence) ** 2).sum())
    v_raters = float(((means - means.mean()) ** 2).sum()) / (m * (m - 1.0))
    v_cells = float((influence**2).sum())
    variance, freedom = satterthwaite(
        (v_items, n_units - 1.0), (v_raters, m - 1.0), (v_cells, n - 1.0)
    )
    reach = float(stdtrit(freedom, (1.0 + level) / 2.0)) * float(np.sqrt(variance))
    centre = float(means.mean())
    ends = max(centre - reach, -1.0), min(centre + reach, 1.0)
    return centre, ends if np.isfinite(reach) else (None, None)
