from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from harness.stats.inference.permutation import sums_between, sums_within, tabled_sums
from harness.stats.subsets.selective_prediction import abstention_test

DRAWS = 20_000


def shares(rows):
    """Turn drawn rows into the share of each different one."""
    values, counts = np.unique(np.round(rows, 9), axis=0, return_counts=True)
    return {
        tuple(value): n / len(rows)
        for value, n in zip(values.tolist(), counts.tolist(), strict=True)
    }


def exact(y, codes, n_codes):
    """Sums of y by code over every permutation, alike ones together."""
    return shares(
        np.array([np.bincount(codes, order, n_codes) for order in permutations(y.tolist())])
    )


def assert_alike(drawn, wanted):
    """Every outcome occurs about as often as it should, and no other does."""
    assert drawn.keys() == wanted.keys()
    for outcome, share in wanted.items():
        assert drawn[outcome] == pytest.approx(share, abs=5 * np.sqrt(share / DRAWS))


def test_tables_are_distributed_as_permutations_are():
    """Drawing the table of values by codes gives every outcome its exact chance."""
    y, codes = np.array([0.0, 0.0, 1.0, 1.0, 0.5, 1.0]), np.array([0, 0, 1, 1, 2, 2])
    drawn = tabled_sums(y, np.bincount(codes), n_draws=DRAWS, rng=np.random.default_rng(0))
    assert_alike(shares(drawn), exact(y, codes, 3))


def test_many_values_are_not_tabled():
    """A table of more than 400 cells is no quick way: the caller permutes."""
    y = np.arange(500.0)
    assert tabled_sums(y, np.array([250, 250]), n_draws=1, rng=np.random.default_rng(0)) is None


def test_groups_of_unlike_sizes_are_permuted_within():
    """Each group by itself, constant ones untouched, in whatever order the items come."""
    of = np.array([1, 0, 1, 0, 2, 1, 3])
    y = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    held = np.array([[1.0], [2.0], [3.0], [4.0], [8.0], [5.0], [9.0]])
    drawn = shares(sums_within(y, held, of, n_draws=DRAWS, rng=np.random.default_rng(0)))
    assert_alike(drawn, shares(np.array([[a + b + 8.0] for a in (1, 3, 5) for b in (2, 4)])))


def test_whole_groups_travel_together():
    """Sums and sizes of a group meet the same value in each permutation."""
    per_group, held = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 4.0]]), np.eye(3)
    drawn = sums_between(per_group, held, n_draws=DRAWS, rng=np.random.default_rng(0))
    assert drawn.shape == (DRAWS, 2, 3)
    wanted = {tuple(order): 1 / 6 for order in permutations([1.0, 0.0, 3.0])}
    assert_alike(shares(drawn[:, 0]), wanted)
    np.testing.assert_allclose(drawn[:, 1] - drawn[:, 0], 1.0)


@pytest.mark.parametrize("numeric", [True, False])
def test_p_is_that_of_all_permutations(numeric):
    """Against every order of seven items, spelt out; equal statistics count as extreme."""
    y = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    x = np.array([3.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0])

    def statistic(order):
        if numeric:
            return abs(np.corrcoef(order, x)[0, 1])
        means = [order[x == value].mean() for value in (1, 2, 3)]
        return sum(
            (x == v).sum() * (m - y.mean()) ** 2 for v, m in zip((1, 2, 3), means, strict=True)
        )

    every = np.array([statistic(np.array(order)) for order in permutations(y.tolist())])
    wanted = (every >= statistic(y) - 1e-9).mean()
    factor = x if numeric else [f"v{value:g}" for value in x]
    test = abstention_test(y, factor, rng=np.random.default_rng(0), n_draws=DRAWS)
    assert test.p == pytest.approx(wanted, abs=5 * np.sqrt(wanted / DRAWS))


def test_a_continuous_factor_is_permuted_item_by_item():
    """With as many values as items there is no table, and a trend is still found."""
    rng = np.random.default_rng(0)
    difficulty = rng.random(600)
    abstained = (rng.random(600) < difficulty**2).astype(float)
    assert abstention_test(abstained, difficulty, rng=rng, n_draws=999).p == 1 / 1000


def test_a_numeric_factor_of_whole_groups_is_permuted_between_them():
    """The statistic is the correlation over items, whatever the sizes of the groups."""
    sizes = [1, 2, 3, 4, 5, 6, 7, 8]
    groups = [f"g{g}" for g, size in enumerate(sizes) for _ in range(size)]
    hard = np.array([float(g) for g, size in enumerate(sizes) for _ in range(size)])
    abstained = (hard > 4).astype(float)
    test = abstention_test(abstained, hard, groups=groups, rng=np.random.default_rng(0))
    assert test.permuted == "groups"
    assert test.statistic == pytest.approx(np.corrcoef(abstained, hard)[0, 1])
    assert 0.001 < test.p < 0.2


def test_groups_that_permute_alike_are_counted_not_permuted():
    """Forty groups of one make: how often each order occurs, with the same sums in distribution."""
    y, held = np.tile([1.0, 0.0, 0.5], 40), np.tile(np.eye(3), (40, 1))
    of = np.repeat(np.arange(40), 3)
    counted = sums_within(y, held, of, n_draws=DRAWS, rng=np.random.default_rng(0))
    one_by_one = held.copy()
    one_by_one[::3] += np.arange(40)[:, None] * 1e-9  # so that no two groups are alike
    direct = sums_within(y, one_by_one, of, n_draws=DRAWS, rng=np.random.default_rng(0))
    np.testing.assert_allclose(counted.sum(axis=1), 60.0)
    np.testing.assert_allclose(counted.mean(axis=0), direct.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(np.cov(counted.T), np.cov(direct.T), atol=0.3)
