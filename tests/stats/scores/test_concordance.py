"""Measures of how scores order items: known answers, laws, and intervals."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import kendalltau, mannwhitneyu, spearmanr

from harness.stats.scores.concordance import (
    MEASURES,
    Scored,
    TiedPairs,
    auc,
    jackknife_interval,
    kendall,
    pairwise_accuracy,
    spearman,
)


def scored(n=40, n_options=3, raters=3, seed=0, decimals=1):
    """Draw items whose scores, with ties, follow their ratings."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    cuts = np.linspace(-1, 1, n_options + 1)[1:-1]
    seen = np.searchsorted(cuts, quality[:, None] + rng.normal(size=(n, raters)))
    ratings = (seen[:, :, None] == np.arange(n_options)).sum(axis=1).astype(float)
    score = np.round(quality + rng.normal(size=n), decimals)
    return Scored.of(score, ratings, np.arange(1.0, n_options + 1))


def test_auc_of_two_options_is_the_area_under_the_curve():
    """With one rater per item, it is the Mann-Whitney statistic over the number of pairs."""
    items = scored(n_options=2, raters=1)
    positive, score = items.shares[:, 1] == 1, items.score
    u = mannwhitneyu(score[positive], score[~positive]).statistic
    assert auc(items) == pytest.approx(u / (positive.sum() * (~positive).sum()))


@pytest.mark.parametrize("seed", range(5))
def test_concordance_is_that_of_all_pairs_of_items_and_labels(seed):
    """Counted pair by pair, label by label, it is the same number."""
    items = scored(n=25, n_options=4, seed=seed)
    right = pairs = 0.0
    for i in range(25):
        for j in range(25):
            weight = np.tril(np.outer(items.shares[i], items.shares[j]), -1).sum()
            if i != j:
                pairs += weight
                right += weight * (
                    (items.score[i] > items.score[j]) + 0.5 * (items.score[i] == items.score[j])
                )
    assert auc(items) == pytest.approx(right / pairs)


def test_correlations_equal_scipys():
    """Mean and median of the ratings are what the score is correlated with."""
    items = scored()
    assert spearman(items, items.median) == pytest.approx(
        spearmanr(items.score, items.median).statistic
    )
    assert kendall(items, items.mean) == pytest.approx(
        kendalltau(items.score, items.mean).statistic
    )


def test_turned_scores_turn_every_measure():
    """AUC and correlations of the negative score are the opposite."""
    items = scored()
    turned = items._replace(score=-items.score)
    for name, measure in MEASURES.items():
        opposite = 1 - measure(items) if name == "auc" else -measure(items)
        assert measure(turned) == pytest.approx(opposite)


def test_constant_scores_and_ratings_are_undefined():
    """A score that doesn't vary has no rank correlation; labels that don't vary have no AUC."""
    items = scored()
    constant = items._replace(score=np.zeros(40))
    assert auc(constant) == 0.5
    assert np.isnan(MEASURES["spearman_mean"](constant))
    alike = Scored.of(items.score, np.tile([0.0, 3.0], (40, 1)), np.array([1.0, 2.0]))
    assert np.isnan(auc(alike))
    assert np.isnan(MEASURES["kendall_tau_b_median"](alike))


@pytest.mark.parametrize("seed", range(5))
def test_tie_calibration_finds_the_width_of_highest_accuracy(seed):
    """No other difference of scores that occurs gives more pairs in order."""
    pairs = TiedPairs.of(scored(seed=seed, n_options=2))
    widths = [0.0, *np.unique(np.abs(pairs.score))]
    best = max(pairs.accuracy(width) for width in widths)
    assert pairs.accuracy(pairs.best_width()) == best


def test_pairwise_accuracy_counts_ties_of_both_sides():
    """Deutsch et al. 2023: a pair is right if both sides order it alike, or both tie it."""
    ratings = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    items = Scored.of(np.array([0.1, 0.2, 0.9]), ratings, np.array([0.0, 1.0]))
    assert pairwise_accuracy(items, 0.0) == pytest.approx(2 / 3)
    assert pairwise_accuracy(items, 0.15) == 1.0
    assert pairwise_accuracy(items, 1.0) == pytest.approx(1 / 3)
    assert TiedPairs.of(items).best_width() == pytest.approx(0.1)


def test_interval_contains_the_value_within_bounds():
    """Its ends lie around the value and never beyond what is possible."""
    items = scored(n=80)
    measures = MEASURES | {"pairs": partial(pairwise_accuracy, width=0.2)}
    for name, measure in measures.items():
        bounds = (0.0, 1.0) if name in {"auc", "pairs"} else (-1.0, 1.0)
        ends = jackknife_interval(measure, items, np.arange(80), level=0.95, bounds=bounds)
        assert ends is not None
        assert bounds[0] < ends[0] < measure(items) < ends[1] < bounds[1]


def test_interval_of_groups_is_wider_than_that_of_items():
    """If the items of a group are copies, their number is that of the groups."""
    items = scored(n=40).only(np.repeat(np.arange(40), 4))

    def width(units):
        low, high = jackknife_interval(auc, items, units, level=0.95, bounds=(0.0, 1.0))
        return high - low

    assert width(np.repeat(np.arange(40), 4)) > 1.5 * width(np.arange(160))


def test_perfect_order_has_no_interval():
    """At the bound, leaving items out shows no error."""
    items = scored()
    perfect = items._replace(score=items.mean)
    assert (
        jackknife_interval(
            MEASURES["spearman_mean"], perfect, np.arange(40), level=0.95, bounds=(-1.0, 1.0)
        )
        is None
    )
