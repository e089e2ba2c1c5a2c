"""The deciding annotator test: its size under true nulls, and when it has none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from harness.stats.alt_test.deciding_test import deciding_test

EPS = 0.1


def difference_of(n, wins, losses):
    return np.repeat([-1.0, 1.0, 0.0], [wins, losses, n - wins - losses])


@pytest.mark.parametrize("n", [10, 20, 29, 30, 60, 150])
def test_size_on_tied_indicators(n):
    """Losses of a share eps and no wins: the published signed-rank test rejects up to .94."""
    losses = np.arange(n + 1)
    rejected = [deciding_test(difference_of(n, 0, k), EPS).p <= 0.05 for k in losses]
    assert binom.pmf(losses, n, EPS)[rejected].sum() <= 0.06


def test_recorded_size_of_the_signed_rank_test():
    """29 items, losses at the margin: the deciding test rejects in at most 5 % of data sets."""
    losses = np.arange(30)
    rejected = [deciding_test(difference_of(29, 0, k), EPS).p <= 0.05 for k in losses]
    assert binom.pmf(losses, 29, EPS)[rejected].sum() <= 0.05


@pytest.mark.parametrize("n_groups", [5, 10, 40])
def test_size_with_groups(n_groups):
    """Alike items within a group: at most 7.5 % of 1,000 data sets at the margin are rejected."""
    rng = np.random.default_rng(n_groups)
    groups = np.repeat(np.arange(n_groups), 6)
    shares = np.array([0.1, 0.1 + EPS, 0.8 - EPS])
    rejected = 0
    for _ in range(1000):
        by_group = rng.dirichlet(shares * 7 / 3, n_groups).cumsum(axis=1)[groups]
        drawn = rng.random(len(groups))
        difference = np.where(drawn < by_group[:, 0], -1.0, (drawn < by_group[:, 1]) * 1.0)
        p = deciding_test(difference, EPS, groups=groups).p
        rejected += p is not None and p <= 0.05
    assert rejected / 1000 <= 0.075


def test_a_good_judge_passes():
    """Mostly ties, more wins than losses."""
    assert deciding_test(difference_of(150, 20, 10), EPS).p < 0.01
    assert deciding_test(difference_of(150, 20, 10), EPS).method == "score"


def test_too_few_items_and_groups_are_na():
    """What cannot be tested with a valid size says why."""
    assert deciding_test(difference_of(9, 9, 0), EPS).reason == "too_few_items"
    groups = np.arange(40) // 8
    assert deciding_test(difference_of(40, 10, 5), EPS, groups=groups).reason == "too_few_groups"


def test_all_ties_count_groups_as_items():
    """Twelve groups without a win or loss say as much as twelve items."""
    groups = np.arange(48) // 4
    assert deciding_test(np.zeros(48), EPS, groups=groups).p == pytest.approx(
        deciding_test(np.zeros(12), EPS).p
    )
