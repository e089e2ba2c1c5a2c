from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import count_table, evaluate_judges

from harness import stats
from harness.stats.metrics.human_agreement import (
    pearson_by_rater,
    pearson_mean_over_raters,
    pearsons,
)

FLEISS_EXAMPLE = np.array(
    [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
)


def agreement(name, counts):
    """Evaluate one coefficient of agreement among humans; return value and reason."""
    [row] = [row for row in stats.HUMAN_AGREEMENT if row.name == name]
    totals = row.contributions(np.array(counts)).sum(axis=0)
    value = float(row.value(totals))
    return (None, row.reason(totals)) if np.isnan(value) else (value, "")


def test_fleiss_against_statsmodels():
    """statsmodels 0.15.0 fleiss_kappa on 10 subjects x 14 raters: 0.20993070442195522."""
    result, _ = agreement("fleiss_kappa", FLEISS_EXAMPLE)
    assert result == pytest.approx(0.20993070442195522, abs=1e-15)


def test_nominal_alpha_against_krippendorff():
    """krippendorff 0.9.0 alpha(value_counts=...), 0 to 4 ratings per unit: 0.34523809523809523."""
    counts = [[3, 0, 1], [1, 1, 0], [0, 0, 2], [0, 4, 0], [1, 0, 0], [0, 0, 0], [2, 1, 1]]
    result, _ = agreement("krippendorff_alpha_nominal", counts)
    assert result == pytest.approx(0.34523809523809523, abs=1e-15)


def test_pairwise_agreement_against_by_hand():
    """aab has 1 agreeing pair of 3, ab none of 1, bbb 3 of 3: 4 of 7."""
    assert agreement("pairwise_agreement", [[2, 1], [1, 1], [0, 3]])[0] == pytest.approx(4 / 7)


def test_randolph_against_statsmodels():
    """statsmodels 0.15.0 fleiss_kappa(method="randolph"), 5 options: 0.2225274725274725."""
    result, _ = agreement("randolph_kappa", FLEISS_EXAMPLE)
    assert result == pytest.approx(0.2225274725274725, abs=1e-12)


def test_generalised_fleiss_is_strict_fleiss_on_equal_raters():
    """One number where every item has as many ratings; on uneven ones only the generalised."""
    for name in ("fleiss_kappa_pooled_pairs", "fleiss_kappa_item_agreements"):
        result, _ = agreement(name, FLEISS_EXAMPLE)
        assert result == pytest.approx(0.20993070442195522, abs=1e-12)
    # pairs: 3 of 3 and 0 of 1; items: 1 and 0; shares 4/5 and 1/5, so Pe = 0.68
    uneven = [[3, 0], [1, 1], [1, 0]]
    assert agreement("fleiss_kappa_pooled_pairs", uneven)[0] == pytest.approx((0.75 - 0.68) / 0.32)
    assert agreement("fleiss_kappa_item_agreements", uneven)[0] == pytest.approx(
        (0.5 - 0.68) / 0.32
    )


def test_percentage_agreement_is_three_quantities_under_three_names():
    """Share of the mode, equality of two ratings, match of modes: 5/6, 1/2 and 1/2 here."""
    human = count_table(
        "human", [["fine", "fine", "toxic"], ["fine", "fine"], ["toxic", "fine"], []]
    )
    judge = count_table("z", [["fine"], ["toxic"], [], []])
    evaluation = evaluate_judges(human, judge)
    among = evaluation.human_agreement
    assert among["majority_share"].value == pytest.approx((2 / 3 + 1 + 1 / 2) / 3)
    assert among["two_rater_agreement"].value == pytest.approx(1 / 2)
    assert evaluation.estimates["z"]["hit_rate(h/h)"].value == pytest.approx(1 / 2)
    assert among["two_rater_agreement"].n_used == 2
    assert {
        exclusion.reason: exclusion.n_items for exclusion in among["two_rater_agreement"].excluded
    } == {
        "human_no_ratings": 1,
        "human_more_ratings": 1,
    }
    several = evaluate_judges(count_table("human", [["fine"] * 3])).human_agreement[
        "two_rater_agreement"
    ]
    assert (several.value, several.reason) == (None, "not_two_raters")


@pytest.mark.parametrize(
    ("name", "counts", "reason"),
    [
        ("randolph_kappa", [[2, 1], [1, 1]], "unequal_raters"),
        ("randolph_kappa", [[1, 0], [0, 1]], "too_few_raters"),
        ("randolph_kappa", [[2], [2]], "single_option"),
        ("fleiss_kappa_pooled_pairs", [[3, 0], [2, 0]], "constant_labels"),
        ("fleiss_kappa_item_agreements", [[1, 0], [0, 1]], "too_few_raters"),
        ("majority_share", [[1, 0], [0, 1]], "too_few_raters"),
        ("fleiss_kappa", [[2, 1], [1, 1]], "unequal_raters"),
        ("fleiss_kappa", [[3, 0], [3, 0]], "constant_labels"),
        ("fleiss_kappa", [[1, 0], [0, 1]], "too_few_raters"),
        ("fleiss_kappa", [[0, 0]], "no_items"),
        ("krippendorff_alpha_nominal", [[3, 0], [2, 0]], "constant_labels"),
        ("krippendorff_alpha_nominal", [[1, 0], [0, 1]], "too_few_raters"),
        ("pairwise_agreement", [[1, 0], [0, 1]], "too_few_raters"),
    ],
)
def test_constant_labels_and_too_few_raters_are_na(name, counts, reason):
    """Undefined coefficients are NA with the reason: never 0 and never 1."""
    assert agreement(name, counts) == (None, reason)


def test_human_agreement_counts_what_it_left_out():
    """Items with one rating or none are excluded with the reason; one rater is no 0 or 1."""
    human = count_table("human", [["toxic", "toxic"], ["fine", "toxic"], ["fine"], []])
    evaluation = evaluate_judges(human).human_agreement["pairwise_agreement"]
    assert (evaluation.value, evaluation.n_used, evaluation.n_excluded) == (0.5, 2, 2)
    assert {exclusion.reason: exclusion.n_items for exclusion in evaluation.excluded} == {
        "human_no_ratings": 1,
        "human_single_rating": 1,
    }
    alone = evaluate_judges(count_table("human", [["toxic"], ["fine"]])).human_agreement
    assert {exclusion.reason for exclusion in alone.values()} == {"too_few_raters"}
    nobody = evaluate_judges(count_table("human", [[], []])).human_agreement
    assert {exclusion.reason for exclusion in nobody.values()} == {"no_items"}


def test_pearson_is_a_mean_over_raters_not_with_the_mean_rating():
    """Raters (1, 2, 3) and (3, 2, 1) correlate +1 and -1 with the judge; their mean is constant."""
    ratings = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    sums = pearson_by_rater(ratings, np.array([1.0, 2.0, 3.0])).sum(axis=0)
    np.testing.assert_allclose(pearsons(sums), [1.0, -1.0])
    assert pearson_mean_over_raters(sums) == pytest.approx(0.0)


def test_pearson_over_raters_against_numpy():
    """np.corrcoef on each rater's items, for all resamples at once."""
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (30, 4)).astype(float)
    ratings[rng.random((30, 4)) < 0.3] = np.nan
    judge = rng.integers(1, 6, 30).astype(float)
    judge[5] = np.nan
    sums = pearson_by_rater(ratings, judge).sum(axis=0)
    expected = []
    for rater in ratings.T:
        both = ~(np.isnan(rater) | np.isnan(judge))
        expected.append(np.corrcoef(rater[both], judge[both])[0, 1])
    np.testing.assert_allclose(pearsons(sums), expected)
    np.testing.assert_allclose(pearsons(np.stack([sums, 2 * sums])), [expected] * 2)


def test_rater_without_spread_has_no_correlation():
    """A constant rater, and one who shares a single item, stay out of the mean; all out is NA."""
    ratings = np.array([[1.0, 4.0, np.nan], [2.0, 4.0, np.nan], [3.0, 4.0, 1.0]])
    sums = pearson_by_rater(ratings, np.array([1.0, 2.0, 3.0])).sum(axis=0)
    np.testing.assert_allclose(pearsons(sums), [1.0, np.nan, np.nan])
    assert pearson_mean_over_raters(sums) == pytest.approx(1.0)
    constant = pearson_by_rater(ratings, np.array([2.0, 2.0, 2.0])).sum(axis=0)
    assert np.isnan(pearson_mean_over_raters(constant))


def test_ratings_and_judge_of_different_length_are_refused():
    """The message names both shapes."""
    with pytest.raises(ValueError, match=r"ratings has shape \(2, 1\) and judge \(3,\)"):
        pearson_by_rater(np.ones((2, 1)), np.ones(3))


def test_repr_names_the_row():
    """One glance."""
    assert repr(stats.HUMAN_AGREEMENT[0]) == "Metric('pairwise_agreement', better higher)"
