from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from support.rating_tables import count_table, estimates_of, evaluate_judges, seeded

from harness import stats
from harness.stats.inference.estimate import point_estimates
from harness.stats.metrics.association import correlations
from harness.stats.metrics.confusion import (
    BINARY,
    DIAGNOSTICS,
    binary_cells,
    binary_metrics,
    n_var_kappa,
    n_var_phi,
    one_vs_rest,
)

HUMAN = "433423410114402403024111314222222443331421404300200242444322"
JUDGE = "332341202233402214104033114433032233432430402110200034434412"
cells_of_items = st.lists(st.integers(0, 30), min_size=4, max_size=4).map(np.array)


def labels(text):
    """Read one digit per item."""
    return np.array([int(digit) for digit in text])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accuracy", 0.7833333333333333),
        ("precision", 0.8536585365853658),
        ("recall", 0.8333333333333334),
        ("f1", 0.8433734939759037),
        ("f1_negative", 0.6486486486486487),
        ("kappa", 0.4921875),
        ("phi", 0.4925634395455),
    ],
)
def test_binary_measures_against_sklearn(name, expected):
    """scikit-learn 1.9.1: *_score(HUMAN > 1, JUDGE > 1), f1 of pos_label 0, matthews_corrcoef."""
    cells = binary_cells(labels(HUMAN) > 1, labels(JUDGE) > 1)
    assert point_estimates(cells.sum(axis=0), BINARY)[name].value == pytest.approx(
        expected, abs=1e-12
    )


@settings(deadline=None)
@given(cells=cells_of_items)
def test_five_correlations_are_one_number(cells):
    """On binary data Pearson, Spearman, Kendall's tau-b, phi and MCC coincide, or all are NA."""
    x, y = (np.repeat(label, cells) for label in ([1, 1, 0, 0], [1, 0, 1, 0]))
    phi = point_estimates(cells, BINARY)["phi"].value
    for other in correlations(x, y).values():
        assert other.value == (None if phi is None else pytest.approx(phi, abs=1e-9))
    [row] = [label for label in BINARY if label.name == "phi"]
    assert row.also == ("mcc", "pearson", "spearman", "kendall_tau_b")
    assert repr(row) == "Metric('phi', better higher)"


@settings(deadline=None)
@given(cells=cells_of_items)
def test_kappa_never_exceeds_phi(cells):
    """|kappa| <= |phi|, their quotient is 2 sqrt(AB) / (A + B), no gap without drift."""
    result = {
        name: estimate.value
        for name, estimate in point_estimates(cells, (*BINARY, *DIAGNOSTICS)).items()
    }
    if result["phi"] is None:
        assert result["kappa_over_phi"] is None
        return
    assert abs(result["kappa"]) <= abs(result["phi"]) + 1e-12
    assert result["kappa_over_phi"] * result["phi"] == pytest.approx(result["kappa"], abs=1e-12)
    if result["marginal_drift"] == 0:
        assert result["kappa_phi_gap"] == pytest.approx(0, abs=1e-12)


@settings(deadline=None)
@given(cells=cells_of_items)
def test_swapped_errors_leave_the_symmetric_metrics(cells):
    """Only precision and recall, and the drift, tell a strict judge from a lenient one."""
    swapped = point_estimates(cells[[0, 2, 1, 3]], (*BINARY, *DIAGNOSTICS))
    for name, expected in point_estimates(cells, (*BINARY, *DIAGNOSTICS)).items():
        other = {"precision": "recall", "recall": "precision"}.get(name, name)
        if name in {"accuracy", "f1", "f1_negative", "kappa", "phi", "precision", "recall"}:
            assert swapped[other].value == (
                None if expected.value is None else pytest.approx(expected.value, abs=1e-12)
            )


def test_undefined_precision_recall_and_f1_are_na_not_0():
    """No positive verdict, no positive label, neither: NA, each with its own reason."""
    never = point_estimates(np.array([0, 10, 0, 90]), BINARY)
    assert (never["precision"].value, never["precision"].reason) == (None, "no_positive_verdicts")
    assert (never["recall"].value, never["f1"].value) == (0.0, 0.0)
    absent = point_estimates(np.array([0, 0, 10, 90]), BINARY)
    assert (absent["recall"].value, absent["recall"].reason) == (None, "no_positive_labels")
    nothing = point_estimates(np.array([0, 0, 0, 90]), BINARY)
    assert (nothing["f1"].value, nothing["f1"].reason) == (None, "no_positives")
    assert {estimate.reason for estimate in point_estimates(np.zeros(4), BINARY).values()} == {
        "no_items"
    }


def test_constant_labels_are_na_with_counts():
    """A judge that always says the same has kappa 0 and no phi, and its cells are shown."""
    human = count_table("human", [["toxic"], ["fine"], ["fine"]])
    judge = count_table("z", [["fine"], ["fine"], ["fine"]])
    rows = binary_metrics(human.space, ("toxic",))
    estimates = evaluate_judges(human, judge, metrics=rows).estimates["z"]
    assert estimates["kappa(h/h)"].value == 0
    assert (estimates["phi(h/h)"].value, estimates["phi(h/h)"].reason) == (None, "constant_labels")
    assert estimates["phi(h/h)"].counts == {"tp": 0, "fn": 1, "fp": 0, "tn": 2}


def test_undefined_replicates_are_counted():
    """The interval is conditional on being defined, so the share that is not is reported."""
    human, judge = np.array([1.0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0])
    result = estimates_of(
        binary_cells(human, judge),
        BINARY,
        resampling=seeded(),
    )
    assert result["phi"].undefined_share == pytest.approx(0.8**5, abs=0.03)
    assert result["phi"].interval is not None
    assert result["accuracy"].undefined_share == 0


def test_items_without_a_verdict_add_nothing():
    """nan on either side is no negative."""
    cells = binary_cells(np.array([1, np.nan, 0.5]), np.array([np.nan, 1, 1]))
    np.testing.assert_allclose(cells, [[0, 0, 0, 0], [0, 0, 0, 0], [0.5, 0, 0.5, 0]])
    result = estimates_of(cells, BINARY, seeded(n_resamples=0))
    assert (result["accuracy"].n_used, result["accuracy"].n_excluded) == (1, 2)


def test_one_option_against_the_rest():
    """Cells of three options collapse to tp, fn, fp, tn of each."""
    table = np.array([[30, 10, 5], [10, 20, 5], [5, 5, 10]]).ravel()
    np.testing.assert_allclose(one_vs_rest(table, 0), [30, 15, 15, 40])
    np.testing.assert_allclose(one_vs_rest(np.stack([table, 2 * table]), 2)[1], [20, 20, 20, 140])


def test_variance_of_kappa_against_statsmodels():
    """statsmodels 0.15.0 cohens_kappa(5 x 5 table).var_kappa * 60: 0.33805537540256875."""
    table = np.zeros((5, 5))
    np.add.at(table, (labels(HUMAN), labels(JUDGE)), 1)
    assert n_var_kappa(table / 60) == pytest.approx(0.33805537540256875, abs=1e-12)


@pytest.mark.parametrize(("variance", "name"), [(n_var_kappa, "kappa"), (n_var_phi, "phi")])
def test_variance_is_that_of_a_numerical_gradient(variance, name):
    """The closed forms agree with the delta method on differentiated cell shares."""
    [measure] = [metric for metric in BINARY if metric.name == name]
    p = np.array([0.35, 0.15, 0.05, 0.45])
    g = optimize.approx_fprime(p, lambda q: float(measure.value(q)), 1e-7)
    wanted = (p * g**2).sum() - (p * g).sum() ** 2
    assert variance(p.reshape(2, 2)) == pytest.approx(wanted, abs=1e-5)
    assert variance(np.stack([p.reshape(2, 2)] * 3)).shape == (3,)


def test_variances_coincide_at_matched_marginals():
    """Eq. 13: where both sides have one positive rate, kappa and phi vary alike."""
    for p10 in (0.05, 0.1, 0.2):
        p = np.array([[0.3, p10], [p10, 0.7 - 2 * p10]])
        assert n_var_kappa(p) == pytest.approx(n_var_phi(p), abs=1e-12)


def test_variances_are_na_on_constant_labels():
    """No variance where there is no coefficient."""
    assert np.isnan(n_var_phi(np.array([[0.3, 0.7], [0.0, 0.0]])))
    assert np.isnan(n_var_kappa(np.array([[1.0, 0.0], [0.0, 0.0]])))


def test_bootstrap_agrees_with_the_variances():
    """2,000 resamples of 400 items: standard errors within 5 % of the closed forms."""
    cells = np.eye(4)[np.repeat(np.arange(4), [160, 40, 60, 140])]
    rng = np.random.default_rng(0)
    result = estimates_of(cells, BINARY, stats.Resampling(rng=rng))
    p = np.array([[0.4, 0.1], [0.15, 0.35]])
    for name, variance in (("kappa", n_var_kappa), ("phi", n_var_phi)):
        width = result[name].interval.high - result[name].interval.low
        assert width / 2 / 1.96 == pytest.approx(np.sqrt(variance(p) / 400), rel=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: binary_cells(np.ones(2), np.ones(3)), r"human has shape \(2,\) and judge \(3,\)"),
        (
            lambda: binary_cells(np.ones(1), np.full(1, 2)),
            r"judge contains a number outside \[0, 1\]",
        ),
        (lambda: n_var_phi(np.full((2, 2), 0.3)), "not_a_distribution"),
        (lambda: n_var_kappa(np.ones(4)), r"p has shape \(4,\)"),
        (
            lambda: binary_metrics(stats.OptionSpace.powerset(("a", "b")), ("a", "b")),
            "at least one must be negative",
        ),
        (
            lambda: estimates_of(np.ones(3), BINARY, resampling=seeded()),
            r"wanted .*\(n, d\)",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match=message):
        call()
