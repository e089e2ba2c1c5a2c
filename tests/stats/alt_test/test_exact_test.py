"""The exact margin test: size by enumeration, against the simulation of its own null."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import multinomial

from harness.stats.alt_test import margin_tests
from harness.stats.alt_test.margin_tests import exact_margin_test


@cache
def p_value(n, wins, losses, eps):
    return exact_margin_test(n, wins, losses, eps).p_exact


@pytest.mark.slow
@pytest.mark.parametrize("eps", [0.1, 0.2])
@pytest.mark.parametrize("n", [10, 13, 17])
def test_size_is_at_most_the_level(n, eps):
    """Under every null distribution the test rejects in at most 5 % of data sets."""
    assert largest_size(n, eps) <= 0.05 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("n", range(10, 30))
def test_size_is_at_most_the_level_for_all_small_n(n):
    """The same for every n from 10 to 29, at the default margins."""
    assert max(largest_size(n, eps) for eps in (0.1, 0.15, 0.2)) <= 0.05 + 1e-9


def largest_size(n, eps):
    tables = [(w, x) for w in range(n + 1) for x in range(n + 1 - w)]
    rejected = [(w, x) for w, x in tables if p_value(n, w, x, eps) <= 0.05]
    sizes = []
    for p_win in np.linspace(0.0, (1.0 - eps) / 2.0, 200):
        law = multinomial(n, [p_win, p_win + eps, max(1.0 - 2.0 * p_win - eps, 0.0)])
        sizes.append(sum(law.pmf([w, x, n - w - x]) for w, x in rejected))
    return max(sizes)


def test_ties_alone_pass_only_with_enough_items():
    """Without any loss the p-value is (1 - eps)^n."""
    assert exact_margin_test(15, 0, 0, 0.2).p_exact == pytest.approx(0.8**15, abs=1e-6)


def test_impossible_counts_are_refused():
    """More wins and losses than items is an error of the caller."""
    with pytest.raises(ValueError, match="are impossible with"):
        exact_margin_test(5, 3, 3, 0.1)
    with pytest.raises(ValueError, match="margin"):
        exact_margin_test(5, 3, 1, 0.0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_table_of_n_items_is_counted(n):
    """From no loss to n, and no win to n."""
    lost, won = margin_tests._tables(n)
    tables = {(i, j) for i in range(n + 1) for j in range(n + 1 - i)}
    assert set(zip(lost.tolist(), won.tolist(), strict=True)) == tables
