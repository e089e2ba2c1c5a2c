"""The bound on the paired change of a metric."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from harness.stats.drift.reply_counts import windows_of
from harness.stats.drift.score_change import (
    ItemScores,
    largest_margin,
    log_betting_e_value,
    log_e_below,
    log_window_weights,
    worse_path,
)


def draw_scores(drop, *, n=300, looks=10, first_look=1, seed=0, s0=5):
    """Items that are right with probability .9, and with .9 - drop after a look."""
    rng = np.random.default_rng(seed)
    n_replies = np.full((looks + 1, n), 1)
    n_replies[0] = s0
    chance = np.full((looks + 1, 1), 0.9)
    chance[first_look:] -= drop
    return ItemScores(rng.binomial(n_replies, chance), n_replies)


@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("before", [(0.5, 0.5, 0.5), (0.9, 0.6, 1.0), (0.3, 1.0, 0.2)])
def test_the_expectation_of_the_e_value_is_at_most_1(margin, before):
    """Over all scores of three items whose mean falls by just the margin, E G <= 1."""
    after = np.array(before) - np.array([3 * margin, 0.0, 0.0])  # all of it in one item
    expectation = 0.0
    for baseline in product(range(3), repeat=3):  # two replies each
        for look in product(range(2), repeat=3):
            chance = 1.0
            for b, x, p, q in zip(baseline, look, before, after, strict=True):
                chance *= [(1 - p) ** 2, 2 * p * (1 - p), p**2][b] * (q if x else 1 - q)
            changes = np.array(look) - np.array(baseline) / 2
            expectation += chance * np.exp(log_betting_e_value(changes, margin))
    assert expectation <= 1 + 1e-12


def test_weights_of_all_windows_add_up_to_1():
    """Each start has its share over all looks, and the shares of all starts add up to 1."""
    weights = np.zeros((400, 400))
    for look in range(1, 401):
        weights[:look, look - 1] = np.exp(log_window_weights(look))
    starts = weights[:200].sum(axis=1) / (1 - 0.6 / np.arange(400, 200, -1))
    k = np.arange(2, 202)
    assert starts * k * np.log(k) ** 2 == pytest.approx(starts[0] * 2 * np.log(2) ** 2, rel=1e-9)
    far = np.arange(2, 1_000_000)
    total = (starts[0] * 2 * np.log(2) ** 2 / (far * np.log(far) ** 2)).sum()
    rest = starts[0] * 2 * np.log(2) ** 2 / np.log(1_000_000 - 0.5)  # the integral from there on
    assert total + rest == pytest.approx(1.0, abs=1e-9)


def test_a_fall_is_shown_and_a_rise_is_not():
    """A fall of 30 points is shown in few looks; no change and a rise never."""
    assert worse_path(draw_scores(0.3)).first_look_at(0.05) in {1, 2, 3}
    assert worse_path(draw_scores(0.0)).first_look_at(0.05) is None
    assert worse_path(draw_scores(-0.1)).first_look_at(0.05) is None


def test_a_margin_is_tolerated():
    """A fall of 10 points is not worse by 15, one of 40 is; the sum never falls."""
    assert worse_path(draw_scores(0.1), margin=0.15).first_look_at(0.05) is None
    path = worse_path(draw_scores(0.4), margin=0.15)
    assert path.first_look_at(0.05) is not None
    assert list(path.log_e_sums) == sorted(path.log_e_sums)


def test_the_largest_margin_is_the_last_that_is_shown():
    """The sum reaches 1 / a at this margin, and not a step above; None if not even at 0."""
    scores = draw_scores(0.3)
    margin = largest_margin(scores, 0.05)
    assert 0.05 < margin < 0.3
    assert worse_path(scores, margin=margin).first_look_at(0.05) is not None
    assert worse_path(scores, margin=margin + 0.001).first_look_at(0.05) is None
    assert largest_margin(draw_scores(0.0), 0.05) is None


def test_items_without_replies_on_both_sides_do_not_enter():
    """Items that lack the baseline or the look leave the sum as it is."""
    scores = draw_scores(0.2, n=50)
    extra = np.zeros((11, 2))
    n_extra = np.zeros((11, 2), int)
    extra[0, 0] = n_extra[0, 0] = 5
    extra[1:, 1] = n_extra[1:, 1] = 1
    wider = ItemScores(np.hstack([scores.sums, extra]), np.hstack([scores.n_replies, n_extra]))
    assert worse_path(wider).log_e_sums == pytest.approx(worse_path(scores).log_e_sums, abs=1e-12)


def test_scores_are_compared_with_the_baseline():
    """A window's change is its mean minus the baseline's, per item."""
    scores = ItemScores(np.array([[1, 4], [1, 0], [0, 1]]), np.array([[2, 4], [1, 1], [1, 1]]))
    changes = {window.length: scores.changes(window).tolist() for window in windows_of(2)}
    assert changes == {2: [0.0, -0.5], 1: [-0.5, 0.0]}


def test_what_cannot_be_is_refused():
    """Scores outside [0, 1], shapes that differ and margins out of range are errors."""
    with pytest.raises(ValueError, match="outside"):
        ItemScores(np.array([[3.0]]), np.array([[2]]))
    with pytest.raises(ValueError, match="n_replies"):
        ItemScores(np.zeros((2, 3)), np.zeros((2, 2), int))
    with pytest.raises(ValueError, match="margin is 1"):
        worse_path(draw_scores(0.0), margin=1.0)


def follow(*shares, looks=10, n=150, seed=0):
    """Scores of stretches of looks, the baseline before them: so many items are right with .9."""
    rng = np.random.default_rng(seed)
    right = np.repeat(shares, [1, *[looks] * (len(shares) - 1)])[:, None] * n
    n_replies = np.full((len(right), n), 1)
    n_replies[0] = 5
    return ItemScores(rng.binomial(n_replies, np.where(np.arange(n) < right, 0.9, 0.1)), n_replies)


def up_to(scores, look):
    return ItemScores(scores.sums[: look + 1], scores.n_replies[: look + 1])


def test_evidence_below_references_is_an_e_value():
    """Over all replies to three items whose mean is the best reference's, its expectation is at
    most the weight of the look; far below the references it is large."""
    references = [np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.2, 0.9])]
    expectation, chances = 0.0, (0.9, 0.5, 0.1)
    for look in product(range(2), repeat=3):
        chance = np.prod([p if x else 1 - p for x, p in zip(look, chances, strict=True)])
        scores = ItemScores(np.array([np.zeros(3), look]), np.ones((2, 3), int))
        expectation += chance * np.exp(log_e_below(scores, references))
    assert expectation <= np.exp(log_window_weights(1)).sum() + 1e-12
    low = ItemScores(np.zeros((3, 40)), np.ones((3, 40), int))
    assert (
        log_e_below(low, [np.full(40, 0.5)]) > 5 > log_e_below(low, [np.full(40, 0.5)], margin=0.4)
    )
    assert log_e_below(low, [np.full(40, np.nan)]) < 0
