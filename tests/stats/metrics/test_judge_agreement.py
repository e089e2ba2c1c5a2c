from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.rating_tables import seeded, split_options

from harness.stats.metrics.judge_agreement import ensemble_agreement

binary_votes = arrays.arrays(np.float64, (8, 4), elements=st.integers(0, 1).map(float))


def ensemble(votes, options=("no", "yes"), **chosen):
    """Evaluate votes without intervals, unless asked otherwise."""
    votes = np.asarray(votes, float)
    resampling, rest = split_options(chosen, n_resamples=0, positive=options[-1])
    judges = [f"judge {r}" for r in range(votes.shape[1])]
    return ensemble_agreement(votes, options, judges=judges, resampling=resampling, **rest)


@settings(deadline=None)
@given(votes=binary_votes)
def test_alpha_is_fleiss_up_to_a_finite_sample_correction(votes):
    """Eq. 16: alpha = kappa + (1 - kappa) / (N R) on complete data, labelled as one number."""
    assume(np.ptp(votes) > 0)
    agreement = ensemble(votes).agreement
    kappa, alpha = (agreement[n].value for n in ("fleiss_kappa", "krippendorff_alpha_nominal"))
    assert alpha == pytest.approx(kappa + (1 - kappa) / votes.size, abs=1e-12)
    assert agreement["alpha_from_fleiss"].value == pytest.approx(alpha, abs=1e-12)


def test_mean_pairwise_phi_is_fleiss_where_judges_share_one_rate():
    """Observation 2, and it is not where they do not."""
    shared = [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]]
    agreement = ensemble(shared, n_resamples=200)
    for name in ("mean_pairwise_phi", "fleiss_kappa", "randolph_kappa"):
        assert agreement.agreement[name].value == pytest.approx(1 / 3)
        assert agreement.agreement[name].interval is not None
    assert (agreement.n_pairs, agreement.n_pairs_undefined) == (3, 0)
    assert repr(agreement).startswith("Ensemble(3 pairs, alpha 0.37")


def votes_of_errors(errors):
    """Let the humans say yes on every item, and judges no where they err; ``human`` is one-hot."""
    errors = np.asarray(errors, float)
    return 1.0 - errors, np.tile([0.0, 1.0], (len(errors), 1))


def test_judges_with_the_same_errors_are_worth_one_vote():
    """Kish: R / (1 + (R - 1) rho) is 1 at rho 1, R at rho 0, and 2 / 1.5 at rho 0.5."""
    same = np.repeat([[1], [0], [0], [1], [0]], 3, axis=1)
    votes, human = votes_of_errors(same)
    assert ensemble(votes, human=human).agreement["effective_votes"].value == pytest.approx(1.0)
    apart = [[1, 1], [1, 0], [0, 1], [0, 0]]
    votes, human = votes_of_errors(apart)
    assert ensemble(votes, human=human).agreement["effective_votes"].value == pytest.approx(2.0)
    half = [[1, 1], [1, 1], [1, 1], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    votes, human = votes_of_errors(half)
    assert ensemble(votes, human=human).agreement["effective_votes"].value == pytest.approx(4 / 3)


def test_errors_that_exclude_each_other_are_not_worth_more_votes_than_judges():
    """A negative correlation counts as none."""
    votes, human = votes_of_errors([[1, 0], [0, 1], [0, 0], [0, 0]])
    assert ensemble(votes, human=human).agreement["effective_votes"].value == pytest.approx(2.0)


def test_a_judge_without_errors_has_no_correlation_of_errors():
    """NA with the reason; without human labels there are no errors."""
    votes, human = votes_of_errors([[1, 0], [0, 0], [1, 0]])
    estimate = ensemble(votes, human=human).agreement["effective_votes"]
    assert (estimate.value, estimate.reason) == (None, "constant_labels")
    assert "effective_votes" not in ensemble(votes).agreement


@pytest.mark.parametrize(("n_errors", "has_interval"), [(9, False), (10, True)])
def test_effective_votes_have_no_interval_below_ten_errors(n_errors, has_interval):
    """With fewer errors of a judge, intervals contained the value too rarely."""
    errors = np.zeros((60, 2), dtype=int)
    errors[:n_errors, 0] = 1
    errors[3:20, 1] = 1
    votes, human = votes_of_errors(errors.tolist())
    agreement = ensemble(votes, human=human, n_resamples=200).agreement
    estimate = agreement["effective_votes"]
    assert estimate.value is not None
    assert (estimate.interval is not None) == has_interval
    assert estimate.interval_reason == ("" if has_interval else "too_few_errors")


def test_constant_judge_makes_the_mean_phi_na_with_counts():
    """It has no phi with anybody; the pairs concerned are counted, not dropped."""
    agreement = ensemble([[1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 0]])
    phi = agreement.agreement["mean_pairwise_phi"]
    assert (phi.value, phi.reason) == (None, "constant_labels")
    assert (agreement.n_pairs, agreement.n_pairs_undefined) == (3, 2)


def test_missing_votes_leave_alpha_and_not_strict_fleiss():
    """Unequal numbers of votes: NA with the reason, while alpha takes them as they are."""
    agreement = ensemble([[1, 1, np.nan], [0, 0, 1], [1, 0, 1], [0, 0, 0]]).agreement
    assert (agreement["fleiss_kappa"].value, agreement["fleiss_kappa"].reason) == (
        None,
        "unequal_raters",
    )
    assert agreement["alpha_from_fleiss"].reason == "unequal_raters"
    assert agreement["krippendorff_alpha_nominal"].value is not None
    alone = ensemble([[1], [0]]).agreement
    assert {estimate.reason for estimate in alone.values()} == {"too_few_raters"}


def test_each_judge_has_its_confusion_matrix():
    """Errors to either side stay apart; unanswered items are in no cell."""
    human = np.array([[1.0, 0], [0, 1], [0.5, 0.5]])
    agreement = ensemble([[0, 1], [1, 1], [0, np.nan]], human=human).confusions
    np.testing.assert_allclose(agreement["judge 0"], [[1.5, 0], [0.5, 1]])
    np.testing.assert_allclose(agreement["judge 1"], [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ensemble([[2, 0]]), "not an option index from 0 to 1"),
        (lambda: ensemble([[1, 0]], positive="maybe"), "option 'maybe'"),
        (lambda: ensemble([[1, 0]], human=np.ones((2, 2))), r"human has shape \(2, 2\)"),
        (
            lambda: ensemble_agreement(
                np.ones((2, 2)),
                ("a", "b"),
                judges=["z", "z"],
                positive="a",
                resampling=seeded(),
            ),
            "a name is repeated",
        ),
        (
            lambda: ensemble_agreement(
                np.ones((2, 2)),
                ("a", "b"),
                judges=["z"],
                positive="a",
                resampling=seeded(),
            ),
            r"votes has shape \(2, 2\) for 1 judges",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match=message):
        call()
