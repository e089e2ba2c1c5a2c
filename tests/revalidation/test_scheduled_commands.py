"""Schedules run where they are put: started by cron and by systemd."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.revalidation.history import read_history

JUDGE = "  {name}: {{kind: endpoint, model: {name}, base_url: '{url}'{more}}}\n"
FIELDS = re.compile(r"(?:\S+ ){5}(.*)")


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A folder whose name needs quotes in every syntax, with a task of eight items."""
    stub.reset()
    folder = tmp_path / "it's 50% of $5"
    make_task_folder(folder / "tasks" / "mine", 8)
    monkeypatch.chdir(folder)
    Path.home().mkdir(parents=True, exist_ok=True)
    return folder


def judges_file(path, more="", **urls):
    """Write a judges.yaml."""
    entries = "".join(JUDGE.format(name=name, url=url, more=more) for name, url in urls.items())
    path.write_text(f"judges:\n{entries}", encoding="utf-8")


def ask(*words):
    """Ask the judges of a new run two times about each item."""
    asked = invoke("run", *words, "--samples", 2)
    assert asked.exit_code == 0, asked.output
    [run] = Path("runs").iterdir()
    return run


def emitted(run, target, *options):
    """Return what is written about a run, and what is said beside it."""
    done = invoke("revalidate", "schedule", run, "--emit", target, *options)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout, done.stderr


def started(words, folder, **more):
    """Run a command with what cron and systemd set: nothing of the shell it was written in."""
    env = {"HOME": str(Path.home()), "PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", **more}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


def run_cron(text):
    """Run the line as cron does: in the home folder, where a bare percent sign ends the line."""
    (line,) = (line for line in text.splitlines() if line and line[0] != "#")
    command = FIELDS.fullmatch(line)[1]
    assert not re.search(r"(?<!\\)%", command)
    return started(["/bin/sh", "-c", command.replace("\\%", "%")], Path.home())


def units(text):
    """Return the emitted units by kind, each with its last value of every setting."""
    parts = re.split(r"^# revalidate-\S+?(-failed)?\.(service|timer)\n", text, flags=re.MULTILINE)
    return {
        kind + (failed or ""): dict(re.findall(r"^(\w+)=(.*)$", unit, re.MULTILINE))
        for failed, kind, unit in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


def run_systemd(text):
    """Run `ExecStart` as systemd does: without a shell, in `WorkingDirectory`."""
    unit = units(text)["service"]
    words = [w.replace("%%", "%").replace("$$", "$") for w in shlex.split(unit["ExecStart"])]
    keys = {}
    if file := unit.get("EnvironmentFile"):
        text = Path(file.replace("%h", str(Path.home()))).read_text(encoding="utf-8")
        keys = dict(line.split("=", 1) for line in text.splitlines())
    return started(words, unit["WorkingDirectory"].replace("%%", "%"), **keys)


STARTERS = {"cron": run_cron, "systemd": run_systemd}


def assert_looked(done, run):
    """The command asked one round, and said nothing."""
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    [look] = read_history(run / "history.jsonl").looks
    assert {judge.verdict for judge in look.judges} == {"underpowered"}


@pytest.mark.slow
@pytest.mark.parametrize("target", STARTERS)
def test_a_judge_that_was_named_with_its_address_is_asked_there(target, place, stub):
    """The line lacked `--base-url`, so that each round ended with 2."""
    url = stub.url(say="A")
    run = ask("--task", "tasks/mine", "--judges", "mine", "--base-url", url)
    text, said = emitted(run, target)
    assert f"--base-url {url} " in text.replace('"', "")
    assert "doesn't set" not in said
    assert_looked(STARTERS[target](text), run)


@pytest.mark.slow
@pytest.mark.parametrize("target", STARTERS)
def test_scheduled_commands_set_the_variables_of_the_shell(target, place, stub, monkeypatch):
    """Neither cron nor systemd sets `HARNESS_JUDGES` or `HARNESS_TASKS`; keys are in a file."""
    judges_file(place / "my judges.yaml", ", key_env: KEY_1", mine=stub.url(say="A"))
    monkeypatch.setenv("HARNESS_JUDGES", "my judges.yaml")
    monkeypatch.setenv("HARNESS_TASKS", str(place / "tasks"))
    monkeypatch.setenv("KEY_1", "sk-of-the-shell")
    run = ask("--task", "mine", "--judges", "mine", "--no-item-text")
    assert "judge-harness/env doesn't set KEY_1. Add a line" in emitted(run, target)[1]
    keys = Path.home() / ".config" / "judge-harness" / "env"
    keys.parent.mkdir(parents=True)
    keys.write_text("KEY_1=sk-of-the-file\n", encoding="utf-8")
    text, said = emitted(run, target)
    assert "doesn't set" not in said
    assert "sk-of" not in text
    assert_looked(STARTERS[target](text), run)


@pytest.mark.slow
def test_judges_at_two_addresses_need_a_judges_file(place, stub):
    """A command has one `--base-url`, and a path is as good from another folder."""
    file = place / "judges.yaml"
    judges_file(file, mine=stub.url(say="A"), other=stub.url(say="B"))
    run = ask("--task", "tasks/mine", "--judges", "mine,other", "--judges-file", file)
    refused = invoke("revalidate", "schedule", run, "--emit", "cron")
    assert "cron can't run mine" in str(refused.exception)
    text, _ = emitted(run, "cron", "--judges-file", "judges.yaml")
    assert_looked(run_cron(text), run)


def test_a_look_that_fails_starts_a_unit_that_says_so(place, stub):
    """A timer failed in silence: nothing named what to start then."""
    run = ask("--task", "tasks/mine", "--judges", "mine", "--base-url", stub.url(say="A"))
    text, _ = emitted(run, "systemd")
    of = units(text)
    assert f"# {of['service']['OnFailure']}\n" in text
    command = shlex.split(of["service-failed"]["ExecStart"])
    said = started([*command[:2], command[2].partition(" | ")[0]], place)
    assert said.stdout.startswith(f"revalidate-{run.name.lower()} failed: journalctl --user")
