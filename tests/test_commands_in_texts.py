"""Commands in messages run as they are printed: options exist, and names are quoted."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.report.recommendation import next_steps

HARNESS = Path(harness.__file__).resolve().parent
COMMAND = re.compile(r"\bharness (?=[a-z]+(?:-[a-z]+)* |$)(?:[^`]*)")
QUOTING = {"quote", "join", "argument", "resume_command", "words", "validate_anew"}
PLAIN = {  # names, numbers and words that are made of safe characters, or are quoted elsewhere
    *("explained", "labels", "TABLE"),
    *("_escaped", "_on_labels", "slug", "SCHEMA_VERSION", "METRICS_SCHEMA"),
    *("number", "n_items", "changed_by", "kind", "budget", "task_name", "plan", "folder_name"),
    *(
        "folder",
        "asked",
        "verdicts",
        "items",
        "name",
        "always",
        "new",
        "following",
        "resume",
        "task",
    ),
}


def values_in_commands():
    """Yield each value that a text puts into a command, with its place."""
    for path in sorted(HARNESS.rglob("*.py")):
        for text in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(text, ast.JoinedStr):
                continue
            before = ""
            for part in text.values:
                if isinstance(part, ast.Constant):
                    before += str(part.value)
                    continue
                last = re.split(r"[`\n]", before)[-1] if before.count("`") % 2 == 0 else before
                if re.search(r"harness [a-z-]+[^`.;]*$", last.rpartition("`")[2]):
                    yield f"{path.name}:{part.lineno}", part.value
                before += "{}"


def is_quoted(value):
    """Whether a value is quoted for a shell, or is made of safe characters."""
    call = getattr(value, "func", None)
    name = getattr(call, "id", getattr(call, "attr", "")) or getattr(
        value, "id", getattr(value, "attr", "")
    )
    return name in QUOTING | PLAIN or isinstance(value, ast.BinOp | ast.Subscript)


def test_what_stands_in_a_command_is_quoted():
    """A path with a space was printed bare in a dozen messages, so that its command failed."""
    bare = [f"{place}: {ast.unparse(v)}" for place, v in values_in_commands() if not is_quoted(v)]
    assert not bare, "\n".join(bare)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder whose name, and those in it, need quotes."""
    folder = tmp_path / "my runs & tasks"
    make_task_folder(folder / "a task", 24)
    monkeypatch.chdir(folder)
    return folder


def started(command):
    """Run a command as a shell does, after its first word."""
    assert command.startswith("harness ")
    words = [sys.executable, "-m", *shlex.split(command)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def commands_in(text):
    """Return the commands of a text: between backticks, or at the end of a line."""
    text = re.sub(r"\n(?!\n)", " ", text)
    return re.findall(r"`(harness [^`]+)`", text) or re.findall(r"(harness [a-z][^\n]*)", text)


def run_of(*words):
    asked = invoke("run", "--task", "./a task", "--out", "all runs", *words)
    [run] = Path("all runs").iterdir()
    return run, asked


def test_a_race_that_was_stopped_names_its_run(place, stub):
    """It printed `harness run --resume RUN`, literally."""
    server = ("--base-url", stub.url(say="A"))
    run, _ = run_of("--race", "--judges", "a,b", *server)
    manifest, log = run / "manifest.json", run / "verdicts.jsonl"
    fields = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(fields | {"state": "stopped", "exit_code": 130}))
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:9]))
    text = invoke("validate", run).stdout
    [command] = [c for c in commands_in(text) if "--resume" in c]
    assert shlex.split(command) == ["harness", "run", "--resume", str(run)]
    done = started(shlex.join([*shlex.split(command), *server]))
    assert done.returncode == 0, done.stderr
    assert json.loads(manifest.read_text())["exit_code"] == 0


def test_a_run_that_is_not_finished_is_finished_as_its_message_says(place):
    """`harness revalidate` of an unfinished run prints the command that finishes it."""
    run, _ = run_of("--judges", "random")
    manifest = run / "manifest.json"
    fields = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(fields | {"state": "running", "exit_code": None}))
    refused = invoke("revalidate", run)
    [command] = commands_in(str(refused.exception))
    assert started(command).returncode == 0
    assert json.loads(manifest.read_text())["exit_code"] == 0


def test_a_history_that_was_never_begun_is_begun_as_its_message_says(place):
    """A run that was never re-validated prints the command of its first look."""
    run, _ = run_of("--judges", "random")
    [command] = commands_in(str(invoke("history", run).exception))
    assert started(command).returncode == 0
    assert invoke("history", run).exit_code == 0


def test_the_next_commands_of_an_import_run(place):
    """`curate import` ends with commands on the task that it made."""
    rows = "".join(f"i{i},text {i},{'yes' if i % 3 else 'no'},yes\n" for i in range(30))
    Path("my table.csv").write_text(f"id,text,ann,bob\n{rows}")
    words = ("--raters", "ann,bob", "--property", "whether it is right")
    made = invoke("curate", "import", "my table.csv", "--as", "new", *words)
    assert made.exit_code == 0, (made.output, made.exception)
    commands = re.findall(r"^  (harness [^\n]*)$", made.stdout, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        done = started(command)
        assert done.returncode == 0, (command, done.stderr)


def done_in_process(command):
    """Run a command in this process, as a shell splits it; return its result."""
    words = shlex.split(command, comments=True)
    assert words[0] == "harness"
    return invoke(*words[1:])


def check_runs(command):
    """Check that a command ends well, or with something wrong that isn't the command."""
    done = done_in_process(command)
    code = int(getattr(done.exception, "exit_code", done.exit_code))
    assert code in {0, 1, 3}, (command, done.output, done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), (command, done.output)
    return done


def test_commands_of_an_audit_run(place):
    """Those with a placeholder explain it; `--as 'a task-2'` isn't a name that a task may have."""
    commands = re.findall(
        r"^Run: (.*)$", invoke("curate", "audit", "./a task").stdout, re.MULTILINE
    )
    assert len(commands) == 4
    for command in commands:
        placeholders = re.findall(r" ([A-Z]{4,})", command.partition("#")[0])
        assert all(f"{name}: " in command.partition("#")[2] for name in placeholders), command
        verdicts = Path("verdicts.csv")
        judges = ("far", "near") if command.endswith("two judges") else ("far",)
        rows = "".join(f"i{i},{j},{'AB'[i % 2]}\n" for j in judges for i in range(24))
        verdicts.write_text(f"item,judge,value\n{rows}", "utf-8")
        check_runs(command.replace(" FILE", f" {verdicts}"))
    assert Path("a-task-2", "task.yaml").exists()


def test_held_out_items_are_confirmed_as_the_note_says(place):
    """It named the run without its folder, and printed `--judge NAME`."""
    _, asked = run_of("--judges", "random", "--holdout", 0.3)
    [command] = re.findall(r"harness confirm [^\n]* --judge \w+", asked.stdout.replace("\n", " "))
    assert "confirm" in check_runs(command).output.lower()


def test_cost_limit_is_raised_as_the_message_says(place, stub):
    """And the run is then finished."""
    judge = {"kind": "endpoint", "model": "far", "base_url": stub.url(say="A"), "samples": 1}
    judges = {"far": judge | {"price": {"input": 1, "output": 1}}}
    Path("my judges.yaml").write_text(json.dumps({"judges": judges}), "utf-8")
    _, asked = run_of("--judges", "far", "--judges-file", "my judges.yaml", "--max-cost", 0.004)
    assert asked.exit_code == 4
    [command] = re.findall(r"Raise it and resume: (harness .*)", asked.stderr)
    while (done := done_in_process(command)).exit_code == 4:
        [command] = re.findall(r"Raise it and resume: (harness .*)", done.stderr)
    assert done.exit_code in {0, 3}, (command, done.output, done.exception)


def test_first_steps_run(place):
    """Of a folder without runs, and of a task that was made."""
    [command] = commands_in(str(invoke("history").exception))
    check_runs(f"{command} --dry-run")
    made = invoke("new-task", "new")
    [command] = re.findall(r"^  (harness run [^\n]*)$", made.stdout, re.MULTILINE)
    check_runs(f"{command} --dry-run")


def test_ratings_without_verdicts_lead_to_a_run(place):
    """NAME is one that the second command lists."""
    [step] = next_steps(harness.validate("./a task"))
    run, listing = commands_in(step)
    assert "random" in done_in_process(listing).stdout
    Path("a task").rename("small")  # the folder has the name of its task
    check_runs(f"{run.replace('NAME', 'random')} --dry-run")


def test_a_changed_task_is_validated_anew_as_the_look_says(place):
    """The printed `harness run` has the task, the judges and the elicitation of the run."""
    run, _ = run_of("--judges", "random", "--elicitation", "forced_choice")
    assert invoke("revalidate", run).exit_code == 0
    described = Path("a task", "task.yaml")
    described.write_text(described.read_text("utf-8").replace("Toxic", "Rude"), "utf-8")
    looked = invoke("revalidate", run)
    assert looked.exit_code == 1
    [command] = re.findall(r"^harness run [^\n]*$", looked.stdout, re.MULTILINE)
    check_runs(command)
    accepted = invoke("revalidate", run, "--accept", 1)
    assert accepted.exit_code in {0, 1}
