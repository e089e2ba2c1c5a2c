"""Looks that are excluded with a reason, and baselines that are accepted after an alarm."""

from __future__ import annotations

import pytest
from support.look_schedules import Schedule, flawed, majority, other, replies, verdicts
from support.processes import call_harness, invoke

import harness
from harness.cli.revalidate import _escaped
from harness.errors import HarnessError
from harness.revalidation.history import FILE, read_history

N = 40
BECAUSE = "outage of the gateway"


def flipped(i: int) -> str:
    return other(majority(i))


def schedule_with(tmp_path, stub, *answers, samples=2):
    """A judge that was validated on the majority, and looks at it while it answers otherwise."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, majority)}, samples=samples, n=N)
    for answer in answers:
        stub.set_table("judge", replies(N, answer))
        schedule.look(code=None)
    return schedule


def exclude(schedule, look):
    return invoke("revalidate", "exclude", look, schedule.run, "--because", BECAUSE)


@pytest.mark.slow
def test_an_incident_is_excluded_and_every_later_look_prints_it(tmp_path, stub):
    """Its replies leave the tests, nothing is asked, and its place in the schedule stays spent."""
    schedule = schedule_with(tmp_path, stub, majority, flipped, majority)
    assert schedule.look("--if-due", "week", code=1)["failed"] != []
    asked = stub.stats()["requests"]
    done = exclude(schedule, 2)
    assert done.exit_code == 0, done.output
    assert "Round 3 is then: judge stable." in done.stdout
    assert stub.stats()["requests"] == asked
    before = read_history(schedule.run / FILE)
    assert [look.number for look in before.looks] == [1, 2, 3]
    assert before.looks[1].streams == ()
    assert BECAUSE in before.looks[1].judges[0].reason
    look = schedule.look()
    assert (look["number"], verdicts(look)) == (4, {"judge": "stable"})
    assert look["excluded"] == {"2": BECAUSE}
    assert read_history(schedule.run / FILE).looks[-1].evidence[0].evidence.look == 4
    assert f"The replies of round 2 are excluded: {BECAUSE}" in " ".join(
        invoke("revalidate", schedule.run).stdout.split()
    )


@pytest.mark.slow
def test_an_alarm_that_other_looks_raise_is_not_closed(tmp_path, stub):
    """Neither by excluding a later round, nor the first of two that raise it each by itself."""
    schedule = schedule_with(tmp_path, stub, majority, flipped, flipped)
    for look, since in ((3, 2), (2, 2)):
        if look == 2:
            schedule = schedule_with(tmp_path / "again", stub, majority, flipped, flipped)
        assert exclude(schedule, look).exit_code == 0
        last = read_history(schedule.run / FILE).looks[-1]
        assert last.judges[0].verdict in {"changed", "worse"}
        assert last.judges[0].since >= since
        assert schedule.look(code=1)["excluded"] == {str(look): BECAUSE}


@pytest.mark.slow
def test_a_judge_that_is_as_good_again_stays_worse_until_it_is_accepted(tmp_path, stub):
    """Nothing is said of a recovery, which no test with an error rate shows."""
    schedule = Schedule(tmp_path, stub, {"back": replies(N, majority)}, samples=3, n=N)
    for answer in (flipped, flipped, majority, majority):
        stub.set_table("back", replies(N, answer))
        look = schedule.look(code=1)
    assert verdicts(look) == {"back": "worse"}
    [back] = look["sentences"]
    assert "it agrees less with the raters, by more than" in back
    refused = invoke("revalidate", "rebase", 3, schedule.run)
    assert refused.exception.exit_code == 2
    assert str(refused.exception).endswith(f"revalidate rebase 3 {schedule.run} --yes")
    assert invoke("revalidate", "rebase", 3, schedule.run, "--yes").exit_code == 0
    assert verdicts(schedule.look()) == {"back": "stable"}


@pytest.mark.slow
def test_excluding_the_look_that_was_worse_says_worse_of_the_others_anew(tmp_path, stub):
    """The judge answered wrongly in one round, and since then better than at the baseline: without
    that round it is changed and not worse, also in later rounds and where the task lost an item."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, flawed)}, samples=3, n=N)
    for answer in (flipped, majority, majority):
        stub.set_table("judge", replies(N, answer))
        assert verdicts(schedule.look(code=1)) == {"judge": "worse"}
    shown = exclude(schedule, 1)
    assert "Round 3 is then: judge changed." in shown.stdout
    looks = read_history(schedule.run / FILE).looks
    assert [look.judges[0].verdict for look in looks[1:]] == ["changed", "changed"]
    assert (looks[2].judges[0].since, looks[2].judges[0].margin) == (2, None)
    names = [[figure.name for figure in look.judges[0].figures] for look in looks[1:]]
    assert names[0] == names[1]
    assert verdicts(schedule.look(code=1)) == {"judge": "changed"}


@pytest.mark.slow
def test_excluding_a_good_look_leaves_a_judge_worse(tmp_path, stub):
    """The other rounds show it by themselves, with the margin that they were made with."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, majority)}, samples=3, n=N)
    for answer, margin in ((majority, 0.0), (flipped, 0.1), (flipped, 0.1)):
        stub.set_table("judge", replies(N, answer))
        schedule.look("--margin", margin, code=None)
    assert "Round 3 is then: judge worse." in exclude(schedule, 1).stdout
    last = read_history(schedule.run / FILE).looks[-1]
    assert (last.margin, last.judges[0].since) == (0.1, 2)
    assert last.judges[0].margin > 0.1


@pytest.mark.slow
def test_a_look_is_excluded_with_a_reason_or_not_at_all(tmp_path, stub):
    """Without a reason, or without such a round, nothing is written; a dry run writes nothing."""
    schedule = schedule_with(tmp_path, stub, majority)
    before = (schedule.run / FILE).read_bytes()
    refused = invoke("revalidate", "exclude", 1, schedule.run)
    assert "Missing option '--because'" in refused.stderr
    with pytest.raises(HarnessError, match="go together"):
        harness.revalidate(schedule.run, exclude=1)
    assert "there's no round with this number" in str(exclude(schedule, 7).exception)
    shown = invoke("revalidate", "exclude", 1, schedule.run, "--because", BECAUSE, "--dry-run")
    assert "Nothing was written" in shown.stdout
    assert (schedule.run / FILE).read_bytes() == before


@pytest.mark.slow
def test_a_judge_that_is_worse_is_accepted_only_with_yes(tmp_path, stub):
    """The refusal prints the command that accepts it, and asks for nothing."""
    schedule = schedule_with(tmp_path, stub, majority, flipped, flipped)
    assert verdicts(schedule.look(code=1)) == {"judge": "worse"}
    asked = stub.stats()["requests"]
    refused = invoke("revalidate", "rebase", 2, schedule.run)
    assert "judge agrees less with the raters" in str(refused.exception)
    assert f"rebase 2 {schedule.run} --yes" in str(refused.exception)
    assert stub.stats()["requests"] == asked
    assert invoke("revalidate", "rebase", 2, schedule.run, "--yes").exit_code == 0
    assert schedule.look()["baseline"] == 2


@pytest.mark.slow
def test_a_look_that_raised_the_alarm_is_no_part_of_the_accepted_baseline(tmp_path, stub):
    """It was chosen for its replies: those after it are taken, and what is missing is asked."""
    schedule = schedule_with(tmp_path, stub, majority, flipped, flipped, samples=3)
    opened = [
        look.number
        for look in read_history(schedule.run / FILE).looks
        if look.judges[0].verdict in {"changed", "worse"}
    ]
    assert opened == [2, 3]
    asked = stub.stats()["requests"]
    shown = invoke("revalidate", "rebase", 2, schedule.run, "--dry-run")
    assert "round 3 and 2 replies per item requested again" in shown.stdout
    assert stub.stats()["requests"] == asked
    accepted = invoke("revalidate", "rebase", 2, schedule.run, "--yes")
    assert "round 3 and 2 replies per item requested again: 3 replies per item" in accepted.stdout
    assert stub.stats()["requests"] == asked + 2 * N
    baseline = read_history(schedule.run / FILE).baseline
    assert (baseline.number, baseline.n_replies, baseline.accepted) == (2, 3, 3)
    assert verdicts(schedule.look()) == {"judge": "stable"}


def test_an_outage_and_an_error_were_no_annotations_in_github_actions(tmp_path, stub, monkeypatch):
    """Whatever ends a round with another code than 0 stands beside the job."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert "::error" not in invoke("revalidate", schedule.run, "--quiet").stderr
    stub.set_table("judge", {}, fault="401")
    for arguments, code, message in (
        ((), 3, "judge: not assessed: 0 of "),
        (("rebase", 7), 2, f"{schedule.run / FILE}: rebase 7: there's no round with this number"),
        (("--if-due", "year"), 2, "Invalid value for '--if-due': 'year' is not one of"),
    ):
        ended = call_harness("revalidate", *arguments, schedule.run, "--quiet", cwd=tmp_path)
        assert ended.returncode == code
        assert f"::error title=harness revalidate::{message}" in ended.stderr


def test_a_failed_condition_is_an_annotation_in_github_actions(tmp_path, stub, monkeypatch):
    """On stderr, so that --json stays JSON, and nowhere else; a message is one line."""
    schedule = schedule_with(tmp_path, stub, majority, flipped)
    annotation = "::error title=harness revalidate::judge is "
    for value, is_printed in (("true", True), ("", False)):
        monkeypatch.setenv("GITHUB_ACTIONS", value)
        ended = invoke("revalidate", schedule.run, "--if-due", "week", "--json")
        assert ended.exit_code == 1
        assert (annotation in ended.stderr) is is_printed
        assert "::error" not in ended.stdout
    assert _escaped("50% of it\r\n::error::x") == "50%25 of it%0D%0A::error::x"
