"""Variance over items and shared raters: coverage of the design value by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit
from support.each_case import fast_first

from harness.stats.data.arrays import BLOCK, ratio
from harness.stats.data.forms import hard
from harness.stats.inference.crossed_raters import (
    CrossedRatings,
    RaterCovariance,
    leave_out,
    satterthwaite,
)
from harness.stats.inference.metric import mean
from harness.stats.metrics.confusion import hit_rate
from harness.stats.metrics.distributional import js_divergence
from harness.stats.metrics.multi_label import mse


def same(shares):
    return shares


METRICS = {"mse": (mse, same), "hit_rate": (hit_rate, hard), "js_divergence": (js_divergence, same)}


def draw(rng, n, m):
    """Binary ratings with item difficulty and rater severity of sd 1 logit, and one judge."""
    ease, severity = rng.normal(0.0, 1.5, n), rng.normal(0.0, 1.0, m)
    ratings = rng.random((n, m)) < 1 / (1 + np.exp(-(ease[:, None] + severity)))
    judge = rng.random(n) < 1 / (1 + np.exp(-1.5 * ease))
    return ratings.astype(int), np.eye(2)[judge.astype(int)]


def crossed(ratings):
    n, m = ratings.shape
    item, rater = np.indices(ratings.shape)
    return CrossedRatings(
        item.ravel(), rater.ravel(), ratings.ravel(), (n, m, 2), group=np.arange(n)
    )


def contributions_of(metric, form, judge):
    def contributions(counts, rows):
        human = ratio(counts.astype(float), counts.sum(axis=1, keepdims=True).astype(float))
        return metric(form(human), form(judge[rows]))

    return contributions


def variances(ratings, contributions):
    """Variance over items, variance over items and raters, and its degrees of freedom."""
    [left_out], n = leave_out(ratings, [contributions], mean), ratings.shape[0]
    sums = contributions(ratings.counts(), np.arange(n))
    without = mean(sums.sum(axis=0) - sums)
    items = (n - 1) * np.var(without)
    raters = RaterCovariance.of([left_out], ratings).variance(np.ones(1))
    return items, *raters.with_items(items, n - 1.0)


@pytest.mark.parametrize("name", fast_first(1, METRICS))
def test_coverage_with_severe_and_lenient_raters(name):
    """Seven raters of 50 items: 92 to 99 % of intervals hold the value that the design expects."""
    metric, form = METRICS[name]
    rng = np.random.default_rng(0)
    values, intervals = [], []
    for i in range(1500):
        ratings, judge = draw(rng, 50, 7)
        contributions = contributions_of(metric, form, judge)
        table = crossed(ratings)
        value = mean(contributions(table.counts(), np.arange(50)).sum(axis=0))
        values.append(value)
        if i < 300:
            _, variance, freedom = variances(table, contributions)
            reach = stdtrit(freedom, 0.975) * np.sqrt(variance)
            intervals.append((value - reach, value + reach))
    expected = np.mean(values)
    assert 0.92 <= np.mean([low <= expected <= high for low, high in intervals]) <= 0.99


def bias(human, judge):
    return np.column_stack([judge[:, 1] - human[:, 1], np.ones(len(human))])


def test_items_alone_would_cover_too_little():
    """How many more items the judge calls positive depends on the raters' severity above all."""
    rng = np.random.default_rng(1)
    values, of_items, of_both = [], [], []
    for _ in range(300):
        ratings, judge = draw(rng, 300, 7)
        contributions = contributions_of(bias, same, judge)
        table = crossed(ratings)
        items, both, _ = variances(table, contributions)
        values.append(mean(contributions(table.counts(), np.arange(300)).sum(axis=0)))
        of_items.append(np.sqrt(items))
        of_both.append(np.sqrt(both))
    assert np.mean(of_items) < 0.5 * np.std(values)
    assert np.mean(of_both) == pytest.approx(np.std(values), rel=0.15)


def test_variance_is_never_below_that_of_items():
    """Raters who all agree add nothing."""
    ratings = np.repeat(np.arange(40)[:, None] % 2, 6, axis=1)
    judge = np.eye(2)[(np.arange(40) % 3 == 0).astype(int)]
    items, both, _ = variances(crossed(ratings), contributions_of(mse, same, judge))
    assert both == items > 0


def test_components_that_cancel_leave_two_degrees_of_freedom():
    """Five raters whose variance is that of single ratings left less than one degree of freedom, so
    that intervals were six times as wide as over items."""
    variance, freedom = satterthwaite((3e-4, 59.0), (5.8e-4, 4.0), (6.1e-4, 299.0))
    assert variance == 3e-4
    assert freedom == 2.0
    assert satterthwaite((3e-4, 59.0), (5.8e-5, 4.0), (5.8e-5, 299.0))[1] > 30.0


def test_items_are_left_out_a_block_at_a_time():
    """100,000 items of ten options took 440 MB for sums without each rating."""
    ratings = np.random.default_rng(0).integers(2, size=(2 * BLOCK + 5, 5))
    sizes = []

    def contributions(counts, rows):
        sizes.append(len(rows))
        return np.stack([counts[:, 0] / counts.sum(axis=1), np.ones(len(rows))], axis=1)

    [left_out] = leave_out(crossed(ratings), [contributions], mean)
    assert max(sizes) == BLOCK
    assert left_out.times.sum() == ratings.size
    without = [(np.delete(ratings, j, axis=1) == 0).mean() for j in range(5)]
    assert left_out.raters[0] == pytest.approx(without)
