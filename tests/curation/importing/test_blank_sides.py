"""Pairs of answers of which one is blank, or both."""

from __future__ import annotations

import csv
import json

import pytest
from support.made_tables import text, written
from support.processes import invoke

N = 12
BLANK_SIDE, BLANK = 3, 7


def table(place):
    rows = [["id", "prompt", "response_a", "response_b", "model_a", "model_b", "rater", "choice"]]
    for i in range(N):
        sides = [f"First: {text(i)}", f"Second: {text(i + 40)}"]
        sides = [sides[0], ""] if i == BLANK_SIDE else ["", ""] if i == BLANK else sides
        asked = "" if i == BLANK else f"Say something about {text(i)}"
        for k, who in enumerate(("ann", "bea", "cem")):
            choice = ("a", "b", "tie")[(i * 5 + k * (i % 2)) % 3]
            rows.append([f"q{i}", asked, *sides, "tiny", "large", who, choice])
    return written(place / "t.csv", rows)


@pytest.fixture
def made(tmp_path, monkeypatch):
    table(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = invoke("curate", "import", "t.csv", "--as", "./made")
    assert done.exit_code == 0, done.exception
    return tmp_path / "made", done


def test_a_blank_side_is_an_empty_answer_and_a_blank_item_is_left_out_of_runs(made):
    """Both are counted; no rating of them is lost."""
    folder, done = made
    printed = " ".join(done.output.split())
    assert "1 item has one blank text and one with content" in printed
    assert f"1 item without a text: q{BLANK}. A run leaves it out." in printed
    with (folder / "ratings.csv").open(encoding="utf-8", newline="") as rows:
        assert sum(1 for _ in csv.DictReader(rows)) == 3 * N


def test_sides_ties_and_systems_are_found_by_name(made):
    folder, _ = made
    yaml = (folder / "task.yaml").read_text(encoding="utf-8")
    assert "scale: pairwise" in yaml
    assert "text: [prompt, response_a, response_b]" in yaml
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert {item["model_a"] for item in items} == {"tiny"}
    assert {item["model_b"] for item in items} == {"large"}
