"""What a rater is asked, and in which order."""

from __future__ import annotations

import pytest
from support.annotating import answer_one, make_unrated_task
from support.pair_sources import pair_source
from support.task_folders import make_task_folder, write_jsonl

from harness.annotation import (
    RatingLog,
    RatingSession,
    collected_logs,
    make_screens,
    merge_ratings,
)
from harness.annotation.questions import QUESTIONS, checked_value, instructions_version
from harness.annotation.rating_session import OutdatedQuestionError, shown_text
from harness.errors import TaskError
from harness.tasks import load_task


@pytest.fixture
def task(tmp_path):
    """A task of 30 items."""
    folder = make_unrated_task(tmp_path / "task", [f"Comment {i}." for i in range(30)])
    return load_task(folder, unrated=True)


def ids(screens):
    return [screen.item.id for screen in screens]


def test_the_order_depends_only_on_rater_and_seed(task):
    """Seeded, all items once, and another for each rater."""
    ann = ids(make_screens(task, "ann", form="forced_choice"))
    assert ann == ids(make_screens(task, "ann", form="forced_choice"))
    assert sorted(ann) == sorted(task.by_id)
    assert ann != ids(make_screens(task, "bea", form="forced_choice"))
    assert ann != ids(make_screens(task, "ann", form="forced_choice", seed=1))


def test_pairs_ask_for_the_set_first(task):
    """Both questions about an item follow each other, as judges are asked them."""
    screens = make_screens(task, "ann", form="paired")
    assert ids(screens[::2]) == ids(screens[1::2])
    assert {screen.elicitation for screen in screens[::2]} == {"response_set"}


def test_raters_are_asked_what_they_find_reasonable():
    """Not what others might choose: beta and F are of one rater's own set and choice."""
    assert "you find reasonable" in QUESTIONS["response_set"]
    assert "could" not in QUESTIONS["response_set"]


def options_of(session):
    return [option["key"] for option in session.view()["screen"]["questions"][0]["options"]]


def test_choice_outside_its_set_is_accepted(task):
    """The second question offers the options of the set alone, and takes no other."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="paired"), log)
        first = session.current()
        assert not session.view()["screen"]["can_change_set"]
        answer_one(session, ["B"])
        assert options_of(session) == ["B"]
        assert session.view()["screen"]["can_change_set"]
        with pytest.raises(ValueError, match="your set"):
            answer_one(session, "A")
        session.back()
        assert session.current() == first
        assert session.view()["screen"]["questions"][0]["value"] == ["B"]
        answer_one(session, ["A", "B"])
        answer_one(session, "A")
        assert session.n_complete == 1


def test_going_back_loses_no_answer(task):
    """Earlier answers are shown, and stay when they are saved again or passed by."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="forced_choice"), log)
        for key in "ABA":
            answer_one(session, key)
        lines = log.path.read_bytes()
        for _ in range(4):
            session.back()
        assert session.current() == session.screens[0]
        assert session.view()["screen"]["questions"][0]["value"] == "A"
        answer_one(session, "A")
        session.forward()
        assert session.current() == session.screens[2]
        assert log.path.read_bytes() == lines
        answer_one(session, "B")
        assert session.current() == session.screens[3]
        session.forward()  # it is not answered yet
        assert session.current() == session.screens[3]
        assert [a.value for a in log.logged.answers.values()] == ["A", "B", "B"]


def test_a_choice_outside_of_a_changed_set_is_asked_again(task):
    """Who goes back and narrows the set chooses anew."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="paired"), log)
        answer_one(session, ["A", "B"])
        answer_one(session, "A")
        assert session.n_complete == 1
        session.back()
        session.back()
        answer_one(session, ["B"])
        assert session.n_complete == 0
        assert options_of(session) == ["B"]
        answer_one(session, "B")
        assert session.current() == session.screens[2]


def test_a_skip_is_kept_with_its_comment_and_can_be_taken_back(task):
    """Both questions of a skipped item are passed over until it is rated after all."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="paired"), log)
        skipped = session.current()
        keys = dict.fromkeys(step.key for step in skipped.steps)
        session.skip(keys, comment=" Not English. ", flagged=True)
        assert session.current() == session.screens[2]
        assert (session.n_complete, session.n_skipped) == (0, 1)
        answers = list(log.logged.answers.values())
        assert [(a.value, a.comment, a.flagged, a.skipped) for a in answers] == [
            (None, "Not English.", True, True)
        ] * 2
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="paired"), log)
        assert session.current() == session.screens[2]
        session.show_skipped()
        assert session.current() == skipped
        assert session.view()["screen"]["comment"] == "Not English."
        answer_one(session, ["B"])
        assert session.n_skipped == 1  # the choice
        assert session.current().elicitation == "forced_choice"
        answer_one(session, "B")
        assert (session.n_complete, session.n_skipped) == (1, 0)


RUBRIC = """\
name: rubric
property: whether the criterion is met
scale: binary
options: [yes, no]
positive: [yes]
rubric: {criteria: {clear: {description: Easy to read.}, correct: , polite: }}
"""


def test_criteria_of_an_output_are_asked_together(tmp_path):
    """One screen with its text once, and a question per criterion in the order of the items."""
    folder = make_unrated_task(tmp_path / "task", [])
    (folder / "task.yaml").write_text(RUBRIC, encoding="utf-8")
    items = [
        {"id": f"{i}-{name}", "text": f"Text {i}", "group": f"g{i}", "criterion": name}
        for i in range(4)
        for name in ("clear", "correct", "polite")
    ]
    write_jsonl(folder / "items.jsonl", items)
    task = load_task(folder, unrated=True)
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="forced_choice"), log)
        assert len(session.screens) == 4
        shown = session.view()["screen"]
        assert len(shown["texts"]) == 1
        asked = [question["criterion"] for question in shown["questions"]]
        assert asked == ["clear - Easy to read.", "correct", "polite"]
        keys = [step.key for step in session.current().steps]
        with pytest.raises(OutdatedQuestionError):
            session.answer({keys[0]: "yes"})
        session.answer(dict(zip(keys, ("yes", "no", "yes"), strict=True)))
        assert [answer.value for answer in log.logged.answers.values()] == ["yes", "no", "yes"]
        assert session.n_complete == 3


PAIRWISE = """\
name: pairs
property: which answer is better
scale: pairwise
options: [left, right, tie]
text: [question, one, two]
pairwise: {answers: [one, two], first: left, second: right}
"""


def test_answers_of_a_pair_are_shown_in_a_drawn_order(tmp_path):
    """Side by side; a choice is kept in the terms of the item, and the order beside it."""
    folder = make_unrated_task(tmp_path / "task", [])
    (folder / "task.yaml").write_text(PAIRWISE, encoding="utf-8")
    items = [{"id": f"i{i}", "question": "Q", "one": "1", "two": "2"} for i in range(40)]
    write_jsonl(folder / "items.jsonl", items)
    task = load_task(folder, unrated=True)
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="forced_choice"), log)
        shown = {}
        while (screen := session.current()) is not None:
            question, left, right = session.view()["screen"]["texts"]
            assert (left["name"], right["name"]) == ("left", "right")
            assert (question["is_side"], left["is_side"]) == (False, True)
            shown[screen.item.id] = left["text"]
            answer_one(session, "left")  # whatever stands there
        for answer in log.logged.answers.values():
            is_one = shown[answer.item] == "1"
            assert (answer.value, answer.swapped) == (
                ("left", False) if is_one else ("right", True)
            )
        assert 10 < sum(text == "1" for text in shown.values()) < 30


@pytest.mark.parametrize(
    ("scale", "good", "kept", "bad"),
    [("continuous\nbounds: [0, 1]", " 0.50 ", "0.5", "1.5"), ("text", " Fine. ", "Fine.", " ")],
)
def test_open_scales_take_a_number_or_a_text(tmp_path, scale, good, kept, bad):
    """Within the bounds, or of some length; what is kept can be read as a rating."""
    folder = make_unrated_task(tmp_path / "task", ["One."])
    yaml = f"name: open\nproperty: quality\nscale: {scale}\n"
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    task = load_task(folder, unrated=True)
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="forced_choice"), log)
        with pytest.raises(ValueError, match="Write a"):
            answer_one(session, bad)
        answer_one(session, good)
    merge_ratings(task, collected_logs(task), source="a test")
    [rating] = load_task(folder).ratings
    assert rating.value == kept
    with pytest.raises(TaskError, match="Leave out the form"):
        make_screens(task, "ann", form="paired")


def test_marks_of_right_to_left_texts_are_kept():
    """Marks order punctuation and numbers; characters that override the order are shown."""
    text = "\u200f\u05e9\u05dc\u05dd (1)\u200e\u061c"
    assert shown_text(text) == text
    assert shown_text("a\u202eb\tc\x1b") == "a\ufffdb\tc\u241b"


def test_set_of_the_tasks_ratings_limits_the_choice(tmp_path):
    """It was merged before the choice was made: it holds, and is changed in the ratings alone."""
    folder = make_unrated_task(tmp_path / "task", ["Hm."])
    yaml = (folder / "task.yaml").read_text(encoding="utf-8") + "ratings: ratings.jsonl\n"
    (folder / "task.yaml").write_text(yaml, encoding="utf-8")
    row = {"item": "i0", "rater": "ann", "elicitation": "response_set", "value": ["B"]}
    write_jsonl(folder / "ratings.jsonl", [row])
    task = load_task(folder, unrated=True)
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="paired"), log)
        assert options_of(session) == ["B"]
        assert not session.view()["screen"]["can_change_set"]


def test_unassessable_item_leaves_all_options(task):
    """CANNOT_ASSESS is no set: the choice may be any option, or CANNOT_ASSESS again."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="paired"), log)
        answer_one(session, "CANNOT_ASSESS")
        assert options_of(session) == ["A", "B"]
        assert not session.view()["screen"]["can_change_set"]


def test_queue_names_items_and_forms(task, tmp_path):
    """Other columns are ignored; an item in both elicitations is a pair."""
    queue = tmp_path / "queue.csv"
    queue.write_text(
        "item,elicitation,value\ni1,forced_choice,0.3\ni2,response_set,0.2\ni2,forced_choice,0.1\n"
        "i3,,0\n",
        encoding="utf-8",
    )
    steps = make_screens(task, "ann", form="response_set", queue=queue)
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
        rater: set(ids(make_screens(task, rater, form="forced_choice", queue=queue)))
        for rater in ("ann", "bea", "Doe, Jane", "new")
    }
    assert asked == {
        "ann": {"i1", "i2", "i3"},
        "bea": {"i2", "i3", "i4"},
        "Doe, Jane": {"i1", "i3"},
        "new": {"i3"},
    }
    queue.write_text("item,raters\ni4,bea\n", encoding="utf-8")
    with pytest.raises(TaskError, match="all 1 items are assigned to raters other than 'ann'"):
        make_screens(task, "ann", form="forced_choice", queue=queue)


@pytest.mark.parametrize(
    ("row", "problem"),
    [("i99,forced_choice", "has no item 'i99'"), ("i1,ranking", "found 'ranking'")],
)
def test_wrong_queue_is_one_line(task, tmp_path, row, problem):
    """With the line that is wrong."""
    queue = tmp_path / "queue.csv"
    queue.write_text(f"item,elicitation\n{row}\n", encoding="utf-8")
    with pytest.raises(TaskError, match=f"line 2: .*{problem}"):
        make_screens(task, "ann", form="paired", queue=queue)


def test_rated_items_are_not_asked_again(tmp_path):
    """What a rater answered in the task's ratings is left out, by elicitation."""
    task = load_task(make_task_folder(tmp_path / "task", 4, response_sets=False))
    steps = make_screens(task, "r0", form="paired")
    assert {step.elicitation for step in steps} == {"response_set"}
    with pytest.raises(TaskError, match="so none are left"):
        make_screens(task, "r0", form="forced_choice")


def test_attention_checks_are_counted_and_are_no_ratings(task, tmp_path):
    """They stand among the items, and how many were answered as expected is said."""
    checks = tmp_path / "checks.csv"
    checks.write_text("id,text,answer\nc1,Choose Toxic.,A\nc2,Toxic too.,A\n", encoding="utf-8")
    with RatingLog.open(task, "ann") as log:
        screens = make_screens(task, "ann", form="paired", checks=checks)
        session = RatingSession(task, screens, log)
        while (screen := session.current()) is not None:
            choice = "B" if screen.item.id == "c2" else "A"
            answer_one(session, choice if screen.elicitation == "forced_choice" else ["A"])
    assert session.checks() == (1, 2)
    assert session.n_complete == 32


def test_sets_are_those_of_the_task(task):
    """A set that the task does not list is refused with those that it does; order is the task's."""
    listed = task.model_copy(update={"response_sets": (("A",), ("B",))})
    assert checked_value(task, "response_set", ["B", "A"]) == ("A", "B")
    with pytest.raises(ValueError, match="Possible combinations: none"):
        checked_value(listed, "response_set", ["B", "A"])
    with pytest.raises(ValueError, match="without an answer"):
        checked_value(task.model_copy(update={"abstain": False}), "forced_choice", "CANNOT_ASSESS")


def test_version_of_the_instructions_follows_what_raters_read(task):
    """Other instructions are another version; tau and the ratings are not part of it."""
    version = instructions_version(task)
    assert version == instructions_version(task.model_copy(update={"tau": 0.3}))
    assert version != instructions_version(task.model_copy(update={"instructions": "Be quick."}))


def test_items_with_one_pair_are_asked_first():
    """A second pair on the same item says how sets spread; forced choices keep their order."""
    task = pair_source(40, n_paired=8).task
    first = {f"i{i}" for i in range(8)}
    asked = ids(make_screens(task, "zoe", form="paired"))
    assert set(asked[:16]) == first
    assert not first & set(asked[16:])
    choices = ids(make_screens(task, "zoe", form="forced_choice"))
    assert set(choices[:8]) != first
