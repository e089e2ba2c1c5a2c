"""Intervals, other margins, several judges and domains, combined raters, and the tests inside."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from support.rating_tables import panel_by_rater, seeded

from harness import stats
from harness.stats.alt_test.controls import mean_rater_correlations, optimal_verdicts
from harness.stats.alt_test.margin_tests import one_sided_t, signed_rank
from harness.stats.alt_test.procedure import (
    EpsPoint,
    adjust_jointly,
    combine_raters,
    combined_annotator_test,
    eps_sweep,
    smallest_eps,
)
from harness.stats.metrics.human_agreement import pearson_by_rater, pearson_mean_over_raters


def noisy_panel(seed, n=80, m=4, right=0.8, prefix="i"):
    """Give raters who are right at random, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["a", "b"], n)
    ratings = [
        (f"{prefix}{i:03}", f"r{j}", label if rng.random() < right else rng.choice(["a", "b"]))
        for j in range(m)
        for i, label in enumerate(truth)
    ]
    items = [f"{prefix}{i:03}" for i in range(n)]
    judge = np.where(rng.random(n) < 0.75, truth, rng.choice(["a", "b"], n)).tolist()
    return stats.Panel.of(ratings, items=items), dict(zip(items, judge, strict=True))


DESIGN = stats.AltTestDesign(score="accuracy", eps=0.1)


def run(panel, verdicts, design=DESIGN):
    return stats.annotator_test(panel, verdicts, design)


def crowd_panel(seed, n=120, m=12, per_item=3):
    """Give ratings of a crowd, each item rated by a few of many raters, and verdicts."""
    panel, verdicts = noisy_panel(seed, n=n, m=m)
    rng = np.random.default_rng(seed)
    ratings = [
        (item, panel.raters[j], panel.ratings_of(panel.raters[j])[item])
        for item in panel.items
        for j in rng.choice(m, per_item, replace=False)
    ]
    return stats.Panel.of(ratings, items=panel.items), verdicts


def test_correlations_with_a_crowd_equal_those_of_a_dense_table():
    """Sums over the ratings give what a table of all items and raters gives."""
    panel, _ = crowd_panel(5)
    rng = np.random.default_rng(5)
    ratings = np.full((120, 12), np.nan)
    ratings[panel.of_item, panel.of_rater] = rng.integers(1, 6, len(panel.code))
    scored = stats.Panel.of(
        (panel.items[i], panel.raters[j], ratings[i, j])
        for i, j in zip(*np.nonzero(~np.isnan(ratings)), strict=True)
    )
    judge = np.where(rng.random(120) < 0.9, rng.integers(1, 6, 120), np.nan)
    verdicts = {i: x for i, x in zip(panel.items, judge.tolist(), strict=True) if x == x}  # noqa: PLR0124 -- nan
    [estimate] = mean_rater_correlations(scored, {"z": verdicts}).values()
    sums = pearson_by_rater(ratings, judge)
    assert estimate.value == pytest.approx(pearson_mean_over_raters(sums.sum(axis=0)))
    n_used = int(sums.any(axis=1).sum())
    assert (estimate.n_used, estimate.n_excluded) == (n_used, 120 - n_used)


def test_smallest_eps_passes_and_nothing_smaller_does():
    """The margin found is where the decision turns."""
    for seed, n in ((1, 80), (2, 200), (3, 20)):
        panel, verdicts = noisy_panel(seed, n=n)
        result = run(panel, verdicts)
        least = smallest_eps(result)
        below = np.linspace(0.0, least, 20, endpoint=False) - 2e-9
        points = eps_sweep(result, [least, *below[below > 0]])
        assert points[0].passes
        assert not any(point.passes for point in points[1:])
        design_at_least = stats.AltTestDesign(score="accuracy", eps=least)
        assert run(panel, verdicts, design_at_least).passes


@pytest.mark.parametrize(("seed", "n"), [(1, 80), (2, 200), (3, 20)])
def test_smallest_eps_is_found_by_halving(seed, n):
    """Testing several margins together gives the number of one halving after another."""
    result = run(*noisy_panel(seed, n=n))

    def passes(eps):
        return eps_sweep(result, [eps])[0].passes

    low, high = (0.0, 0.5 - 1e-9) if passes(0.5 - 1e-9) else (0.5, 1.0 - 1e-9)
    while high - low > 1e-9:
        middle = (low + high) / 2.0
        low, high = (low, middle) if passes(middle) else (middle, high)
    assert smallest_eps(result) == high


def test_signed_ranks_are_tested_at_each_margin():
    """p-values of few items, where they are shared between margins, are those of each margin."""
    result = run(*noisy_panel(3, n=20))
    assert set(result.rater_sums.tests) == {"wilcoxon"}
    margins = np.array([0.0, 1e-12, 1e-9, 0.1, 0.4, 0.5 - 1e-9, 0.5, 0.5 + 1e-9, 0.7, 1 - 1e-9])
    wanted = [
        [signed_rank(*counts, eps).p_exact for counts in result.rater_sums.counts.tolist()]
        for eps in margins.tolist()
    ]
    np.testing.assert_array_equal(result.rater_sums.p(margins), wanted)


def test_smallest_eps_is_zero_for_a_judge_who_beats_everybody():
    """Such a judge needs no margin; one who always loses has none that helps."""
    right = {f"i{i:03}": "a" for i in range(50)}
    panel = panel_by_rater(
        {
            rater: {item: "b" if k % 3 == j else "a" for k, item in enumerate(right)}
            for j, rater in enumerate("xyz")
        }
    )
    assert smallest_eps(run(panel, right)) == 0.0
    agreeing = panel_by_rater(dict.fromkeys(("x", "y"), right))
    assert smallest_eps(run(agreeing, dict.fromkeys(right, "b"))) is None


def test_a_sweep_equals_the_test_done_at_each_margin():
    """The sums determine the result at every margin."""
    panel, verdicts = noisy_panel(7)
    margins = [0.0, 0.05, 0.3, 0.5, 0.999]
    for margin, point in zip(margins, eps_sweep(run(panel, verdicts), margins), strict=True):
        result = run(panel, verdicts, stats.AltTestDesign(score="accuracy", eps=margin))
        assert point == EpsPoint(
            margin, result.winning_rate.value, result.advantage.value, result.passes
        )
    with pytest.raises(ValueError, match="eps_out_of_range"):
        eps_sweep(run(panel, verdicts), [1.0])


def test_domains_are_adjusted_over_all_their_raters():
    """Five domains of three raters are fifteen p-values; each has its own winning rate."""
    tests = {}
    for k in range(5):
        panel, verdicts = noisy_panel(20 + k, n=60, m=3, prefix=f"d{k}-")
        tests[f"domain {k}"] = run(panel, verdicts)
    joint = adjust_jointly(tests)
    p = [row.p for test in tests.values() for row in test.per_rater]
    rejected = stats.benjamini_yekutieli(p).rejected.tolist()
    assert [row.rejected for test in joint.values() for row in test.per_rater] == rejected
    assert {test.n_family for test in joint.values()} == {15}
    for name, test in joint.items():
        assert test.winning_rate.value == pytest.approx(test.wins / 3)
        assert test.wins <= tests[name].wins
        assert test.advantage == tests[name].advantage
    with pytest.raises(ValueError, match="tests is empty; pass one or more"):
        adjust_jointly({})


def two_sets():
    """Two sets of three raters, each on 20 items of its own."""
    first, judge_1 = noisy_panel(30, n=20, m=3, prefix="a")
    second, judge_2 = noisy_panel(31, n=20, m=3, prefix="b")
    rows = [
        (panel.items[i], f"{prefix}{j}", panel.labels[c])
        for prefix, panel in (("s", first), ("t", second))
        for i, j, c in zip(panel.of_item, panel.of_rater, panel.code, strict=True)
    ]
    return stats.Panel.of(rows), judge_1 | judge_2


def test_combined_raters_have_the_items_of_both():
    """A pair counts as one rater of 40 items; the average runs over all six pairings."""
    panel, verdicts = two_sets()
    pairs = [("s0", "t0"), ("s1", "t1"), ("s2", "t2")]
    combined = combine_raters(panel, pairs)
    assert combined.raters == ("s0+t0", "s1+t1", "s2+t2")
    assert {row.n for row in run(combined, verdicts).per_rater} == {40}
    sets = (["s0", "s1", "s2"], ["t0", "t1", "t2"])
    result = combined_annotator_test(panel, verdicts, DESIGN, sets, rng=np.random.default_rng(0))
    assert (result.n_pairings, result.reason) == (6, "")
    teams = (list(zip(sets[0], pairing, strict=True)) for pairing in permutations(sets[1]))
    tests = [run(combine_raters(panel, of_pairing), verdicts) for of_pairing in teams]
    assert result.winning_rate == pytest.approx(np.mean([t.winning_rate.value for t in tests]))
    sampled = combined_annotator_test(
        panel, verdicts, DESIGN, sets, rng=np.random.default_rng(0), max_pairings=2
    )
    assert sampled.n_pairings == 2


@pytest.mark.parametrize(
    ("teams", "message"),
    [
        ([("s0", "nobody")], "rater 'nobody' is unknown"),
        ([("s0", "t0"), ("s0", "t1")], "rater 's0' is unknown or in two teams"),
        ([("s0", "s1")], "duplicate_rating"),
    ],
)
def test_raters_who_cannot_be_combined_are_refused(teams, message):
    """Unknown, twice used, or rating the same item."""
    with pytest.raises(ValueError, match=message):
        combine_raters(two_sets()[0], teams)


def test_controls_measure_agreement_under_the_score():
    """Numbers by absolute difference, texts by their similarity; by hand on one item."""
    numbers = panel_by_rater({"x": {"i": 1, "j": 2}, "y": {"i": 3}, "z": {"i": 4}})
    texts = panel_by_rater({"x": {"i": "a b"}, "y": {"i": "a"}, "z": {"i": "c"}})

    def shared(left, right):
        return len(set(left.split()) & set(right.split())) / 2

    for panel, score, name, wanted in (
        (numbers, "neg_rmse", "mean_absolute_difference", 2.0),  # 2, 3 and 1
        (texts, shared, "pairwise_similarity", 0.5 / 3),
    ):
        controls = stats.annotator_controls(
            panel,
            stats.AltTestDesign(score=score, eps=0.1),
            resampling=seeded(n_resamples=0),
            n_draws=3,
        )
        assert list(controls.human_agreement) == [name]
        assert controls.human_agreement[name].value == pytest.approx(wanted)
        assert controls.random.n_draws == 3


def test_controls_of_nothing_are_na():
    """Without ratings there is no random judge, no majority and no agreement."""
    controls = stats.annotator_controls(
        stats.Panel.of([]),
        DESIGN,
        resampling=seeded(n_resamples=0),
    )
    assert (controls.random.winning_rate, controls.majority.passes) == (None, None)
    assert controls.human_agreement["pairwise_agreement"].value is None
    assert controls.warnings == ()


def test_best_verdicts_are_known_for_two_scores_only():
    """Theorem 1 says nothing of similarities."""
    panel, _ = noisy_panel(1)
    with pytest.raises(ValueError, match="optimal verdicts are known only for"):
        optimal_verdicts(panel, stats.AltTestDesign(score=max, eps=0.1))


def test_signed_rank_against_scipy():
    """scipy 1.17.1 wilcoxon(d - 0.2, alternative="less", method=PermutationMethod()), 2^12 signs.

    d: -1 four times, 0 five times, 1 three times; W+ = 21, p = 0.0869140625.
    """
    rank_test = signed_rank(4, 5, 3, 0.2)
    signs = np.array(np.meshgrid(*[[0, 1]] * 12)).reshape(12, -1)
    ranks = np.array([10.5] * 4 + [3.0] * 5 + [7.0] * 3)
    assert rank_test.w_plus == 21.0
    assert rank_test.p_exact == pytest.approx(0.0869140625, abs=1e-15)
    assert rank_test.p_exact == pytest.approx(float(np.mean(ranks @ signs <= 21.0)), abs=1e-15)


def test_signed_rank_drops_and_ties_what_it_should():
    """At 0 the ties between judge and rater are dropped; at 1/2 a tie ranks with a loss."""
    assert signed_rank(2, 7, 1, 0.0).n == 3
    assert signed_rank(2, 7, 1, 0.0).w_plus == 2.0
    assert signed_rank(0, 7, 1, 0.5).w_plus == 4.5
    nothing = signed_rank(0, 7, 0, 0.0)
    assert (nothing.n, nothing.p_exact, nothing.p_normal) == (0, 1.0, None)
    with pytest.raises(ValueError, match="counts are"):
        signed_rank(0, 0, 0, 0.1)


def test_a_t_test_of_one_item_has_no_p():
    """One item does not vary, and says nothing of whether others would."""
    t_test = one_sided_t(1, 0, 0, eps=0.1)
    assert (t_test.n, t_test.mean, t_test.sd, t_test.t, t_test.p) == (1, -1.0, None, None, None)


def test_benjamini_yekutieli_against_scipy():
    """scipy 1.17.1 false_discovery_control([0.001, 0.03, 0.2, 0.02], method="by")."""
    decisions = stats.benjamini_yekutieli([0.001, 0.03, 0.2, 0.02])
    wanted = [0.008333333333333333, 0.08333333333333333, 0.41666666666666663, 0.08333333333333333]
    np.testing.assert_allclose(decisions.adjusted, wanted, atol=1e-15)


def test_benjamini_yekutieli_leaves_out_what_was_not_tested():
    """nan is neither rejected nor counted; each row is a family of its own."""
    decisions = stats.benjamini_yekutieli([[0.04, np.nan], [0.04, 0.9]])
    assert decisions.rejected.tolist() == [[True, False], [False, False]]
    assert np.isnan(decisions.adjusted[0, 1])
    for p, q, message in (([1.5], 0.05, "p has"), (0.5, 0.05, "p has"), ([0.5], 1.0, "q is")):
        with pytest.raises(ValueError, match=message):
            stats.benjamini_yekutieli(p, q)
