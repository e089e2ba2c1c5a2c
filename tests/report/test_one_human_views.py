"""A human rater is one reply: no view puts it beside judges at several replies."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.analysis_inputs import source_of, task_of

from harness.analysis import validate
from harness.report import judge_card, page
from harness.report.html.summaries import figures
from harness.report.judge_charts import human_band
from harness.report.recommendation import sentences
from harness.report.text import render
from harness.report.verdict_words import human_pair

N = 80


def validation_at(n_replies):
    rng = np.random.default_rng(7)
    names = [f"i{i}" for i in range(N)]
    positive = rng.random(N) < 0.5

    def answers(accuracy):
        right = rng.random(N) < accuracy
        return ["A" if is_positive else "B" for is_positive in positive == right]

    raters = {f"r{j}": dict(zip(names, answers(0.85), strict=True)) for j in range(4)}
    replies = np.array([answers(0.9) for _ in range(n_replies)]).T.tolist()
    return validate(source_of(task_of(raters), {"m": dict(zip(names, replies, strict=True))}))


def test_a_human_at_one_reply_was_worse_than_guessing_at_ten():
    """At several replies the row refers to the pair at one reply each, with its difference."""
    validation = validation_at(10)
    evidence, reference = validation.evidence, validation.evidence_of("m").human
    assert evidence.n_replies == 10
    assert (evidence.human_value, human_band(evidence)) == (None, None)
    text = render(validation, details=True)
    [row] = [line for line in text.splitlines() if line.strip().startswith("human rater")]
    assert row.split() == ["human", "rater", "see", "below"]
    assert "human rater  " not in render(validation)  # nothing below it told more
    html = page(validation)
    assert "see below" in html
    assert "Band: a human rater" not in html
    pair = f"judge {reference.judge:.3f}, human rater {reference.human:.3f}, difference"
    shown = (" ".join(text.split()), html, judge_card(validation).replace("\\", ""))
    assert all(pair in view for view in shown)
    table, below = validation._repr_html_().split("</table>")
    assert "see below" in table
    assert pair in below  # a notebook said "see below" and ended there
    assert human_pair(validation).partition("reply each")[2] in html
    stored = json.loads(validation.to_json())["evidence"]
    assert stored["human_value"] is None
    assert stored["judges"][0]["human"]["human"] == reference.human


def test_a_level_of_one_human_stands_beside_judges_at_one_reply():
    """Table, chart and page show it; its difference from the judge is that of the sentence."""
    validation = validation_at(1)
    evidence, reference = validation.evidence, validation.evidence_of("m").human
    level = evidence.human_value
    assert level == pytest.approx(reference.judge_by_all - reference.difference)
    assert human_band(evidence) is not None
    [row] = [
        line for line in render(validation).splitlines() if line.strip().startswith("human rater")
    ]
    assert f"{level:.3f}" in row
    text = " ".join(sentences(validation))
    assert f"difference {reference.difference:.3f}" in text
    assert f"a human rater {reference.human:.3f}" not in text + page(validation)
    assert human_pair(validation) == ""


def test_the_difference_from_one_human_vanished_where_it_decides_nothing():
    """With too few items for a decision the pair and its difference are shown all the same."""
    validation = validation_at(10)
    check = validation.decision.checks["one_human"]
    figure = figures(validation)[1]
    assert figure.value == f"{abs(check.value):.3f}"
