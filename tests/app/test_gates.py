"""Requirements: read from text, and checked on the numbers of a validation."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.analysis_inputs import indeterminate_source, indeterminate_task
from support.processes import invoke
from support.sliced_judges import planted
from support.task_folders import make_task_folder

import harness
from harness.analysis import validate
from harness.app.gates import (
    GateResult,
    check_requirements,
    gate_junit,
    gate_summary,
    read_requirement,
)
from harness.errors import ExitCode, HarnessError
from harness.report import formatting
from harness.report.ranking_columns import ranking_table
from harness.testing import assert_judge

JUDGES = ("gpt", "ollama/llama3:8b")
SLICES = ("slice(language=de).consistency", "slice(url=http://a).agreement")
METRICS = ("hit_rate(h/h)", "mse(srs/srs)", "kl(s/s, human->judge)", *SLICES)


def test_a_slice_can_be_required():
    """The number is that of the result; the lower end can fail where the value passes."""
    sliced = planted()
    [row] = [row for row in sliced.slices.judges[0].rows if row.value == "de"]
    measured = row.measures["consistency"].value
    limit = (measured.value + measured.interval.low) / 2
    value, low, rest = check_requirements(
        sliced,
        [
            f"planted: slice(language=de).consistency > {limit}",
            f"planted: slice(language=de).consistency:lower > {limit}",
            "planted: slice(language=en).agreement:lower > .7",
        ],
    )
    assert (value.passed, low.passed, rest.passed) == (True, False, True)
    assert value.value == measured.value
    assert value.interval == measured.interval
    assert value.n == 75


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("slice(language=dee).consistency>0.7", "slice(language=de).consistency"),
        ("slice(languages=de).agreement>0.7", "slice(language=de).agreement"),
        ("slice(language=de).kappa>0.7", "Did you mean slice(language="),
    ],
)
def test_an_unknown_slice_gives_a_hint(text, hint):
    """A slip in field, value or measure is answered with the nearest names."""
    with pytest.raises(HarnessError, match=re.escape(hint)):
        check_requirements(planted(), [text])


def test_without_slices_a_requirement_on_one_is_an_error():
    """Items without fields have none."""
    with pytest.raises(HarnessError, match="The run has none"):
        check_requirements(planted(60, fields=False), ["slice(language=de).agreement>0.5"])


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


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("hit_rate(h/h)>0.6", (None, "hit_rate(h/h)", ">", 0.6, "value")),
        ("hit_rate(h/h) >= .6:LOWER", (None, "hit_rate(h/h)", ">=", 0.6, "lower")),
        ("gpt: mse(srs/srs)<1e-1:upper", ("gpt", "mse(srs/srs)", "<", 0.1, "upper")),
        (
            "ollama/llama3:8b: usable_replies>=0.95",
            ("ollama/llama3:8b", "usable_replies", ">=", 0.95, "value"),
        ),
        ("kl(s/s, human->judge)<2", (None, "kl(s/s, human->judge)", "<", 2.0, "value")),
        ("beta<=0.5", (None, "beta", "<=", 0.5, "value")),
        ("gpt: abs(mse(srs/srs)) < 0.1", ("gpt", "mse(srs/srs)", "<", 0.1, "value")),
        ("hit_rate(h/h):lower > .7", (None, "hit_rate(h/h)", ">", 0.7, "lower")),
        ("slice(url=http://a).agreement>0.6", (None, SLICES[1], ">", 0.6, "value")),
        ("slice( language = de ).consistency:lower > .7", (None, SLICES[0], ">", 0.7, "lower")),
        (
            "ollama/llama3:8b: slice(url=http://a).agreement:upper<1",
            ("ollama/llama3:8b", SLICES[1], "<", 1.0, "upper"),
        ),
    ],
)
def test_a_requirement_names_judge_number_sign_limit_and_end(text, parts):
    """The judge stands before the last colon, the end after the limit."""
    read = read_requirement(text, JUDGES, METRICS)
    quantity = read.quantity
    assert (read.judge, quantity.name, read.sign, read.limit, quantity.end) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("decision=used", "Did you mean use"),
        ("hitrate(h/h)>0.6", r"Did you mean hit_rate\(h/h\)"),
        ("gtp: usable_replies>0.9", "Did you mean gpt"),
        ("mse(srs/srs)", "cannot be read"),
        ("mse(srs/srs)>high", "cannot be read"),
        ("mse(srs/srs)>0.1:middle", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_wrong_requirement_says_what_was_meant(text, message):
    """A wrong form or an unknown name is an error that names what there is."""
    with pytest.raises(HarnessError, match=message):
        read_requirement(text, JUDGES, METRICS)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    """No text ends in another error than the harness's own."""
    try:
        read = read_requirement(text, JUDGES, METRICS)
    except HarnessError:
        return
    assert read.verdicts or read.quantity.name in {
        *METRICS,
        "usable_replies",
        "answered_fraction",
        "beta",
    }


def test_a_bias_is_required_to_be_small_on_either_side(run):
    """Without abs, an undercount of any size is below every positive limit."""
    estimate = run.validation.judge("lexicon").metrics["prevalence_bias"]
    value, low, high = estimate.value, estimate.interval.low, estimate.interval.high
    greatest = max(abs(low), abs(high))
    texts = [
        f"lexicon: abs(prevalence_bias) <= {abs(value)!r}",
        f"lexicon: abs(prevalence_bias) < {abs(value)!r}",
        f"lexicon: abs(prevalence_bias) <= {greatest!r}:upper",
        f"lexicon: abs(prevalence_bias) < {greatest!r}:upper",
    ]
    results = check_requirements(run.validation, texts)
    assert [result.passed for result in results] == [True, False, True, False]
    assert results[0].value == value


def test_limits_are_compared_with_the_number_and_its_interval(run):
    """At the same limit the number passes and the end of its interval need not."""
    estimate = run.validation.judge("lexicon").metrics["mse(srs/srs)"]
    between = (estimate.value + estimate.interval.high) / 2
    results = check_requirements(
        run.validation,
        [f"lexicon: mse(srs/srs)<{between}", f"lexicon: mse(srs/srs)<{between}:upper"],
    )
    assert [result.passed for result in results] == [True, False]
    assert {(result.value, result.interval, result.n) for result in results} == {
        (estimate.value, estimate.interval, estimate.n_used)
    }


def test_na_fails_with_its_reason(run):
    """A number that is NA meets no requirement, whatever the limit."""
    judge = run.validation.judge("lexicon")
    undefined = next(name for name, e in judge.metrics.items() if e.value is None)
    (result,) = check_requirements(run.validation, [f"lexicon: {undefined}>-1e9"])
    assert not result.passed
    assert result.reason == formatting.reason(judge.metrics[undefined]) != ""


def test_a_number_without_a_judge_describes_the_recommended_judge(run):
    """Where the decision names no judge, the requirement fails and says so."""
    assert run.validation.decision.judge is None
    verdict, number = check_requirements(
        run.validation, ["decision=use|none", "usable_replies>0.5"]
    )
    assert verdict.passed
    assert (number.passed, number.reason) == (False, "the decision doesn't name a judge")


def test_reports_escape_names(run):
    """Names with markup stay text in XML and Markdown."""
    hostile = GateResult(
        requirement="a|b<c>\x1b[31m]]>", passed=False, judge="<&`|\n", value=None, reason="x"
    )
    suites = ET.fromstring(gate_junit("run<&\x00", [hostile]))
    assert suites.get("failures") == "1"
    assert "a|b<c>" in suites.find("testsuite/testcase").get("name")
    *_, row = gate_summary("run", [hostile]).strip().splitlines()
    assert row.replace("\\|", "").count("|") == 6
    assert "<" not in row


def test_gate_command_writes_junit_and_summary_and_exits_with_1(run, tmp_path):
    """A requirement that is not met is exit code 1; every report tells the same."""
    junit, summary = tmp_path / "gate.xml", tmp_path / "summary.md"
    summary.write_text("# Before\n")
    words = (
        "gate",
        run.path,
        "--require",
        "lexicon: usable_replies>=0.9",
        "--require",
        "decision=use",
    )
    failed = invoke(*words, "--junit", junit, "--summary", summary)
    assert failed.exit_code == ExitCode.CHECK_FAILED
    assert "decision=use" in failed.stdout
    assert ET.parse(junit).getroot().attrib == {"tests": "2", "failures": "1", "errors": "0"}
    assert summary.read_text().startswith("# Before\n### Judge gate: 1 of 2 requirements failed")
    answer = json.loads(invoke(*words, "--json").stdout)
    assert [row["passed"] for row in answer["requirements"]] == [True, False]
    assert invoke(*words[:-2]).exit_code == ExitCode.DONE


def test_gate_without_judges_names_none(tmp_path, monkeypatch):
    """A requirement on a judge that the run does not have says that there is none."""
    make_task_folder(tmp_path / "task", 8)
    validation = harness.validate(tmp_path / "task")
    with pytest.raises(HarnessError, match="The run has none"):
        check_requirements(validation, ["gpt: usable_replies>0.9"])


def test_beta_was_na_in_the_gate_where_the_table_showed_an_estimate():
    """Without pairs, it is the estimate by maximum likelihood from independent calls."""
    task = indeterminate_task(n=40, paired=40)
    validation = validate(indeterminate_source(task, judges=("strict", "lenient")))
    judges = validation.sensitivity.judge_betas
    fitted = replace(judges["lenient"], value=0.25, reason="", n_used=40)
    sensitivity = replace(validation.sensitivity, judge_betas=judges | {"lenient": fitted})
    validation = replace(validation, sensitivity=sensitivity)
    assert validation.judge("lenient").beta.reason == "no_pairs"
    ranking = ranking_table(validation, "notebook")
    [cells] = [cells for cells in ranking.cells if "lenient" in cells]
    assert cells[ranking.heads.index("beta-hat")] == "~0.25"
    below, above = check_requirements(validation, ["lenient: beta<0.3", "lenient: beta>0.3"])
    assert (below.value, below.n, below.passed, above.passed) == (0.25, 40, True, False)
    assert_judge(validation, "lenient").metric("beta").at_most(0.3)
