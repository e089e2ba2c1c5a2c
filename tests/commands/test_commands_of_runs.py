"""Commands that runs print go on with the run, as they are printed."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import time
from pathlib import Path

import pytest
from support.command_texts import commands_in, open_page, run_command, situation
from support.look_schedules import majority, replies
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.app import run as run_module
from harness.errors import HarnessError
from harness.files.user_folders import cache_folder
from harness.judging.storage.held_requests import HeldRequests, Holding
from harness.report.next_steps import next_steps
from harness.runs.run_folder import FolderUnwritable, RunFolder

NEVER_ASKED = frozenset({0, 3})  # the run is finished, or its judge still fails


def run_of(*words, task="./a task"):
    """Start a run; return its folder and what it printed."""
    asked = invoke("run", "--task", task, "--out", "all runs", *words)
    [run] = Path("all runs").iterdir()
    return run, asked


def changed(run, **fields):
    """Rewrite fields of a run's manifest, as if it had ended otherwise."""
    manifest = run / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text("utf-8")) | fields), "utf-8")


def cut(run, n_lines):
    """Keep the first lines of a run's log."""
    log = run / "verdicts.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:n_lines]))


def write_judges(stub, name="my judges.yaml", **judges):
    """Write a file of judges; each is what the stub does, and more fields."""
    specs = {
        judge: {"model": judge, "samples": 1, "base_url": stub.url(**parts)} | fields
        for judge, (parts, fields) in judges.items()
    }
    Path(name).write_text(json.dumps({"judges": specs}), "utf-8")


def last_command(text, word):
    """Return the last command of a text that has a word."""
    return [command for command in commands_in(text) if word in command][-1]


@situation("ask: resume_command()")
def test_cost_limit_is_raised_as_the_message_says(place, stub):
    """And the run is then finished."""
    write_judges(stub, far=({"say": "A"}, {"price": {"input": 1, "output": 1}}))
    _, asked = run_of("--judges", "far", "--judges-file", "my judges.yaml", "--max-cost", 0.006)
    assert asked.exit_code == 4
    command = last_command(asked.stderr, "harness resume")
    while (done := run_command(command, codes=NEVER_ASKED | {4})).exit_code == 4:
        command = last_command(done.stderr, "harness resume")


@situation("print_folder: harness view {}")
def test_a_run_says_how_to_see_all_runs(place, stub):
    """The line "Report:" had no hint how to open it. The folder's name needs quotes."""
    write_judges(stub, far=({"say": "A"}, {}))
    _, asked = run_of("--judges", "far", "--judges-file", "my judges.yaml")
    command = last_command(asked.stdout, "harness view")
    assert command == "harness view --out 'all runs'"
    open_page(command)


@situation("_print_card: harness report {} # shows this card")
@pytest.mark.slow
def test_the_report_of_a_run_shows_its_checks_as_the_card_says(place, stub):
    """The folder's name needs quotes."""
    write_judges(stub, far=({"say": "A"}, {}))
    run, _ = run_of("--judges", "far", "--judges-file", "my judges.yaml")
    words = ("check", "far", "--run", run, "--judges-file", "my judges.yaml", "--limit", 2)
    run_command(last_command(invoke(*words).stdout, "harness report"))
    assert "far on 2 items" in (run / "report.html").read_text()


@pytest.mark.slow
@situation(
    "next_step: command_to_resume()",
    "compared_source: command_to_resume()",
)
@pytest.mark.parametrize("place_of_judges", ["file", "address"])
def test_a_race_that_was_stopped_goes_on_as_its_result_says(place, stub, place_of_judges):
    """It printed `harness resume RUN`, literally, and later a resume without the server."""
    write_judges(stub, a=({"say": "A"}, {}), b=({"say": "B"}, {}))
    server = {"file": ("--judges-file", "my judges.yaml"), "address": ("--base-url", stub.url())}
    run, _ = run_of("--race", "--judges", "a,b", *server[place_of_judges])
    for words in (("report", run, run), ("validate", run)):
        changed(run, state="stopped", exit_code=130)
        cut(run, 9)
        said = invoke(*words)
        command = last_command(f"{said.stdout}\n{said.exception or ''}", "harness resume")
        run_command(command, codes=NEVER_ASKED)
        assert json.loads((run / "manifest.json").read_text())["state"] == "done"


@situation("_answering: command_to_resume()")
@pytest.mark.slow
def test_judges_that_never_answered_are_run_again(place, stub):
    """Its server failed: every request is sent again."""
    run, asked = run_of("--judges", "far", "--base-url", stub.url(fault="400"))
    assert asked.exit_code == 3
    n_before = stub.stats()["requests"]
    run_command(
        last_command(invoke("validate", run).stdout, "harness resume"), codes=frozenset({3})
    )
    assert stub.stats()["requests"] > n_before


@pytest.mark.slow
@situation("_resuming: command_to_resume()")
def test_missing_replies_are_asked_for(place, stub):
    """Of a run that lost most of its replies."""
    run, _ = run_of("--judges", "far", "--base-url", stub.url(say="A"), "--samples", 1)
    changed(run, state="stopped", exit_code=130)
    cut(run, 4)
    text = invoke("validate", run).stdout
    assert "Request the missing replies" in text
    run_command(last_command(text, "harness resume"), codes=NEVER_ASKED)
    assert "missing" not in invoke("validate", run).stdout


@pytest.fixture
def good_run(place, stub):
    """A run with a judge that agrees with the raters, and a task of which each pair is rated."""
    shutil.rmtree("a task")
    make_task_folder(Path("a task"), 60, response_sets=False)
    stub.set_table("good", replies(60, majority))
    write_judges(stub, good=({"table": "good"}, {}), bad=({"say": "A"}, {}))
    words = ("--judges", "good,bad", "--judges-file", "my judges.yaml")
    run, asked = run_of(*words, "--elicitation", "forced_choice")
    assert asked.exit_code == 0, asked.output
    return run


@pytest.mark.slow
@situation("_using: command_to_watch()", "WATCH_IT: harness revalidate schedule --help")
def test_a_recommended_judge_is_watched_as_its_result_says(good_run):
    """`harness revalidate schedule` was printed without arguments, and the look without its run."""
    text = invoke("validate", good_run).stdout
    for command in commands_in(text):
        if "annotate" not in command:
            run_command(command)


@situation("_searching: command_to_improve()")
@pytest.mark.slow
def test_a_judge_that_is_not_good_enough_is_improved_as_its_result_says(place, stub):
    """The way out was "try another prompt", and a search for one stood beside it unnamed."""
    run, _ = run_of("--judges", "far", "--base-url", stub.url(say="A"), "--samples", 1)
    text = invoke("validate", run).stdout
    assert "Don't use far." in text
    command = last_command(text, "harness improve")
    assert shlex.split(command)[2:5] == [str(run), "--judge", "far"]
    run_command(f"{command} --dry-run")


@pytest.mark.slow
@situation("_rating_command: harness annotate {} --rater NAME --elicitation paired")
def test_ratings_in_both_forms_are_collected_as_the_result_says(good_run):
    """Only the name of the task was printed, which is found in few folders."""
    text = invoke("validate", good_run, "--details").stdout
    [command] = [c for c in commands_in(text) if "annotate" in c]
    assert shlex.split(command)[2] == "./a task"
    open_page(command.replace("NAME", "ann"))
    assert "annotate" not in " ".join(next_steps(harness.validate("toxicity")))


@pytest.mark.slow
@situation("model_change: command_to_watch()")
def test_a_new_model_name_is_looked_into_as_the_run_says(place, stub):
    """The line names the earlier run, at which a look is taken."""
    server = ("--judges", "far", "--no-store", "--samples", 2)
    run, _ = run_of(*server, "--base-url", stub.url(say="A", patch='{"top": {"model": "far-1"}}'))
    later = invoke(
        *("run", "--task", "./a task", "--out", "all runs", *server),
        *("--base-url", stub.url(say="A", patch='{"top": {"model": "far-2"}}')),
    )
    command = last_command(later.stderr, "revalidate")
    assert str(run) in command
    run_command(command, codes=frozenset({0, 1}))


@situation("source_of: command_to_resume()", "_check_probe: command_to_resume()")
def test_a_probe_is_resumed_as_other_commands_say(place, stub):
    """With the command that `validate` and the API name."""
    words = ("--task", "./a task", "--judges", "far", "--base-url", stub.url(say="A"))
    assert invoke("lab", "probe", "verbosity", *words, "--limit", 2, "--out", "runs").exit_code == 0
    [probe] = Path("runs").iterdir()
    run_command(last_command(str(invoke("validate", probe).exception), "harness resume"))
    with pytest.raises(HarnessError) as refused:
        harness.run(resume=probe)
    run_command(last_command(str(refused.value), "harness resume"))


@pytest.mark.slow
@situation("_on_holdout: harness confirm {} --judge {} {}")
def test_held_out_items_are_confirmed_as_the_note_says(place, stub):
    """It named the run without its folder, and printed `--judge NAME`."""
    words = ("--judges", "far", "--base-url", stub.url(say="A"))
    _, asked = run_of(*words, "--holdout", 0.3)
    done = run_command(last_command(asked.stdout, "confirm"), codes=NEVER_ASKED)
    assert "confirm" in done.output.lower()


@pytest.mark.slow
@situation("_search: harness improve {} --judge {} {}")
def test_a_search_that_stopped_goes_on_as_it_says(place, stub):
    """It stops at the limit of cost, which the command raises."""
    price = {"price": {"input": 1000.0, "output": 1000.0}}
    write_judges(stub, far=({"say": "A"}, price))
    words = ("--judge", "far", "--judges-file", "my judges.yaml", "--rounds", 1, "--candidates", 1)
    stopped = invoke("improve", "--task", "./a task", *words, "--max-cost", 2)
    assert stopped.exit_code == 4, stopped.stdout
    done = run_command(last_command(stopped.stdout, "harness improve"), codes={0, 4})
    assert "development items" in done.output


@situation("study: harness report {} {}")
@pytest.mark.slow
def test_two_runs_of_a_task_are_compared_as_the_study_says(good_run, stub):
    """`harness report` was printed without the runs."""
    second = shutil.copytree(good_run, f"{good_run}b")
    command = last_command(str(invoke("lab", "study", good_run, second).exception), "report")
    assert "good" in run_command(command).stdout


@pytest.mark.slow
@situation("find: resume_command()", "unwritable: resume_command()")
def test_a_run_is_resumed_with_the_server_that_it_had(place, stub):
    """As a full disk says, and a run that waits for the batches of another."""
    run, _ = run_of("--judges", "far", "--base-url", stub.url(say="A"), "--limit", 2)
    changed(run, state="stopped", exit_code=130)
    cut(run, 2)
    folder = RunFolder.open(run)
    with folder.open_log() as log:
        full = str(log.unwritable(OSError(28, "No space left on device")))
    run_command(last_command(full, "harness resume"), codes=NEVER_ASKED)
    changed(run, state="stopped", exit_code=130)
    cut(run, 2)
    held = cache_folder() / "held"
    batch = Holding("far", time.time() + 60, frozenset({"x"}))
    HeldRequests(held, print).hold(run, [batch], server=folder.location.server)
    [command] = HeldRequests(held, print).find(["x"]).values()
    run_command(command, codes=NEVER_ASKED)


@pytest.mark.slow
@situation("_selftest: harness lab selftest --run {}")
def test_a_damaged_self_test_is_made_again_as_the_report_says(good_run):
    """The report of a run whose `selftest.json` is no result."""
    (good_run / "selftest.json").write_text("{}")
    command = last_command(str(invoke("report", good_run).exception), "selftest")
    run_command(command, more=["--data-sets", "2", "--processes", "1"], codes=frozenset({0, 1}))
    assert invoke("report", good_run).exit_code == 0


@situation("execute: harness validate {}", "__init__: harness validate {}")
def test_results_are_computed_later_as_the_message_says(place, monkeypatch):
    """After Ctrl-C while they were computed, and when the disk had no room for them."""
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "finish", interrupted)
        run, asked = run_of("--judges", "random")
    assert not (run / "metrics.json").exists()
    run_command(last_command(asked.stderr, "validate"), codes=NEVER_ASKED)
    assert (run / "metrics.json").exists()
    full = FolderUnwritable(run, "report.html", OSError(28, "No space left on device"))
    run_command(last_command(str(full), "validate"), codes=NEVER_ASKED)


def interrupted(*_, **__):
    """End as Ctrl-C does."""
    raise KeyboardInterrupt


@situation("open: harness report --list")
def test_number_in_place_of_a_run_leads_to_the_list(place):
    """`harness report 1 2` was answered with `runs/1: not a run folder` and no way on."""
    [command] = commands_in(str(invoke("report", "1", "2").exception))
    run_command(command)


@situation(
    "find_run: harness run --task toxicity",
    "print_runs: harness run --task toxicity",
    "FIRST_STEPS: harness run --task toxicity",
    "EXAMPLES: harness lab probe {name} --task {task}",
    "EXAMPLES: harness lab probe {name} --task {task} --judges gpt,claude --dry-run",
)
def test_first_steps_run(place):
    """Of a folder without runs, and of the help."""
    texts = [str(invoke("history").exception), invoke("report", "--list").stdout]
    texts += [invoke("--help").stdout, invoke("lab", "probe", "verbosity", "--help").stdout]
    commands = [re.split(r"   |\.$", c)[0] for text in texts for c in commands_in(text)]
    steps = [c for c in commands if "toxicity" in c]
    assert len(steps) == 5
    for step in steps:
        run_command(step, more=[] if "--dry-run" in step else ["--dry-run"])
