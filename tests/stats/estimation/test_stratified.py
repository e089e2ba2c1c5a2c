"""Shares over strata, from an interval for each of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.estimation_claims import Groups, RareStratum, Raters, coverage
from harness.stats.estimation.effective_counts import Labelled, effective_counts, group_dispersion
from harness.stats.estimation.prediction_powered import JudgedMean
from harness.stats.estimation.stratified import PopulationStratum, ShareSums, mover, shares_variance

SIMULATED = 1000
ERROR = 3.0 * np.sqrt(0.93 * 0.07 / SIMULATED)


def stratum(n, n_yes, n_judged=1000, judged_yes=100, groups=None):
    """Labels of which the first are positive, and a judge that always agrees."""
    labels = (np.arange(n) < n_yes).astype(float)
    return PopulationStratum(
        Labelled(labels, labels, groups),
        JudgedMean.of((np.arange(n_judged) < judged_yes).astype(float)),
    )


def test_limits_of_a_difference_are_those_of_zou_and_donner():
    """56 of 70 less 48 of 80: their Wilson limits give [.052, .334] (Newcombe 1998, method 10)."""
    values = np.array([56 / 70, 48 / 80])
    low, high = np.array([0.691981, 0.490461]), np.array([0.877208, 0.700410])
    signs = np.array([1.0, -1.0])
    ordered = np.where(signs > 0, low, high), np.where(signs > 0, high, low)
    result = mover(values, *ordered, signs)
    assert [float(end) for end in result] == pytest.approx([0.0524, 0.3339], abs=2e-4)


def test_one_stratum_keeps_its_interval():
    """Its limits are those without strata."""
    sums = ShareSums.of([[stratum(50, 5)]])
    counts = sums.of_stratum(0)
    result = sums.with_judge(0.95, 1)
    assert counts.yes_yes == pytest.approx([5.0])
    assert result.low[0] < result.value[0] < result.high[0]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 60), st.integers(0, 60), st.integers(2, 60), st.integers(0, 60))
def test_interval_over_strata_is_around_the_estimate(n, n_yes, n_rare, rare_yes):
    """It lies within the interval whose half-widths are added up over strata."""
    strata = [
        stratum(n, min(n_yes, n), 980),
        stratum(n_rare, min(rare_yes, n_rare), 20, 10),
    ]
    whole, common, rare = (ShareSums.of([part]).alone(0.95) for part in (strata, *zip(strata)))
    low, value, high = (float(end[0]) for end in (whole.low, whole.value, whole.high))
    assert 0.0 <= low <= value <= high <= 1.0
    assert low >= 0.98 * common.low[0] + 0.02 * rare.low[0] - 0.01
    assert high <= 0.98 * common.high[0] + 0.02 * rare.high[0] + 0.01


def test_group_in_two_strata_links_them():
    """A document with flagged and other comments."""
    groups = np.arange(50) // 5
    sums = ShareSums.of([[stratum(50, 10, groups=groups), stratum(50, 10, groups=groups + 5)]])
    apart = ShareSums.of([[stratum(50, 10, groups=groups), stratum(50, 10, groups=groups + 10)]])
    assert (sums.linked, apart.linked) == (True, False)
    assert sums.alone(0.95).width[0] > 1.2 * apart.alone(0.95).width[0]


def test_shares_of_strata_from_few_items_are_uncertain():
    """The variance over strata of their means, over the items that show how large strata are."""
    result = shares_variance(np.array([0.0, 1.0]), np.array([0.75, 0.25]), 100.0)
    assert result == pytest.approx(0.25 * 0.75 / 100)


def test_groups_without_a_positive_label_may_be_alike():
    """Ten groups of 20 negative labels counted as 200 labels; they are worth ten."""
    assert group_dispersion(np.zeros(10), np.full(10, 20.0), 0.0) == pytest.approx(20.0)
    labelled = Labelled(np.zeros(200), np.zeros(200), np.arange(200) // 20)
    [result] = ShareSums.of([[PopulationStratum(labelled, JudgedMean.of(np.zeros(2000)))]]).n_alone[
        0
    ]
    assert result == pytest.approx(10.0)


def test_labels_count_for_no_more_items_than_verdicts_do():
    """800 labels of a perfect judge; all 2,800 verdicts are worth 140."""
    labels = (np.arange(800) % 40 < 20).astype(float)
    judged = JudgedMean(2000, 600.0, 420.0, dispersion=20.0)
    counts = effective_counts(Labelled(labels, labels, np.arange(800) // 20), judged)
    total = sum(float(cell[0]) for cell in (counts.yes_yes, counts.no_no, counts.judged_yes))
    assert total + float(counts.judged_no[0]) == pytest.approx(140.0)
    assert counts.estimate[0] == pytest.approx(1000 / 2800, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [
        RareStratum("weak", share=0.02, common=0.03),
        RareStratum("near-perfect", n=150, n_flagged=150, common=0.01),
        RareStratum("near-perfect", n=57, n_flagged=3, common=0.06),
        Groups("weak", n_groups=10, size=20),
        Groups("near-perfect", n_groups=40, size=20, prevalence=0.3),
        Groups("near-perfect", n_groups=10, size=20, in_file=False),
        Raters("near-perfect"),
        Raters("weak", n=50, n_raters=2),
    ],
    ids=repr,
)
def test_intervals_hold_in_the_hardest_designs(claim):
    """They held in 65 to 91 % with a rare stratum, and in 67 to 90 % with groups and raters."""
    assert coverage(claim, SIMULATED).share >= 0.93 - ERROR
