"""Non-inferiority on few items: size where raters nearly always agree, and when there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from harness.stats.inference.cluster_robust import cluster_mean
from harness.stats.inference.non_inferiority import (
    CORRECTION,
    Margin,
    least_items,
    mean_interval,
    non_inferiority_p,
    student_p,
    tilted_p,
)

MARGIN = Margin(0.05, 1.0)


def p_of(differences, groups=None):
    groups = np.arange(len(differences)) if groups is None else groups
    return non_inferiority_p(differences, groups, cluster_mean(differences, groups), MARGIN)


@pytest.mark.parametrize("n_judges", [1, 5, 20])
@pytest.mark.parametrize("factor", [1, 1.5, 3])
def test_size_where_raters_always_agree(factor, n_judges):
    """A judge that is wrong on exactly the margin's share of items: by enumeration, at most 5 %."""
    alpha = 0.05 / n_judges
    n = int(np.ceil(factor * least_items(alpha, 0.05)))
    lost = np.arange(min(n, 60))
    rejected = [p_of((np.arange(n) < k).astype(float)) <= alpha for k in lost]
    assert binom.pmf(lost, n, 0.05)[rejected].sum() <= 1.02 * alpha


def test_no_loss_on_few_items_is_no_evidence():
    """An interval [0, 0] on ten items used to pass; from 59 items on no loss is enough."""
    assert p_of(np.zeros(10)) > 0.05
    assert least_items(0.05, 0.05) == 59
    assert p_of(np.zeros(59)) <= 0.05


def test_size_with_groups():
    """20 groups of 6 alike items at the margin: at most 5 % of 500 data sets pass."""
    rng, groups, passed = np.random.default_rng(3), np.repeat(np.arange(20), 6), 0
    for _ in range(500):
        chances = rng.dirichlet(np.array([0.2, 0.25, 0.55]) * 7 / 3, 20).cumsum(axis=1)[groups]
        drawn = rng.random(len(groups))
        d = np.where(drawn < chances[:, 0], -1.0, (drawn < chances[:, 1]) * 1.0)
        p = p_of(d, groups)
        passed += p is not None and p <= 0.05
    assert passed / 500 <= 0.05 + 2 * (0.05 * 0.95 / 500) ** 0.5


def test_symmetric_differences_are_tested_as_by_students_t():
    """Where nothing is skewed, the tilt says what the normal distribution does."""
    d = np.random.default_rng(0).normal(0.0, 0.2, 400)
    by_t = student_p(cluster_mean(d, np.arange(400)), 400, Margin(0.02, 1.0))
    assert tilted_p(d - 0.02, 0.98) == pytest.approx(by_t, abs=0.01)


def test_an_undefined_error_has_no_p():
    """A single group has no error."""
    assert p_of(np.zeros(60), np.zeros(60, dtype=int)) is None


@pytest.mark.parametrize("n", [5, 20, 100])
def test_the_interval_of_equal_values_is_not_empty(n):
    """None of n items differs: the upper end allows for a few that do, the lower one likewise."""
    low, high = mean_interval(np.zeros(n), np.arange(n), (-0.5, 1.0), 0.95)
    exact = 1.0 - 0.025 ** (1.0 / n)
    assert high == pytest.approx(exact, rel=0.35)
    assert -0.5 <= low < 0.0
    assert low == pytest.approx(-high / 2.0, rel=1e-6)


def test_the_interval_excludes_margins_that_the_tilted_test_rejects():
    """Its upper end is the margin at which the p-value is half of the error."""
    values = np.repeat([-1.0 / 3.0, 0.0, 2.0 / 3.0], [12, 60, 8])
    _, high = mean_interval(values, np.arange(80), (-0.5, 1.0), 0.95)
    assert tilted_p(values - high, 1.0 - high, CORRECTION) == pytest.approx(0.025, abs=1e-3)


def test_the_interval_of_grouped_values_is_wider():
    values = np.tile([0.0, 0.0, 1.0, -0.5], 20)
    alone = mean_interval(values, np.arange(80), (-0.5, 1.0), 0.95)
    groups = np.sort(np.argsort(values, kind="stable") // 8)
    ordered = np.sort(values)
    grouped = mean_interval(ordered, groups, (-0.5, 1.0), 0.95)
    assert grouped[0] < alone[0] < alone[1] < grouped[1]
