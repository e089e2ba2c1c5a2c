"""`harness estimate --until-width`: an interval that holds however often one looks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.processes import call_harness, invoke
from support.task_folders import copy_place, make_task_folder, write_jsonl

import harness
from harness.errors import HarnessError
from harness.estimation.quantity import Quantity
from harness.stats.estimation.labelling import confidence_sequence
from harness.tasks import load_task

N = 40


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of a word list on a task with three raters per item."""
    place = tmp_path_factory.mktemp("made")
    folder = make_task_folder(place / "small", N, response_sets=False)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: B, negative: A}\n")
    items = [{"id": f"u{i}", "text": f"This is comment number {i}."} for i in range(N, 300)]
    write_jsonl(place / "new.jsonl", items)
    result = invoke("run", "--task", folder, "--judges", "lexicon", "--out", place / "runs", "-q")
    assert result.exit_code == 0, result.output
    return place


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    """The name of a copy of it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return copy_place(made, tmp_path)


def looked(run, *arguments):
    place = ("--judge", "lexicon", "--items", "new.jsonl", "--out", "runs", "-q")
    result = invoke("estimate", run, *place, *arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


def test_a_look_says_the_interval_and_whether_to_stop(run):
    """Too wide for one wanted width and narrow enough for another, from the same interval."""
    go_on = looked(run, "--until-width", "0.1")
    assert "The interval is valid however often you look" in go_on
    assert (
        "The interval is still wider than 10.0%. Rate more items in random order, then rerun this."
        in go_on
    )
    assert "The interval isn't wider than 90.0%, so you can stop." in looked(
        run, "--until-width", "0.9"
    )
    look = json.loads(looked(run, "--until-width", "0.1", "--json"))["look"]
    assert 0 <= look["low"] < look["high"] <= 1
    assert (look["n_labelled"], look["level"]) == (N, 0.95)


def test_label_of_an_item_is_fixed_once_it_counts(tmp_path):
    """Ratings beyond the first, or the first three, do not change labels or their order."""
    task = load_task(str(make_task_folder(tmp_path / "small", 4, response_sets=False)))
    quantity = Quantity.of(task, "forced_choice")
    ones = quantity.labels_in_order(task, 1)
    assert ones == {"i0": 0.0, "i1": 1.0, "i2": 1.0, "i3": 1.0}
    threes = quantity.labels_in_order(task, 3)
    assert list(threes.values()) == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])
    fewer = task.model_copy(update={"ratings": task.ratings[:-4]})  # an item and a rating earlier
    assert quantity.labels_in_order(fewer, 1) == {k: ones[k] for k in ("i0", "i1", "i2")}
    assert list(quantity.labels_in_order(fewer, 3)) == ["i0", "i1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ratings-per-item", "2"), "this option works only with --until-width"),
        (("--until-width", "0.1", "--beta-range", "0.1,0.3"), "there's no sequence for a share"),
        (("--until-width", "0.1", "--paired-beta"), "there's no sequence for a share"),
        (("--until-width", "0.1", "--ratings-per-item", "4"), "no item has 4 ratings"),
        (("--until-width", "0"), "until-width"),
    ],
)
def test_looks_that_cannot_be_are_refused(run, tmp_path, arguments, message):
    """They end with 2 and say what does not go together."""
    result = call_harness(
        *("estimate", run, "--judge", "lexicon", "--items", "new.jsonl", "--out", "runs"),
        *arguments,
        cwd=tmp_path,
    )
    assert result.returncode == 2
    assert message in result.stderr


def test_unlabelled_items_in_groups_are_refused_before_any_is_judged(run, tmp_path):
    """The bound of a sequence is of independent items, so it was too narrow."""
    items = [{"id": f"g{i}", "text": f"Reply {i}.", "group": f"g{i // 4}"} for i in range(40)]
    write_jsonl(tmp_path / "grouped.jsonl", items)
    place = ("--judge", "lexicon", "--items", "grouped.jsonl", "--out", "runs", "-q")
    done = invoke("estimate", run, *place, "--until-width", "0.2")
    assert done.exit_code == 2
    assert "the unlabelled items come in groups" in done.output
    assert not list((tmp_path / "runs" / run).glob("*estimate*"))


def test_python_returns_what_the_command_prints(run):
    """`harness.estimate` takes the same options and returns the same numbers."""
    options = {"judge": "lexicon", "items": "new.jsonl", "out": "runs"}
    found = harness.estimate(run, until_width=0.2, confidence=0.9, **options)
    shown = json.loads(looked(run, "--until-width", "0.2", "--confidence", "0.9", "--json"))
    assert found.look.low == shown["look"]["low"]
    assert found.mean.estimate.high == shown["mean"]["estimate"]["high"]
    assert found.mean.level == 0.9
    assert harness.estimate(run, limit=30, **options).n_unlabelled == 30
    with pytest.raises(
        HarnessError, match=r"ratings_per_item.*this option works only with until_width"
    ):
        harness.estimate(run, ratings_per_item=2, **options)
    with pytest.raises(HarnessError, match="Did you mean until_width"):
        harness.estimate(run, until_widht=0.2, **options)


def test_a_sequence_narrows_nearly_as_the_root_of_the_labels():
    """Four times the labels of a fair coin: .58 of the width or less (.5 and the price of looks);
    and it is at most 2.5 times as wide as an interval for that one number of labels."""
    labels = np.random.default_rng(4).integers(0, 2, 2000).astype(float)
    found = confidence_sequence(labels, np.zeros(2000), 0.0, 10**9)
    width = found.high - found.low
    assert width[1999] <= 0.58 * width[499]
    assert width[1999] <= 2.5 * 2.0 * 1.96 * (0.25 / 2000) ** 0.5


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("prevalence", "accuracy"), [(0.05, 0.9), (0.3, 0.98), (0.5, 0.6)])
def test_sequences_hold_at_every_look(prevalence, accuracy):
    """The share leaves some interval in at most 5 % of data sets, one look per label."""
    rng, n, n_unlabelled, n_data_sets = np.random.default_rng(21), 250, 2000, 300
    left = 0
    for _ in range(n_data_sets):
        truth = rng.random(n + n_unlabelled) < prevalence
        verdicts = np.where(rng.random(n + n_unlabelled) < accuracy, truth, ~truth).astype(float)
        share = verdicts[n:].mean()
        labels = truth[:n].astype(float)
        found = confidence_sequence(labels, verdicts[:n], share, n_unlabelled)
        left += bool(((found.low > prevalence) | (found.high < prevalence)).any())
    assert left / n_data_sets <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / n_data_sets)
