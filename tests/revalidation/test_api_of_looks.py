"""Looks from Python: `harness.revalidate`, and the assertion of the pytest plugin."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.look_schedules import Schedule, majority, other, replies
from support.processes import invoke

import harness
from harness.errors import HarnessError
from harness.revalidation.history import FILE, read_history
from harness.testing import assert_unchanged

N = 40


def flipped(i: int) -> str:
    return other(majority(i))


@pytest.fixture
def schedule(tmp_path, stub):
    tables = {judge: replies(N, majority) for judge in ("a", "b")}
    return Schedule(tmp_path, stub, tables, n=N)


@pytest.mark.slow
def test_a_look_from_python_ends_as_the_command_does(schedule, stub):
    """Sentence, exit code, failed conditions and verdicts; a later call that is not due repeats
    them without asking."""
    run = harness.load_run(schedule.run)
    first = harness.revalidate(run)
    assert (first.exit_code, first.failed, first.due_in_s) == (0, (), None)
    assert first.verdicts == {"a": "stable", "b": "stable"}
    stub.set_table("a", replies(N, flipped))
    changed = harness.revalidate(schedule.run, judges="a", fail_on="worse")
    assert (changed.exit_code, changed.failed) == (1, ("a is worse",))
    assert changed.verdicts == {"a": "worse"}
    assert changed.sentence.startswith("a: a different judge since ")
    assert changed.look.number == 2
    asked = stub.stats()["requests"]
    again = harness.revalidate(schedule.run, judges=["a"], if_due="week", fail_on="worse")
    assert (again.exit_code, again.failed) == (1, ("a is worse",))
    assert again.sentence == changed.sentence
    assert again.due_in_s > 0
    assert stub.stats()["requests"] == asked
    command = invoke(
        *("revalidate", schedule.run, "--judges", "a", "--if-due", "week"),
        *("--json", "--fail-on", "worse"),
    )
    facts = json.loads(command.stdout)
    assert facts.keys() == again.facts().keys()
    assert {**facts, "due_in_s": 0} == {**again.facts(), "due_in_s": 0}


def test_a_look_from_a_notebook_and_with_wrong_options(schedule):
    """A running event loop is no error; what is wrong is, and asks nothing."""

    async def notebook():
        return harness.revalidate(schedule.run, judges="a")

    assert asyncio.run(notebook()).verdicts == {"a": "stable"}
    for wrong in ({"fail_on": "bad"}, {"judges": "c"}, {"fail_on": "mse(srs/sr)>1"}):
        with pytest.raises(HarnessError):
            harness.revalidate(schedule.run, **wrong)
    assert len(read_history(schedule.run / FILE).looks) == 1


@pytest.mark.slow
def test_assert_unchanged_shows_the_sentence_and_the_condition(schedule, stub):
    """It fails where a judge changed, and where one could not be asked."""
    assert assert_unchanged(schedule.run).verdicts == {"a": "stable", "b": "stable"}
    stub.set_table("a", replies(N, flipped))
    message = r"a: a different judge[^\n]*\na is worse\nexit code 1"
    with pytest.raises(AssertionError, match=message):
        assert_unchanged(schedule.run)
    with pytest.raises(AssertionError, match="a is worse"):
        assert_unchanged(schedule.run, if_due="day")
    stub.set_table("b", {}, fault="401")
    with pytest.raises(AssertionError, match="b: not assessed: 0 of 40 replies are usable"):
        assert_unchanged(schedule.run, judges="b")


@pytest.mark.slow
def test_looks_are_excluded_and_accepted_and_alerts_are_posted_from_python(schedule, stub):
    """As by the command, with the same words and the same history."""
    harness.revalidate(schedule.run, judges="a")
    stub.set_table("a", replies(N, flipped))
    address = f"{stub.origin}/python-hook"
    changed = harness.revalidate(schedule.run, judges="a", notify=address)
    [alert] = [r for r in stub.requests() if r["path"].endswith("/python-hook")]
    assert json.loads(alert["body"])["verdicts"] == {"a": "worse"}
    assert changed.exit_code == 1
    without = harness.revalidate(schedule.run, exclude=2, because="outage")
    assert without.sentence.startswith("The replies of round 2 are excluded. Round 2 is then: a ")
    assert read_history(schedule.run / FILE).looks[-1].excluded == {2: "outage"}
    accepted = harness.revalidate(schedule.run, accept=1)
    assert accepted.sentence.startswith("Baseline 2 of this run contains the replies of round 1")
    assert read_history(schedule.run / FILE).baseline.number == 2
    for wrong in ({"exclude": 1}, {"accept": 9}, {"accept": 1, "fail_on": "worse"}):
        with pytest.raises(HarnessError):
            harness.revalidate(schedule.run, **wrong)
