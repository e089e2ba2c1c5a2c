"""Procedure of the alternative annotator test, and its variants.

Calderon, Reichart and Dror 2025. The test compares the judge with each rater in turn: whose value
agrees better with the item's other raters? The judge wins against a rater if it is at least as good
about as often as the rater, up to a margin eps. ``winning_rate`` (the paper's omega) is the share
of raters that it wins against after the Benjamini-Yekutieli correction. ``advantage`` (rho) is the
mean share of items on which it is at least as good as the rater. Variants differ in margins,
judges, domains and raters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.design import MIN_VOICES, AltTestDesign, check_eps
from harness.stats.alt_test.outcome import AltTest, RaterSums, average, decide
from harness.stats.alt_test.panel import Panel
from harness.stats.alt_test.rater_comparisons import (
    Entering,
    RaterComparisons,
    ScoredPanel,
    Test,
    advantages,
    share_won,
)
from harness.stats.data.arrays import TOLERANCE, FloatArray, frozen
from harness.stats.inference.estimate import Estimate, Exclusion
from harness.stats.inference.multiple_testing import FalseDiscoveries, benjamini_yekutieli
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from harness.stats.alt_test.panel import Coded
    from harness.stats.data.arrays import BoolArray
    from harness.stats.reasons import ExclusionReason


MIN_TESTED = 2  # a t-test needs two items


def annotator_test(
    panel: Panel, verdicts: Mapping[str, Hashable] | Coded, design: AltTestDesign
) -> AltTest:
    """Test whether a judge can replace a rater (Calderon et al. 2025, section 3).

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
        If the rater names are positional, or an argument does not fit the panel.

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
    """Run the annotator test for several judges. P-values are adjusted over each judge's raters.

    Parameters and errors are those of `annotator_test`, with a mapping of judge to verdicts;
    `adjust_jointly` adjusts over all judges.
    """
    return tests_of_each(panel, judges.items(), design)


def tests_of_each(
    panel: Panel,
    judges: Iterable[tuple[str, Mapping[str, Hashable] | Coded]],
    design: AltTestDesign,
) -> dict[str, AltTest]:
    """Run `annotator_tests` with only one judge's verdicts in memory at a time."""
    scored = ScoredPanel.of(panel, design)
    return {
        name: _tested(scored, scored.against(scored.coded(verdicts))) for name, verdicts in judges
    }


def _tested(scored: ScoredPanel, comparisons: RaterComparisons) -> AltTest:
    design = scored.design
    raters = _rater_sums(scored.panel.raters, scored.quality, design, comparisons)
    undecided = _undecided(design, comparisons.entering, raters)
    return decide(undecided, benjamini_yekutieli(undecided.p, design.q))


def _undecided(design: AltTestDesign, entering: Entering, raters: RaterSums) -> AltTest:
    """Build a test with all fields that do not depend on the decisions."""
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
    """Choose the test for a rater with n items. If there is none, return the reason."""
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
    """Return the reason that no rater could be tested."""
    if not raters.raters:
        return "no_items"
    if len(raters.raters) + (0 if design.gold is None else 1) < MIN_VOICES:
        return "too_few_raters"
    if not entering.n_eligible:
        return "no_overlap"
    return "too_few_items" if raters.counts.any() else "no_items"


def _estimate_without_value(entering: Entering, reason: Reason) -> Estimate:
    """Return an estimate without a value but with the number of items used."""
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


RESOLUTION = 1e-9
# Between these margins, signed-rank p-values stay constant, and t-test p-values only fall.
PIECES = ((0.0, 0.0), (0.0, 0.5 - RESOLUTION), (0.5, 0.5), (0.5, 1.0 - RESOLUTION))
HALVINGS = 5  # halvings that are tested together
MAX_PAIRINGS = 100


@dataclass(frozen=True, slots=True)
class EpsPoint:
    """Result at one margin.

    Attributes
    ----------
    eps : float
        The margin.
    winning_rate, advantage : float or None
        None if no rater is tested. The advantage is the same at every margin.
    passes : bool or None
        Whether the winning rate reaches the threshold; None if undefined.
    """

    eps: float
    winning_rate: float | None
    advantage: float | None
    passes: bool | None


def eps_sweep(test: AltTest, eps: Iterable[float]) -> tuple[EpsPoint, ...]:
    """Repeat a test at other margins, using its sums.

    Parameters
    ----------
    test : AltTest
        A test at any margin.
    eps : iterable of float in [0, 1)
        The margins.

    Raises
    ------
    ValueError
        If a margin is out of range: "eps_out_of_range".
    """
    margins = tuple(eps)
    for margin in margins:
        check_eps(margin)
    advantage, least = test.advantage.value, test.threshold - TOLERANCE
    return tuple(
        EpsPoint(margin, None, advantage, None)
        if np.isnan(rate)
        else EpsPoint(margin, rate, advantage, rate >= least)
        for margin, rate in zip(margins, _winning_rates(test, np.array(margins)), strict=True)
    )


def smallest_eps(test: AltTest) -> float | None:
    """Return the smallest margin at which the judge passes.

    Returns
    -------
    float or None
        Accurate to 1e-9 and rounded up, so the judge passes at the returned margin. None if it
        passes at no margin.

    Notes
    -----
    The number of rejections can only grow as p-values fall. The p-value of a t-test falls as the
    margin grows. The p-value of a signed-rank test only changes at 0 and 1/2, where it can jump
    either way.
    """
    passes = _passes(test, np.array([high for _, high in PIECES]))
    piece = next((piece for piece, at_end in zip(PIECES, passes, strict=True) if at_end), None)
    return None if piece is None else _bisect(test, *piece)


def _bisect(test: AltTest, low: float, high: float) -> float:
    """Find the margin from which the judge passes, by bisection with several steps at once."""
    if _passes(test, np.array([low]))[0]:
        return low
    while high - low > RESOLUTION:
        ends = np.array([low, high])
        for _ in range(HALVINGS):
            ends = np.insert(ends, range(1, len(ends)), (ends[:-1] + ends[1:]) / 2.0)
        passes, first, last = _passes(test, ends), 0, len(ends) - 1
        while last - first > 1 and ends[last] - ends[first] > RESOLUTION:
            middle = (first + last) // 2
            first, last = (first, middle) if passes[middle] else (middle, last)
        low, high = ends[[first, last]].tolist()
    return high


def _passes(test: AltTest, margins: FloatArray) -> BoolArray:
    """Return an (E,) mask of the margins at which the judge passes."""
    least = test.threshold - TOLERANCE
    return np.array([rate >= least for rate in _winning_rates(test, margins)], dtype=np.bool_)


def _winning_rates(test: AltTest, margins: FloatArray) -> list[float]:
    """Return the winning rate at each of (E,) margins, or nan if no rater is tested."""
    p, quality = test.rater_sums.p(margins), test.rater_sums.quality
    rates: list[float] = share_won(benjamini_yekutieli(p, test.q).rejected, p, quality).tolist()
    return rates


def adjust_jointly(tests: Mapping[str, AltTest], q: float = 0.05) -> dict[str, AltTest]:
    """Adjust the tests of several judges or domains jointly over all their raters.

    Parameters
    ----------
    tests : mapping of judge or domain to AltTest
        Tests of one or more judges or domains.
    q : float in (0, 1)
        False discovery rate over all tests.

    Returns
    -------
    dict
        The tests with decisions and winning rates under the joint adjustment.

    Raises
    ------
    ValueError
        If there are no tests.

    Notes
    -----
    Calderon et al. 2025, appendix A: five domains of three raters are 15 p-values; the winning rate
    stays one per domain.
    """
    if not tests:
        raise ValueError("tests is empty; pass one or more")
    ends = np.cumsum([len(test.p) for test in tests.values()])[:-1]
    decisions = benjamini_yekutieli(np.concatenate([test.p for test in tests.values()]), q)
    rejected = np.split(decisions.rejected, ends)
    adjusted = np.split(decisions.adjusted, ends)
    n_family = sum(test.n_tested for test in tests.values())
    return {
        name: decide(
            replace(test, q=q),
            FalseDiscoveries(rejected[j], decisions.thresholds, adjusted[j]),
            n_family,
        )
        for j, (name, test) in enumerate(tests.items())
    }


def combine_raters(panel: Panel, teams: Iterable[Sequence[str]]) -> Panel:
    """Combine raters who rated different items into one rater.

    Parameters
    ----------
    panel : Panel
        The ratings.
    teams : iterable of sequences of raters
        Raters to combine; "a" and "b" become "a+b". Other raters are unchanged.

    Raises
    ------
    ValueError
        If a rater is unknown or in two teams, or two of a team rated the same item.
    """
    name = {rater: rater for rater in panel.raters}
    in_teams: set[str] = set()
    for team in teams:
        for rater in team:
            if rater not in name or rater in in_teams:
                raise ValueError(f"teams: rater {rater!r} is unknown or in two teams")
            in_teams.add(rater)
            name[rater] = "+".join(team)
    named = [name[rater] for rater in panel.raters]
    return Panel.of(
        (
            (panel.items[i], named[j], panel.labels[c])
            for i, j, c in zip(
                panel.of_item.tolist(), panel.of_rater.tolist(), panel.code.tolist(), strict=True
            )
        ),
        items=panel.items,
        rater_ids=panel.rater_ids,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedTest:
    """Means over the possible ways to combine raters who rated different items.

    Attributes
    ----------
    winning_rate, advantage : float or None
        Means over the pairings in which they are defined.
    passes_share : float or None
        Share of these pairings in which the judge passes.
    n_pairings : int
        Number of pairings tried, at most 100.
    reason : str
        Reason if there are no pairings, else "".
    """

    winning_rate: float | None
    advantage: float | None
    passes_share: float | None
    n_pairings: int
    reason: Reason


def combined_annotator_test(
    panel: Panel,
    verdicts: Mapping[str, Hashable] | Coded,
    design: AltTestDesign,
    sets: tuple[Sequence[str], Sequence[str]],
    *,
    rng: np.random.Generator,
    max_pairings: int = MAX_PAIRINGS,
) -> CombinedTest:
    """Run the test with combined raters, taken from two sets that rated different items.

    Parameters
    ----------
    panel, verdicts, design
        As in `annotator_test`.
    sets : two sequences of raters
        Each rater in the smaller set is joined with one in the larger; the rest stay single.
    rng : numpy Generator
        Draws pairings when there are more than ``max_pairings``.
    max_pairings : int
        If there are at most this many pairings, all are tried.

    Notes
    -----
    Calderon et al. 2025, appendix A. This increases the number of items per rater, but collecting
    more ratings is better.
    """
    small, large = sorted(map(list, sets), key=len)
    n_pairings = int(np.prod(range(len(large) - len(small) + 1, len(large) + 1), dtype=float))
    if n_pairings <= max_pairings:
        chosen = list(permutations(large, len(small)))
    else:
        chosen = [tuple(rng.permutation(large)[: len(small)]) for _ in range(max_pairings)]
    tests = tuple(
        annotator_test(
            combine_raters(panel, [(a, str(b)) for a, b in zip(small, pairing, strict=True)]),
            verdicts,
            design,
        )
        for pairing in chosen
    )
    defined = [test for test in tests if test.passes is not None]
    return CombinedTest(
        reason="" if defined else tests[0].winning_rate.reason,
        n_pairings=len(tests),
        winning_rate=average(test.winning_rate.value for test in defined),
        advantage=average(test.advantage.value for test in defined),
        passes_share=average(float(bool(test.passes)) for test in defined),
    )
