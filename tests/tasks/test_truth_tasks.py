"""Real data sets, written by others, load as tasks."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support.task_folders import make_truth_task

from harness.errors import TaskError
from harness.tasks import load_task

LOADABLE = (
    "qags",
    "wax",
    "mtbench",
    "cebab_aspects",
    "summeval",
    "10k_prompts",
    "dices_990",
    "recipes",
    "inferential_strategies",
)


@pytest.mark.parametrize("name", LOADABLE)
def test_a_real_data_set_loads_with_every_rating(truth, tmp_path, name):
    """Items, raters and ratings are as many as the data set's own description says."""
    meta = json.loads((truth / "data" / name / "meta.json").read_text(encoding="utf-8"))
    task = load_task(make_truth_task(truth, name, tmp_path))
    assert len(task.items) == meta["n_items"]
    assert len(task.ratings) == meta["n_ratings"]
    assert len({rating.rater for rating in task.ratings}) == meta["n_raters"]
    assert {rating.value for rating in task.ratings} == set(meta["labels_in_ratings"])
    assert {option.key for option in task.options} >= set(meta["labels_in_ratings"])


def test_qags_items_carry_the_article_of_their_group(truth, tmp_path):
    """A sentence is shown with its article, the article first."""
    task = load_task(make_truth_task(truth, "qags", tmp_path))
    assert all(task.has_text(item) for item in task.items)
    item = task.items[0]
    assert tuple(item.fields) == ("article", "corpus", "sentence")
    assert (
        task.text_of(item)
        == f"article:\n{item.fields['article']}\n\nsentence:\n{item.fields['sentence']}"
    )
    assert item.group == item.id.split("-")[0]
    assert [option.key for option in task.options] == ["yes", "no"]
    assert task.elicitations == ("forced_choice", "response_set", "paired")


def test_wax_has_too_many_options_for_response_sets(truth, tmp_path):
    """With 17 options and no sets listed, judges are asked for forced choices only."""
    task = load_task(make_truth_task(truth, "wax", tmp_path))
    assert len(task.options) == 17
    assert task.options[-1].label == "None-of-the-above"
    assert task.elicitations == ("forced_choice",)
    assert not task.space.sets_known
    assert task.text_of(task.items[0]).startswith("cue:\nairport\n\nassociation:\nrunway\n\n")


def test_human_label_outside_options_framing(truth, tmp_path):
    """Golden bad/human-label-outside-options-framing: refused unless listed, then counted."""
    foreign = "n/a: problem is resolved"
    with pytest.raises(TaskError, match="n/a: problem is resolved") as caught:
        load_task(make_truth_task(truth, "framing", tmp_path / "a"))
    assert caught.value.reason == "unknown_label"
    task = load_task(make_truth_task(truth, "framing", tmp_path / "b", ignore_labels=[foreign]))
    assert task.n_ignored == {foreign: 8}
    assert len(task.ratings) == 7656 - 8
    assert not any(task.has_text(item) for item in task.items)


def golden_ingest(truth):
    cases = json.loads((truth / "golden" / "bad_inputs.json").read_text(encoding="utf-8"))
    return [case for case in cases if case["kind"] == "rating_ingest"]


def test_golden_bad_ratings_are_refused_by_name(truth, tmp_path):
    """Every `rating_ingest` case stops with its reason and names value, item and rater."""
    cases = golden_ingest(truth)
    assert Counter(case["expect"]["reason"] for case in cases).keys() == {
        "unknown_label",
        "duplicate_rating",
        "non_numeric_value",
    }
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        inputs = case["inputs"]
        scale = inputs.get("scale", "nominal")
        fields = {"name": "case", "property": "x", "scale": scale, "options": inputs["options"]}
        (folder / "task.yaml").write_text(json.dumps(fields))
        rows = "".join(json.dumps(row) + "\n" for row in inputs["ratings"])
        (folder / "ratings.jsonl").write_text(rows)
        with pytest.raises(TaskError) as caught:
            load_task(folder)
        assert caught.value.reason == case["expect"]["reason"]
        assert caught.value.exit_code == 2
        for mentioned in case["expect"]["mentions"]:
            assert f"'{mentioned}'" in str(caught.value)
