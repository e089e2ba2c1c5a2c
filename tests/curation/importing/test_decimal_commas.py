"""Numbers with a decimal comma: asked about, as 3,5 may be a set of 3 and 5, and read when told."""

from __future__ import annotations

import shlex

import pytest
from support.processes import call_harness

from harness.tasks import load_task

HALVES = ["1,0", "1,5", "2,0", "2,5", "3,0", "3,5"]
MEASURED = [f"{n},{n % 10}" for n in range(11, 41)]
SETS = ["1", "2", "1,2"]


def table(folder, labels):
    """A table as a spreadsheet with decimal commas saves it."""
    folder.mkdir(exist_ok=True)
    rows = [
        f"i{i};how good was the answer {i} that was given;{labels[i % len(labels)]};"
        f"{labels[(i + i // 7) % len(labels)]}\n"
        for i in range(30)
    ]
    (folder / "t.csv").write_text("id;answer;Ann;Bo\n" + "".join(rows), encoding="utf-8")


def imported(folder, *options):
    return call_harness("curate", "import", "t.csv", "--as", folder / "made", *options, cwd=folder)


def advice(output):
    joined = output.replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines()]
    return [shlex.split(line)[3:] for line in lines if line.startswith("harness curate import")]


@pytest.mark.parametrize(
    ("labels", "scale"), [(HALVES, "ordinal"), (MEASURED, "continuous")], ids=["steps", "measured"]
)
def test_numbers_with_a_comma_are_no_sets(tmp_path, labels, scale):
    """They were asked about as joined labels, and the advice made sets of them."""
    table(tmp_path, labels)
    asked = imported(tmp_path, "--raters", "Ann,Bo", "--yes")
    assert asked.returncode == 2
    assert f"could be the number {labels[0].replace(',', '.')[:1]}" in asked.stderr
    first, *others = advice(asked.stdout)
    has_sets = any("--separator" in words for words in others)
    assert has_sets is (scale == "ordinal")  # of measured numbers every part is an option
    accepted = call_harness("curate", "import", *first, "--yes", cwd=tmp_path)
    assert accepted.returncode == 0, accepted.stderr
    task = load_task(tmp_path / "made")
    assert task.scale == scale
    expected = {float(label.replace(",", ".")) for label in labels}
    assert {float(rating.value) for rating in task.ratings} == expected


def test_a_continuous_scale_asks_for_the_comma(tmp_path):
    """It said that no rating is a number."""
    table(tmp_path, MEASURED)
    options = ("--raters", "Ann,Bo", "--scale", "continuous", "--yes")
    asked = imported(tmp_path, *options)
    assert "Pass --decimal comma" in asked.stderr
    assert imported(tmp_path, *options, "--decimal", "comma").returncode == 0


def test_labels_that_join_labels_are_sets_first(tmp_path):
    """Where 1 and 2 are labels, 1,2 joins them."""
    table(tmp_path, SETS)
    asked = imported(tmp_path, "--raters", "Ann,Bo", "--yes")
    assert "'1,2' contains other labels" in asked.stderr
    assert imported(tmp_path, "--raters", "Ann,Bo", "--separator", ",").returncode == 0
    sets = {rating.value for rating in load_task(tmp_path / "made").ratings}
    assert sets == {("1",), ("2",), ("1", "2")}


def test_other_columns_keep_their_commas(tmp_path):
    """A comma in the name or the text of an item is no decimal comma."""
    rows = "".join(f"{i},5;{i},7;{HALVES[i % 6]};{HALVES[-i % 6]}\n" for i in range(24))
    (tmp_path / "t.csv").write_text(f"id;answer;Ann;Bo\n{rows}", encoding="utf-8")
    options = ("--id", "id", "--text", "answer", "--raters", "Ann,Bo", "--scale", "continuous")
    done = imported(tmp_path, *options, "--decimal", "comma", "--judges", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    item = load_task(tmp_path / "made").items[0]
    assert (item.id, item.fields) == ("0,5", {"answer": "0,7"})
