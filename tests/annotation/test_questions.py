"""What a rater is asked, and in which order."""

from __future__ import annotations

import pytest
from support.annotating import make_unrated_task
from support.task_folders import make_task_folder, write_jsonl

from harness.annotation import RatingLog, RatingSession, make_steps
from harness.annotation.questions import QUESTIONS, checked_value, instructions_version
from harness.errors import TaskError
from harness.tasks import load_task


@pytest.fixture
def task(tmp_path):
    """A task of 30 items."""
    folder = make_unrated_task(tmp_path / "task", [f"Comment {i}." for i in range(30)])
    return load_task(folder, unrated=True)


def ids(steps):
    return [step.item.id for step in steps]


def test_order_depends_on_rater_and_seed_alone(task):
    """Seeded, all items once, and another for each rater."""
    ann = ids(make_steps(task, "ann", form="forced_choice"))
    assert ann == ids(make_steps(task, "ann", form="forced_choice"))
    assert sorted(ann) == sorted(task.by_id)
    assert ann != ids(make_steps(task, "bea", form="forced_choice"))
    assert ann != ids(make_steps(task, "ann", form="forced_choice", seed=1))


def test_pairs_ask_for_the_set_first(task):
    """Both questions about an item follow each other, as judges are asked them."""
    steps = make_steps(task, "ann", form="paired")
    assert ids(steps[::2]) == ids(steps[1::2])
    assert {step.elicitation for step in steps[::2]} == {"response_set"}


def test_raters_are_asked_what_they_find_reasonable():
    """Not what others might choose: beta and F are of one rater's own set and choice."""
    assert "you find reasonable" in QUESTIONS["response_set"]
    assert "could" not in QUESTIONS["response_set"]


def test_choice_outside_its_set_is_accepted(task):
    """The second question offers the options of the set alone, and takes no other."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_steps(task, "ann", form="paired"), log)
        step = session.current()
        assert not session.view()["step"]["can_change_set"]
        session.answer(step.key, ["B"])
        shown = session.view()["step"]
        assert [option["key"] for option in shown["options"]] == ["B"]
        assert shown["can_change_set"]
        with pytest.raises(ValueError, match="your set"):
            session.answer(session.current().key, "A")
        session.change_set()
        assert session.current() == step
        session.change_set()  # nothing to take back
        session.answer(step.key, ["A", "B"])
        session.answer(session.current().key, "A")
        assert session.n_complete == 1


def test_set_of_the_tasks_ratings_limits_the_choice(tmp_path):
    """It was merged before the choice was made: it holds, and is changed in the ratings alone."""
    folder = make_unrated_task(tmp_path / "task", ["Hm."])
    yaml = (folder / "task.yaml").read_text(encoding="utf-8") + "ratings: ratings.jsonl\n"
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    row = {"item": "i0", "rater": "ann", "elicitation": "response_set", "value": ["B"]}
    write_jsonl(folder / "ratings.jsonl", [row])
    task = load_task(folder, unrated=True)
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_steps(task, "ann", form="paired"), log)
        shown = session.view()["step"]
        assert [option["key"] for option in shown["options"]] == ["B"]
        assert not shown["can_change_set"]


def test_unassessable_item_leaves_all_options(task):
    """CANNOT_ASSESS is no set: the choice may be any option, or CANNOT_ASSESS again."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_steps(task, "ann", form="paired"), log)
        session.answer(session.current().key, "CANNOT_ASSESS")
        shown = session.view()["step"]
        assert [option["key"] for option in shown["options"]] == ["A", "B"]
        assert not shown["can_change_set"]


def test_queue_names_items_and_forms(task, tmp_path):
    """Other columns are ignored; an item in both elicitations is a pair."""
    queue = tmp_path / "queue.csv"
    queue.write_text(
        "item,elicitation,value\ni1,forced_choice,0.3\ni2,response_set,0.2\ni2,forced_choice,0.1\n"
        "i3,,0\n",
        encoding="utf-8",
    )
    steps = make_steps(task, "ann", form="response_set", queue=queue)
    asked = {(step.item.id, step.elicitation, step.form) for step in steps}
    assert asked == {
        ("i1", "forced_choice", "forced_choice"),
        ("i2", "forced_choice", "paired"),
        ("i2", "response_set", "paired"),
        ("i3", "response_set", "response_set"),
    }


def test_queue_asks_the_raters_whom_it_names(task, tmp_path):
    """A row that names raters is not asked of others; a row that names none, of everybody."""
    queue = tmp_path / "queue.csv"
    queue.write_text(
        'item,raters\ni1,"[""ann"", ""Doe, Jane""]"\ni2,"ann, bea"\ni3,\ni4,bea\n', encoding="utf-8"
    )
    asked = {
        rater: set(ids(make_steps(task, rater, form="forced_choice", queue=queue)))
        for rater in ("ann", "bea", "Doe, Jane", "new")
    }
    assert asked == {
        "ann": {"i1", "i2", "i3"},
        "bea": {"i2", "i3", "i4"},
        "Doe, Jane": {"i1", "i3"},
        "new": {"i3"},
    }
    queue.write_text("item,raters\ni4,bea\n", encoding="utf-8")
    with pytest.raises(TaskError, match="all 1 rows name other raters than 'ann'"):
        make_steps(task, "ann", form="forced_choice", queue=queue)


@pytest.mark.parametrize(
    ("row", "problem"),
    [("i99,forced_choice", "has no item 'i99'"), ("i1,ranking", "found 'ranking'")],
)
def test_wrong_queue_is_one_line(task, tmp_path, row, problem):
    """With the line that is wrong."""
    queue = tmp_path / "queue.csv"
    queue.write_text(f"item,elicitation\n{row}\n", encoding="utf-8")
    with pytest.raises(TaskError, match=f"line 2: .*{problem}"):
        make_steps(task, "ann", form="paired", queue=queue)


def test_rated_items_are_not_asked_again(tmp_path):
    """What a rater answered in the task's ratings is left out, by elicitation."""
    task = load_task(make_task_folder(tmp_path / "task", 4, response_sets=False))
    steps = make_steps(task, "r0", form="paired")
    assert {step.elicitation for step in steps} == {"response_set"}
    with pytest.raises(TaskError, match="nothing is left"):
        make_steps(task, "r0", form="forced_choice")


def test_attention_checks_are_counted_and_are_no_ratings(task, tmp_path):
    """They stand among the items, and how many were answered as expected is said."""
    checks = tmp_path / "checks.csv"
    checks.write_text("id,text,answer\nc1,Choose Toxic.,A\nc2,Toxic too.,A\n", encoding="utf-8")
    with RatingLog.open(task, "ann") as log:
        steps = make_steps(task, "ann", form="paired", checks=checks)
        session = RatingSession(task, steps, log)
        while (step := session.current()) is not None:
            choice = "B" if step.item.id == "c2" else "A"
            session.answer(step.key, choice if step.elicitation == "forced_choice" else ["A"])
    assert session.checks() == (1, 2)
    assert session.n_complete == 32


def test_sets_are_those_of_the_task(task):
    """A set that the task does not list is refused with those that it does; order is the task's."""
    listed = task.model_copy(update={"response_sets": (("A",), ("B",))})
    assert checked_value(task, "response_set", ["B", "A"]) == ("A", "B")
    with pytest.raises(ValueError, match="Combinations that are: none"):
        checked_value(listed, "response_set", ["B", "A"])
    with pytest.raises(ValueError, match="without an answer"):
        checked_value(task.model_copy(update={"abstain": False}), "forced_choice", "CANNOT_ASSESS")


def test_version_of_the_instructions_follows_what_raters_read(task):
    """Other instructions are another version; tau and the ratings are not part of it."""
    version = instructions_version(task)
    assert version == instructions_version(task.model_copy(update={"tau": 0.3}))
    assert version != instructions_version(task.model_copy(update={"instructions": "Be quick."}))
