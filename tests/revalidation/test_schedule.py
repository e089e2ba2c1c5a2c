"""Emitted schedules: valid for their scheduler, quoted, and without keys."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from support.each_case import fast_first
from support.packages import need
from support.processes import invoke

import harness
from harness.errors import RunError, TaskError
from harness.judging.judges.config import new_judge
from harness.options.concerns import Server
from harness.revalidation.history import Look, read_history
from harness.revalidation.schedule import (
    Schedule,
    files_of,
    options_of,
    options_of_store,
    package_of,
    time_until_due,
)
from harness.runs.run_folder import Manifest, RunConfig, RunFolder

CHECKOUT = Path(__file__).resolve().parents[2]
AWKWARD = 'base lines/it\'s 50% of $5 "x"'
PROGRAM = f'#!/bin/sh\nexec "{sys.executable}" -m harness "$@"\n'
SOURCE = "git+https://git.example/team/judge-harness@v1"
SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}


def schedule_of(run, *, options=(), keys=("OPENAI_API_KEY",)):
    package = package_of("github", SOURCE)
    return Schedule(run=run, every="week", options=options, keys=keys, package=package)


def only_file(schedule, target):
    (text,) = files_of(schedule, target).values()
    return text


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an exported baseline of the word list, and `harness` on a path."""
    folder = tmp_path_factory.mktemp("place")
    run = harness.run(
        "toxicity", judges=["lexicon"], limit=20, samples=2, out=folder / "runs", no_store=True
    )
    written = invoke("revalidate", "export", run.path, folder / AWKWARD)
    assert written.exit_code == 0, written.output
    program = folder / "bin" / "harness"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return folder


def environment(place, **more):
    path = os.pathsep.join([str(place / "bin"), os.environ["PATH"]])
    python = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PATH": path, "PYTHONPATH": python} | more


def run_bash(script, place, **more):
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=place,
        env=environment(place, **more),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("target", "run"),
    fast_first(
        2,
        [
            *(("github", AWKWARD), ("gitlab", AWKWARD)),
            *(("github", "baselines/toxicity"), ("gitlab", "baselines/toxicity")),
        ],
    ),
)
def test_pipelines_fit_their_schema(target, run, tmp_path):
    """The workflow and the pipeline are what their systems accept, whatever the run is called."""
    need("check-jsonschema")
    file = tmp_path / f"{target}.yml"
    file.write_text(only_file(schedule_of(run), target))
    subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[target], str(file)],
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize("file", ["emitted", "action.yml", ".github/workflows/ci.yml"])
def test_workflows_pass_zizmor(file, tmp_path):
    """No finding of the audit for workflows: pinned actions, no injection, least permissions."""
    need("zizmor")
    path = CHECKOUT / file
    if file == "emitted":
        path = tmp_path / ".github" / "workflows" / "emitted.yml"
        path.parent.mkdir(parents=True)
        path.write_text(only_file(schedule_of("baselines/toxicity"), "github"))
    ended = subprocess.run(
        [Path(sys.executable).parent / "zizmor", "--offline", "--quiet", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd on this machine")
@pytest.mark.parametrize("run", ["baselines/toxicity", AWKWARD])
def test_timers_are_verified_by_systemd(run, tmp_path):
    """systemd finds nothing wrong with the unit and the timer."""
    for name, text in files_of(schedule_of(run, keys=()), "systemd").items():
        (tmp_path / name).write_text(text.replace("ExecStart=", "ExecStart=/bin/echo "))
    units = sorted(map(str, tmp_path.iterdir()))
    ended = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units],
        capture_output=True,
        text=True,
        check=False,
    )
    messages = [line for line in ended.stderr.splitlines() if str(tmp_path) in line]
    assert (ended.returncode, messages) == (0, [])


@pytest.mark.slow
def test_crontab_line_revalidates(place, monkeypatch):
    """What cron hands to the shell asks a round, and the next call before it is due asks none."""
    monkeypatch.chdir(place)
    monkeypatch.setattr("shutil.which", lambda _: str(place / "bin" / "harness"))
    *_, line = only_file(schedule_of(AWKWARD, keys=()), "cron").strip().splitlines()
    assert line.startswith("17 5 * * 1 cd ")
    assert "%" not in line.replace("\\%", "")
    command = line.removeprefix("17 5 * * 1 ").replace("\\%", "%")
    first, second = run_bash(command, place), run_bash(command, place)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout == ""  # nothing is wrong
    assert second.returncode == 0
    assert len(read_history(place / AWKWARD / "history.jsonl").looks) == 1


@pytest.mark.slow
def test_steps_of_the_workflow_run_and_a_missing_history_fails(place, monkeypatch):
    """The steps end as documented: without a saved history 2, with `start` 0."""
    monkeypatch.chdir(place)
    steps = {
        step["name"]: step["run"]
        for step in yaml.safe_load(only_file(schedule_of(AWKWARD), "github"))["jobs"]["revalidate"][
            "steps"
        ]
        if "run" in step
    }
    summary = str(place / "summary.md")
    words = {"BASELINE": AWKWARD, "RESTORED": "", "GITHUB_STEP_SUMMARY": summary}
    check = steps["Check that there is a history"]
    assert run_bash(check, place, START="", **words).returncode == 2
    assert run_bash(check, place, START="true", **words).returncode == 0
    assert run_bash(check, place, **words | {"BASELINE": "gone", "START": "true"}).returncode == 2
    for name in ("Re-validate", "Write the job summary"):
        ended = run_bash(steps[name], place, **words)
        assert ended.returncode == 0, ended.stderr
    assert "lexicon" in Path(summary).read_text()


@pytest.mark.slow
def test_steps_of_the_action_check_requirements(place, tmp_path):
    """The action takes its inputs from the environment and ends with the gate's exit code."""
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text())
    *_, step = action["runs"]["steps"]
    assert "${{" not in step["run"]
    (run,) = (place / "runs").iterdir()
    words = {
        "RUN": str(run),
        "JUNIT": str(tmp_path / "gate.xml"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    passed = run_bash(step["run"], place, REQUIRE="lexicon: answered_fraction>=0.9\n\n", **words)
    assert passed.returncode == 0, passed.stderr
    failed = run_bash(
        step["run"], place, REQUIRE="decision=none\nlexicon: answered_fraction>1", **words
    )
    assert failed.returncode == 1
    assert "1 of 2 requirements failed" in (tmp_path / "summary.md").read_text()
    need("check-jsonschema")
    subprocess.run(
        [
            *(sys.executable, "-m", "check_jsonschema"),
            *("--builtin-schema", "vendor.github-actions", str(CHECKOUT / "action.yml")),
        ],
        check=True,
        capture_output=True,
    )


@pytest.mark.slow
def test_a_workflow_names_the_task_of_an_export(place, monkeypatch):
    """A clone of an export, which holds no item texts, is re-validated without the run."""
    monkeypatch.chdir(place)
    emitted = invoke("revalidate", "schedule", AWKWARD, "--emit", "github", "--package", SOURCE)
    [job] = yaml.safe_load(emitted.stdout)["jobs"].values()
    [look] = [step["run"] for step in job["steps"] if step.get("name") == "Re-validate"]
    assert look.endswith("--task toxicity")
    clone = place / "clone"
    shutil.copytree(place / AWKWARD, clone / AWKWARD)
    look = look.replace("--if-due week ", "")  # another test may have looked by now
    ended = run_bash(f"cd clone && {look}", place, BASELINE=AWKWARD, XDG_STATE_HOME=str(clone))
    assert "lexicon" in ended.stdout, ended.stderr


def test_a_limit_on_a_metric_that_does_not_exist_is_refused(place):
    """A misspelt metric would never fail; nothing is asked."""
    (run,) = (place / "runs").iterdir()
    history = (run / "history.jsonl").read_bytes()
    refused = invoke("revalidate", run, "--fail-on", "worse,mse(srs/sr)>0.1")
    assert "no metric is named 'mse(srs/sr)'. Did you mean mse(srs/srs)" in str(refused.exception)
    assert (run / "history.jsonl").read_bytes() == history


def test_a_pipeline_that_could_not_ask_is_not_emitted(tmp_path, monkeypatch):
    """A task outside of the repository and an unknown server are named at once."""
    monkeypatch.chdir(tmp_path)
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00",
        config=RunConfig(task="/elsewhere/polite", item_text=False),
        judges=(new_judge(name="own", kind="endpoint", model="m", base_url="http://server/v1"),),
        hashes={"task": "0", "prompts": "0"},
        versions={},
    )
    run = RunFolder(tmp_path / "baseline", manifest)
    with pytest.raises(RunError, match="contains neither item texts nor the task"):
        options_of(run, "github")
    with pytest.raises(RunError, match=r"gitlab can't run own, because no judges\.yaml"):
        options_of(run, "gitlab", task="polite")
    file = Path("judges.yaml")
    file.write_text("judges:\n  own: {kind: endpoint, model: m, base_url: 'http://server/v1'}\n")
    words = ("--task", "polite", "--judges-file", "judges.yaml")
    assert options_of(run, "github", task="polite", server=Server(judges_file=file)) == words
    with pytest.raises(RunError, match="a pipeline only sees its repository"):
        options_of(run, "github", task="polite", server=Server(judges_file=file.resolve()))
    with pytest.raises(TaskError, match="'/elsewhere/polite' was not found"):
        options_of(run, "cron")
    with pytest.raises(RunError, match="cron can't run own"):
        options_of(run, "cron", task="polite")


def test_a_history_that_is_started_anew_is_the_committed_one():
    """With `start`, GitHub's cache is not restored, and GitLab's is replaced by the commit."""
    [job] = yaml.safe_load(only_file(schedule_of("baselines/x"), "github"))["jobs"].values()
    [restore] = [step for step in job["steps"] if step.get("id") == "history"]
    assert restore["if"] == "${{ !inputs.start }}"
    [job] = yaml.safe_load(only_file(schedule_of("baselines/x"), "gitlab")).values()
    assert 'git checkout -- "$BASELINE"' in job["script"][0]


@pytest.mark.parametrize("every", ["week", "month"])
def test_github_is_called_often_enough_to_keep_its_cache(every):
    """Caches that are not used for 7 days are removed; of the calls, few ask."""
    schedule = Schedule(run="baselines/x", every=every, options=(), keys=())
    workflow = yaml.safe_load(only_file(schedule, "github"))
    assert workflow[True]["schedule"] == [{"cron": "17 5 * * 1,4"}]
    [job] = workflow["jobs"].values()
    [look] = [step["run"] for step in job["steps"] if step.get("name") == "Re-validate"]
    assert f"--if-due {every}" in look


def test_keys_are_named_and_never_written(monkeypatch):
    """The value of a key stands in no schedule."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-written")
    texts = [
        text
        for target in ("github", "gitlab", "cron", "systemd")
        for text in files_of(schedule_of("baselines/x"), target).values()
    ]
    assert not any("sk-not" in text for text in texts)
    assert "OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}" in texts[0]


def test_a_store_is_named_and_its_password_never_written(place):
    """The workflow gets it from a secret; an address that holds it is refused."""
    address = "postgresql://me@127.0.0.1/judges"
    options, keys, extra = options_of_store(address)
    package = package_of("github", SOURCE, extra)
    described = Schedule(
        run="baselines/a", every="week", options=options, keys=keys, package=package
    )
    text = only_file(described, "github")
    assert f"--store {address}" in text
    assert "PGPASSWORD: ${{ secrets.PGPASSWORD }}" in text
    assert f"pip install 'judge-harness[postgres] @ {SOURCE}'" in text
    assert options_of_store("postgresql://").keys == ("HARNESS_STORE",)
    command = ("revalidate", "schedule", place / AWKWARD, "--emit", "cron", "--store")
    assert f"--store {address}" in invoke(*command, address).output
    refused = invoke(*command, address.replace("me@", "me:hunter2@"))
    assert isinstance(refused.exception, RunError)
    assert "hunter2" not in refused.output + str(refused.exception)


@pytest.mark.parametrize(
    ("source", "installed"),
    [
        (SOURCE, f"judge-harness @ {SOURCE}"),
        ("https://git.example/team/judge-harness", f"judge-harness @ {SOURCE[:-3]}"),
        ("git+ssh://git@git.example/x", "judge-harness @ git+ssh://git@git.example/x"),
        ("https://a.example/j-1-py3-none-any.whl", "judge-harness @ https://a.example/j-1-py3-no"),
        ("wheels/j-1-py3-none-any.whl", "./wheels/j-1-py3-none-any.whl"),
    ],
)
def test_a_pipeline_installs_what_the_user_names(source, installed):
    """A repository or a wheel, at its address or in the user's repository."""
    assert package_of("gitlab", source).startswith(installed)
    assert package_of("gitlab", source, "[postgres]").count("[postgres]") == 1


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        ("github", "judge-harness==0.1", "neither a repository nor a wheel"),
        ("gitlab", "file:///home/me/j.whl", "neither a repository nor a wheel"),
        ("github", "/home/me/j.whl", "only sees its repository"),
        ("github", "https://me:hunter2@git.example/x", "would be written into the files"),
        ("github", "git+https://token@git.example/x", "would be written into the files"),
        ("cron", SOURCE, "doesn't apply to cron"),
    ],
)
def test_a_source_that_a_pipeline_cannot_install_is_refused(target, source, message):
    """A name that anyone may claim, a path of this machine and a secret are not written."""
    with pytest.raises(RunError, match=message) as refused:
        package_of(target, source)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("recorded", "installed"),
    [
        (None, None),
        ({"url": "file:///home/me/clone", "dir_info": {"editable": True}}, None),
        (
            {"url": "https://a.example/x", "vcs_info": {"vcs": "git", "commit_id": "4f2"}},
            "judge-harness @ git+https://a.example/x@4f2",
        ),
        ({"url": "https://a.example/j.whl", "archive_info": {}}, "judge-harness @ https://a.ex"),
    ],
)
def test_a_pipeline_installs_what_is_installed_here(recorded, installed, monkeypatch):
    """From an address it is the default; from a folder or an index, the user names a source."""
    text = json.dumps(recorded) if recorded else None
    here = SimpleNamespace(read_text={"direct_url.json": text}.get)
    monkeypatch.setattr("harness.revalidation.schedule.distribution", lambda _: here)
    if installed is None:
        with pytest.raises(RunError, match="Pass its repository, --package git"):
            package_of("github", None)
    else:
        assert package_of("github", None).startswith(installed)


@pytest.mark.parametrize("run", ["/home/me/runs/x", "../x", "a\nb", "${{ secrets.X }}"])
def test_a_path_that_a_pipeline_cannot_use_is_refused(run):
    """A pipeline only sees its repository, and no expression is smuggled into it."""
    with pytest.raises(RunError, match=r"only sees its repository|can't be written"):
        files_of(schedule_of(run), "github")


@pytest.mark.parametrize(("age_days", "due"), [(0, False), (6, False), (6.4, True), (30, True)])
def test_a_look_is_due_after_nine_tenths_of_the_period(age_days, due):
    """A scheduler that is a little early is not sent away for another week."""
    at = datetime.now(UTC) - timedelta(days=age_days)
    look = Look(number=1, occasion=2, baseline=1, at=at.isoformat(), judges=())
    assert (time_until_due(look, "week") <= timedelta(0)) is due
    assert time_until_due(None, "week") <= timedelta(0)


def test_a_clock_that_ran_ahead_does_not_postpone_looks():
    """A look that is dated in the future is followed by one at once."""
    at = datetime.now(UTC) + timedelta(days=30)
    look = Look(number=1, occasion=2, baseline=1, at=at.isoformat(), judges=())
    assert time_until_due(look, "week") <= timedelta(0)


def test_a_schedule_passes_samples_and_the_limit_on(place, monkeypatch):
    """Each look of the schedule asks as often, and costs at most as much, as was said."""
    monkeypatch.chdir(place)
    words = (
        "revalidate",
        "schedule",
        AWKWARD,
        "--emit",
        "cron",
        "--samples",
        3,
        "--max-cost",
        0.25,
    )
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    assert "--max-cost 0.25 --samples 3" in result.stdout
