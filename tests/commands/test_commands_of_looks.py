"""Commands that looks at a run's judges print run as they are printed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from support.command_texts import commands_in, run_command, situation
from support.look_schedules import Schedule, flawed, majority, replies
from support.processes import invoke

from harness.files.checksummed_log import with_checksum
from harness.runs.run_folder import RunFolder

LOOKED = frozenset({0, 1, 3})


def last_command(result):
    """Return the last command of a result: of its error, or of what it printed."""
    return commands_in(f"{result.stdout}\n{result.stderr}\n{result.exception or ''}")[-1]


@pytest.fixture
def run(place, stub):
    """A run of a judge at an address, as the user types both."""
    words = ("--task", "./a task", "--judges", "far", "--base-url", stub.url(), "--samples", 2)
    asked = invoke("run", *words, "--elicitation", "forced_choice", "--out", "all runs")
    assert asked.exit_code == 0, asked.output
    [path] = Path("all runs").iterdir()
    return path


def rewritten(file, before, after):
    """Replace a text in a file that has it."""
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after), "utf-8")


def changed(run, **fields):
    """Rewrite fields of a run's manifest, as if it had ended otherwise."""
    manifest = run / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text("utf-8")) | fields), "utf-8")


@pytest.mark.slow
@situation("first_baseline: command_to_resume()")
def test_a_run_that_is_not_finished_is_finished_as_its_message_says(run):
    """`harness revalidate` of an unfinished run prints the command that finishes it."""
    changed(run, state="running", exit_code=None)
    server = RunFolder.open(run).location.server
    run_command(last_command(invoke("revalidate", run, *server)))
    assert json.loads((run / "manifest.json").read_text())["exit_code"] == 0


@pytest.mark.slow
@situation("history_of: command_to_watch()")
def test_a_history_that_was_never_begun_is_begun_as_its_message_says(run):
    """A run that was never re-validated prints the command of its first look."""
    run_command(last_command(invoke("history", run)))
    assert invoke("history", run).exit_code == 0


@pytest.mark.slow
@situation("_stopped: look_command()")
def test_a_look_that_reached_the_limit_goes_on(place, stub):
    """With a higher limit, and with the judges file of the look."""
    judge = {"model": "far", "base_url": stub.url(say="A"), "samples": 1, "concurrency": 1}
    judges = {"far": judge | {"price": {"input": 1, "output": 1}}}
    Path("my judges.yaml").write_text(json.dumps({"judges": judges}), "utf-8")
    file = ("--judges-file", "my judges.yaml")
    words = ("--task", "./a task", "--judges", "far", *file, "--elicitation", "forced_choice")
    invoke("run", *words, "--out", "all runs")
    [run] = Path("all runs").iterdir()
    stopped = invoke("revalidate", run, *file, "--max-cost", 0.002)
    assert stopped.exit_code == 4
    command = last_command(stopped)
    while (done := run_command(command, codes=LOOKED | {4})).exit_code == 4:
        command = last_command(done)


@pytest.mark.slow
@situation("comparable: validate_anew()")
def test_a_changed_task_is_validated_anew_as_the_look_says(run):
    """The printed `harness run` has the task, the judges, their server and the elicitation."""
    server = RunFolder.open(run).location.server
    assert invoke("revalidate", run, *server).exit_code == 0
    rewritten(Path("a task", "task.yaml"), "Toxic", "Rude")
    looked = invoke("revalidate", run, *server)
    assert looked.exit_code == 1
    run_command(last_command(looked), codes=LOOKED)


@pytest.mark.slow
@situation("as_in_run: validate_anew()")
def test_a_changed_copy_of_the_task_is_validated_anew(run):
    """Its replies can't become a baseline, as the texts of the run are others now."""
    rewritten(run / "task" / "task.yaml", "Toxic", "Rude")
    server = RunFolder.open(run).location.server
    run_command(last_command(invoke("revalidate", run, *server)), codes=LOOKED)


@pytest.mark.slow
@situation("changed_judges_file: validate_anew()")
def test_a_changed_judges_file_is_validated_anew(place, stub):
    """The command names the file in which the judge changed."""
    judge = {"model": "far", "base_url": stub.url(say="A"), "samples": 2}
    file = Path("my judges.yaml")
    file.write_text(json.dumps({"judges": {"far": judge}}), "utf-8")
    words = ("--task", "./a task", "--judges", "far", "--judges-file", file)
    invoke("run", *words, "--elicitation", "forced_choice", "--out", "all runs")
    [run] = Path("all runs").iterdir()
    assert invoke("revalidate", run, "--judges-file", file).exit_code == 0
    params = {"params": {"temperature": 0.7}}
    file.write_text(json.dumps({"judges": {"far": judge | params}}), "utf-8")
    run_command(last_command(invoke("revalidate", run, "--judges-file", file)), codes=LOOKED)


@pytest.mark.slow
@situation("check_acceptable: look_command()")
def test_a_worse_judge_is_accepted_as_the_refusal_says(place, stub, tmp_path):
    """The command names the judges file with which the baseline was to be accepted."""
    schedule = Schedule(tmp_path / "one", stub, {"judge": replies(60, majority)})
    stub.set_table("judge", replies(60, flawed))
    schedule.look(code=None)
    schedule.look(code=None)
    file = ("--judges-file", schedule.folder / "judges.yaml")
    refused = invoke("revalidate", "rebase", 2, schedule.run, *file)
    assert refused.exit_code != 0
    run_command(last_command(refused))


@pytest.mark.slow
@situation(
    "_of_another_version: command_to_watch()",
    "_of_another_version: harness revalidate export RUN {} # RUN",
)
def test_a_baseline_of_another_version_is_made_anew(run):
    """From the run, whose history is moved aside; or from an export of another run."""
    server = RunFolder.open(run).location.server
    assert invoke("revalidate", run, *server).exit_code == 0
    assert invoke("revalidate", "export", run, "exported").exit_code == 0
    for folder in (run, Path("exported")):
        (folder / "history.jsonl").write_bytes(with_checksum(b'{"kind":"look"}'))
    [command] = re.findall(r"mkdir [^\n]*", str(invoke("history", run).exception))
    *moves, look = command.split(" && ")
    for move in moves:
        subprocess.run(shlex.split(move), check=True)
    run_command(look)
    export = last_command(invoke("history", "exported"))
    run_command(export.replace("RUN", f"'{run}'", 1))


PACKAGE = ("--package", "git+https://localhost/harness")


@situation("_check_words: harness revalidate export {} baselines/{}")
def test_a_run_outside_the_repository_is_exported_as_the_refusal_says(run):
    """And the export is scheduled."""
    words = ("--emit", "github", *PACKAGE)
    refused = invoke("revalidate", "schedule", run.absolute(), *words)
    run_command(last_command(refused))
    [exported] = Path("baselines").iterdir()
    server = RunFolder.open(run).location.server
    assert invoke("revalidate", "schedule", exported, *words, *server).exit_code == 0


@situation(
    "github.yml.jinja: harness revalidate export RUN '$BASELINE'",
    "gitlab.yml.jinja: harness revalidate export RUN '$BASELINE'",
)
@pytest.mark.parametrize("target", ["github", "gitlab"])
def test_a_pipeline_without_its_baseline_says_how_it_is_made(run, target):
    """Where the run is, and into the folder that the pipeline reads."""
    assert invoke("revalidate", "export", run, "my baseline").exit_code == 0
    emitted = invoke("revalidate", "schedule", "my baseline", "--emit", target, *PACKAGE).stdout
    shutil.rmtree("my baseline")
    [said] = re.findall(r'echo "[^"]*revalidate export[^"]*"', emitted)
    there = {"BASELINE": "my baseline"}
    echoed = subprocess.check_output(["bash", "-c", said], env=there, text=True)
    run_command(commands_in(echoed)[0].replace("RUN", f"'{run}'"))
