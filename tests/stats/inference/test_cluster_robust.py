"""The CR2 mean, against its matrix form and by the size of its t-test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import fractional_matrix_power

from harness.stats.inference.cluster_robust import cluster_mean, jackknife_steps


def matrix_form(values, clusters):
    """CR2 of a regression on a constant, as in Pustejovsky and Tipton 2018, equations 4 to 12."""
    n = len(values)
    design = np.ones((n, 1))
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    residuals = values - values.mean()
    variance, directions = 0.0, []
    for label in np.unique(clusters):
        rows = clusters == label
        adjustment = fractional_matrix_power(np.eye(rows.sum()) - hat[np.ix_(rows, rows)], -0.5)
        weights = (design[rows].T @ adjustment / n)[0]
        variance += float(weights @ residuals[rows]) ** 2
        directions.append((np.eye(n) - hat)[:, rows] @ weights)
    products = np.array(directions) @ np.array(directions).T
    return np.sqrt(variance), np.trace(products) ** 2 / (products**2).sum()


def test_error_and_degrees_of_freedom_against_matrices():
    """The closed form is that of the general estimator."""
    rng = np.random.default_rng(0)
    clusters = rng.integers(6, size=40)
    values = rng.normal(size=40) + clusters * 0.3
    estimate = cluster_mean(values, clusters)
    error, freedom = matrix_form(values, clusters)
    assert estimate.standard_error == pytest.approx(error)
    assert estimate.degrees_of_freedom == pytest.approx(freedom)


def test_clusters_of_one_give_students_t():
    """Without clusters it is the usual error with n - 1 degrees of freedom."""
    values = np.random.default_rng(1).normal(size=12)
    estimate = cluster_mean(values, np.arange(12))
    assert estimate.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(12))
    assert estimate.degrees_of_freedom == pytest.approx(11)


def test_one_cluster_has_no_error():
    """Nothing says how clusters vary."""
    estimate = cluster_mean(np.array([1.0, 2.0]), np.array([3, 3]))
    assert np.isnan(estimate.standard_error)
    assert np.isnan(estimate.score_statistic(0.0))


@pytest.mark.parametrize("n_clusters", [5, 10, 40])
def test_size_of_the_t_test(n_clusters):
    """A one-sided 5 % test rejects between 3 and 7 % of true nulls, cluster sizes unequal."""
    rng = np.random.default_rng(n_clusters)
    sizes = 3 + np.arange(n_clusters) % 8
    clusters = np.repeat(np.arange(n_clusters), sizes)
    rejected = 0
    for _ in range(2000):
        values = rng.normal(size=n_clusters)[clusters] + rng.normal(size=len(clusters))
        estimate = cluster_mean(values, clusters)
        rejected += estimate.interval(0.9)[1] < 0.0
    assert 0.03 <= rejected / 2000 <= 0.07


@pytest.mark.parametrize("sizes", [[1] * 40, [4] * 10, [1, 2, 3, 4] * 4])
def test_steps_of_the_jackknife_are_those_without_each_cluster(sizes):
    """Against the equations of the other clusters alone, for one parameter; items out of order."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 1))
    cluster_of = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    steps = jackknife_steps(scores, cluster_of, rank=1e-10)
    total = np.bincount(cluster_of, scores[:, 0])
    information = (scores**2).sum() - np.bincount(cluster_of, scores[:, 0] ** 2)
    np.testing.assert_allclose(steps[:, 0], total / information)


def test_a_cluster_that_alone_shows_a_direction_moves_it():
    """Left out, it would leave nothing to say how far; the step is that of all clusters."""
    scores = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 3.0]])
    steps = jackknife_steps(scores, np.arange(3), rank=1e-10)
    assert np.isfinite(steps).all()
    assert steps[2, 1] != 0
