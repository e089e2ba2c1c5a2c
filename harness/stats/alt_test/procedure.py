"""Procedure of the alternative annotator test.

Calderon, Reichart and Dror 2025. Each rater in turn is compared with the judge: whose value agrees
better with the item's other raters? The judge wins against a rater if it is at least as good about
as often as the rater, up to a margin eps. ``winning_rate`` (the paper's omega) is the share of
raters it wins against after Benjamini-Yekutieli. ``advantage`` (rho) is the mean share of items on
which it is at least as good as the rater.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.design import MIN_VOICES, AltTestDesign
from harness.stats.alt_test.outcome import AltTest, RaterSums, average, decide
from harness.stats.alt_test.rater_comparisons import (
    Entering,
    RaterComparisons,
    ScoredPanel,
    Test,
    advantages,
)
from harness.stats.data.arrays import FloatArray, frozen
from harness.stats.inference.estimate import Estimate
from harness.stats.inference.item_sums import Exclusion
from harness.stats.inference.multiple_testing import benjamini_yekutieli

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from harness.stats.alt_test.panel import Coded, Panel
    from harness.stats.reasons import ExclusionReason, Reason


MIN_TESTED = 2  # of n items, a t-test needs two


def annotator_test(
    panel: Panel, verdicts: Mapping[str, Hashable] | Coded, design: AltTestDesign
) -> AltTest:
    """Test whether a judge may replace a rater (Calderon et al. 2025, section 3).

    Parameters
    ----------
    panel : Panel
        The ratings, with the names of their raters.
    verdicts : mapping of item to value, or Coded
        The judge's verdicts; items without one, or with None, are unanswered. Pass
        ``panel.coded(verdicts)`` to avoid coding them again for other designs.
    design : AltTestDesign
        Score, margin and variant.

    Returns
    -------
    AltTest
        NA with the reason if no rater can be tested: no_items, too_few_raters, no_overlap,
        too_few_items.

    Raises
    ------
    ValueError
        If the rater names are positional, or an argument doesn't fit the panel.

    Examples
    --------
    >>> from harness.stats import AltTestDesign, Panel
    >>> panel = Panel.of((f"i{i}", r, "ab"[i % 2]) for i in range(40) for r in ("x", "y", "z"))
    >>> design = AltTestDesign(score="accuracy", eps=0.1)
    >>> verdicts = {f"i{i}": "ab"[i % 2] for i in range(40)}
    >>> annotator_test(panel, verdicts, design)
    AltTest(passes, winning rate 1.0, advantage 1.0, 3 raters)
    """
    return annotator_tests(panel, {"": verdicts}, design)[""]


def annotator_tests(
    panel: Panel, judges: Mapping[str, Mapping[str, Hashable] | Coded], design: AltTestDesign
) -> dict[str, AltTest]:
    """Run the annotator test of several judges, each adjusted over its own raters.

    Parameters and errors are those of `annotator_test`, with a mapping of judge to verdicts;
    `adjust_jointly` adjusts over all judges.
    """
    scored = ScoredPanel.of(panel, design)
    return {
        name: _tested(scored, scored.against(scored.coded(verdicts)))
        for name, verdicts in judges.items()
    }


def _tested(scored: ScoredPanel, comparisons: RaterComparisons) -> AltTest:
    design = scored.design
    raters = _rater_sums(scored.panel.raters, scored.quality, design, comparisons)
    undecided = _undecided(design, comparisons.entering, raters)
    return decide(undecided, benjamini_yekutieli(undecided.p, design.q))


def _undecided(design: AltTestDesign, entering: Entering, raters: RaterSums) -> AltTest:
    """Return a test with everything that doesn't depend on the decisions."""
    tested = np.array([test != "" for test in raters.tests], dtype=np.bool_)
    n_tested = int(tested.sum())
    reason: Reason = "" if n_tested else _why_none(design, entering, raters)
    estimate = _estimate_without_value(entering, reason)
    n_answered = entering.n_eligible - entering.n_unanswered
    return AltTest(
        eps=design.eps,
        q=design.q,
        threshold=design.threshold,
        unanswered=design.unanswered,
        winning_rate=estimate,
        advantage=replace(estimate, value=average(advantages(raters.sums)[tested].tolist())),
        wins=0,
        n_tested=n_tested,
        passes=None,
        p=frozen(raters.p(np.array([design.eps]))[0]),
        p_adjusted=np.full(len(raters.tests), np.nan),
        rejected=np.zeros(len(raters.tests), dtype=np.bool_),
        answered_fraction=n_answered / entering.n_eligible if entering.n_eligible else None,
        counts=_counts(design, entering, raters, n_tested),
        warnings=(),
        n_family=n_tested,
        rater_sums=raters,
    )


def _rater_sums(
    raters: tuple[str, ...],
    quality: FloatArray,
    design: AltTestDesign,
    comparisons: RaterComparisons,
) -> RaterSums:
    counts = comparisons.counts(len(raters))
    tests = [_test_of(n, design) for n in counts.sum(axis=1).tolist()]
    return RaterSums(
        raters=raters,
        sums=frozen(comparisons.sums(counts)),
        counts=frozen(counts),
        tests=tuple(test for test, _ in tests),
        reasons=tuple(reason for _, reason in tests),
        quality=frozen(quality),
    )


def _test_of(n: int, design: AltTestDesign) -> tuple[Test, Reason]:
    """Pick the test for a rater with n items, or the reason for none."""
    if n == 0:
        return "", "no_items"
    small = n < design.min_items_per_rater
    if small and design.small_n == "skip":
        return "", "too_few_items"
    if small and design.small_n == "wilcoxon":
        if design.weighting != "none":
            return "", "no_weighted_rank_test"
        return "wilcoxon", ""
    if n < MIN_TESTED:
        return "", "too_few_items"
    return "t", ""


def _counts(
    design: AltTestDesign, entering: Entering, raters: RaterSums, n_tested: int
) -> dict[str, int]:
    expert = 0 if design.expert is None else 1
    return {
        "n_raters": len(raters.raters),
        "n_raters_skipped": len(raters.raters) - expert - n_tested,
        "n_items_with_two_raters": entering.n_eligible,
        "n_items_without_verdict": entering.n_unanswered,
    }


def _why_none(design: AltTestDesign, entering: Entering, raters: RaterSums) -> Reason:
    """Return the reason why no rater could be tested."""
    if not raters.raters:
        return "no_items"
    if len(raters.raters) + (0 if design.gold is None else 1) < MIN_VOICES:
        return "too_few_raters"
    if not entering.n_eligible:
        return "no_overlap"
    return "too_few_items" if raters.counts.any() else "no_items"


def _estimate_without_value(entering: Entering, reason: Reason) -> Estimate:
    """Return an estimate without a value, with the number of items that entered."""
    excluded: dict[ExclusionReason, int] = {
        "too_few_ratings": entering.n_items - entering.n_eligible,
        "judge_unanswered": entering.n_eligible - entering.n_counted,
    }
    return Estimate(
        value=None,
        reason=reason,
        n_used=entering.n_counted,
        n_excluded=entering.n_items - entering.n_counted,
        excluded=tuple(Exclusion(why, n) for why, n in excluded.items() if n),
        ratings_per_item=entering.ratings_per_item,
    )
