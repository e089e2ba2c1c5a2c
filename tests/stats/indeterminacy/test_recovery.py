"""Known theta, F and beta come back, and intervals cover the design value as often as they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.interval_coverage import (
    DATA_SETS,
    LEAST,
    MOST,
    interval_coverage,
    stored_shares,
)

from harness import stats
from harness.stats.indeterminacy.rater_error import error_matrix

COVERAGE_PAGE = Path(__file__).resolve().parents[3] / "docs" / "coverage.md"
N_STATISTICS = 11
SPACE = stats.OptionSpace.powerset(("toxic", "fine"))
F = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])


def simulate(rng, theta, name, n_raters, n_pairs=0):
    """Draw a table from the rating model: independent choices and sets, and pairs."""
    n = len(theta)
    joint = np.zeros((n, 2, 3), int)
    if n_pairs:
        cells = (F[None] * theta[:, None, :]).reshape(n, -1)
        joint = rng.multinomial(n_pairs, cells).reshape(n, 2, 3)
    return stats.RatingTable(
        space=SPACE,
        name=name,
        items=tuple(map(str, range(n))),
        forced_choice=rng.multinomial(n_raters, theta @ F.T),
        response_set=rng.multinomial(n_raters, theta),
        joint=joint if n_pairs else None,
        outcomes=np.zeros((n, 3, 5), int),
    )


@pytest.mark.parametrize("n_raters", [10, 100, 1000])
def test_theta_F_and_beta_are_recovered(n_raters):  # noqa: N802 -- F is the paper's letter
    """The more ratings, the closer: errors shrink with the square root of their number.

    A share of m ratings has a standard error of at most 0.5 / sqrt(m), which bounds its mean
    absolute error; beta and each column of F rest on more than 40 m of the 200 m pairs and stay
    within 4 standard errors.
    """
    per_item, pooled = 0.5 / n_raters**0.5, 4 * 0.5 / (40 * n_raters) ** 0.5
    rng = np.random.default_rng(0)
    theta = rng.dirichlet((1, 1, 1), 200)
    table = simulate(rng, theta, "z", n_raters, n_pairs=n_raters)
    dist = stats.Distributions.of(table)
    assert np.abs(dist.theta - theta).mean() < per_item
    assert np.abs(dist.O - theta @ F.T).mean() < per_item
    assert np.abs(stats.F_hat(table).F - F).max() < pooled
    result = stats.evaluate(
        table, [], tau=0.5, positive=("toxic",), resampling=stats.Resampling(rng=rng, n_resamples=0)
    )
    beta = (0.7 * theta[:, 2].sum()) / (theta[:, 1] + 0.7 * theta[:, 2]).sum()
    assert result.human_translation.beta.value == pytest.approx(beta, abs=pooled)


@pytest.mark.parametrize("n_raters", [10, 100, 1000])
def test_stable_sets_are_recovered_through_E(n_raters):  # noqa: N802 -- E is the paper's letter
    """Raters who err with a known E: undoing it leaves no more error than the sample had.

    A reversed E spreads each observed set over stable ones, so that no distance grows. Ratings are
    those of the stable raters again within the standard error of m of them, 0.5 / sqrt(m).
    """
    rng = np.random.default_rng(0)
    error = error_matrix(SPACE, 0.3, eta=1.0, option="toxic")
    apart = []
    for theta_star in rng.dirichlet((1, 1, 1), 200):
        model = stats.decompose(theta_star, F, SPACE.membership, E=error)
        np.testing.assert_allclose(model.recovered(), theta_star, atol=1e-12)
        observed = rng.multinomial(n_raters, model.theta) / n_raters
        undone = np.abs(model.E_reverse @ observed - theta_star).sum()
        assert undone <= np.abs(observed - model.theta).sum() + 1e-12
        apart.append(undone / 3)
    assert np.mean(apart) < 0.5 / n_raters**0.5


@pytest.mark.slow
def test_intervals_cover_the_design_value():
    """95 % intervals hold it in 95 % of 50 seeded data sets, within 4 standard errors (0.123)."""
    for name, share in interval_coverage(50, n_resamples=500).items():
        assert share >= 0.95 - 0.123, f"{name}: {share:.3f}"


def test_published_coverage_is_within_two_points():
    """The page that the slow test compares has every statistic, each at 93 to 97 %."""
    shares = stored_shares(COVERAGE_PAGE.read_text("utf-8"))
    assert {"beta, from pairs", "krippendorff_alpha_nominal, humans"} < shares.keys()
    assert len(shares) == N_STATISTICS
    for name, share in shares.items():
        assert LEAST <= share <= MOST, f"{name}: {share:.4f}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_intervals_cover_the_design_value_within_two_points():
    """93 to 97 % of 2,000 seeded data sets of 300 items x 7 raters x 10 samples, as published."""
    published = stored_shares(COVERAGE_PAGE.read_text("utf-8"))
    for name, share in interval_coverage(DATA_SETS).items():
        assert LEAST <= share <= MOST, f"{name}: {share:.4f}"
        assert share == pytest.approx(published[name], abs=0.003), name
