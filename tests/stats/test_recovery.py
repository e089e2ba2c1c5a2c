"""Known theta, F and beta come back, and intervals cover the design value as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from harness import stats

SPACE = stats.OptionSpace.powerset(("toxic", "fine"))
F = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])
ITEMS = 300


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
    found = stats.evaluate(table, [], tau=0.5, positive=("toxic",), rng=rng, n_resamples=0)
    beta = (0.7 * theta[:, 2].sum()) / (theta[:, 1] + 0.7 * theta[:, 2]).sum()
    assert found.human_translation.beta.value == pytest.approx(beta, abs=pooled)


CHECKED = (
    "hit_rate(h/h)",
    "cohen_kappa(h/h)",
    "mse(srs/srs)",
    "js_divergence(s/s)",
    "decision_consistency",
    "prevalence_bias",
)


def draw(seed, n=ITEMS):
    """Draw items, then their ratings: one data set of humans and two judges."""
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet((1, 1, 1), n)
    near, far = ((1 - share) * theta + share * rng.dirichlet((1, 1, 1), n) for share in (0.2, 0.4))
    human = simulate(rng, theta, "human", 7, n_pairs=1)
    return human, [simulate(rng, near, "near", 10), simulate(rng, far, "far", 10)], rng


def estimate(seed, n=ITEMS, n_resamples=500):
    """Evaluate one simulated data set on the metrics whose intervals are checked."""
    human, judges, rng = draw(seed, n)
    return stats.evaluate(
        human,
        judges,
        tau=0.5,
        positive=("toxic",),
        rng=rng,
        metrics=CHECKED,
        n_resamples=n_resamples,
    )


def interval_coverage(n_data_sets):
    """Return the share of data sets whose interval holds the design value, per statistic.

    The design value is the expectation over items and over this many raters and samples. Statistics
    of item sums come as close to it as one likes on enough items: 400,000 of them stand in for it.
    """
    truth = estimate(10**6, n=400_000, n_resamples=0)
    targets = {name: truth.estimates["near"][name].value for name in CHECKED}
    targets["beta"] = truth.human_translation.beta.value
    targets["difference"] = truth.differences("mse(srs/srs)")[0].value
    hits = dict.fromkeys(targets, 0)
    for seed in range(n_data_sets):
        found = estimate(seed)
        intervals = {name: found.estimates["near"][name].interval for name in CHECKED}
        intervals["beta"] = found.human_translation.beta.interval
        intervals["difference"] = found.differences("mse(srs/srs)")[0].interval
        for name, interval in intervals.items():
            hits[name] += interval.low <= targets[name] <= interval.high
    return {name: count / n_data_sets for name, count in hits.items()}


def test_intervals_cover_the_design_value():
    """95 % intervals hold it in 95 % of 100 seeded data sets, within 4 standard errors (0.087)."""
    for name, share in interval_coverage(100).items():
        assert share >= 0.95 - 0.087, f"{name}: {share:.3f}"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_intervals_cover_the_design_value_within_two_points():
    """93 to 97 % of 2,000 seeded data sets of 300 items x 7 raters x 10 samples."""
    for name, share in interval_coverage(2000).items():
        assert 0.93 <= share <= 0.97, f"{name}: {share:.4f}"
