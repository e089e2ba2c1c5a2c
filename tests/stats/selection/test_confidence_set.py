from __future__ import annotations

import numpy as np
import pytest

from harness.stats import model_confidence_set, rank_spread


def test_ranks_and_chance_of_being_best_by_hand():
    """Four replicates of three judges; a shared first place is split."""
    losses = np.array([[1.0, 1.0, 3.0, 1.0], [2.0, 1.0, 1.0, 2.0], [3.0, 3.0, 2.0, np.nan]])
    a, b, c = rank_spread("abc", losses, level=0.5)
    assert (a.p_best, b.p_best, c.p_best) == (0.625, 0.375, 0.0)
    assert (a.low, a.high) == (1, 1)  # ranks 1 1 3 1
    assert (b.low, b.high) == (1, 2)  # ranks 2 1 1 2
    assert (c.low, c.high) == (2, 3)  # ranks 3 3 2; not ranked in the last
    wide = rank_spread("abc", losses, level=0.99)
    assert [(estimate.low, estimate.high) for estimate in wide] == [(1, 3), (1, 2), (2, 3)]


def test_judges_without_replicates_have_no_rank():
    """NA, never rank 0."""
    spreads = rank_spread("ab", np.array([[1.0, 2.0], [np.nan, np.nan]]))
    assert (spreads[1].low, spreads[1].p_best) == (None, None)
    assert spreads[0].p_best == 1.0
    assert rank_spread("a", np.empty((1, 0)))[0].p_best is None


def test_set_keeps_what_cannot_be_told_apart():
    """Two good judges stay, the bad one leaves; the best has p = 1."""
    rng = np.random.default_rng(0)
    losses = np.array([0.5, 0.101, 0.1])
    replicates = losses[:, None] + rng.normal(0, 0.01, (3, 1000))
    confidence_set = model_confidence_set("abc", losses, replicates)
    assert confidence_set.judges == ("c", "b")
    assert confidence_set.p_values[2] == 1.0
    assert confidence_set.p_values[0] < 0.05 < confidence_set.p_values[1]
    assert repr(confidence_set) == "ConfidenceSet(95%: c, b)"


def test_two_judges_against_by_hand():
    """With two judges, T_max is the absolute difference over its standard error.

    Differences drawn as -1, 0, 1, 2, 3 around 1: centred -2 to 2, of which two fifths are at least
    1 in absolute value on the worse judge's side, and as many on the other's.
    """
    drawn = np.array([[-1.0, 0.0, 1.0, 2.0, 3.0], [0.0] * 5])
    confidence_set = model_confidence_set("ab", np.array([1.0, 0.0]), drawn)
    np.testing.assert_allclose(confidence_set.p_values, [0.8, 1.0])


def test_p_values_never_fall_as_judges_leave():
    """A judge that leaves later has a p-value at least as great."""
    rng = np.random.default_rng(1)
    losses = np.linspace(0.1, 0.3, 8)
    replicates = losses[:, None] + rng.normal(0, 0.05, (8, 500))
    p_values = model_confidence_set("abcdefgh", losses, replicates).p_values
    assert (np.diff(p_values) <= 0).all()


def test_certain_differences_are_certain():
    """Losses that no replicate moves: equal judges stay together, a worse one leaves."""
    losses = np.array([0.1, 0.1, 0.2])
    confidence_set = model_confidence_set("abc", losses, np.repeat(losses[:, None], 50, axis=1))
    assert confidence_set.judges == ("a", "b")


def test_undefined_judges_are_not_compared():
    """nan is no loss; replicates that lack a compared judge are not used."""
    rng = np.random.default_rng(0)
    losses = np.array([0.1, np.nan, 0.9])
    replicates = losses[:, None] + rng.normal(0, 0.01, (3, 100))
    replicates[2, :10] = np.nan
    confidence_set = model_confidence_set("abc", losses, replicates)
    assert confidence_set.judges == ("a",)
    assert np.isnan(confidence_set.p_values[1])
    assert confidence_set.n_replicates == 90
    nothing = model_confidence_set("abc", losses, np.empty((3, 0)))
    assert (nothing.judges, nothing.reason) == ((), "undefined")
    assert model_confidence_set("a", losses[:1], np.empty((1, 0))).judges == ("a",)


def test_shapes_that_do_not_fit_are_refused():
    """The message names the argument and its shape."""
    with pytest.raises(ValueError, match=r"replicates has shape \(3,\)"):
        rank_spread("abc", np.zeros(3))
    with pytest.raises(ValueError, match=r"losses has shape \(2,\)"):
        model_confidence_set("abc", np.zeros(2), np.zeros((3, 5)))


def coverage_of_the_best(n_data_sets):
    """Share of data sets whose set holds the best of five judges, three of them equally good."""
    held = 0
    for seed in range(n_data_sets):
        rng = np.random.default_rng(seed)
        items = rng.normal([0.0, 0.0, 0.0, 0.05, 0.3], 1.0, (200, 5))
        draws = rng.multinomial(200, np.full(200, 1 / 200), 300) / 200
        confidence_set = model_confidence_set("abcde", items.mean(axis=0), (draws @ items).T)
        held += {"a", "b", "c"} <= set(confidence_set.judges)
    return held / n_data_sets


def test_set_holds_the_best_judges_as_often_as_it_says():
    """All three best judges in 95 % of 200 seeded data sets, within 3 standard errors (0.046)."""
    assert coverage_of_the_best(200) > 0.95 - 0.046


@pytest.mark.slow
def test_set_holds_the_best_judges_within_two_points():
    """At least 93 % of 2,000 seeded data sets."""
    assert coverage_of_the_best(2000) >= 0.93
