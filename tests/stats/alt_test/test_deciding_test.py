"""The deciding annotator test: its size under true nulls, and when it has none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from support.each_case import fast_first

from harness.stats.alt_test.deciding_test import (
    DecidingTest,
    deciding_annotator_test,
    deciding_test,
    panel_test,
)
from harness.stats.alt_test.design import AltTestDesign
from harness.stats.alt_test.panel import Panel
from harness.stats.inference.multiple_testing import partial_conjunction

EPS = 0.1


def difference_of(n, wins, losses):
    return np.repeat([-1.0, 1.0, 0.0], [wins, losses, n - wins - losses])


@pytest.mark.parametrize("n", fast_first(4, [10, 20, 29, 30, 60, 150]))
def test_size_on_tied_indicators(n):
    """Losses of a share eps and no wins: the published signed-rank test rejects up to .94."""
    losses = np.arange(n + 1)
    rejected = [deciding_test(difference_of(n, 0, k), EPS).p <= 0.05 for k in losses]
    assert binom.pmf(losses, n, EPS)[rejected].sum() <= 0.06


def test_recorded_size_of_the_signed_rank_test():
    """29 items, losses at the margin: the deciding test rejects in at most 5 % of data sets."""
    losses = np.arange(30)
    rejected = [deciding_test(difference_of(29, 0, k), EPS).p <= 0.05 for k in losses]
    assert binom.pmf(losses, 29, EPS)[rejected].sum() <= 0.05


@pytest.mark.parametrize("p_win", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("n_groups", [5, 10, 40])
def test_size_with_groups(n_groups, p_win):
    """Alike items within a group: at most 7.5 % of 1,000 data sets at the margin are rejected."""
    rng = np.random.default_rng(n_groups)
    groups = np.repeat(np.arange(n_groups), 6)
    shares = np.maximum([p_win, p_win + EPS, 1.0 - 2.0 * p_win - EPS], 1e-9)
    rejected = 0
    for _ in range(1000):
        by_group = rng.dirichlet(shares * 7 / 3, n_groups).cumsum(axis=1)[groups]
        drawn = rng.random(len(groups))
        difference = np.where(drawn < by_group[:, 0], -1.0, (drawn < by_group[:, 1]) * 1.0)
        p = deciding_test(difference, EPS, groups=groups).p
        rejected += p is not None and p <= 0.05
    assert rejected / 1000 <= 0.075


def test_a_good_judge_passes():
    """Mostly ties, more wins than losses."""
    assert deciding_test(difference_of(150, 20, 10), EPS).p < 0.01
    assert deciding_test(difference_of(150, 20, 10), EPS).method == "score"


def test_too_few_items_and_groups_are_na():
    """What cannot be tested with a valid size says why."""
    assert deciding_test(difference_of(9, 9, 0), EPS).reason == "too_few_items"
    groups = np.arange(40) // 8
    assert deciding_test(difference_of(40, 10, 5), EPS, groups=groups).reason == "too_few_groups"


def test_all_ties_count_groups_as_items():
    """Twelve groups without a win or loss say as much as twelve items."""
    groups = np.arange(48) // 4
    assert deciding_test(np.zeros(48), EPS, groups=groups).p == pytest.approx(
        deciding_test(np.zeros(12), EPS).p
    )


def panel_of(ratings):
    n, m = ratings.shape
    return Panel.of([(f"i{i}", f"r{j}", str(ratings[i, j])) for i in range(n) for j in range(m)])


def annotator_result(ratings, verdicts, **options):
    values = {f"i{i}": str(value) for i, value in enumerate(verdicts)}
    design = AltTestDesign(score="accuracy", eps=EPS)
    return deciding_annotator_test(panel_of(ratings), values, design, **options)


def test_a_coin_does_not_replace_raters_who_agree():
    """Raters of accuracy .8 and a coin-flip judge: it passes in none of 50 data sets."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        truth = rng.integers(2, size=29)
        ratings = np.where(rng.random((29, 5)) < 0.8, truth[:, None], 1 - truth[:, None])
        assert not annotator_result(ratings, rng.integers(2, size=29)).passes


def test_a_clearly_good_judge_passes():
    """Accuracy .9 beside raters of .85, 150 items, 5 raters: passes in at least 80 %."""
    passes = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        truth = rng.integers(2, size=150)
        ratings = np.where(rng.random((150, 5)) < 0.85, truth[:, None], 1 - truth[:, None])
        verdicts = np.where(rng.random(150) < 0.9, truth, 1 - truth)
        passes += bool(annotator_result(ratings, verdicts).passes)
    assert passes >= 40


def test_advantage_has_an_interval_for_other_raters():
    """It holds the mean of the raters' advantages and is None with nothing to compare."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    ratings = np.where(rng.random((60, 4)) < 0.8, truth[:, None], 1 - truth[:, None])
    test = annotator_result(ratings, truth)
    assert test.low < test.net_wins < test.high
    assert annotator_result(ratings[:5], truth[:5]).panel.reason == "too_few_items"


def test_net_wins_of_more_than_all_items_were_possible():
    """One of four raters answers as the judge does, so that means of raters differ by much."""
    truth = np.arange(40) % 2
    ratings = np.stack([truth, *[1 - truth] * 3], axis=1)
    test = annotator_result(ratings, truth)
    assert -1 <= test.low < test.net_wins < test.high <= 1


def test_gold_labels_have_no_margin():
    """At eps 0 the sign test of the discordant items decides."""
    assert deciding_test(difference_of(40, 9, 1), 0.0).p == pytest.approx(11 / 1024)


def test_partial_conjunction_by_hand():
    """Four raters, two to be beaten: the least of 3/1, 3/2 and 3/3 times the last three."""
    p = [0.2, 0.001, 0.02, 0.03]
    assert partial_conjunction(p, 2) == pytest.approx(min(3 * 0.02, 1.5 * 0.03, 0.2))
    assert partial_conjunction(p, 4) == 0.2
    assert partial_conjunction([p, p], 1).shape == (2,)
    with pytest.raises(ValueError, match="from 1 to 4"):
        partial_conjunction(p, 0)


def of_rater(n, p, reason=""):
    return DecidingTest(p, "exact", n, 0, 0, reason)


def test_raters_who_cannot_be_tested_are_not_dropped_from_the_panel():
    """One testable rater of six decides nothing; nor does a third of the ratings."""
    few = [of_rater(9, None, "too_few_items")] * 5
    alone = panel_test([of_rater(50, 0.001), *few], 6, 0.5)
    assert (alone.p, alone.n_raters, alone.n_tested) == (None, 6, 1)
    assert alone.reason == "too_few_items"
    minority = panel_test([of_rater(30, 0.001), *few * 4], 21, 0.5)
    assert minority.p is None
    most = panel_test([of_rater(200, 0.001), *few * 4], 21, 0.5)
    assert (most.p, most.n_tested, most.n_needed) == (0.001, 1, 1)


def test_a_rater_whose_groups_are_too_few_counts_as_not_beaten():
    """Leaving it out would choose the raters by how they answered."""
    tests = [of_rater(60, 0.01), of_rater(60, 0.02), of_rater(60, None, "too_few_groups")]
    assert panel_test(tests, 3, 0.5).p == pytest.approx(min(2 * 0.02, 1.0))


def test_wrong_use_does_not_rise_with_the_number_of_judges():
    """The best of ten judges, all at the margin: at alpha / 10 at most 5 % of data sets pass."""
    rng, passes, n = np.random.default_rng(7), 0, 300
    for _ in range(n):
        least = min(
            deciding_test(rng.choice([-1.0, 1.0, 0.0], 100, p=[0.1, 0.2, 0.7]), EPS).p
            for _ in range(10)
        )
        passes += least <= 0.05 / 10
    assert passes / n <= 0.05 + 2 * (0.05 * 0.95 / n) ** 0.5
