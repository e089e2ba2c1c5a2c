"""`harness estimate --max-error`: which verdicts on unlabelled items can stand."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder, write_jsonl

import harness
from harness.errors import HarnessError

N, M = 80, 120


def rows(n, prefix, rng):
    return [
        {"id": f"{prefix}{i}", "text": f"{'bad' if rng.random() < 0.5 else 'good'} day {i:03}"}
        for i in range(n)
    ]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a word list that is right about every item, and of random answers."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    folder = make_task_folder(tmp_path / "small", 2, response_sets=False)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: A, negative: B}\n")
    items = rows(N, "r", rng)
    write_jsonl(folder / "items.jsonl", items)
    ratings = [
        {"item": row["id"], "rater": f"r{j}", "value": "B" if "bad" in row["text"] else "A"}
        for row in items
        for j in range(2)
    ]
    write_jsonl(folder / "ratings.jsonl", ratings)
    write_jsonl(Path("new.jsonl"), rows(M, "u", rng))
    done = invoke("run", "--task", folder, "--judges", "lexicon,random", "--out", "runs", "-q")
    assert done.exit_code == 0, done.output
    return "runs"


def words(judge, *more):
    return ("estimate", "--judge", judge, "--items", "new.jsonl", "--out", "runs", "-q", *more)


@pytest.mark.slow
def test_verdicts_on_unlabelled_items_are_accepted(run):
    """Each is marked in a file, and the text and JSON say how many."""
    text = " ".join(invoke(*words("lexicon", "--max-error", 0.1)).stdout.split())
    assert (
        "120 of 120 verdicts of lexicon can be accepted without a person, with an error of" in text
    )
    shown = json.loads(invoke(*words("lexicon", "--max-error", 0.1, "--json")).stdout)["accepted"]
    assert (shown["n_accepted"], shown["n_items"], shown["level"]) == (M, M, 0.95)
    table = list(csv.DictReader(Path(shown["path"]).read_text().splitlines()))
    assert [row["item"] for row in table] == [f"u{i}" for i in range(M)]
    assert {row["accepted"] for row in table} == {"true"}
    found = harness.estimate(judge="lexicon", items="new.jsonl", out="runs", max_error=0.1)
    assert found.accepted.n_accepted == M


@pytest.mark.slow
def test_no_verdict_of_a_bad_judge_can_stand(run):
    text = " ".join(invoke(*words("random", "--max-error", 0.1)).stdout.split())
    assert "No verdict of random can be accepted without a person" in text
    assert json.loads(invoke(*words("random", "--json")).stdout)["accepted"] is None


@pytest.mark.slow
def test_an_error_without_a_bound_is_refused(run):
    done = invoke(*words("lexicon", "--error", "rater"))
    assert done.exit_code == 2
    assert "works only with --max-error" in " ".join(done.output.split())
    with pytest.raises(HarnessError, match="this needs a bound on the error"):
        harness.trust(judge="lexicon", out="runs")
    assert invoke("trust", "--judge", "lexicon", "--out", "runs").exit_code == 2


def test_an_estimate_of_sets_has_no_single_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    harness.run("toxicity", ["lexicon"], out="runs", limit=30)
    write_jsonl(Path("new.jsonl"), [{"id": "n", "text": "You fool."}])
    done = invoke(*words("lexicon", "--max-error", 0.1))
    assert done.exit_code == 2
    assert "only single answers can be accepted" in " ".join(done.output.split())


@pytest.mark.slow
def test_items_weighted_by_strata_have_no_bound(run):
    """The rated items are composed otherwise than those that the verdicts are about."""
    for name in ("small/items.jsonl", "new.jsonl"):
        rows = [json.loads(line) for line in Path(name).read_text().splitlines()]
        write_jsonl(Path(name), [row | {"part": f"p{i % 2}"} for i, row in enumerate(rows)])
    done = invoke("run", "--task", "./small", "--judges", "lexicon", "--out", "more", "-q")
    assert done.exit_code == 0, done.output
    refused = invoke(
        *("estimate", "--judge", "lexicon", "--items", "new.jsonl", "--out", "more"),
        *("--strata", "part", "--max-error", 0.1),
    )
    assert refused.exit_code == 2
    assert "Leave out --max-error or --strata" in " ".join(refused.output.split())
