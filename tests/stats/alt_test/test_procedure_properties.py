"""Laws of the alternative annotator test, on ratings of any shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rating_tables import panel_by_rater

from harness import stats
from harness.stats.alt_test.controls import optimal_verdicts
from harness.stats.alt_test.margin_tests import one_sided_t, signed_rank
from harness.stats.alt_test.procedure import eps_sweep

LABELS = st.sampled_from([1, 2, 3, 4])
COUNTS = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 12)).filter(any)
EPS = st.floats(0.0, 0.99)


@st.composite
def cases(draw):
    """Ratings {rater: {item: value}} with gaps, and verdicts with gaps."""
    items = [f"i{i:02}" for i in range(draw(st.integers(1, 8)))]
    raters = [f"r{j}" for j in range(draw(st.integers(2, 4)))]
    rating = st.none() | LABELS

    def row():
        return {i: v for i in items if (v := draw(rating)) is not None}

    ratings = {rater: row() for rater in raters}
    return ratings, {i: v for i in items if (v := draw(rating)) is not None}


def run(ratings, verdicts, **design):
    """Test on t for any n, without resamples."""
    chosen = {"score": "accuracy", "eps": 0.1, "small_n": "t"} | design
    return stats.annotator_test(
        panel_by_rater(ratings),
        verdicts,
        stats.AltTestDesign(**chosen),
    )


def scores_by_definition(ratings, verdicts, score):
    """Count each rater's outcomes as section 3 of the paper says, item by item."""
    outcomes = {}
    for rater, rated in ratings.items():
        counts = [0, 0, 0]
        for item, value in rated.items():
            others = [r[item] for name, r in ratings.items() if name != rater and item in r]
            if not others or item not in verdicts:
                continue
            lead = score(verdicts[item], others) - score(value, others)
            counts[1 if abs(lead) < 1e-9 else 0 if lead > 0 else 2] += 1
        outcomes[rater] = counts
    return outcomes


SCORES = {
    "accuracy": lambda x, others: sum(x == y for y in others) / len(others),
    "neg_rmse": lambda x, others: -np.sqrt(np.mean([(x - y) ** 2 for y in others])),
    "similarity": lambda x, others: np.mean([1 / (1 + abs(x - y)) for y in others]),
}


@pytest.mark.parametrize("score", SCORES)
@given(case=cases())
@settings(max_examples=60, deadline=None)
def test_outcomes_follow_the_definition(score, case):
    """Array arithmetic changes nothing: neither ties nor who is nearer."""
    ratings, verdicts = case
    used = (lambda x, y: 1 / (1 + abs(x - y))) if score == "similarity" else score
    result = run(ratings, verdicts, score=used, unanswered="exclude")
    wanted = scores_by_definition(ratings, verdicts, SCORES[score])
    for row in (*result.per_rater, *result.skipped):
        assert [row.n_judge_closer, row.n_tied, row.n_rater_closer] == wanted[row.rater]


@given(case=cases(), scale=st.sampled_from([1e-6, 0.1, 3.0, 1e6]), shift=st.integers(-5, 5))
@settings(max_examples=40, deadline=None)
def test_units_of_a_scale_do_not_matter(case, scale, shift):
    """Negative RMSE is the same test in any units."""
    ratings, verdicts = case

    def moved(values):
        return {item: scale * (value + shift) for item, value in values.items()}

    plain = run(ratings, verdicts, score="neg_rmse")
    other = run(
        {rater: moved(rated) for rater, rated in ratings.items()},
        moved(verdicts),
        score="neg_rmse",
    )
    assert plain.per_rater == other.per_rater


@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_silence_never_helps(case):
    """As a loss, an unanswered item never makes the judge look better than any answer."""
    ratings, verdicts = case
    items = sorted({item for rated in ratings.values() for item in rated})
    full = {item: verdicts.get(item, 1) for item in items}
    silent, spoken = run(ratings, verdicts), run(ratings, full)
    if silent.advantage.value is not None:
        assert silent.advantage.value <= spoken.advantage.value + 1e-12


@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_the_best_verdicts_always_tie_or_win(case):
    """Theorem 1: majority for accuracy and mean for negative RMSE have an advantage of 1."""
    ratings, _ = case
    panel = panel_by_rater(ratings)
    for score in ("accuracy", "neg_rmse"):
        design = stats.AltTestDesign(score=score, eps=0.1)
        best = run(ratings, optimal_verdicts(panel, design), score=score)
        assert best.advantage.value in (1.0, None)


@given(case=cases())
@settings(max_examples=30, deadline=None)
def test_equal_weights_for_raters_change_nothing(case):
    """Weights that are all the same change nothing, whatever their size."""
    ratings, verdicts = case
    for score in ("accuracy", "neg_rmse"):
        plain = run(ratings, verdicts, score=score)
        equal = run(ratings, verdicts, score=score, quality=dict.fromkeys(ratings, 0.3))
        assert plain.winning_rate.value == pytest.approx(equal.winning_rate.value)
        assert [row.p for row in plain.per_rater] == [row.p for row in equal.per_rater]


@given(case=cases(), low=EPS, high=EPS)
@settings(max_examples=60, deadline=None)
def test_a_wider_margin_never_lowers_the_winning_rate(case, low, high):
    """On t-tests the rejections only grow with the margin; the advantage stands still."""
    result = run(*case)
    below, above = eps_sweep(result, sorted((low, high)))
    if below.winning_rate is not None:
        assert below.winning_rate <= above.winning_rate
        assert below.advantage == above.advantage


@given(counts=COUNTS, eps=EPS)
@settings(max_examples=60, deadline=None)
def test_the_exact_rank_test_counts_sign_patterns(counts, eps):
    """Against a sum over all sign patterns, by adding one rank after another."""
    minus, zero, plus = counts
    shifted = np.repeat([-1.0 - eps, -eps, 1.0 - eps], counts)
    shifted = shifted[np.abs(shifted) > 1e-12]
    sizes = np.abs(shifted)
    below = (sizes[:, None] > sizes + 1e-12).sum(axis=1)
    tied = (np.abs(sizes[:, None] - sizes) <= 1e-12).sum(axis=1)
    doubled = (2 * below + tied + 1).tolist()
    ways = {0: 1}
    for rank in doubled:
        ways = {
            s: ways.get(s, 0) + ways.get(s - rank, 0)
            for s in {*ways, *(total + rank for total in ways)}
        }
    w = sum(rank for rank, d in zip(doubled, shifted, strict=True) if d > 0)
    exact = sum(n for total, n in ways.items() if total <= w) / 2 ** len(doubled)
    rank_test = signed_rank(minus, zero, plus, eps)
    assert rank_test.w_plus == w / 2
    assert rank_test.p_exact == pytest.approx(exact, rel=1e-11)


@given(p=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12), q=st.floats(0.001, 0.5))
@settings(max_examples=100, deadline=None)
def test_adjusted_values_and_decisions_agree(p, q):
    """A hypothesis is rejected at q when its adjusted value is at most q; order is nothing."""
    decisions = stats.benjamini_yekutieli(p, q)
    clear = np.abs(decisions.adjusted - q) > 1e-9
    assert (decisions.rejected == (decisions.adjusted <= q))[clear].all()
    assert (decisions.adjusted >= np.array(p) - 1e-15).all()
    back = stats.benjamini_yekutieli(p[::-1], q)
    np.testing.assert_array_equal(back.rejected[::-1], decisions.rejected)


@given(counts=COUNTS, eps=st.floats(0.0, 1.0))
@settings(max_examples=60, deadline=None)
def test_one_sided_t_against_scipy(counts, eps):
    """The same as scipy's one-sample test wherever that is defined."""
    from scipy.stats import ttest_1samp

    minus, zero, plus = counts
    t_test = one_sided_t(minus, zero, plus, eps)
    values = np.repeat([-1.0, 0.0, 1.0], counts)
    if np.ptp(values) == 0:
        assert t_test.t is None
        assert t_test.p in (0.0, 1.0, None)
        return
    wanted = ttest_1samp(values, eps, alternative="less")
    assert t_test.t == pytest.approx(wanted.statistic, rel=1e-9, abs=1e-12)
    assert t_test.p == pytest.approx(wanted.pvalue, rel=1e-9, abs=1e-15)
