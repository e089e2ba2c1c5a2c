"""Procedure of the alternative annotator test.

Calderon, Reichart and Dror 2025. Each rater in turn is compared with the judge: whose value aligns
better with the other raters of the item? The judge wins against a rater when it is at least as good
more often than the rater is, but for a margin eps. ``winning_rate`` (the paper's omega) is the
share of raters it wins against after Benjamini-Yekutieli; ``advantage`` (rho) the mean share of
items on which it is at least as good as the rater.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.alt_test.outcome import AltTest, RaterSums, Reason, decide, with_interval
from harness.stats.alt_test.rater_comparisons import (
    EXACT,
    N_OUTCOMES,
    Entering,
    RaterComparisons,
    ScoredPanel,
    Test,
    advantages,
    means_left_out,
    p_values,
    share_won,
    sums_by_resample,
)
from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, Kinds, frozen, ratio
from harness.stats.inference.bootstrap import ALIKE, Resamples, Unit, Units
from harness.stats.inference.estimate import Estimate, Exclusion
from harness.stats.inference.interval_methods import NEED_LEFT_OUT
from harness.stats.inference.multiple_testing import (
    FalseDiscoveries,
    benjamini_yekutieli,
    check_rate,
    rejections,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from harness.stats.alt_test.panel import Coded, Panel
    from harness.stats.alt_test.scoring import Score
    from harness.stats.inference.bootstrap import Resampling

SmallN: TypeAlias = Literal["wilcoxon", "t", "skip"]
Unanswered: TypeAlias = Literal["loss", "exclude"]
Weighting: TypeAlias = Literal["none", "ipw"]

MIN_VOICES = 2  # a rating and something to compare it with


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class AltTestDesign:
    """How the alternative annotator test is done.

    Attributes
    ----------
    score : "accuracy", "neg_rmse", "rank_neg_rmse", a function or a SimilarityTable
        How a value aligns with the other raters'; see `aligner`.
    eps : float in [0, 1)
        Cost-benefit margin: the judge may fall this much behind. The paper takes 0.2 for experts,
        0.15 for skilled raters, 0.1 for crowd workers, 0 against gold labels.
    q : float in (0, 1)
        False discovery rate over the raters.
    small_n : {"wilcoxon", "t", "skip"}
        What is done with a rater of fewer than ``min_items_per_rater`` items: the signed-rank test,
        exact given the ranks (the paper's text); the t-test all the same (its table by criterion);
        or leaving the rater out (its code).
    unanswered : {"loss", "exclude"}
        An item on which the judge gave no verdict is lost to every rater, or left out (as
        published).
    weighting : {"none", "ipw"}
        "ipw" weights each item by the inverse share of its label, the majority of the other raters
        or the reference; a tied majority is split evenly.
    expert : str, optional
        Rater whom the judge and the others are compared with, instead of with each other.
    gold : mapping of item to value, optional
        The right answers, in the expert's place.
    quality : mapping of rater to positive number, optional
        Weighs the other raters in the score and the raters in the winning rate, nothing else.
    min_raters_per_item : int
        Items with fewer ratings (expert and gold included) do not count.
    min_items_per_rater : int
        Fewer are a small n.
    threshold : float in (0, 1]
        The judge passes when its winning rate reaches it.

    Raises
    ------
    ValueError
        If a field is out of range: "eps_out_of_range" for the margin.
    """

    score: Score
    eps: float
    q: float = 0.05
    small_n: SmallN = "wilcoxon"
    unanswered: Unanswered = "loss"
    weighting: Weighting = "none"
    expert: str | None = None
    gold: Mapping[str, Hashable] | None = None
    quality: Mapping[str, float] | None = None
    min_raters_per_item: int = MIN_VOICES
    min_items_per_rater: int = 30
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_eps(self.eps)
        check_rate(self.q)
        _check_choice("small_n", self.small_n, ("wilcoxon", "t", "skip"))
        _check_choice("unanswered", self.unanswered, ("loss", "exclude"))
        _check_choice("weighting", self.weighting, ("none", "ipw"))
        if self.expert is not None and self.gold is not None:
            raise ValueError("expert and gold are both given; wanted one to compare with")
        if self.min_raters_per_item < MIN_VOICES:
            raise ValueError(f"min_raters_per_item is {self.min_raters_per_item}; wanted 2 or more")
        if not 0.0 < self.threshold <= 1.0:
            raise ValueError(f"threshold is {self.threshold!r}; a winning rate is above 0, up to 1")
        if self.weighting == "ipw" and callable(self.score):
            raise ValueError(
                "weighting is 'ipw', which needs classes, but the score takes any text"
            )

    def __repr__(self) -> str:
        return f"AltTestDesign({self.score!r}, eps {self.eps}, q {self.q})"


def check_eps(eps: float) -> None:
    """Refuse a margin outside [0, 1)."""
    if not 0.0 <= eps < 1.0:
        raise ValueError(f"eps_out_of_range: eps is {eps!r}; wanted at least 0 and less than 1")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; wanted one of {choices}")


MIN_TESTED = 2  # of n items, a t-test needs two
MIN_RATERS = 2  # voices: raters, and the gold labels where there are any
DENSE = 4  # cells of an item-by-rater table per comparison, up to which alike items are looked for


def annotator_test(
    panel: Panel,
    verdicts: Mapping[str, Hashable] | Coded,
    design: AltTestDesign,
    *,
    resampling: Resampling,
) -> AltTest:
    """Test whether a judge may take a rater's place.

    Parameters
    ----------
    panel : Panel
        The ratings, with the names of those who gave them.
    verdicts : mapping of item to value, or Coded
        The judge's; an item without one, or with None, is unanswered. ``panel.coded(verdicts)``
        saves coding them again for another design.
    design : AltTestDesign
        Score, margin and variant.
    resampling : Resampling
        How intervals are made, with one group per item of the panel; that of the winning rate is
        of percentiles.

    Returns
    -------
    AltTest
        NA with the reason where no rater can be tested: no_items, too_few_raters, no_overlap,
        too_few_items.

    Raises
    ------
    ValueError
        If the rater names are positional, or an argument does not fit the panel.

    Examples
    --------
    >>> from harness.stats import AltTestDesign, Panel, Resampling
    >>> panel = Panel.of((f"i{i}", r, "ab"[i % 2]) for i in range(40) for r in ("x", "y", "z"))
    >>> design = AltTestDesign(score="accuracy", eps=0.1)
    >>> verdicts = {f"i{i}": "ab"[i % 2] for i in range(40)}
    >>> resampling = Resampling(rng=np.random.default_rng(0))
    >>> annotator_test(panel, verdicts, design, resampling=resampling)
    AltTest(passes, winning rate 1.0, advantage 1.0, 3 raters)
    """
    tests = annotator_tests(
        panel,
        {"": verdicts},
        design,
        resampling=resampling,
    )
    return tests[""]


def annotator_tests(
    panel: Panel,
    judges: Mapping[str, Mapping[str, Hashable] | Coded],
    design: AltTestDesign,
    *,
    resampling: Resampling,
) -> dict[str, AltTest]:
    """Test several judges on the same resamples, each adjusted over its raters alone.

    Parameters and errors are those of `annotator_test`, with a mapping of judge to verdicts;
    `adjust_jointly` adjusts over all judges.
    """
    scored = ScoredPanel.of(panel, design)
    units = resampling.units(len(panel.items))
    return tests_of_comparisons(
        {name: scored.against(scored.coded(verdicts)) for name, verdicts in judges.items()},
        panel.raters,
        design,
        quality=scored.quality,
        resampling=resampling,
        units=units,
        resamples=resampling.draw(units),
    )


def tests_of_comparisons(
    judges: Mapping[str, RaterComparisons],
    raters: tuple[str, ...],
    design: AltTestDesign,
    *,
    quality: FloatArray,
    resampling: Resampling,
    units: Units,
    resamples: Resamples,
) -> dict[str, AltTest]:
    """Test judges that were compared with every rater.

    Parameters
    ----------
    judges : mapping of str to RaterComparisons
        By judge.
    raters : m names
        Whom they were compared with.
    design, resampling
        As in `annotator_tests`.
    quality : (m,) array
        Of the raters.
    units, resamples : Units, Resamples
        Of the items of the comparisons.
    """
    comparisons = list(judges.values())
    rater_sums = [_rater_sums(raters, quality, design, judge) for judge in comparisons]
    replicates = _replicates(design, comparisons, rater_sums, units, resamples)
    p, mean_advantages = _on_data(rater_sums, design.eps)
    decisions = benjamini_yekutieli(p, design.q)
    results = {}
    for j, name in enumerate(judges):
        test = _undecided(
            design,
            comparisons[j].entering,
            rater_sums[j],
            resampling.level,
            units.kind,
            p=p[j],
        )
        left_out = np.empty(0)
        if resampling.method in NEED_LEFT_OUT:
            left_out = _advantages_left_out(comparisons[j], rater_sums[j], units)
        advantage = with_interval(
            test.advantage,
            np.append(mean_advantages[j], replicates.advantages[j]),
            resampling.level,
            unit=units.kind,
            n_units=min(units.n_units, test.advantage.n_used),
            method=resampling.method,
            left_out=left_out,
        )
        test = replace(
            test,
            advantage=advantage,
            advantage_replicates=frozen(replicates.advantages[j]),
            p_replicates=frozen(replicates.p[j]),
        )
        of_judge = FalseDiscoveries(
            decisions.rejected[j], decisions.thresholds[j], decisions.adjusted[j]
        )
        results[name] = decide(test, of_judge, replicates.winning_rates[j])
    return results


def _on_data(rater_sums: Sequence[RaterSums], eps: float) -> tuple[FloatArray, FloatArray]:
    """Test each rater of all judges at once: p-values (J, m) and mean advantages (J,)."""
    if not rater_sums:
        return np.empty((0, 0)), np.empty(0)
    sums = np.stack([raters.sums for raters in rater_sums], axis=1)
    tests = [test for raters in rater_sums for test in raters.tests]
    shape = sums.shape[1:]
    p = p_values(sums.reshape(len(sums), -1), tests, eps).reshape(shape)
    return p, _mean_advantages(sums, _tested(tests).reshape(shape))


@dataclass(frozen=True, slots=True, repr=False)
class _Replicates:
    """What J judges come to in each resample: (J, B, m) p-values, and (J, B) shares."""

    p: FloatArray
    advantages: FloatArray
    winning_rates: FloatArray


def _replicates(
    design: AltTestDesign,
    comparisons: Sequence[RaterComparisons],
    rater_sums: Sequence[RaterSums],
    units: Units,
    resamples: Resamples,
) -> _Replicates:
    """Test all judges on the same resamples, some resamples at a time."""
    J, m = len(comparisons), len(rater_sums[0].raters) if rater_sums else 0
    B = resamples.n_replicates if J and m else 0
    replicates = _Replicates(np.empty((J, B, m)), np.empty((J, B)), np.empty((J, B)))
    if not B:
        return replicates
    columns, resamples = _columns(comparisons, units, resamples, m)
    n_columns = int(columns.max(initial=-1)) + 1
    unweighted = all(judge.weight is None for judge in comparisons)
    whole = unweighted and units.n_units < EXACT
    dtype = np.float32 if whole else np.float64
    matrices = [judge.matrix(columns, n_columns, m).astype(dtype) for judge in comparisons]
    for j, at, sums in sums_by_resample(matrices, resamples, m):
        tests = rater_sums[j].tests
        p = p_values(sums, tests, design.eps).T
        replicates.p[j, at] = p
        replicates.advantages[j, at] = _mean_advantages(np.swapaxes(sums, 1, 2), _tested(tests))
        rejected = rejections(p, design.q)
        replicates.winning_rates[j, at] = share_won(rejected, p, rater_sums[j].quality)
    return replicates


def _columns(
    comparisons: Sequence[RaterComparisons], units: Units, resamples: Resamples, m: int
) -> tuple[IntArray, Resamples]:
    """Return what each item is drawn as, (n,), and the resamples of that: units or kinds of item.

    Items on which all judges fared alike are one kind, of which only the first is looked at. Other
    items of it are drawn as -1.
    """
    n_comparisons = sum(len(judge.item) for judge in comparisons)
    sparse = len(comparisons) * m * units.n_units > DENSE * n_comparisons
    if sparse or units.kind != "item" or any(judge.weight is not None for judge in comparisons):
        return units.of_item, resamples
    outcomes = np.full((len(comparisons), m, units.n_units), N_OUTCOMES, dtype=np.uint8)  # none yet
    for j, judge in enumerate(comparisons):
        outcomes[j, judge.rater, judge.item] = judge.outcome
    kinds = Kinds.few(units.n_units // ALIKE, *outcomes.reshape(-1, units.n_units))
    if kinds is None:
        return units.of_item, resamples
    columns = np.full(units.n_units, -1)
    columns[kinds.first] = np.arange(len(kinds.first))
    return columns, resamples.of_rows(kinds.times)


def _advantages_left_out(
    comparisons: RaterComparisons, raters: RaterSums, units: Units
) -> FloatArray:
    """Return the judge's advantage with each unit left out in turn: (U,)."""
    matrix = comparisons.matrix(units.of_item, units.n_units, len(raters.raters))
    shares = advantages(raters.sums)
    shares[~_tested(raters.tests)] = np.nan
    return means_left_out(matrix, raters.sums, shares, advantages)


def _tested(tests: Sequence[Test]) -> BoolArray:
    return np.array([test != "" for test in tests], dtype=np.bool_)


def _mean_advantages(sums: FloatArray, tested: BoolArray) -> FloatArray:
    """Average the advantages over the raters tested, (..., m): sums (3 or 4, ..., m) to (...)."""
    shares = advantages(sums)
    defined = tested & ~np.isnan(shares)
    return ratio(np.where(defined, shares, 0.0).sum(axis=-1), defined.sum(axis=-1))


def _undecided(
    design: AltTestDesign,
    entering: Entering,
    raters: RaterSums,
    level: float,
    unit: Unit,
    *,
    p: FloatArray,
) -> AltTest:
    """Return a test with all that depends neither on the decisions nor on the resamples."""
    n_tested = int(_tested(raters.tests).sum())
    counts = _counts(design, entering, raters, n_tested)
    reason = "" if n_tested else _why_none(design, entering, raters)
    estimate = _estimate_without_value(entering, reason)
    n_answered = entering.n_eligible - entering.n_unanswered
    return AltTest(
        design=design,
        winning_rate=estimate,
        advantage=estimate,
        wins=0,
        n_tested=n_tested,
        passes=None,
        p=frozen(p),
        p_adjusted=np.full(len(raters.tests), np.nan),
        rejected=np.zeros(len(raters.tests), dtype=np.bool_),
        answered_fraction=n_answered / entering.n_eligible if entering.n_eligible else None,
        counts=counts,
        warnings=(),
        n_family=n_tested,
        rater_sums=raters,
        level=level,
        unit=unit,
        advantage_replicates=np.empty(0),
        p_replicates=np.empty((0, len(raters.tests))),
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
    """Pick the test of a rater with n items, or say why there is none."""
    if n == 0:
        return "", "no_items"
    small = n < design.min_items_per_rater
    if small and design.small_n == "skip":
        return "", "too_few_items"
    if small and design.small_n == "wilcoxon":
        return ("wilcoxon", "") if design.weighting == "none" else ("", "no_weighted_rank_test")
    return ("t", "") if n >= MIN_TESTED else ("", "too_few_items")


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


def _why_none(design: AltTestDesign, entering: Entering, raters: RaterSums) -> str:
    """Return the reason why no rater could be tested."""
    if not raters.raters:
        return "no_items"
    if len(raters.raters) + (0 if design.gold is None else 1) < MIN_RATERS:
        return "too_few_raters"
    if not entering.n_eligible:
        return "no_overlap"
    return "too_few_items" if raters.counts.any() else "no_items"


def _estimate_without_value(entering: Entering, reason: str) -> Estimate:
    """Return an estimate with the items that entered."""
    excluded = {
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
