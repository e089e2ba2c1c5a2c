"""What raters gave beside their ratings, a column each: remarks and confidences."""

from __future__ import annotations

import csv

from support.processes import call_harness

from harness.tasks import load_task

N = 30


def imported(place, columns, options=()):
    """Import a table with two columns of labels and two others."""
    labels = ("yes", "no")
    rows = [
        [
            *(i, f"The answer number {i} is that it rained for {i + 2} days"),
            *(cell for j in (0, 1) for cell in (labels[(i + i * j // 3) % 2], columns(i, j))),
        ]
        for i in range(N)
    ]
    name = columns.__name__
    head = ["id", "text", "ann1_label", f"ann1_{name}", "ann2_label", f"ann2_{name}"]
    with (place / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return call_harness("curate", "import", "t.csv", "--as", "made", "--yes", *options, cwd=place)


def comment(i, j):
    return f"I was not so sure about number {i}, and read it {j + 2} times"


def confidence(i, j):
    return (2 * i + 3 * j + i // 4) % 5 + 1


def test_remarks_of_two_raters_are_no_sides_of_a_pair(tmp_path):
    """``ann1_comment`` and ``ann2_comment`` were shown to judges as two answers."""
    done = imported(tmp_path, comment)
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "made")
    assert task.text == ("text",)
    assert "raters' remarks, which judges don't see" in " ".join(done.stdout.split())


def test_confidences_are_no_ratings_of_more_raters(tmp_path):
    """They made four raters and seven options of two raters and two options."""
    done = imported(tmp_path, confidence)
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "made")
    assert {rating.rater for rating in task.ratings} == {"ann1_label", "ann2_label"}
    assert {option.key for option in task.options} == {"yes", "no"}
