from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table, evaluate_judges

from harness import stats


def value(name, human, judge):
    """Evaluate a row of the table on two arrays of rating vectors."""
    row = stats.find_metric(name, stats.METRICS)
    totals = row.contributions(np.array(human, float), np.array(judge, float)).sum(axis=0)
    return float(row.value(totals)), totals, row


def one_hot(labels, n_options=3):
    """Turn labels into hard rating vectors."""
    return np.eye(n_options)[list(labels)]


def test_cohen_kappa_against_sklearn():
    """sklearn 1.9.1: cohen_kappa_score(h, j) and confusion_matrix(h, j) on these labels."""
    h = [(i * i + i // 3) % 3 for i in range(60)]
    j = [label if i % 4 else (i * 5 + 1) % 3 for i, label in enumerate(h)]
    metric_value, totals, _ = value("cohen_kappa(h/h)", one_hot(h), one_hot(j))
    assert metric_value == pytest.approx(0.7496871088861077, abs=1e-15)
    np.testing.assert_array_equal(totals.reshape(3, 3), [[15, 2, 2], [1, 18, 2], [2, 1, 17]])


def test_cohen_kappa_against_by_hand():
    """4 of 5 agree; chance is (2*3 + 2*1 + 1*1) / 25 = 0.36; (0.8 - 0.36) / 0.64 = 0.6875."""
    metric_value, _, _ = value(
        "cohen_kappa(h/h)", one_hot([1, 0, 1, 2, 0]), one_hot([1, 0, 1, 2, 1])
    )
    assert metric_value == pytest.approx(0.6875)


def test_js_divergence_that_returns_its_square_root_in_nats():
    """Divergence in bits; scipy 1.17's jensenshannon(p, q) is 0.445108530125042, the distance."""
    p, q = [[0.6, 0.3, 0.1]], [[0.1, 0.3, 0.6]]
    assert value("js_divergence(s/s)", p, q)[0] == pytest.approx(0.2858290549923708, abs=1e-14)
    assert value("js_distance(s/s)", p, q)[0] == pytest.approx(0.445108530125042, abs=1e-14)
    assert value("js_divergence(s/s)", [[1, 0]], [[0, 1]])[0] == pytest.approx(1.0)


def test_js_distance_is_averaged_item_by_item():
    """Root of each item's divergence, then the mean: 1 and 0 nats-root halves to sqrt(ln 2) / 2."""
    metric_value, _, _ = value("js_distance(s/s)", [[1, 0], [1, 0]], [[0, 1], [1, 0]])
    assert metric_value == pytest.approx(np.sqrt(np.log(2)) / 2)


def test_kl_is_infinite_where_one_cell_is_empty():
    """The plain row is NA, `infinite`, and counts the cells; the other direction is defined."""
    human, judge = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]
    metric_value, totals, row = value("kl(s/s, human->judge)", human, judge)
    assert np.isnan(metric_value)
    assert row.reason(totals) == "infinite"
    assert row.counts(totals, stats.OptionSpace.powerset("ab")) == {"empty_cells": 1.0}
    back, _, _ = value("kl(s/s, judge->human)", human, judge)
    assert back == pytest.approx(np.log(2) / 2)


def test_smoothed_kl_is_defined_and_says_its_pseudo_count():
    """7 of 7 against 5 of 5, by hand: (7.5, 0.5) / 8 against (0.5, 5.5) / 6."""
    evaluation = evaluate_judges(
        count_table("human", [["toxic"] * 7]), count_table("z", [["fine"] * 5])
    )
    estimates = evaluation.estimates["z"]
    assert estimates["kl(s/s, human->judge)"].reason == "infinite"
    p, q = np.array([7.5, 0.5]) / 8, np.array([0.5, 5.5]) / 6
    expected = (p * np.log(p / q)).sum()
    assert estimates["kl_dirichlet_0.5(s/s, human->judge)"].value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("human", "judge", "expected"),
    [([0, 0, 0], [0, 0, 0], None), ([0, 0, 0], [0, 1, 0], 0.0), ([0, 0], [1, 1], 0.0)],
)
def test_constant_labels_are_na(human, judge, expected):
    """Kappa of two sides constant on one label is 0/0; one constant side is 0 by its formula."""
    metric_value, totals, row = value("cohen_kappa(h/h)", one_hot(human), one_hot(judge))
    if expected is None:
        assert np.isnan(metric_value)
        assert row.reason(totals) == "constant_labels"
        counts = row.counts(totals, ("a", "b", "c"))
        assert counts["a | a"] == 3.0
    else:
        assert metric_value == pytest.approx(expected)


def test_mse_sums_over_options_and_averages_over_items():
    """(0.1^2 + 0.3^2 + 0) and (1 + 0 + 1), halved."""
    human, judge = [[0.5, 0.5, 1.0], [1.0, 0.0, 1.0]], [[0.4, 0.8, 1.0], [0.0, 0.0, 0.0]]
    assert value("mse(srs/srs)", human, judge)[0] == pytest.approx((0.1 + 2.0) / 2)


def test_coverage_is_handed_thresholded_values():
    """A mode that 2 of 5 accept is covered at tau 0.4 and not at 0.5; it is never 0.4 covered."""
    sets = [[("toxic",)] * 2 + [("fine",)] * 3]
    human, judge = count_table("human", [["fine"]], sets), count_table("z", [["toxic"]])
    for tau, expected in ((0.4, 1.0), (0.5, 0.0)):
        estimate = evaluate_judges(human, judge, tau=tau).estimates["z"]["coverage(h/hrs)"]
        assert estimate.value == expected


def test_without_positive_options_decisions_are_na_with_that_reason():
    """A task that calls no option positive has metrics, but no decision, no bias and no beta."""
    space = stats.OptionSpace.powerset(("x", "y"))
    tables = [
        stats.RatingTable.count(
            space,
            name,
            ("a", "b"),
            forced_choice=[("a", "x"), ("b", "y")],
            response_set=[("a", ("x",)), ("b", ("x", "y"))],
        )
        for name in ("human", "judge")
    ]
    rng = np.random.default_rng(0)
    result = stats.evaluate(
        tables[0],
        tables[1:],
        tau=0.5,
        positive=(),
        resampling=stats.Resampling(rng=rng, n_resamples=0),
    )
    for name in ("decision_consistency", "prevalence_bias"):
        estimate = result.estimates["judge"][name]
        assert (estimate.value, estimate.reason, estimate.n_used) == (None, "no_positive_option", 0)
        assert [(e.reason, e.n_items) for e in estimate.excluded] == [("no_positive_option", 2)]
    assert result.translations["judge"].beta.reason == "no_positive_option"
    assert result.estimates["judge"]["hit_rate(h/h)"].value == 1.0
