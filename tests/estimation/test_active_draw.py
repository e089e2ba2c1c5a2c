"""`harness curate draw`: items to label, drawn with known probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.processes import call_harness, invoke
from support.task_folders import copy_place, make_task_folder

from harness.tasks import load_task

N, N_NEW = 40, 400
DRAW = (
    *("curate", "draw", "small", "--judge", "lexicon"),
    *("--items", "new.jsonl", "--out", "runs"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of a word list whose ratings agree with its yes alone, and unlabelled items."""
    place = tmp_path_factory.mktemp("made")
    folder = make_task_folder(place / "small", N, response_sets=False)
    with (folder / "task.yaml").open("a", encoding="utf-8") as file:
        file.write("lexicon: {positive: B, negative: A}\n")
    texts = [{"id": f"i{i}", "text": text(i)} for i in range(N)]
    write(folder / "items.jsonl", texts)
    labels = ["A" if i % 4 else "AB"[i % 8 > 0] for i in range(N)]
    ratings = [{"item": f"i{i}", "rater": "bea", "value": labels[i]} for i in range(N)]
    write(folder / "ratings.jsonl", ratings)
    write(place / "new.jsonl", [{"id": f"u{i}", "text": text(i)} for i in range(N_NEW)])
    ran = invoke("run", "--task", folder, "--judges", "lexicon", "--out", place / "runs", "-q")
    assert ran.exit_code == 0, ran.output
    return place


@pytest.fixture
def run(made, tmp_path, monkeypatch):
    """The name of a copy of it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return copy_place(made, tmp_path)


def text(i):
    return f"{'a good day' if i % 4 else 'a horrible, terrible day'} {i}"


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def run_of(task):
    """Run the judge on a task and return the run's path."""
    place = task if "/" in task else f"./{task}"
    ran = invoke("run", "--task", place, "--judges", "lexicon", "--out", f"runs-{task}", "-q")
    assert ran.exit_code == 0, ran.output
    return next(Path(f"runs-{task}").iterdir())


def estimated(*arguments):
    place = ("--judge", "lexicon", "--items", "new.jsonl", "--out", "runs", "--json", "-q")
    result = invoke("estimate", *arguments, *place)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_drawn_items_are_rated_and_weighted(run, tmp_path):
    """From the draw to an estimate by weighted labels; the judge is asked about nothing again."""
    estimated(run)
    result = invoke(*DRAW, "--budget", "80", "--as", "drawn", "--run", run, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["n_items"] == N_NEW
    task = load_task("drawn", unrated=True)
    weights = {i.id: 1 / float(i.fields["inclusion_probability"]) for i in task.items}
    assert [1 / row["probability"] for row in found["drawn"]] == list(weights.values())
    assert len(set(weights.values())) == 2  # one for each verdict
    labels = {item: "B" if int(item[1:]) % 3 else "A" for item in weights}
    rows = [{"item": item, "rater": "ann", "value": label} for item, label in labels.items()]
    write(tmp_path / "drawn" / "ratings.jsonl", rows)
    found = estimated(run_of("drawn"))
    mean = found["mean"]
    positive = set(task.positive)
    share = sum(w for item, w in weights.items() if labels[item] in positive)
    assert mean["labels_alone"]["value"] == pytest.approx(share / sum(weights.values()))
    assert (mean["n_labelled"], mean["n_unlabelled"]) == (len(weights), N_NEW)
    assert found["likeness"] is None  # the draw made them unlike


def test_items_are_not_drawn_before_the_judge_answered(run, tmp_path):
    """Without verdicts there are no probabilities: exit 2, the command to run, and no folder."""
    result = call_harness(*DRAW, "--budget", "20", "--as", "drawn", "--run", run, cwd=tmp_path)
    assert result.returncode == 2
    shown = f"Run `harness estimate runs/{run} --judge lexicon --items new.jsonl` first"
    assert shown in result.stderr
    assert not (tmp_path / "drawn").exists()


def test_more_items_than_there_are_cannot_be_drawn(run, tmp_path):
    """A number above that of the items ends with 2 and says how many there are."""
    estimated(run)
    result = call_harness(*DRAW, "--budget", "500", "--as", "drawn", "--run", run, cwd=tmp_path)
    assert result.returncode == 2
    assert f"{N_NEW} items. Draw at most {N_NEW}" in result.stderr


def test_probabilities_of_a_sample_were_ignored(run, tmp_path):
    """Items of a sample with unequal probabilities counted alike, and the estimate was biased."""
    task = load_task("small")
    items = [
        {"id": item.id, **item.fields, "inclusion_probability": "0.9" if i % 2 else "0.1"}
        for i, item in enumerate(task.items)
    ]
    weights = {item["id"]: 1 / float(item["inclusion_probability"]) for item in items}
    write(tmp_path / "small" / "items.jsonl", items)
    by_item = {item.id: [] for item in task.items}
    for rating in task.ratings:
        by_item[rating.item].append(rating.value in task.positive)
    total = sum(weights[i] * sum(r) / len(r) for i, r in by_item.items())
    found = estimated(run_of("small"))["mean"]["labels_alone"]["value"]
    assert found == pytest.approx(total / sum(weights.values()))
