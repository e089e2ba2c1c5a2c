"""Who rated: people by any id, models only if the user or a column says so, and places."""

from __future__ import annotations

import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_tables import plan_of, task_of, text, written

from harness.tasks.columns.rater_names import who_are_raters

N = 20
WORKERS = ("A2X7QHJ3WLT0", "AZ9KD81MPR5", "A26O4OGE3YI0", "O3PHI4YI34B9")
HEAD = ["question", "text", "worker", "answer"]
MIXED = ("ann", "bea", "gpt-4o", "claude-3-opus")


def long_rows(raters, head=HEAD):
    labels = ("yes", "no")
    rows = [
        [f"q{i}", text(i), r, labels[(i * k + i // 3) % 2]]
        for i in range(N)
        for k, r in enumerate(raters, 1)
    ]
    return [head, *rows]


def test_a_worker_became_a_judge_by_the_look_of_an_id(tmp_path):
    task = task_of(written(tmp_path / "t.csv", long_rows(WORKERS)))
    assert {r.rater for r in task.ratings} == set(WORKERS)
    assert not (task.folder / "verdicts.csv").exists()


@given(st.lists(st.text(string.ascii_uppercase + string.digits, min_size=8), min_size=1))
def test_no_random_id_is_a_model(ids):
    assert {*who_are_raters("worker", ids).values()} <= {"person"}


def test_ratings_move_to_judges_only_when_the_user_says_so(tmp_path):
    path = written(tmp_path / "t.csv", long_rows(MIXED))
    [question] = plan_of(path).questions()
    assert question == (
        "can't tell whether gpt-4o, claude-3-opus in 'worker' are people or models. Pass --judges "
        "none if they are people, or --judges gpt-4o,claude-3-opus"
    )
    assert len(task_of(path, {"judges": ["none"]}).ratings) == 4 * N


def test_a_column_says_which_rows_are_machines(tmp_path):
    head, *rows = long_rows(MIXED)
    kinds = dict.fromkeys(MIXED[:2], "human") | dict.fromkeys(MIXED[2:], "LLM")
    table = [[*head, "source type"], *([*row, kinds[row[2]]] for row in rows)]
    task = task_of(written(tmp_path / "t.csv", table), {"text": ["text"]})
    assert {r.rater for r in task.ratings} == {"ann", "bea"}


def test_repeated_rows_of_an_item_are_asked_about_and_numbered(tmp_path):
    """The advice numbered the rows as items with one rater each."""
    rows = [["id", "valence", "arousal"]]
    draw = random.Random(3)
    rows += [[f"s{i}", draw.choice("1234"), draw.choice("1234")] for i in range(N) for _ in "abcde"]
    path = written(tmp_path / "t.csv", rows)
    assert any("--id id --rater positional" in q for q in plan_of(path).questions())
    roles = {"id": ["id"], "criteria": ["valence", "arousal"], "text": ["none"]}
    task = task_of(path, roles)
    assert len(task.items) == 2 * N
    assert len(task.ratings) == 2 * 5 * N
    assert {r.rater for r in task.ratings} == {f"p{k}" for k in range(1, 6)}
    assert task.rater_ids == "positional"


@pytest.mark.parametrize(
    ("names", "kind"), [(("P0", "P7", "P9"), "real"), (("0", "1", "2"), "positional")]
)
def test_raters_who_are_named_in_a_cell_are_people(tmp_path, names, kind):
    """Ids in a cell were positional although each key is a person's."""
    rows = [["id", "text", "annotations"]]
    for i in range(N):
        votes = {name: str(1 + (i + k) % 3) for k, name in enumerate(names)}
        rows.append([i, text(i), json.dumps(votes)])
    assert task_of(written(tmp_path / "t.csv", rows), lists="raters").rater_ids == kind


def test_raters_who_are_listed_beside_their_labels_are_people(tmp_path):
    rows = [["id", "text", "workers", "labels"]]
    for i in range(N):
        labels = [("yes", "no")[(i + k) % 2] for k in range(3)]
        rows.append([i, text(i), json.dumps(["ann", "bea", "cem"]), json.dumps(labels)])
    task = task_of(written(tmp_path / "t.csv", rows), {"rater": ["workers"], "votes": ["labels"]})
    assert task.rater_ids == "real"
