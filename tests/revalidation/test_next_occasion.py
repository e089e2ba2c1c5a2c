"""A look continues only what began hours ago, and has the date of its replies."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from support.each_case import fast_first
from support.judge_runs import n_lines
from support.look_schedules import (
    Schedule,
    aged,
    figure,
    majority,
    other,
    replies,
    text_of,
    verdicts,
)
from support.processes import call_harness, start_harness

from harness.judging.storage.verdict_log import read_log
from harness.runs.run_folder import RunFolder

N = 20
N_BEFORE = 12  # replies that an interrupted round receives
WEEK = ("--if-due", "week")


@pytest.fixture
def schedule(tmp_path, stub):
    return Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N, concurrency=4)


def interrupt(schedule, *arguments) -> None:
    """Start a round and kill it when it has some of its replies."""
    stub, log = schedule.stub, schedule.run / "looks" / "0001" / "verdicts.jsonl"
    stub.hold_after(N_BEFORE)
    process = start_harness("revalidate", schedule.run, *arguments, cwd=schedule.folder)
    while not log.exists() or n_lines(log) < N_BEFORE:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate()
    stub.release()


def look_again(schedule, *arguments, code=0):
    """Look by the command line; return the round, what stderr said, and the number of requests."""
    before = schedule.stub.stats()["requests"]
    ended = call_harness("revalidate", schedule.run, "--json", *arguments, cwd=schedule.folder)
    assert ended.returncode == code, ended.stderr
    n_requests = schedule.stub.stats()["requests"] - before
    return json.loads(ended.stdout), ended.stderr, n_requests


def days_ago(n: int) -> str:
    return (datetime.now(UTC) - timedelta(days=n)).isoformat()[:10]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [WEEK, ()])
@pytest.mark.parametrize("days", [7, 30])
def test_interrupted_look_isnt_continued_weeks_later(schedule, arguments, days):
    """Its replies are neither used nor lost: the new round sends every request, and says why."""
    interrupt(schedule, *arguments)
    aged(schedule.run / "looks" / "0001", days)
    look, said, n_requests = look_again(schedule, *arguments)
    assert n_requests == N
    assert f"The round that began on {days_ago(days)} was interrupted." in said
    assert (look["occasion"], figure(look, "judge", "answered")["n"]) == (2, N)
    assert look["at"][:10] == days_ago(0)
    assert len(read_log(schedule.run / "looks" / "0001" / "verdicts.jsonl").final) == N_BEFORE


def test_interrupted_look_is_continued_within_hours(schedule):
    """No received reply is paid for again."""
    interrupt(schedule)
    aged(schedule.run / "looks" / "0001", 0.75)
    look, said, n_requests = look_again(schedule)
    assert n_requests == N - N_BEFORE
    assert "interrupted" not in said
    assert (look["occasion"], figure(look, "judge", "answered")["n"]) == (1, N)


@pytest.mark.slow
def test_look_dated_in_the_future_isnt_continued(schedule):
    """If the clock was set back, nobody knows how old its replies are."""
    interrupt(schedule)
    aged(schedule.run / "looks" / "0001", -30)
    _, said, n_requests = look_again(schedule)
    assert n_requests == N
    assert f"looks/0001 is dated {days_ago(-30)}, which is ahead of this machine's clock" in said


@pytest.mark.slow
def test_complete_look_that_wasnt_recorded_keeps_its_date(schedule):
    """A full disk ended it, say: its replies make a round of their day, today's follows."""
    schedule.look()
    history = schedule.run / "history.jsonl"
    baseline, _ = history.read_bytes().splitlines(keepends=True)
    history.write_bytes(baseline)
    folder = schedule.run / "looks" / "0001"
    RunFolder.open(folder).update(state="asked")
    aged(folder, 30)
    look, said, n_requests = look_again(schedule, *WEEK)
    assert n_requests == N
    assert f"Round 1 is recorded with the date of its replies, {days_ago(30)}." in said
    assert (look["number"], look["at"][:10]) == (2, days_ago(0))
    [_, first, _] = history.read_bytes().splitlines()
    assert json.loads(first)["at"][:10] == days_ago(30)


def without(schedule) -> None:
    (schedule.run / "history.jsonl").unlink()


def cut_short(schedule) -> None:
    file = schedule.run / "history.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


def without_looks(schedule) -> None:
    file = schedule.run / "history.jsonl"
    file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "lost"), [(without, "2 rounds"), (cut_short, "1 round"), (without_looks, "2 rounds")]
)
def test_lost_history_doesnt_make_old_replies_new(schedule, edit, lost):
    """Even minutes later: each round sends all of its requests, and says which are missing."""
    for _ in range(2):
        schedule.look()
    edit(schedule)
    look, said, n_requests = look_again(schedule, code=3)
    assert n_requests == N
    warning = f"Warning: history.jsonl doesn't list {lost} of this run (newest: looks/0002"
    assert warning in said
    assert [line.startswith(warning) for line in look["warnings"]] == [True]
    assert look["occasion"] == 3
    assert look["sentences"][0].startswith(warning)


@pytest.mark.slow
def test_lost_alarm_is_printed_until_the_next_look(schedule):
    """Under --quiet, too, and by calls when no round is due: it ended with 0 and was forgotten."""
    schedule.stub.set_table("judge", replies(N, lambda i: other(majority(i))))
    schedule.look(code=1)
    schedule.stub.set_table("judge", replies(N, majority))
    without_looks(schedule)
    words = ("revalidate", schedule.run, "--quiet", *WEEK)
    looked = call_harness(*words, cwd=schedule.folder)
    assert looked.returncode == 3
    assert looked.stderr.startswith("Warning: history.jsonl doesn't list 1 round of this run")
    assert "Warning" not in looked.stdout
    not_due = call_harness(*words, cwd=schedule.folder)
    assert not_due.returncode == 3
    assert "No round is due yet" in not_due.stdout
    assert "Warning: history.jsonl doesn't list 1 round of this run" in not_due.stdout
    schedule.look()


@pytest.mark.slow
def test_look_without_its_manifest_isnt_continued(schedule):
    """Its log alone doesn't show when it was made."""
    schedule.look()
    without(schedule)
    (schedule.run / "looks" / "0001" / "manifest.json").unlink()
    _, said, n_requests = look_again(schedule)
    assert n_requests == N
    assert "looks/0001 has replies but no readable manifest.json" in said


@pytest.mark.slow
def test_a_history_of_a_different_run_is_rejected(schedule, tmp_path, stub):
    """Before anything is sent, with a line that says whose it is."""
    schedule.look()
    history = (schedule.run / "history.jsonl").read_bytes()
    (tmp_path / "second").mkdir()
    second = Schedule(tmp_path / "second", stub, {"far": replies(N, majority)}, n=N)
    (second.run / "history.jsonl").write_bytes(history)
    before = stub.stats()["requests"]
    refused = call_harness("revalidate", second.run, cwd=second.folder)
    assert refused.returncode == 2
    assert "the history belongs to a run with different judges (judge)" in refused.stderr
    assert stub.stats()["requests"] == before


@pytest.mark.parametrize("n_edited", fast_first(1, [1, N // 2]))
def test_edited_texts_of_the_run_are_noticed_at_every_look(schedule, n_edited):
    """A few edited items are left out and named; if there are more, nothing is compared."""
    schedule.look()
    file = schedule.run / "task" / "items.jsonl"
    text = file.read_text("utf-8")
    for i in range(n_edited):
        text = text.replace(f'"{text_of(i)}"', f'"{text_of(i)} It was edited."')
    file.write_text(text, "utf-8")
    for _ in range(2):
        if n_edited == 1:
            look = schedule.look()
            assert look["left_out"] == {"i0": "the item's content has changed"}
            assert verdicts(look) == {"judge": "stable"}
        else:
            assert verdicts(schedule.look(code=1)) == {"judge": "not comparable"}


def test_edited_option_of_the_run_is_noticed_at_every_look(schedule):
    """Judges aren't asked a question that differs from the baseline's."""
    schedule.look()
    file = schedule.run / "task" / "task.yaml"
    file.write_text(file.read_text("utf-8").replace("Toxic", "Rude"), "utf-8")
    before = schedule.stub.stats()["requests"]
    for _ in range(2):
        look = schedule.look(code=1)
        assert verdicts(look) == {"judge": "not comparable"}
        assert look["causes"][0].startswith("the task's question or options have changed")
    assert schedule.stub.stats()["requests"] == before
