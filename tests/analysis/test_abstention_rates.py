from __future__ import annotations

import json

import numpy as np
import pytest
from support.analysis_inputs import INVALID, source_of, task_of

from harness.analysis import Validation, validate
from harness.report.abstention_table import dependence, rate_rows
from harness.report.checklist import checklist
from harness.tasks import CANNOT_ASSESS

N = 80


def ratings():
    """Three raters, who agree on the first half of the items only."""
    agreed = {f"i{i}": "A" for i in range(N // 2)}
    disputed = {f"i{i}": i for i in range(N // 2, N)}
    return {
        rater: agreed | {item: "AB"[(i + k) % 3 == 0] for item, i in disputed.items()}
        for k, rater in enumerate("rst")
    }


@pytest.fixture(scope="module")
def outcome():
    """A judge that abstains where raters disagree, one that is unreadable at random, one more."""
    rng = np.random.default_rng(0)
    items = [f"i{i}" for i in range(N)]
    shy = {item: "A" if i < N // 2 else CANNOT_ASSESS for i, item in enumerate(items)}
    garbled = {item: INVALID if rng.random() < 0.25 else "A" for item in items}
    judges = {"shy": shy, "garbled": garbled, "plain": dict.fromkeys(items, "A")}
    return validate(source_of(task_of(ratings()), judges))


def test_abstention_where_raters_disagree_is_shown_and_tested(outcome):
    """0 of the agreed and all of the disputed items, with intervals that don't overlap."""
    [shy, garbled] = outcome.abstention.judges
    assert (shy.judge, garbled.judge) == ("shy", "garbled")
    by_value = {row.value: row for row in shy.rows}
    assert by_value["all"].abstained.value == 0.0
    assert by_value["60% to 80%"].abstained.value == 1.0
    ends = by_value["all"].abstained.interval, by_value["60% to 80%"].abstained.interval
    assert ends[0].high < ends[1].low
    assert {row.abstained.interval.method for row in shy.rows} == {"simultaneous"}
    [test] = shy.tests
    assert (test.factor, test.abstained) == ("raters who agree", pytest.approx(0.001))
    assert test.unreadable is None  # all of its replies can be read


def test_unreadable_replies_at_random_depend_on_nothing(outcome):
    """The other rate has its own test."""
    [test] = outcome.abstention.judges[1].tests
    assert test.unreadable > 0.05
    assert test.abstained is None


def test_the_table_and_the_checklist_read_the_same_tests(outcome):
    """Practice 7 asks for the rates: it says whether they depend on the items."""
    assert len(rate_rows(outcome.abstention)) == 4
    words = dependence(outcome.abstention)
    assert words[0] == "shy: abstention by raters who agree (p = 0.001)"
    assert any("; ".join(words) in practice.text for practice in checklist(outcome))


def test_without_abstentions_there_is_no_table():
    """And nothing in the JSON; with them it's read back."""
    judges = {"plain": {f"i{i}": "A" for i in range(N)}}
    plain = validate(source_of(task_of(ratings()), judges))
    assert plain.abstention is None
    assert "abstention" not in json.loads(plain.to_json())


def test_rates_are_read_back(outcome):
    """From what `to_json` wrote."""
    assert Validation.from_json(outcome.to_json()).abstention == outcome.abstention
