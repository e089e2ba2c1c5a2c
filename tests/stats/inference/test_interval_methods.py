"""Score intervals against Wilson's, Student's t, their defining equation and their bounds."""

from __future__ import annotations

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, multinomial, t
from support.wilson import wilson_interval

from harness import stats
from harness.stats.inference import interval_methods
from harness.stats.inference.estimate import make_interval
from harness.stats.inference.interval_methods import (
    Sampled,
    percentile_ends,
    score_ends,
    smoothed,
)
from harness.stats.metrics.ordinal import ordinal_metrics


def sampled(value, error, n_units, **options):
    """Return a value whose replicates have just this standard error."""
    spread = error / sqrt(n_units / (n_units - 1))
    replicates = value + spread * np.tile([-1.0, 1.0], 500)
    return Sampled(value=value, replicates=replicates, n_units=n_units, **options)


def share_of(k, n):
    """Return a share of n independent items."""
    p = k / n
    return sampled(p, sqrt(p * (1 - p) / n), n, bounds=(0.0, 1.0), is_share=True)


@pytest.mark.parametrize(("k", "n"), [(81, 263), (15, 148), (4, 29), (16, 20)])
def test_share_against_wilson(k, n):
    """With the spread of independent items, the interval of a share is Wilson's."""
    wilson = wilson_interval(k / n, n)
    assert score_ends(share_of(k, n), 0.95) == pytest.approx((wilson.low, wilson.high))


@pytest.mark.parametrize("n", [20, 29, 300])
@pytest.mark.parametrize(("k", "rate"), [(1, 0.051293), (2, 0.355362), (3, 0.817691)])
def test_share_of_few_against_the_modified_wilson_interval(k, n, rate):
    """The end near 0 or 1 is that of a Poisson count: Brown, Cai and DasGupta 2001, p. 112."""
    wilson = wilson_interval(k / n, n)
    ends = min(wilson.low, rate / n), wilson.high
    assert score_ends(share_of(k, n), 0.95) == pytest.approx(ends, rel=1e-5)
    ends = 1.0 - wilson.high, max(1.0 - wilson.low, 1.0 - rate / n)
    assert score_ends(share_of(n - k, n), 0.95) == pytest.approx(ends, rel=1e-5)


@pytest.mark.parametrize("n", [20, 50, 100, 300])
def test_one_failure_leaves_out_no_small_chance_of_failing(n):
    """Wilson's interval of one failure did: a share of .998 was in 91 % of them, of 50 items."""
    ends = np.array([score_ends(share_of(k, n), 0.95) for k in range(n + 1)])
    for chance in (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02):
        holds = (ends[:, 0] <= chance) & (chance <= ends[:, 1])
        assert binom.pmf(np.arange(n + 1), n, chance)[holds].sum() > 0.93


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_share_of_none_or_all_against_wilson(p):
    """Nothing varies between resamples, yet the interval is no point: [0, 0] said beta is 0."""
    share = sampled(p, 0.0, 20, bounds=(0.0, 1.0), is_share=True)
    wilson = wilson_interval(p, 20)
    assert score_ends(share, 0.95) == pytest.approx((wilson.low, wilson.high))


def test_a_share_that_rounding_lifts_above_1_keeps_its_interval():
    """A sum of parts of items may exceed their number by a few units in the last place."""
    exact, lifted = (
        sampled(p, 0.0, 40, bounds=(0.0, 1.0), is_share=True) for p in (1.0, 1.0 + 2e-15)
    )
    assert score_ends(lifted, 0.95) == score_ends(exact, 0.95)


def test_design_effect_divides_the_number_of_items():
    """Twice the variance is half the items; 1,000 groups are as good as normal quantiles."""
    p, n = 0.3, 4000
    error = sqrt(2 * p * (1 - p) / n)
    share = sampled(p, error, 1000, n_items=n, bounds=(0.0, 1.0), is_share=True)
    wilson = wilson_interval(p, n / 2)
    assert score_ends(share, 0.95) == pytest.approx((wilson.low, wilson.high), abs=1e-4)


@pytest.mark.parametrize(
    ("n_replies", "n_raters", "weight"),
    [(10, 3, 13 / 60), (1, 3, 1), (10, 30, 1 / 10), (2, inf, 0.5)],
)
def test_a_judge_asked_ten_times_hid_rare_disagreements_of_three_raters(
    n_replies, n_raters, weight
):
    """The variance allowed for one of ten replies; 91 % of the intervals of 50 items held."""
    metric = stats.find_metric("mse(s/s)", stats.METRICS)
    further = metric.further_item(2, n_replies=n_replies, n_raters=n_raters, n_items=50, n_units=50)
    assert (further.least, further.most) == (0.0, 2.0)
    assert further.weight == pytest.approx(weight)


def test_unbounded_value_against_student():
    """The score interval is then the t interval."""
    reach = t.ppf(0.975, 11) * 0.5
    assert score_ends(sampled(3.0, 0.5, 12), 0.95) == pytest.approx((3.0 - reach, 3.0 + reach))


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, inf), (-inf, 1.0), (-1.0, 1.0)])
def test_ends_lie_a_quantile_of_their_own_errors_away(bounds):
    """(value - x)^2 = t^2 se^2 v(x) / v(value) at both ends."""
    value, error, n = 0.2, 0.08, 15

    def variance(x):
        low, high = bounds
        return (1.0 if low == -inf else x - low) * (1.0 if high == inf else high - x)

    for end in score_ends(sampled(value, error, n, bounds=bounds), 0.9):
        squared = (t.ppf(0.95, n - 1) * error) ** 2
        assert (value - end) ** 2 == pytest.approx(squared * variance(end) / variance(value))


@given(
    value=st.floats(-1.0, 2.0),
    error=st.floats(0.0, 3.0),
    n=st.integers(5, 400),
    bounds=st.sampled_from([(-1.0, 2.0), (-1.0, inf), (-inf, 2.0)]),
    is_share=st.booleans(),
)
def test_interval_keeps_inside_the_bounds_and_holds_the_value(value, error, n, bounds, is_share):
    """Whatever the spread."""
    ends = score_ends(sampled(value, error, n, bounds=bounds, is_share=is_share), 0.95)
    if ends is not None:
        assert bounds[0] <= ends[0] <= value + 1e-9
        assert value - 1e-9 <= ends[1] <= bounds[1]


@pytest.mark.parametrize(
    ("n", "is_share", "unit", "reason"),
    [
        (4, False, "item", "too_few_items"),
        (4, False, "group", "too_few_groups"),
        (4, False, "criterion", "too_few_criteria"),
        (5, False, "item", ""),
        (2, True, "item", ""),
    ],
)
def test_few_units_have_no_interval_and_say_so(n, is_share, unit, reason):
    """Five units, or two items of a share, are the least."""
    value = sampled(0.5, 0.1, n, bounds=(0.0, 1.0), is_share=is_share)
    interval, why_none = make_interval(value, level=0.95, unit=unit)
    assert (interval is None, why_none) == (bool(reason), reason)


def test_constant_and_unresampled_values_have_no_interval_and_say_so():
    """An unbounded value that never varies says nothing about how far it may be off."""
    constant = sampled(0.5, 0.0, 30)
    assert make_interval(constant, level=0.95, unit="item") == (None, "constant")
    alone = Sampled(value=0.5, replicates=np.empty(0), n_units=30)
    assert make_interval(alone, level=0.95, unit="item") == (None, "no_resamples")


def test_interval_of_a_skewed_mean_covers():
    """Exponential values, n = 20: within 92 to 98 % of 2,000 intervals; percentiles fall short."""
    rng, covered, by_percentiles = np.random.default_rng(0), 0, 0
    for _ in range(2000):
        values = rng.exponential(size=20)
        replicates = rng.choice(values, (400, 20)).mean(axis=1)
        mean = Sampled(value=values.mean(), replicates=replicates, n_units=20, bounds=(0.0, inf))
        interval, _ = make_interval(mean, level=0.95, unit="item")
        covered += interval.low <= 1.0 <= interval.high
        low, high = percentile_ends(replicates, 0.95)
        by_percentiles += low <= 1.0 <= high
    assert 0.92 <= covered / 2000 <= 0.98
    assert by_percentiles / 2000 < 0.92


def all_tables(n):
    """Return every table of two yes-or-no labels on n items: (T, 4)."""
    return np.array(
        [
            (a, b, c, n - a - b - c)
            for a in range(n + 1)
            for b in range(n + 1 - a)
            for c in range(n + 1 - a - b)
        ],
        dtype=np.float64,
    )


def cell_chances(prevalence, human, judge):
    """Return the chance of each cell if both sides are right so often, independently."""
    by_truth = [
        share * np.outer([p, 1 - p], [q, 1 - q]).ravel()
        for share, p, q in ((prevalence, human, judge), (1 - prevalence, 1 - human, 1 - judge))
    ]
    return np.sum(by_truth, axis=0)


@pytest.mark.parametrize("n", [10, 20, pytest.param(50, marks=pytest.mark.slow)])
def test_interval_of_kappa_covers_if_an_option_is_rare(n):
    """At least 93 % in each of 144 designs, summed over all tables: 81 to 92 % in the worst."""
    rng, kappa = np.random.default_rng(0), stats.find_metric("cohen_kappa(h/h)", stats.METRICS)
    tables, ends = all_tables(n), []
    values = kappa.value(tables)
    tables, values = tables[np.isfinite(values)], values[np.isfinite(values)]
    for table, value in zip(tables, values, strict=True):
        sampled = Sampled(
            value=float(value),
            replicates=kappa.value(rng.multinomial(n, table / n, 200).astype(np.float64)),
            n_units=n,
            bounds=kappa.bounds,
            smoothed=smoothed(kappa.value, table, n),
        )
        ends.append(score_ends(sampled, 0.95))
    low, high = np.array(ends).T
    designs = product(
        (0.02, 0.05, 0.1, 0.2, 0.3, 0.5),
        (0.85, 0.93, 0.986, 0.999),
        (0.6, 0.7, 0.8, 0.9, 0.97, 0.99),
    )
    covered = {}
    for design in designs:
        chances = cell_chances(*design)
        mass = multinomial.pmf(tables, n, chances)
        holds = (low <= kappa.value(chances)) & (kappa.value(chances) <= high)
        covered[design] = mass[holds].sum() / mass.sum()
    assert min(covered.values()) >= 0.93, min(covered, key=covered.__getitem__)


@pytest.mark.parametrize(
    "name", ["cohen_kappa(h/h)", "gwet_ac1(h/h)", "gorodkin_r(h/h)", "gwet_ac2(h/h)"]
)
def test_the_error_of_a_table_of_many_options_needs_few_of_its_empty_cells(name, monkeypatch):
    """All 7,921 cells of 89 options took 50 s; some of the empty ones give the same error."""
    scale = (*ordinal_metrics(), *stats.METRICS)
    value = stats.find_metric(name, scale).value
    rng = np.random.default_rng(3)
    table = np.zeros((30, 30))
    for label in rng.integers(0, 30, 40):
        table[label, label if rng.random() < 0.8 else rng.integers(0, 30)] += 1.0
    some = smoothed(value, table.ravel(), 40)
    monkeypatch.setattr(interval_methods, "MOST_EMPTY", 900)
    every = smoothed(value, table.ravel(), 40)
    assert some.value == every.value
    assert some.error == pytest.approx(every.error, rel=0.02)
