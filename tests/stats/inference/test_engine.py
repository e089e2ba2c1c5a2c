"""The engine evaluates every side on the same resamples."""

from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import seeded

from harness.stats.inference.bootstrap import weighted_totals
from harness.stats.inference.engine import Engine


def mean_of(scores):
    """Return the side that is the weighted mean of some scores."""
    return lambda weights: weights @ scores / weights.sum(axis=1)


@pytest.mark.parametrize("groups", [None, ["a", "a", "b", "c", "c", "c"]])
def test_sides_that_are_asked_for_apart_see_the_same_resamples(groups):
    """Values and replicates are those of sides evaluated together, and weights count."""
    x, y = np.arange(6.0), np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    weights = np.array([1.0, 2.0, 1.0, 1.0, 0.5, 1.0])
    resampling = seeded(n_resamples=50, groups=groups)
    engine = Engine.draw(resampling.units(6), resampling, weights)
    together = engine.of([mean_of(x), mean_of(y)])
    apart = [engine.of([mean_of(scores)]) for scores in (x, y)]
    means = [np.average(scores, weights=weights) for scores in (x, y)]
    assert together.values == pytest.approx(means)
    assert together.replicates.shape == (2, 50)
    assert np.array_equal(together.replicates, np.vstack([side.replicates for side in apart]))


def test_without_resamples_there_are_only_values():
    """No replicates, of no side and of some."""
    resampling = seeded(n_resamples=0)
    engine = Engine.draw(resampling.units(3), resampling)
    assert engine.of([mean_of(np.arange(3.0))]).replicates.shape == (1, 0)
    assert engine.of([]).replicates.shape == (0, 0)


def test_empty_sides_have_as_many_resamples_as_other_sides():
    """No sides have as many replicates, of none, as the sides that they stand beside."""
    resampling = seeded(n_resamples=7)
    assert Engine.draw(resampling.units(3), resampling).of([]).replicates.shape == (0, 7)


@pytest.mark.parametrize("groups", [None, ["a", "a", "b", "c", "c", "c"]])
def test_sums_of_groups_had_other_values_than_their_items(groups):
    """Items added up by unit before they are resampled give what their own weights give."""
    rows = np.array([[3.0, 1.0], [1.0, 1.0], [4.0, 0.5], [1.0, 1.0], [5.0, 2.0], [9.0, 1.0]])
    weights = np.array([1.0, 2.0, 1.0, 1.0, 0.5, 1.0])
    resampling = seeded(n_resamples=50, groups=groups)
    engine = Engine.draw(resampling.units(6), resampling, weights)

    def ratio_of_sums(weights):
        numerator, denominator = weighted_totals(rows, weights).T
        return numerator / denominator

    of_units, of_items = engine.of_totals(ratio_of_sums), engine.of([ratio_of_sums])
    assert of_units.values == pytest.approx(of_items.values)
    np.testing.assert_allclose(of_units.replicates, of_items.replicates)
