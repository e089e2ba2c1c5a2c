"""Metrics, baselines and a human rater on a continuous scale, against scipy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from harness.stats import Resampling
from harness.stats.metrics.alpha import krippendorff_alpha
from harness.stats.open_scales.numeric_answers import NumericRatings
from harness.stats.open_scales.open_footing import open_footing
from harness.stats.open_scales.open_metrics import midranks, numeric_metrics, rank_correlation

METRICS = {metric.name: metric for metric in numeric_metrics(100.0)}
BOUNDS = (0.0, 100.0)


def ratings_of(rows):
    """Make ratings of rows of numbers, one row per item."""
    item = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return NumericRatings.of(item, np.concatenate(rows).astype(float), len(rows))


def value(rows, answers, name, *, weights=None, items=None):
    """Return a metric of one answer per item."""
    ratings = ratings_of(rows)
    answers = np.asarray(answers, dtype=float)
    judge = ratings.judge("judge", np.arange(len(rows)), answers, METRICS[name], BOUNDS)
    among = np.ones(len(rows), dtype=bool) if items is None else items
    return float(judge.valued(among)(np.ones((1, len(rows))) if weights is None else weights)[0])


@given(st.lists(st.tuples(*[st.integers(0, 20)] * 3), min_size=3, max_size=12))
@example([(0, 0, 0), (0, 0, 12), (0, 1, 20), (0, 7, 14), (1, 0, 8)])  # a tie of 1 + 20 and 7 + 14
def test_metrics_equal_those_of_scipy_and_numpy(triples):
    """Errors, correlations and alpha of the judge's numbers and the raters' means."""
    x, y = [float(t[0]) for t in triples], np.array([(t[1] + t[2]) / 2 for t in triples])
    rows, error = [t[1:] for t in triples], np.array(x) - y
    assert value(rows, x, "rmse") == pytest.approx(np.sqrt((error**2).mean()))
    assert value(rows, x, "mse") == pytest.approx((error**2).mean())
    assert value(rows, x, "mean_absolute_error") == pytest.approx(abs(error).mean())
    assert value(rows, x, "mean_difference") == pytest.approx(error.mean(), abs=1e-9)
    alpha = krippendorff_alpha(np.column_stack([x, y]), "interval").value
    metric_value = value(rows, x, "krippendorff_alpha_interval")
    assert (
        np.isnan(metric_value) if alpha is None else metric_value == pytest.approx(alpha, abs=1e-9)
    )
    for name, reference in (("pearson", pearsonr), ("spearman", spearmanr)):
        if len(set(x)) > 1 and len(set(y)) > 1:
            expected = reference(x, y).statistic
            assert value(rows, x, name) == pytest.approx(expected, abs=1e-9)
        else:
            assert np.isnan(value(rows, x, name))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=2))
def test_a_row_drawn_twice_counts_as_two_rows(triples):
    """Weighted midranks and the rank correlation are those of the repeated rows."""
    x, y, times = (np.array(column, dtype=float) for column in zip(*triples, strict=True))
    rows = np.repeat(np.arange(len(x)), times.astype(int))
    ones = np.ones((1, len(rows)))
    [weighted], [repeated] = (
        rank_correlation(times[None], x, y),
        rank_correlation(ones, x[rows], y[rows]),
    )
    assert weighted == pytest.approx(repeated, nan_ok=True, abs=1e-9)
    assert midranks(times[None], x)[0][rows] == pytest.approx(midranks(ones, x[rows])[0])


def test_several_replies_count_as_one_answer_by_their_mean_error():
    """A judge is compared at one reply: the expectation over its replies."""
    ratings = ratings_of([[10.0, 20.0], [50.0, 50.0]])
    item, answers = np.array([0, 0, 1]), np.array([15.0, 25.0, 40.0])
    judge = ratings.judge("judge", item, answers, METRICS["mse"], BOUNDS)
    assert judge.valued(np.ones(2, dtype=bool))(np.ones((1, 2))) == pytest.approx((50 + 100) / 2)


def test_one_human_and_the_judge_are_scored_on_the_same_remaining_ratings():
    """Every rating is left out once; by hand."""
    ratings = ratings_of([[10.0, 20.0, 60.0], [5.0]])
    judge = ratings.judge("judge", np.arange(2), np.array([30.0, 5.0]), METRICS["mse"], BOUNDS)
    sides = judge.left_out(np.ones(2, dtype=bool))
    others = np.array([40.0, 35.0, 15.0])
    assert sides.used.tolist() == [True, False]
    assert sides.n_ratings == 3
    ones = np.ones((1, 2))
    assert sides.judge(ones) == pytest.approx(((30 - others) ** 2).mean())
    assert sides.human(ones) == pytest.approx(((np.array([10, 20, 60]) - others) ** 2).mean())


def test_an_item_with_two_ratings_has_one_left_and_counts():
    """By hand: of 10 and 20 each is left out once, and the other remains."""
    ratings = ratings_of([[10.0, 20.0], [5.0]])
    judge = ratings.judge("judge", np.arange(2), np.array([14.0, 5.0]), METRICS["mse"], BOUNDS)
    sides = judge.left_out(np.ones(2, dtype=bool))
    assert (sides.used.tolist(), sides.n_ratings) == ([True, False], 2)
    ones = np.ones((1, 2))
    assert sides.judge(ones) == pytest.approx(((14 - 20) ** 2 + (14 - 10) ** 2) / 2)
    assert sides.human(ones) == pytest.approx(10**2)


def test_baselines_are_fitted_on_all_ratings_of_the_resample():
    """Mean and median follow the items drawn; a random rating has the marginal's spread."""
    ratings = ratings_of([[0.0, 0.0, 30.0], [90.0]])
    items, baselines = np.ones(2, dtype=bool), ratings.baselines(METRICS["mse"])
    weights = np.array([[1.0, 1.0], [2.0, 0.0]])
    assert baselines["mean"](items)(weights) == pytest.approx([(20**2 + 60**2) / 2, 0.0])
    assert baselines["median"](items)(weights) == pytest.approx([(10**2 + 90**2) / 2, 100.0])
    drawn, means = np.array([0.0, 0.0, 30.0, 90.0]), np.array([10.0, 90.0])
    expected = ((drawn[:, None] - means) ** 2).mean()
    assert baselines["prior"](items)(weights)[0] == pytest.approx(expected)
    for name in ("mean", "median"):
        for metric in ("pearson", "spearman"):
            assert np.isnan(ratings.baselines(METRICS[metric])[name](items)(weights)).all()


def test_an_unanswered_item_loses_as_much_as_the_farther_bound():
    """Without bounds there is no worst answer."""
    ratings = ratings_of([[10.0], [70.0]])
    answered = np.array([0]), np.array([10.0])
    judge = ratings.judge("judge", *answered, METRICS["mse"], BOUNDS)
    assert judge.value_with_losses == pytest.approx(70.0**2 / 2)
    assert np.isnan(ratings.judge("judge", *answered, METRICS["mse"], None).value_with_losses)
    every = np.arange(2), np.array([10.0, 70.0])
    assert ratings.judge("judge", *every, METRICS["mse"], None).value_with_losses == 0.0


def test_a_judge_that_follows_the_quality_beats_baselines_and_noise():
    """On 60 items by four raters, and a human rater is no better."""
    rng = np.random.default_rng(0)
    quality = rng.uniform(10, 90, 60)
    ratings = ratings_of((quality[:, None] + rng.normal(0, 10, (60, 4))).tolist())
    answers = {"good": quality + rng.normal(0, 5, 60), "noise": rng.uniform(0, 100, 60)}
    metric = METRICS["rmse"]
    judges = [ratings.judge(n, np.arange(60), a, metric, BOUNDS) for n, a in answers.items()]
    resampling = Resampling(rng=np.random.default_rng(1), n_resamples=200)
    footing = open_footing(
        metric, judges, ratings.baselines(metric), ratings.rated, resampling=resampling
    )
    assert footing.ranks.ranks == ((1, 1), (2, 2))
    assert footing.beats.tolist() == [
        [True] * 4,
        [False, False, False, footing.beats[1, 3].item()],
    ]
    assert footing.references[0].high < 0 < footing.references[1].low
