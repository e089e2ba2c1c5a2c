from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.sliced_judges import planted, planted_source, planted_task

from harness.analysis import Validation, validate
from harness.analysis.item_slices import BY_CONSTRUCTION, slices_of_items
from harness.analysis.ratings import human_table
from harness.analysis.serialize import to_short_json
from harness.analysis.sliced_fields import sliced_fields
from harness.report.recommendation import decision, summary
from harness.tasks import load_task


@pytest.fixture(scope="module")
def sliced():
    """A judge that guesses on German items."""
    return planted()


def test_a_judge_that_guesses_in_one_language_is_named(sliced):
    """The summary names the slice, with the judge and a rater there and on the other items."""
    [line] = [line for line in summary(sliced) if "weakest" in line]
    assert 'items with language "de"' in line
    assert "75 items, the worst of 5 slices" in line
    row = sliced.slices.judges[0].worst_row
    assert (row.field, row.value, row.n_items) == ("language", "de", 75)
    agreement = row.measures["agreement"]
    assert f"on {100 * agreement.value.value:.0f} of 100 items" in line
    assert f"compared with {100 * agreement.rest:.0f} of 100 other items" in line
    assert line in decision(sliced)


def test_a_slice_in_which_raters_agree_less_too_is_not_named():
    """If the judge slips like the raters, it isn't the judge that is weak there."""
    alike = planted(raters_slip=True, careful=0.95, slipping=0.75)
    [judge] = alike.slices.judges
    row = next(row for row in judge.rows if row.value == "de")
    assert row.measures["agreement"].difference.interval.high < 0.0
    assert row.human.difference.value < -0.1
    assert judge.worst is None
    assert not any("weakest" in line for line in summary(alike))


def test_slices_have_every_measure(sliced):
    """Each is compared with the other items, and lies within its interval."""
    [judge] = sliced.slices.judges
    for row in judge.rows:
        assert set(row.measures) == {
            "agreement",
            "disagreement",
            "consistency",
            "answered_fraction",
            "signed_error",
        }
        for measure in row.measures.values():
            assert measure.value.interval.low <= measure.value.value <= measure.value.interval.high
            gap = measure.value.value - measure.rest
            assert measure.difference.value == pytest.approx(gap)
            assert measure.difference.interval.method == "simultaneous"


def test_slices_of_a_field_add_up_to_the_whole(sliced):
    """The means of the slices, by their items, are the judge's own numbers."""
    [judge] = sliced.slices.judges
    rows = [row for row in judge.rows if row.field == "language"]
    n = np.array([row.n_items for row in rows])

    def mean(name):
        return float(n @ [row.measures[name].value.value for row in rows] / n.sum())

    metrics = sliced.judge("planted").metrics
    assert mean("disagreement") == pytest.approx(metrics["js_divergence(s/s)"].value)
    assert mean("consistency") == pytest.approx(metrics["hit_rate(h/h)"].value)
    assert mean("agreement") == pytest.approx(sliced.evidence.share_agreeing.judge)


def test_slices_that_are_harder_for_everyone_are_not_blamed_on_the_judge():
    """Items on which raters disagree are shown, and not called the judge's fault."""
    result = planted(careful=0.9, slipping=0.9)
    fields = {field.name: field.kind for field in result.slices.fields}
    assert fields["raters who agree"] == "certainty"
    [judge] = result.slices.judges
    below = next(row for row in judge.rows if row.value == "60% to 80%")
    assert below.measures["agreement"].difference.interval.high < 0.0
    assert judge.worst is None


def test_without_fields_metrics_have_no_slices():
    """A task whose items have texts alone writes the same members as before."""
    result = planted(60, fields=False)
    assert result.slices is None
    assert "slices" not in json.loads(result.to_json())
    assert Validation.from_json(result.to_json()) == result


def test_slices_survive_a_file(sliced):
    """What is read again is what was written."""
    again = Validation.from_json(sliced.to_json())
    assert to_short_json(again.slices) == to_short_json(sliced.slices)
    assert Validation.json_schema()["properties"]["slices"]


def test_the_same_source_has_the_same_slices(sliced):
    """The draws come from the seed."""
    assert validate(planted_source()).to_json() == sliced.to_json()


def test_a_judge_that_is_not_ranked_has_no_slices(sliced):
    """Only ranked judges are compared."""
    assert sliced.slices.of("nobody") is None


def test_pairs_are_sliced_by_the_answer_that_raters_prefer():
    """The position is shown like a field; which raters prefer is counted by hand."""
    task = load_task("helpfulness")
    fields = slices_of_items(
        sliced_fields(task, task.items), task, task.items, human_table(task, task.items)
    )
    field = next(field for field in fields if field.kind == "position")
    counts = dict(zip(field.values, field.members.sum(axis=1).tolist(), strict=True))
    votes = {item.id: Counter() for item in task.items}
    for rating in task.ratings:
        votes[rating.item][rating.value] += 1
    first, second = task.pairwise.first, task.pairwise.second
    assert counts["first answer"] == sum(n[first] > n[second] for n in votes.values())
    assert counts["second answer"] == sum(n[first] < n[second] for n in votes.values())


def test_criteria_are_slices_of_items_with_fields():
    """A criterion is a slice, which is never the worst."""
    task = planted_task(n=120)
    items = tuple(
        replace(item, criterion="clear" if i % 2 else "short") for i, item in enumerate(task.items)
    )
    task = task.model_copy(update={"items": items})
    fields = slices_of_items(sliced_fields(task, items), task, items, human_table(task, items))
    field = next(field for field in fields if field.kind == "criterion")
    assert set(field.values) == {"clear", "short"}
    assert field.kind in BY_CONSTRUCTION
