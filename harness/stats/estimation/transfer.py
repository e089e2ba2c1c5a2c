"""Tests of whether labelled items resemble the unlabelled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.cluster_robust import design_effect
from harness.stats.inference.multiple_testing import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray, IntArray

ALPHA = 0.05
MIN_EXPECTED = 5.0  # least expected items with an answer; rarer answers are pooled


@dataclass(frozen=True, slots=True)
class Transfer:
    """Results of testing whether labelled and unlabelled items are distributed alike.

    Attributes
    ----------
    differs : tuple of str
        "verdicts", "lengths": significant differences, by Holm's method over both tests.
    p_verdicts, p_lengths : float or None
        P-values of a chi-square test of the judge's verdicts, and of a two-sample
        Kolmogorov-Smirnov test of the texts' lengths; None if there is nothing to compare.
    alpha : float
        Probability of reporting a difference if there is none.
    """

    differs: tuple[str, ...]
    p_verdicts: float | None
    p_lengths: float | None
    alpha: float


@dataclass(frozen=True, slots=True)
class Grouped:
    """Factors by which grouped items increase the variance of means.

    Attributes
    ----------
    of_verdicts, of_lengths : float
        Design effects, at least 1, for the shares of the judge's answers and for the ranks of the
        texts' lengths.
    n_groups : int
        Number of groups of labelled items.
    """

    of_verdicts: float
    of_lengths: float
    n_groups: int

    @classmethod
    def of(cls, verdicts: FloatArray, lengths: FloatArray, groups: IntArray) -> Grouped:
        """Compute the design effects of (n,) labelled items. A nan verdict is an unusable answer.

        For answers, it is the mean of their design effects, each weighted by the share of all other
        answers (Rao and Scott, The Annals of Statistics 1984).
        """
        answers = np.where(np.isnan(verdicts), -np.inf, verdicts)
        indicators = [(answers == answer).astype(float) for answer in np.unique(answers)]
        weights = np.array([1.0 - indicator.mean() for indicator in indicators])
        effects = np.array([design_effect(indicator, groups) for indicator in indicators])
        of_verdicts = float(weights @ effects / weights.sum()) if weights.sum() > 0.0 else 1.0
        _, ranks, counts = np.unique(lengths, return_inverse=True, return_counts=True)
        middles = counts.cumsum() - (counts - 1) / 2.0
        return cls(of_verdicts, design_effect(middles[ranks], groups), len(np.unique(groups)))


def transfer(
    labelled_verdicts: IntArray,
    unlabelled_verdicts: IntArray,
    labelled_lengths: Sequence[float] | FloatArray,
    unlabelled_lengths: Sequence[float] | FloatArray,
    *,
    alpha: float = ALPHA,
    grouped: Grouped | None = None,
) -> Transfer:
    """Test whether the labelled items resemble the unlabelled ones.

    Parameters
    ----------
    labelled_verdicts, unlabelled_verdicts : (A,) arrays of int
        Number of times the judge gave each answer, including no answer. Rare answers are pooled;
        see `pooled`.
    labelled_lengths, unlabelled_lengths : sequences of float
        Lengths of the items' texts.
    alpha : float, optional
        Probability that any difference is reported if there is none.
    grouped : Grouped, optional
        Design effects of grouped items, which reduce the effective number of items.
    """
    from scipy import stats as scipy_stats  # noqa: PLC0415 -- heavy; only estimates need it

    table = pooled(np.stack([labelled_verdicts, unlabelled_verdicts]))
    p_values: dict[str, float] = {}
    if table.shape[1] > 1:
        test = scipy_stats.chi2_contingency(table, correction=False)
        p_values["verdicts"] = float(test.pvalue)
        if grouped is not None:  # Rao and Scott, Annals of Statistics 1984
            statistic = test.statistic / (grouped.of_verdicts * test.dof)
            p_values["verdicts"] = float(
                scipy_stats.f.sf(statistic, test.dof, test.dof * (grouped.n_groups - 1))
            )
    if min(len(labelled_lengths), len(unlabelled_lengths)) > 0:
        comparison = scipy_stats.ks_2samp(labelled_lengths, unlabelled_lengths)
        p_values["lengths"] = float(comparison.pvalue)
        if grouped is not None:
            n, m = len(labelled_lengths), len(unlabelled_lengths)
            effective = n * m / (n + m) / grouped.of_lengths
            distance = comparison.statistic * effective**0.5
            p_values["lengths"] = float(scipy_stats.kstwobign.sf(distance))
    return _decided(p_values, alpha)


def jointly(tests: Sequence[Transfer]) -> Transfer:
    """Combine the strata's tests into one test.

    The smallest p-value of each kind is multiplied by the number of strata that have one
    (Bonferroni).

    Parameters
    ----------
    tests : sequence of Transfer
        Tests at the same ``alpha``, which applies to the combined test.
    """
    p_values: dict[str, float] = {}
    for name in ("verdicts", "lengths"):
        p_of_tests = [getattr(test, f"p_{name}") for test in tests]
        defined = [p for p in p_of_tests if p is not None]
        if defined:
            p_values[name] = min(1.0, len(defined) * min(defined))
    return _decided(p_values, tests[0].alpha if tests else ALPHA)


def _decided(p_values: dict[str, float], alpha: float) -> Transfer:
    adjusted = holm(np.array(list(p_values.values()))) if p_values else np.array([])
    return Transfer(
        differs=tuple(name for name, p in zip(p_values, adjusted, strict=True) if p <= alpha),
        p_verdicts=p_values.get("verdicts"),
        p_lengths=p_values.get("lengths"),
        alpha=alpha,
    )


def pooled(table: IntArray) -> IntArray:
    """Pool the rarest answers until each has an expected count of five in either row.

    The answers that are rarest in both rows together are pooled until their expected count is five
    (Cochran, Some methods for strengthening the common chi-square tests, 1954); the rest are
    unchanged. Pooling depends only on the sums of rows and columns, so the chi-square test of the
    result keeps its level.

    Parameters
    ----------
    table : (2, A) array of int
        Counts of each answer.

    Returns
    -------
    pooled : (2, B) array of int
        Rarest answers first; B is 1 or 0 if there is nothing to compare.
    """
    by_total = table[:, np.argsort(table.sum(axis=0), kind="stable")]
    total = by_total.sum()
    share = by_total.sum(axis=1).min() / total if total else 0.0
    expected = share * by_total.sum(axis=0).cumsum()  # expected count of the answers up to each
    rare = share * by_total.sum(axis=0) < MIN_EXPECTED
    if not rare.any():
        return by_total
    n_pooled = max(int(rare.sum()), 1 + int(np.searchsorted(expected, MIN_EXPECTED)))
    merged = by_total[:, :n_pooled].sum(axis=1, keepdims=True)
    return np.concatenate([merged, by_total[:, n_pooled:]], axis=1)
