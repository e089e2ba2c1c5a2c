"""The exact interval of a share against published values and its own promise."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.inference.estimate import share_interval


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_clopper_pearson_against_newcombe_1998(k, n, low, high):
    """Table I of Newcombe, Statistics in Medicine 17 (1998), method 5."""
    interval = share_interval(k / n, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("n", [1, 5, 20, 100])
def test_an_exact_interval_contains_any_share_as_often_as_it_says(n):
    """In all data sets of n items, at 199 shares: Wilson's did in 84 % of some."""
    ends = [share_interval(k / n, n) for k in range(n + 1)]
    for p in (i / 200 for i in range(1, 200)):
        chance = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        assert sum(c for c, e in zip(chance, ends, strict=True) if e.low <= p <= e.high) >= 0.95


@given(st.floats(0, 1), st.floats(0.5, 10_000))
def test_an_exact_interval_contains_the_observed_share_and_has_a_width(share, n):
    """Never of width 0, not even where nothing or everything was counted."""
    interval = share_interval(share, n)
    assert 0 <= interval.low <= share + 1e-12
    assert share - 1e-12 <= interval.high <= 1
    assert interval.high > interval.low


@pytest.mark.parametrize(("share", "n"), [(-0.1, 5), (1.1, 5), (0.5, 0), (float("nan"), 5)])
def test_values_that_are_not_shares_have_no_interval(share, n):
    """No interval from nothing."""
    with pytest.raises(ValueError, match="no interval"):
        share_interval(share, n)
