"""A judge's noise, and how looks differ from the baseline."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.drift.reply_counts import ReplyCounts, look_flips, retest_flip_rate


def test_the_flip_rate_counts_pairs_of_replies():
    """2-0 has no differing pair, 1-1 one of one, 3-2 six of ten; one reply is left out."""
    counts = ReplyCounts(("a", "b"), np.array([[[2, 0], [1, 1], [3, 2], [1, 0]]]))
    estimate = retest_flip_rate(counts)
    assert estimate.value == pytest.approx((0 + 1 + 0.6) / 3)
    assert (estimate.n_used, estimate.n_excluded) == (3, 1)
    assert estimate.interval.low < estimate.value < estimate.interval.high


def test_one_reply_shows_no_noise():
    """The flip rate is NA with the reason."""
    estimate = retest_flip_rate(ReplyCounts(("a", "b"), np.array([[[1, 0], [0, 1]]])))
    assert (estimate.value, estimate.reason) == (None, "fewer_than_two_replies")
    assert estimate.excluded[0].n_items == 2


@pytest.mark.parametrize("s0", [2, 5])
def test_the_interval_holds_the_rate(s0):
    """95 % intervals hold the expected flip rate of 100 items in at least 93 %."""
    rng, held = np.random.default_rng(0), 0
    target = np.mean([2 * q * (1 - q) for q in np.minimum(rng.exponential(0.1, 10**6), 0.5)])
    for _ in range(400):
        off = np.minimum(rng.exponential(0.1, 100), 0.5)
        flips = rng.binomial(s0, off)
        counts = ReplyCounts(("a", "b"), np.stack([s0 - flips, flips], axis=1)[None])
        interval = retest_flip_rate(counts).interval
        held += interval.low <= target <= interval.high
    assert held >= 372


def test_a_look_is_compared_with_the_baseline():
    """Each new reply meets each baseline reply of its item."""
    baseline = [[2, 0], [1, 1], [2, 0], [0, 0]]
    look = [[1, 0], [1, 0], [0, 0], [1, 0]]
    flips = look_flips(ReplyCounts(("a", "b"), np.array([baseline, look])), 1)
    assert flips.flip_rate.value == pytest.approx(0.25)
    assert (flips.flip_rate.n_used, flips.flip_rate.n_excluded) == (2, 2)
    assert flips.p_value == 1.0
    with pytest.raises(ValueError, match="look is 2; wanted 1 to 1"):
        look_flips(ReplyCounts(("a", "b"), np.array([baseline, look])), 2)


def test_a_look_with_other_answers_has_a_small_p():
    """20 items of 20 that changed: the chance is that of 20 odd replies in the look."""
    baseline, look = np.tile([2, 0], (20, 1)), np.tile([0, 1], (20, 1))
    p = look_flips(ReplyCounts(("a", "b"), np.array([baseline, look])), 1).p_value
    assert p == pytest.approx(3.0**-20, abs=2e-12)
