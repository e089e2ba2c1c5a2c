"""Files in the form of published ones are read right, at once or by a command that is printed."""

from __future__ import annotations

import csv
import json
import shlex
from collections import Counter

import pytest
from support import public_shapes
from support.processes import invoke

from harness.errors import HarnessError
from harness.tasks.schema import read_task_file

AT_ONCE = (
    public_shapes.posts_by_id,
    public_shapes.listed_labels,
    public_shapes.stance_columns,
    public_shapes.people_beside_ratings,
    public_shapes.counted_crowd,
    public_shapes.listed_words_and_remarks,
    public_shapes.irony_of_replies,
    public_shapes.labels_with_confidence,
)
ASKED = (
    public_shapes.comments_one_hot,
    public_shapes.joined_annotators,
    public_shapes.acceptable_explanations,
    public_shapes.numbered_preferences,
    public_shapes.schemes_of_labels,
    public_shapes.toxicity_and_its_score,
    public_shapes.nested_reviews,
)
MOST_ROUNDS = 4


def commands(done):
    lines = [line.strip() for line in done.output.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("harness curate import")]


def labels_by_item(shape):
    return Counter((item, value) for item, _, value in shape.ratings.elements())


def written(place):
    """Return items with their labels, and the raters, of each task that was written."""
    for folder in sorted(path.parent for path in place.glob("*/task.yaml")):
        file = read_task_file(folder / "task.yaml")
        with (folder / "ratings.csv").open(encoding="utf-8", newline="") as rows:
            ratings = list(csv.DictReader(rows))
        by_item = Counter((row["item"], label_of(row, file)) for row in ratings)
        raters = {row["rater"] for row in ratings}
        yield by_item, raters


def label_of(row, file):
    labels = {option.key: option.label for option in file.options or ()}
    if row["elicitation"] == "response_set":
        return tuple(labels[key] for key in json.loads(row["value"]))
    return labels[row["value"]]


def comparable(by_item):
    """Number the items by their labels, as their names differ where a file has none."""
    of_items: dict[str, Counter] = {}
    for (item, value), n in by_item.items():
        folded = value.casefold() if isinstance(value, str) else tuple(map(str.casefold, value))
        of_items.setdefault(item, Counter())[folded] += n
    return Counter(frozenset(of.items()) for of in of_items.values())


def is_right(place, shape):
    named = {rater for _, rater, _ in shape.ratings} - {""}
    return any(
        comparable(by_item) == comparable(labels_by_item(shape))
        and (not named or len(raters) == len(named))
        for by_item, raters in written(place)
    )


def first_import(make, place, monkeypatch):
    monkeypatch.chdir(place)
    shape = make()
    (place / shape.name).write_text(shape.content, encoding="utf-8")
    return shape, invoke("curate", "import", shape.name, "--as", "made")


@pytest.mark.parametrize("make", AT_ONCE)
def test_a_published_form_is_read_right_without_a_question(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert done.exit_code == 0, done.exception
    assert is_right(tmp_path, shape), done.output


@pytest.mark.parametrize("make", ASKED)
def test_a_published_form_is_read_right_by_a_printed_command(make, tmp_path, monkeypatch):
    shape, done = first_import(make, tmp_path, monkeypatch)
    assert isinstance(done.exception, HarnessError)
    assert not list(tmp_path.glob("*/task.yaml"))
    reached = [(commands(done), 1)]
    for words, depth in ((w, d) for listed, d in reached for w in listed):
        place = tmp_path / f"round-{len(reached)}"
        place.mkdir()
        (place / shape.name).write_text(shape.content, encoding="utf-8")
        monkeypatch.chdir(place)
        pasted = invoke(*words)
        if is_right(place, shape):
            return
        reached += [(commands(pasted), depth + 1)] if depth < MOST_ROUNDS else []
    pytest.fail(f"{done.exception}")


def test_scores_that_add_up_are_no_numbers_of_raters(tmp_path, monkeypatch):
    """A sum of scores by criterion differs between items; a number of raters hardly does."""
    monkeypatch.chdir(tmp_path)
    rows = [["id", "reply", "clarity", "depth", "tone", "sum"]]
    for i in range(30):
        scores = [1 + (i * k) % 5 for k in (3, 7, 11)]
        rows.append([f"d{i}", public_shapes.sentence(i), *scores, sum(scores)])
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    done = invoke("curate", "import", "t.csv", "--as", "made", "--json")
    assert "counts" not in json.loads(done.stdout)["columns"]
