"""Tests of raters against interchangeable ones: size, power and values by hand."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.raters.rater_deviation import (
    RaterChoices,
    drift_p_values,
    rater_deviation,
    same_answer_p_values,
)


def choices_of(options, unit=None):
    """Build choices from an (n, m) array of options, -1 where a rater gave none."""
    options = np.asarray(options)
    item, rater = np.nonzero(options >= 0)
    n, m = options.shape
    unit = np.arange(n) if unit is None else np.asarray(unit)
    return RaterChoices(item, rater, options[item, rater], unit, m, int(options.max()) + 1)


def simulated(rng, *, n, m, difficulty=1.0):
    """Draw interchangeable binary raters with a chance of its own per item."""
    p = rng.beta(difficulty, difficulty, n)
    return (rng.random((n, m)) < p[:, None]).astype(int)


def test_agreement_and_expectation_by_hand():
    """On ratings 0, 0, 1 the agreements are 1/2, 1/2 and 0, and the mean is 1/3."""
    result = rater_deviation(choices_of([[0, 0, 1], [0, 0, 0], [1, 0, -1]]))
    assert result.n_items.tolist() == [2, 2, 2]
    assert result.agreement == pytest.approx([0.75, 0.75, 0.5])
    assert result.expected == pytest.approx([2 / 3] * 3)


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", [0.1, 1.0])
def test_interchangeable_raters_are_rarely_flagged(difficulty):
    """Any of ten interchangeable raters is flagged in at most 5 % of 200 data sets."""
    rng = np.random.default_rng(0)
    flagged = same = 0
    for _ in range(200):
        choices = choices_of(simulated(rng, n=60, m=10, difficulty=difficulty))
        flagged += (rater_deviation(choices).p_adjusted <= 0.05).any()
        same += (same_answer_p_values(choices)[1] <= 0.05).any()
    assert flagged / 200 <= 0.05
    assert same / 200 <= 0.05


@pytest.mark.slow
def test_groups_that_a_rater_answers_as_a_whole_are_no_evidence_item_by_item():
    """With the same ratings on all items of a group, the size holds; without groups it does not."""
    rng = np.random.default_rng(1)
    by_group = by_item = 0
    for _ in range(100):
        options = np.repeat(simulated(rng, n=15, m=6), 10, axis=0)
        unit = np.repeat(np.arange(15), 10)
        by_group += (rater_deviation(choices_of(options, unit)).p_adjusted <= 0.05).any()
        by_item += (rater_deviation(choices_of(options)).p_adjusted <= 0.05).any()
    assert by_group / 100 <= 0.05
    assert by_item / 100 > 0.2


def test_only_the_rater_who_guesses_is_flagged():
    """Of ten raters with 10 % errors, the one who guesses on 100 items is found, and no other."""
    rng = np.random.default_rng(2)
    hits = others = 0
    for _ in range(100):
        truth = rng.integers(0, 2, (100, 1))
        options = np.where(rng.random((100, 10)) < 0.1, 1 - truth, truth)
        options[:, 3] = rng.integers(0, 2, 100)
        low = rater_deviation(choices_of(options)).p_adjusted <= 0.05
        hits += low[3]
        others += low.sum() - low[3]
    assert hits >= 95
    assert others <= 5


def test_a_constant_rater_is_flagged_where_the_others_vary():
    """30 items that others split evenly make 30 equal answers improbable; rare positives do not."""
    rng = np.random.default_rng(3)
    options = simulated(rng, n=30, m=6, difficulty=50.0)
    options[:, 2] = 1
    option, p = same_answer_p_values(choices_of(options))
    assert option.tolist() == [-1, -1, 1, -1, -1, -1]
    assert p[2] < 0.001
    rare = np.zeros((30, 6), dtype=int)
    rare[0, 0] = 1
    assert (same_answer_p_values(choices_of(rare))[1] > 0.05).all()


def test_two_raters_are_not_compared():
    """Both agree equally often with each other: there is nothing to test."""
    result = rater_deviation(choices_of([[0, 1], [1, 1]]))
    assert np.isnan(result.agreement).all()
    assert np.isnan(result.p_adjusted).all()


@pytest.mark.slow
def test_drift_is_flagged_where_a_rater_tires_and_rarely_elsewhere():
    """A rater whose errors grow from 0 to 50 % is found; five who do not change rarely are."""
    rng = np.random.default_rng(4)
    hits = false = others = 0
    for _ in range(200):
        truth = rng.integers(0, 2, (250, 1))
        options = np.where(rng.random((250, 6)) < 0.1, 1 - truth, truth)
        choices = choices_of(options)
        steady = drift_p_values(choices, choices.item.astype(float))[1]
        false += (steady <= 0.05).any()
        tired = rng.random(250) < np.linspace(0.0, 0.5, 250)
        options[:, 2] = np.where(tired, 1 - truth[:, 0], truth[:, 0])
        choices = choices_of(options)
        rho, p = drift_p_values(choices, choices.item.astype(float))
        hits += p[2] <= 0.05 and rho[2] < 0
        others += (np.delete(p, 2) <= 0.05).any()
    assert false / 200 <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5
    assert hits / 200 >= 0.9
    assert others / 200 <= 0.05 + 2 * (0.05 * 0.95 / 200) ** 0.5


def test_drift_is_na_without_times_or_enough_items():
    """Below 30 items, or where times are unknown, nothing is tested."""
    choices = choices_of(simulated(np.random.default_rng(5), n=29, m=4))
    assert np.isnan(drift_p_values(choices, choices.item.astype(float))[1]).all()
    more = choices_of(simulated(np.random.default_rng(5), n=60, m=4))
    assert np.isnan(drift_p_values(more, np.full(len(more.item), np.nan))[1]).all()
