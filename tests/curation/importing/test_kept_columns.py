"""Columns without a role stay with the item as fields; judges see what the user marks as text."""

from __future__ import annotations

import pytest
from support.made_tables import plan_of, task_of, text, written

from harness.tasks.columns.cell_values import is_date

N = 20
RATERS = ("ann", "bea", "cem")


def long_rows():
    rows = [["doc", "text", "lang", "length", "annotator", "age", "label"]]
    for i in range(N):
        for k, r in enumerate(RATERS):
            label = ("yes", "no")[(i * k + i // 3) % 2]
            rows.append([f"d{i}", text(i), ("en", "de")[i % 2], 10 + i, r, 30 + k, label])
    return rows


def test_columns_of_an_item_were_left_out_of_long_tables(tmp_path):
    """--strata and systems could be used on no imported task."""
    task = task_of(written(tmp_path / "t.csv", long_rows()))
    assert task.text == ("text",)
    assert task.items[1].fields == {"text": text(1), "lang": "de", "length": "11"}


def test_a_field_called_text_is_not_shown_unless_it_is_marked(tmp_path):
    task = task_of(written(tmp_path / "t.csv", long_rows()), {"text": ["none"]})
    assert "text" not in task.items[0].fields
    assert task.items[0].fields["text_"] == text(0)


@pytest.mark.parametrize("stamp", ["Mon Mar 25 07:39:42 PDT 2019", "25 March 2019", "7:39"])
def test_dates_in_words_and_constants_are_not_shown(tmp_path, stamp):
    """Judges were shown when the work began."""
    rows = [
        [*row[:2], stamp, "Read the text, then say whether it is rude.", *row[4:]]
        for row in long_rows()
    ]
    rows[0] = ["doc", "text", "start", "instruction", "annotator", "age", "label"]
    assert is_date(stamp)
    assert task_of(written(tmp_path / "t.csv", rows)).text == ("text",)


def test_a_category_beside_a_text_is_asked_about(tmp_path):
    rows = [[*row[:2], ("IR", "QA")[n % 2], *row[4:]] for n, row in enumerate(long_rows())]
    for n, row in enumerate(rows[1:]):
        row[2] = ("IR", "QA")[n // 3 % 2]
    rows[0][2] = "task"
    [question] = plan_of(written(tmp_path / "t.csv", rows)).questions()
    assert "--text text,task, or --text text" in question


def test_turns_of_a_dialogue_are_no_sides_of_a_pair(tmp_path):
    """Two turns that occur both ways round were refused, whatever the options."""
    turns = [
        ("Do you like it?", "Why do you ask me that?"),
        *((text(i), text(i + N)) for i in range(9)),
    ]
    turns += [turns[0][::-1]]
    rows = [["agent", "user", "annotator", "rating"]]
    rows += [
        [*turn, r, 1 + (i + k) % 4] for i, turn in enumerate(turns) for k, r in enumerate(RATERS)
    ]
    roles = {"id": ["agent", "user"], "text": ["agent", "user"]}
    path = written(tmp_path / "t.csv", rows)
    assert len(task_of(path, roles, scale="ordinal").ratings) == 33
    assert len(task_of(path, roles).ratings) == 33


def test_judges_see_short_prompts_but_neither_hints_nor_expected_answers(tmp_path):
    """The prompts are two words and name the items, and the hints are as long as the replies."""
    rows = [["prompt", "reply", "hint", "expected answer", *RATERS]]
    for i in range(N):
        labels = [("good", "bad")[(i * k + i // 3) % 2] for k in range(3)]
        aside = [f"Think of rule {i}, which says a lot.", f"The key of {i} is to be early."]
        rows.append([f"Q{i}: how?", text(i), *aside, *labels])
    task = task_of(written(tmp_path / "t.csv", rows), {"raters": [*RATERS]})
    assert task.text == ("prompt", "reply")
    assert task.items[2].fields["hint"] == "Think of rule 2, which says a lot."
