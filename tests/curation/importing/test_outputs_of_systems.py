"""Tables of the outputs of several systems for each prompt: the system is not a rater.

With a row per prompt and system, the system tells the rows of a prompt apart as a rater would, and
such tables were imported as if the systems had rated the prompts.
"""

from __future__ import annotations

import csv
import shlex
from itertools import product

import pytest
from support.processes import call_harness

from harness.tasks import load_task

PROMPTS = [
    f"How would the {kind} {animal} cross the river today"
    for kind, animal in product(("red", "old", "shy"), ("dog", "cat", "man", "owl", "fox", "hen"))
]
SYSTEMS = ("sysA", "sysB")


def table(path, *columns, raters=("Anna", "Ben"), texts=True):
    """Write a table whose columns are those of the prompt and of the system."""
    prompt, system = columns
    head = [prompt, system, *(["output"] if texts else []), *raters]
    rows = [
        [
            PROMPTS[i] if prompt == "prompt" else f"q{i}",
            name,
            *([f"It would swim {name} if the water of {PROMPTS[i][14:]} is low"] if texts else []),
            *((i * (3 + j) + 2 * s) % 5 + 1 for j in range(len(raters))),
        ]
        for i in range(len(PROMPTS))
        for s, name in enumerate(SYSTEMS)
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def imported(place, *options):
    return call_harness("curate", "import", "t.csv", "--as", "made", "--yes", *options, cwd=place)


def test_columns_of_numbered_raters_are_the_raters(tmp_path):
    """Each output is an item, and the outputs of a prompt are a group."""
    table(tmp_path / "t.csv", "prompt", "system", raters=("ann_1", "ann_2"))
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr
    task = load_task(tmp_path / "made")
    assert len(task.items) == len(PROMPTS) * len(SYSTEMS)
    assert {rating.rater for rating in task.ratings} == {"ann_1", "ann_2"}
    assert len({item.group for item in task.items}) == len(PROMPTS)
    assert task.text == ("prompt", "output")


@pytest.mark.parametrize("raters", [("score",), ("Anna", "Ben")], ids=len)
@pytest.mark.parametrize("columns", [("prompt", "system"), ("qid", "variant")], ids="-".join)
@pytest.mark.parametrize("texts", [True, False], ids=["outputs", "no-outputs"])
def test_a_system_is_asked_about_and_both_readings_can_be_pasted(tmp_path, columns, raters, texts):
    """The first reads the system as a rater, the other each output as an item."""
    table(tmp_path / "t.csv", *columns, raters=raters, texts=texts)
    asked = imported(tmp_path)
    assert asked.returncode == 2
    assert f"can't tell whether {columns[1]} names the rater or" in asked.stderr
    assert not (tmp_path / "made").exists()
    joined = asked.stdout.replace("\\\n", " ")
    advice = [shlex.split(x)[1:] for x in joined.splitlines() if "harness curate import" in x]
    for words in (advice[0], advice[-1]):
        place = tmp_path / ("straight" if words is advice[0] else "rows")
        words[words.index("--as") + 1] = place.name
        done = call_harness(*words, "--yes", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    straight, rows = load_task(tmp_path / "straight"), load_task(tmp_path / "rows")
    assert {rating.rater for rating in straight.ratings} == set(SYSTEMS)
    assert len(rows.items) == len(PROMPTS) * len(SYSTEMS)
    assert {rating.rater for rating in rows.ratings} == set(raters)


def test_a_column_called_after_raters_is_not_asked_about(tmp_path):
    """A text that differs between raters is then their remark."""
    table(tmp_path / "t.csv", "prompt", "annotator", raters=("score",))
    done = imported(tmp_path)
    assert done.returncode == 0, done.stderr
    assert {rating.rater for rating in load_task(tmp_path / "made").ratings} == set(SYSTEMS)
