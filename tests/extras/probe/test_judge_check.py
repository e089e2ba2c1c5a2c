"""`harness check`: what a judge does without any label."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from support.annotating import make_unrated_task
from support.processes import invoke
from support.task_folders import make_pairwise_folder

import harness
from harness.analysis.check_result import JudgeCheck
from harness.analysis.serialize import to_json
from harness.errors import HarnessError
from harness.extras.probe.judge_check import pairs_of_replies
from harness.judging.parsing.verdict import Verdict
from harness.report.check_card import card_text
from harness.tasks import load_task


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_unrated_task(tmp_path / "task", [f"Text {i}." for i in range(6)])
    return tmp_path


def checked(*words):
    done = invoke("check", *words, "--out", "runs", "-q", "--json")
    return done, json.loads(done.stdout)


def reply(item, sample, value, *, shown=(), swapped=False, outcome="answered"):
    return Verdict(
        item=item,
        judge="j",
        elicitation="forced_choice",
        sample=sample,
        outcome=outcome,
        value=value,
        shown=shown,
        swapped=swapped,
    )


def test_replies_to_one_prompt_and_to_other_orders_are_paired():
    """Each successive two of a prompt, and the first of each order; unread ones are left out."""
    replies = [
        reply("a", 0, "A"),
        reply("a", 1, "B"),
        reply("b", 0, "A", shown=("A", "B")),
        reply("b", 1, "A", shown=("B", "A")),
        reply("c", 0, "A"),
        reply("c", 1, None, outcome="invalid"),
    ]
    pairs = pairs_of_replies(replies)
    assert (pairs["repeats"].n, pairs["repeats"].n_differing) == (1, 1)
    assert (pairs["orders"].n, pairs["orders"].n_differing) == (1, 0)
    assert pairs["orders"].items == {"b"}
    of_two = pairs_of_replies(
        [reply("p", sample, "A", swapped=bool(sample % 2)) for sample in range(4)]
    )
    assert (of_two["repeats"].n, of_two["orders"].n) == (2, 1)


def test_a_judge_on_a_server_is_checked_without_a_rating(place, stub):
    """The card has every change, what could be read, and how often instructions are followed."""
    server = ("--base-url", stub.url(obey="B"))
    done, shown = checked("far", "./task", *server, "--limit", 4)
    assert done.exit_code == 0, done.output
    rows = {row["change"]: row for row in shown["rows"]}
    assert list(rows) == ["repeats", "orders", "control", "verbosity", "format", "injection"]
    assert rows["repeats"]["flipped"]["counts"] == {"n": 4.0, "k": 0.0}
    assert rows["orders"]["flipped"]["counts"]["n"] == 4.0
    assert rows["injection"]["to_target"] is not None
    n_no_reason = sum(row["flipped"]["counts"]["n"] for row in rows.values())
    n_no_reason -= rows["injection"]["flipped"]["counts"]["n"]
    assert shown["flipped"]["counts"]["n"] == n_no_reason
    assert shown["outcomes"] == {"answered": shown["n_replies"]}
    assert (shown["n_items"], shown["cost_usd"]) == (4, None)
    assert set(shown) <= set(JudgeCheck.json_schema()["properties"])


def test_the_card_is_text_and_a_page(place):
    done = invoke("check", "lexicon", "toxicity", "--limit", 3, "--page", "card.html", "-q")
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "lexicon on 3 items of toxicity: its answer flips for no reason in" in text
    assert "Readable answers: 69 of 69 replies (100.0%)." in text
    assert "Parameters: the server accepted all that were sent." in text
    page = (place / "card.html").read_text()
    assert "its answer flips for no reason in" in page
    assert "instructions in the text" in page


def test_without_a_reply_the_card_claims_nothing_about_parameters(place, stub):
    done = invoke("check", "far", "./task", "--base-url", stub.url(fault="401"), "-q")
    assert done.exit_code == 3, done.output
    assert "Parameters:" not in done.stdout
    assert "failed call" in done.stdout


def test_task_folder_in_the_place_of_the_judge_is_named_as_such(place, stub):
    for server in ((), ("--base-url", stub.url())):
        done = invoke("check", "./task", *server, "-q")
        assert str(done.exception) == "./task is a task folder, not a judge. Pass it as the task."


def test_refused_parameters_are_named(place, stub):
    """The check ends with the first part, says why, and can be run again."""
    refuse = {"if": "temperature", "status": 400, "body": {"error": {"message": "temperature"}}}
    server = ("--base-url", stub.url(refuse=json.dumps(refuse)))
    done, shown = checked("far", "./task", *server, "--limit", 2)
    assert done.exit_code == 3, done.output
    assert "rejects the parameter temperature" in shown["refused_parameters"][0]
    assert shown["flipped"]["value"] is None


def test_a_pairwise_task_is_checked_in_both_orders(tmp_path, monkeypatch, stub):
    """Its samples alternate, so that two of each order are asked."""
    monkeypatch.chdir(tmp_path)
    make_pairwise_folder(tmp_path / "pairs", 4)
    done, shown = checked("far", "./pairs", "--base-url", stub.url(), "--limit", 3)
    assert done.exit_code == 0, done.output
    rows = {row["change"]: row["flipped"]["counts"]["n"] for row in shown["rows"]}
    assert rows["repeats"] == 6.0
    assert rows["orders"] == 3.0


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return harness.run("toxicity", ["random", "lexicon"], limit=4, out="runs")


@pytest.mark.slow
def test_the_card_of_a_run_is_in_its_report(run):
    """On the items of the run, as the run asked; Python keeps the same, beside other judges."""
    done, shown = checked("random", "--run", run.path)
    assert done.exit_code == 0, done.output
    assert shown["n_items"] == 4
    assert harness.check("lexicon", run=run, limit=2).n_items == 2
    kept = json.loads((run.path / "checks.json").read_text())["checks"]
    assert kept["random"] == shown
    assert kept["lexicon"]["n_items"] == 2
    assert not (Path("runs") / "checks").exists()
    assert invoke("report", run.path).exit_code == 0
    page = " ".join(
        unescape(re.sub(r"<[^>]+>", " ", (run.path / "report.html").read_text())).split()
    )
    assert "lexicon on 2 items of toxicity: its answer flips for no reason in" in page
    assert "of 20 on 4 items" in page  # beside the score
    (run.path / "checks.json").write_text("{}")
    assert isinstance(invoke("report", run.path).exception, HarnessError)


@pytest.mark.slow
def test_a_run_is_checked_only_on_its_own_items(run):
    """Exit code 2 with another task, and with a judge that it didn't ask."""
    refused = invoke("check", "random", "toxicity", "--run", run.path)
    assert (refused.exit_code, "Leave out TASK or --run" in refused.output) == (2, True)
    with pytest.raises(HarnessError, match="Drop task or run"):
        harness.check("random", "toxicity", run=run)
    with pytest.raises(HarnessError, match="this run has no judge 'smollm2'"):
        harness.check("smollm2", run=run)
    assert not (run.path / "checks").exists()


def test_python_returns_the_card_that_is_printed(place):
    """The same object, on any task, Task or bundled items."""
    _, shown = checked("lexicon", "toxicity", "--limit", 3)
    card = harness.check("lexicon", load_task("toxicity"), limit=3, out="again")
    assert json.loads(to_json(card)) == shown
    with pytest.raises(HarnessError, match="limit"):
        harness.check("lexicon", limit=0)


def test_the_cost_is_shown_before_anything_is_asked(place):
    done = invoke("check", "random", "./task", "--dry-run", "--out", "runs")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("change") == 1  # one table for all parts
    assert "set by --samples" not in done.stdout  # the check sets them
    assert not (place / "runs").exists()


def test_a_judge_that_gives_no_single_choices_is_refused(place):
    done = invoke("check", "lexicon@nonsense", "./task", "--out", "runs")
    assert isinstance(done.exception, HarnessError)
    assert not (place / "runs").exists()


def test_nothing_comparable_is_not_a_zero(place):
    """A judge that never answers has no flips and no share."""
    task = load_task("./task", unrated=True)
    check = JudgeCheck(
        judge="mute",
        task=task.name,
        n_items=6,
        level=0.95,
        flipped=pairs_of_replies([])["repeats"].flipped,
        rows=(),
        outcomes={"refused": 6},
        refused_parameters=(),
        cost_usd=0.0,
        n_replies=6,
        stopped="",
        exit_code=0,
    )
    text = card_text(check)
    assert "NA, because no two answers can be compared" in text
    assert "Readable answers: 0 of 6 replies (0.0%) (6 refusals)." in text
