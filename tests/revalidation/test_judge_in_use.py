"""The judge in use, against constant answers and a human rater."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.look_schedules import Schedule, flawed, majority, other, replies, verdicts
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.options.concerns import Choices
from harness.revalidation.history import FILE, read_history
from harness.revalidation.metric_changes import Scorer, Yardstick
from harness.revalidation.reply_categories import Category, StreamReplies
from harness.tasks import load_task

N = 40
DECISION = ("--fail-on", "decision")


def flipped(i: int) -> str:
    return other(majority(i))


@pytest.mark.slow
def test_the_judge_in_use_alarms_where_it_is_worse_than_a_constant_answer(tmp_path, stub):
    """Unchanged it does not; another judge that becomes as good, or bad, is reported alone."""
    tables = {"best": replies(N, majority), "flawed": replies(N, flawed)}
    schedule = Schedule(tmp_path, stub, tables, n=N)
    assert schedule.look(*DECISION)["failed"] == []
    assert read_history(schedule.run / FILE).baseline.in_use[0] == "best"
    for answer in (majority, flipped):
        stub.set_table("flawed", replies(N, answer))
        assert schedule.look(*DECISION)["failed"] == []
    stub.set_table("best", replies(N, flipped))
    for _ in range(2):
        look = schedule.look(*DECISION, code=None)
    [line] = look["failed"]
    assert line.startswith("best, the judge in use, has been shown to be worse than ")
    shown = json.loads(invoke("history", schedule.run, "--json").stdout)["looks"]
    assert [row["in_use"].get("fails", False) for row in shown] == [False, False, False, True, True]
    again = invoke("revalidate", schedule.run, *DECISION, "--if-due", "week")
    assert again.exit_code == 1
    ended = invoke("revalidate", schedule.run, *DECISION)
    assert "The judge in use, best, has been shown to be worse than " in " ".join(
        ended.stdout.split()
    )
    assert ended.exit_code == 1


@pytest.mark.slow
def test_a_judge_in_use_that_gives_no_answer_fails(tmp_path, stub):
    """There is no score to test, and nothing to use."""
    schedule = Schedule(tmp_path, stub, {"only": replies(N, majority)}, n=N)
    schedule.look(*DECISION)
    stub.set_table("only", replies(N, majority, invalid=1.0))
    assert schedule.look(*DECISION, code=1)["failed"] == [
        "only, the judge in use, no longer gives any answer (decision)"
    ]


@pytest.mark.slow
def test_without_a_judge_in_use_the_condition_is_refused(tmp_path, stub):
    """None is better than the baseline judges, or the one that is is not watched."""
    tables = {"a": replies(N, flipped), "b": replies(N, flipped)}
    schedule = Schedule(tmp_path / "none", stub, tables, n=N)
    refused = invoke("revalidate", schedule.run, *DECISION)
    assert "needs a judge in use. No judge in the run is" in str(refused.exception)
    tables = {"c": replies(N, majority), "d": replies(N, flipped)}
    schedule = Schedule(tmp_path / "other", stub, tables, n=N)
    refused = invoke("revalidate", schedule.run, *DECISION, "--judges", "d")
    assert "c is in use, but isn't watched" in str(refused.exception)
    assert verdicts(schedule.look("--judges", "c", *DECISION)) == {"c": "stable"}


def test_judge_and_human_are_scored_on_the_same_remaining_ratings(tmp_path):
    """Each rating is left out in turn; a copy of that rating scores as the human does."""
    task = load_task(str(make_task_folder(tmp_path / "task", 8, response_sets=False)))
    yardstick = Yardstick(task, task.items, Choices(), 0)
    stream = StreamReplies("a", "forced_choice", (Category("answered", "A"),), ((0,),) * 8)
    scorer = Scorer.on(yardstick, [stream])
    options = [Category("answered", "A"), Category("answered", "B")]
    beside = scorer.beside_one_human(options, "forced_choice")
    counts = scorer.scoring.counts
    by_rating = (counts * beside.judge).sum(axis=1) / counts.sum(axis=1)
    unanimous = (counts > 0).sum(axis=1) == 1
    assert beside.human[unanimous] == pytest.approx(1.0)
    assert beside.human[unanimous] == pytest.approx(by_rating[unanimous])
    split = counts[~unanimous][0]  # two of three raters agree
    often = int(split.argmax())
    row = int(np.flatnonzero(~unanimous)[0])
    assert beside.judge[row, often] - beside.human[row] == pytest.approx(1 / 3)
    assert beside.judge[row, 1 - often] == pytest.approx(beside.human[row])
