"""Validation on a continuous scale: decision, evidence, and what is refused."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from support.analysis_inputs import INVALID, source_of, task_of

from harness.analysis import validate
from harness.analysis.choice_checks import check_choices, check_metric
from harness.analysis.result import Validation
from harness.errors import TaskError
from harness.options.concerns import Choices
from harness.report import judge_card, page, ranking_csv
from harness.report.text import render
from harness.tasks import CANNOT_ASSESS
from harness.tasks.schema import number_text

N = 90


@pytest.fixture(scope="module")
def validation():
    return validate(example())


def example(bounds=(0, 100), **choices):
    """Make a source of 90 items with a good judge, a constant one and one that answers little."""
    rng = np.random.default_rng(3)
    quality = rng.uniform(20, 80, N)
    ratings = {
        f"r{j}": {f"i{i}": number_text(round(quality[i] + rng.normal(0, 8), 1)) for i in range(N)}
        for j in range(4)
    }
    judges = {
        "good": {f"i{i}": number_text(round(quality[i] + rng.normal(0, 4), 2)) for i in range(N)},
        "constant": {f"i{i}": "50" for i in range(N)},
        "silent": {f"i{i}": "50" if i < 10 else INVALID for i in range(N)},
    }
    task = task_of(
        ratings, options=(), positive=(), scale="continuous", bounds=bounds, abstain=False
    )
    return source_of(task, judges, **choices)


def test_the_decision_has_the_form_of_other_scales(validation):
    """The good judge is used; a constant one is no better than the mean of the ratings."""
    decision = validation.decision
    assert (decision.verdict, decision.judge) == ("use", "good")
    assert decision.significantly_worse == ("constant",)
    assert all(check.passed for check in decision.checks.values())
    assert decision.checks["one_human"].threshold == pytest.approx(5.0)
    rows = {row.judge: row for row in validation.evidence.judges}
    assert rows["constant"].better_than == {
        "mean": False,
        "median": False,
        "best_constant": False,
        "prior": True,
    }
    assert not rows["silent"].ranked
    assert rows["good"].annotator_test.passes
    assert rows["constant"].annotator_test.passes is False
    assert validation.replacement.score == "neg_rmse"


def test_every_metric_has_a_value_an_interval_or_a_reason(validation):
    """Correlations with a constant judge are NA."""
    good, constant = (validation.judge(name).metrics for name in ("good", "constant"))
    assert all(validation.metric(name).name == name for name in good)
    assert all(row.interval.low < row.value < row.interval.high for row in good.values())
    assert {name for name, row in constant.items() if row.value is None} == {"pearson", "spearman"}
    assert constant["pearson"].reason == constant["spearman"].reason == "constant_labels"
    assert good["rmse"].n_used == N
    silent = validation.judge("silent")
    assert (silent.own.n_used, silent.own.n_excluded) == (10, 80)
    assert silent.metrics["rmse"].reason == "too_few_answered"
    assert validation.humans.agreement["krippendorff_alpha_interval"].value > 0.7


def test_results_are_shown_without_words_of_options(validation):
    """Terminal, page, card and JSON hold the numbers; beta, cut-off and options do not occur."""
    text, html = render(validation, details=True), page(validation)
    card = judge_card(validation)
    assert "root mean squared error" in text
    assert "mean rating" in text
    for shown in (text, card):
        assert not any(
            word in shown for word in ("beta", "cut-off", "same decision", "forced choices")
        )
    assert "Translation matrices" not in html
    assert "beta-hat</th>" not in html
    first = next(csv.DictReader(ranking_csv(validation).splitlines()))
    assert (first["rank_low"], first["judge"], first["metric"]) == ("1", "good", "rmse")
    assert Validation.from_json(validation.to_json()) == validation


def test_a_single_judge_that_answered_too_little_raised_a_value_error():
    """Without a ranked judge there is no recommendation, on numbers, texts and options alike."""
    names = [f"i{i}" for i in range(N)]
    for scale, options, values in (
        ("continuous", (), ("10", "20", "60")),
        ("text", (), ("a house", "the house", "my ship")),
        ("nominal", ("a", "b"), ("a", "b", "b")),
    ):
        raters = {f"r{j}": dict.fromkeys(names, value) for j, value in enumerate(values)}
        task = task_of(raters, options=options, positive=(), scale=scale, abstain=False)
        answers = {name: values[0] if i < 10 else INVALID for i, name in enumerate(names)}
        validation = validate(source_of(task, {"silent": answers}))
        assert validation.decision.verdict == "none"
        assert validation.decision.reason == "too_few_answered"
        shown = (render(validation), page(validation), judge_card(validation))
        assert all("none answered 90% of 90 items" in text for text in shown)


def test_without_bounds_the_margin_is_a_share_of_the_range_of_the_ratings():
    """And a note says so; unanswered items cannot be counted as losses."""
    source = example(bounds=None)
    numbers = [float(rating.value) for rating in source.task.ratings]
    validation = validate(source)
    assert validation.evidence.margin == pytest.approx(0.05 * (max(numbers) - min(numbers)))
    assert any("no bounds" in note for note in validation.notes)
    assert validation.decision.checks["with_losses"].passed


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"metric": "cohen_kappa(h/h)"}, "is not a metric of a continuous scale. Use rmse, mse,"),
        ({"tau": 0.4}, "--tau has no meaning on a continuous scale"),
        ({"beta": 0.2}, "--beta has no meaning"),
        ({"mode": "recode"}, "--mode has no meaning"),
        ({"replies": 3}, "Drop --replies"),
    ],
)
def test_choices_that_need_options_are_rejected(choices, message):
    """Before anything is asked, and by `validate`."""
    source = example()
    with pytest.raises(TaskError, match=message):
        check_choices(source.task, source.items, Choices(**choices))
    with pytest.raises(TaskError, match=message):
        validate(example(**choices))
    with pytest.raises(TaskError, match="no metric is named"):
        check_metric(source.task, Choices(), "cohen_kappa(h/h)")


def test_judges_can_be_ranked_by_correlation():
    """Constant judges and baselines have none."""
    validation = validate(example(metric="spearman"))
    assert validation.evidence.judges[0].judge == "good"
    values = {row.name: row.value for row in validation.evidence.baselines}
    assert values["mean"] is values["median"] is None
    assert values["prior"] == pytest.approx(0.0, abs=1e-9)
    assert "constant" in validation.decision.unranked


@pytest.mark.parametrize("what", ["space", "audit"])
def test_calls_that_need_options_say_so(what):
    """One line with the task and the reason."""
    task = example().task
    with pytest.raises(TaskError, match="needs options to choose from, but a continuous scale"):
        task.space if what == "space" else task.require_options("an audit")


def test_ratings_that_are_all_abstentions_have_no_median():
    """A judge of numbers that nobody rated is NA, not an error."""
    task = task_of(
        {"r": {f"i{i}": CANNOT_ASSESS for i in range(4)}},
        options=(),
        positive=(),
        scale="continuous",
    )
    result = validate(source_of(task, {"j": {f"i{i}": "3" for i in range(4)}}))
    assert result.decision.verdict == "none"
    assert {estimate.value for estimate in result.judge("j").metrics.values()} == {None}
