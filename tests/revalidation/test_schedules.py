"""Schedules of rounds against a server whose replies stand in tables."""

from __future__ import annotations

import json
import re
import signal
import time
from collections import Counter
from contextlib import contextmanager

import pytest
from support.look_schedules import (
    JUDGE,
    Schedule,
    figure,
    flawed,
    majority,
    other,
    replies,
    verdicts,
)
from support.processes import invoke, start_harness
from support.task_folders import make_task_folder

from harness.files.checksummed_log import with_checksum, without_checksum
from harness.judging.storage.verdict_log import read_log
from harness.revalidation.history import FILE, read_history


@pytest.mark.slow
def test_a_judge_that_changed_is_told_from_a_noisy_one(tmp_path, stub):
    """After a quarter of its answers flipped, a judge is worse; one whose replies are as noisy as
    before is stable, and one that got better is changed but not worse."""
    tables = {
        "spoilt": replies(60, majority, seed=1),
        "noisy": replies(60, majority, noise=0.15, seed=2),
        "better": replies(60, flawed, seed=3),
    }
    schedule = Schedule(tmp_path, stub, tables, samples=3)
    assert set(verdicts(schedule.look()).values()) == {"stable"}
    stub.set_table("spoilt", replies(60, flawed), model="spoilt-2", fingerprint="fp_2")
    stub.set_table("better", replies(60, majority))
    schedule.look(code=None)
    look = schedule.look("--fail-on", "worse", code=1)
    assert verdicts(look) == {"spoilt": "worse", "noisy": "stable", "better": "changed"}
    judges = {judge["judge"]: judge for judge in look["judges"]}
    assert judges["spoilt"]["since"] == judges["better"]["since"] == 2
    assert judges["spoilt"]["provider"]["models"] == ["spoilt-2"]
    assert judges["spoilt"]["provider"]["fingerprints"] == ["fp_2"]
    assert figure(look, "spoilt", "js_divergence(s/s)")["difference"] > 0
    assert figure(look, "better", "js_divergence(s/s)")["difference"] < 0
    flips = figure(look, "spoilt", "flips")
    assert flips["look"] == pytest.approx(0.25)
    assert flips["n"] == 60
    printed = invoke("history", schedule.run).stdout
    assert "spoilt-2-2026-01-01" not in printed
    assert "spoilt-2 *" in printed
    assert "spoilt agrees less" in str(invoke("revalidate", "rebase", 2, schedule.run).exception)
    accepted = invoke("revalidate", "rebase", 2, schedule.run, "--yes")
    assert accepted.stdout.startswith("Baseline 2 of this run contains the replies of ")
    assert "requested again: 3 replies per item" in accepted.stdout
    assert not {"changed", "worse"} & set(verdicts(schedule.look()).values())


@pytest.mark.slow
def test_a_rate_of_unreadable_replies_is_named(tmp_path, stub):
    """A judge whose replies become unreadable more often changed in that, and a limit fails."""
    before = replies(100, majority, invalid=0.05, seed=5)
    schedule = Schedule(tmp_path, stub, {"judge": before}, samples=3, n=100)
    stub.set_table("judge", replies(100, majority, invalid=0.6, seed=6))
    look = schedule.look("--fail-on", "outcome-rate>0.2", code=1)
    [judge] = look["judges"]
    assert judge["verdict"] == "changed"
    assert "unreadable" in judge["what"]
    invalid = figure(look, "judge", "invalid")
    assert (invalid["look"] > 0.2, invalid["n"]) == (True, 100)


@contextmanager
def edited(file, old, new):
    """Replace a text in a file for a while."""
    content = file.read_text("utf-8")
    assert old in content
    file.write_text(content.replace(old, new, 1), "utf-8")
    yield
    file.write_text(content, "utf-8")


@pytest.mark.slow
def test_our_own_changes_make_rounds_incomparable(tmp_path, stub):
    """Another prompt, question or parameter is named; nothing is asked, and the command fails."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    asked = stub.stats()["requests"]
    template = schedule.run / "prompts" / "forced_choice.txt"
    changes = {
        "prompts": (template, "[user]", "[user]\nThink hard."),
        "question": (tmp_path / "task" / "task.yaml", "the comment", "this comment"),
    }
    for cause, (file, old, new) in changes.items():
        with edited(file, old, new):
            look = schedule.look(code=1)
        assert verdicts(look) == {"judge": "not comparable"}
        assert look["failed"] == ["judge is not comparable"]
        assert len(look["causes"]) == 1
        assert cause in look["causes"][0]
    file = tmp_path / "judges.yaml"
    content = file.read_text("utf-8")
    file.write_text(content + "    params: {temperature: 0.5}\n", "utf-8")
    look = schedule.look("--judges-file", file, code=1)
    assert verdicts(look) == {"judge": "not comparable"}
    assert "its params have changed" in look["judges"][0]["reason"]
    assert stub.stats()["requests"] == asked
    file.write_text(content, "utf-8")
    assert verdicts(schedule.look()) == {"judge": "stable"}


@pytest.mark.slow
def test_an_item_that_changed_is_left_out_and_the_others_are_compared(tmp_path, stub):
    """A corrected text leaves one item out by name; a removed one too; below 80 % nothing is."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    asked = stub.stats()["requests"]
    items = tmp_path / "task" / "items.jsonl"
    with edited(items, "number 7.", "number seven."):
        look = schedule.look()
        printed = invoke("revalidate", schedule.run).stdout
    assert verdicts(look) == {"judge": "stable"}
    assert look["left_out"] == {"i7": "the item's content has changed"}
    assert figure(look, "judge", "flips")["n"] == 19
    assert "1 of 20 items is left out. i7: the item's content has changed." in printed
    assert stub.stats()["requests"] == asked + 2 * 19
    assert schedule.look()["left_out"] == {}
    for name in ("items", "ratings"):
        file = items.with_name(f"{name}.jsonl")
        rows = [
            row for row in file.read_text("utf-8").splitlines(keepends=True) if '"i3"' not in row
        ]
        file.write_text("".join(rows), "utf-8")
    assert schedule.look()["left_out"] == {"i3": "the item is no longer in the task"}
    content = items.read_text("utf-8")
    items.write_text(content.replace("number 1", "number one"), "utf-8")  # 1 and 10 to 19
    look = schedule.look(code=1)
    assert verdicts(look) == {"judge": "not comparable"}
    assert "only 8 of 20 items are unchanged" in look["causes"][0]


@pytest.mark.slow
def test_ratings_and_provenance_never_end_a_watch(tmp_path, stub):
    """Other ratings are said, another source line is not; the judge's answers are compared."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    ratings = tmp_path / "task" / "ratings.jsonl"
    added = json.dumps({"item": "i0", "rater": "another", "value": "A"})
    for old, new in (('"value": "A"', '"value": "B"'), ("{", f"{added}\n{{")):
        with edited(ratings, old, new):
            look = schedule.look()
        assert verdicts(look) == {"judge": "stable"}
        assert look["other_ratings"]
        assert not look["left_out"]
    with (tmp_path / "task" / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("source: another address\n")
    look = schedule.look()
    assert verdicts(look) == {"judge": "stable"}
    assert not look["other_ratings"]


@pytest.mark.slow
def test_an_alarm_stays_open_until_it_is_accepted(tmp_path, stub):
    """It stays when items that raised it are left out, and when no round is due."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(40, majority)}, n=40)
    schedule.look()
    stub.set_table("judge", replies(40, flawed))
    schedule.look(code=None)
    assert verdicts(schedule.look(code=1)) == {"judge": "worse"}
    stub.set_table("judge", replies(40, majority))
    for left_out in ("number 4.", "number 8."):
        with edited(tmp_path / "task" / "items.jsonl", left_out, "another text."):
            look = schedule.look(code=1)
        assert verdicts(look) == {"judge": "worse"}
    asked = stub.stats()["requests"]
    waiting = schedule.look("--if-due", "week", code=1)
    assert (waiting["verdicts"], waiting["failed"]) == ({"judge": "worse"}, ["judge is worse"])
    assert waiting["due_in_s"] > 0
    assert stub.stats()["requests"] == asked
    invoke("revalidate", "rebase", 4, schedule.run, "--yes")
    assert schedule.look("--if-due", "week")["failed"] == []


@pytest.mark.slow
def test_an_alarm_of_items_that_are_left_out_was_told_of_the_others(tmp_path, stub):
    """The items that are left answer as before: the alarm stays, with what was said of it."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(40, majority)}, n=40)
    schedule.look()
    stub.set_table("judge", replies(40, lambda i: other(majority(i)) if i < 6 else majority(i)))
    for _ in range(2):
        raised = schedule.look(code=None)
    assert verdicts(raised) == {"judge": "changed"}
    said = raised["judges"][0]["what"]
    assert said.startswith("6 of 40 answers changed")
    items = tmp_path / "task" / "items.jsonl"
    items.write_text(re.sub(r"number (?=[0-5]\.)", "Number ", items.read_text("utf-8")), "utf-8")
    for _ in range(2):
        look = schedule.look(code=1)
        assert len(look["left_out"]) == 6
        assert verdicts(look) == {"judge": "changed"}
        assert look["judges"][0]["what"] == f"{said}, on items that are now partly left out"


def test_a_total_outage_leaves_a_line_and_is_due_again_at_once(tmp_path, stub):
    """The look is in the history, ends with 3, and the next call asks although one is not due."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    stub.set_table("judge", {}, fault="401")
    look = schedule.look(code=3)
    assert verdicts(look) == {"judge": "not assessed"}
    assert look["number"] == 2
    stub.set_table("judge", replies(20, majority))
    look = schedule.look("--if-due", "week")
    assert (look["number"], verdicts(look)) == (3, {"judge": "stable"})


def test_a_clock_that_ran_ahead_was_not_said(tmp_path, stub):
    """The next call asks although the last round is younger than a week, and names both clocks."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    history = schedule.run / "history.jsonl"
    *lines, last = history.read_bytes().splitlines(keepends=True)
    record = json.loads(without_checksum(last)) | {"at": "2999-01-01T00:00:00+00:00"}
    history.write_bytes(b"".join([*lines, with_checksum(json.dumps(record).encode())]))
    ended = invoke("revalidate", schedule.run, "--if-due", "week")
    assert ended.exit_code == 0
    assert "Round 2: 20 items" in ended.stdout
    assert "Round 1 is dated 2999-01-01T00:00:00+00:00, which is ahead" in ended.stderr


@pytest.mark.slow
def test_a_judge_without_usable_replies_is_worse(tmp_path, stub):
    """All its replies are unreadable: it changed, and whatever the metric it is worse."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(40, majority)}, n=40)
    schedule.look()
    stub.set_table("judge", replies(40, majority, invalid=1.0))
    assert verdicts(schedule.look(code=1)) == {"judge": "worse"}


@pytest.mark.slow
def test_more_items_than_before_leave_the_anchor_comparable(tmp_path, stub):
    """A task that grows is the same for the items of the baseline; ten cannot show much."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look("--anchor", 10)
    for name, row in {
        "items": {"id": "i20", "text": "More."},
        "ratings": {"item": "i20", "rater": "r0", "value": "A"},
    }.items():
        with (tmp_path / "task" / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    assert verdicts(schedule.look()) == {"judge": "underpowered"}
    assert "An anchor of 1" in invoke("revalidate", schedule.run).stdout


@pytest.mark.slow
def test_a_judge_that_is_down_is_not_assessed_and_the_others_are(tmp_path, stub):
    """The look is recorded, and the command ends with 3."""
    tables = {name: replies(20, majority) for name in ("up", "down")}
    schedule = Schedule(tmp_path, stub, tables, n=20)
    schedule.look()
    stub.set_table("down", {}, fault="401")
    look = schedule.look("--fail-on", "changed", code=3)
    assert verdicts(look) == {"up": "stable", "down": "not assessed"}
    assert look["number"] == 2
    stub.set_table("down", replies(20, majority))
    assert set(verdicts(schedule.look()).values()) == {"stable"}


@pytest.mark.slow
def test_a_baseline_reply_more_is_asked_on_an_occasion_of_its_own(tmp_path, stub):
    """Fresh replies: none is taken from the cache that the run filled."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, samples=1, n=20)
    asked = stub.stats()["requests"]
    look = schedule.look("--baseline-replies", 3)
    assert stub.stats()["requests"] == asked + 20 * 2 + 20
    assert read_history(schedule.run / FILE).baseline.streams[0].n_replies == 60
    assert look["occasion"] == 2
    refused = invoke("revalidate", schedule.run, "--anchor", 5)
    assert "--anchor 5: the baseline already has a fixed value, 20" in str(refused.exception)


@pytest.mark.slow
def test_an_accepted_baseline_gets_more_replies_before_its_first_look(tmp_path, stub):
    """One reply per item is completed on an occasion of its own, once; the round follows."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    accepted = invoke("revalidate", "rebase", 1, schedule.run)
    assert "1 reply per item" in accepted.stdout
    assert "--baseline-replies 5" in accepted.stdout
    asked = stub.stats()["requests"]
    look = schedule.look("--baseline-replies", 5)
    assert stub.stats()["requests"] == asked + 20 * 4 + 20
    assert (look["number"], look["baseline"], look["occasion"]) == (2, 2, 3)
    assert read_history(schedule.run / FILE).baseline.streams[0].n_replies == 100
    refused = invoke("revalidate", schedule.run, "--baseline-replies", 6)
    assert "--baseline-replies 6: the baseline already has a fixed value, 5" in str(
        refused.exception
    )
    assert schedule.look("--baseline-replies", 5)["number"] == 3
    history = invoke("history", schedule.run).stdout
    assert history.count("baseline 2 of") == 1
    assert "from round 1 on, 20 items, 5 replies per item" in history


@pytest.mark.slow
def test_a_seed_is_named_when_the_baseline_is_fixed(tmp_path, stub):
    """Replies that share a seed are copies; it is said once."""
    make_task_folder(tmp_path / "task", 10, response_sets=False)
    stub.set_table("judge", replies(10, majority))
    names = {"name": "judge", "url": stub.url(table="judge"), "samples": 2, "concurrency": 4}
    judges = f"judges:\n{JUDGE.format(**names)}    params: {{seed: 7}}\n"
    (tmp_path / "judges.yaml").write_text(judges, "utf-8")
    invoke(
        *("run", "--task", tmp_path / "task", "--judges", "judge", "--out", tmp_path / "runs"),
        *("--judges-file", tmp_path / "judges.yaml", "--elicitation", "forced_choice", "--quiet"),
    )
    [run] = (tmp_path / "runs").iterdir()
    words = ("revalidate", run, "--judges-file", tmp_path / "judges.yaml")
    first, second = invoke(*words), invoke(*words)
    assert first.stderr.count("judge: its parameters contain a seed") == 1
    assert "contain a seed" not in second.stderr


@pytest.mark.slow
def test_no_replies_are_added_to_a_baseline_of_other_prompts(tmp_path, stub):
    """They would differ for another reason than the judge; nothing is asked."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)
    schedule.look()
    invoke("revalidate", "rebase", 1, schedule.run)
    asked = stub.stats()["requests"]
    template = schedule.run / "prompts" / "forced_choice.txt"
    template.write_text(template.read_text("utf-8") + "\nThink hard.\n", "utf-8")
    refused = invoke("revalidate", schedule.run, "--baseline-replies", 5)
    assert "the baseline can't get any more replies, because the prompts have changed" in str(
        refused.exception
    )
    assert stub.stats()["requests"] == asked


@pytest.mark.slow
def test_kill_in_the_middle_of_a_look_repeats_only_what_was_in_flight(tmp_path, stub):
    """After kill -9, the same command goes on with the same round."""
    tables = {"judge": replies(60, majority)}
    schedule = Schedule(tmp_path, stub, tables, ms=20, concurrency=4)
    asked = stub.stats()["requests"]
    process = start_harness("revalidate", schedule.run, cwd=tmp_path)
    log = schedule.run / "looks" / "0001" / "verdicts.jsonl"
    end = time.monotonic() + 30
    while not log.exists() or log.read_bytes().count(b"\n") < 20:
        assert time.monotonic() < end
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    written = log.read_bytes().split(b"\n")[:-1]
    look = schedule.look()
    assert look["number"] == look["occasion"] == 1
    assert log.read_bytes().split(b"\n")[: len(written)] == written
    assert len(read_log(log).final) == 60
    assert asked + 60 <= stub.stats()["requests"] <= asked + 60 + 4


@pytest.mark.slow
def test_of_two_schedules_at_once_the_second_asks_nothing(tmp_path, stub):
    """The lock ends with its process; the other is refused with one line."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(40, majority)}, n=40, ms=20)
    asked = stub.stats()["requests"]
    processes = [start_harness("revalidate", schedule.run, "-q", cwd=tmp_path) for _ in range(2)]
    ends = [(process.communicate()[1], process.returncode) for process in processes]
    assert Counter(code for _, code in ends) == {0: 1, 2: 1}
    assert any("another process is re-validating" in err for err, _ in ends)
    assert stub.stats()["requests"] == asked + 40
    assert (schedule.run / "history.jsonl").read_bytes().count(b"\n") == 2


@pytest.mark.slow
def test_an_exported_baseline_is_revalidated_on_another_machine(tmp_path, stub, monkeypatch):
    """The folder holds no text of an item or reply, and its history grows as that of a run."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(40, majority, noise=0.1)}, n=40)
    target = tmp_path / "elsewhere" / "baseline"
    result = invoke("revalidate", "export", schedule.run, target, "--anchor", 20)
    assert result.exit_code == 0, result.output
    monkeypatch.chdir(target.parent)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "other user"))
    arguments = ("revalidate", target, "--json", "--quiet", "--task", tmp_path / "task")
    refused = invoke(*arguments)
    assert "Nothing was sent" in str(refused.exception)
    look = invoke(*arguments, "--judges-file", tmp_path / "judges.yaml")
    assert verdicts(json.loads(look.stdout)) == {"judge": "underpowered"}
    for file in target.rglob("*"):
        assert file.is_dir() or b"comment number" not in file.read_bytes()
    assert not (target / "looks" / "0001").exists()
    assert (target / "history.jsonl").read_bytes().count(b"\n") == 2
    (tmp_path / "task").rename(tmp_path / "moved")
    missing = invoke("revalidate", target, "--judges-file", tmp_path / "judges.yaml")
    assert "Pass the task that has them: --task" in str(missing.exception)
