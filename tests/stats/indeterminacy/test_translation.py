from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.rating_tables import count_table, evaluate_judges

from harness import stats
from harness.stats import Distributions, OptionSpace, RatingTable
from harness.stats.data.rating_table import multilabel
from harness.stats.indeterminacy.translation import reconstruct_theta

SPACE = OptionSpace.powerset(("toxic", "fine"))
BOTH = ("toxic", "fine")


def test_F_hat_counts_pairs_on_the_support():  # noqa: N802 -- F is the paper's letter
    """Columns are shares of the pairs that accepted the set; both directions from one count."""
    pairs = [[(BOTH, "toxic"), (BOTH, "fine"), (BOTH, "fine")], [(("toxic",), "toxic")]]
    translation = stats.F_hat(count_table("h", pairs=pairs))
    np.testing.assert_allclose(translation.F, [[1, np.nan, 1 / 3], [0, np.nan, 2 / 3]])
    np.testing.assert_allclose(translation.F_reverse, [[0.5, 0], [0, 0], [0.5, 1]])
    assert (translation.n_pairs, translation.n_outside, translation.fitted_on) == (4, 0, "pooled")


def test_choice_outside_the_endorsed_set_is_counted_and_left_out():
    """F is zero off the support; the contradiction is a figure of its own and not beta."""
    pairs = [[(("toxic",), "fine"), (BOTH, "fine"), (("fine",), "fine")]]
    judge = count_table("z", [["fine"]], pairs=pairs)
    translation = stats.F_hat(judge)
    assert (translation.n_pairs, translation.n_outside) == (2, 1)
    assert translation.F[1, SPACE.set_index(("toxic",))] != 1.0
    beta = evaluate_judges(count_table("human", [["fine"]]), judge).translations["z"].beta
    assert beta.value == 0.5


def test_beta_hat_is_zero_where_the_truth_is_one():
    """Items without an eligible pair do not count as 0: beta pools over eligible replies."""
    always = [(BOTH, "fine")] * 2
    never_negative = [(("toxic",), "toxic")] * 2
    judge = count_table("z", pairs=[always, always, *[never_negative] * 8])
    beta = evaluate_judges(count_table("human", [["fine"]] * 10), judge).translations["z"].beta
    assert beta.value == 1.0
    assert beta.interval is not None
    assert beta.undefined_share > 0.05  # about (8/10)^10 of the resamples miss the two items
    assert (beta.n_used, beta.n_excluded) == (2, 8)
    assert beta.excluded == (stats.Exclusion("no_negative_choice", 8),)
    assert beta.counts == {"with_positive": 4.0, "eligible_pairs": 4.0}


@pytest.mark.parametrize(
    ("pairs", "positive", "reason"),
    [
        ([[], []], ("toxic",), "no_pairs"),
        ([[(("toxic",), "toxic")], []], ("toxic",), "no_negative_choice"),
        ([[(("fine",), "fine")], []], ("toxic", "fine"), "no_negative_option"),
    ],
)
def test_beta_without_eligible_pairs_is_na(pairs, positive, reason):
    """Never 0: the reason says what is missing."""
    human = count_table("human", [["fine"]] * 2)
    beta = (
        evaluate_judges(human, count_table("z", pairs=pairs), positive=positive)
        .translations["z"]
        .beta
    )
    assert (beta.value, beta.reason, beta.interval) == (None, reason, None)
    assert sum(exclusion.n_items for exclusion in beta.excluded) == beta.n_excluded == 2


def test_F_and_beta_are_estimated_by_pairing_independent_calls():  # noqa: N802 -- the pitfall
    """Calls are never matched: the cross-call share has its own name, F without pairs is NA.

    Who accepts both options chooses toxic with probability 0.9. True beta is P(accepts both and
    chose fine) / P(chose fine), about 0.09. On items whose theta is mixed, independent calls give a
    share far above it; pairs recover it.
    """
    rng = np.random.default_rng(1)
    n = 2000
    theta = rng.dirichlet((1, 1, 1), n)
    chose = {1: 1.0, 2: 0.1}  # P(fine | set) for {fine} and {both}
    beta = 0.1 * theta[:, 2].sum() / (theta[:, 1] + 0.1 * theta[:, 2]).sum()
    sets = (theta.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    picks = np.where(rng.random(n) < np.vectorize(lambda v: chose.get(v, 0.0))(sets), 1, 0)
    joint = np.zeros((n, 2, 3), int)
    joint[np.arange(n), picks, sets] = 1
    independent = np.stack([theta[:, 0] + 0.9 * theta[:, 2], theta[:, 1] + 0.1 * theta[:, 2]], 1)
    table = RatingTable(
        space=SPACE,
        name="z",
        items=tuple(map(str, range(n))),
        forced_choice=np.array([rng.multinomial(10, p / p.sum()) for p in independent]),
        response_set=np.array([rng.multinomial(10, p) for p in theta]),
        joint=joint,
        outcomes=np.zeros((n, 3, 5), int),
    )
    unpaired = RatingTable(
        **{f: getattr(table, f) for f in table.__slots__} | {"joint": None, "name": "unpaired"}
    )
    result = evaluate_judges(table, table, unpaired).translations
    assert beta == pytest.approx(0.09, abs=0.01)
    assert result["z"].beta.value == pytest.approx(beta, abs=0.03)
    assert result["z"].cross_call_beta.value > 0.4
    assert result["unpaired"].cross_call_beta == result["z"].cross_call_beta
    assert result["unpaired"].beta.value is None
    assert np.isnan(result["unpaired"].translation.F).all()


def test_cross_call_beta_against_by_hand():
    """Item 1: half chose fine and a third allowed toxic; item 2: all and none. (1/6 + 0) / 1.5."""
    judge = count_table(
        "z",
        [["fine", "toxic"], ["fine"], []],
        [[BOTH, ("fine",), ("fine",)], [("fine",)], [("fine",)]],
    )
    human = count_table("human", [["fine"]] * 3)
    result = evaluate_judges(human, judge).translations["z"].cross_call_beta
    assert result.value == pytest.approx((1 / 6) / 1.5)
    assert result.excluded == (stats.Exclusion("no_calls", 1),)
    assert evaluate_judges(human).human_translation.cross_call_beta.reason == "no_calls"


def test_beta_family_moves_mass_to_the_singleton():
    """The chosen option stays in the set: omega of the chosen option does not depend on beta."""
    for beta in (0.0, 0.3, 1.0):
        family = stats.sensitivity_family(SPACE, beta, {"fine": ("toxic",)})
        np.testing.assert_allclose(family.sum(axis=0), 1.0)
        assert (family[~SPACE.membership.T] == 0).all()
        omega = multilabel(reconstruct_theta([[0.3, 0.7]], family), SPACE)
        np.testing.assert_allclose(omega, [[0.3 + beta * 0.7, 0.7]])
        printed = stats.sensitivity_family(SPACE, beta, {"fine": ("toxic",)}, variant="table_2")
        omega = multilabel(reconstruct_theta([[0.3, 0.7]], printed), SPACE)
        np.testing.assert_allclose(omega, [[0.3 + beta * 0.7, (1 - beta) * 0.7]])


def test_sensitivity_family_that_cannot_be_is_refused():
    """beta is a probability, and the space admits the sets."""
    with pytest.raises(ValueError, match=r"beta is 1\.5"):
        stats.sensitivity_family(SPACE, 1.5, {})
    with pytest.raises(ValueError, match="'fine' cannot be added to itself"):
        stats.sensitivity_family(SPACE, 0.5, {"fine": ("fine",)})
    with pytest.raises(ValueError, match="not an admissible response set"):
        stats.sensitivity_family(OptionSpace.singletons(BOTH), 0.5, {"fine": ("toxic",)})


@given(arrays(np.int64, (2, 3), elements=st.integers(0, 9)))
def test_F_columns_sum_to_one_and_F_theta_is_O_when_fitted_per_item(joint):  # noqa: N802 -- F, O
    """A table of one item's pairs: F fitted on them maps their theta to their O."""
    joint = np.where(SPACE.membership, joint, 0)[None]
    table = RatingTable(
        space=SPACE,
        name="z",
        items=("i",),
        forced_choice=joint.sum(axis=2),
        response_set=joint.sum(axis=1),
        joint=joint,
        outcomes=np.zeros((1, 3, 5), int),
    )
    translation = stats.F_hat(table)
    endorsed = joint[0].sum(axis=0) > 0
    np.testing.assert_allclose(translation.F[:, endorsed].sum(axis=0), 1.0)
    assert np.isnan(translation.F[:, ~endorsed]).all()
    dist = Distributions.of(table)
    if joint.any():
        np.testing.assert_allclose(
            np.nan_to_num(translation.F) @ dist.theta[0], dist.O[0], atol=1e-12
        )
        back = np.nan_to_num(translation.F_reverse) @ dist.O[0]
        np.testing.assert_allclose(back, dist.theta[0], atol=1e-12)


def test_decomposition_of_a_fully_specified_task():
    """One option per set and no error: O, omega and theta are one."""
    model = stats.decompose([0.2, 0.8], np.eye(2), np.eye(2, dtype=bool))
    for result in (model.O, model.omega, model.omega_star, model.recovered()):
        np.testing.assert_allclose(result, [0.2, 0.8])


@pytest.mark.parametrize(
    ("theta", "F", "E", "message"),
    [
        ([0.5, 0.6], np.eye(2), None, r"^not_a_distribution: theta"),
        ([0.5, 0.5], [[0.5, 0], [0, 1]], None, r"^not_a_distribution: F"),
        ([0.5, 0.5], np.eye(2), [[2, 0], [-1, 1]], r"^not_a_distribution: E"),
        ([np.nan, 1], np.eye(2), None, r"^not_a_distribution: theta"),
        ([0.5, 0.5], [[0.9, 0.2], [0.1, 0.8]], None, r"^choice_outside_endorsed_set: F\[0, 1\]"),
        ([1.0], np.eye(2), None, r"theta has shape \(1,\); membership requires \(2,\)"),
        ([0.5, 0.5], np.ones((1, 2)), None, r"F has shape \(1, 2\)"),
        ([0.5, 0.5], np.eye(2), np.eye(3), r"E has shape \(3, 3\)"),
    ],
)
def test_model_that_cannot_be_is_refused(theta, F, E, message):  # noqa: N803 -- the paper's letters
    """The message begins with the reason or names the argument."""
    with pytest.raises(ValueError, match=message):
        stats.decompose(theta, F, np.eye(2, dtype=bool), E=E)


def test_reprs_fit_a_line():
    """One glance at what was counted."""
    judge = count_table("z", [["fine"]], pairs=[[(BOTH, "fine")]])
    result = evaluate_judges(count_table("human", [["fine"]]), judge).translations["z"]
    assert repr(result.translation) == "Translation(pooled, 1 pairs, 0 outside)"
    assert "beta 1.0" in repr(result)
