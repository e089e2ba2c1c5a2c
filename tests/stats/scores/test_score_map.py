"""Monotone maps from scores to what raters answer, fitted out of fold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.scores.score_map import (
    MIN_FITTED,
    ScoreMap,
    above_cuts,
    cross_fit,
    folds_of,
    mean_map,
    shares_of,
)


def drawn(n=200, *, sign=1.0, seed=0):
    """Return scores, (n, 4) shares above the cuts of five options, and numbers of ratings."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    seen = np.digitize(quality[:, None] + 0.7 * rng.normal(size=(n, 3)), [-1, -0.3, 0.3, 1])
    shares = (seen[:, :, None] == np.arange(5)).mean(axis=1)
    return sign * quality + 0.3 * rng.normal(size=n), above_cuts(shares), np.full(n, 3.0)


@given(
    scores=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    seed=st.integers(0, 1000),
    better=st.sampled_from(["higher", "lower", "found"]),
)
def test_mapped_shares_are_distributions_in_the_order_of_scores(scores, seed, better):
    """Whatever the data, shares sum to 1, and a better score has no more of the worst option."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4), size=len(scores))
    fitted = ScoreMap.fit(
        np.array(scores), above_cuts(shares), rng.integers(1, 9, len(scores)) * 1.0, better
    )
    at = np.sort(rng.uniform(-2e6, 2e6, size=30))
    mapped = shares_of(fitted(at))
    assert np.allclose(mapped.sum(axis=1), 1.0)
    assert (mapped >= 0).all()
    steps = np.diff(mapped[:, 0]) * (-1 if fitted.ascends else 1)
    assert (steps >= -1e-9).all()


def test_shares_and_cuts_are_inverse():
    """The shares above the cuts give the shares back."""
    shares = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    assert np.allclose(shares_of(above_cuts(shares)), shares)


@pytest.mark.parametrize(("sign", "ascends"), [(1.0, True), (-1.0, False)])
def test_direction_is_found(sign, ascends):
    """Of scores that follow the ratings, every fold finds how."""
    scores, values, weights = drawn(sign=sign)
    fit = cross_fit(scores, values, weights, np.arange(len(scores)))
    assert fit.n_higher == (5 if ascends else 0)
    assert fit.mean.ascends == ascends


def test_the_map_depends_only_on_the_order_of_scores():
    """Another increasing curve of the scores gives the same values."""
    scores, values, weights = drawn()
    units = np.arange(len(scores))
    first = cross_fit(scores, values, weights, units, better="higher")
    other = cross_fit(np.exp(scores) * 7 - 3, values, weights, units, better="higher")
    assert np.abs(first.values - other.values).mean() < 0.01  # lines between scores bend


def test_no_item_is_mapped_by_its_own_ratings():
    """If an item's ratings change, its own value stays as it was."""
    scores, values, weights = drawn()
    units = np.arange(len(scores))
    before = cross_fit(scores, values, weights, units, better="higher").values
    for i in (3, 77, 150):
        changed = values.copy()
        changed[i] = 1.0 - changed[i]
        after = cross_fit(scores, changed, weights, units, better="higher").values
        assert (after[i] == before[i]).all()
        assert (after != before).any()


def test_groups_stay_whole():
    """Items of a group have one fold, and changing one's ratings changes no value of its group."""
    scores, values, weights = drawn()
    units = np.arange(len(scores)) // 4
    fold = folds_of(units, weights > 0)
    assert (fold.reshape(-1, 4) == fold[::4, None]).all()
    assert np.bincount(fold).tolist() == [40] * 5
    changed = values.copy()
    changed[8] = 1.0 - changed[8]
    before = cross_fit(scores, values, weights, units, better="higher").values
    after = cross_fit(scores, changed, weights, units, better="higher").values
    assert (after[8:12] == before[8:12]).all()


def test_items_without_ratings_get_the_mean_of_the_maps():
    """They are in no fold, and their ratings aren't read."""
    scores, values, weights = drawn()
    weights[50:] = 0.0
    values[50:] = np.nan
    fit = cross_fit(scores, values, weights, np.arange(len(scores)))
    assert np.isfinite(fit.values).all()
    assert np.allclose(fit.values[50:], fit.mean(scores[50:]))


def test_mean_of_maps_is_exact():
    """Between and beyond all scores, it is the mean of what the maps return."""
    rng = np.random.default_rng(5)
    maps = [ScoreMap(np.sort(rng.normal(size=6)), np.sort(rng.random((6, 2)), 0)) for _ in "abc"]
    at = np.linspace(-4, 4, 301)
    assert np.allclose(mean_map(maps)(at), np.mean([each(at) for each in maps], axis=0))


def test_too_few_rated_units_are_refused():
    """A map of nine groups would be their noise."""
    scores, values, weights = drawn(n=MIN_FITTED * 4 - 4)
    with pytest.raises(ValueError, match="fewer than 10"):
        cross_fit(scores, values, weights, np.arange(len(scores)) // 4)


def test_scores_at_random_are_never_better_than_their_mean():
    """Out of fold, noise explains nothing: the squared error is that of the mean, or above it."""
    gains = []
    for seed in range(40):
        _, values, weights = drawn(n=60, seed=seed)
        noise = np.random.default_rng(seed + 1000).normal(size=60)
        fit = cross_fit(noise, values, weights, np.arange(60))
        error = ((fit.values - values) ** 2).sum()
        gains.append(((values.mean(axis=0) - values) ** 2).sum() - error)
    assert np.mean(gains) < 0
