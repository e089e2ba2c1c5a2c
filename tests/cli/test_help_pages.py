"""Help pages: a first screen of 24 lines, at most 25 options, and the rest with --help-all."""

from __future__ import annotations

import re

import pytest
import typer
from support.each_case import for_each
from support.processes import invoke

from harness.cli import COMMANDS, GROUPS, LAB, app
from harness.options.declaration import PANELS

OPTION = re.compile(r"^  (?:-\w, )?(--[a-z][a-z-]+)", re.MULTILINE)
PANEL = re.compile(r"^(\w[\w ]+):$", re.MULTILINE)


def leaves(group=None, words=()):
    inner = getattr(group or typer.main.get_command(app), "commands", {})
    for name, command in inner.items():
        yield from leaves(command, (*words, name))
    if not inner:
        yield words, group


LEAVES = dict(leaves())


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def flags(command):
    return {name for param in command.params for name in param.opts if name.startswith("--")}


def test_first_screen_fits_a_terminal():
    """`harness --help` is at most 24 lines of 80 columns and names every command."""
    shown = invoke("--help").stdout
    lines = shown.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert shown == invoke().stdout
    for name in {*COMMANDS, *LAB}:
        assert re.search(rf"\b{name}\b", shown), name


def test_help_all_lists_every_command_with_its_summary():
    """What the first screen only names has a line of its own there."""
    shown = invoke("--help-all").stdout
    for sources in (*GROUPS.values(), {f"lab {name}": source for name, source in LAB.items()}):
        for name, source in sources.items():
            assert re.search(rf"^  {name} +{re.escape(source.summary)}$", shown, re.MULTILINE)
    assert "--install-completion" in shown


@for_each(LEAVES, " ".join)
def test_help_shows_at_most_25_options(words):
    """The others are shown by --help-all, which commands with fewer options do not need."""
    shown = OPTION.findall(invoke(*words, "--help").stdout)
    assert len(shown) <= 25
    if "--help-all" in shown:
        listed = OPTION.findall(invoke(*words, "--help-all").stdout)
        assert len(listed) == len(set(listed)) > 25
        assert set(listed) == flags(LEAVES[words]) | {"--help"}
    else:
        assert set(shown) == flags(LEAVES[words]) | {"--help"}


def test_options_of_a_run_are_in_panels():
    """A panel for each concern, in the order in which people ask."""
    panels = PANEL.findall(invoke("run", "--help").stdout.partition("http")[2])
    assert panels == [
        *("What", "How to run judges", "Cost", "Statistics", "Storage", "Output", "Help"),
    ]
    assert set(panels) <= {*PANELS, "Help"}


def test_rare_options_work_without_being_shown():
    """`--mode` is left out of the help, but not of the command line."""
    assert "--mode" not in invoke("run", "--help").stdout
    assert "--mode" in invoke("run", "--help-all").stdout
    wrong = invoke("run", "--mode", "sometimes")
    assert wrong.exit_code == 2
    assert "'sometimes' is not one of 'exclude', 'recode', 'third_class'" in wrong.output
