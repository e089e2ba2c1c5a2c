"""Labels with and without their keys are one option, and unused steps of a scale are named."""

from __future__ import annotations

import shlex

import pytest
from support.made_tables import plan_of, task_of, text, written
from support.processes import invoke

from harness.errors import TaskError
from harness.tasks import load_task

N = 24
KEYED = ("2 - curt", "3 - neutral", "4 - polite")
MIXED = (*KEYED, "2", "4")


def table_of(place, labels, raters=("ann", "bea", "cem")):
    rows = [["id", "text", "rater", "label"]]
    rows += [
        [f"d{i}", text(i), who, labels[(i + k + i // 5) % len(labels)]]
        for i in range(N)
        for k, who in enumerate(raters)
    ]
    return written(place / "t.csv", rows)


def test_keys_without_their_labels_were_options_of_their_own(tmp_path):
    """Only --scale nominal was offered, with 4 and 4 - polite as two options."""
    path = table_of(tmp_path, MIXED)
    plan = plan_of(path)
    assert not plan.questions()
    assert plan.notes[0] == "'2', '4' are read as the labels with these keys, such as '2 - curt'"
    task = task_of(path)
    assert task.scale == "ordinal"
    assert [(o.key, o.label) for o in task.options] == [(k[0], k[4:]) for k in KEYED]
    assert len(task.ratings) == 3 * N


@pytest.mark.parametrize(
    ("labels", "notes"),
    [
        (("no (0)", "yes (1)", "1"), ["'1' is read as 'yes (1)': it's that label's key"]),
        (("A) good", "B) bad", "b"), ["'b' is read as 'B) bad': it's that label's key"]),
        (("1 = bad", "2", "3 = good", "3"), ["'3' is read as '3 = good': it's that label's key"]),
        (("1 - bad", "2", "3 - good"), []),
    ],
)
def test_a_key_without_its_label_is_noted(tmp_path, labels, notes):
    """A key that no label contains is an option, such as one between the ends of a scale."""
    path = table_of(tmp_path, labels)
    assert list(plan_of(path).notes) == notes
    assert len(task_of(path).options) == len(labels) - len(notes)


def test_a_key_with_several_labels_is_asked_about(tmp_path, monkeypatch):
    """Each command that is printed makes a task."""
    monkeypatch.chdir(tmp_path)
    table_of(tmp_path, (*MIXED, "4 - friendly"))
    done = invoke("curate", "import", "t.csv", "--as", "./made")
    assert isinstance(done.exception, TaskError)
    asked = "can't tell whether '4' means '4 - polite' or '4 - friendly'. Pass --rename"
    assert asked in str(done.exception)
    lines = [line.strip() for line in done.stdout.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("harness")]
    assert len(commands) == 2
    n_polite = []
    for number, words in enumerate(commands):
        words[words.index("./made")] = f"./made-{number}"
        assert invoke(*words).exit_code == 0, words
        task = load_task(f"./made-{number}")
        assert len(task.ratings) == 3 * N
        assert len(task.options) == len(KEYED) + 1
        n_polite.append(sum(rating.value == "4 - polite" for rating in task.ratings))
    assert n_polite[0] > n_polite[1]


LIST_ALL = "If the scale has other options, list all with --options"


@pytest.mark.parametrize(
    ("labels", "notes"),
    [
        (KEYED, [f"no rating has key 1. {LIST_ALL}"]),
        (("1 - a", "2 - b", "4 - d", "5 - e"), [f"no rating has key 3. {LIST_ALL}"]),
        (("5 - a", "6 - b", "8 - c"), [f"no rating has key 1, 2, 3, 4 or 7. {LIST_ALL}"]),
        (("2 stars", "3 stars", "4 stars"), [f"no rating has step 1. {LIST_ALL}"]),
        ("234", [f"no rating is 1. {LIST_ALL}"]),
        ("1245", ["nobody used 3, which was added because the scale is ordinal"]),
        (
            "235",
            [
                (
                    "nobody used 4, which was added because the scale is ordinal. No rating is 1 "
                    f"either. {LIST_ALL}"
                )
            ],
        ),
        ("123", []),
        ("012", []),
        (("-1", "0", "1"), []),
        (("1 - a", "2 - b", "3 - c"), []),
        (("0 - a", "1 - b", "2 - c"), []),
        (("10", "20", "30"), []),
        (("2019", "2020", "2021"), []),
    ],
)
def test_steps_that_nobody_used_are_named(tmp_path, labels, notes):
    """They vanished without a word: judges were told a shorter scale than the raters."""
    assert list(plan_of(table_of(tmp_path, labels), scale="ordinal").notes) == notes


def test_a_whole_list_of_options_needs_no_note(tmp_path):
    options = ("1 - rude", *KEYED)
    plan = plan_of(table_of(tmp_path, KEYED), scale="ordinal", options=options)
    assert not plan.notes
    assert len(plan.answers.labels) == len(options)
