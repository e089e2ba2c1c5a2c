"""Intervals for a share if few items have labels but a judge answered yes or no for many.

Labelled and unlabelled items are independent draws from one population. The four cells of label by
verdict have a multinomial likelihood, to which the unlabelled items add their information about the
judge's verdicts (Tenenbein, A double sampling scheme for estimating from binomial data with
misclassifications, JASA 1970). An interval contains the shares that a test does not reject. The
test's statistic is the mean of the likelihood ratio and the score statistic: with few positives,
the first rejects too often and the second too rarely. For coverage, see docs/estimation.md.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from math import inf
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.special_functions import stdtrit

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import FloatArray

DISCRETENESS = 1.085  # factor for the squared critical value, because counts change in steps
NEARLY_EMPTY = 1e-3  # added to each cell, so that its logarithm is defined
END = 1e-9  # shares lie between this and one minus this
N_HALVINGS = 40  # steps in the search for an interval's end
N_STEPS = 80  # most steps of Newton's method
CONVERGED = 1e-6  # squared Newton decrement


@dataclass(frozen=True, slots=True)
class TwoPhaseCounts:
    """Counts of labelled items by label and verdict, and of unlabelled items by verdict.

    Attributes
    ----------
    yes_yes, yes_no, no_yes, no_no : (R,) arrays
        Labelled items of R data sets: the label, then the judge's verdict. Counts are fractional if
        labels are shares of raters or items have different weights.
    judged_yes, judged_no : (R,) arrays
        Unlabelled items.
    """

    yes_yes: FloatArray
    yes_no: FloatArray
    no_yes: FloatArray
    no_no: FloatArray
    judged_yes: FloatArray
    judged_no: FloatArray

    @property
    def cells(self) -> tuple[FloatArray, ...]:
        """Return the six counts, with a tiny number added to those of labelled items."""
        labelled = (self.yes_yes, self.yes_no, self.no_yes, self.no_no)
        return (*(cell + NEARLY_EMPTY for cell in labelled), self.judged_yes, self.judged_no)

    @property
    def estimate(self) -> FloatArray:
        """Maximum likelihood estimates of the share, as an (R,) array."""
        yes_yes, yes_no, no_yes, no_no, judged_yes, judged_no = self.cells
        said_yes, said_no = yes_yes + no_yes, yes_no + no_no
        share = (said_yes + judged_yes) / (said_yes + said_no + judged_yes + judged_no)
        return share * yes_yes / said_yes + (1.0 - share) * yes_no / said_no

    def scaled(self, labelled: float, judged: float = 1.0) -> TwoPhaseCounts:
        """Multiply the counts of labelled and of unlabelled items by separate factors."""
        factors = (labelled, labelled, labelled, labelled, judged, judged)
        cells = zip(factors, astuple(self), strict=True)
        return TwoPhaseCounts(*(factor * cell for factor, cell in cells))


def squared_critical(level: float, n_judges: int = 1, *, freedom: int | None = None) -> float:
    """Return the critical value: the chi-square quantile at 1 - (1 - level) / n_judges.

    The judge may have been selected from ``n_judges`` using the same labels; an interval that is
    simultaneously valid for all of them is valid for the selected one. If the variance is one
    between groups, the squared t quantile with ``freedom`` replaces chi-square; it is infinite for
    a single group.
    """
    upper = 0.5 + level / 2.0 if n_judges == 1 else 1.0 - (1.0 - level) / (2.0 * n_judges)
    if freedom is None:
        return DISCRETENESS * NormalDist().inv_cdf(upper) ** 2
    if freedom < 1:
        return inf
    return DISCRETENESS * float(stdtrit(freedom, upper)) ** 2


def two_phase_interval(
    counts: TwoPhaseCounts, critical: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the range of shares that labels and verdicts do not reject.

    Parameters
    ----------
    counts : TwoPhaseCounts
        Counts of R data sets.
    critical : float or (R,) array
        Critical value of the statistic, e.g. from `squared_critical`.

    Returns
    -------
    low, high : (R,) arrays
    """
    return _ends(counts.estimate, two_phase_statistic(counts), critical)


def two_phase_statistic(counts: TwoPhaseCounts) -> Callable[[FloatArray], FloatArray]:
    """Return the evidence of labels and verdicts against shares, as a function of (R,) shares."""
    greatest = _log_likelihood_at_maximum(counts)

    def statistic(share: FloatArray) -> FloatArray:
        log_likelihood, score = _at_share(counts, share)
        return (2.0 * (greatest - log_likelihood) + score) / 2.0

    return statistic


def judge_interval(
    counts: TwoPhaseCounts, critical: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the range of shares that the judge's verdicts do not reject.

    This is a profile likelihood over the judge's sensitivity and specificity, which the labelled
    items determine. The labels are not used for the share itself, as in the correction of Rogan and
    Gladen (1978).

    Parameters
    ----------
    counts : TwoPhaseCounts
        Counts of R data sets.
    critical : float or (R,) array
        Critical value of twice the log-likelihood ratio, e.g. from `squared_critical`.

    Returns
    -------
    low, high : (R,) arrays
        All of (0, 1) if the judge does not distinguish the labels.
    """
    yes_yes, yes_no, no_yes, no_no, judged_yes, judged_no = counts.cells
    yes, no = yes_yes + yes_no, no_yes + no_no
    false_yes = no_yes / no
    told_apart = yes_yes / yes - false_yes
    told_apart = np.where(np.abs(told_apart) < END, END, told_apart)
    said_yes = judged_yes / (judged_yes + judged_no)
    estimate = np.clip((said_yes - false_yes) / told_apart, END, 1.0 - END)

    def log_likelihood(share: FloatArray) -> FloatArray:
        return _at_share(counts, share)[0] - yes * np.log(share) - no * np.log1p(-share)

    greatest = log_likelihood(estimate)

    def statistic(share: FloatArray) -> FloatArray:
        return 2.0 * (greatest - log_likelihood(share))

    return _ends(estimate, statistic, critical)


def share_interval(
    n_yes: FloatArray, n: FloatArray, critical: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the range of shares that the labels alone do not reject.

    Parameters
    ----------
    n_yes, n : (R,) arrays
        Number of labelled items with the label yes, and of all labelled items.
    critical : float or (R,) array
        Critical value of the statistic.

    Returns
    -------
    low, high : (R,) arrays
    """
    return _ends(n_yes / n, share_statistic(n_yes, n), critical)


def share_statistic(n_yes: FloatArray, n: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the evidence of the labels alone against shares, as a function of (R,) shares."""

    def statistic(p: FloatArray) -> FloatArray:
        ratio = 2.0 * (_deviance(n_yes, n * p) + _deviance(n - n_yes, n * (1.0 - p)))
        return (ratio + (n_yes - n * p) ** 2 / (n * p * (1.0 - p))) / 2.0

    return statistic


def _deviance(count: FloatArray, expected: FloatArray) -> FloatArray:
    safe = np.where(count > 0, count, 1.0)
    return np.where(count > 0, count * np.log(safe / expected), 0.0)


def _ends(
    estimate: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    critical: float | FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Bisect from the estimate towards each end of (0, 1) to where the statistic is critical."""
    ends = []
    for outermost in (END, 1.0 - END):
        inside = np.clip(estimate, END, 1.0 - END)
        outside = np.full_like(inside, outermost)
        for _ in range(N_HALVINGS):
            middle = (inside + outside) / 2.0
            accepted = statistic(middle) <= critical
            inside = np.where(accepted, middle, inside)
            outside = np.where(accepted, outside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def _log_likelihood_at_maximum(counts: TwoPhaseCounts) -> FloatArray:
    yes_yes, yes_no, no_yes, no_no, judged_yes, judged_no = counts.cells
    said_yes, said_no = yes_yes + no_yes, yes_no + no_no
    all_yes, all_no = said_yes + judged_yes, said_no + judged_no
    share = all_yes / (all_yes + all_no)
    labels = (
        yes_yes * np.log(yes_yes / said_yes)
        + no_yes * np.log(no_yes / said_yes)
        + yes_no * np.log(yes_no / said_no)
        + no_no * np.log(no_no / said_no)
    )
    return np.asarray(all_yes * np.log(share) + all_no * np.log1p(-share) + labels)


def _at_share(counts: TwoPhaseCounts, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the maximum log-likelihood and the score statistic at a given share.

    The log-likelihood is concave in a = P(yes, judged yes) and b = P(no, judged yes), so this uses
    Newton's method with steps that stay inside the range.
    """
    yes_yes, yes_no, no_yes, no_no, judged_yes, judged_no = counts.cells
    n = yes_yes + yes_no + no_yes + no_no
    n_all = n + judged_yes + judged_no
    verdict = (yes_yes + no_yes + judged_yes) / n_all
    a = share * np.clip((yes_yes + verdict) / (yes_yes + yes_no + 1.0), 0.01, 0.99)
    b = (1.0 - share) * np.clip((no_yes + verdict) / (no_yes + no_no + 1.0), 0.01, 0.99)

    def log_likelihood(a: FloatArray, b: FloatArray) -> FloatArray:
        return (
            yes_yes * np.log(a)
            + yes_no * np.log(share - a)
            + no_yes * np.log(b)
            + no_no * np.log(1.0 - share - b)
            + judged_yes * np.log(a + b)
            + judged_no * np.log1p(-a - b)
        )

    value = log_likelihood(a, b)
    for _ in range(N_STEPS):
        said = a + b
        common = judged_yes / said - judged_no / (1.0 - said)
        cross = -judged_yes / said**2 - judged_no / (1.0 - said) ** 2
        slope_a = yes_yes / a - yes_no / (share - a) + common
        slope_b = no_yes / b - no_no / (1.0 - share - b) + common
        bend_a = -yes_yes / a**2 - yes_no / (share - a) ** 2 + cross
        bend_b = -no_yes / b**2 - no_no / (1.0 - share - b) ** 2 + cross
        determinant = bend_a * bend_b - cross**2
        step_a = -(bend_b * slope_a - cross * slope_b) / determinant
        step_b = -(bend_a * slope_b - cross * slope_a) / determinant
        gain = slope_a * step_a + slope_b * step_b
        length = np.minimum(_room(a, step_a, share), _room(b, step_b, 1.0 - share))
        for _ in range(N_STEPS):
            next_a, next_b = a + length * step_a, b + length * step_b
            next_value = log_likelihood(next_a, next_b)
            better = next_value >= value + 1e-4 * length * gain - CONVERGED
            if better.all():
                break
            length = np.where(better, length, length / 2.0)
        a, b = np.where(better, next_a, a), np.where(better, next_b, b)
        value = np.where(better, next_value, value)
        if (gain[better] < CONVERGED).all():
            break
    said = a + b
    given_yes, given_no = a / said, (share - a) / (1.0 - said)
    within = said * given_yes * (1.0 - given_yes) + (1.0 - said) * given_no * (1.0 - given_no)
    between = said * (1.0 - said) * (given_yes - given_no) ** 2
    slope = yes_no / (share - a) - no_no / (1.0 - share - b)
    return value, slope**2 * (within / n + between / n_all)


def _room(x: FloatArray, step: FloatArray, top: FloatArray) -> FloatArray:
    """Return the fraction of a step that covers at most 95 % of the way to an end of (0, top)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        to_end = np.where(step < 0.0, -x / step, np.where(step > 0.0, (top - x) / step, np.inf))
    return np.minimum(1.0, 0.95 * to_end)
