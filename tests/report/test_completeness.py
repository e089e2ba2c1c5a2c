"""The two figures of completeness have one name and one value in every view."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from support.analysis_inputs import INVALID, source_of, task_of

from harness.analysis import validate
from harness.app.gates import check_requirements
from harness.report import judge_card, page, ranking_csv
from harness.report.export import metric_table
from harness.report.formatting import COMPLETENESS
from harness.report.recommendation import sentences
from harness.report.text import render
from harness.testing import assert_judge

N, SAMPLES = 60, 10


@pytest.fixture(scope="module")
def validation():
    """Return a judge that is right and refuses 32 % of its calls, beside one asked once."""
    names = [f"i{i}" for i in range(N)]
    truth = {name: "AB"[i % 2] for i, name in enumerate(names)}
    raters = {f"r{j}": truth for j in range(4)}
    refusing = {
        name: [
            INVALID if (10 * i + sample) % 25 in range(8) else truth[name]
            for sample in range(SAMPLES)
        ]
        for i, name in enumerate(names)
    }
    constant = {name: ["A"] * SAMPLES for name in names}
    return validate(source_of(task_of(raters), {"refusing": refusing, "constant": constant}))


def test_a_judge_that_refuses_a_third_of_its_calls_was_recommended(validation):
    """Its items are all answered, 68 % of its replies are usable: the verdict says the share."""
    row = validation.evidence_of("refusing")
    assert (row.usable_replies, row.n_planned) == (pytest.approx(0.68), 600)
    assert row.answered_fraction == 1.0
    decision = validation.decision
    assert (decision.verdict, decision.judge) == ("best_not_proven", "refusing")
    assert decision.missing == ("usable_replies",)
    assert "only 68.0% of its 600 planned replies are answers" in sentences(validation)[1]


def test_a_share_of_replies_was_shown_as_a_share_of_items(validation):
    """Terminal, csv, parquet, page, card, notebook, gate and plug-in show the same two values."""
    shown = {"usable_replies": "68.0%", "answered_fraction": "100.0%"}
    [terminal] = [line for line in render(validation).splitlines() if line.startswith("1 ")]
    [card] = [line for line in judge_card(validation).splitlines() if "| refusing |" in line]
    html, notebook = page(validation), validation._repr_html_()
    table = {(row["judge"], row["metric"]): row["value"] for row in metric_table(validation)}
    [of_csv] = [
        row for row in csv.DictReader(StringIO(ranking_csv(validation))) if row["rank_low"] == "1"
    ]
    for name in COMPLETENESS:
        value = getattr(validation.evidence_of("refusing"), name)
        assert all(shown[name] in text for text in (terminal, card, html, notebook))
        assert float(of_csv[name]) == table["refusing", name] == value
        [result] = check_requirements(validation, [f"refusing: {name}>=0.5"])
        assert (result.value, result.passed) == (value, True)
        assert_judge(validation, "refusing").metric(name).at_least(0.5)


def test_the_checklist_called_usable_replies_the_answered_share(validation):
    """It gives both shares by name, and says whose replies the counts of answers are."""
    lines = judge_card(validation).splitlines()
    [share] = [line for line in lines if "report the answered share" in line]
    assert "refusing: 100.0% of 60 items answered, 68.0% of 600 replies answered" in share
    [matrix] = [line for line in lines if "Report the confusion matrix" in line]
    assert "based on each judge's most common reply" in matrix
