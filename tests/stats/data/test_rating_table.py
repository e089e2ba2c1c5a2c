from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.rating_tables import count_table, evaluate_judges

from harness import stats
from harness.stats import Distributions, OptionSpace, RatingTable, aggregate
from harness.stats.data.forms import FORMS, tied_modes
from harness.stats.data.rating_table import check_rows, multilabel

SPACE = OptionSpace.powerset(("toxic", "fine"))


def fill(**changed):
    """Make a table of two items with some fields changed."""
    fields = {
        "space": SPACE,
        "name": "z",
        "items": ("a", "b"),
        "forced_choice": np.zeros((2, 2), int),
        "response_set": np.zeros((2, 3), int),
        "joint": None,
        "outcomes": np.zeros((2, 3, 5), int),
    }
    return RatingTable(**(fields | changed))


def test_distributions_divide_by_what_arrived():
    """O, theta and omega are shares of the ratings given."""
    dist = Distributions.of(
        fill(
            forced_choice=np.array([[3, 1], [0, 2]]), response_set=np.array([[1, 1, 2], [0, 0, 1]])
        )
    )
    np.testing.assert_array_equal(dist.O, [[0.75, 0.25], [0, 1]])
    np.testing.assert_array_equal(dist.theta, [[0.25, 0.25, 0.5], [0, 0, 1]])
    np.testing.assert_array_equal(dist.omega, [[0.75, 0.75], [1, 1]])
    np.testing.assert_array_equal(dist.n_forced, [4, 2])
    np.testing.assert_array_equal(dist.n_sets, [4, 1])


def test_failed_sample_stays_in_the_divisor():
    """An item nobody answered is missing in every form, excluded and counted, never negative."""
    human = count_table("human", [["toxic"]] * 3, [[("toxic",)]] * 3)
    answers = [["toxic", "toxic"], ["toxic"], []]
    judge = count_table("z", answers, [[(o,) for o in options] for options in answers])
    outcomes = judge.outcomes.copy()
    outcomes[1:, :2, 4] = [[1, 1], [2, 2]]  # failed calls
    judge = RatingTable(**{f: getattr(judge, f) for f in judge.__slots__} | {"outcomes": outcomes})
    dist = Distributions.of(judge)
    np.testing.assert_array_equal(dist.O[:2], [[1, 0], [1, 0]])
    for form in FORMS:
        vectors = aggregate(dist, form, tau=0.5, positive=("toxic",))
        assert np.isnan(vectors[2]).all()
        shown = 1 if form.startswith("noisy") else 2  # one answer shows no noise
        shown = 0 if form == "raters" else shown  # a judge is no panel of raters
        assert not np.isnan(vectors[:shown]).any()
    estimates = evaluate_judges(human, judge).estimates["z"]
    for name in ("hit_rate(h/h)", "mse(srs/srs)", "decision_consistency"):
        estimate = estimates[name]
        assert (estimate.n_used, estimate.n_excluded) == (2, 1)
        assert estimate.excluded == (stats.Exclusion("judge_failed", 1),)
    assert estimates["mse(srs/srs)"].value == 0.0
    assert estimates["prevalence_bias"].value == 0.0


def test_ties_for_the_mode_go_to_the_first_option():
    """A tied mode is split evenly, and tied items are counted."""
    np.testing.assert_allclose(stats.hard(np.array([[0.4, 0.4, 0.2]])), [[0.5, 0.5, 0]])
    human = count_table("human", [["toxic", "fine"], ["fine"], ["toxic"]])
    for first in ("toxic", "fine"):
        judge = count_table("z", [[first], ["fine"], ["toxic"]])
        estimates = evaluate_judges(human, judge).estimates["z"]
        assert estimates["hit_rate(h/h)"].value == pytest.approx(2.5 / 3)
        assert estimates["hit_rate(h/h)"].n_tied == 1
        assert estimates["hit_rate_ties_lost(h/h)"].value == pytest.approx(2 / 3)
        assert estimates["hit_rate_ties_won(h/h)"].value == 1.0
        assert estimates["cohen_kappa(h/h)"].counts["toxic | toxic"] == (
            1.5 if first == "toxic" else 1
        )


def test_equal_shares_tie_although_rounding_differs():
    """Shares that are equal as fractions tie."""
    shares = np.array([[0.1 + 0.2, 0.3, 0.4 - 1e-15]])
    assert tied_modes(stats.hard(np.array([[0.1 + 0.2, 0.3, 0.1]]))).tolist() == [True]
    assert tied_modes(stats.hard(shares)).tolist() == [False]


def test_greater_than_tau_in_one_place_and_at_least_in_another():
    """Every comparison is >=: a share of exactly tau is positive in hrs, decision and coverage."""
    sets = [[("toxic",), ("fine",), ("fine",), ("fine",)]]  # P(toxic accepted) = 0.25
    human = count_table("human", [["toxic"]], sets)
    dist = Distributions.of(human)
    for tau, expected in ((0.25, 1.0), (0.25 + 1e-9, 0.0)):
        assert aggregate(dist, "hrs", tau=tau, positive=("toxic",))[0, 0] == expected
        assert aggregate(dist, "decision", tau=tau, positive=("toxic",))[0, 0] == expected
        judge = count_table("z", [["toxic"]], [[("toxic",)]])
        estimates = evaluate_judges(human, judge, tau=tau).estimates["z"]
        assert estimates["coverage(h/hrs)"].value == expected
        assert estimates["decision_consistency"].value == expected
        assert estimates["prevalence_bias"].value == 1.0 - expected


@given(st.integers(1, 200), st.data())
def test_share_equal_to_tau_as_a_fraction_is_positive(m, data):
    """However theta was split over sets, c of m raters reach tau = c / m and not (c + 1) / m."""
    c = data.draw(st.integers(1, m))
    first = data.draw(st.integers(0, c))
    table = fill(
        items=("a",),
        forced_choice=np.zeros((1, 2), int),
        outcomes=np.zeros((1, 3, 5), int),
        response_set=np.array([[first, m - c, c - first]]),
    )
    dist = Distributions.of(table)
    for form in ("hrs", "decision"):
        assert aggregate(dist, form, tau=c / m, positive=("toxic",))[0, 0] == 1.0
        if c < m:
            assert aggregate(dist, form, tau=(c + 1) / m, positive=("toxic",))[0, 0] == 0.0


def test_positive_is_the_sum_of_omega_over_positive_options():
    """Positive means P(S meets the positive options), which stays a probability."""
    space = OptionSpace.powerset(("very", "toxic", "fine"))
    table = RatingTable.count(
        space, "h", ["i"], response_set=[("i", ("very", "toxic"))] * 2 + [("i", ("fine",))] * 3
    )
    dist = Distributions.of(table)
    positive = ("very", "toxic")
    assert dist.omega[0, :2].sum() == pytest.approx(0.8)
    assert dist.theta[0] @ space.meets(positive) == pytest.approx(0.4)
    assert aggregate(dist, "decision", tau=0.4, positive=positive)[0, 0] == 1.0
    assert aggregate(dist, "decision", tau=0.5, positive=positive)[0, 0] == 0.0


def test_fully_specified_space_takes_theta_from_forced_choice():
    """Where each rater has one reasonable option, a choice is a response set."""
    space = OptionSpace.singletons(("toxic", "fine"))
    choices = [("i", "toxic"), ("i", "fine"), ("i", "fine"), ("i", "fine")]
    dist = Distributions.of(RatingTable.count(space, "h", ["i"], forced_choice=choices))
    np.testing.assert_array_equal(dist.theta, [[0.25, 0.75]])
    np.testing.assert_array_equal(dist.omega, dist.O)
    open_ended = OptionSpace.singletons(("toxic", "fine"), sets_known=False)
    dist = Distributions.of(RatingTable.count(open_ended, "h", ["i"], forced_choice=choices))
    assert np.isnan(dist.omega).all()


def test_smoothed_form_adds_half_a_rating_per_option():
    """The pseudo-count acts on counts, so it weighs less the more ratings there are."""
    dist = Distributions.of(fill(forced_choice=np.array([[3, 0], [30, 0]])))
    smoothed = aggregate(dist, "smoothed", tau=0.5, positive=("toxic",))
    np.testing.assert_allclose(smoothed, [[3.5 / 4, 0.5 / 4], [30.5 / 31, 0.5 / 31]])


def test_unknown_form_or_tau_is_refused():
    """The message names the argument."""
    dist = Distributions.of(fill())
    with pytest.raises(ValueError, match="form is 'soft'"):
        aggregate(dist, "soft", tau=0.5, positive=("toxic",))
    for tau in (0.0, 1.1, float("nan")):
        with pytest.raises(ValueError, match="tau"):
            aggregate(dist, "hrs", tau=tau, positive=("toxic",))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("items", ("a", "a"), "repeated"),
        ("forced_choice", np.zeros((2, 3), int), r"forced_choice of 'z' has shape \(2, 3\)"),
        ("response_set", np.zeros((1, 3), int), "response_set"),
        ("joint", np.zeros((2, 2), int), "joint"),
        ("outcomes", np.zeros((2, 5), int), "outcomes"),
        ("forced_choice", np.zeros((2, 2)), "integers"),
        ("response_set", np.array([[0, 0, -1], [0, 0, 0]]), "negative"),
        ("forced_choice", None, "forced_choice"),
    ],
)
def test_table_that_does_not_fit_is_refused(field, value, message):
    """Shapes, types and signs are checked once, on construction."""
    with pytest.raises(ValueError, match=message):
        fill(**{field: value})


def test_table_is_read_only_and_its_source_is_not():
    """Nobody changes counts behind the estimates."""
    counts = np.zeros((2, 2), int)
    table = fill(forced_choice=counts)
    with pytest.raises(ValueError, match="read-only"):
        table.forced_choice[0, 0] = 1
    counts[0, 0] = 1


def test_count_refuses_a_rating_of_an_unknown_item():
    """The message names the item."""
    for ratings in (
        {"forced_choice": [("x", "toxic")]},
        {"response_set": [("x", ("toxic",))]},
        {"pairs": [("x", ("toxic",), "toxic")]},
    ):
        with pytest.raises(ValueError, match="'x'"):
            RatingTable.count(SPACE, "z", ["a"], **ratings)


def test_pairs_count_in_both_elicitations():
    """Who gave both gave each."""
    table = RatingTable.count(SPACE, "h", ["a"], pairs=[("a", ("fine", "toxic"), "fine")])
    np.testing.assert_array_equal(table.forced_choice, [[0, 1]])
    np.testing.assert_array_equal(table.response_set, [[0, 0, 1]])
    assert table.joint[0, 1, 2] == 1


def test_repr_tells_name_sizes_and_answered_share():
    """One glance."""
    assert (
        repr(count_table("z", [["toxic"]]))
        == "RatingTable('z', 1 items, 2 options, answered 100.0%)"
    )
    assert "answered nothing" in repr(fill())
    assert repr(Distributions.of(fill())) == "Distributions(2 items, 0 with O, 0 with theta)"


@given(arrays(np.int64, (4, 7), elements=st.integers(0, 20)))
def test_theta_rows_sum_to_one_and_omega_lies_in_zero_one(counts):
    """Whatever was counted."""
    space = OptionSpace.powerset(("a", "b", "c"))
    table = RatingTable(
        space=space,
        name="h",
        items=tuple("wxyz"),
        forced_choice=np.zeros((4, 3), int),
        response_set=counts,
        joint=None,
        outcomes=np.zeros((4, 3, 5), int),
    )
    dist = Distributions.of(table)
    rated = counts.sum(axis=1) > 0
    np.testing.assert_allclose(dist.theta[rated].sum(axis=1), 1.0)
    assert np.isnan(dist.theta[~rated]).all()
    assert ((dist.omega[rated] >= 0) & (dist.omega[rated] <= 1)).all()
    np.testing.assert_allclose(multilabel(dist.theta, space), dist.omega, atol=1e-12)


@pytest.mark.parametrize("rows", [[[0.5, 0.6]], [[-0.1, 1.1]], [[np.nan, 1.0]]])
def test_rows_that_are_no_distribution_are_refused(rows):
    """The reason is a slug at the start of the message."""
    with pytest.raises(ValueError, match=r"^not_a_distribution: each row of theta"):
        check_rows(np.array(rows), 2, "theta")


def test_a_theta_for_a_different_task_is_rejected():
    """One column per response set."""
    with pytest.raises(ValueError, match=r"theta has shape \(1, 2\); wanted \(n, 3\)"):
        multilabel(np.array([[0.5, 0.5]]), SPACE)


def test_no_items_have_no_modes():
    """An empty table has empty vectors."""
    assert stats.hard(np.empty((0, 3))).shape == (0, 3)
