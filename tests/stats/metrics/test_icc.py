from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from harness.stats.metrics.icc import ICC, crossed_ratings, two_way_sums

# Shrout and Fleiss 1979, table 2: four judges of six targets.
TABLE = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)


def icc(ratings):
    """Evaluate both coefficients; value or the reason."""
    totals = two_way_sums(crossed_ratings(np.asarray(ratings, float))).sum(axis=0)
    values = [(float(metric.value(totals)), metric.reason(totals)) for metric in ICC]
    return [reason if np.isnan(value) else value for value, reason in values]


def test_icc_of_the_published_table_is_the_published_value():
    """Shrout and Fleiss 1979, table 4: ICC(2,1) .29 and ICC(2,4) .62; psych prints .290, .620."""
    single, of_mean = icc(TABLE)
    assert single == pytest.approx(0.290, abs=5e-4)
    assert of_mean == pytest.approx(0.620, abs=5e-4)


def test_the_mean_of_raters_follows_from_one_rater_by_spearman_and_brown():
    """ICC(2,k) = k ICC(2,1) / (1 + (k - 1) ICC(2,1))."""
    single, of_mean = icc(TABLE)
    assert of_mean == pytest.approx(4 * single / (1 + 3 * single))


def test_a_rater_who_is_always_higher_lowers_both():
    """Absolute agreement, not consistency."""
    equal = np.repeat(np.arange(6.0)[:, None], 3, axis=1)
    assert icc(equal) == pytest.approx([1.0, 1.0])
    assert max(icc(equal + np.array([0.0, 0.0, 2.0]))) < 1.0


def test_only_raters_who_rated_every_item_count():
    """A fourth rater with a gap is left out; without two complete raters it's NA."""
    gap = np.column_stack([TABLE, np.arange(6.0)])
    gap[2, 4] = np.nan
    assert icc(gap) == pytest.approx(icc(TABLE))
    assert icc([[1, np.nan], [np.nan, 2]]) == ["raters_not_crossed"] * 2
    assert icc([[3, 3], [3, 3]]) == ["constant_labels"] * 2
    assert icc(np.full((2, 3), np.nan)) == ["raters_not_crossed"] * 2


@given(arrays.arrays(float, (7, 3), elements=st.integers(1, 5).map(float)), st.integers(-50, 50))
def test_icc_depends_on_differences_alone_and_is_at_most_one(ratings, shift):
    """A shift of the scale, the order of items and that of raters change nothing."""
    values = icc(ratings)
    for other in (ratings + shift, ratings[::-1], ratings[:, ::-1]):
        for value, again in zip(values, icc(other), strict=True):
            assert again == (value if isinstance(value, str) else pytest.approx(value, abs=1e-8))
    assert all(isinstance(value, str) or value <= 1.0 + 1e-12 for value in values)


def test_many_sums_are_read_at_once():
    """Values of resamples are those of each, and shards add up."""
    sums = two_way_sums(crossed_ratings(TABLE))
    draws = np.random.default_rng(0).multinomial(6, np.full(6, 1 / 6), 8) @ sums
    for metric in ICC:
        np.testing.assert_allclose(metric.value(draws), [metric.value(draw) for draw in draws])
        np.testing.assert_allclose(
            metric.value(sums[:2].sum(axis=0) + sums[2:].sum(axis=0)),
            metric.value(sums.sum(axis=0)),
        )
