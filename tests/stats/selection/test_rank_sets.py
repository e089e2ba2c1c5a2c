"""Rank sets and the winner's interval with few items: small samples, skewness, bounds."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.selection.rank_sets import (
    better_than,
    rank_sets,
    skewed_values,
    winner_interval,
)


def drawn(losses, spread=0.01, n_resamples=2000, seed=0):
    """Replicates that scatter around losses."""
    noise = np.random.default_rng(seed).normal(0, spread, (len(losses), n_resamples))
    return np.array(losses)[:, None] + noise


@pytest.mark.parametrize(("n_units", "worst"), [(19, 2), (20, 1), (300, 1)])
def test_no_difference_is_significant_on_fewer_than_twenty_items(n_units, worst):
    """However large: both judges may have either rank."""
    losses = np.array([0.1, 0.9])
    ranks = rank_sets(losses, drawn(losses), n_units=n_units)
    assert ranks.ranks[0] == (1, worst)
    assert np.isinf(ranks.reaches[0, 1]) == (n_units < 20)


def test_difference_must_be_larger_on_the_side_to_which_it_is_skewed():
    """One judge asked 1 and 10 times was told apart from itself in 9.5 % at 30 items."""
    gains = np.random.default_rng(0).gamma(4.0, size=20_000)
    gains = (gains - gains.mean()) / gains.std() / 5.0
    replicates = np.stack([np.zeros_like(gains), -gains])  # judge 0 loses by what is skewed upwards
    ranks = rank_sets(np.zeros(2), replicates, n_units=30)
    plain = rank_sets(np.zeros(2), replicates)
    assert plain.reaches[0, 1] == pytest.approx(plain.reaches[1, 0])
    assert ranks.reaches[0, 1] > 1.2 * ranks.reaches[1, 0]


def test_critical_values_grow_with_skewness_and_are_never_lowered():
    """The transformation of Hall (1992) at 2: 3/k (cbrt(1 + k (2 - k/6)) - 1)."""
    values = skewed_values(2.0, np.array([0.0, 0.3, -0.1, -0.2, -5.0, -1.0 / 3.0]))
    assert values[:2] == pytest.approx([2.0, 2.0], abs=1e-5)
    assert values[2] == pytest.approx(-30.0 * (np.cbrt(1 - 0.1 * (2 + 0.1 / 6)) - 1))
    assert values[2] < values[3] < values[5]
    assert values[4] == values[5]


@pytest.mark.parametrize(("n_units", "defined"), [(29, False), (30, True)])
def test_winner_of_few_items_has_no_interval(n_units, defined):
    """At 20 items it covered 88 % among ten equal judges."""
    losses = np.array([0.1, 0.2])
    winner = winner_interval(losses, drawn(losses), n_units=n_units, bounds=(0.0, 1.0))
    assert winner.winner == 0
    assert (winner.low is not None) == defined


def test_only_judge_was_not_chosen_and_needs_five_items():
    """Nobody else could have won."""
    losses = np.array([0.1])
    for n_units, defined in ((4, False), (5, True)):
        winner = winner_interval(losses, drawn(losses), n_units=n_units, bounds=(0.0, 1.0))
        assert (winner.low is not None) == defined


def test_only_judge_left_of_several_has_the_interval_of_one_chosen_among_them():
    """Regression: the judge that a race returned had an interval as if it had raced alone."""
    losses, settings = np.array([0.3]), {"n_units": 100, "bounds": (0.0, 1.0)}
    alone, chosen = (
        winner_interval(losses, drawn(losses, n_resamples=20_000), n_judges=n, **settings)
        for n in (1, 6)
    )
    at_a_sixth = winner_interval(
        losses, drawn(losses, n_resamples=20_000), level=1.0 - 0.05 / 6.0, **settings
    )
    assert chosen == at_a_sixth
    assert chosen.low < alone.low < alone.high < chosen.high
    too_few = winner_interval(losses, drawn(losses), n_judges=6, n_units=29)
    assert too_few.low is None


def test_winners_interval_is_skewed_and_keeps_inside_the_bounds():
    """A low loss goes with a low standard error: the upper end is farther away."""
    losses = np.array([0.02, 0.5])
    winner = winner_interval(losses, drawn(losses, 0.02), n_units=30, bounds=(0.0, 1.0))
    assert 0.0 < winner.low < 0.02
    assert winner.high - 0.02 > 0.02 - winner.low
    symmetric = winner_interval(losses, drawn(losses, 0.02), n_units=30)
    assert symmetric.low < 0.0


@pytest.mark.parametrize(("n_discordant", "worst"), [(5, 2), (6, 1)])
def test_judges_that_differ_on_fewer_than_six_units_are_not_told_apart(n_discordant, worst):
    """Even if one is better on all of them: a sign test of five has p = 0.0625."""
    losses = np.array([0.1, 0.9])
    differing = np.array([[0, n_discordant], [n_discordant, 0]])
    ranks = rank_sets(losses, drawn(losses), n_units=100, n_discordant=differing)
    assert ranks.ranks[0] == (1, worst)


@pytest.mark.parametrize("unit", [0.001, 1.0, 1000.0])
def test_who_beats_a_rival_does_not_depend_on_the_unit_of_the_loss(unit):
    """Of three pairs at 95 %, one-sided and all at once: 2.1 standard errors are too few, 2.8
    enough (the normal value of one pair is 1.64, of three 2.13, and of 50 units a little more)."""
    errors = np.array([1.0, 2.0, 4.0]) * unit
    noise = np.random.default_rng(0).normal(size=(3, 4000))
    noise = (noise - noise.mean(axis=1)[:, None]) / noise.std(axis=1)[:, None]
    gains = np.array([2.1, 2.8, 2.1]) * errors
    better = better_than(
        np.zeros(1),
        np.zeros((1, 4000)),
        gains,
        gains[:, None] + errors[:, None] * noise,
        level=0.95,
        n_units=50,
        freedom=np.full((1, 3), 49.0),
    )
    assert better.tolist() == [[False, True, False]]
