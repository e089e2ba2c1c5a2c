"""Looks at judges whose verdicts are computed: ensembles, votes, and log-probabilities."""

from __future__ import annotations

import json

import pytest
from support.look_schedules import JUDGE, figure, majority, other, replies, text_of, verdicts
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.judging.strategies.calibration import CONTENT_FREE
from harness.revalidation.history import FILE, read_history

ENSEMBLES = """
  panel: {kind: ensemble, members: [first, second, third@self-consistency:3]}
  pair: {kind: ensemble, members: [first, second], strategy: mean}
  scales: {kind: ensemble, members: [first, second, third], strategy: weighted}
"""
N = 30


def soft_replies(n, answer, share, *, content_free=0.5):
    """One distribution per item, with ``share`` for its answer, and that of a text without one."""
    table = {
        text_of(i): [{answer(i): share, other(answer(i)): round(1 - share, 6)}] for i in range(n)
    }
    return table | {CONTENT_FREE: [{"A": content_free, "B": 1 - content_free}]}


@pytest.fixture
def run_of(tmp_path, stub):
    """Return a function that runs judges of the stub's tables, one sample for each table's."""

    def start(tables, judges, more="", samples=2):
        make_task_folder(tmp_path / "task", N, response_sets=False)
        for name, table in tables.items():
            stub.set_table(name, table)
        entries = [
            JUDGE.format(name=name, url=stub.url(table=name), samples=samples, concurrency=16)
            for name in tables
        ]
        text = "judges:\n" + "".join(entries) + more
        (tmp_path / "judges.yaml").write_text(text, "utf-8")
        result = invoke(
            *("run", "--task", tmp_path / "task", "--judges", judges, "--quiet"),
            *("--judges-file", tmp_path / "judges.yaml", "--elicitation", "forced_choice"),
            *("--out", tmp_path / "runs"),
        )
        assert result.exit_code == 0, result.output
        [run] = (tmp_path / "runs").iterdir()
        return run

    return start


def look(run, *arguments, code=0):
    if "--judges-file" not in arguments:
        arguments += ("--judges-file", run.parents[1] / "judges.yaml")
    result = invoke("revalidate", run, "--json", "--quiet", *arguments)
    assert result.exit_code in ({0, 1} if code is None else {code}), result.output
    return json.loads(result.stdout)


@pytest.mark.slow
def test_an_ensemble_changes_with_its_members(run_of, tmp_path, stub):
    """Votes are computed from a round's replies; a member with other parameters takes the ensemble
    out; nothing is asked for an ensemble itself."""
    tables = {name: replies(N, majority) for name in ("first", "second", "third")}
    run = run_of(tables, "panel,pair,scales", ENSEMBLES)
    stub.reset()
    judges = {"first", "second", "third", "third@self-consistency:3", "panel", "pair", "scales"}
    assert verdicts(look(run)) == dict.fromkeys(judges, "stable")
    assert stub.stats()["requests"] == N * (1 + 1 + 3)  # one of three is shared
    for name in ("first", "third"):
        stub.set_table(name, replies(N, lambda i: other(majority(i))))
    for _ in range(2):
        changed = look(run, code=None)
    assert verdicts(changed)["second"] == "stable"
    assert verdicts(changed)["panel"] in {"changed", "worse"}
    assert verdicts(changed)["pair"] in {"changed", "worse"}
    assert verdicts(changed)["scales"] in {"changed", "worse"}
    file = tmp_path / "judges.yaml"
    file.write_text(file.read_text("utf-8").replace("model: first", "model: other"), "utf-8")
    outdated = look(run, "--judges-file", file, code=1)
    reasons = {judge["judge"]: judge["reason"] for judge in outdated["judges"]}
    assert verdicts(outdated)["panel"] == "not comparable"
    assert reasons["panel"].startswith("its member first: its model has changed in")


@pytest.mark.slow
def test_ties_of_an_ensemble_are_drawn_anew_in_each_look(run_of):
    """Two members that always differ make an ensemble of pure noise, which never changes."""
    tables = {"first": replies(N, lambda _: "A"), "second": replies(N, lambda _: "B")}
    run = run_of(tables, "first+second")
    looks = [look(run) for _ in range(4)]
    assert not {"changed", "worse"} & set(verdicts(looks[-1]).values())
    flips = [figure(looks[-1], "first+second", "flips")["look"]]
    assert 0.2 < flips[0] < 0.8


@pytest.mark.slow
def test_an_ensemble_has_no_verdicts_where_one_member_is_watched(run_of):
    """A vote of some members is no vote: it enters no test of a later round."""
    run = run_of({name: replies(N, majority) for name in ("m1", "m2")}, "m1+m2")
    assert verdicts(look(run, "--judges", "m1")) == {"m1": "stable"}
    [first] = read_history(run / FILE).looks
    assert [stream.judge for stream in first.streams] == ["m1"]
    assert verdicts(look(run, "--judges", "m1+m2")).keys() == {"m1", "m2", "m1+m2"}


@pytest.mark.slow
def test_soft_judges_are_looked_at(run_of, tmp_path, stub):
    """Tests compare the most probable option, metrics the distribution; an export, too, is
    calibrated by the content-free reply of the run."""
    run = run_of(
        {"judge": soft_replies(N, majority, 0.9)}, "judge@logprob,judge@logprob-calibrated"
    )
    exported = tmp_path / "exported"
    assert invoke("revalidate", "export", run, exported, "--item-text").exit_code == 0
    stub.set_table("judge", soft_replies(N, majority, 0.9, content_free=0.99))
    for _ in range(2):
        same = look(run)
    assert set(verdicts(same).values()) == {"stable"}
    stub.set_table("judge", soft_replies(N, majority, 0.6))
    softer = figure(look(run), "judge@logprob", "mse(s/s)")
    assert softer["difference"] != 0
    stub.set_table("judge", soft_replies(N, lambda i: other(majority(i)), 0.9))
    for folder in (run, exported):
        for _ in range(3):
            flipped = look(folder, "--judges-file", tmp_path / "judges.yaml", code=None)
        assert set(verdicts(flipped).values()) <= {"changed", "worse"}
