"""A blank is no rating, unless the user names the answer that it means."""

from __future__ import annotations

import json

import pytest
from support.made_tables import plan_of, task_of, text, written

from harness.tasks import CANNOT_ASSESS

N = 20
RATERS = ("ann", "bea", "cem")
OPTIONS = ("Edema", "Fracture", "Effusion")
TIMES = ("2024-05-01T10:00:00", "2024-05-01T11:00:00")


def test_a_blank_answer_corrected_a_rating(tmp_path):
    """--on-duplicate last dropped the rating, so whole items vanished."""
    rows = [["doc", "rater", "rated_at", "label"]]
    rows += [[f"d{i}", r, TIMES[0], ("no", "yes")[i % 2]] for i in range(N) for r in RATERS]
    rows += [["d3", r, TIMES[1], ""] for r in RATERS] + [["d4", "ann", TIMES[1], "yes"]]
    roles = {"id": ["doc"], "rater": ["rater"], "label": ["label"], "rated_at": ["rated_at"]}
    path = written(tmp_path / "t.csv", rows)
    task = task_of(path, roles, on_duplicate="last")
    values = {(r.item, r.rater): r.value for r in task.ratings}
    assert len(values) == 3 * N
    assert values["d3", "ann"] == values["d4", "ann"] == "yes"
    assert plan_of(path, roles).questions()[0].startswith("1 rating is corrected later")


def test_each_criterion_keeps_its_last_rating(tmp_path):
    rows = [["doc", "rater", "rated_at", "tone", "style"]]
    rows += [[f"d{i}", r, TIMES[0], 1 + i % 3, 1 + i // 2 % 3] for i in range(N) for r in RATERS]
    rows += [["d0", "ann", TIMES[1], 3, ""]]
    roles = {"id": ["doc"], "rater": ["rater"], "criteria": ["tone", "style"]}
    roles |= {"rated_at": ["rated_at"]}
    task = task_of(written(tmp_path / "t.csv", rows), roles, on_duplicate="last")
    values = {(r.item, r.rater): r.value for r in task.ratings}
    assert (values["d0__tone", "ann"], values["d0__style", "ann"]) == ("3", "1")
    assert len(values) == 2 * 3 * N


def ticks(tmp_path, cells):
    rows = [["study", "reader", *OPTIONS]]
    rows += [
        [f"s{i}", r, *(cells[(i + k + n) % 3 == 0 and i % 4 > 0] for n in range(3))]
        for i in range(N)
        for k, r in enumerate(RATERS)
    ]
    return written(tmp_path / "t.csv", rows)


ROLES = {"id": ["study"], "rater": ["reader"], "sets": OPTIONS, "text": ["none"]}


@pytest.mark.parametrize("cells", ["01", ("", "X")])
def test_rows_without_a_tick_are_asked_about(tmp_path, cells):
    """They were refused, and the advice dropped every "none of these"."""
    [question] = plan_of(ticks(tmp_path, cells), ROLES).questions()
    assert question == (
        "a rater chose none of the options 15 times. Pass --none 'none of these' if that is an "
        f"answer, or --none {CANNOT_ASSESS} if the rater couldn't say"
    )


@pytest.mark.parametrize("cells", ["01", ("", "X")])
def test_none_of_the_options_is_an_answer(tmp_path, cells):
    task = task_of(ticks(tmp_path, cells), ROLES, none="none of these")
    assert len(task.ratings) == 3 * N
    assert sum(r.value == ("none of these",) for r in task.ratings) == 15


def test_a_rater_who_ticked_nothing_could_not_say(tmp_path):
    task = task_of(ticks(tmp_path, "01"), ROLES, none=CANNOT_ASSESS)
    assert sum(r.value == CANNOT_ASSESS for r in task.ratings) == 15


def test_an_empty_list_is_none_of_the_options(tmp_path):
    sets = ([], ["rude"], ["rude", "loud"])
    rows = [["id", "text", "annotator", "labels"]]
    rows += [
        [i, text(i), r, json.dumps(sets[(i + k) % 3])]
        for i in range(N)
        for k, r in enumerate(RATERS)
    ]
    path = written(tmp_path / "t.csv", rows)
    assert "--none 'none of these'" in plan_of(path).questions()[0]
    task = task_of(path, none="fine")
    assert sum(r.value == ("fine",) for r in task.ratings) == N


def test_a_joined_set_per_rater_was_asked_about_for_ever(tmp_path):
    labels = (["rude", "loud", "rude|loud"], ["rude|loud", "kind", "rude"])
    rows = [["id", "text", "workers", "labels"]]
    rows += [[i, text(i), json.dumps(RATERS), json.dumps(labels[i % 2])] for i in range(N)]
    roles = {"id": ["id"], "text": ["text"], "rater": ["workers"], "votes": ["labels"]}
    path = written(tmp_path / "t.csv", rows)
    assert "--separator '|'" in plan_of(path, roles).questions()[0]
    task = task_of(path, roles, separator="|")
    assert {r.elicitation for r in task.ratings} == {"response_set"}
    assert len(task.ratings) == 3 * N
    unnamed = task_of(path, {"id": ["id"], "text": ["text"], "votes": ["labels"]}, separator="|",
                      lists="ratings")  # fmt: skip
    assert len(unnamed.ratings) == 3 * N
