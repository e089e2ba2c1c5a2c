"""Reasons of NA: one set, each with words, each given somewhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest
from support.analysis_inputs import (
    indeterminate_source,
    indeterminate_task,
    source_of,
    task_of,
)
from support.source_trees import tree_of

from harness.analysis import validate
from harness.analysis.judge_result import FixedRatersReason
from harness.analysis.recommendation_checks import CHECKS, CheckReason
from harness.options.concerns import AggregationLevel, Elicitation
from harness.report import judge_card, page, render
from harness.report.formatting import estimate, reason_words
from harness.report.words import (
    FIXED_RATERS,
    LEVELS,
    MODES,
    ONE_RATING,
    RATINGS,
    READING,
    REASONS,
    UNITS,
)
from harness.stats import Estimate
from harness.stats.inference.bootstrap import ResampledUnit
from harness.stats.inference.metric import Better
from harness.stats.modes import AbstentionMode, AnswerKind
from harness.stats.reasons import ExclusionReason, NAReason

HARNESS = Path(__file__).resolve().parents[2] / "harness"
OF_WORDS = {"stats/reasons.py", "report/words.py"}  # where reasons are listed, not given


def values(kind: object) -> set[str]:
    """Return the words of a literal, or of a union of literals."""
    return {
        word
        for part in get_args(kind)
        for word in ([part] if isinstance(part, str) else values(part))
    }


ALL = values(NAReason) | values(CheckReason) | values(ExclusionReason) | values(FixedRatersReason)


def modules() -> list[tuple[str, ast.Module]]:
    names = {path: path.relative_to(HARNESS).as_posix() for path in HARNESS.rglob("*.py")}
    return [(name, tree_of(path)) for path, name in names.items() if name not in OF_WORDS]


def given(tree: ast.Module) -> set[str]:
    """Return the words of a module, those of its `Literal` types left out."""
    types = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"
        for part in ast.walk(node)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in types
    }


def test_each_reason_has_words():
    """Of 30 reasons that the statistics gave, a page showed the code: "NA (no positives)"."""
    assert REASONS.keys() == values(NAReason)
    assert FIXED_RATERS.keys() == values(FixedRatersReason) - {""}
    for row in CHECKS:
        assert row.why_open.keys() <= values(CheckReason)


def test_tables_of_settings_have_a_phrase_for_each_word():
    """A new mode, level, unit, direction or kind of rating needs its words."""
    for table, kind in (
        (READING, Better),
        (RATINGS, Elicitation),
        (ONE_RATING, AnswerKind),
        (UNITS, ResampledUnit),
        (MODES, AbstentionMode),
        (LEVELS, AggregationLevel),
    ):
        assert table.keys() == values(kind)


@pytest.mark.parametrize("words", [REASONS, FIXED_RATERS, *(row.why_open for row in CHECKS)])
def test_words_are_not_read_as_codes(words):
    """A phrase that stands in brackets or after a colon: no code, no capital, no full stop."""
    for code, phrase in words.items():
        assert "_" not in phrase.replace("forced_choice,response_set", ""), code
        assert not phrase[0].isupper(), code
        assert not phrase.endswith("."), code


@pytest.mark.slow
def test_each_reason_is_given_by_some_module():
    """A word that no code gives is a state that nobody can reach."""
    found = {word for _, tree in modules() for word in given(tree)}
    assert not (ALL - {""} - found)


@pytest.mark.slow
def test_no_module_gives_another_reason():
    """mypy says so of typed code; this holds for keywords whose type is not known, too."""
    fields = ("reason", "interval_reason", "nothing")
    results = ("Estimate", "Exclusion", "ItemSums", "Check", "Regret", "PairedRuns", "CombinedTest")
    foreign = {
        f"{name}: {keyword.value.value}"
        for name, tree in modules()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in results
        for keyword in call.keywords
        if keyword.arg in fields
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value not in ALL
    }
    assert not foreign


def test_na_says_why_in_words():
    """The words stand in every view: `estimate` writes the cells of tables, pages and cards."""
    na = Estimate(value=None, reason="no_positives", n_used=5)
    assert estimate(na) == "NA (neither side has a positive label)"
    assert reason_words("") == ""


def test_no_view_makes_words_of_a_code():
    """Words with spaces for underscores are code, too: "fewer than two replies" of what?"""
    spaced = re.compile(r"reasons?\w*(\[\w+\])?\)?\s*(\|\s*spaced|\.replace\(.{1,3}_)")
    files = [path for end in ("*.py", "*.jinja") for path in HARNESS.rglob(end)]
    assert len(files) > 400
    found = [path.name for path in files if spaced.search(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize("answers", ["ranked", "constant"])
def test_no_view_shows_a_code(answers):
    """A judge that always gives one answer has a dozen undefined numbers."""
    source = indeterminate_source(indeterminate_task(n=12))
    if answers == "constant":
        ratings = {rater: dict.fromkeys(map(str, range(12)), "A") for rater in "abc"}
        source = source_of(task_of(ratings), {"z": dict.fromkeys(map(str, range(12)), "A")})
    validation = validate(source)
    undefined = [e for judge in validation.judges for e in judge.metrics.values() if e.reason]
    assert undefined
    codes = {code for code in ALL if "_" in code}
    for view in (page(validation), render(validation), judge_card(validation).replace("\\", "")):
        words = set(re.findall(r"\w+", view))
        assert not codes & words
