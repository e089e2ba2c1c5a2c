"""Schedules of five looks at 300 items, and how long looks and histories take."""

from __future__ import annotations

import random
import time

import msgspec
import numpy as np
import pytest
from support.look_schedules import Schedule, flawed, majority, other, replies, verdicts
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.options.concerns import Choices
from harness.revalidation.assessment import assess
from harness.revalidation.baseline_design import DetectionPower
from harness.revalidation.history import HistoryFile, read_history
from harness.revalidation.history_text import history_text
from harness.revalidation.metric_changes import Yardstick
from harness.revalidation.records import Baseline, JudgeLook, Look, StreamEvidence
from harness.revalidation.reply_categories import Category, StreamReplies, counts_of
from harness.stats.drift.stream_path import stream_path
from harness.tasks import load_task

pytestmark = pytest.mark.slow
N = 300
CHANGED = frozenset(random.Random(17).sample(range(N), N // 5))
OPTIONS = (Category("answered", "A"), Category("answered", "B"))


def partly(i: int) -> str:
    """The majority, but for 20 % of the items."""
    return other(majority(i)) if i in CHANGED else majority(i)


def test_five_looks_at_five_judges(tmp_path, stub):
    """Of five judges, those that change are found, and one that is as noisy as ever is not."""
    tables = {
        "changed": replies(N, majority, noise=0.1, seed=1),
        "noisy": replies(N, majority, noise=0.1, seed=2),
        "invalid": replies(N, majority, invalid=0.05, seed=3),
        "better": replies(N, flawed, noise=0.1, seed=4),
        "steady": replies(N, majority, seed=5),
    }
    schedule = Schedule(tmp_path, stub, tables, n=N)
    assert set(verdicts(schedule.look()).values()) == {"stable"}
    assert set(verdicts(schedule.look()).values()) == {"stable"}
    stub.set_table("changed", replies(N, partly, noise=0.1, seed=6))
    stub.set_table("invalid", replies(N, majority, invalid=0.2, seed=7))
    stub.set_table("better", replies(N, majority, noise=0.1, seed=8))
    for _ in range(3):
        look = schedule.look(code=None)
    judges = {judge["judge"]: judge for judge in look["judges"]}
    assert judges["changed"]["verdict"] in {"changed", "worse"}
    assert judges["changed"]["since"] == 3
    assert judges["invalid"]["verdict"] in {"changed", "worse"}
    assert "unreadable" in judges["invalid"]["what"]
    assert judges["better"]["verdict"] == "changed"
    assert judges["noisy"]["verdict"] == judges["steady"]["verdict"] == "stable"
    assert not look["all_alike"]


def test_a_change_of_all_judges_is_reported_as_one(tmp_path, stub):
    """Two judges that change in the same round have a common cause."""
    names = ("first", "second")
    schedule = Schedule(tmp_path, stub, {name: replies(N, majority) for name in names}, n=N)
    assert not schedule.look()["all_alike"]
    for name in names:
        stub.set_table(name, replies(N, partly))
    assert schedule.look(code=1)["all_alike"]


@pytest.mark.timeout(600)  # 50 s of CPU; other tests run at the same time
def test_200_unchanged_looks_give_no_alarm(tmp_path, stub):
    """A judge with 10 % noise is never called changed, nor does a round fail."""
    table = replies(60, majority, noise=0.1, seed=11, each=205)
    schedule = Schedule(tmp_path, stub, {"judge": table}, samples=5)
    for _ in range(200):
        assert invoke("revalidate", schedule.run, "--quiet").exit_code == 0
    looks = read_history(schedule.run / "history.jsonl").looks
    assert len(looks) == 200
    assert {judge.verdict for look in looks for judge in look.judges} == {"stable"}


def streams_of(n_items: int, n_judges: int, n_replies: int, seed: int) -> tuple[StreamReplies, ...]:
    rng = np.random.default_rng(seed)
    usual = np.arange(n_items) % 2

    def drawn() -> tuple[tuple[int, ...], ...]:
        flips = rng.random((n_items, n_replies)) < 0.1
        return tuple(map(tuple, np.where(flips, 1 - usual[:, None], usual[:, None]).tolist()))

    return tuple(
        StreamReplies(f"judge-{j}", "forced_choice", OPTIONS, drawn()) for j in range(n_judges)
    )


def baseline_of(items, n_judges: int) -> Baseline:
    streams = streams_of(len(items), n_judges, 5, 0)
    return Baseline(
        number=1,
        at="2026-01-01T00:00:00+00:00",
        items=tuple(items),
        n_items_in_run=len(items),
        hashes={},
        item_hashes=("",) * len(items),
        ratings_hash="",
        grammar_version=1,
        providers={},
        alpha=0.05,
        decision=None,
        power={stream.judge: DetectionPower(share=0.1) for stream in streams},
        in_use=("judge-0",),
        streams=streams,
    )


def look_at(yardstick, baseline, earlier, number, n_judges):
    look = Look(
        number=number,
        occasion=number,
        baseline=1,
        at="2026-01-08T00:00:00+00:00",
        judges=tuple(JudgeLook(judge=judge) for judge in baseline.judges),
        streams=streams_of(len(baseline.items), n_judges, 1, number),
    )
    return assess(baseline, earlier, look, yardstick)


def yardstick_of(folder, n: int) -> Yardstick:
    task = load_task(make_task_folder(folder / "task", n, response_sets=False))
    return Yardstick(task, task.items, Choices(), 0)


def short_looks(baseline: Baseline, n_looks: int) -> list[Look]:
    """Return looks with replies and evidence, which is all that later rounds read of them."""
    n_items, n_judges = len(baseline.items), len(baseline.streams)
    drawn = [streams_of(n_items, n_judges, 1, number) for number in range(1, n_looks + 1)]
    paths = {
        first.judge: stream_path(counts_of([first, *(look[j] for look in drawn)]))
        for j, first in enumerate(baseline.streams)
    }
    return [
        Look(
            number=number,
            occasion=number,
            baseline=1,
            at="2026-01-08T00:00:00+00:00",
            judges=(),
            evidence=tuple(
                StreamEvidence(
                    judge=stream.judge,
                    elicitation=stream.elicitation,
                    evidence=paths[stream.judge].looks[number - 1],
                )
                for stream in streams
            ),
            streams=streams,
        )
        for number, streams in enumerate(drawn, 1)
    ]


def test_look_100_at_1000_items_and_10_judges_is_analysed_within_2_s(tmp_path):
    """CPU time of tests, metrics, confidence sequences, decision and the judge in use."""
    yardstick = yardstick_of(tmp_path, 1000)
    baseline = baseline_of([item.id for item in yardstick.items], 10)
    looks = short_looks(baseline, 99)
    start = time.process_time()
    look = look_at(yardstick, baseline, looks, 100, 10)
    assert time.process_time() - start < 2.0
    assert all(judge.sequence.n == 1000 for judge in look.judges)
    assert look.in_use.log_e_human is not None


def test_a_history_of_500_looks_and_10_judges_prints_within_2_s(tmp_path):
    """CPU time from the file to the text, with the replies to 300 items in every round."""
    yardstick = yardstick_of(tmp_path, N)
    baseline = baseline_of([item.id for item in yardstick.items], 10)
    look = look_at(yardstick, baseline, [], 1, 10)
    with HistoryFile.open(tmp_path) as file:
        file.append([baseline])
        for number in range(1, 501):
            file.append([msgspec.structs.replace(look, number=number)])
    start = time.process_time()
    text = history_text(read_history(file.path))
    assert time.process_time() - start < 2.0
    assert text.count("\n") > 5000
