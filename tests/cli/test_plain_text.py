"""Terminals, messages and JSON: control characters of others are shown and never sent."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from support.processes import call_harness, invoke

from harness import cli
from harness.cli.output import echo, echo_json
from harness.cli.progress import Bars, Lines
from harness.errors import ExitCode, HarnessError
from harness.files.plain_text import escaped_json, visible
from harness.files.user_folders import state_folder

NASTY = "a\x1b]0;title\x07\x9b31m\u202eb\x7f\ud800\r"
SHOWN = "a␛]0;title␇\ufffd31m\ufffdb␡\ufffd␍"


def test_control_characters_are_shown_as_pictures(capsys):
    """C0, C1, marks of direction and halves of surrogate pairs; other scripts stay as they are."""
    assert visible(NASTY) == SHOWN
    assert visible("é 判定 👩‍🔬 x") == "é 判定 👩‍🔬 x"
    echo(f"{NASTY}\n{NASTY}", err=True)
    assert capsys.readouterr().err == f"{SHOWN}\n{SHOWN}\n"


def test_json_escapes_control_characters_and_keeps_its_value(capsys):
    """What is read back is what was written."""
    text = json.dumps({"name": NASTY, "other": "判定"}, ensure_ascii=False, indent=1)
    assert json.loads(escaped_json(text)) == json.loads(text)
    assert escaped_json(text).count("判定") == 1
    echo_json(text)
    assert not {*"\x1b\x07\x9b\u202e\x7f"} & {*capsys.readouterr().out}


def test_commands_print_through_one_module():
    """What is printed elsewhere is of the harness itself: help and its version."""
    folder = Path(cli.__file__).parent
    calls = [
        line.strip()
        for file in folder.glob("*.py")
        if file.name != "output.py"
        for line in file.read_text(encoding="utf-8").splitlines()
        if "typer.echo(" in line
    ]
    own = (
        "typer.echo(ctx.get_help())",  # without a command, and with --help-all
        'typer.echo(f"harness {__',
    )
    assert [call for call in calls if not call.startswith(own)] == []
    assert len(calls) == len(own) + 1


def run_main(monkeypatch, capsys, action) -> tuple[int, str]:
    """Run the command line with something in place of its commands; return code and stderr."""
    monkeypatch.setattr(cli, "app", action)
    with pytest.raises(SystemExit) as end:
        cli.main()
    return int(end.value.code), capsys.readouterr().err


def raising(error: BaseException):
    def action(**_):
        raise error

    return action


def test_a_message_that_quotes_others_is_one_line_of_text(monkeypatch, capsys):
    """Line breaks included."""
    error = HarnessError(f"{NASTY}\n{NASTY}")
    code, message = run_main(monkeypatch, capsys, raising(error))
    assert (code, message) == (2, f"harness: {SHOWN}␊{SHOWN}\n")


def test_exit_code_1_never_means_a_crash(monkeypatch, capsys):
    """An unexpected error is 70, with one line; its traceback is kept without its message."""
    code, line = run_main(monkeypatch, capsys, raising(KeyError("the text of an item")))
    assert code == ExitCode.INTERNAL == 70
    [kept] = (state_folder() / "tracebacks").glob("*")
    assert line == f"harness: internal error (KeyError); the traceback is in {kept}.\n"
    text = kept.read_text(encoding="utf-8")
    assert "in action" in text
    assert text.endswith("KeyError\n")
    assert "the text of an item" not in text.replace('KeyError("the text of an item")', "")
    kept.unlink()


def test_a_traceback_that_cannot_be_saved_causes_no_second_error(monkeypatch, capsys, tmp_path):
    """The line says so."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    code, line = run_main(monkeypatch, capsys, raising(RecursionError()))
    assert code == ExitCode.INTERNAL
    assert line.endswith("(RecursionError); the traceback cannot be written (Not a directory).\n")


def test_a_closed_pipe_is_not_a_failed_check(monkeypatch, capsys):
    """Exit code 1 is left to checks."""
    monkeypatch.setattr(cli, "_discard_output", lambda: None)
    assert run_main(monkeypatch, capsys, raising(BrokenPipeError()))[0] == ExitCode.WRONG_INPUT


def test_ctrl_c_anywhere_is_130(monkeypatch, capsys):
    """Also where no run is under way."""
    import typer

    abort = typer.Abort()
    abort.__cause__ = KeyboardInterrupt()
    code, line = run_main(monkeypatch, capsys, raising(abort))
    assert (code, line) == (ExitCode.INTERRUPTED, "harness: interrupted.\n")


def test_progress_shows_names_as_they_are(monkeypatch, capsys):
    """Neither markup nor control characters in a judge's name change the screen."""
    name = "[red]a[/blue]\x9b2J"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Bars({name: 3}) as bars:
        bars.say(f"{name}\x1b[2J")
        bars.ended(name, "")
    Lines({name: 3}).ended(name, "")
    shown = capsys.readouterr().err
    assert "[red]a[/blue]\ufffd2J" in shown
    assert "\x9b" not in shown
    assert "[red]a[/blue]\ufffd2J␛[2J" in shown


def test_a_time_left_of_millennia_ends_no_run():
    """A rate close to zero and a large number of units."""
    lines = Lines({"j": 10**18})
    tally = lines._tallies["j"]
    tally.rate.add(1, 0.0)
    tally.rate.add(1, 20.0)
    assert "left" in tally.speed


def test_paths_outside_unicode_fail_in_one_line(tmp_path):
    """A folder whose name is not UTF-8 is refused, listed and written into like any other."""
    name = os.fsdecode(b"run-\xff\x1b")
    (tmp_path / name).mkdir()
    refused = call_harness("validate", name, cwd=tmp_path)
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "harness: run-\ufffd␛: not a run folder (no manifest.json). List your runs "
        "with `harness report --list`.\n"
    )


def test_texts_from_a_manifest_are_escaped_in_the_terminal(tmp_path):
    """`runs` lists it, and says what is wrong with it."""
    for place, manifest in enumerate(({"schema_version": NASTY[:-2]}, {"schema_version": 2})):
        run = tmp_path / "runs" / f"run-{place}\x1b[2J"
        run.mkdir(parents=True)
        (run / "manifest.json").write_text(json.dumps(manifest | {"created\x1b": 1}))
    listed = invoke("report", "--list", "--out", tmp_path / "runs")
    assert listed.exit_code == 0
    assert "\x1b" not in listed.output
    assert "2 folders could not be read" in listed.stderr
