"""Error rates over whole schedules, and the time that a look takes."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from benchmarks.claim_rows import simulate as simulate_claim
from benchmarks.drift import (
    AT_MARGIN,
    FALLS,
    Row,
    Schedule,
    WorseSchedule,
    simulate,
    simulate_sequence,
    simulate_worse,
)
from benchmarks.judge_in_use import schedules as in_use_schedules
from harness.stats.drift.reply_counts import ReplyCounts
from harness.stats.drift.stream_path import stream_path

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(n=100, noise=0.0),
        Schedule(n=100, noise=0.02),
        Schedule(n=100, noise=0.1),
        Schedule(n=100, noise=0.3),
        Schedule(n=100, s0=1),
        Schedule(n=40, missing=0.05),
        Schedule(n=50, n_judges=5),
        Schedule(n=50, s0=5, invalid=(0.01, 0.01)),
        Schedule(n=50, s0=5, invalid=(0.1, 0.1)),
    ],
    ids=str,
)
def test_unchanged_judges_rarely_alarm(schedule):
    """In 100 schedules of 100 looks alarms stay below alpha plus three standard errors."""
    row = simulate(Row(str(schedule), schedule), 100)
    assert not row.too_often


def test_a_test_at_each_look_alarms_often():
    """McNemar's test at each look alarms in half of the unchanged schedules; adjusted, rarely."""
    row = simulate(Row("naive", Schedule(n=100)), 50)
    assert row.share("naive") > 0.4
    assert row.share("spent") < 0.15


@pytest.mark.parametrize(
    ("schedule", "least", "most_looks"),
    [
        (Schedule(share=0.2, start=1), 0.95, 2),
        (Schedule(share=0.2, start=10), 0.95, 2),
        (Schedule(share=0.05, start=10), 0.95, 4),
        (Schedule(share=0.01, start=10), 0.75, 16),
        (Schedule(invalid=(0.05, 0.1), start=10), 0.9, 8),
        (Schedule(noise_factor=2.0, start=10), 0.95, 4),
        (Schedule(more_each_look=0.002, start=1), 0.95, 25),
    ],
    ids=str,
)
def test_changes_are_noticed(schedule, least, most_looks):
    """Of 50 schedules at least this share alarms, after a median of at most so many looks."""
    row = simulate(Row(str(schedule), schedule), 50)
    assert row.share("chosen") >= least
    assert float(row.delay()) <= most_looks


@pytest.mark.parametrize(("s0", "start"), [(5, 1), (5, 21), (2, 11)])
@pytest.mark.parametrize(("rate", "look", "least"), [(0.08, 1, 0.8), (0.05, 2, 0.9)])
def test_outcomes_that_never_were_are_noticed_at_once(s0, start, rate, look, least):
    """Of 150 items: 8 % at the first look in 80 % of 50 schedules, 5 % by the second in 90 %."""
    schedule = Schedule(n=150, s0=s0, n_looks=start + 1, invalid=(0.0, rate), start=start)
    assert simulate(Row(str(schedule), schedule), 50).share_by(look) >= least


@pytest.mark.parametrize(("noise", "right", "drop"), FALLS)
def test_a_fall_of_the_hit_rate_is_worse_by_the_second_look(noise, right, drop):
    """From .77 to .57 at look 21, in 80 % of 200 schedules at any noise of the judge."""
    schedule = WorseSchedule(n=150, s0=5, noise=noise, right=right, drop=drop, start=21)
    assert simulate_worse(schedule, 200).n_by_second_look >= 160


@pytest.mark.parametrize(
    "fall",
    [{}, AT_MARGIN, {"s0": 5, "right": 0.6, "drop": 0.15, "gain": 0.15, "start": 21}],
    ids=["none", "at the margin", "30 % of the answers change"],
)
def test_worse_is_rarely_said_of_a_fall_within_the_margin(fall):
    """A fall by at most the margin is called worse in few of 200 schedules."""
    row = simulate_worse(WorseSchedule(n=100, **fall), 200)
    assert not row.schedule.is_worse
    assert not row.too_often


def test_confidence_sequences_rarely_miss():
    """Intervals of 100 looks all hold in most of 50 schedules, where t intervals of each do not."""
    row = simulate_sequence(WorseSchedule(n=100, drop=0.1, start=10), 50)
    assert not row.too_often
    assert row.n_missed_alone > 20


def draw_streams(n_streams, *, missing):
    """Counts of 100 looks at 1,000 items, 10 % noise."""
    rng = np.random.default_rng(0)
    for _ in range(n_streams):
        off = np.minimum(rng.exponential(0.1, 1000), 0.5)
        odd = np.array([rng.binomial(1 if look else 2, off) for look in range(101)])
        counts = np.stack([np.where(np.arange(101)[:, None], 1, 2) - odd, odd], axis=2)
        counts[rng.random(counts.shape[:2]) < missing] = 0
        yield ReplyCounts(("yes", "no"), counts)


@pytest.mark.parametrize("missing", [0.0, 0.05])
def test_a_look_takes_at_most_two_seconds(missing):
    """Look 100 of 10 streams of 1,000 items takes at most 2 s of one core."""
    streams = list(draw_streams(10, missing=missing))
    earlier = stream_path(ReplyCounts(streams[0].categories, streams[0].counts[:-1]))
    start = process_time()
    for counts in streams:  # the time does not depend on what earlier looks gave
        stream_path(counts, earlier=earlier)
    assert process_time() - start < 2.0


@pytest.mark.parametrize("schedule", [*in_use_schedules()], ids=lambda s: f"{s.n} {s.what}")
def test_a_judge_in_use_that_is_good_enough_rarely_fails(schedule):
    """At the boundary, in at most alpha plus three standard errors of 40 schedules."""
    assert not simulate_claim(schedule, 40).too_often
