"""Ranking of the systems that a pairwise task compares."""

from __future__ import annotations

import csv
import json
from collections import defaultdict

import pytest
from support.processes import invoke

from harness.analysis.systems import rank_systems
from harness.errors import TaskError
from harness.runs.sources import source_of_verdicts


@pytest.fixture
def battles(truth, tmp_path):
    """MT-Bench as a task; its items name the two systems."""
    folder = tmp_path / "battles"
    folder.mkdir()
    description = {
        "name": "battles",
        "property": "which conversation is better",
        "scale": "pairwise",
        "options": ["model_a", "model_b", "tie"],
        "text": ["conversation_a", "conversation_b"],
        "pairwise": {
            "answers": ["conversation_a", "conversation_b"],
            "first": "model_a",
            "second": "model_b",
            "systems": ["system_a", "system_b"],
        },
    }
    (folder / "task.yaml").write_text(json.dumps(description), encoding="utf-8")
    data = truth / "data" / "mtbench"
    with (data / "ratings.csv").open(encoding="utf-8", newline="") as file:
        names = dict.fromkeys(row["item"] for row in csv.DictReader(file))
    items = [
        {
            "id": name,
            "group": name.split("__")[0],
            "conversation_a": "first",
            "conversation_b": "second",
            "system_a": name.split("__")[1],
            "system_b": name.split("__")[2],
        }
        for name in names
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    (folder / "ratings.csv").write_bytes((data / "ratings.csv").read_bytes())
    return folder


def test_win_rates_are_those_counted_by_hand(battles, truth):
    """By item the mean over raters, a tie half a win; the pairs of a side add up to its items."""
    source = source_of_verdicts(str(battles), truth / "data" / "mtbench" / "verdicts.csv")
    ranking = rank_systems(source)
    raters, *judges = ranking.sides
    assert [side.side for side in judges] == [judge.name for judge in source.judges]
    by_item = defaultdict(list)
    for rating in source.task.ratings:
        by_item[rating.item].append({"model_a": 1.0, "model_b": 0.0, "tie": 0.5}[rating.value])
    won, met = defaultdict(float), defaultdict(float)
    for name, scores in by_item.items():
        _, first, second, _ = name.split("__")
        won[first] += sum(scores) / len(scores)
        won[second] += 1 - sum(scores) / len(scores)
        met[first] += 1
        met[second] += 1
    for row in raters.systems:
        assert row.win_rate.value == pytest.approx(won[row.system] / met[row.system])
        assert row.win_rate.interval.low <= row.win_rate.value <= row.win_rate.interval.high
    for side in ranking.sides:
        assert sum(pair.n_items for pair in side.pairs) == side.n_items
        assert all(
            pair.first_won + pair.tied + pair.second_won == pytest.approx(1.0)
            for pair in side.pairs
        )
    taus = {side.side: side.kendall_tau for side in judges}
    assert taus["llama-3.1-instruct"] == pytest.approx(0.6)  # 12 of 15 pairs in the same order
    assert taus["gpt-4o"] is None, "two systems lost every comparison, and have no strength"


def test_systems_from_the_command_line(battles, truth):
    """A table for the raters and each judge; JSON holds every pair."""
    verdicts = str(truth / "data" / "mtbench" / "verdicts.csv")
    words = ("lab", "systems", "--task", str(battles), "--verdicts", verdicts)
    shown = invoke(*words)
    assert shown.exit_code == 0, shown.output
    assert "llama-3.1-instruct: 120 items, tau-b with the raters 0.60" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    sides = json.loads(invoke(*words, "--json").stdout)["sides"]
    assert sides[0]["side"] == "raters"
    assert sides[0]["pairs"][0]["n_items"] > 0


def test_systems_that_are_not_named_are_asked_for(battles, truth):
    """Without `systems` in task.yaml, and where an item lacks one, in one line."""
    file = battles / "items.jsonl"
    first, *others = file.read_text(encoding="utf-8").splitlines()
    nameless = json.loads(first) | {"system_b": ""}
    file.write_text("\n".join([json.dumps(nameless), *others]), encoding="utf-8")
    refused = invoke("lab", "systems", "--task", str(battles))
    assert isinstance(refused.exception, TaskError)
    assert "names no two systems in system_a and system_b" in str(refused.exception)
    description = json.loads((battles / "task.yaml").read_text(encoding="utf-8"))
    del description["pairwise"]["systems"]
    (battles / "task.yaml").write_text(json.dumps(description), encoding="utf-8")
    refused = invoke("lab", "systems", "--task", str(battles))
    assert "Write 'pairwise' with" in str(refused.exception)


def test_agreement_is_stated_for_three_conventions_of_ties(tmp_path):
    """By hand: a tie as an answer of its own, left out, and as half of each side."""
    description = {
        "name": "duels",
        "property": "which answer is better",
        "scale": "pairwise",
        "options": ["A", "B", "tie"],
        "text": ["a", "b"],
        "pairwise": {"answers": ["a", "b"], "first": "A", "second": "B", "systems": ["x", "y"]},
    }
    (tmp_path / "task.yaml").write_text(json.dumps(description), encoding="utf-8")
    items = [{"id": f"i{i}", "a": "1", "b": "2", "x": "m", "y": "n"} for i in range(4)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    ratings = zip("iiii", "0123", ("A", "A", "tie", "B"), strict=True)
    rows = [f"{letter}{number},r,{value}" for letter, number, value in ratings]
    (tmp_path / "ratings.csv").write_text("item,rater,value\n" + "\n".join(rows), encoding="utf-8")
    verdicts = tmp_path / "verdicts.csv"
    answers = zip("0123", ("A", "tie", "tie", "A"), strict=True)
    verdicts.write_text(
        "item,judge,value\n" + "".join(f"i{i},j,{value}\n" for i, value in answers),
        encoding="utf-8",
    )
    _, judge = rank_systems(source_of_verdicts(str(tmp_path), verdicts)).sides
    agreement = {name: (e.value, e.n_used) for name, e in judge.agreement.items()}
    assert agreement == {"class": (0.5, 4), "left_out": (0.5, 2), "half": (0.5, 4)}
    shown = invoke("lab", "systems", "--task", tmp_path, "--verdicts", verdicts, "--pairs").stdout
    assert "with ties left out" in " ".join(shown.split())
    assert [line.split() for line in shown.splitlines() if line.startswith("m ")] == [
        ["m", "n", "4", "50.0%", "25.0%", "25.0%"],
        ["m", "n", "4", "50.0%", "50.0%", "0.0%"],
    ]
