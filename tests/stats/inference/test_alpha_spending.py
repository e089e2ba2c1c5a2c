"""What the validations of a series spend sums to at most alpha, whatever their order and number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from harness.stats.inference.alpha_spending import (
    COPIES,
    FIRST,
    LATER,
    SCREENING,
    level_after,
    share_of_validation,
)

LEVELS = st.floats(1e-6, 0.2)
CORRELATIONS = st.floats(0.0, 1.0)


def test_alpha_is_divided_without_rest():
    """First, later, screening and copies are all of it; the first has at least 0.041 of 0.05."""
    assert pytest.approx(1.0) == FIRST + LATER + SCREENING + COPIES
    assert 0.05 * FIRST >= 0.041 - 1e-12


@given(st.integers(1, 5000))
def test_the_shares_of_any_number_of_validations_have_a_limit(n):
    """They sum to at most what the first and the later ones have together."""
    shares = [share_of_validation(number) for number in range(1, n + 1)]
    assert sum(shares) <= FIRST + LATER
    assert shares == sorted(shares, reverse=True)


def test_validations_are_numbered_from_one():
    """Numbers begin with 1."""
    with pytest.raises(ValueError, match="the first validation is 1"):
        share_of_validation(0)


@given(LEVELS, LEVELS, CORRELATIONS)
def test_a_level_lies_between_what_it_spends_and_the_sum(spent, before, correlation):
    """A test on the same data repeats the earlier one; on new data it has what it spends."""
    level = level_after(spent, [(before, correlation)])
    assert spent <= level <= before + spent + 1e-12
    assert level_after(spent) == level_after(spent, [(before, 0.0)]) == spent
    assert level_after(spent, [(before, 1.0)]) == pytest.approx(before + spent)


@given(LEVELS, LEVELS, st.floats(0.05, 0.999))
def test_a_level_spends_its_share_of_alpha(spent, before, correlation):
    """The chance that only the later of two normal statistics rejects, by scipy's integral."""
    level = level_after(spent, [(before, correlation)])
    ends = norm.isf([before, level])
    both = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(-ends)
    assert level - both <= spent * 1.01 + 1e-6


@given(LEVELS, LEVELS, CORRELATIONS, CORRELATIONS)
def test_more_of_the_same_data_never_lowers_a_level(spent, before, one, other):
    """It grows with the correlation, and with further tests to rest on."""
    low, high = sorted((one, other))
    levels = [level_after(spent, [(before, correlation)]) for correlation in (low, high)]
    assert levels[0] <= levels[1] + 1e-9
    both = level_after(spent, [(before, low), (before, high)])
    assert both == pytest.approx(max(levels), abs=1e-8)


@pytest.mark.slow
@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.data())
def test_looks_at_growing_data_reject_rarely(steps, data):
    """One judge at the boundary and more items until it is recommended: at most alpha."""
    sizes = np.cumsum([20, *steps])
    seed = data.draw(st.integers(0, 5))
    paths = np.random.default_rng(seed).standard_normal((4000, sizes[-1])).cumsum(axis=1)
    statistics = paths[:, sizes - 1] / np.sqrt(sizes)
    passed, before = np.zeros(len(paths), bool), []
    for number, size in enumerate(sizes.tolist(), start=1):
        tests = [(level, (earlier / size) ** 0.5) for level, earlier in before]
        level = level_after(0.05 * share_of_validation(number), tests)
        passed |= statistics[:, number - 1] >= norm.isf(level)
        before.append((level, size))
    assert passed.mean() <= 0.044 + 3 * (0.044 * 0.956 / len(paths)) ** 0.5
