"""Tasks with simulated ratings: what was planted in them is found."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter

import pytest
from support.exit_codes import code_by_counts, metrics_in
from support.processes import invoke

import harness
from harness.tasks import bundled, load_task

DATASETS = bundled("datasets")
CONSTANT = {"relevance": "yes", "helpfulness": "first", "coherence": "3", "consistency": "met"}
VERDICTS = {
    "relevance": "best_not_proven",
    "helpfulness": "best_not_proven",
    "coherence": "none",
    "consistency": "best_not_proven",
}


@pytest.fixture(scope="module")
def simulation():
    """The committed script that simulates the ratings."""
    path = DATASETS / "simulate_ratings.py"
    spec = importlib.util.spec_from_file_location("simulate_ratings", path)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)  # data folders stay as they are
        spec.loader.exec_module(module)
    return module


def above(value, cuts):
    return sum(value >= cut for cut in cuts)


def answers(simulation, task):
    """The answer to each item that the planted value gives without error."""
    tie = simulation.TIE
    answer = {
        "relevance": lambda v: ("no", "maybe", "yes")[above(v, simulation.RELEVANCE_CUTS)],
        "helpfulness": lambda v: ("second", "tie", "first")[above(v, (-tie, tie))],
        "coherence": lambda v: str(1 + above(v, simulation.COHERENCE_CUTS)),
        "consistency": lambda v: "met" if v else "unmet",
    }[task]
    return {item: answer(value) for item, value in simulation.planted(task)}


def verdicts(simulation, task):
    """A judge that gives the planted answers, and one that gives the same answer always."""
    planted = answers(simulation, task)
    rows = [{"item": item, "judge": "planted", "value": value} for item, value in planted.items()]
    return rows + [{"item": item, "judge": "same", "value": CONSTANT[task]} for item in planted]


@pytest.mark.parametrize("task", CONSTANT)
def test_regenerating_the_ratings_gives_the_same_file(simulation, task, tmp_path):
    """The committed script, values and ratings belong together; the numbers are few."""
    simulation.write(task, tmp_path / "ratings.csv")
    written = (tmp_path / "ratings.csv").read_bytes()
    assert written == (DATASETS / task / "ratings.csv").read_bytes()
    loaded = load_task(task)
    assert 40 <= len(loaded.items) <= 60
    assert loaded.notice == "authored items, ratings simulated"
    assert all(loaded.has_text(item) for item in loaded.items)


@pytest.mark.slow
@pytest.mark.parametrize("task", CONSTANT)
def test_the_judge_with_the_planted_answers_is_best(simulation, task):
    """It is ranked above the judge that always says the same; README.md names the verdict."""
    result = harness.validate(task, verdicts(simulation, task))
    decision = result.decision
    assert decision.verdict == VERDICTS[task]
    assert decision.judge == (None if VERDICTS[task] == "none" else "planted")
    readme = (DATASETS / task / "README.md").read_text(encoding="utf-8")
    assert f"`{VERDICTS[task]}`" in readme


@pytest.mark.slow
def test_the_audit_finds_the_rater_who_does_not_read():
    """And no other; in the other tasks no rater is flagged."""
    flagged = {}
    for task in CONSTANT:
        printed = invoke("curate", "audit", str(DATASETS / task), "--json").stdout
        findings = json.loads(printed)["findings"]
        flagged[task] = [f["raters"] for f in findings if f["kind"] == "deviating_raters"]
    assert flagged == {"coherence": [["r6"]], "relevance": [], "helpfulness": [], "consistency": []}


def test_the_raters_rank_the_systems_in_the_planted_order():
    """Owl answers best, then fox, then hen."""
    task = load_task("helpfulness")
    wins = Counter(dict.fromkeys(("fox", "hen", "owl"), 0))
    for rating in task.ratings:
        item = task.by_id[rating.item].fields
        winner = {"first": item["first_system"], "second": item["second_system"]}
        wins[winner.get(rating.value)] += 1
    assert [name for name, _ in wins.most_common() if name] == ["owl", "fox", "hen"]


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("task", CONSTANT)
def test_the_embedded_model_rates_every_task_from_the_command_line(task, tmp_path, monkeypatch):
    """Six items, and every scale ends in a decision."""
    monkeypatch.chdir(tmp_path)
    ran = invoke("run", "--task", task, "--judges", "smollm2", "--limit", "6", "--pairs", "1")
    assert ran.exit_code == code_by_counts(metrics_in(tmp_path / "runs")), ran.output
    assert "authored items, ratings simulated" in ran.stdout
