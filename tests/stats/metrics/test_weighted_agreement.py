from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.rating_tables import count_table, evaluate_judges

from harness import stats
from harness.stats.metrics.alpha import krippendorff_alpha
from harness.stats.metrics.association import (
    correlations,
    kendall_of,
    spearman_of,
)
from harness.stats.metrics.confusion import confusion
from harness.stats.metrics.ordinal import (
    ORDINAL_METRICS,
    ordinal_metrics,
    weighted_kappa,
    weighted_kappa_metric,
    weights,
)

HUMAN = "433423410114402403024111314222222443331421404300200242444322"
JUDGE = "332341202233402214104033114433032233432430402110200034434412"
tables = arrays.arrays(np.float64, (4, 3), elements=st.integers(0, 6).map(float))


def cells_of(human, judge, n_options=5):
    """Sum the confusion cells of digits."""
    one_hot = [np.eye(n_options)[[int(digit) for digit in text]] for text in (human, judge)]
    return confusion(*one_hot).sum(axis=0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("weighted_kappa_linear(h/h)", 0.3989455184534271),
        ("weighted_kappa_quadratic(h/h)", 0.6147332768839966),
        ("krippendorff_alpha_ordinal(h/h)", 0.5996469044624879),
        ("krippendorff_alpha_interval(h/h)", 0.6176065539037395),
        ("spearman(h/h)", 0.59711360159713),
        ("kendall_tau_b(h/h)", 0.488187096346126),
    ],
)
def test_ordinal_rows_against_other_packages(name, expected):
    """scikit-learn cohen_kappa_score(weights=), krippendorff 0.9.0, scipy spearmanr, kendalltau."""
    row = stats.find_metric(name, ORDINAL_METRICS)
    assert row.value(cells_of(HUMAN, JUDGE)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cohen_kappa(h/h)", 0.16317991631799156),
        ("scott_pi(h/h)", 0.158337716991),
        ("krippendorff_alpha_nominal(h/h)", 0.16535156934946516),
    ],
)
def test_chance_corrected_rows_against_other_packages(name, expected):
    """scikit-learn cohen_kappa_score, irrCAC 0.4.4 CAC.fleiss (12 digits), krippendorff 0.9.0."""
    row = stats.find_metric(name, stats.METRICS)
    assert row.value(cells_of(HUMAN, JUDGE)) == pytest.approx(expected, abs=1e-11)


def test_randolph_counts_the_declared_options():
    """Half of 4 items agree: 0 with two options, 1/4 with three, though two labels were seen."""
    row = stats.find_metric("randolph_kappa(h/h)", stats.METRICS)
    assert row.value(cells_of("0011", "0101", 2)) == pytest.approx(0)
    assert row.value(cells_of("0011", "0101", 3)) == pytest.approx(0.25)
    lone = cells_of("00", "00", 1)
    assert np.isnan(row.value(lone))
    assert row.reason(lone) == "single_option"


@settings(deadline=None)
@given(table=tables)
def test_cells_give_the_rank_correlations_of_scipy(table):
    """Contingency cells and the spelt-out vectors say the same; NA where one is constant."""
    x, y = (
        np.repeat(indices, table.ravel().astype(int))
        for indices in (np.indices(table.shape).reshape(2, -1))
    )
    constant = len(set(x)) < 2 or len(set(y)) < 2
    for value, reference in (
        (spearman_of(table), scipy.stats.spearmanr),
        (kendall_of(table), scipy.stats.kendalltau),
    ):
        if constant:
            assert np.isnan(value)
        else:
            assert value == pytest.approx(reference(x, y).statistic, abs=1e-9)


def test_correlations_of_half_points_and_means():
    """Medians and means are scales of their own."""
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, (80, 4))
    judge = np.clip(human[:, 0] + rng.integers(-1, 2, 80), 1, 5).astype(float)
    judge[3] = np.nan
    for reduce in (np.median, np.mean):
        x = reduce(human, axis=1)
        result = correlations(x, judge)
        rated = ~np.isnan(judge)
        for name, reference in (
            ("pearson", scipy.stats.pearsonr),
            ("spearman", scipy.stats.spearmanr),
            ("kendall_tau_b", scipy.stats.kendalltau),
        ):
            wanted = reference(x[rated], judge[rated]).statistic
            assert result[name].value == pytest.approx(wanted)
            assert result[name].n_used == 79


def test_continuous_vectors_are_ranked():
    """Too many different values for a table: the same numbers from the data."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    result = {name: estimate.value for name, estimate in correlations(x, y).items()}
    assert result["pearson"] == pytest.approx(scipy.stats.pearsonr(x, y).statistic)
    assert result["spearman"] == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert result["kendall_tau_b"] == pytest.approx(scipy.stats.kendalltau(x, y).statistic)
    assert {estimate.reason for estimate in correlations([], []).values()} == {"no_items"}
    many = np.arange(70_000.0)
    constant = correlations(many, np.ones(70_000))
    assert {estimate.reason for estimate in constant.values()} == {"constant_labels"}


def test_user_weights_put_abstention_where_the_user_says():
    """CANNOT_ASSESS as a third option halfway, nearer to one side, or as bad as any error."""
    totals = np.array([30.0, 10, 5, 10, 20, 5, 5, 5, 10])
    halfway = weighted_kappa_metric([[0, 1, 0.25], [1, 0, 0.25], [0.25, 0.25, 0]])
    unweighted = weighted_kappa_metric(1 - np.eye(3))
    assert halfway.value(totals) == pytest.approx(0.3670886075949368)
    assert unweighted.value(totals) == pytest.approx(0.37007874015748027)
    assert np.isnan(unweighted.value(np.array([5.0, 0, 0, 0, 0, 0, 0, 0, 0])))
    assert unweighted.reason(totals) == "constant_labels"
    with pytest.raises(ValueError, match=r"weights has shape \(3, 3\) but the cells are \(2, 2\)"):
        halfway.value(np.ones(4))


@settings(deadline=None)
@given(scale=st.lists(st.integers(-9, 9), min_size=3, max_size=3, unique=True))
def test_interval_rows_take_the_numbers_of_the_scale(scale):
    """Alpha of the cells is alpha of the numbers that the options stand for."""
    human, judge = "012012012200", "012002112210"
    [row] = [metric for metric in ordinal_metrics(scale) if "interval" in metric.name]
    pairs = [[scale[int(h)], scale[int(j)]] for h, j in zip(human, judge, strict=True)]
    wanted = krippendorff_alpha(pairs, "interval").value
    assert row.value(cells_of(human, judge, 3)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("scale", "there"), [([0, 1, 5], True), ([-1, 0, 1], False), (None, False)]
)
def test_ratio_alpha_of_judge_and_human_is_there_for_amounts(scale, there):
    """Numbers, none negative: alpha of the cells is alpha of the amounts themselves."""
    human, judge = "012012012200", "012002112210"
    rows = [
        metric
        for metric in ordinal_metrics(scale)
        if metric.name == "krippendorff_alpha_ratio(h/h)"
    ]
    assert bool(rows) is there
    if there:
        pairs = [[scale[int(h)], scale[int(j)]] for h, j in zip(human, judge, strict=True)]
        wanted = krippendorff_alpha(pairs, "ratio").value
        assert rows[0].value(cells_of(human, judge, 3)) == pytest.approx(wanted)


def test_cells_are_shown_beside_the_value():
    """Rows of an ordered scale enter an evaluation like all others."""
    human, judge = (
        count_table("human", [["toxic"], ["fine"]]),
        count_table("z", [["toxic"], ["toxic"]]),
    )
    estimates = evaluate_judges(human, judge, metrics=ORDINAL_METRICS).estimates["z"]
    assert estimates["spearman(h/h)"].reason == "constant_labels"
    assert estimates["spearman(h/h)"].counts["fine | toxic"] == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weights("cubic", 3), "steps is 'cubic'"),
        (lambda: weights("linear", 1), "K is 1"),
        (lambda: correlations([1, 2], [1]), r"x has shape \(2,\) and y \(1,\)"),
        (lambda: weighted_kappa(np.ones(9), np.ones((2, 2))), "weights has shape"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match=message):
        call()
