"""A survey form has a row per respondent; each row of its grids is an item."""

from __future__ import annotations

import pytest
from support.made_tables import plan_of, task_of, text, written

LABELS = ("1 - rude", "2 - neutral", "3 - polite")
PEOPLE = ("anna@acme.com", "ben@acme.com", "chi@acme.com", "dora@acme.com")
N = 12
QUESTION = "How polite is this reply (1-3) [pick one]?"
ALSO = "Which others would also be reasonable?"


def choice(item, person):
    return LABELS[(item + person * (item % 2)) % 3]


def form(items, *, also=False, rater="Email Address"):
    """Return a form of one or two grids, with a row per respondent."""
    questions = [QUESTION, ALSO] if also else [QUESTION]
    head = ["Timestamp", *([rater] if rater else [])]
    rows = [[*head, *(f"{q} [{item}]" for q in questions for item in items)]]
    for k, person in enumerate(PEOPLE):
        row = ["2026-10-01 13:31:00", *([person] if rater else [])]
        row += [choice(i, k) for i in range(len(items))]
        other = [LABELS[(LABELS.index(choice(i, k)) + 1) % 3] for i in range(len(items))]
        row += [x if i % 2 else f"{x}, {min(set(LABELS) - {x, choice(i, k)})}" if i % 3 else ""
                for i, x in enumerate(other)] if also else []  # fmt: skip
        rows.append(row)
    return rows


TEXTS = [text(i) for i in range(N)]


def test_each_row_of_a_grid_is_an_item(tmp_path):
    """A column per question was asked about, and no option read it."""
    task = task_of(written(tmp_path / "t.csv", form(TEXTS)))
    assert [item.fields["text"] for item in task.items] == TEXTS
    values = {(task.by_id[r.item].fields["text"], r.rater): r.value for r in task.ratings}
    assert values == {
        (TEXTS[i], person): choice(i, k)[0] for i in range(N) for k, person in enumerate(PEOPLE)
    }
    assert [(o.key, o.label) for o in task.options] == [("1", "rude"), ("2", "neutral"),
                                                       ("3", "polite")]  # fmt: skip
    assert task.rater_ids == "real"


@pytest.mark.parametrize("items", [[f"[image {i}.png]" for i in range(N)], ["a", "a", "b", "c"]])
def test_rows_with_brackets_or_the_same_name_are_items(tmp_path, items):
    if len(set(items)) < len(items):
        items = [*items[:1], f"{items[1]} ", *items[2:]]  # a form refuses the same name twice
    task = task_of(written(tmp_path / "t.csv", form(items)))
    assert len(task.ratings) == len(items) * len(PEOPLE)


def test_respondents_without_a_name_are_counted(tmp_path):
    task = task_of(written(tmp_path / "t.csv", form(TEXTS, rater="")))
    assert {r.rater for r in task.ratings} == {f"respondent {k}" for k in range(1, 5)}


def test_other_reasonable_answers_join_the_choice_in_a_response_set(tmp_path):
    """The others alone would be a set that never holds the rater's own choice."""
    path = written(tmp_path / "t.csv", form(TEXTS, also=True))
    task = task_of(path, {"label": [QUESTION], "set": [ALSO]}, separator=",")
    chosen = {(r.item, r.rater): r.value for r in task.ratings if isinstance(r.value, str)}
    sets = {(r.item, r.rater): r.value for r in task.ratings if isinstance(r.value, tuple)}
    assert chosen.keys() == sets.keys()
    assert all(chosen[pair] in sets[pair] for pair in chosen)
    assert {len(of) for of in sets.values()} == {1, 2, 3}


def test_raters_in_brackets_are_no_items(tmp_path):
    names = [f"{c} [{r}]" for c in ("tone", "style") for r in ("Ana", "Ben", "Cy")]
    rows = [["id", "text", *names]]
    rows += [[f"d{i}", text(i), *(1 + (i * k + k) % 5 for k in range(6))] for i in range(N)]
    assert plan_of(written(tmp_path / "t.csv", rows)).table.reading.name == ""
