"""The smallest change that a schedule of looks notices."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.drift.detectable_change import (
    LookSchedule,
    anchor_size,
    fewest_changed_items,
    smallest_detectable,
)
from harness.stats.drift.reply_counts import ReplyCounts
from harness.stats.drift.stream_path import stream_path


def draw_baseline(*, n=100, s0=2, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    odd = rng.binomial(s0, np.minimum(rng.exponential(noise, n), 0.5))
    first = np.where(rng.integers(2, size=n), odd, s0 - odd)
    return ReplyCounts(("yes", "no"), np.stack([first, s0 - first], axis=1)[None])


def detect(counts, *, seed=0, n_schedules=40, **schedule):
    rng = np.random.default_rng(seed)
    return smallest_detectable(
        counts, schedule=LookSchedule(**schedule), rng=rng, n_schedules=n_schedules
    )


@pytest.mark.parametrize(
    ("s0", "n_streams", "floor"), [(2, 1, 4), (2, 10, 7), (5, 1, 3), (5, 10, 4)]
)
def test_the_floor_at_look_1(s0, n_streams, floor):
    """C(s0 + 1, 1)^-k <= alpha / (4 J E): 4 and 7 items for two replies, 3 and 4 for five."""
    assert fewest_changed_items(s0, LookSchedule(n_looks=1, n_judges=n_streams)) == floor


@pytest.mark.parametrize("s0", [2, 5])
def test_no_alarm_below_the_floor_of_a_judge_without_noise(s0):
    """One item less than the floor gives no alarm, the floor gives it."""
    schedule = LookSchedule(n_looks=1)
    floor = fewest_changed_items(s0, schedule)
    for n_changed, alarms in ((floor - 1, False), (floor, True)):
        baseline, look = np.tile([s0, 0], (50, 1)), np.tile([1, 0], (50, 1))
        look[:n_changed] = [0, 1]
        path = stream_path(ReplyCounts(("yes", "no"), np.array([baseline, look])))
        assert (path.p_value <= schedule.threshold) is alarms


def test_a_judge_without_noise_is_detected_near_the_floor():
    """Nothing hides a change of a judge that never contradicts itself."""
    result = detect(draw_baseline(noise=0.0), n_looks=1)
    assert (result.n_changed, result.floor, result.power) == (4, 4, 1.0)
    assert result.share == 0.04


def test_noise_asks_for_larger_changes_and_replies_for_smaller():
    """More noise hides more; more baseline replies and looks hide less."""
    calm, noisy = (detect(draw_baseline(noise=q), n_looks=2).n_changed for q in (0.02, 0.3))
    assert calm < noisy
    many = detect(draw_baseline(noise=0.3, s0=5), n_looks=2).n_changed
    assert many < noisy
    assert detect(draw_baseline(noise=0.3), n_looks=6).n_changed < noisy


def test_the_same_seed_gives_the_same_result():
    """Results depend on the counts, the schedule and the generator alone."""
    assert detect(draw_baseline(), n_looks=3) == detect(draw_baseline(), n_looks=3)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        (draw_baseline(s0=1), "one_baseline_reply"),
        (draw_baseline(n=3), "floor_above_items"),
        (draw_baseline(n=12, noise=0.9), "not_even_all_items"),
    ],
)
def test_undetectable_changes_have_a_reason(counts, reason):
    """Unknown noise, few items and much noise give no number."""
    result = detect(counts, n_looks=1)
    assert (result.n_changed, result.share, result.power, result.reason) == (
        None,
        None,
        None,
        reason,
    )


def test_the_anchor_size_detects_what_fewer_items_do_not():
    """About as many items are needed as the share says: the detectable number is near it."""
    counts, schedule = draw_baseline(n=200), LookSchedule(n_looks=3)
    rng = np.random.default_rng(0)
    size = anchor_size(counts, 0.2, schedule=schedule, rng=rng, max_items=1000, n_schedules=40)
    assert 30 < size < 200
    assert anchor_size(counts, 0.01, schedule=schedule, rng=rng, max_items=100) is None
    with pytest.raises(ValueError, match="share is 0"):
        anchor_size(counts, 0.0, schedule=schedule, rng=rng, max_items=100)
