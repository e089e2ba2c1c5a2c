from __future__ import annotations

import numpy as np
import pytest

from harness.stats import OptionSpace
from harness.stats.indeterminacy.rater_error import (
    error_matrix,
    identifiability,
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
    with pytest.raises(ValueError, match="only one response set"):
        error_matrix(alone, 0.1, eta=0.0, option="yes")


def test_gamma_is_one_at_chance():
    """A random choice within the accepted set; the printed factor 1 / |S_v| would give less."""
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
    """One Gamma per matrix; nan where a set that holds the option was never accepted."""
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
    """Two raters' populations that choose alike and accept differently."""
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
