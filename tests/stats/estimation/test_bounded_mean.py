"""Intervals for the mean of a bounded score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from benchmarks.estimation_claims import Scores, coverage
from harness.stats.estimation.bounded_mean import EXTRA, ScoreUnits

SIMULATED = 500


def limits(values, bounds, noise=0.0):
    units = ScoreUnits(np.array([values]), np.ones((1, len(values))), np.array([noise]))
    return tuple(float(units.limit(np.array([end]), 0.025)[0]) for end in bounds)


@pytest.mark.parametrize(("n", "n_top"), [(50, 0), (50, 3), (100, 30), (20, 20)])
def test_two_scores_have_a_beta_interval(n, n_top):
    """Of Clopper and Pearson, with one more item that counts for EXTRA."""
    interval = limits((np.arange(n) < n_top).astype(float), (0.0, 1.0))
    low = beta.ppf(0.025, n_top, n - n_top + EXTRA) if n_top else 0.0
    high = beta.ppf(0.975, n_top + EXTRA, n - n_top) if n_top < n else 1.0
    assert interval == pytest.approx((low, high), abs=2e-3)


def test_limits_are_quantiles_of_randomly_weighted_means():
    """The saddlepoint approximation against 200,000 draws."""
    rng = np.random.default_rng(1)
    values = np.array([1.0, 1.0, 1.0, 2.0, 5.0, 1.0, 3.0, 1.0])
    weights = rng.standard_exponential((200_000, len(values)))
    extra = rng.gamma(EXTRA, size=200_000)
    means = (weights @ values + extra * 5.0) / (weights.sum(axis=1) + extra)
    assert limits(values, (1.0, 5.0))[1] == pytest.approx(np.quantile(means, 0.975), abs=0.02)


def test_noise_of_the_judge_widens_both_ends():
    """The mean verdict of the unlabelled items is known up to an error."""
    values = np.arange(60.0) % 5
    low, high = limits(values, (0.0, 4.0))
    lower, higher = limits(values, (0.0, 4.0), noise=0.05)
    assert lower < low < high < higher


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=40))
def test_mean_is_within_its_limits_and_the_scale(scores):
    """Also if all scores are alike, where a t interval has no width."""
    low, high = limits(np.array(scores, dtype=float), (1.0, 5.0))
    assert 1.0 <= low <= np.mean(scores) + 1e-9
    assert np.mean(scores) - 1e-9 <= high <= 5.0
    assert high - low > 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [Scores("weak"), Scores("near-perfect", n=30), Scores("good", n=100, top="even")],
    ids=repr,
)
def test_intervals_of_scores_hold_if_the_top_is_rare(claim):
    """They held in 80 % with 3 % top scores and 100 labels."""
    assert coverage(claim, SIMULATED).share >= 0.93 - 3.0 * np.sqrt(0.93 * 0.07 / SIMULATED)
