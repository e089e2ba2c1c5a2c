"""A rubric of several criteria: what is asked, and verdicts on criteria and on items."""

from __future__ import annotations

import pytest
from support.analysis_inputs import source_of, task_of

from harness.analysis import validate
from harness.analysis.estimates import prepare
from harness.analysis.prepared import item_tables
from harness.errors import TaskError
from harness.judging.prompts.requests import Prompts
from harness.report import page
from harness.report.text import render
from harness.tasks import CANNOT_ASSESS, load_task

RUBRIC = {
    "threshold": 0.5,
    "criteria": {
        "right": {"weight": 3, "description": "every figure is in the source"},
        "brief": None,
        "kind": {"weight": 2},
    },
}
MET, UNMET = "MET", "UNMET"
ANSWERS = {  # by answer: right, brief, kind
    "a": (MET, UNMET, UNMET),
    "b": (UNMET, MET, MET),
    "c": (UNMET, UNMET, MET),
    "d": (MET, MET, MET),
}


def decisions(answers):
    """Return a verdict per answer and criterion."""
    return {
        f"{name}-{criterion}": verdict
        for name, verdicts in answers.items()
        for criterion, verdict in zip(RUBRIC["criteria"], verdicts, strict=True)
    }


def example(judged, **changes):
    """Make a source of three raters who agree, and one judge."""
    places = {
        f"{name}-{criterion}": {"group": name, "criterion": criterion}
        for name in ANSWERS
        for criterion in RUBRIC["criteria"]
    }
    task = task_of(
        {f"r{j}": decisions(ANSWERS) for j in range(3)},
        options=(MET, UNMET),
        positive=(MET,),
        rubric=RUBRIC | changes,
        items=places,
    )
    return source_of(task, {"judge": decisions(judged)})


def met_items(source):
    p = prepare(source)
    table, judge = item_tables(p.task, source.items, (p.human, *p.judges))
    return table.forced_choice[:, 0].tolist(), judge


def test_an_item_is_met_by_weight_and_threshold():
    """By hand: of a weight of 6, at least 3; or all of them."""
    assert met_items(example(ANSWERS))[0] == [1, 1, 0, 1]
    assert met_items(example(ANSWERS, threshold=0.51))[0] == [0, 0, 0, 1]
    assert met_items(example(ANSWERS, threshold=1.0))[0] == [0, 0, 0, 1]


def test_an_item_with_an_open_criterion_has_no_verdict():
    """Where a criterion cannot be assessed, neither met nor unmet is known."""
    _, judge = met_items(example(ANSWERS | {"d": (MET, CANNOT_ASSESS, MET)}))
    assert judge.forced_choice.tolist() == [[1, 0], [1, 0], [0, 1], [0, 0]]


def test_criteria_and_levels_stand_beside_each_other():
    """The judge is wrong on one criterion of "c", which changes the verdict on that item."""
    validation = validate(example(ANSWERS | {"c": (MET, UNMET, MET)}))
    rows = {row.name or row.level: row for row in validation.rubric.rows}
    assert list(rows) == ["right", "brief", "kind", "micro", "two_stage", "macro", "item"]
    assert [rows[name].weight for name in RUBRIC["criteria"]] == [3, 1, 2]
    hit_rates = {name: row.hit_rate["judge"].value for name, row in rows.items()}
    assert hit_rates == pytest.approx(
        {"right": 3 / 4, "brief": 1, "kind": 1, "item": 3 / 4}
        | dict.fromkeys(("micro", "two_stage", "macro"), 11 / 12)
    )
    assert (rows["right"].n, rows["micro"].n, rows["item"].n) == (4, 12, 4)
    assert rows["item"].met == 3 / 4
    text = render(validation)
    assert "met at 50% of the weight of its criteria" in text.replace("\n", " ")
    assert "one verdict per item" in text
    assert "Kappa with most raters. An item is met" in page(validation)


def test_each_criterion_is_asked_as_a_unit_of_its_own_with_its_description():
    """The prompt names one criterion."""
    task = example(ANSWERS).task
    shown = [Prompts.load(task).messages(item, "forced_choice")[-1].content for item in task.items]
    assert "Criterion: right - every figure is in the source\n" in shown[0]
    assert "Criterion: brief\n" in shown[1]
    assert "brief" not in shown[0]


@pytest.mark.parametrize(
    ("rubric", "items", "message"),
    [
        ("{criteria: {x: , y: }}", "i1,g,x\ni2,g,z", "item 'i2' has criterion 'z'"),
        ("{criteria: {x: , y: }}", "i1,g,x\ni2,,y", "item 'i2' has no group"),
        (
            "{criteria: {x: , y: }}",
            "i1,g,x\ni2,h,y",
            "group 'g' has the criteria x. A group needs each",
        ),
        ("{criteria: {x: }}", "i1,g,x", "rubric.criteria"),
        ("{criteria: {x: , y: {weight: 0}}}", "i1,g,x\ni2,g,y", "rubric.criteria.y.weight"),
    ],
)
def test_a_rubric_must_fit_the_items(tmp_path, rubric, items, message):
    """Every group holds each criterion once."""
    (tmp_path / "task.yaml").write_text(
        "name: t\nproperty: p\nscale: binary\noptions: [MET, UNMET]\npositive: [MET]\n"
        f"rubric: {rubric}\n"
    )
    (tmp_path / "items.csv").write_text(f"id,group,criterion\n{items}\n")
    rated = "".join(f"{line.split(',')[0]},r,MET\n" for line in items.splitlines())
    (tmp_path / "ratings.csv").write_text("item,rater,value\n" + rated)
    with pytest.raises(TaskError, match=message):
        load_task(tmp_path)


def test_a_rubric_needs_a_binary_scale():
    """MET and UNMET, or two options like them."""
    with pytest.raises(ValueError, match="rubric: a rubric needs a binary scale"):
        task_of({"r": {"i": "A"}}, options=("A", "B", "C"), rubric=RUBRIC)
