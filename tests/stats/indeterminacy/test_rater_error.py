from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.rating_tables import random_table

from harness.stats import METRICS, OptionSpace, find_metric
from harness.stats.data.rating_table import Distributions
from harness.stats.indeterminacy.rater_error import (
    error_matrix,
    identifiability,
    mse_without_rater_error,
    rank_under_rater_error,
    selection_effect,
)

BINARY = OptionSpace.powerset(("toxic", "fine"))
THREE = OptionSpace.powerset(("toxic", "rude", "fine"))


def test_errors_fall_on_sets_in_proportion_to_their_weight():
    """Stable {fine}, eta log 3: {toxic} and {toxic, fine} weigh 3 each; {fine} keeps the rest."""
    error = error_matrix(THREE, 0.2, eta=np.log(3.0), option="toxic")
    v = THREE.set_index
    column = error[:, v(("fine",))]
    total = 4 * 3 + 2  # four sets hold toxic; {rude} and {rude, fine} do not
    assert column[v(("toxic",))] == pytest.approx(0.2 * 3 / total)
    assert column[v(("rude",))] == pytest.approx(0.2 / total)
    np.testing.assert_allclose(np.diag(error), 0.8)


@pytest.mark.parametrize("eta", [-800.0, -1.0, 0.0, 1.0, 800.0])
def test_error_columns_are_distributions_whatever_the_skew(eta):
    """Columns sum to 1, also where exp(eta) alone would overflow."""
    error = error_matrix(THREE, 0.3, eta=eta, option="rude")
    np.testing.assert_allclose(error.sum(axis=0), 1.0)
    assert (error >= 0).all()


def test_positive_skew_favours_the_option():
    """Omega of the option grows with eta, at the same error rate."""
    theta = np.full(7, 1 / 7)
    held = THREE.membership[0]
    shares = [
        (error_matrix(THREE, 0.3, eta=eta, option="toxic") @ theta)[held].sum()
        for eta in (-1, 0, 1)
    ]
    assert shares == sorted(shares)
    assert shares[0] < shares[2]


def test_error_that_cannot_be_is_refused():
    """The message names the argument."""
    with pytest.raises(ValueError, match=r"epsilon is 1\.5"):
        error_matrix(BINARY, 1.5, eta=0.0, option="toxic")
    with pytest.raises(ValueError, match="eta is nan"):
        error_matrix(BINARY, 0.5, eta=np.nan, option="toxic")
    with pytest.raises(ValueError, match="option 'rude'"):
        error_matrix(BINARY, 0.5, eta=0.0, option="rude")
    alone = OptionSpace.singletons(("yes",))
    assert error_matrix(alone, 0.0, eta=1.0, option="yes").tolist() == [[1.0]]
    with pytest.raises(ValueError, match="no second set"):
        error_matrix(alone, 0.1, eta=0.0, option="yes")


def test_gamma_is_one_at_chance():
    """A random choice within the endorsed set; the printed factor 1 / |S_v| would give less."""
    chance = THREE.membership / THREE.membership.sum(axis=0)
    assert selection_effect(chance, THREE, option="toxic") == pytest.approx(1.0)


def test_gamma_of_two_needs_three_options():
    """Always choosing toxic gives (1 + 2) / 2 of two options, (1 + 2 + 2 + 3) / 4 of three."""
    for space, most in ((BINARY, 1.5), (THREE, 2.0)):
        first = np.eye(len(space.options))[:, [0]]
        choice = np.where(space.membership[0], first, space.membership)
        choice = choice / choice.sum(axis=0)
        assert selection_effect(choice, space, option="toxic") == pytest.approx(most)


def test_gamma_per_item_and_where_F_is_unknown():  # noqa: N802 -- F is the paper's letter
    """One Gamma per matrix; nan where a set that holds the option was never endorsed."""
    chance = BINARY.membership / BINARY.membership.sum(axis=0)
    unknown = chance.copy()
    unknown[:, 2] = np.nan
    result = selection_effect(np.stack([chance, unknown]), BINARY, option="toxic")
    np.testing.assert_allclose(result, [1.0, np.nan])
    with pytest.raises(ValueError, match=r"F has shape \(3, 2\)"):
        selection_effect(chance.T, BINARY, option="toxic")


def test_theta_is_identified_only_where_the_task_is_fully_specified():
    """Theorem 3.4: overlapping or unknown sets leave theta open; a yes/no task hears of Maybe."""
    assert identifiability(OptionSpace.singletons(("yes", "no"))).identified
    binary, three = identifiability(BINARY), identifiability(THREE)
    assert (binary.identified, binary.reason) == (False, "sets_overlap")
    assert "Maybe" in binary.advice
    assert "Maybe" not in three.advice
    assert "response sets" in three.advice
    unknown = identifiability(OptionSpace.singletons(("yes", "no"), sets_known=False))
    assert (unknown.identified, unknown.reason) == (False, "sets_unknown")


def test_same_O_from_other_theta_when_not_identified():  # noqa: N802 -- O is the paper's letter
    """Two raters' populations that choose alike and endorse differently."""
    choice = np.array([[1, 0, 0.5], [0, 1, 0.5]])
    mixed, spread = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    np.testing.assert_allclose(choice @ mixed, choice @ spread)
    assert not identifiability(BINARY).identified


def test_no_error_changes_no_ranking():
    """E = I: both differences agree and nothing shifts."""
    judges = (np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.2, 0.2]))
    shift = rank_under_rater_error(np.array([0.1, 0.3, 0.6]), np.eye(3), judges, BINARY.membership)
    assert shift.delta == shift.delta_star
    assert shift.shift == 0.0
    assert shift.rank_preserved


def test_equal_judges_have_no_ranking_to_preserve():
    """A difference of 0 has no sign."""
    same = np.array([0.2, 0.3, 0.5])
    shift = rank_under_rater_error(same, np.eye(3), (same, same), BINARY.membership)
    assert not shift.rank_preserved


def test_models_of_other_sizes_are_refused():
    """theta is a distribution over the columns of Lambda, and E over the same sets twice."""
    half = np.array([0.5, 0.5])
    with pytest.raises(ValueError, match="theta has shape"):
        rank_under_rater_error(half, np.eye(3), (half, half), BINARY.membership)
    third = np.full(3, 1 / 3)
    with pytest.raises(ValueError, match="E"):
        rank_under_rater_error(third, np.eye(2), (third, third), BINARY.membership)
    with pytest.raises(ValueError, match=r"E has shape \(3, 2\)"):
        rank_under_rater_error(third, np.eye(3)[:, :2], (third, third), BINARY.membership)


def test_error_of_half_the_raters_cannot_be_undone():
    """Sets may be mistaken for each other then."""
    error = error_matrix(BINARY, 0.5, eta=0.0, option="toxic")
    with pytest.raises(ValueError, match=r"a chance of 0\.5; wanted above"):
        mse_without_rater_error(random_table("human", 0, n=3, space=BINARY), [], [error])


def test_judges_are_ordered_as_stable_raters_would():
    """A judge that copies the erring raters loses to one that says what they would on reflection.

    Without error the numbers are those of mse(srs/srs).
    """
    rng = np.random.default_rng(0)
    error = error_matrix(BINARY, 0.3, eta=2.0, option="toxic")
    stable = rng.dirichlet((1, 1, 1), 400)
    observed = np.array([rng.multinomial(50, theta) for theta in stable @ error.T])
    human, copies, reflects = (
        random_table(name, 0, n=400, space=BINARY) for name in ("human", "x", "y")
    )
    human, copies = (replace(side, response_set=observed) for side in (human, copies))
    reflects = replace(reflects, response_set=np.rint(stable * 1000).astype(int))
    errors, n_items = mse_without_rater_error(human, [copies, reflects], [np.eye(3), error])
    kept, undone = errors
    assert n_items == 400
    assert kept["x"] == pytest.approx(0.0)
    assert kept["y"] > 0.01
    assert undone["y"] < undone["x"]
    fewer = replace(copies, response_set=observed * (np.arange(400) < 300)[:, None])
    [alone], n_items = mse_without_rater_error(human, [reflects, fewer], [np.eye(3)])
    first = replace(reflects, response_set=reflects.response_set * (np.arange(400) < 300)[:, None])
    [same], _ = mse_without_rater_error(human, [first], [np.eye(3)])
    assert (alone["y"], n_items) == (same["y"], 300)  # judges are compared on the same items
    row = find_metric("mse(srs/srs)", METRICS)
    omegas = (Distributions.of(side).omega for side in (human, reflects))
    assert kept["y"] == pytest.approx(row.value(row.contributions(*omegas).sum(axis=0)))
