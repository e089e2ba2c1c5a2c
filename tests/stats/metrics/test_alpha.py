from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.memory import forget_peak, peak_kib

from harness.stats.metrics import alpha
from harness.stats.metrics.alpha import (
    INTERVAL_ALPHA,
    LEVELS,
    MOST_RATIOS,
    alpha_metric,
    coincidence_totals,
    coincidences,
    interval_sums,
    krippendorff_alpha,
)

SCALE = 4
counts_of_items = arrays.arrays(np.int64, (5, SCALE), elements=st.integers(0, 3))


def raw(counts):
    """Spell counts out as ratings 1 to K, nan where missing."""
    ratings = np.full((len(counts), max(1, counts.sum(axis=1).max())), np.nan)
    for row, given_counts in zip(ratings, counts, strict=True):
        labels = np.repeat(np.arange(1, SCALE + 1), given_counts)
        row[: len(labels)] = labels
    return ratings


@pytest.mark.parametrize("level", LEVELS)
@given(counts=counts_of_items, low=st.sampled_from([0.0, 2.5]), blocks=st.sampled_from([1, 2, 9]))
def test_counting_whole_numbers_gives_what_sorting_gives(level, counts, low, blocks):
    """Ratings on a short scale take a quicker way, block by block, to the same estimate."""
    ratings = raw(counts) - 1.0 + low
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.stats.data.arrays.BLOCK", blocks)
        quick = krippendorff_alpha(ratings, level)
        patch.setattr(alpha, "LONGEST", 0)
        sorted_way = krippendorff_alpha(ratings, level)
    assert quick.value == pytest.approx(sorted_way.value, abs=1e-9)
    assert replace(quick, value=None) == replace(sorted_way, value=None)


def test_ratings_between_whole_steps_are_sorted():
    """A half that comes late is not cut off to a whole."""
    ratings = np.array([[1.0, 2.0], [2.0, 2.0], [1.0, 1.5]])
    assert krippendorff_alpha(ratings, "interval").value == pytest.approx(
        slow_alpha(ratings, "interval")
    )


def slow_alpha(ratings, level):
    """Textbook alpha: loops over all pairs of values, within units and over all."""
    units = [row[~np.isnan(row)] for row in ratings]
    units = [unit for unit in units if len(unit) > 1]
    if not units:
        return None
    values = np.concatenate(units)

    def delta(a, b):
        low, high = min(a, b), max(a, b)
        if level == "nominal":
            return float(a != b)
        if level == "ordinal":
            between = ((values >= low) & (values <= high)).sum()
            ends = ((values == low).sum() + (values == high).sum()) / 2
            return 0.0 if a == b else float(between - ends) ** 2
        return (a - b) ** 2 if level == "interval" else ((a - b) / (a + b)) ** 2

    observed = sum(delta(a, b) / (len(unit) - 1) for unit in units for a in unit for b in unit)
    expected = sum(delta(a, b) for a in values for b in values) / (len(values) - 1)
    return None if expected == 0 else 1 - observed / expected


@pytest.mark.parametrize("level", LEVELS)
@given(counts=counts_of_items)
def test_alpha_equals_its_computation_from_all_pairs(level, counts):
    """Linear sums and coincidences give what loops over pairs of values give."""
    wanted = slow_alpha(raw(counts), level)
    result = krippendorff_alpha(raw(counts), level)
    totals = coincidences(counts).sum(axis=0)
    measure = alpha_metric(level)
    from_cells = float(measure.value(totals))
    if wanted is None:
        assert result.value is None
        assert np.isnan(from_cells)
        assert result.reason == measure.reason(totals)
    else:
        assert result.value == pytest.approx(wanted, abs=1e-9)
        assert from_cells == pytest.approx(wanted, abs=1e-9)


@settings(deadline=None)
@given(counts=counts_of_items)
def test_coincidence_totals_are_sums_of_contributions(counts):
    """The quick total and the array over items agree, and count every pairable rating once."""
    np.testing.assert_allclose(coincidence_totals(counts), coincidences(counts).sum(axis=0))
    m = counts.sum(axis=1)
    assert coincidence_totals(counts).sum() == pytest.approx(m[m > 1].sum())


@settings(deadline=None)
@given(counts=counts_of_items)
def test_alpha_takes_uneven_numbers_of_raters_without_padding(counts):
    """Units with one rating or none change nothing."""
    assert coincidences(counts[:0]).shape == (0, SCALE**2)
    lone = np.vstack([counts, np.eye(SCALE, dtype=np.int64), np.zeros((2, SCALE), np.int64)])
    np.testing.assert_allclose(coincidence_totals(lone), coincidence_totals(counts))


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("nominal", 0.4455445544554455),
        ("ordinal", 0.45916512798233244),
        ("interval", 0.44119157678479715),
        ("ratio", 0.5171187067003735),
    ],
)
def test_alpha_against_krippendorff(level, expected):
    """krippendorff 0.9.0, alpha(reliability_data=PUBLISHED.T, level_of_measurement=level)."""
    published = np.array(
        [
            [1, 1, np.nan, 1],
            [2, 2, 3, 2],
            [3, 3, 3, 3],
            [3, 4, 3, 3],
            [2, 2, 4, 2],
            [1, 2, 3, 4],
            [4, 4, 4, 1],
            [1, 1, 2, 1],
            [np.nan, np.nan, 1, 1],
            [np.nan, np.nan, 3, np.nan],
        ]
    )
    assert krippendorff_alpha(published, level).value == pytest.approx(expected, abs=1e-12)


def test_constant_labels_are_na_with_counts():
    """Seven tools give seven answers for one label; here it is NA with the reason and counts."""
    for level in LEVELS:
        result = krippendorff_alpha([[2, 2], [2, 2], [2, np.nan]], level)
        assert (result.value, result.reason) == (None, "constant_labels")
        assert result.counts == {"units": 3, "pairable_units": 2, "pairable_values": 4}
        assert [(exclusion.reason, exclusion.n_items) for exclusion in result.excluded] == [
            ("too_few_raters", 1)
        ]
    sums = interval_sums(np.full((3, 2), 0.1)).sum(axis=0)
    assert np.isnan(INTERVAL_ALPHA.value(sums))
    assert INTERVAL_ALPHA.reason(sums) == "constant_labels"
    assert INTERVAL_ALPHA.reason(np.zeros(4)) == "too_few_raters"


def test_single_rater_is_na_not_0_or_1():
    """No unit has two ratings: nothing was agreed or disagreed."""
    for level in LEVELS:
        result = krippendorff_alpha([[1], [2], [3]], level)
        assert (result.value, result.reason, result.n_used) == (None, "too_few_raters", 0)
    assert krippendorff_alpha(np.empty((0, 3)), "nominal").reason == "too_few_raters"


@pytest.mark.parametrize("level", ["interval", "ordinal", "nominal"])
def test_alpha_on_continuous_data_does_not_ask_for_terabytes(level):
    """100,000 units of 3 raters, all values distinct: at most 1 s CPU and 500 MiB more."""
    rng = np.random.default_rng(0)
    ratings = np.exp(rng.normal(size=(100_000, 1)) + rng.normal(size=(100_000, 3)))
    before = forget_peak()
    start = time.process_time()
    result = krippendorff_alpha(ratings, level)
    assert time.process_time() - start < 1.0
    assert peak_kib() - before < 500 * 1024
    assert result.value is not None


def test_continuous_interval_alpha_has_contributions():
    """Four sums per item give the same alpha, and shards with one centre add up."""
    rng = np.random.default_rng(0)
    ratings = 1e6 + rng.normal(size=(50, 1)) + rng.normal(size=(50, 4))
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    wanted = krippendorff_alpha(ratings, "interval").value
    assert float(INTERVAL_ALPHA.value(interval_sums(ratings).sum(axis=0))) == pytest.approx(wanted)
    shards = [interval_sums(part, centre=1e6).sum(axis=0) for part in np.split(ratings, [20])]
    assert float(INTERVAL_ALPHA.value(sum(shards))) == pytest.approx(wanted)


@pytest.mark.parametrize(
    "ratings",
    [
        1000.0 + 1e-9 * np.arange(12.0).reshape(4, 3) % 7e-9,
        np.array([[1e-200, 3e-200], [2e190, 5e190], [0.5, 1.0]]),
        np.exp(np.random.default_rng(0).normal(0.0, 8.0, (40, 3))),
    ],
    ids=["hardly different", "very different", "over many orders"],
)
def test_ratio_alpha_holds_at_any_size_of_number(ratings):
    """It is what a loop over pairs gives."""
    wanted = slow_alpha(ratings, "ratio")
    assert krippendorff_alpha(ratings, "ratio").value == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_objects_with_none_are_ratings_too(level):
    """None is a missing rating, as nan is."""
    objects = np.array([[1.5, 2, None], [2, 2, 0.25], [None, None, 3]], dtype=object)
    wanted = krippendorff_alpha(objects.astype(np.float64), level)
    result = krippendorff_alpha(objects, level)
    assert result.value == pytest.approx(wanted.value, abs=1e-12)
    assert replace(result, value=None) == replace(wanted, value=None)


def test_ratio_alpha_knows_zero():
    """Zero is as far as can be from anything but zero: the same from cells and from raw ratings."""
    ratings = [[0, 0], [0, 2], [3, 2], [0, 0]]
    cells = coincidences(np.array([[2, 0, 0], [1, 1, 0], [0, 1, 1], [2, 0, 0]]))
    measure = alpha_metric("ratio", scale=[0, 2, 3])
    wanted = float(measure.value(cells.sum(axis=0)))
    assert krippendorff_alpha(ratings, "ratio").value == pytest.approx(wanted, abs=1e-12)
    assert krippendorff_alpha([[0, 0], [0, 0]], "ratio").reason == "constant_labels"


def test_nominal_alpha_takes_any_labels():
    """Texts with None for missing; the same as their codes."""
    texts = np.array([["a", "b", None], ["b", "b", "b"], ["c", None, None]], dtype=object)
    codes = [[1, 2, np.nan], [2, 2, 2], [3, np.nan, np.nan]]
    wanted = krippendorff_alpha(codes, "nominal").value
    assert krippendorff_alpha(texts, "nominal").value == pytest.approx(wanted)
    with pytest.raises(ValueError, match="non_numeric_value: 'a'"):
        krippendorff_alpha(texts, "ordinal")


def test_user_weights_replace_the_level():
    """Weights of 1 off the diagonal are nominal; squared steps are interval."""
    totals = coincidence_totals(np.array([[2, 1, 0], [0, 2, 2], [1, 0, 3], [0, 3, 0]]))
    steps = np.subtract.outer(np.arange(3), np.arange(3)) ** 2
    for level, weights in (("nominal", 1 - np.eye(3)), ("interval", steps)):
        weighted = alpha_metric(weights=weights)
        assert weighted.name == "krippendorff_alpha_weighted"
        assert weighted.value(totals) == pytest.approx(alpha_metric(level).value(totals))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (alpha_metric, "either a level"),
        (lambda: alpha_metric("nominal", weights=1 - np.eye(2)), "either a level"),
        (lambda: alpha_metric(weights=np.ones((2, 3))), r"shape \(2, 3\); wanted \(K, K\)"),
        (lambda: alpha_metric(weights=np.ones((2, 2))), "diagonal must be 0"),
        (lambda: alpha_metric(weights=np.zeros((2, 2))), "not all 0"),
        (lambda: alpha_metric(weights=[[0, -1], [1, 0]]), "non-negative"),
        (lambda: krippendorff_alpha([[1, 2]], "cardinal"), "level is 'cardinal'"),
        (lambda: krippendorff_alpha([1, 2], "nominal"), r"shape \(2,\); wanted \(n, m\)"),
        (lambda: krippendorff_alpha([[-1, 2]], "ratio"), "no negative numbers; -1.0 was given"),
        (lambda: krippendorff_alpha([[1, np.inf]], "ratio"), "no infinite numbers"),
        (lambda: alpha.distances("cardinal", np.ones(2)), "level is 'cardinal'"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match=message):
        call()


def test_ratio_alpha_of_very_many_different_numbers_is_not_computed():
    """Its time grows with their square, so a call would take minutes without a word."""
    numbers = np.arange(1.0, MOST_RATIOS + 3.0).reshape(-1, 2)
    estimate = krippendorff_alpha(numbers, "ratio")
    assert (estimate.value, estimate.reason) == (None, "not_computed")
    assert krippendorff_alpha(numbers, "interval").value is not None
