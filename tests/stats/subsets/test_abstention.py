from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.rating_tables import split_options

from harness import stats
from harness.stats.inference.estimate_sums import estimate_sums
from harness.stats.subsets.abstention import (
    excluding,
    mode_sums,
    outcome_cells,
    recoding,
    with_abstention,
)
from harness.stats.subsets.selective_prediction import risk_coverage

OPTIONS = ("MET", "UNMET")
tables = arrays.arrays(np.int64, 9, elements=st.integers(0, 5))


def modes(table, **chosen):
    """Resolve the abstentions of a 3 x 3 table of counts."""
    defaults = {"positive": ("MET",), "recode_to": "UNMET", "n_resamples": 0}
    resampling, options = split_options(chosen, **defaults)
    cells = np.repeat(np.eye(9), np.asarray(table).ravel(), axis=0)
    return estimate_sums(mode_sums(cells, OPTIONS, **options), resampling=resampling)


def test_three_modes_differ_and_are_named():
    """Appendix B of rao2026: 0.714, 0.700 and 0.600 from one table, with the answered fraction."""
    estimates = modes([[30, 10, 5], [10, 20, 5], [5, 5, 10]], n_resamples=300)
    assert estimates["exclude"]["accuracy"].value == pytest.approx(50 / 70)
    assert estimates["recode"]["accuracy"].value == pytest.approx(0.7)
    assert estimates["third_class"]["accuracy"].value == pytest.approx(0.6)
    assert estimates["rates"]["answered_fraction"].value == pytest.approx(0.8)
    assert all(
        estimate.interval
        for mode in (estimates["exclude"], estimates["rates"])
        for estimate in mode.values()
    )
    assert (estimates["exclude"]["kappa"].n_used, estimates["exclude"]["kappa"].n_excluded) == (
        70,
        30,
    )
    assert {
        estimate.reason: estimate.n_items for estimate in estimates["exclude"]["kappa"].excluded
    } == {
        "both_abstained": 10,
        "human_abstained": 10,
        "judge_abstained": 10,
    }


def test_all_abstained_is_na_in_one_mode_and_a_number_in_another():
    """Nothing is left to exclude mode, while recode still has a number: the mode must be named."""
    estimates = modes([[0, 0, 40], [0, 0, 50], [0, 0, 10]])
    assert {estimate.reason for estimate in estimates["exclude"].values()} == {"all_abstained"}
    assert estimates["recode"]["accuracy"].value == pytest.approx(0.6)
    nothing = modes(np.zeros((3, 3), int))
    assert {estimate.reason for estimate in nothing["exclude"].values()} == {"no_items"}


@settings(deadline=None)
@given(table=tables)
def test_modes_keep_the_pairs_they_say(table):
    """Recode keeps every pair and exclude those that both answered; else they agree."""
    assert recoding(table, 1).sum() == table.sum()
    assert excluding(table).sum() == table.reshape(3, 3)[:2, :2].sum()
    answered = np.where(np.isin(np.arange(9), [0, 1, 3, 4]), table, 0)
    np.testing.assert_array_equal(recoding(answered, 1), excluding(answered))


def test_abstentions_of_tables_are_counted_as_an_option():
    """The mode of raters may be to abstain; a tie with it is split."""
    space = stats.OptionSpace.singletons(OPTIONS)
    outcomes = np.zeros((3, 3, 5), np.int64)
    outcomes[:, 0, 0], outcomes[:, 0, 1] = [2, 1, 0], [0, 1, 3]
    human = stats.RatingTable(
        space=space,
        name="human",
        items=("a", "b", "c"),
        forced_choice=np.array([[2, 0], [1, 0], [0, 0]]),
        response_set=np.zeros((3, 2), np.int64),
        joint=None,
        outcomes=outcomes,
    )
    np.testing.assert_array_equal(with_abstention(human), [[2, 0, 0], [1, 0, 1], [0, 0, 3]])
    judge = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0]])
    cells = outcome_cells(with_abstention(human), judge)
    np.testing.assert_allclose(cells[:, [0, 2], 0], [[1, 0], [0.5, 0.5], [0, 0]])


def test_unknown_option_and_wrong_cells_are_refused():
    """The message names what was wanted."""
    with pytest.raises(ValueError, match="option 'CA' is not one of 'MET', 'UNMET'"):
        modes(np.eye(3, dtype=int), recode_to="CA")
    with pytest.raises(ValueError, match=r"cells has shape \(2, 4\); wanted \(n, 9\)"):
        mode_sums(np.ones((2, 4)), OPTIONS, positive=("MET",), recode_to="MET")


def test_risk_coverage_against_by_hand():
    """Scores 9, 5, 5, 1 with the last two wrong: equal scores enter together."""
    curve = risk_coverage([9, 5, 5, 1, np.nan, 7], [1, 1, 0, 0, 1, np.nan])
    np.testing.assert_array_equal(curve.threshold, [9, 5, 1])
    np.testing.assert_allclose(curve.answered_fraction, [1 / 5, 3 / 5, 4 / 5])
    np.testing.assert_allclose(curve.risk, [0, 1 / 3, 1 / 2])
    assert curve.area == pytest.approx((0 + 1 / 3 + 1 / 3 + 1 / 2) / 4)
    assert (curve.n_used, curve.n_excluded) == (5, 1)
    assert repr(curve).startswith("RiskCoverage(3 thresholds")


def test_risk_coverage_without_answers_is_na():
    """All abstained and no items are told apart."""
    assert risk_coverage([np.nan], [1]).reason == "all_abstained"
    assert risk_coverage([0.5], [np.nan]).reason == "no_items"
    assert risk_coverage([], []).area is None


@settings(deadline=None)
@given(
    score=arrays.arrays(np.float64, 12, elements=st.integers(0, 4).map(float)),
    correct=arrays.arrays(np.float64, 12, elements=st.integers(0, 1).map(float)),
)
def test_last_point_of_risk_coverage_is_accuracy(score, correct):
    """Answering everything, the risk is the error rate, and coverage only grows."""
    curve = risk_coverage(score, correct)
    assert curve.risk[-1] == pytest.approx(1 - correct.mean())
    assert curve.answered_fraction[-1] == 1
    assert (np.diff(curve.answered_fraction) > 0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: risk_coverage([1], [1, 2]), r"score has shape \(1,\)"),
        (lambda: risk_coverage([1], [2]), r"outside \[0, 1\]"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match=message):
        call()
