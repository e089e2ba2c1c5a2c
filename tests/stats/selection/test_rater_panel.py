"""Intervals over items and raters, where five or more raters rated most items."""

from __future__ import annotations

import numpy as np
import pytest
from support.paired_differences import difference_of
from support.rating_tables import table_of_counts

from harness import stats
from harness.stats.inference.crossed_raters import CrossedRatings, RaterCovariance, leave_out
from harness.stats.inference.metric import find_metric, mean
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.footing import common_footing
from harness.stats.selection.rater_panel import RaterPanel

SPACE = stats.OptionSpace.singletons(("A", "B"))
HIT_RATE = find_metric("hit_rate(h/h)", METRICS)


def draw(seed, n=60, m=6, severity=1.0):
    """Ratings by raters of different severity, and two judges: (n, m) and two (n,) labels."""
    rng = np.random.default_rng(seed)
    latent, leaning = rng.normal(0.0, 1.5, n), rng.normal(0.0, severity, m)
    ratings = (rng.random((n, m)) > 1 / (1 + np.exp(-(latent[:, None] + leaning)))).astype(int)
    judges = [(rng.random(n) > 1 / (1 + np.exp(-latent))).astype(int) for _ in range(2)]
    return ratings, judges


def table(name, labels):
    """Count (n, m) labels."""
    counts = np.stack([(labels == 0).sum(axis=1), (labels == 1).sum(axis=1)], axis=1)
    return table_of_counts(name, counts, space=SPACE)


def panel_of(ratings):
    """Say who gave each rating; -1 is none."""
    item, rater = np.nonzero(ratings >= 0)
    shape = (*ratings.shape, 2)
    crossed = CrossedRatings(item, rater, ratings[item, rater], shape, np.arange(len(ratings)))
    return RaterPanel(forced_choice=crossed, response_set=None)


def evaluated(ratings, judges, panel):
    """Evaluate on few metrics."""
    return stats.evaluate(
        table("raters", ratings),
        [table(f"j{k}", labels[:, None]) for k, labels in enumerate(judges)],
        tau=0.5,
        positive=("A",),
        resampling=stats.Resampling(rng=np.random.default_rng(0), n_resamples=500),
        metrics=["hit_rate(h/h)", "mse(s/s)", "prevalence_bias"],
        panel=panel,
    )


def test_panel_of_six_widens_intervals_and_says_how():
    """Values stay; intervals have the method crossed, and that of the prevalence is much wider."""
    ratings, judges = draw(0, n=300, severity=1.5)
    plain, crossed = (evaluated(ratings, judges, p) for p in (None, panel_of(ratings)))
    for name in ("hit_rate(h/h)", "mse(s/s)", "prevalence_bias"):
        old, new = (e.estimates["j0"][name] for e in (plain, crossed))
        assert old.value == new.value
        assert (old.interval.method, new.interval.method) == ("score", "crossed")
    widths = [
        e.estimates["j0"]["prevalence_bias"].interval.high
        - e.estimates["j0"]["prevalence_bias"].interval.low
        for e in (plain, crossed)
    ]
    assert widths[1] > 1.3 * widths[0]


def test_variance_of_raters_is_that_of_the_jackknife():
    """The covariance of one judge is that of the values without each rater and each rating."""
    ratings, judges = draw(1)
    panel = panel_of(ratings)
    answers = np.eye(2)[judges[0]]

    def contributions(counts, rows):
        shares = counts / counts.sum(axis=1, keepdims=True)
        return find_metric("mse(s/s)", METRICS).contributions(shares, answers[rows])

    [left_out] = leave_out(panel.forced_choice, [contributions], mean)
    raters, cells = left_out.raters[0], np.repeat(left_out.cells[0], left_out.times.astype(int))
    covariance = evaluated(ratings, judges, panel).covariances["mse(s/s)"]
    variance = covariance.variance(np.array([1.0, 0.0]))
    assert variance.raters == pytest.approx((len(raters) - 1) * np.var(raters))
    assert variance.cells == pytest.approx((len(cells) - 1) * np.var(cells))


@pytest.mark.parametrize("kept", [4, 6], ids=["four raters", "a third of the ratings missing"])
def test_few_or_incomplete_raters_are_fixed(kept):
    """With four raters, and where a third of the cells is empty, intervals are for these raters."""
    ratings, judges = draw(2)
    ratings = ratings[:, :kept].copy()
    if kept == 6:
        ratings[np.random.default_rng(0).random(ratings.shape) < 1 / 3] = -1
    result = evaluated(ratings, judges, panel_of(ratings))
    assert not result.covariances
    assert result.estimates["j0"]["mse(s/s)"].interval.method == "score"


def test_noise_of_raters_has_their_covariance():
    """Deviations drawn for the comparison of judges have the covariance that was estimated."""
    covariance = RaterCovariance(np.array([[4.0, 1.0], [1.0, 2.0]]), np.eye(2), 6, 360)
    noise = covariance.noise(200_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.cov(noise), [[3.0, 1.0], [1.0, 1.0]], atol=0.05)


def test_rank_sets_and_one_human_are_over_raters_too():
    """A difference that depends on one rater is not significant where raters are a sample."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(2, size=(200, 5))
    judges = [ratings[:, 0], rng.integers(2, size=200)]
    settings = {"tau": 0.5, "positive": ("A",)}
    tables = [table(f"j{k}", labels[:, None]) for k, labels in enumerate(judges)]
    of_items, of_both = (
        common_footing(
            table("raters", ratings),
            tables,
            HIT_RATE,
            resampling=stats.Resampling(rng=np.random.default_rng(0), n_resamples=500),
            panel=panel,
            **settings,
        )
        for panel in (None, panel_of(ratings))
    )
    assert of_items.ranks.ranks == ((1, 1), (2, 2))
    assert of_both.ranks.ranks == ((1, 2), (1, 2))
    reaches = [f.references[1].high - f.references[1].low for f in (of_items, of_both)]
    assert reaches[1] > reaches[0]


def test_a_difference_does_not_take_the_raters_for_all_there_are():
    """It has an interval over items and raters."""
    ratings, judges = draw(0)
    difference = difference_of(evaluated(ratings, judges, panel_of(ratings)), "hit_rate(h/h)")
    assert difference.interval.method == "crossed"


def test_one_group_of_items_gives_no_rank_sets_and_no_warning():
    """Where all items are one group nothing is resampled, with crossed raters too."""
    ratings, judges = draw(0)
    footing = common_footing(
        table("raters", ratings),
        [table(f"j{k}", labels[:, None]) for k, labels in enumerate(judges)],
        HIT_RATE,
        tau=0.5,
        positive=("A",),
        resampling=stats.Resampling(
            rng=np.random.default_rng(0), groups=np.zeros(60, int), n_resamples=100
        ),
        panel=panel_of(ratings),
    )
    assert footing.ranks is None
    assert np.isfinite(footing.values).all()
