"""`harness estimate --by` on a pairwise task: systems whose answers were compared."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_pairwise_folder, write_jsonl

from harness.estimation.quantity import Quantity
from harness.judging.parsing.verdict import Verdict
from harness.runs.estimated_differences import read_differences
from harness.runs.run_folder import RunFolder
from harness.tasks import load_task

QUALITY = {"owl": 2, "fox": 1, "hen": 0}
RATED, UNLABELLED = 25, 60  # of each pair of systems
PAIRS = (("owl", "fox"), ("fox", "owl"), ("hen", "owl"))


def comparisons(prefix, n, rng):
    """Items, and the option that is right: the better system's with chance 3/4, else a tie."""
    rows = []
    for pair in PAIRS:
        for i in range(n):
            better = "A" if QUALITY[pair[0]] > QUALITY[pair[1]] else "B"
            key = better if rng.random() < 0.75 else "tie"
            row = {"id": f"{prefix}-{pair[0]}-{pair[1]}-{i}", "question": f"q{i}"}
            row |= {"answer_a": f"a {i}", "answer_b": f"b {i}", "x": pair[0], "y": pair[1]}
            rows.append((row, key))
    return rows


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a judge that is right in both orders, and ties half of the others."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(5)
    pairwise = {"answers": ["answer_a", "answer_b"], "first": "A", "second": "B"}
    make_pairwise_folder(tmp_path / "pairs", 1, pairwise=pairwise | {"systems": ["x", "y"]})
    rated, new = comparisons("r", RATED, rng), comparisons("u", UNLABELLED, rng)
    write_jsonl(tmp_path / "pairs" / "items.jsonl", [row for row, _ in rated])
    ratings = ["item,rater,value", *(f"{row['id']},r0,{key}" for row, key in rated)]
    (tmp_path / "pairs" / "ratings.csv").write_text("\n".join(ratings))
    write_jsonl(tmp_path / "new.jsonl", [row for row, _ in new])
    shown = {"A": ["A", "B"], "B": ["B", "A"], "tie": ["tie", "tie"]}  # in both orders
    replies = {row["id"]: shown[key] for row, key in (*rated, *new)}
    judges = {"right": {"kind": "scripted", "replies": replies}}
    (tmp_path / "judges.yaml").write_text(json.dumps({"judges": judges}))
    words = (
        "--task",
        "pairs",
        "--judges",
        "right",
        "--judges-file",
        "judges.yaml",
        "--out",
        "runs",
    )
    done = invoke("run", *words, "-q")
    assert done.exit_code in {0, 3}, done.output
    [folder] = (tmp_path / "runs").iterdir()
    return folder


def estimated(run, *more):
    words = ("--judge", "right", "--judges-file", "judges.yaml", "--items", "new.jsonl", "-q")
    done = invoke("estimate", run, *words, *more)
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def new_rows():
    return [json.loads(line) for line in Path("new.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_systems_are_compared_whichever_answer_was_first(run):
    """Win rates of each, and a difference for each pair that was compared; hen met owl alone."""
    shown = json.loads(estimated(run, "--by", "x", "--json"))["by_slice"]
    rows = {row["value"]: row for row in shown["slices"]}
    assert {name: row["n_rated"] for name, row in rows.items()} == {
        "fox": 2 * RATED,
        "hen": RATED,
        "owl": 3 * RATED,
    }
    assert rows["owl"]["mean"]["estimate"]["value"] == pytest.approx(0.875, abs=0.06)
    differences = {(row["first"], row["second"]): row for row in shown["differences"]}
    assert set(differences) == {("fox", "owl"), ("hen", "owl")}
    for row in differences.values():
        assert 0.55 < row["estimate"]["value"] < 0.95
        assert row["estimate"]["low"] > 0.0
    assert differences["hen", "owl"]["n_rated"] == RATED
    assert estimated(run, "--by", "y", "--json") == estimated(run, "--by", "x", "--json")


def test_the_text_says_what_a_difference_is_and_gates_read_it(run):
    text = estimated(run, "--by", "x")
    assert "How often systems are preferred, with simultaneous 95% intervals for 3 systems:" in text
    assert "owl - fox" in text
    assert "corrected separately for each pair" in text
    assert invoke("gate", run, "--require", "difference(owl,hen):lower > 0").exit_code == 0
    assert set(read_differences(RunFolder.open(run))["right"]) == {
        *("difference(owl,fox)", "difference(fox,owl)"),
        *("difference(owl,hen)", "difference(hen,owl)"),
    }


def test_the_orders_of_a_judge_that_prefers_a_place_cancel(tmp_path):
    """It always answers what stands first, so its preference is a half."""
    task = load_task(make_pairwise_folder(tmp_path / "pairs", 2))
    replies = [
        Verdict(
            item=f"i{item}",
            judge="j",
            elicitation="forced_choice",
            sample=sample,
            outcome="answered",
            value="AB"[sample % 2],
            swapped=bool(sample % 2),
        )
        for item, n_samples in ((0, 2), (1, 1))
        for sample in range(n_samples)
    ]
    quantity = Quantity.of(task, "forced_choice")
    assert quantity.first_verdicts(task.items, replies).tolist() == [0.5, 1.0]
    assert quantity.labels(task, task.items).tolist() == [0.5, 0.5]


@pytest.mark.slow
def test_too_few_comparisons_are_na_with_their_number(run):
    rows = new_rows()
    write_jsonl(run.parent.parent / "new.jsonl", [row for row in rows if row["x"] != "hen"])
    text = estimated(run, "--by", "x")
    assert "1 pair of systems without an estimate: fewer than ten rated or no unlabelled" in text


def test_items_that_name_no_two_systems_are_refused_before_anything_is_asked(run):
    rows = new_rows()
    write_jsonl(run.parent.parent / "new.jsonl", [row | {"y": row["x"]} for row in rows])
    words = ("--judge", "right", "--judges-file", "judges.yaml", "--items", "new.jsonl", "-q")
    refused = invoke("estimate", run, *words, "--by", "x")
    assert "doesn't name two systems in x and y" in str(refused.exception)
    assert not (run / "estimates").exists()
