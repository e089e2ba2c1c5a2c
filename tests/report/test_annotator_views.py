"""One annotator test: what decides is what every view shows, with all raters accounted for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from support.analysis_inputs import source_of, task_of

from harness.analysis import validate
from harness.app.gates import check_requirements
from harness.judging.parsing.verdict import Verdict
from harness.report import judge_card, page
from harness.report.recommendation import sentences
from harness.report.recommendation import tested_raters as raters_in_words
from harness.tasks import Rating

N = 64


def ratings_of_six():
    """Let four raters rate all items and two rate five of them, mostly alike."""
    names = [f"i{i}" for i in range(N)]
    return {
        f"r{j}": {
            name: "AB"[(i + (i % 10 == j)) % 2]
            for i, name in enumerate(names)
            if j < 4 or i % 12 == j
        }
        for j in range(6)
    }


@pytest.fixture(scope="module")
def validation():
    answers = {f"i{i}": "AB"[i % 2] for i in range(N)}
    return validate(source_of(task_of(ratings_of_six()), {"m": answers}))


def test_a_test_over_some_raters_was_shown_as_one_over_the_panel(validation):
    """Text, card and page name the raters without a test, and agree on the answer and its p."""
    test = validation.evidence_of("m").annotator_test
    assert (test.panel.n_tested, test.panel.n_raters) == (4, 6)
    assert test.untested == ("r4", "r5")
    tested = "4 of 6 raters (not tested: r4 and r5)"
    [line] = [text for text in sentences(validation) if "alternative annotator test" in text]
    html = page(validation)
    assert all(tested in text for text in (line, judge_card(validation).replace("\\", "")))
    assert html.count(tested) >= 2
    assert html.count('<th scope="col">passes</th>') == 1
    verb = "allows" if test.passes else "does not allow"
    assert f"{verb} m to replace a rater" in line
    check = validation.decision.checks["annotator_test"]
    assert (check.passed, check.value) == (test.passes, test.panel.p)
    [result] = check_requirements(validation, ["m: annotator_test<=0.05"])
    assert (result.value, result.n, result.passed) == (test.panel.p, 4, test.panel.p <= 0.05)


def test_a_rater_without_a_test_was_counted_as_tested_and_named_as_not_tested(validation):
    """One of the counted raters has too few groups, so it counts as not beaten: both are said."""
    test = validation.evidence_of("m").annotator_test
    raters = {**test.raters, "r3": replace(test.raters["r3"], p=None, reason="too_few_groups")}
    untested = replace(test, raters=raters, untested=("r3", "r4", "r5"))
    assert untested.counted_as_unbeaten == ("r3",)
    assert raters_in_words(untested) == (
        "4 of 6 raters (not tested: r4 and r5; without a test, so counted as not beaten: r3)"
    )
    full = replace(test.panel, n_raters=4)
    assert raters_in_words(replace(untested, panel=full, untested=("r3",))) == (
        "4 raters (without a test, so counted as not beaten: r3)"
    )
    [line] = [text for text in sentences(validation) if "alternative annotator test" in text]
    assert "for beating at least 2 among 4 of 6 raters (not tested: r4 and r5)" in line


def test_advantage_meant_a_mean_difference_in_one_sentence_and_a_probability_in_the_next(
    validation,
):
    """It is the paper's probability alone; wins minus losses have their own name, JSON included."""
    [published] = validation.replacement.judges
    test = validation.evidence_of("m").annotator_test
    [line] = [text for text in sentences(validation) if "alternative annotator test" in text]
    assert f"advantage probability {published.test.advantage.value:.2f}" in line
    assert f"winning rate {published.test.winning_rate.value:.2f}" in line
    assert f"wins minus losses {test.net_wins:.2f}" in line
    [row] = json.loads(validation.to_json())["evidence"]["judges"]
    assert not {"advantage", "winning_rate"} & row["annotator_test"].keys()


def test_choices_that_were_never_asked_for_were_losses_in_the_annotator_test():
    """With response sets alone the test is NA, says why, and a human rater decides."""
    raters = ratings_of_six()
    task = task_of(raters)
    sets = tuple(
        Rating(item, rater, "response_set", (value,))
        for rater, rated in raters.items()
        for item, value in rated.items()
    )
    update = {"ratings": (*task.ratings, *sets), "ranks_by": "response_set"}
    task = task.model_copy(update=update)
    source = source_of(task, {"m": {f"i{i}": "A" for i in range(N)}})
    endorsed = [
        Verdict(
            item=f"i{i}",
            judge="m",
            elicitation="response_set",
            outcome="answered",
            value=("AB"[i % 2],),
        )
        for i in range(N)
    ]
    source = replace(source, verdicts={"m": endorsed}, planned={"m": {"response_set": N}})
    validation = validate(source)
    check = validation.decision.checks["annotator_test"]
    assert (check.passed, check.reason) == (None, "no_forced_choices")
    assert validation.decision.checks["one_human"].passed is not None
    assert "annotator_test" not in validation.decision.missing
    text = " ".join(sentences(validation))
    assert "No annotator test: the judge gave no single choices" in text
    shown = text + page(validation)
    assert "winning rate 0.00" not in shown
    assert "the judge gave no single choices" in page(validation)
