"""Checks of the recommendation: one object each, which every view follows."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from support.sliced_judges import planted, planted_source

from harness.analysis import Validation, recommendation_checks, validate
from harness.analysis.recommendation_checks import CHECKS, Check, CheckOfUse, check_of_use, needed
from harness.report import page, render
from harness.report.next_steps import next_steps
from harness.report.verdict_words import check_rows

DAYLIGHT = CheckOfUse(
    kind="daylight",
    name="Judged in daylight",
    test=lambda leader, _: Check(
        kind="daylight", passed=leader.n_planned > 10**6, reason="too_few_items", n=7
    ),
    is_missing=needed("daylight"),
    failed="only {items} were judged in daylight",
    open="no item has a time",
    passed="It was tested in daylight.",
    next_step="Have {n} more items judged in daylight.",
)


@pytest.fixture
def with_daylight(monkeypatch):
    """Add a check, in the one place where checks are."""
    monkeypatch.setattr(recommendation_checks, "CHECKS", (*CHECKS, DAYLIGHT))


def test_a_new_check_is_on_terminal_page_and_in_json(with_daylight):
    """It is declared once; nothing else is changed."""
    validation = validate(planted_source())
    assert "daylight" in validation.decision.missing
    said = "only 7 items were judged in daylight"
    for drawn in (render(validation), page(validation)):
        view = " ".join(drawn.split())
        assert said in view
        assert "Have 7 more items judged in daylight." in view
    written = validation.to_json()
    assert json.loads(written)["decision"]["checks"]["daylight"] == {
        **json.loads(written)["decision"]["checks"]["answered"],
        "kind": "daylight",
        "passed": False,
        "reason": "too_few_items",
        "value": None,
        "threshold": None,
        "n": 7,
    }
    assert Validation.from_json(written).decision == validation.decision


@pytest.mark.parametrize(("passed", "said"), [(True, "It was tested in daylight."), (None, "")])
def test_a_new_check_says_that_it_is_passed_or_open(with_daylight, passed, said):
    """A passed one has its sentence among the evidence, an open one under what is missing."""
    validation = validate(planted_source())
    check = Check(kind="daylight", passed=passed, reason="" if passed else "no_items")
    found = validation.decision.checks | {"daylight": check}
    decision = replace(validation.decision, checks=found)
    text = " ".join(render(replace(validation, decision=decision), details=True).split())
    assert said in text
    assert ("no item has a time (no item has answers from both sides)" in text) == (passed is None)


@pytest.mark.parametrize("row", CHECKS, ids=lambda row: row.kind)
@pytest.mark.parametrize("passed", [True, False, None])
def test_every_check_has_words_for_every_result(row, passed):
    """No result of a check ends in a KeyError; what it finds has its kind."""
    validation = planted()
    assert validation.evidence is not None
    leader = validation.evidence.judges[0]
    check = row.test(leader, validation.evidence)
    assert check.kind == row.kind
    for reason in {"", check.reason, *row.why_open}:
        found = replace(
            check, passed=passed, reason=reason, raters=("ann",), rival=check.rival or "other"
        )
        missing = () if passed else (row.kind,)
        decision = replace(
            validation.decision,
            verdict="use" if passed else "best_not_proven",
            checks=validation.decision.checks | {row.kind: found},
            missing=missing,
        )
        decided = replace(validation, decision=decision)
        text = render(decided, details=True)
        assert ("Missing: " in text) == (not passed)
        assert all(step.endswith((".", "`")) for step in next_steps(decided))


def test_checklist_has_a_row_for_each_check_that_decides():
    """Passed ones with a tick; the test that a human rater stands in for has no row."""
    validation = planted()
    rows = check_rows(validation)
    names = [row.name for row in rows]
    assert "Passes the alternative annotator test" in names
    assert "As good as another rater" not in names
    missing = [check_of_use(kind).name for kind in validation.decision.missing]
    assert [row.name for row in rows if row.state != "passed"] == missing
    html = page(validation)
    ticks = re.findall(r'aria-label="(passed|failed|open)">(.)<', html)
    states = {"passed": "✓", "failed": "✗", "open": "?"}
    assert ticks == [(row.state, states[row.state]) for row in rows]
