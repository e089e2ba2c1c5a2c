"""The confidence sequence of the change of a metric."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from harness.stats.drift.reply_counts import Window
from harness.stats.drift.score_change import ItemScores, log_betting_e_value, score_change


def draw_scores(change, *, n=300, looks=3, seed=0):
    """Items that are right with probability .6, and with .6 + change in every look."""
    rng = np.random.default_rng(seed)
    n_replies = np.full((looks + 1, n), 1)
    n_replies[0] = 5
    chance = np.where(np.arange(looks + 1)[:, None] > 0, 0.6 + change, 0.6)
    return ItemScores(rng.binomial(n_replies, chance), n_replies)


@pytest.mark.parametrize("change", [-0.3, 0.0, 0.3])
def test_an_interval_covers_the_change(change):
    """The interval holds the true change and, where that is large, not zero."""
    estimate = score_change(draw_scores(change), 1, alpha=0.05)
    assert estimate.interval.low <= change <= estimate.interval.high
    assert (estimate.interval.low <= 0 <= estimate.interval.high) == (change == 0)
    assert estimate.value == pytest.approx(change, abs=0.06)
    assert estimate.n_used == 300


def test_the_ends_are_the_farthest_changes_that_are_not_rejected():
    """Look 3 has the share alpha / 12, each end half of it; an end is on the step that is."""
    scores = draw_scores(0.0)
    interval = score_change(scores, 3, alpha=0.05).interval
    changes, bound = scores.changes(Window(3, 1)), log(2 * 12 / 0.05)
    assert log_betting_e_value(changes, -interval.high) >= bound
    assert log_betting_e_value(changes, -interval.high + 0.001) < bound
    assert log_betting_e_value(-changes, interval.low) >= bound
    assert log_betting_e_value(-changes, interval.low + 0.001) < bound


def test_turning_right_and_wrong_around_mirrors_the_interval():
    """Neither direction is treated otherwise."""
    scores = draw_scores(0.1)
    mirrored = ItemScores(scores.n_replies - scores.sums, scores.n_replies)
    ahead, back = (score_change(s, 2, alpha=0.05) for s in (scores, mirrored))
    assert back.value == pytest.approx(-ahead.value)
    assert back.interval.low == pytest.approx(-ahead.interval.high)
    assert back.interval.high == pytest.approx(-ahead.interval.low)


def test_later_looks_have_wider_intervals():
    """The same replies leave more changes possible at a later look, which has less of alpha."""
    scores = draw_scores(0.0, looks=1)
    repeated = ItemScores(
        np.vstack([scores.sums[:1], *[scores.sums[1:]] * 9]),
        np.repeat(scores.n_replies, [1, 9], axis=0),
    )
    widths = [
        i.high - i.low for i in (score_change(repeated, t, alpha=0.05).interval for t in (1, 3, 9))
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_items_without_replies_on_both_sides_are_counted():
    """They do not enter; without any other the change is NA."""
    scores = ItemScores(np.array([[1, 0, 2], [1, 1, 0]]), np.array([[2, 0, 2], [1, 1, 0]]))
    estimate = score_change(scores, 1, alpha=0.05)
    assert (estimate.value, estimate.n_used, estimate.n_excluded) == (0.5, 1, 2)
    nobody = ItemScores(np.zeros((2, 3)), np.array([[1, 1, 0], [0, 0, 1]]))
    assert score_change(nobody, 1, alpha=0.05).reason == "no_reply_on_either_side"


def test_what_cannot_be_is_refused():
    """A look that is not there, and an error rate out of range."""
    with pytest.raises(ValueError, match="look is 4; wanted 1 to 3"):
        score_change(draw_scores(0.0), 4, alpha=0.05)
    with pytest.raises(ValueError, match="alpha is 0"):
        score_change(draw_scores(0.0), 1, alpha=0)
