"""One judge in two runs: the same items, an exact test, and groups as units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from support.each_case import fast_first
from support.rating_tables import table_of_counts

from harness.stats.inference.bootstrap import Resampling
from harness.stats.inference.metric import find_metric
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.paired_runs import paired_runs, sign_test

COUNTS = np.array([[1, 0], [0, 1], [0, 0]])  # the last for an item that was not answered


def table(name, answers):
    """Make a table of one answer per item: 0, 1, or -1 for none."""
    return table_of_counts(name, COUNTS[np.asarray(answers)])


def compared(human, first, second, metric="hit_rate(h/h)", groups=None):
    return paired_runs(
        table("raters", human),
        (table("first", first), table("second", second)),
        find_metric(metric, METRICS),
        tau=0.5,
        positive=("yes",),
        resampling=Resampling(rng=np.random.default_rng(0), groups=groups, n_resamples=200),
    )


def counted_replies(rng, truth, n_samples):
    """Return (n, 2) counts of replies, each right with a chance of 3 in 4."""
    yes = rng.binomial(n_samples, np.where(truth, 0.75, 0.25))
    return np.column_stack([yes, n_samples - yes])


@pytest.mark.parametrize("metric", fast_first(1, ["hit_rate(h/h)", "mse(s/s)"]))
def test_one_judge_asked_ten_times_and_once_was_significantly_better(metric):
    """In 95 % of data sets: beside a mean of ten, a single reply is better where it is right."""
    rejected = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.random(60) < 0.5
        yes = rng.binomial(5, np.where(truth, 0.85, 0.15))
        runs = [table_of_counts(f"{s}", counted_replies(rng, truth, s)) for s in (10, 1)]
        result = paired_runs(
            table_of_counts("raters", np.column_stack([yes, 5 - yes])),
            tuple(runs),
            find_metric(metric, METRICS),
            tau=0.5,
            positive=("yes",),
            resampling=Resampling(rng=rng, n_resamples=100),
        )
        rejected += result.p <= 0.05
    assert rejected <= 6  # 3 expected; seven or more have a chance of 3 %


@pytest.mark.parametrize(("n_differing", "has_interval"), [(5, False), (6, True)])
def test_an_interval_of_fewer_than_six_items_that_differ_was_too_short(n_differing, has_interval):
    """It held in 79 % at 30 items; the p-value stays."""
    human, second = [0] * 30, [1] * n_differing + [0] * (30 - n_differing)
    result = compared(human, [0] * 30, second)
    assert (result.low is not None) == has_interval
    assert result.interval_reason == ("" if has_interval else "fewer_than_six_differ")
    assert result.p == sign_test(n_differing, 0)


def noisy(rng, truth, accuracy):
    """Return answers that are right with a probability."""
    return np.where(rng.random(len(truth)) < accuracy, truth, 1 - truth)


def test_hits_are_compared_by_mcnemar_on_the_items_that_both_runs_answered():
    """Values, difference and p-value are those of the shared items."""
    rng = np.random.default_rng(0)
    human = rng.integers(2, size=80)
    first, second = noisy(rng, human, 0.6), noisy(rng, human, 0.9)
    first[:5], second[5:12], human[12:15] = -1, -1, -1
    result = compared(human, first, second)
    shared = slice(15, None)
    hits, hits_again = (side[shared] == human[shared] for side in (first, second))
    better, worse = (hits_again & ~hits).sum(), (hits & ~hits_again).sum()
    assert (result.n_items, result.test, result.unit) == (65, "mcnemar", "item")
    assert (result.first, result.second) == pytest.approx((hits.mean(), hits_again.mean()))
    assert result.difference == pytest.approx((better - worse) / 65)
    assert result.p == pytest.approx(binomtest(worse, better + worse).pvalue)
    assert (result.n_better, result.n_worse) == (better, worse)
    assert result.low < result.difference < result.high


def test_sign_test_is_the_binomial_test():
    """Two-sided and exact; 1 where nothing differs."""
    for pair in ((0, 0), (3, 3), (1, 9), (40, 12)):
        expected = binomtest(pair[0], sum(pair)).pvalue if sum(pair) else 1.0
        assert sign_test(*pair) == pytest.approx(min(expected, 1.0))


def test_lower_is_better_where_the_metric_says_so():
    """The difference is that of the metric; better and worse are those of the judge."""
    human = np.zeros(30, dtype=int)
    first = np.r_[np.ones(10, dtype=int), np.zeros(20, dtype=int)]
    result = compared(human, first, human, metric="js_divergence(s/s)")
    assert result.difference == pytest.approx(-1 / 3)
    assert (result.n_better, result.n_worse, result.n_equal) == (10, 0, 20)


def test_a_coefficient_of_sums_has_an_interval_and_no_test():
    """No single item has a kappa."""
    rng = np.random.default_rng(1)
    human = rng.integers(2, size=100)
    result = compared(
        human, noisy(rng, human, 0.6), noisy(rng, human, 0.95), metric="cohen_kappa(h/h)"
    )
    assert (result.p, result.test, result.reason) == (None, "", "no_mean")
    assert 0 < result.low < result.difference < result.high


@pytest.mark.parametrize(("n_differing", "has_interval"), [(0, False), (5, False), (6, True)])
def test_a_coefficient_of_equal_runs_had_an_interval_of_zero_width(n_differing, has_interval):
    """As for means over items, it takes six items that differ; in groups, six groups."""
    truth = [0, 1] * 30
    worse = [1 - answer if i < n_differing else answer for i, answer in enumerate(truth)]
    result = compared(truth, truth, worse, "cohen_kappa(h/h)")
    assert (result.low is not None) == has_interval
    assert (result.interval_reason == "") == has_interval
    of_pairs = compared(truth, truth, worse, "cohen_kappa(h/h)", [f"g{i // 2}" for i in range(60)])
    assert (of_pairs.low, of_pairs.interval_reason) == (None, "fewer_than_six_differ")


def test_nothing_shared_is_na():
    """With the reason, and no number."""
    result = compared([0, 1], [0, -1], [-1, 1])
    assert (result.first, result.difference, result.p) == (None, None, None)
    assert (result.n_items, result.reason) == (0, "no_items")


@pytest.mark.slow
def test_items_of_a_group_are_one_unit():
    """Two runs that differ by document alone are told apart in at most 5 % of data sets.

    As if items were independent, it would be most of them.
    """
    rng = np.random.default_rng(2)
    groups = [f"g{i // 10}" for i in range(200)]
    rejected = {"group": 0, "item": 0}
    for _ in range(200):
        human = np.zeros(200, dtype=int)
        sides = [np.repeat(rng.integers(2, size=20), 10) for _ in range(2)]
        for unit, by in (("group", groups), ("item", None)):
            result = compared(human, *sides, groups=by)
            assert result.unit == unit
            rejected[unit] += result.p <= 0.05
    assert rejected["group"] <= 0.05 * 200
    assert rejected["item"] > 0.3 * 200
