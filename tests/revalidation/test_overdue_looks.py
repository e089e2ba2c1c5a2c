"""`harness revalidate overdue` tells a watch that stopped from one that is between two rounds."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from support.look_schedules import Schedule, aged, majority, replies
from support.processes import invoke

from harness.errors import RunError
from harness.files.checksummed_log import encode
from harness.revalidation.history import read_history


@pytest.fixture
def schedule(tmp_path, stub):
    """A run of one judge, without a round."""
    stub.reset()
    return Schedule(tmp_path, stub, {"judge": replies(20, majority)}, n=20)


def overdue(schedule, *options):
    """Return the exit code and the JSON of the check."""
    done = invoke("revalidate", "overdue", schedule.run, "--json", *options)
    return done.exit_code, json.loads(done.stdout)


def looked_before(schedule, **ago):
    """Date the rounds of a history so long ago."""
    file = schedule.run / "history.jsonl"
    history = read_history(file)
    at = (datetime.now(UTC) - timedelta(**ago)).isoformat(timespec="seconds")
    records = [*history.baselines, *(replace(look, at=at) for look in history.looks)]
    file.write_bytes(b"".join(map(encode, records)))


def test_a_schedule_that_stopped_is_noticed_after_two_periods(schedule):
    """Nothing said that rounds had ceased: GitHub disables schedules, timers are lost."""
    schedule.look("--if-due", "week")
    code, facts = overdue(schedule)
    assert (code, facts["overdue"], facts["every"]) == (0, False, "week")
    looked_before(schedule, days=13, hours=23)
    assert overdue(schedule)[0] == 0
    looked_before(schedule, days=14, hours=1)
    assert overdue(schedule)[0] == 1
    assert overdue(schedule, "--every", "month")[0] == 0
    text = invoke("revalidate", "overdue", schedule.run)
    assert text.exit_code == 1
    assert text.stdout.startswith("Overdue: a round is scheduled every week. The last round with ")


def test_looks_without_replies_do_not_count(schedule, stub):
    """A judge that is down is asked at each period, and no longer watched."""
    schedule.look("--if-due", "day")
    looked_before(schedule, days=3)
    stub.set_table("judge", replies(20, majority), fault="401")
    schedule.look("--if-due", "day", code=3)
    assert overdue(schedule)[0] == 1


def test_a_schedule_that_never_started_is_overdue_from_the_run_on(schedule):
    """Without a round the period is for you to say."""
    refused = invoke("revalidate", "overdue", schedule.run)
    assert isinstance(refused.exception, RunError)
    assert refused.exception.advice == "Pass --every day, week or month"
    assert overdue(schedule, "--every", "day")[0] == 0
    aged(schedule.run, days=3)
    assert overdue(schedule, "--every", "day")[0] == 1
