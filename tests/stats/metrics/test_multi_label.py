"""Metrics on several options at once, against numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table, evaluate_judges, random_table

from harness import stats
from harness.stats.data.rating_table import multilabel
from harness.stats.metrics import multi_label

HUMAN = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])  # allowed options
JUDGE = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])


def value(contributions, human, judge):
    """Divide the first sum by the second."""
    totals = contributions(np.array(human, dtype=float), np.array(judge, dtype=float)).sum(axis=0)
    return totals[0] / totals[1]


def test_sets_that_meet_are_covered():
    """One of three items shares an option, whatever else is allowed."""
    assert value(multi_label.coverage, HUMAN, JUDGE) == pytest.approx(1 / 3)


def test_recall_and_precision_leave_out_empty_sets_and_count_them():
    """Recall (1/2 + 0) / 2, precision (1/2 + 0 + 0) / 3: an empty set is no 0 and no 1."""
    assert value(multi_label.recall, HUMAN, JUDGE) == pytest.approx(1 / 4)
    assert value(multi_label.precision, HUMAN, JUDGE) == pytest.approx(1 / 6)
    assert multi_label.recall(HUMAN, JUDGE).sum(axis=0)[2] == 1
    row = stats.find_metric("multi_label_recall(hrs/hrs)", stats.METRICS)
    nothing = row.contributions(np.zeros((2, 3)), JUDGE[:2]).sum(axis=0)
    assert np.isnan(row.value(nothing))
    assert row.reason(nothing) == "empty_sets"
    assert row.counts(nothing, None) == {"empty_sets": 2.0}


def test_predictive_efficiency_is_the_size_of_the_set():
    """(2 + 1 + 2) / 3 options."""
    assert value(multi_label.predictive_efficiency, HUMAN, JUDGE) == pytest.approx(5 / 3)


def test_binary_cross_entropy_sums_over_options():
    """-ln 0.8 - ln 0.5 for a human mode on the first of two options."""
    metric_value = value(multi_label.binary_cross_entropy, [[1, 0]], [[0.8, 0.5]])
    assert metric_value == pytest.approx(-np.log(0.8) - np.log(0.5))


def test_impossible_option_makes_binary_cross_entropy_infinite():
    """NA with the number of cells, not a large number that an epsilon made."""
    row = stats.find_metric("bce(s/h)", stats.METRICS)
    totals = row.contributions(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])).sum(axis=0)
    assert np.isnan(row.value(totals))
    assert row.reason(totals) == "infinite"
    assert row.counts(totals, None) == {"empty_cells": 2.0}


def test_cross_entropy_is_divergence_and_entropy():
    """CE(human->judge) = KL(human->judge) + H(human)."""
    rng = np.random.default_rng(0)
    human, judge = rng.dirichlet(np.ones(3), 9), rng.dirichlet(np.ones(3), 9)
    ce, kl = (
        stats.find_metric(f"{name}(s/s, human->judge)", stats.METRICS) for name in ("ce", "kl")
    )
    both = [float(row.value(row.contributions(human, judge).sum(axis=0))) for row in (ce, kl)]
    entropy = float(-(human * np.log(human)).sum(axis=1).mean())
    assert both[0] == pytest.approx(both[1] + entropy)


@pytest.mark.parametrize(
    ("contributions", "tied"),
    [
        (multi_label.mse_of_judge_modes, "judge"),
        (multi_label.mse_of_human_modes, "human"),
        (multi_label.mse_of_modes, "both"),
    ],
)
def test_tied_modes_give_the_expected_error_over_the_draw(contributions, tied):
    """The mean over the options drawn, not the error of the split vector."""
    split, fixed = np.array([[0.5, 0.5, 0.0]]), np.array([[0.2, 0.8, 0.3]])
    human = split if tied in {"human", "both"} else fixed
    judge = split if tied in {"judge", "both"} else fixed
    draws = np.eye(3)[:2]
    humans = draws if tied in {"human", "both"} else fixed
    judges = draws if tied in {"judge", "both"} else fixed
    expected = np.mean([((h - j) ** 2).sum() for h in humans for j in judges])
    assert value(contributions, human, judge) == pytest.approx(expected)
    assert value(multi_label.mse, human, judge) != pytest.approx(expected)


def test_tied_judge_mode_never_is_certain():
    """A draw among options is infinitely costly whenever it may miss."""
    totals = multi_label.binary_cross_entropy_of_modes(
        np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [1.0, 0.0]])
    ).sum(axis=0)
    assert totals.tolist() == [0.0, 2.0, 2.0]


def test_mse_without_rater_noise_estimates_the_population_value():
    """With few raters the plain MSE is far off, and this one is right on average."""
    rng = np.random.default_rng(0)
    space = stats.OptionSpace.powerset(("yes", "no"))
    n, m, samples = 4000, 4, 5
    theta = rng.dirichlet(np.ones(3), n)
    judged = rng.dirichlet(np.ones(3), n)
    true = float(((multilabel(theta, space) - multilabel(judged, space)) ** 2).sum() / n)

    def rated(shares, ratings, name):
        counts = np.array([rng.multinomial(ratings, share) for share in shares])
        outcomes = np.zeros((n, 3, 5), dtype=np.int64)
        outcomes[:, 1, 0] = ratings
        nothing = np.zeros((n, 2), dtype=np.int64)
        ids = tuple(f"i{i}" for i in range(n))
        return stats.RatingTable(
            space=space,
            name=name,
            items=ids,
            forced_choice=nothing,
            response_set=counts,
            joint=None,
            outcomes=outcomes,
        )

    estimates = stats.evaluate(
        rated(theta, m, "human"),
        [rated(judged, samples, "z")],
        tau=0.5,
        positive=("yes",),
        resampling=stats.Resampling(rng=rng, n_resamples=200),
        metrics=["mse(srs/srs)", "mse_without_rater_noise(srs/srs)"],
    ).estimates["z"]
    plain, population = estimates["mse(srs/srs)"], estimates["mse_without_rater_noise(srs/srs)"]
    assert population.interval.low < true < population.interval.high
    assert plain.interval.low > true  # the interval of the design value does not cover it
    assert plain.interval.estimand == "design value"
    assert population.interval.estimand == "population value"


def test_one_rating_shows_no_noise():
    """NA, and the items say why they were left out."""
    human = count_table("human", [["toxic", "fine"], ["fine", "fine"]])
    once = count_table("z", [["toxic"], ["fine"]])
    estimates = evaluate_judges(human, once).estimates["z"]["mse_without_rater_noise(s/s)"]
    assert (estimates.value, estimates.reason) == (None, "single_rating")
    assert [(exclusion.reason, exclusion.n_items) for exclusion in estimates.excluded] == [
        ("judge_single_rating", 2)
    ]


def test_every_interval_names_its_method():
    """All of a metric's intervals are made in one way."""
    estimates = evaluate_judges(random_table("human", 0), random_table("x", 1)).estimates["x"]
    methods = {estimate.interval.method for estimate in estimates.values() if estimate.interval}
    assert methods == {"score"}
