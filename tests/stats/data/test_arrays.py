from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.each_case import for_each

from harness.stats.data.arrays import (
    SHORT,
    by_occurrence,
    distinct,
    median,
    ratio,
    reduced,
    remembered,
    total,
)

steps = st.lists(st.integers(-5, 5), max_size=12)


@given(steps=steps, low=st.sampled_from([0.0, 0.5, -1e9, 1 / 3]))
def test_distinct_values_are_those_of_a_sort(steps, low):
    """Counting on a short scale finds what numpy's unique finds."""
    values = np.array(steps, dtype=float) + low
    distinct_values, place = distinct(values)
    wanted, wanted_place = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(distinct_values, wanted)
    np.testing.assert_array_equal(place, wanted_place)


@pytest.mark.parametrize("values", [[0.0, SHORT], [0.0, 0.5, 1.0], [1e300, -1e300], [np.inf, 0.0]])
def test_values_off_a_short_scale_are_sorted(values):
    """A long way apart, or not in whole steps: nothing is rounded."""
    distinct_values, place = distinct(np.array(values))
    np.testing.assert_array_equal(distinct_values[place], values)
    assert distinct_values.tolist() == sorted(values)


def test_ratio_is_nan_where_undefined():
    """No infinity and no warning."""
    ratios = ratio(np.array([1.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0]))
    np.testing.assert_array_equal(ratios, [0.5, np.nan, np.nan])


def test_a_first_step_is_remembered_for_the_same_array_alone():
    """Equal numbers in another array are looked at anew."""
    seen = []

    @remembered
    def doubled(totals):
        seen.append(totals.copy())
        return 2.0 * totals

    ones = np.ones(2)
    np.testing.assert_array_equal(doubled(ones), doubled(ones))
    assert len(seen) == 1
    doubled(ones.copy())
    doubled(ones)
    assert len(seen) == 3


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e-12, 1.0, 1e12, 1e30])
def test_total_of_numbers_of_any_size(size):
    """On a scale of small numbers, squared differences are far below the steps."""
    rows = size * np.random.default_rng(0).random((1000, 2))
    np.testing.assert_allclose(total(rows), rows.sum(axis=0), rtol=1e-12)


def test_total_is_the_same_in_any_order_and_for_items_merged():
    """It is the exact sum, rounded once, whatever the order and however often rows stand for."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 3)) ** 7
    wanted = [math.fsum(column) for column in rows.T]
    np.testing.assert_allclose(total(rows), wanted, rtol=1e-15)
    np.testing.assert_array_equal(total(rng.permutation(rows)), total(rows))
    times = rng.integers(1, 1000, size=50)
    np.testing.assert_array_equal(
        total(rows[:50], times), total(np.repeat(rows[:50], times, axis=0))
    )


@given(counted=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=9))
def test_median_of_counted_numbers_is_that_of_repeated_ones(counted):
    """A number that occurs several times counts as often; without any there is no median."""
    values, times = np.array(counted).T
    repeated = np.repeat(values, times)
    if len(repeated):
        assert median(values, times) == median(repeated) == np.median(repeated)
    assert median(values[:0]) is None


@for_each(
    product(
        (np.add, np.maximum, np.logical_or),
        ("float64", "int64", "bool"),
        (0, 1, 2, 3, 5, 7, 8, 9, 20),
    )
)
def test_short_rows_are_reduced_as_numpy_does(case):
    """To the last bit, nan and -0.0 included, and never to a view of the rows."""
    ufunc, kind, n_columns = case
    rng = np.random.default_rng(n_columns)
    rows = rng.choice([0.1, 0.7, 1e-17, -3.3, 1e9, 0.0, np.nan], size=(500, n_columns))
    rows = rows if kind == "float64" else np.nan_to_num(rows).astype(kind)
    if kind == "bool" and ufunc is np.add:  # of which numpy makes counts
        rows = rows.astype(np.int64)
    if n_columns or ufunc is not np.maximum:  # which has no value for nothing
        result = reduced(ufunc, rows)
        np.testing.assert_array_equal(result, ufunc.reduce(rows, axis=1), strict=True)
        assert not np.shares_memory(result, rows)


@given(codes=st.lists(st.integers(0, 9), max_size=30))
def test_codes_are_ordered_by_their_first_occurrence(codes):
    used, place = by_occurrence(np.array(codes, dtype=np.int64), 10)
    assert used.tolist() == list(dict.fromkeys(codes))
    assert used[place[codes]].tolist() == codes if codes else not len(used)
