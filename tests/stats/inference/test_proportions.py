"""Wilson's interval against published values and its own promise."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.inference.estimate import wilson_interval


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_against_newcombe_1998(k, n, low, high):
    """Table I of Newcombe, Statistics in Medicine 17 (1998), method 3."""
    interval = wilson_interval(k / n, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)


def test_wilson_covers_on_average_what_it_says():
    """Exact coverage at n = 20, averaged over the true share, is within a point of 95 %."""
    n, covered = 20, []
    ends = [wilson_interval(k / n, n) for k in range(n + 1)]
    for p in (i / 200 for i in range(1, 200)):
        chance = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        covered.append(sum(c for c, e in zip(chance, ends, strict=True) if e.low <= p <= e.high))
    assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.01)


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_wilson_holds_the_share_and_has_a_width(share, n):
    """Never of width 0, not even where nothing or everything was counted."""
    interval = wilson_interval(share, n)
    assert 0 <= interval.low <= share + 1e-12
    assert share - 1e-12 <= interval.high <= 1
    assert interval.high > interval.low


@pytest.mark.parametrize(("share", "n"), [(-0.1, 5), (1.1, 5), (0.5, 0), (float("nan"), 5)])
def test_wilson_refuses_what_is_no_share(share, n):
    """No interval from nothing."""
    with pytest.raises(ValueError, match="no interval"):
        wilson_interval(share, n)
