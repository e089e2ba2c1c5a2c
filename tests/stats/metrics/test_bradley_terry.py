"""Win rates and Bradley-Terry strengths of systems compared in pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from harness.stats import Resampling
from harness.stats.metrics.bradley_terry import bradley_terry, system_estimates, win_rates

counts = st.lists(st.integers(1, 20), min_size=12, max_size=12)


def matrix(values):
    wins = np.zeros((4, 4))
    wins[~np.eye(4, dtype=bool)] = values
    return wins


@given(counts)
@settings(max_examples=50)
def test_strengths_maximize_the_likelihood(values):
    """As a general optimizer finds them; their mean is 0."""
    wins = matrix(values)

    def loss(strengths):
        odds = strengths[:, None] - strengths[None, :]
        return float((wins * np.logaddexp(0, -odds)).sum())

    fitted = bradley_terry(wins)
    best = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x
    assert fitted == pytest.approx(best - best.mean(), abs=1e-5)
    assert abs(fitted.mean()) < 1e-12


@given(counts, st.permutations(range(4)))
@settings(max_examples=30)
def test_order_of_systems_does_not_matter(values, order):
    wins = matrix(values)
    assert bradley_terry(wins[np.ix_(order, order)]) == pytest.approx(
        bradley_terry(wins)[list(order)], abs=1e-7
    )


def test_two_systems_by_hand():
    """Three wins to one: a rate of 3/4, odds of 3."""
    wins = np.array([[0.0, 3.0], [1.0, 0.0]])
    assert win_rates(wins).tolist() == [0.75, 0.25]
    assert np.diff(bradley_terry(wins))[0] == pytest.approx(-np.log(3))


@pytest.mark.parametrize(
    "wins",
    [
        [[0, 3, 3], [0, 0, 1], [0, 1, 0]],  # the first never lost
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]],  # the third was never compared
    ],
)
def test_strength_that_is_infinite_or_unknown_is_na(wins):
    """The maximum exists only if each system can be reached from each other by wins."""
    wins = np.array(wins, dtype=float)
    assert np.isnan(bradley_terry(wins)).all()
    [*_, (rate, strength)] = system_estimates(
        wins[None], ["a", "b", "c"], resampling=Resampling(rng=np.random.default_rng(0))
    ).values()
    assert strength.reason == "not_identified"
    assert rate.reason == ("not_compared" if not wins[2].any() else "")


def simulated(rng, strengths, n_items):
    """Comparisons of random pairs of systems, item by item."""
    n = len(strengths)
    wins = np.zeros((n_items, n, n))
    for row in wins:
        a, b = rng.choice(n, 2, replace=False)
        a_wins = rng.random() < 1 / (1 + np.exp(strengths[b] - strengths[a]))
        row[(a, b) if a_wins else (b, a)] = 1
    return wins


def test_intervals_cover_the_strengths():
    """Of 60 simulated tasks of 300 items, in 90 to 100 % for each of four systems."""
    strengths = np.array([-0.8, -0.2, 0.2, 0.8])
    covered = np.zeros(4)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        estimates = system_estimates(
            simulated(rng, strengths, 300),
            list("abcd"),
            resampling=Resampling(rng=rng, n_resamples=200),
        )
        for i, (_, strength) in enumerate(estimates.values()):
            covered[i] += strength.interval.low <= strengths[i] <= strength.interval.high
    assert ((covered / 60 >= 0.88) & (covered / 60 <= 1.0)).all(), covered / 60
    assert 0.92 <= covered.mean() / 60 <= 0.985
