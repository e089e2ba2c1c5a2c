"""The pytest plugin: a run as a fixture, and assertions about its judges."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import harness
from harness.errors import HarnessError
from harness.testing import assert_judge

CHECKOUT = Path(__file__).resolve().parents[2]
PLUGIN = "harness.testing.pytest_plugin"
TESTS = """
from harness.testing import assert_judge

def test_answered(judge_run):
    assert_judge(judge_run, "lexicon").metric("usable_replies").at_least(0.9)

def test_error(judge_run):
    assert_judge(judge_run, "lexicon").metric("mse(srs/srs)").at_most(0.0001, end="upper")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of the word list on sixteen comments."""
    return harness.run(
        "toxicity",
        judges=["lexicon"],
        limit=20,
        out=tmp_path_factory.mktemp("runs"),
        no_store=True,
    )


def run_pytest(folder, *words):
    """Run pytest in a process of its own, with this plugin alone."""
    path = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", *map(str, words)],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_failing_assertions_show_interval_and_n(run, tmp_path):
    """A test that fails tells the number, its interval and how many items it rests on."""
    (tmp_path / "test_judge.py").write_text(TESTS)
    ended = run_pytest(tmp_path, "--judge-run", run.path)
    estimate = run.validation.judge("lexicon").metrics["mse(srs/srs)"]
    interval = estimate.interval
    message = (
        f"lexicon: {estimate.value:.3f} [{interval.low:.3f}, {interval.high:.3f}] "
        f"on n = {estimate.n_used}, one reply each; required: lexicon: mse(srs/srs)<=0.0001:upper"
    )
    assert message in ended.stdout
    assert "1 failed, 1 passed" in ended.stdout


@pytest.mark.slow
def test_the_run_may_be_named_in_the_settings(run, tmp_path):
    """``judge_run`` in pytest's settings does what the option does."""
    (tmp_path / "test_judge.py").write_text(TESTS.split("def test_error", maxsplit=1)[0])
    (tmp_path / "pytest.ini").write_text(f"[pytest]\njudge_run = {run.path}\n")
    assert "1 passed" in run_pytest(tmp_path).stdout


def test_without_a_run_the_fixture_says_how_to_name_it(tmp_path):
    """A forgotten option is one line, not a traceback."""
    (tmp_path / "test_judge.py").write_text(TESTS)
    assert "Pass --judge-run RUN" in run_pytest(tmp_path).stdout


def test_plugin_imports_nothing_heavy():
    """A test suite that does not use the plugin does not pay for it."""
    heavy = {"numpy", "scipy", "harness.api"}
    code = f"import {PLUGIN}, sys; print(sorted({heavy} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_plugin_is_an_entry_point():
    """pytest finds the plugin once the distribution is installed."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"judge_harness": PLUGIN}


def test_assertions_name_what_there_is(run):
    """An unknown judge or metric, and a verdict that is not `use`, are told in words."""
    with pytest.raises(AssertionError, match=r"no judge 'gpt'\. The run has lexicon"):
        assert_judge(run, "gpt")
    judge = assert_judge(run, "lexicon")
    with pytest.raises(HarnessError, match="Did you mean"):
        judge.metric("mse(srs/sr)").at_most(1.0)
    with pytest.raises(AssertionError, match="the recommendation is none, not use"):
        judge.is_recommended()
