"""A judge that may copy a rater is recommended only under the condition that it doesn't."""

from __future__ import annotations

import json

import pytest
from support.each_case import fast_first
from support.processes import invoke
from support.task_folders import write_jsonl

import harness
from harness.app.gates import check_requirements
from harness.testing import assert_judge

N = 120  # items


def folder_of(path, n_raters, about=""):
    """Write a task whose raters are wrong now and then, on items of their own."""
    path.mkdir()
    fields = "name: pairs\nproperty: toxic\nscale: binary\noptions: [A, B]\npositive: [A]\n"
    (path / "task.yaml").write_text(fields + about, encoding="utf-8")
    write_jsonl(path / "items.jsonl", [{"id": f"i{i}", "text": f"text {i}"} for i in range(N)])
    ratings = [
        {"item": f"i{i}", "rater": f"r{r}", "value": answer(i, 9 + 2 * r)}
        for i in range(N)
        for r in range(n_raters)
    ]
    write_jsonl(path / "ratings.jsonl", ratings)
    return path


def answer(i, every):
    """Return the true answer, which every so-manieth item doesn't get."""
    return "AB"[(i % 2) ^ (i % every == every - 1)]


@pytest.fixture
def copy():
    """Verdicts that are the first rater's ratings."""
    return [{"item": f"i{i}", "judge": "copy", "value": answer(i, 9)} for i in range(N)]


@pytest.mark.parametrize(
    ("n_raters", "about"), [(2, ""), (3, "rater_ids: positional\n")], ids=["two", "unnamed"]
)
def test_a_copy_that_cannot_be_tested_for_is_recommended_under_a_condition(
    tmp_path, copy, n_raters, about
):
    """The sentence states it, and so do levels that are asked for."""
    folder = folder_of(tmp_path / "task", n_raters, about)
    validation = harness.validate(folder, copy)
    assert validation.decision.verdict == "use_if_independent"
    assert validation.decision.checks["independent"].passed is None
    shown = invoke("validate", "--task", folder, "--verdicts", _file(tmp_path, copy))
    said = (
        "Use copy, provided that the raters didn't see the judge's answers, and the judge "
        "didn't see theirs."
    )
    words = " ".join(shown.stdout.split())
    assert said in words
    assert "add `independent: true` to task.yaml" in words


def careful_panel(path, about=""):
    """Write a task whose raters are wrong once each, on items of their own, and a copy of one."""
    folder = folder_of(path, 3, about)
    careful = {r: [answer_of(i, r) for i in range(N)] for r in range(3)}
    ratings = [
        {"item": f"i{i}", "rater": f"r{r}", "value": careful[r][i]}
        for i in range(N)
        for r in careful
    ]
    write_jsonl(folder / "ratings.jsonl", ratings)
    return folder, [{"item": f"i{i}", "judge": "copy", "value": careful[0][i]} for i in range(N)]


def answer_of(i, rater):
    """Return the true answer, except of the second and third rater on an item of their own."""
    return "AB"[(i % 2) ^ (rater > 0 and i == rater)]


@pytest.mark.parametrize(
    ("about", "level"), [("", "use_if_independent"), ("independent: true\n", "use")]
)
def test_copy_of_a_rater_without_errors_is_recommended_under_a_condition(tmp_path, about, level):
    """A perfect judge would answer alike, so no test can tell; your statement can."""
    validation = harness.validate(*careful_panel(tmp_path / "task", about))
    assert validation.evidence.copying.undecided
    assert validation.decision.verdict == level


def test_reason_for_the_condition_is_that_nobody_errs(tmp_path):
    folder, copy = careful_panel(tmp_path / "task")
    shown = invoke("validate", "--task", folder, "--verdicts", _file(tmp_path, copy))
    words = " ".join(shown.stdout.split())
    assert "raters and judge make too few errors to tell a copy from a good judge" in words


def test_a_statement_of_independence_is_printed_as_the_users(tmp_path, copy):
    """With it the judge is recommended, and the result says whose statement that rests on."""
    folder = folder_of(tmp_path / "task", 2, "independent: true\n")
    shown = invoke("validate", "--task", folder, "--verdicts", _file(tmp_path, copy))
    words = " ".join(shown.stdout.split())
    assert "Use copy. " in words
    stated = (
        "Your task.yaml states that the raters didn't see the judge's answers, and the judge "
        "didn't see theirs."
    )
    assert stated in words


@pytest.mark.parametrize(
    ("least", "code"),
    fast_first(2, [("use", 1), ("use_if_independent", 0), ("best_not_proven", 0)]),
)
def test_levels_are_ordered_wherever_one_is_asked_for(tmp_path, copy, least, code):
    """For --fail-unless, a gate, pytest and the published schema."""
    folder, file = folder_of(tmp_path / "task", 2), _file(tmp_path, copy)
    asked = ("validate", "--task", folder, "--verdicts", file, "--fail-unless", least)
    assert invoke(*asked).exit_code == code
    validation = harness.validate(folder, copy)
    gate = check_requirements(validation, [f"decision>={least}"])
    assert gate[0].passed == (code == 0)
    if code:
        with pytest.raises(AssertionError, match="is use_if_independent"):
            assert_judge(validation, "copy").is_recommended(least=least)
    else:
        assert_judge(validation, "copy").is_recommended(least=least)


def _file(folder, rows):
    file = folder / "verdicts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file
