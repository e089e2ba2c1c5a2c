"""`harness estimate` with a judge that answers by HTTP, and abstains from some items."""

from __future__ import annotations

import json

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder, write_jsonl

import harness
from harness.errors import HarnessError

N, N_NEW = 60, 240
REPLIES = ["A", "B", "CANNOT_ASSESS"]  # of the items, in turn


def line(i):
    return f"This is comment number {i:04}."


@pytest.fixture
def run(tmp_path, stub, monkeypatch):
    """A run of a judge that abstains from every third item, and unlabelled items."""
    return run_of(REPLIES, tmp_path, stub, monkeypatch)


def run_of(replies, tmp_path, stub, monkeypatch):
    """Run a judge that gives the replies in turn, and write unlabelled items."""
    stub.reset()
    monkeypatch.chdir(tmp_path)
    stub.set_table("turns", {line(i): [replies[i % 3]] for i in range(N + N_NEW)})
    folder = make_task_folder(tmp_path / "task", 2, response_sets=False)
    write_jsonl(folder / "items.jsonl", [{"id": f"i{i}", "text": line(i)} for i in range(N)])
    ratings = [
        {"item": f"i{i}", "rater": f"r{j}", "value": "A" if i % 3 == 0 else "B"}
        for i in range(N)
        for j in range(2)
    ]
    write_jsonl(folder / "ratings.jsonl", ratings)
    judge = {
        "kind": "endpoint",
        "model": "turns",
        "base_url": stub.url(table="turns"),
        "samples": 1,
    }
    (tmp_path / "judges.yaml").write_text(json.dumps({"judges": {"turns": judge}}), "utf-8")
    rows = [{"id": f"u{i}", "text": line(N + i)} for i in range(N_NEW)]
    write_jsonl(tmp_path / "new.jsonl", rows)
    named = ("--judges", "turns", "--judges-file", "judges.yaml", "--min-answered", "0.5")
    asked = ("--elicitation", "forced_choice")
    ran = invoke("run", "--task", "task", *named, *asked, "--out", "runs", "-q")
    assert ran.exit_code == (0 if replies is REPLIES else 3), ran.output
    return next((tmp_path / "runs").iterdir()).name


def words(run, *more):
    place = ("--judge", "turns", "--judges-file", "judges.yaml", "--items", "new.jsonl")
    return ("estimate", run, *place, "--out", "runs", "-q", *more)


def test_abstentions_count_as_not_positive_and_are_said(run):
    """Its abstentions are an answer of the two-phase counts, and leave no item out."""
    found = json.loads(invoke(*words(run, "--json")).stdout)
    assert (found["n_unlabelled"], found["n_unanswered"]) == (N_NEW, N_NEW // 3)
    assert found["mean"]["n_labelled"] == N
    assert found["mean"]["judge_alone"] == pytest.approx(1 / 3)
    assert found["mean"]["estimate"]["low"] < 1 / 3 < found["mean"]["estimate"]["high"]
    assert found["likeness"]["differs"] == []
    text = " ".join(invoke(*words(run)).stdout.split())
    assert "80 of 240 answers aren't usable. They count as not positive." in text


def test_judge_without_a_usable_answer_is_asked_about_no_other_item(tmp_path, stub, monkeypatch):
    """Its abstentions from the rated items say that it would be paid for nothing."""
    run = run_of(["CANNOT_ASSESS"] * 3, tmp_path, stub, monkeypatch)
    n_asked = len(stub.requests())
    with pytest.raises(HarnessError, match="None of turns's answers for 60 rated items"):
        harness.estimate(run, judge="turns", items="new.jsonl", out="runs")
    assert len(stub.requests()) == n_asked
