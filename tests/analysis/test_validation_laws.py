"""Laws of validations: any table has values, or NA with reasons, in every test and interval."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema.validators import validator_for
from support.analysis_inputs import source_of, task_of
from support.any_tables import any_sources
from support.verdicts import verdict_from

from harness.analysis import JudgeFacts, Validation, validate
from harness.analysis.inputs import metric_definitions
from harness.curation.collecting.collection_plan import Prices, moments_of, plan_difference
from harness.errors import HarnessError
from harness.report import render
from harness.report.recommendation import sentences
from harness.tasks import Rating

ANY_HEALTH = list(HealthCheck)


@cache
def metrics_validator():
    """Make the validator of the published schema of metrics.json."""
    schema = Validation.json_schema()
    return validator_for(schema)(schema)


def has_values_or_reasons(source):
    """Validate, print and plan; what metrics.json holds validates and is read back."""
    try:
        result = validate(source)
    except HarnessError:
        return  # a clear error
    text = result.to_json()
    metrics_validator().validate(json.loads(text))
    assert json.loads(Validation.from_json(text).to_json()) == json.loads(text)
    for judge in result.judges:
        for estimate in judge.metrics.values():
            assert (estimate.value is None) == bool(estimate.reason)
    assert render(result)
    if source.verdicts:
        has_plan_or_reason(source)


def has_plan_or_reason(source):
    """Plan more items from the ratings: each row has a number of items or the reason."""
    try:
        moments = moments_of(source, list(source.verdicts)[:2])
    except HarnessError:
        return
    for row in plan_difference(
        moments, 0.1, raters=(1, 3), replies=(1, 2), power=0.8, prices=Prices()
    ):
        assert (row.n_items is None) == bool(row.reason)


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=ANY_HEALTH)
@given(any_sources())
def test_any_table_has_values_or_reasons(source):
    """Constant, empty and infinite differences are no errors, and no nan is written."""
    has_values_or_reasons(source)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=2000, suppress_health_check=ANY_HEALTH)
@given(any_sources())
def test_any_of_2000_tables_has_values_or_reasons(source):
    """As `test_any_table_has_values_or_reasons`, for many more."""
    has_values_or_reasons(source)


def test_judge_that_is_always_wrong_beside_unanimous_raters_is_rejected():
    """The error of its distance to a human rater is 0: a division by it was a traceback."""
    answers = {f"i{i}": "AB"[i % 2] for i in range(30)}
    wrong = {item: {"A": "B", "B": "A"}[value] for item, value in answers.items()}
    task = task_of(dict.fromkeys(["ann", "bea", "cat"], answers))
    result = validate(source_of(task, {"wrong": wrong}))
    assert result.decision.verdict == "none"
    assert result.evidence.judges[0].human.p == 1.0


def test_validation_of_a_judge_that_shares_no_error_with_raters_is_read_back():
    """The ratio of a copy was -inf, which JSON has as null: no decision was read from a run."""
    ratings = {f"r{r}": {f"i{i}": "AB"[i % 2 ^ (i % 4 == r)] for i in range(40)} for r in range(3)}
    answers = {f"i{i}": "AB"[i % 2] for i in range(40)}
    result = validate(source_of(task_of(ratings), {"own": answers}))
    assert result.evidence.copying.log_ratio is None
    assert not result.evidence.copying.copies
    assert Validation.from_json(result.to_json()).decision == result.decision


@pytest.mark.parametrize("metric", ["js_distance(s/s)", "predictive_efficiency(h/-)", "mse(s/s)"])
def test_json_of_a_metric_with_a_unit_validates(metric):
    """The units of the first two were not in the schema."""
    has_valid_json(metric)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    [
        name
        for name in metric_definitions("ordinal", ("A", "B"), ("A",))
        if not name.startswith("mse_without_rater_noise")  # refused: it ranks nobody
    ],
)
def test_json_of_every_metric_that_ranks_validates(metric):
    """As `test_json_of_a_metric_with_a_unit_validates`, for those of all closed scales."""
    has_valid_json(metric)


def has_valid_json(metric):
    """Rank a judge by a metric; metrics.json follows its schema."""
    ratings = {f"r{r}": {f"i{i}": "AB"[(i + r) % 2] for i in range(8)} for r in range(3)}
    task = task_of(ratings, scale="ordinal")
    source = source_of(task, {"a": ratings["r0"]}, metric=metric, n_resamples=0)
    metrics_validator().validate(json.loads(validate(source).to_json()))


def test_metric_without_a_value_for_any_baseline_is_explained():
    """Constant baselines have no alpha beside unanimous raters: the sentence was a KeyError."""
    rated, judged = ({f"i{i}": value for i in range(6)} for value in "10")
    ratings = dict.fromkeys(["ann", "bea", "cat"], rated)
    task = task_of(ratings, options=(), scale="continuous", positive=())
    result = validate(source_of(task, {"zero": judged}, metric="krippendorff_alpha_interval"))
    assert "No baseline has a value to compare the judge with" in " ".join(sentences(result))


def test_constant_judge_on_ordinal_response_sets_has_a_result():
    """Sums of no columns have no keys to sort by, which was a TypeError."""
    rng = np.random.default_rng(0)
    keys = ("1", "2", "3", "4")
    ratings = tuple(
        Rating(f"i{i}", f"r{r}", "response_set", tuple(sorted({*rng.choice(keys, 2)})))
        for i in range(30)
        for r in range(3)
    )
    task = task_of({"r0": {f"i{i}": "1" for i in range(30)}}, options=keys, scale="ordinal")
    task = task.model_copy(update={"ratings": ratings, "ranks_by": "response_set"})
    verdicts = [
        verdict_from(
            item=item.id,
            judge="constant",
            elicitation="response_set",
            outcome="answered",
            sample=0,
            value=("2",),
        )
        for item in task.items
    ]
    source = replace(
        source_of(task, {}),
        judges=(JudgeFacts(name="constant"),),
        verdicts={"constant": verdicts},
        planned={"constant": {"response_set": 30}},
    )
    assert validate(source).decision.verdict == "none"


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["binary", "ordinal"])
def test_any_metric_ranks_ordinary_judges_or_is_refused(scale):
    """One that removes the noise of a judge's own replies was NA for every judge, without a why."""
    rng = np.random.default_rng(3)
    keys = "AB" if scale == "binary" else "1234"
    truth = {f"i{i}": rng.integers(len(keys)) for i in range(60)}

    def answers(accuracy):
        wrong = rng.random(60) > accuracy
        return {item: keys[(k + wrong[i]) % len(keys)] for i, (item, k) in enumerate(truth.items())}

    task = task_of({f"r{r}": answers(0.85) for r in range(4)}, scale=scale, options=tuple(keys))
    replies = {
        judge: {item: list(pair) for (item, *pair) in zip(truth, *both, strict=True)}
        for judge, accuracy in {"careful": 0.9, "careless": 0.6}.items()
        for both in [[answers(accuracy).values() for _ in range(2)]]
    }
    source = source_of(task, replies)
    for name in metric_definitions(scale, tuple(keys), task.positive):
        try:
            judges = validate(source.with_settings(metric=name, n_resamples=40)).evidence.judges
        except HarnessError:
            continue  # refused, in a sentence
        for judge in judges:
            assert (judge.value is None) == bool(judge.estimate.reason), name
