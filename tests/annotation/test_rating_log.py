"""The log of a rater: what is cut off, what is set aside, and whose it is."""

from __future__ import annotations

import json

import pytest
from support.annotating import answer_one, make_unrated_task

from harness.annotation import RatingLog, RatingSession, make_screens
from harness.errors import TaskError
from harness.tasks import load_task


@pytest.fixture
def task(tmp_path):
    """A task of three items."""
    return load_task(make_unrated_task(tmp_path / "task", ["a", "b", "c"]), unrated=True)


def rate(task, *values, rater="ann", form="forced_choice"):
    """Answer the next questions; return the session, its log closed."""
    with RatingLog.open(task, rater) as log:
        session = RatingSession(task, make_screens(task, rater, form=form), log)
        for value in values:
            answer_one(session, value)
    return session


def test_torn_last_line_is_cut_off(task):
    """A line that was being written is asked again; those before it hold."""
    session = rate(task, "A", "B")
    path = task.folder / "annotations" / "ann.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    again = rate(task)
    assert (session.n_complete, again.n_complete) == (2, 1)
    assert path.read_bytes() == b"".join(whole.splitlines(keepends=True)[:-1])


def test_torn_header_is_written_anew(task):
    """A crash while the log was created leaves nothing that has to be removed by hand."""
    rate(task)
    path = task.folder / "annotations" / "ann.jsonl"
    path.write_bytes(path.read_bytes()[:7])
    assert rate(task, "A").n_complete == 1


def test_damaged_line_is_set_aside_and_counted(task):
    """A line whose checksum fails is not a rating."""
    rate(task, "A", "B")
    path = task.folder / "annotations" / "ann.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"value":"A"', b'"value":"B"'))
    with RatingLog.open(task, "ann") as log:
        assert (len(log.logged.answers), log.logged.n_damaged) == (1, 1)


def test_the_last_answer_holds(task):
    """An answer that was changed stands once."""
    with RatingLog.open(task, "ann") as log:
        session = RatingSession(task, make_screens(task, "ann", form="forced_choice"), log)
        first = session.current()
        session.back()  # it is the first
        answer_one(session, "A")
        session.back()
        assert session.current() == first
        answer_one(session, "B")
    assert rate(task).n_complete == 1
    lines = (task.folder / "annotations" / "ann.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("value") for line in lines] == [None, "A", "B"]


def test_log_of_another_rater_or_task_is_refused(task, tmp_path):
    """As where file names ignore case, or a log was copied."""
    rate(task, "A")
    folder = task.folder / "annotations"
    (folder / "ANN.jsonl").write_bytes((folder / "ann.jsonl").read_bytes())
    with pytest.raises(TaskError, match="by 'ann', not by 'ANN'"):
        RatingLog.open(task, "ANN")
    with pytest.raises(TaskError, match="for task 'small', not for 'other'"):
        RatingLog.open(task.model_copy(update={"name": "other"}), "ann")


def test_link_in_place_of_the_folder_is_refused(task, tmp_path):
    """Nothing outside of the task's folder is written."""
    (tmp_path / "outside").mkdir()
    (task.folder / "annotations").symlink_to(tmp_path / "outside")
    with pytest.raises(TaskError, match="is outside the task's folder"):
        RatingLog.open(task, "ann")
    assert list((tmp_path / "outside").iterdir()) == []
