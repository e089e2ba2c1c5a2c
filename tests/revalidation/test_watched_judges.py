"""Looks and schedules that watch some judges of a run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.look_schedules import Schedule, flawed, majority, other, replies, verdicts
from support.processes import invoke

from harness.judging.judges.config import new_judge
from harness.revalidation.history import FILE, read_history
from harness.revalidation.watched_judges import watched_judges

N = 40


def flipped(i: int) -> str:
    return other(majority(i))


@pytest.fixture(scope="module")
def schedule(tmp_path_factory, stub):
    """Three judges: one agrees with the raters, one mostly, one never."""
    answers = {"best": majority, "flawed": flawed, "wrong": flipped}
    tables = {judge: replies(N, answer) for judge, answer in answers.items()}
    return Schedule(tmp_path_factory.mktemp("watch"), stub, tables, n=N)


@pytest.mark.slow
def test_a_look_watches_the_judges_that_are_named(schedule, stub):
    """The others cost nothing, have no verdict and are named; watched again, they go on."""
    before = stub.stats()["requests"]
    look = schedule.look("--judges", "best,wrong")
    assert stub.stats()["requests"] == before + 2 * N
    assert look["verdicts"] == verdicts(look) == {"best": "stable", "wrong": "stable"}
    words = ("--judges", "best", "--judges-file", schedule.folder / "judges.yaml")
    text = " ".join(invoke("revalidate", schedule.run, *words).stdout.split())
    assert "Not watched: flawed, wrong." in text
    assert "among the judges that are watched" in text
    assert len(verdicts(schedule.look())) == 3
    unknown = invoke("revalidate", schedule.run, "--judges", "best,bset")
    assert "this run has no judge 'bset'. Did you mean best? Use one of best, flawed, wrong" in str(
        unknown.exception
    )


@pytest.mark.slow
def test_a_look_is_due_until_it_watched_the_judges_that_are_named(tmp_path, stub):
    """A look at one judge does not postpone that at another, and ends the call for its own."""
    tables = {judge: replies(N, majority) for judge in ("a", "b")}
    schedule = Schedule(tmp_path, stub, tables, n=N)
    schedule.look("--judges", "a")
    assert "due_in_s" in schedule.look("--judges", "a", "--if-due", "week")
    assert schedule.look("--judges", "b", "--if-due", "week")["verdicts"] == {"b": "stable"}
    assert schedule.look("--if-due", "week")["number"] == 3
    assert "due_in_s" in schedule.look("--judges", "b", "--if-due", "week")


@pytest.mark.slow
def test_accepting_a_look_keeps_the_baseline_of_judges_that_were_not_watched(tmp_path, stub):
    """The new baseline has the watched judge's replies since, and asks for no other's."""
    tables = {judge: replies(N, majority) for judge in ("a", "b")}
    schedule = Schedule(tmp_path, stub, tables, n=N)
    stub.set_table("a", replies(N, flipped))
    for _ in range(2):
        schedule.look("--judges", "a", code=None)
    before, asked = read_history(schedule.run / FILE).baseline, stub.stats()["requests"]
    accepted = invoke("revalidate", "rebase", 1, schedule.run, "--yes")
    assert accepted.exit_code == 0, accepted.output
    assert (stub.stats()["requests"] - asked) % N == 0
    after = read_history(schedule.run / FILE).baseline
    assert after.streams[1] == before.streams[1]
    assert after.streams[0] != before.streams[0]
    assert after.providers.keys() == {"a", "b"}
    assert verdicts(schedule.look()) == {"a": "stable", "b": "stable"}


@pytest.mark.slow
def test_a_schedule_watches_the_best_judges_by_default(schedule, monkeypatch):
    """They are those of the run's decision, also after the first round and in an export."""
    monkeypatch.chdir(schedule.folder)

    def emitted_for(run, *options):
        return invoke(
            "revalidate",
            "schedule",
            run,
            "--emit",
            "cron",
            "--judges-file",
            "judges.yaml",
            *options,
        )

    assert invoke("revalidate", "export", schedule.run, "exported").exit_code == 0
    for run in (schedule.run, "exported"):
        emitted = emitted_for(run)
        assert "--judges best" in emitted.stdout.replace("best,flawed", "best")
        assert "wrong" not in emitted.stdout.replace(str(schedule.run), "")
        assert "To watch all 3: --judges all" in emitted.stderr
    everyone = emitted_for(schedule.run, "--judges", "all")
    assert "--judges " not in everyone.stdout
    assert "Watches best, flawed, wrong." in everyone.stderr
    named = emitted_for(schedule.run, "--judges", "wrong")
    assert "--judges wrong" in named.stdout
    unknown = emitted_for(schedule.run, "--judges", "x")
    assert "this run has no judge 'x'" in str(unknown.exception)


def test_a_schedule_without_a_best_judge_watches_all_and_says_so(tmp_path, stub):
    """None is better than the baseline judges."""
    tables = {judge: replies(N, flipped) for judge in ("a", "b")}
    schedule = Schedule(tmp_path, stub, tables, n=N)
    emitted = invoke("revalidate", "schedule", schedule.run, "--emit", "cron")
    assert "--judges " not in emitted.stdout
    assert "Watches a, b, because the run doesn't show which one is the best." in emitted.stderr


def test_an_ensemble_is_watched_with_its_members():
    """Its verdicts are computed from theirs."""
    asked = [new_judge(name=name, kind="scripted", model="m") for name in ("a", "b", "c")]
    panel = new_judge(name="panel", kind="ensemble", model="a+b", members=("a", "b"))
    config = SimpleNamespace(race=None)
    run = SimpleNamespace(manifest=SimpleNamespace(judges=(*asked, panel), config=config))
    assert [spec.name for spec in watched_judges(run, ["panel"])] == ["a", "b", "panel"]
