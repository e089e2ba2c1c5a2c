"""Exit codes: which one several events end with, and `--fail-unless`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.analysis import Validation
from harness.app.plan import plan_run
from harness.cli.options import exit_code_of
from harness.errors import ExitCode, HarnessError, JudgeError
from harness.options.concerns import Choices, RunOptions


@pytest.mark.parametrize(
    ("codes", "first"),
    [
        ((), 0),
        ((0, 3), 3),
        ((3, 4), 4),
        ((4, 1), 1),
        ((0, 3, 4, 1, 2), 2),
        ((1, 130), 130),
    ],
)
def test_the_most_important_of_several_exit_codes_is_returned(codes, first):
    """Wrong input, then a failed check, then the cost limit, then an incomplete judge."""
    assert ExitCode.most_important(codes) == first


@pytest.fixture
def ratings(tmp_path, monkeypatch):
    """A folder with a task, from which commands are run in this process."""
    make_task_folder(tmp_path / "task", 8)
    monkeypatch.chdir(tmp_path)


def verdict_of(*words: str) -> str:
    return Validation.from_json(invoke(*words, "--json").stdout).decision.verdict


def test_fail_unless_makes_a_missing_recommendation_exit_code_1(ratings):
    """Without verdicts no judge is recommended: 0 as such, 1 where a recommendation is demanded."""
    words = ("validate", "--task", "task")
    assert verdict_of(*words) == "none"
    assert invoke(*words).exit_code == ExitCode.DONE
    for least in ("use", "best_not_proven"):
        failed = invoke(*words, "--fail-unless", least)
        assert failed.exit_code == ExitCode.CHECK_FAILED
        assert f"the verdict is none, but --fail-unless requires {least}" in failed.stderr


@pytest.mark.parametrize("verdict", ["use", "best_not_proven"])
def test_fail_unless_best_not_proven_passes_a_better_verdict(verdict):
    """The better verdict passes where the other is demanded, and not the reverse."""
    validation: Any = SimpleNamespace(decision=SimpleNamespace(verdict=verdict), completeness=dict)
    assert exit_code_of(validation, "best_not_proven") == ExitCode.DONE
    assert exit_code_of(validation, "use") == (0 if verdict == "use" else 1)


def test_fail_unless_accepts_only_recommendations(ratings):
    """A word that is not a verdict is refused before anything is asked."""
    refused = invoke("run", "--task", "task", "--fail-unless", "good")
    assert refused.exit_code == ExitCode.WRONG_INPUT
    assert "'good' is not one of 'use', 'use_if_independent', 'best_not_proven'" in refused.stderr


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--replies", "0", "a whole number from 1, or inf"),
        ("--replies", "few", "a whole number from 1, or inf"),
        ("--min-answered", "1.2", "less than or equal to 1"),
        ("--worth", "0", "greater than 0"),
    ],
)
def test_options_of_the_comparison_are_checked_before_anything_is_asked(
    ratings, option, text, message
):
    """The message names the option as it was typed."""
    refused = invoke("run", "--task", "task", option, text)
    assert refused.exit_code == ExitCode.WRONG_INPUT
    assert f"Invalid value for {option}" in refused.stderr
    assert message in refused.stderr.replace("\n", " ")


def test_more_replies_than_any_judge_gives_are_refused_before_anything_is_asked(ratings):
    """The comparison would be empty after everything was paid."""
    with pytest.raises(JudgeError, match="needs 5 samples per item, but no judge has more than"):
        plan_run("task", ["random"], RunOptions(samples=4), choices=Choices(replies=5))
    with pytest.raises(HarnessError, match="replies inf can remove reply noise only from squared"):
        plan_run("task", ["random"], choices=Choices(metric="hit_rate(h/h)", replies="inf"))
