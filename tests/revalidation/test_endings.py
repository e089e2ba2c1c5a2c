"""How looks end: JSON in every ending, nothing printed unless something is wrong."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from support.look_schedules import Schedule, majority, other, replies
from support.processes import invoke, start_harness

from harness.revalidation.history import FILE, read_history

N = 20
FACTS = {"run", "exit_code", "failed", "verdicts", "sentences", "warnings"}


@pytest.fixture
def schedule(tmp_path, stub):
    return Schedule(tmp_path, stub, {"judge": replies(N, majority)}, samples=3, n=N)


def flip(schedule):
    schedule.stub.set_table("judge", replies(N, lambda i: other(majority(i))))


def interrupted(schedule, *arguments):
    """Interrupt a command while it waits for the fourth reply."""
    asked = schedule.stub.stats()["requests"]
    schedule.stub.hold_after(3)
    process = start_harness("revalidate", *arguments, schedule.run, cwd=schedule.folder)
    while schedule.stub.stats()["requests"] < asked + 4 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    lines = [process.stderr.readline()]
    while lines[-1] and "Waiting for" not in lines[-1]:
        lines.append(process.stderr.readline())
    schedule.stub.release()
    stdout, stderr = process.communicate()
    return stdout, "".join(lines) + stderr, process.returncode


@pytest.mark.slow
def test_json_is_json_in_every_ending(schedule, tmp_path):
    """A look, one that is not due, an excluded and an accepted one, and an error."""
    run = schedule.run
    for arguments, code, verdicts in (
        ((run,), 0, {"judge": "stable"}),
        ((run, "--if-due", "week"), 0, {"judge": "stable"}),
        (("exclude", 1, run, "--because", "outage", "--dry-run"), 0, {"judge": "not asked"}),
        (("rebase", 1, run), 0, {}),
        (("rebase", 7, run), 2, {}),
        ((run, "--judges", "nobody"), 2, {}),
        ((tmp_path / "nothing",), 2, {}),
        ((run, "--fail-on", "worst"), 2, {}),
        (("exclude", 1, run), 2, {}),
        ((run, "--notify", "file:///x"), 2, {}),
    ):
        ended = invoke("revalidate", *arguments, "--json")
        facts = json.loads(ended.stdout)
        assert facts.keys() >= FACTS
        assert facts["exit_code"] == code
        assert (facts["verdicts"], bool(facts["failed"])) == (verdicts, code == 2)
        assert facts["sentences"]
        if code == 2 and arguments != ("exclude", 1, run):  # which the command line refuses
            assert facts["failed"] == [str(ended.exception)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--samples", "many"), "Invalid value for '--samples'"),
        (("--if-due", "year"), "Invalid value for '--if-due'"),
        (("--wrong",), "No such option: --wrong"),
    ],
)
def test_a_word_that_the_command_line_refuses_printed_no_json(tmp_path, words, said):
    """What a script reads is JSON there, too; without --json stdout stays empty."""
    for as_json in (True, False):
        ended = invoke("revalidate", tmp_path, *words, *["--json"] * as_json)
        assert ended.exit_code == 2
        facts = json.loads(ended.stdout) if as_json else {}
        assert (facts.keys() >= FACTS) is as_json
        assert not as_json or said in facts["failed"][0]
        assert as_json or ended.stdout == ""


def test_errors_after_an_option_named_no_run(schedule):
    """The run is in the JSON wherever it stands, and texts are those of stderr."""
    ended = invoke("revalidate", "--json", schedule.run, "--if-due", "year")
    facts = json.loads(ended.stdout)
    assert facts["run"] == str(schedule.run)
    assert facts["failed"] == [
        "Invalid value for '--if-due': 'year' is not one of 'day', 'week', 'month'."
    ]


@pytest.mark.slow
def test_quiet_prints_nothing_unless_something_is_wrong(schedule):
    """Neither where all is well, nor where no round is due; an alarm and an outage are printed."""
    run = schedule.run
    for arguments in ((run,), (run, "--if-due", "week"), ("exclude", 1, run, "--because", "x")):
        ended = invoke("revalidate", *arguments, "--quiet")
        assert (ended.exit_code, ended.output, ended.stderr) == (0, "", "")
    flip(schedule)
    for _ in range(2):
        ended = invoke("revalidate", run, "--quiet")
    assert ended.exit_code == 1
    assert "judge: a different judge since" in ended.stdout
    assert "judge is worse" in ended.stderr
    waiting = invoke("revalidate", run, "--quiet", "--if-due", "week")
    assert (waiting.exit_code, waiting.stdout[:19]) == (1, "No round is due yet")
    assert "judge: a different judge since" in waiting.stdout
    schedule.stub.set_table("judge", {}, fault="401")
    silent = " ".join(invoke("revalidate", run, "--quiet").stdout.split())
    assert "not assessed now: 0 of 20 replies are usable" in silent


@pytest.mark.slow
def test_an_interrupted_look_is_json_and_goes_on(tmp_path, stub):
    """Exit code 130, no verdicts; the same command makes the round, and asks what is left."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N, concurrency=2)
    stdout, stderr, code = interrupted(schedule, "--json")
    facts = json.loads(stdout)
    assert (code, facts["exit_code"], facts["verdicts"]) == (130, 130, {})
    assert facts["sentences"] == ["The round was stopped."]
    assert "Resume with: harness revalidate" in stderr
    assert schedule.look()["number"] == 1


def test_an_interrupt_before_anything_was_asked_printed_no_json(schedule):
    """While a file is read that never ends, say; nothing was asked, and the exit code is 130."""
    pipe = schedule.folder / "judges.pipe"
    os.mkfifo(pipe)
    asked = schedule.stub.stats()["requests"]
    process = start_harness(
        *("revalidate", schedule.run, "--json", "--judges-file", pipe), cwd=schedule.folder
    )
    state = Path(f"/proc/{process.pid}/stat")
    with pipe.open("wb"):  # as soon as it is read
        while state.read_text().split()[2] != "S":
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate()
    facts = json.loads(stdout)
    assert (process.returncode, facts["exit_code"], facts["failed"]) == (130, 130, ["interrupted"])
    assert schedule.stub.stats()["requests"] == asked


@pytest.mark.slow
def test_an_interrupted_acceptance_goes_on(tmp_path, stub):
    """What was received is not asked again, and nothing is accepted before all is there."""
    schedule = Schedule(
        tmp_path, stub, {"judge": replies(N, majority)}, n=N, concurrency=2, samples=3
    )
    flip(schedule)
    for _ in range(2):
        schedule.look(code=None)
    asked = stub.stats()["requests"]
    arguments = ("rebase", 1, "--yes", "--json")
    stdout, stderr, code = interrupted(schedule, *arguments)
    assert (code, json.loads(stdout)["exit_code"]) == (130, 130)
    assert f"revalidate rebase 1 {schedule.run} --yes" in stderr
    assert read_history(schedule.run / FILE).baseline.number == 1
    done = invoke("revalidate", *arguments, schedule.run)
    assert json.loads(done.stdout)["exit_code"] == 0
    history = read_history(schedule.run / FILE)
    assert (history.baseline.number, history.baseline.n_replies) == (2, 3)
    missing = 3 - sum(look.number >= history.baseline.accepted for look in history.looks)
    assert asked + missing * N <= stub.stats()["requests"] <= asked + missing * N + 2


@pytest.mark.slow
def test_80_percent_of_the_items_are_enough(tmp_path, stub):
    """With 16 of 20 items a round compares, with 15 it is not comparable and fails."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N)
    items = tmp_path / "task" / "items.jsonl"
    content = items.read_text("utf-8")
    for n, verdict, code in ((4, "stable", 0), (5, "not comparable", 1)):
        edited = content
        for i in range(n):
            edited = edited.replace(f"number {i}.", f"number {i}, edited.")
        items.write_text(edited, "utf-8")
        look = schedule.look(code=code)
        assert (look["verdicts"], len(look["left_out"])) == ({"judge": verdict}, n)
