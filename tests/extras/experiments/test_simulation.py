from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.extras.experiments.simulation import (
    Scenario,
    draw_population,
    draw_sample,
    gamma_for,
    project,
    selection_matrix,
)
from harness.stats import OptionSpace
from harness.stats.indeterminacy.rater_error import selection_effect

THREE = OptionSpace.powerset(("toxic", "rude", "fine"))


@given(arrays(np.float64, (4, 5), elements=st.floats(-10, 10)))
def test_projection_is_the_nearest_distribution(points):
    """No mixture with another distribution lies nearer to the point."""
    result = project(points)
    np.testing.assert_allclose(result.sum(axis=1), 1.0)
    assert (result >= 0).all()
    nearest = ((points - result) ** 2).sum(axis=1)
    for other in np.eye(5):
        moved = 0.999 * result + 0.001 * other
        assert (((points - moved) ** 2).sum(axis=1) >= nearest - 1e-9).all()


def test_projection_by_hand():
    """Distributions stay; what is far below goes to 0."""
    np.testing.assert_allclose(project(np.array([0.2, 0.8])), [0.2, 0.8])
    np.testing.assert_allclose(project(np.array([1.5, -0.5])), [1.0, 0.0])
    np.testing.assert_allclose(project(np.array([0.9, 0.5])), [0.7, 0.3])


def test_selection_decays_with_the_rank_in_the_set():
    """exp(-gamma r): with gamma log 2, shares of 2 to 1, and 4 to 2 to 1."""
    choice = selection_matrix(THREE, np.log(2.0))
    np.testing.assert_allclose(choice[:, -1], [4 / 7, 2 / 7, 1 / 7])
    np.testing.assert_allclose(choice[:, THREE.set_index(("rude", "fine"))], [0, 2 / 3, 1 / 3])
    for gamma in (-900.0, 0.0, 900.0):
        choice = selection_matrix(THREE, gamma)
        np.testing.assert_allclose(choice.sum(axis=0), 1.0)
        assert (choice[~THREE.membership] == 0).all()


@pytest.mark.parametrize("wanted", [0.5, 1.0, 1.9])
def test_gamma_is_found_for_a_selection_effect(wanted):
    """And the effect is reported as Gamma, 1 being chance."""
    gamma = gamma_for(THREE, wanted)
    result = selection_effect(selection_matrix(THREE, gamma), THREE, option="toxic")
    assert result == pytest.approx(wanted)
    assert np.sign(gamma) == np.sign(round(wanted - 1.0, 9)) or abs(gamma) < 1e-6


def test_selection_effects_out_of_reach_are_refused():
    """Two options reach 1.5."""
    with pytest.raises(ValueError, match=r"Gamma is 2\.0, .* allows 0\.5 to 1\.5"):
        gamma_for(OptionSpace.powerset(("toxic", "fine")), 2.0)


def test_population_follows_the_rating_model():
    """O = F E theta*, judges without error, and no deviation means no difference."""
    scenario = Scenario(
        space=THREE, epsilon=0.3, eta=1.0, gamma_human=1.0, n_judges=2, sigma=(0.0, 0.0)
    )
    population = draw_population(scenario, np.random.default_rng(0))
    np.testing.assert_allclose(
        population.human.O, population.stable.theta @ population.E.T @ population.F_human.T
    )
    np.testing.assert_allclose(
        population.judges.theta, np.tile(population.stable.theta, (2, 1)), atol=1e-12
    )
    choices = population.judges.theta @ selection_matrix(THREE, 0.0).T
    np.testing.assert_allclose(population.judges.O, choices)
    assert repr(population).startswith("Population(100 items, 2 judges")


@pytest.mark.parametrize("n_ratings", [10, 100, 1000])
def test_finite_sample_estimates_approach_the_population(n_ratings):
    """O, and the judges' omega, at the square root of the number of ratings.

    Omega of the humans goes by way of one F' for all items, which is not right for each of them:
    its error levels off, while its mean over the items comes out right.
    """
    scenario = Scenario(space=THREE, epsilon=0.2, eta=1.0, gamma_human=1.0, n_judges=3, n_items=200)
    rng = np.random.default_rng(n_ratings)
    population = draw_population(scenario, rng)
    sample = draw_sample(population, n_ratings, rng, n_samples=n_ratings, n_calibration=400)
    within = 0.5 / n_ratings**0.5
    assert np.abs(sample.human.O - population.human.O).mean() < within
    assert np.abs(sample.judges.omega - population.judges.omega).mean() < within
    gap = sample.human.omega.mean(axis=0) - population.human.omega.mean(axis=0)
    assert np.abs(gap).max() < 0.03 + within / 10


def test_finite_sample_estimates_use_nothing_that_is_true():
    """True F and E handed to the estimator would give theta* itself from O: here they do not.

    With one calibration item of one pair, most options have no F', so those items are nan.
    """
    rng = np.random.default_rng(0)
    population = draw_population(Scenario(space=THREE, n_judges=1), rng)
    sample = draw_sample(population, 1, rng, n_calibration=1)
    unknown = np.isnan(sample.human.theta).all(axis=1)
    assert 0 < unknown.sum() < 100
    assert len(np.unique(sample.human.theta[~unknown], axis=0)) == 1
    assert repr(sample).startswith("Sample(Distributions(100 items")
