"""Results of the alternative annotator test, per rater and for the judge."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- needed by readers of the fields' types
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.alt_test.design import Unanswered  # noqa: TC001 -- readers of a field's type need it
from harness.stats.alt_test.margin_tests import signed_rank
from harness.stats.alt_test.rater_comparisons import (
    PLUS,
    TIED,
    Test,
    advantages,
    moments,
    p_values,
    share_won,
    weight_of,
)
from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, IntArray, frozen, ratio
from harness.stats.inference.estimate import Estimate
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stats.inference.multiple_testing import FalseDiscoveries

FEW_ITEMS = 30  # with fewer, the paper does not trust the normal approximation


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterRow:
    """Comparison of the judge with one rater.

    Attributes
    ----------
    rater : str
        Name of the rater.
    n : int
        Number of items that count.
    n_judge_closer, n_tied, n_rater_closer : int
        Number of items on which the judge, neither, or the rater agreed better with the other
        raters.
    n_effective : float
        Effective number of items: n, or fewer with weights.
    rho_f, rho_h : float or None
        Weighted shares of the items on which the judge is at least as good as the rater, and the
        rater as good as the judge.
    test : {"t", "wilcoxon", ""}
        Test used; "" if the rater was skipped.
    sd, statistic : float or None
        Standard deviation of the difference; t or the rank sum. None if undefined.
    p, p_adjusted : float or None
        P-value under the null that the rater leads by eps or more, before and after
        Benjamini-Yekutieli over the family.
    rejected : bool
        Whether the judge wins against this rater.
    quality : float
        The rater's weight in the winning rate.
    reason : str
        Reason for skipping the rater: "no_items", "too_few_items" or "no_weighted_rank_test".
    """

    rater: str
    n: int
    n_judge_closer: int
    n_tied: int
    n_rater_closer: int
    n_effective: float
    rho_f: float | None
    rho_h: float | None
    test: Test
    sd: float | None
    statistic: float | None
    p: float | None
    p_adjusted: float | None
    rejected: bool
    quality: float
    reason: Reason


@dataclass(frozen=True, slots=True, repr=False)
class RaterSums:
    """Sums per rater, which determine the test's result at any margin.

    Attributes
    ----------
    raters : m names
        Raters in the panel's order.
    sums : (3, m) array, or (4, m) with weights
        Weight of the items on which the judge was closer, of ties, and of those on which the rater
        was closer; with weights, also the sum of squared weights.
    counts : (m, 3) int array
        Number of items with a difference of -1, 0 and 1.
    tests : m of {"t", "wilcoxon", ""}
        Test used for each rater.
    reasons : m str
        Reason if there is no test.
    quality : (m,) array
        Quality of the raters.
    """

    raters: tuple[str, ...]
    sums: FloatArray
    counts: IntArray
    tests: tuple[Test, ...]
    reasons: tuple[Reason, ...]
    quality: FloatArray

    def p(self, margins: FloatArray) -> FloatArray:
        """Return (E, m) p-values for each rater at (E,) margins. Skipped raters have nan."""
        return p_values(self.sums, self.tests, margins)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class AltTest:
    """Result of the annotator test for one judge.

    Attributes
    ----------
    eps, q, threshold, unanswered
        As in `AltTestDesign`.
    winning_rate, advantage : Estimate
        The paper's omega and rho over the raters tested, without intervals.
    wins, n_tested : int
        Number of raters beaten, and tested.
    passes : bool or None
        Whether the winning rate reaches the threshold; None if undefined.
    p, p_adjusted : (m,) arrays
        P-value for each rater, before and after Benjamini-Yekutieli; nan if skipped.
    rejected : (m,) bool array
        Whether the judge beats each rater.
    answered_fraction : float or None
        Share of the items with enough ratings that the judge answered.
    counts : mapping
        n_raters, n_raters_skipped, n_items_with_two_raters, n_items_without_verdict.
    warnings : tuple of str
        Reasons that weaken the conclusion; each begins with its name.
    n_family : int
        Number of p-values adjusted together.
    rater_sums : RaterSums
        Source of `per_rater` and `skipped`, and of results at other margins.
    """

    eps: float
    q: float
    threshold: float
    unanswered: Unanswered
    winning_rate: Estimate
    advantage: Estimate
    wins: int
    n_tested: int
    passes: bool | None
    p: FloatArray
    p_adjusted: FloatArray
    rejected: BoolArray
    answered_fraction: float | None
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    n_family: int
    rater_sums: RaterSums

    def __repr__(self) -> str:
        verdict = {True: "passes", False: "fails", None: f"NA {self.winning_rate.reason}"}
        return (
            f"AltTest({verdict[self.passes]}, winning rate {self.winning_rate.value}, "
            f"advantage {self.advantage.value}, {self.n_tested} raters)"
        )

    @property
    def per_rater(self) -> tuple[RaterRow, ...]:
        """The raters that were tested."""
        return tuple(row for row in _rows(self) if row.test)

    @property
    def skipped(self) -> tuple[RaterRow, ...]:
        """The raters that were not tested, with the reasons."""
        return tuple(row for row in _rows(self) if not row.test)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorSummary:
    """Result of a judge's annotator test, without the individual raters.

    Attributes
    ----------
    winning_rate, advantage, passes, wins, n_tested
        As in `AltTest`.
    n_skipped : int
        Number of raters not tested.
    rejected : tuple of str
        Raters that the judge beats.
    """

    winning_rate: Estimate
    advantage: Estimate
    passes: bool | None
    wins: int
    n_tested: int
    n_skipped: int
    rejected: tuple[str, ...]

    @classmethod
    def of(cls, test: AltTest) -> Self:
        """Summarise a test."""
        return cls(
            winning_rate=test.winning_rate,
            advantage=test.advantage,
            passes=test.passes,
            wins=test.wins,
            n_tested=test.n_tested,
            n_skipped=len(test.skipped),
            rejected=tuple(row.rater for row in test.per_rater if row.rejected),
        )

    @classmethod
    def undefined(cls, reason: Reason, n_items: int) -> Self:
        """Return a summary for a judge that could not be tested."""
        na = Estimate(value=None, reason=reason, n_used=0, n_excluded=n_items)
        return cls(
            winning_rate=na,
            advantage=na,
            passes=None,
            wins=0,
            n_tested=0,
            n_skipped=0,
            rejected=(),
        )


def decide(test: AltTest, decisions: FalseDiscoveries, n_family: int | None = None) -> AltTest:
    """Complete a test with the results that follow from the adjusted decisions.

    Parameters
    ----------
    test : AltTest
        Test without wins, winning rate, decisions and warnings.
    decisions : FalseDiscoveries
        Decisions on its (m,) p-values.
    n_family : int
        Number of p-values adjusted together. Default: those tested.
    """
    rate = float(share_won(decisions.rejected, test.p, test.rater_sums.quality))
    passes = None if isnan(rate) else bool(rate >= test.threshold - TOLERANCE)
    return replace(
        test,
        winning_rate=replace(test.winning_rate, value=_or_none(rate)),
        wins=int(decisions.rejected.sum()),
        passes=passes,
        p_adjusted=frozen(decisions.adjusted),
        rejected=frozen(decisions.rejected),
        warnings=_warnings(test, passes=bool(passes)),
        n_family=test.n_tested if n_family is None else n_family,
    )


def average(values: Iterable[float | None]) -> float | None:
    """Average the values that are not None. Return None if there are no such values."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _rows(test: AltTest) -> list[RaterRow]:
    raters, eps = test.rater_sums, test.eps
    t_tests = moments(raters.sums, eps)
    weight = weight_of(raters.sums)
    rho_f, rho_h = advantages(raters.sums), ratio(raters.sums[TIED] + raters.sums[PLUS], weight)
    return [
        RaterRow(
            rater=rater,
            n=sum(counts),
            n_judge_closer=counts[0],
            n_tied=counts[1],
            n_rater_closer=counts[2],
            n_effective=float(t_tests.n[j]) if sum(counts) else 0.0,
            rho_f=_or_none(rho_f[j]),
            rho_h=_or_none(rho_h[j]),
            test=raters.tests[j],
            sd=_or_none(t_tests.sd[j]),
            statistic=_statistic(raters.tests[j], float(t_tests.t[j]), counts, eps),
            p=_or_none(test.p[j]),
            p_adjusted=_or_none(test.p_adjusted[j]),
            rejected=bool(test.rejected[j]),
            quality=float(raters.quality[j]),
            reason=raters.reasons[j],
        )
        for j, (rater, counts) in enumerate(zip(raters.raters, raters.counts.tolist(), strict=True))
    ]


def _statistic(test: Test, t: float, counts: list[int], eps: float) -> float | None:
    if test == "wilcoxon":
        minus, tied, plus = counts
        return signed_rank(minus, tied, plus, eps).w_plus
    return _or_none(t) if test else None


def _or_none(value: float) -> float | None:
    return None if isnan(value) else float(value)


def _warnings(test: AltTest, *, passes: bool) -> tuple[str, ...]:
    warnings = []
    raters = test.rater_sums
    n_items = zip(raters.raters, raters.counts.sum(axis=1).tolist(), raters.tests, strict=True)
    short = [f"{rater} ({n})" for rater, n, tested in n_items if tested and n < FEW_ITEMS]
    if passes and short:
        warnings.append(
            f"few_items: the judge passes with fewer than {FEW_ITEMS} items for {', '.join(short)}"
        )
    if test.counts["n_items_without_verdict"] and test.unanswered == "exclude":
        n = test.counts["n_items_without_verdict"]
        warnings.append(
            f"unanswered_excluded: {n} items that the judge did not answer are left out"
        )
    skipped = [
        rater for rater, tested in zip(raters.raters, raters.tests, strict=True) if not tested
    ]
    if skipped and test.n_tested:
        names = ", ".join(skipped)
        warnings.append(
            f"raters_skipped: {names} had too few items and are not in the winning rate"
        )
    return tuple(warnings)
