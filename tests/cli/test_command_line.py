"""What every verb has in common: help with examples, one name per thing, JSON, width, colour."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
import typer
from support.doc_pages import run_command
from support.each_case import for_each
from support.task_folders import make_task_folder
from typer.testing import CliRunner

import harness
from harness.cli import app
from harness.cli.progress import watch


def commands(group=None, words=()):
    group = group or typer.main.get_command(app)
    inner = getattr(group, "commands", {})
    if not inner:
        yield words, group
    for name, command in inner.items():
        yield from commands(command, (*words, name))


COMMANDS = dict(commands())
TABLELESS = {
    ("lab", "schema"),
    ("report",),
    *(("annotate", name) for name in ("rate", "merge", "export")),
    ("view",),
    ("cache", "clear"),
    ("cache", "copy"),
    ("revalidate", "export"),
    ("revalidate", "schedule"),
    ("curate", "download"),
}  # they print no table
SAME = {  # one name for one thing: what a help text must say wherever the option stands
    "--task": "task",
    "--judges": "judge",
    "--json": "JSON",
    "--seed": "random",
    "--tau": "raters",
    "--limit": "N items",
    "--out": "run folder",
    "--quiet": "only the result",
    "--dry-run": "",
    "--judges-file": "judges.yaml",
    "--base-url": "server",
    "--key-env": "key",
    "--cache": "cache",
    "--max-cost": "USD",
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@for_each(COMMANDS, " ".join)
def test_help_has_examples_and_fits(words):
    """Each help page shows commands to copy, in at most 80 columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        shown = CliRunner().invoke(app, [*words, "--help"], prog_name="harness").output
    assert "Example" in shown
    assert f"  harness {' '.join(words)}" in shown.partition("Example")[2]
    assert max(map(len, shown.splitlines())) <= 80


def test_help_of_a_group_has_examples():
    """The verb that holds others shows how one of them is used."""
    assert (
        "harness lab probe injection --task"
        in CliRunner().invoke(app, ["lab", "probe", "--help"]).output
    )


@pytest.mark.parametrize("group", ["curate", "plan", "lab"])
def test_a_group_alone_was_a_usage_error(group):
    """`harness curate` printed its help squeezed into one line of an error, with exit code 2."""
    alone, asked = (CliRunner().invoke(app, [group, *more]) for more in ((), ("--help",)))
    assert (alone.exit_code, alone.output) == (0, asked.output)
    assert "Commands:" in alone.output


def test_examples_name_options_that_exist():
    """No example of a help page has an option that its command lacks."""
    for words, command in COMMANDS.items():
        existing = {
            name for param in command.params for name in (*param.opts, *param.secondary_opts)
        }
        for line in (command.help or "").splitlines():
            if line.strip().startswith(f"harness {' '.join(words)}"):
                used = re.findall(r"(?<=\s)--?[a-z][a-z-]*", line)
                assert set(used) <= existing, line


def test_options_mean_the_same_everywhere():
    """An option that several verbs have is about the same thing in each."""
    for words, command in COMMANDS.items():
        for param in command.params:
            for name in set(param.opts) & SAME.keys():
                about = SAME[name].casefold()
                assert about in (param.help or "").casefold(), f"{words} {name}: {param.help}"


@for_each([words for words in COMMANDS if words not in TABLELESS], " ".join)
def test_commands_that_print_a_table_also_print_json(words):
    """Every verb that prints a table prints it as JSON, too."""
    names = {name for param in COMMANDS[words].params for name in param.opts}
    assert "--json" in names


@pytest.mark.parametrize("command", ["tasks", "judges", "report --list", "doctor", "tasks --json"])
def test_lists_have_no_colour_and_no_trailing_spaces(place, command):
    """Into a pipe or a file goes plain text, without colour."""
    _, out, err = run_command(f"harness {command}", place)
    assert "\x1b" not in out + err
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize("command", ["tasks", "report --list", "validate --task diagnoses"])
def test_tables_fit_80_columns(place, command, monkeypatch):
    """Texts are wrapped between words, and not cut."""
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run_command(f"harness {command}", place)
    assert out
    assert max(map(len, out.splitlines())) <= 80


def test_long_names_of_tasks_are_never_broken(place, monkeypatch):
    """A name is there to be copied, even where the table becomes too wide."""
    monkeypatch.setenv("COLUMNS", "80")
    name = "a-task-with-a-name-that-is-rather-long-" + "x" * 20
    make_task_folder(place / "datasets" / name)
    _, out, _ = run_command("harness tasks", place)
    assert f"\n{name}  binary" in out


def test_long_names_of_judges_leave_numbers_whole(place):
    """Names, intervals and counts stay whole."""
    make_task_folder(place / "task", 40, response_sets=False)
    names = ("mistral-7b-instruct-v0.3-with-a-suffix", "gpt-4o-mini")
    rows = "".join(f"i{i},{name},{'AB'[i % 2]}\n" for name in names for i in range(40))
    (place / "v.csv").write_text(f"item,judge,value\n{rows}", encoding="utf-8")
    _, out, _ = run_command("harness validate --task task --verdicts v.csv --details", place)
    table = out[: out.index("human rater")]
    assert len(re.findall(r"\d\.\d{3} \[-?\d\.\d{3}, -?\d\.\d{3}\] .* 100\.0%", table)) == 2
    assert out.count("  gpt-4o-mini  ") == 2
    assert out.count("  40       40     0      0       0       0      0\n") == 2
    assert out.count("  mistral-7b-instruct-v0.3-with-a-suffix  ") == 2


def test_the_version_equals_the_packages(place):
    """`harness --version` prints one line."""
    assert run_command("harness --version", place) == (0, f"harness {harness.__version__}\n", "")


def test_metrics_are_listed_with_their_reading_and_paper(place):
    """Every metric has a name to show, a direction and a paper; bounds are numbers."""
    from harness.stats.metrics.registry import METRICS

    rows = json.loads(run_command("harness lab metrics --json", place)[1])
    names = [row["metric"] for row in rows if row["for"] != "raters alone"]
    assert len(set(names)) == len(names)
    assert {metric.name for metric in METRICS} < set(names)
    assert all(row["display name"] and row["paper"] for row in rows)
    assert {row["better"] for row in rows} == {"higher", "lower", "zero"}
    by_name = {row["metric"]: row for row in rows}
    assert (by_name["hit_rate(h/h)"]["low"], by_name["hit_rate(h/h)"]["high"]) == (0, 1)
    assert by_name["kl(s/s, human->judge)"]["high"] is None
    code, out, _ = run_command("harness lab metrics", place)
    assert code == 0
    assert "js_divergence(s/s)" in out


def test_without_arguments_it_says_what_to_type(place):
    """`harness` is no error: it shows the verbs and first commands."""
    code, out, err = run_command("harness", place)
    assert (code, err) == (0, "")
    for command in (
        "harness run --task toxicity",
        "harness curate import ratings.csv --as mine",
        "harness --help-all",
    ):
        assert command in out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("run", "pass a task"),
        ("run toxicity", "Got unexpected extra argument"),
        ("run --task", "requires an argument"),
        ("nonsense", "nonsense"),
        ("lab schema nothing", "'metrics', 'verdicts', 'task'"),
        ("curate new", "Missing argument"),
        ("curate new a/b/../..", "is not a task name"),
        ("run --nonsense", "--nonsense"),
        ("validate --seed x --task toxicity", "--seed"),
        ("tasks extra", "extra"),
    ],
)
def test_wrong_words_are_one_line(place, command, words):
    """Exit 2, one line, what was wrong and where to look."""
    code, out, err = run_command(f"harness {command}", place)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert "--help" in err or "Use letters" in err


def test_unreadable_runs_are_counted(place):
    """A run folder that cannot be read is told, not passed over."""
    run_command("harness run --task toxicity --judges random --limit 3 --quiet", place)
    for name in ("broken", "older"):
        (place / "runs" / name).mkdir()
        (place / "runs" / name / "manifest.json").write_text("{", encoding="utf-8")
    code, out, err = run_command("harness report --list", place)
    assert code == 0
    assert "toxicity-" in out
    assert "2 folders could not be read, e.g. " in err
    assert len(json.loads(run_command("harness report --list --json", place)[1])) == 1
    code, _, err = run_command("harness resume", place)
    assert code == 2
    assert "no unfinished run to resume" in err
    assert "2 folders could not be read, e.g. " in err


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(place):
    """`harness judges | head -1` prints one line and no traceback."""
    shell = f"{sys.executable} -m harness lab schema metrics | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_full_disk_under_the_output_is_one_line(place):
    """`harness lab schema metrics > /dev/full` says what happened, without a traceback."""
    shell = f"{sys.executable} -m harness lab schema metrics > /dev/full"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "harness: output: No space left on device.\n")


@pytest.mark.slow
def test_closed_standard_streams_are_not_taken_by_files_of_ours(place):
    """As under cron or `>&- 2>&-`: a file there would be written to. The exit code still tells."""
    code = (
        "import os, sys; from harness import cli\n"
        "sys.argv = ['harness', 'validate', '--task', 'nowhere']\n"
        "try:\n    cli.main()\nfinally:\n"
        "    held = [os.readlink(f'/proc/self/fd/{fd}') for fd in range(3)]\n"
        "    held == ['/dev/null'] * 3 or os._exit(9)"
    )
    shell = f'{sys.executable} -c "$CODE" <&- >&- 2>&-'
    environment = os.environ | {"CODE": code}
    assert subprocess.run(["bash", "-c", shell], check=False, env=environment).returncode == 2


def test_nobody_reading_the_progress_ends_no_run(monkeypatch):
    """`harness run 2>&1 >out | head -1`: what was paid for is received all the same."""
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        os.write(writing, b"nobody reads this")
    with os.fdopen(writing, "w", closefd=False) as gone:
        monkeypatch.setattr(sys, "stderr", gone)
        watch({"j": 1}, quiet=False).ended("j", "rate_limited")
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)  # for what is still held


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [("val", "validate"), ("res", "resume"), ("validate --task tox", "toxicity")],
)
def test_verbs_and_tasks_are_completed(typed, expected):
    """The shell completion that typer installs answers with the verbs and the tasks."""
    asked = {
        "_HARNESS_COMPLETE": "complete_bash",
        "COMP_WORDS": f"harness {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    code = "from harness.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert expected in done.stdout.split()


def test_verdicts_on_items_that_were_not_chosen_are_counted(place):
    """Per judge; one that has no other verdicts does not vanish without a word."""
    from harness.options.concerns import Validating
    from harness.runs.sources import source_of_verdicts

    make_task_folder(place / "task")
    rows = ["i0,near,A", "i1,near,B", "i2,near,B", "i2,far,A"]
    (place / "v.csv").write_text("\n".join(["item,judge,value", *rows]), encoding="utf-8")
    task, verdicts = str(place / "task"), place / "v.csv"
    source = source_of_verdicts(task, verdicts, Validating(limit=1))
    assert source.notes == (
        "3 verdicts on items that were not selected are left out: near 2, far 1 (all its verdicts)",
    )
    assert [judge.name for judge in source.judges] == ["near"]
    assert source_of_verdicts(task, verdicts).notes == ()


def test_notebook_shows_a_table(place):
    """A validation shows its ranking in a notebook, and what it shows runs nothing."""
    from harness.app.run import validate_verdicts

    make_task_folder(place / "task", response_sets=False)
    name = "<script>alert(1)</script>"
    (place / "v.csv").write_text(f"item,judge,value\ni0,{name},A\ni1,{name},B\n", encoding="utf-8")
    shown = validate_verdicts(str(place / "task"), place / "v.csv")._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "difference in answer shares" in shown
    assert "fleiss_kappa" in validate_verdicts("diagnoses", None)._repr_html_()
