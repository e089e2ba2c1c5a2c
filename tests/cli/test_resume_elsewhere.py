"""Resuming a run that was made elsewhere: addresses and names of keys in it are not believed."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest
from support.judge_runs import RecordingObserver
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.app import run_plan, start
from harness.command_options import Place, RunOptions, Server
from harness.errors import HarnessError, JudgeError, RunError
from harness.run_plans import plan_resumed_run, plan_run
from harness.runs import RunFolder, find_run
from harness.user_folders import is_seal, seal_of, state_folder

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "aws-secret-of-this-user"
RUN = ("run", "--no-cache", "--quiet")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working folder with a task, an environment with a secret, and a state folder."""
    make_task_folder(tmp_path / "task", 4)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    return tmp_path


@pytest.fixture
def unfinished(place, stub):
    """A run of this user at the stub server, not asked; its folder is called ``own``."""
    stub.reset()
    plan = plan_run(
        "task",
        ["m"],
        RunOptions(samples=1, elicitations=("forced_choice",)),
        server=Server(base_url=stub.url(), key_env="AWS_SECRET_ACCESS_KEY"),
    )
    folder = start(plan, place / "runs")
    folder.update(state="stopped")
    return folder.path.rename(folder.path.with_name("own"))


def made_elsewhere(monkeypatch, place: Path) -> None:
    """Let all seals so far be those of somebody else."""
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "another-state"))


def test_a_run_of_ones_own_resumes_without_further_options(unfinished, stub):
    """Its manifest carries the seal, so a plain `--resume` asks the same server as before."""
    done = invoke(*RUN, "--resume")
    assert done.exit_code == 0, done.stderr
    assert stub.stats()["requests"] == 4
    assert RunFolder.open(unfinished).manifest.state == "done"
    assert RunFolder.open(unfinished).sealed


def test_resume_sends_no_environment_variable_where_a_foreign_manifest_says(
    unfinished, place, stub, monkeypatch
):
    """Nothing is sent until the user defines the judge; then the user's own key goes with it."""
    made_elsewhere(monkeypatch, place)
    refused = invoke(*RUN, "--resume")
    assert isinstance(refused.exception, JudgeError)
    assert "nothing was sent" in str(refused.exception)
    assert "--base-url" in str(refused.exception)
    for other in (["--base-url", "http://127.0.0.1:1/v1"], ["--key-env", "AWS_SECRET_ACCESS_KEY"]):
        assert isinstance(invoke(*RUN, "--resume", *other).exception, JudgeError)
    assert stub.requests() == []
    done = invoke(*RUN, "--resume", "--base-url", stub.url())
    assert done.exit_code == 0, done.stderr
    assert stub.stats()["requests"] == 4
    assert SECRET not in json.dumps(stub.requests())
    assert RunFolder.open(unfinished).sealed


@pytest.mark.parametrize("changed", ["base_url", "state"])
def test_a_seal_does_not_cover_a_changed_manifest(unfinished, elsewhere, changed):
    """Whatever is changed in it, the run is one that was made elsewhere."""
    file = unfinished / "manifest.json"
    manifest = json.loads(file.read_text())
    assert RunFolder.open(unfinished).sealed
    if changed == "base_url":
        manifest["judges"][0]["base_url"] = elsewhere.url()
    else:
        manifest["state"] = "running"
    file.write_text(json.dumps(manifest))
    assert not RunFolder.open(unfinished).sealed
    assert isinstance(invoke(*RUN, "--resume", "own").exception, JudgeError)
    assert elsewhere.requests() == []


def test_a_foreign_run_asks_the_judge_of_that_name_in_the_users_file(
    unfinished, place, stub, monkeypatch
):
    """With the key that the file names, whatever the manifest says; another model is refused."""
    made_elsewhere(monkeypatch, place)
    monkeypatch.setenv("OWN_KEY", "key-of-this-user")
    own = {"model": "m", "base_url": stub.url(), "key_env": "OWN_KEY"}
    file = place / "judges.yaml"
    words = (*RUN, "--resume", "own", "--judges-file", "judges.yaml")
    for name, judge in (("other", own), ("m", own | {"model": "x"})):
        file.write_text(json.dumps({"judges": {name: judge}}))
        assert isinstance(invoke(*words).exception, JudgeError)
    assert stub.requests() == []
    file.write_text(json.dumps({"judges": {"m": own}}))
    done = invoke(*words)
    assert done.exit_code == 0, done.stderr
    assert "key-of-this-user" in json.dumps(stub.requests())
    assert SECRET not in json.dumps(stub.requests())


def hosted(**changes):
    """Return the specification of a hosted judge as a manifest has it."""
    from harness.judging.judges.config import JudgeSpec

    fields = {"model": "openai/gpt-5.4-mini", "key_env": "OPENAI_API_KEY"} | changes
    fields |= {"name": changes.get("name", fields["model"])}
    return JudgeSpec.model_validate(fields)


def test_a_built_in_alias_and_a_providers_own_key_need_no_confirmation(unfinished, monkeypatch):
    """The key of a provider goes to that provider as without the run; any other key does not."""
    made_elsewhere(monkeypatch, unfinished)
    folder = RunFolder.open(unfinished)
    for judge in (hosted(), hosted(model="groq/llama-3", key_env="GROQ_API_KEY")):
        folder.manifest = folder.manifest.model_copy(update={"judges": (judge,)})
        folder.sealed = False
        assert plan_resumed_run(folder).folder is folder
        assert folder.manifest.judges == (judge,)


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "http://127.0.0.1:9/v1", "kind": "litellm"},
        {"name": "gpt", "model": "huggingface/x"},
        {"params": {"fallbacks": ["http://127.0.0.1:9"]}},
    ],
)
def test_hosted_judges_of_a_foreign_run_are_asked_only_as_the_user_would(
    unfinished, monkeypatch, changes
):
    """Another address, provider or parameter than that of the user's judge is refused."""
    made_elsewhere(monkeypatch, unfinished)
    folder = RunFolder.open(unfinished)
    folder.manifest = folder.manifest.model_copy(update={"judges": (hosted(**changes),)})
    with pytest.raises(JudgeError, match=r"made elsewhere.*--judges-file"):
        plan_resumed_run(folder)


def test_a_foreign_manifest_decides_neither_key_nor_redirects(unfinished, monkeypatch):
    """They are those of the user's judge, which alone is asked."""
    made_elsewhere(monkeypatch, unfinished)
    folder = RunFolder.open(unfinished)
    forged = hosted(key_env="AWS_SECRET_ACCESS_KEY", allow_redirects=True, price=None)
    folder.manifest = folder.manifest.model_copy(update={"judges": (forged,)})
    [job] = plan_resumed_run(folder).jobs
    spec = job.judge.spec
    assert (spec.key_env, spec.allow_redirects) == ("OPENAI_API_KEY", False)


def test_a_plain_resume_takes_sealed_runs_first(unfinished, place, monkeypatch):
    """A newer unfinished folder of somebody else does not come before one's own."""
    newer = json.loads((unfinished / "manifest.json").read_text())
    newer["created"] = "2999-01-01T00:00:00+00:00"
    other = unfinished.with_name("other")
    other.mkdir()
    (other / "manifest.json").write_text(json.dumps(newer))
    assert find_run(place / "runs", None).path.name == "other"
    assert find_run(place / "runs", None, unfinished=True).path.name == "own"
    RunFolder.open(unfinished).update(state="done")
    assert find_run(place / "runs", None, unfinished=True).path.name == "other"


def test_options_for_a_run_of_ones_own_are_refused(unfinished, stub):
    """It keeps its options, so an address given now would be ignored."""
    with pytest.raises(RunError, match="keeps its options"):
        plan_resumed_run(RunFolder.open(unfinished), server=Server(base_url=stub.url()))
    with pytest.raises(HarnessError, match="keeps its options"):
        harness.run(resume=unfinished, base_url=stub.url(), use_cache=False)


def test_a_foreign_run_without_texts_reads_no_task_but_the_one_that_is_named(place, monkeypatch):
    """The path in its manifest may lead anywhere; `--task` confirms it."""
    words = ("--task", "task", "--judges", "random", "--no-item-text")
    assert invoke(*RUN, *words).exit_code == 0
    [run] = (place / "runs").iterdir()
    RunFolder.open(run).update(state="stopped")
    made_elsewhere(monkeypatch, place)
    refused = invoke(*RUN, "--resume", run)
    assert isinstance(refused.exception, RunError)
    assert "--task task" in str(refused.exception)
    done = invoke(*RUN, "--resume", run, "--task", "task")
    assert done.exit_code == 0, done.stderr


def test_the_key_of_the_seal_is_made_at_its_first_use_for_this_user_alone(place):
    """0600, in a folder of mode 0700; looking at a seal makes none."""
    assert not is_seal("00", b"data")
    assert not state_folder().exists()
    seal = seal_of(b"data")
    key = state_folder() / "seal.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert [path.name for path in key.parent.iterdir()] == ["seal.key"]
    assert is_seal(seal, b"data")
    assert not is_seal(seal, b"other")
    assert not is_seal("", b"data")
    assert seal_of(b"data") == seal


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 40])
def test_a_damaged_key_seals_nothing(place, damage):
    """An empty key could be guessed; runs go on unsealed."""
    seal_of(b"data")
    (state_folder() / "seal.key").write_bytes(damage)
    assert seal_of(b"data") == ""
    assert not is_seal("", b"data")


def test_runs_go_on_where_no_key_can_be_kept(place, monkeypatch):
    """A home that cannot be written to costs the seal alone."""
    (place / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "file"))
    done = invoke(*RUN, "--task", "task", "--judges", "random")
    assert done.exit_code == 0, done.stderr
    [run] = (place / "runs").iterdir()
    assert not RunFolder.open(run).sealed


def test_resume_completes_a_run_that_died_before_its_results(place, monkeypatch):
    """Between the last reply and the results a run is ``asked``; neither keys nor judges are
    needed to complete it."""
    with monkeypatch.context() as dying:
        dying.setattr("harness.app.write_report", die)
        crashed = invoke(*RUN, "--task", "task", "--judges", "random")
    assert isinstance(crashed.exception, Death)
    [run] = (place / "runs").iterdir()
    assert RunFolder.open(run).manifest.state == "asked"
    assert RunFolder.open(run).manifest.exit_code is None
    monkeypatch.setattr("harness.app.check_judges", die)
    done = invoke(*RUN, "--resume")
    assert done.exit_code == 0, done.output
    manifest = RunFolder.open(run).manifest
    assert (manifest.state, manifest.exit_code) == ("done", 0)
    assert (run / "report.html").exists()


def test_validate_completes_a_run_that_died_before_its_results(place):
    """After that nothing is left to resume."""
    assert invoke(*RUN, "--task", "task", "--judges", "random").exit_code == 0
    [run] = (place / "runs").iterdir()
    RunFolder.open(run).update(state="asked", exit_code=None)
    assert invoke("validate", run).exit_code == 0
    with pytest.raises(RunError, match="no unfinished run"):
        find_run(place / "runs", None, unfinished=True)


class Death(Exception):  # noqa: N818 -- the end of a process, not an error of the package
    """Stands for a process that is killed."""


def die(*_args, **_kwargs):
    raise Death


@pytest.mark.parametrize("refusal", ["cache", "log"])
def test_a_refused_run_leaves_no_folder(place, monkeypatch, refusal):
    """Where the cache or the log cannot be used, nothing was asked and nothing is left."""
    (place / "cache").write_text("a file")
    words = ["run", "--task", "task", "--judges", "random", "--cache", "cache"]
    if refusal == "log":
        words = [*RUN, *words[1:-2]]
        monkeypatch.setattr("harness.runs.VerdictLog.open", refuse)
    assert isinstance(invoke(*words).exception, RunError)
    assert list((place / "runs").iterdir()) == []


def refuse(*_):
    raise RunError("refused")


def test_a_resumed_run_that_is_refused_keeps_its_folder(place):
    """Only a folder that this start made is removed."""
    assert invoke(*RUN, "--task", "task", "--judges", "random").exit_code == 0
    [run] = (place / "runs").iterdir()
    folder = RunFolder.open(run)
    folder.update(state="planned")
    (place / "cache").write_text("a file")
    plan = plan_resumed_run(folder)
    with pytest.raises(RunError, match="cannot be used as a cache"):
        run_plan(plan, observer=RecordingObserver(), place=Place(cache=place / "cache"))
    assert (run / "verdicts.jsonl").exists()
