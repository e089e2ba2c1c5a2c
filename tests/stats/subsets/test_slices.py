from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.slices import NO_EFFECT, NUMBERS, POWER, simulate
from harness.stats.subsets.slices import slice_means, thirds, worst_slice


def halves(n=40, seed=0, gap=0.4):
    """Return values whose mean is lower in the first half, and the two halves as slices."""
    rng = np.random.default_rng(seed)
    inside = np.arange(n) < n // 2
    return (rng.random(n) < np.where(inside, 0.8 - gap, 0.8)).astype(float), np.array(
        [inside, ~inside]
    )


def means(values, members, *, seed=1, **choices):
    """Compare slices of independent items that have shares."""
    units = np.arange(len(values))
    settings = {"units": units, "level": 0.95, "bounds": (0.0, 1.0)} | choices
    return slice_means(values, members, rng=np.random.default_rng(seed), **settings)


def test_each_slice_is_compared_with_the_items_outside_it():
    """The mean of a slice, that of the rest and their difference are plain means."""
    values, members = halves()
    result = means(values, members)
    assert result.mean.tolist() == [values[:20].mean(), values[20:].mean()]
    assert result.rest.tolist() == result.mean.tolist()[::-1]
    assert result.gap.tolist() == [values[:20].mean() - values[20:].mean(), -result.gap[0]]
    assert (result.low < result.mean).all()
    assert (result.mean < result.high).all()
    assert (result.gap_low < result.gap).all()
    assert (result.gap < result.gap_high).all()


def test_one_pair_of_halves_is_one_comparison():
    """Two halves say the same twice, so the interval is about Welch's t interval, not wider."""
    values, members = halves(400)
    result = means(values, members)
    parts = values[:200], values[200:]
    error = np.sqrt(sum(part.var(ddof=1) / 200 for part in parts))
    assert result.gap_high[0] - result.gap[0] == pytest.approx(1.96 * error, rel=0.04)


def test_more_slices_make_wider_intervals():
    """What is said of all slices at once allows for all of them."""
    values, members = halves(200)
    rng = np.random.default_rng(5)
    others = np.array([rng.permutation(members[0]) for _ in range(40)])
    few, many = means(values, members), means(values, np.vstack([members, others]))
    assert many.gap_high[0] - many.gap_low[0] > 1.3 * (few.gap_high[0] - few.gap_low[0])


def test_items_without_a_value_do_not_enter():
    """An item with nan counts on neither side."""
    values, members = halves()
    fewer = np.where(np.arange(40) % 4 == 0, np.nan, values)
    kept = ~np.isnan(fewer)
    result, alone = means(fewer, members), means(values[kept], members[:, kept])
    assert result.n_items.tolist() == [15, 15]
    assert result.gap_low == pytest.approx(alone.gap_low, abs=1e-12)


def test_too_few_items_have_no_interval():
    """Four items on either side say too little."""
    values, members = halves()
    four = np.arange(40) < 4
    result = means(values, np.vstack([members, four, ~four]))
    assert np.isnan(result.gap_low).tolist() == [False, False, True, True]
    assert np.isnan(result.low).tolist() == [False, False, True, True]
    assert np.isfinite(result.mean).all()


def test_a_slice_without_items_is_undefined():
    """Neither a mean nor a difference is made up."""
    values, members = halves()
    result = means(values, np.vstack([members, np.zeros(40, np.bool_)]))
    assert np.isnan([result.mean[2], result.gap[2], result.low[2], result.gap_high[2]]).all()


def test_eight_alike_items_are_not_proof():
    """Eight items of which none agrees show no spread; three in ten of the others agree."""
    inside = np.arange(200) < 8
    values = np.where(inside, 0.0, np.arange(200) % 10 < 3)
    result = means(values, np.array([inside]))
    assert result.gap_low[0] < result.gap[0] < 0.0 < result.gap_high[0]


def test_a_judge_that_is_wrong_in_a_slice_alone_is_seen():
    """All right outside and all wrong inside is a difference, though nothing varies."""
    inside = np.arange(200) < 40
    result = means((~inside).astype(float), np.array([inside]))
    assert result.gap[0] == -1.0
    assert result.gap_high[0] < -0.8


def test_groups_count_once():
    """Items that repeat their group's value have an interval like that of the groups."""
    values, members = halves(60)
    alone = means(values, members)
    repeated = means(
        np.repeat(values, 5), np.repeat(members, 5, axis=1), units=np.repeat(np.arange(60), 5)
    )
    assert repeated.n_units.tolist() == [30, 30]
    assert repeated.gap_low == pytest.approx(alone.gap_low, abs=0.01)


def test_many_groups_fit_into_memory():
    """Of 60,000 items in 20,000 groups, a matrix of groups by items would hold 10 GB."""
    rng = np.random.default_rng(0)
    inside = rng.random(20_000) < 0.3
    of_group = rng.random(20_000)
    result = means(
        np.repeat(of_group, 3),
        np.repeat(np.array([inside, ~inside]), 3, axis=1),
        units=rng.permutation(20_000)[np.repeat(np.arange(20_000), 3)],
    )
    assert result.n_units.tolist() == [inside.sum(), (~inside).sum()]
    error = np.sqrt(sum(part.var() / len(part) for part in (of_group[inside], of_group[~inside])))
    assert result.gap_high[0] - result.gap[0] == pytest.approx(1.96 * error, rel=0.05)


def test_weights_count_items_more_than_once():
    """Means are weighted; equal weights change nothing."""
    values, members = halves()
    weights = np.where(np.arange(40) % 2 == 0, 3.0, 1.0)
    weighted = means(values, members, weights=weights)
    assert weighted.mean[0] == pytest.approx(np.average(values[:20], weights=weights[:20]))
    alike = means(values, members, weights=np.full(40, 7.0))
    assert alike.gap_low == pytest.approx(means(values, members).gap_low)


@given(st.integers(0, 1000), st.integers(20, 80))
def test_the_order_of_items_does_not_matter(seed, n):
    """The same items in another order have the same numbers."""
    rng = np.random.default_rng(seed)
    values, members = rng.random(n), rng.random((4, n)) < 0.3
    order = rng.permutation(n)
    first, second = means(values, members), means(values[order], members[:, order])
    for name in ("mean", "low", "high", "rest", "gap", "gap_low", "gap_high"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), nan_ok=True, abs=1e-9)


def test_a_slice_in_which_raters_are_worse_too_is_not_the_worst():
    """The judge must be worse there by more than raters are."""
    values, members = halves(200)
    judge, eligible = means(values, members), np.ones(2, np.bool_)
    alike = means(np.zeros(200), members, bounds=(-1.0, 1.0))
    assert judge.gap_high[0] < 0.0
    assert worst_slice(judge, alike, eligible) is None
    assert worst_slice(judge, judge, eligible) == 0
    assert worst_slice(judge, judge, np.array([False, True])) is None


def test_of_several_slices_the_largest_difference_is_the_worst():
    """Both slices are shown to be worse; the second is worse by more."""
    group = np.repeat([0, 1, 2], [60, 60, 280])
    rng = np.random.default_rng(2)
    values = (rng.random(400) < np.array([0.6, 0.3, 0.95])[group]).astype(float)
    judge = means(values, group == np.arange(3)[:, None])
    assert (judge.gap_high[:2] < 0.0).all()
    assert worst_slice(judge, judge, np.ones(3, np.bool_)) == 1


@pytest.mark.parametrize(
    ("numbers", "cuts"),
    [
        (range(9), (2.0, 5.0)),
        ([1, 1, 1, 1, 2, 3], (1.0, 2.0)),
        ([1, 2, 3, 3, 3, 3], (1.0, 2.0)),
        ([1, 2], None),
        ([], None),
    ],
)
def test_thirds_keep_equal_numbers_together(numbers, cuts):
    """Cuts are numbers that occur, and no third is empty."""
    assert thirds(np.array([*numbers, np.nan], dtype=float)) == cuts


@given(st.lists(st.integers(0, 50), min_size=3).filter(lambda row: len(set(row)) > 2))
def test_no_third_is_empty(numbers):
    """Every third has an item, and the lower one none above the cut."""
    lower, middle = thirds(np.array(numbers, dtype=float))
    counts = np.bincount(np.searchsorted((lower, middle), numbers), minlength=3)
    assert (counts > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("design", POWER, ids=lambda design: f"{design.n_slices}, {design.name}")
def test_a_gap_of_25_points_is_found_as_often_as_expected(design):
    """Within 5 points of the normal approximation, and two standard errors of 300 data sets."""
    row = simulate(design, 300)
    error = (design.expected * (1 - design.expected) / 300) ** 0.5
    assert row.named >= design.expected - 0.05 - 2 * error


@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [row for row in (*NO_EFFECT, *NUMBERS) if row.n_slices == 12],
    ids=lambda design: design.name,
)
def test_without_an_effect_few_slices_are_named_and_intervals_hold(design):
    """In at most 5 %, and all intervals hold together in at least 93 %, but for noise."""
    row = simulate(design, 300)
    assert row.named <= 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5
    least = 0.93 - 2 * (0.07 * 0.93 / 300) ** 0.5
    assert min(row.means_contained, row.gaps_contained) >= least
