"""Position consistency and bias: their values, what they rest on, and how often intervals cover."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.analysis_inputs import verdict_of
from support.processes import invoke
from support.task_folders import make_pairwise_folder

from harness.analysis.order_bias import position_effects, position_notes
from harness.judging.parsing.verdict import with_swapped_answers
from harness.judging.prompts.presentation_orders import is_swapped
from harness.tasks import load_task


@pytest.fixture
def task(tmp_path):
    return load_task(make_pairwise_folder(tmp_path / "pairs"))


def asked(task, item, sample, shown, **fields):
    """Make a verdict of what was answered to the order that was shown."""
    verdict = verdict_of("j", item, sample, shown, **fields)
    return with_swapped_answers(verdict, task) if is_swapped(item, sample) else verdict


def effects(task, answer, samples=2, **fields):
    verdicts = [
        asked(task, item.id, sample, answer(item.id, sample), **fields)
        for item in task.items
        for sample in range(samples)
    ]
    return position_effects(verdicts, task, task.items, 0.95)


def test_a_judge_that_prefers_the_first_answer_is_never_consistent(task):
    """Consistency 0 and bias 1, whatever the answers say; of the second answer, 0 and -1."""
    first = effects(task, lambda *_: "A")
    assert (first.consistency.value, first.bias.value) == (0.0, 1.0)
    assert (first.consistency.interval.low, first.bias.interval.high) == (0.0, 1.0)
    second = effects(task, lambda *_: "B", samples=6)
    assert (second.consistency.value, second.bias.value) == (0.0, -1.0)
    assert second.bias.n_used == 8
    [note] = position_notes({"j": first})
    assert note.startswith("j: the verdict is the same in both orders in 0% [0%, ")
    assert "is shown first: +100 [" in note


def test_a_judge_that_reads_the_answers_is_always_consistent(task):
    """Consistency 1 and bias 0, also for ties."""
    fair = effects(task, lambda item, sample: "AB"[is_swapped(item, sample)])
    assert (fair.consistency.value, fair.bias.value) == (1.0, 0.0)
    tied = effects(task, lambda *_: "tie")
    assert (tied.consistency.value, tied.bias.value) == (1.0, 0.0)


def test_preference_for_a_place_counts_by_its_probability(task):
    """A soft judge that gives what stands first .75 whatever it is has bias .5."""
    soft = effects(task, lambda *_: "A", probabilities={"A": 0.75, "B": 0.25, "tie": 0.0})
    assert soft.bias.value == pytest.approx(0.5)


def test_items_without_an_answer_in_both_orders_are_counted(task):
    """An item with one readable order enters neither figure."""
    verdicts = [asked(task, f"i{i}", s, "A") for i in range(8) for s in range(2) if i or s]
    bias = position_effects(verdicts, task, task.items, 0.95).bias
    assert (bias.n_used, bias.n_excluded) == (7, 1)
    assert bias.excluded[0].reason == "not_answered_in_both_orders"


def test_a_judge_asked_in_one_order_has_no_figures(task):
    """Nothing was compared; with one sample of each item, both are undefined."""
    verdicts = [verdict_of("j", item.id, 0, "A") for item in task.items]
    assert position_effects(verdicts, task, task.items, 0.95) is None
    single = effects(task, lambda *_: "A", samples=1)
    assert (single.bias.value, single.bias.reason) == (None, "no_items")


def test_a_run_reports_both_figures(task, tmp_path, monkeypatch):
    """In the terminal, metrics.json and the page: a judge that always answers A has 0 and 1."""
    monkeypatch.chdir(tmp_path)
    judges = {"judges": {"first": {"kind": "scripted", "replies": {"*": "A"}}}}
    (tmp_path / "judges.yaml").write_text(json.dumps(judges))
    words = ("--task", task.folder, "--judges", "first", "--judges-file", "judges.yaml")
    plan = invoke("run", *words, "--dry-run", "--json")
    assert json.loads(plan.stdout)[0]["calls"] == 16
    done = invoke("run", *words)
    text = " ".join(done.stdout.split())
    assert "first: the verdict is the same in both orders in 0% [0%, " in text
    [run] = (tmp_path / "runs").iterdir()
    [judge] = json.loads((run / "metrics.json").read_text())["judges"]
    position = judge["position"]
    assert (position["consistency"]["value"], position["bias"]["value"]) == (0.0, 1.0)
    page = (run / "report.html").read_text()
    assert "Order of the answers" in page
    assert "(answers shown in the other order) A" in page


@pytest.mark.slow
def test_intervals_cover_the_expectation_over_items(tmp_path):
    """Of 1,000 data sets of 60 items with biases of their own, 93 to 97 % cover."""
    task = load_task(make_pairwise_folder(tmp_path / "pairs", 60))
    truths = expected_effects()
    rng = np.random.default_rng(0)
    covered = np.zeros(2)
    for _ in range(1000):
        pull = rng.normal(0.5, 1.0, size=60)  # towards what stands first
        merit = rng.normal(0.0, 1.5, size=60)  # of the item's first answer
        answers = {}
        for i in range(60):
            for sample in range(2):
                sign = -1.0 if is_swapped(f"i{i}", sample) else 1.0
                chance = 1.0 / (1.0 + np.exp(-pull[i] - sign * merit[i]))
                answers[f"i{i}", sample] = "AB"[int(rng.random() >= chance)]
        drawn = effects(task, lambda item, sample, answers=answers: answers[item, sample])
        ends = [drawn.consistency.interval, drawn.bias.interval]
        covered += [e.low <= truth <= e.high for e, truth in zip(ends, truths, strict=True)]
    assert np.all((covered >= 930) & (covered <= 970)), covered


def expected_effects():
    """Return consistency and bias in the limit, by drawing four million items."""
    rng = np.random.default_rng(1)
    pull, merit = rng.normal(0.5, 1.0, 4_000_000), rng.normal(0.0, 1.5, 4_000_000)
    prefers_first = 1.0 / (1.0 + np.exp(-pull - merit))  # that the item's first answer is preferred
    swapped = 1.0 - 1.0 / (1.0 + np.exp(-pull + merit))
    same = prefers_first * swapped + (1.0 - prefers_first) * (1.0 - swapped)
    return same.mean(), (prefers_first - swapped).mean()
