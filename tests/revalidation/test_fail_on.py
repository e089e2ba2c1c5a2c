"""Conditions of ``--fail-on``."""

from __future__ import annotations

import re
from math import log

import pytest
from msgspec.structs import replace
from support.sliced_judges import planted_task

from harness.analysis.conditions import ComparedQuantity, Condition
from harness.analysis.slice_names import SliceName, check_slice
from harness.errors import RunError, TaskError
from harness.revalidation.fail_on import failures, read_fail_on
from harness.revalidation.records import (
    Baseline,
    DecisionFacts,
    Figure,
    InUse,
    JudgeLook,
    Look,
    ProviderReport,
)

NOT_ASKED = JudgeLook(judge="b", verdict="not asked")


def baseline_of(**reported: float | None):
    return Baseline(
        number=1,
        at="2026-01-01",
        items=("i1",),
        n_items_in_run=1,
        hashes={},
        item_hashes=("0",),
        ratings_hash="0",
        grammar_version=1,
        providers={"a": ProviderReport(models=("m",), **reported)},
        alpha=0.05,
        decision=None,
        power={},
        streams=(),
    )


BASELINE = baseline_of()


def look_of(*judges):
    return Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=judges)


def test_conditions_are_split_outside_brackets():
    """Names of metrics hold commas and signs."""
    text = "worse,outcome-rate>0.05, kl_dirichlet_0.5(s/s, human->judge)<1e-3,not comparable"
    assert read_fail_on(text) == (
        Condition("worse"),
        Condition(quantity=ComparedQuantity("outcome-rate"), sign=">", limit=0.05),
        Condition(
            quantity=ComparedQuantity("kl_dirichlet_0.5(s/s, human->judge)"), sign="<", limit=0.001
        ),
        Condition("not comparable"),
    )


def test_a_slice_fails_below_its_limit_and_where_it_is_undefined():
    """A look has the number under the name of the condition, however it was spaced."""
    [condition] = read_fail_on("slice( language = de, at ).agreement:lower < .6")
    quantity = ComparedQuantity("slice(language=de, at).agreement", "lower")
    assert condition == Condition(quantity=quantity, sign="<", limit=0.6)
    for value, lines in ((0.5, 1), (0.7, 0), (None, 1)):
        figure = Figure(
            name=str(quantity), look=value, n=20, reason="" if value else "too_few_items"
        )
        judge = JudgeLook(judge="a", figures=(figure,))
        assert len(failures((condition,), look_of(judge), BASELINE)) == lines


def test_a_condition_on_an_unknown_slice_gives_a_hint():
    """Field and value are checked before anything is asked; the message has the nearest names."""
    task = planted_task()
    check_slice(SliceName.read("slice(language=de).agreement"), task)
    with pytest.raises(TaskError, match=re.escape("Did you mean slice(language=de).agreement")):
        check_slice(SliceName.read("slice(language=dee).agreement"), task)
    with pytest.raises(TaskError, match="have no fields"):
        check_slice(SliceName.read("slice(language=de).agreement"), planted_task(fields=False))


@pytest.mark.parametrize(
    "text", ["", "bad", "mse(s/s)", "mse(s/s)>x", ">1", "worse,", "cost>2", "kappa<2x"]
)
def test_unknown_conditions_are_rejected(text):
    """Nothing is ignored."""
    with pytest.raises(RunError, match="is neither one of changed, worse"):
        read_fail_on(text)


def test_a_judge_in_use_fails_where_it_changed_and_is_shown_to_fail():
    """Neither evidence below alpha nor a judge that is unchanged fires; no test is a failure."""
    conditions = read_fail_on("decision")
    enough, human = log(2 / 0.05), "a human rater by more than 5.0% of the metric's range"
    for log_e, log_human, verdict, words in (
        (enough, 0.0, "changed", 'always answering "A" (p = 0.050)'),
        (0.0, 20.0, "worse", f"{human} (p <0.001)"),
        (enough - 1e-9, None, "changed", None),
        (enough, 20.0, "stable", None),
    ):
        test = InUse(
            judge="a",
            constant="A",
            margin=0.05,
            log_e_constant=log_e,
            log_e_human=log_human,
        )
        look = replace(look_of(JudgeLook(judge="a", verdict=verdict)), in_use=test)
        expected = (
            [f"a, the judge in use, has been shown to be worse than {words} (decision)"]
            if words
            else []
        )
        assert failures(conditions, look, BASELINE) == expected
    [line] = failures(conditions, look_of(NOT_ASKED), BASELINE)
    assert line == "decision is NA (the judge in use has not replied)"


def test_a_new_model_version_or_fingerprint_fails():
    """It was said, and a round in which only the name had changed ended with 0."""
    model = read_fail_on("model")
    of_baseline = baseline_of(fingerprints=("f1", "f2"))
    for reported, line in (
        ({"models": ("m",), "fingerprints": ("f2",)}, None),
        ({"models": ("m", "n"), "fingerprints": ("f1",)}, "a: model version m before, m, n now"),
        (
            {"models": ("m",), "fingerprints": ("f2", "f3")},
            "a: the provider reports a different system fingerprint",
        ),
        ({}, None),
    ):
        look = look_of(JudgeLook(judge="a", provider=ProviderReport(**reported)), NOT_ASKED)
        assert failures(model, look, of_baseline) == ([line] if line else [])


def test_a_worse_judge_is_changed_too():
    """A changed one is not worse."""
    look = look_of(JudgeLook(judge="a", verdict="worse"), JudgeLook(judge="b", verdict="changed"))
    assert failures(read_fail_on("changed"), look, BASELINE) == [
        "a is worse",
        "b is changed",
    ]
    assert failures(read_fail_on("worse"), look, BASELINE) == ["a is worse"]
    assert failures(read_fail_on("worse,changed"), look, BASELINE) == [
        "a is worse",
        "b is changed",
    ]
    assert failures(read_fail_on("underpowered"), look, BASELINE) == []


def test_a_metric_fails_beyond_its_limit_and_where_it_is_undefined():
    """An undefined number does not pass unnoticed."""
    figures = (
        Figure(name="kappa", baseline=0.5, look=0.4, n=10),
        Figure(name="f1", baseline=0.5, reason="no_items"),
    )
    look = look_of(JudgeLook(judge="a", figures=figures))
    assert failures(read_fail_on("kappa<0.3"), look, BASELINE) == []
    assert failures(read_fail_on("kappa<0.45"), look, BASELINE) == [
        "a: kappa is 0.4 on 10 items (kappa<0.45)"
    ]
    assert failures(read_fail_on("f1<0.1"), look, BASELINE) == [
        "a: f1 is NA (no item has answers from both sides; f1<0.1)"
    ]


def test_a_condition_can_name_a_judge_and_the_decision():
    """The other judges may be beyond the limit."""
    figures = (Figure(name="kappa", look=0.4, n=10),)
    look = look_of(JudgeLook(judge="a", figures=figures), JudgeLook(judge="b:1", figures=figures))
    assert failures(read_fail_on("b:1: kappa<=.4"), look, BASELINE) == [
        "b:1: kappa is 0.4 on 10 items (b:1: kappa<=0.4)"
    ]
    none = DecisionFacts(metric="kappa", verdict="none", judge=None, n_rated=9, judges=())
    [none_now] = failures(read_fail_on("decision=none"), replace(look, decision=none), BASELINE)
    assert none_now == "the decision is none (decision=none)"
    assert failures(read_fail_on("decision>=use"), replace(look, decision=none), BASELINE) == []


def look_at(**reported: float | None):
    provider = ProviderReport(models=("m",), **reported)
    answered = Figure(name="answered", elicitation="forced_choice", look=1.0, n=5)
    return look_of(JudgeLook(judge="a", provider=provider, figures=(answered,)), NOT_ASKED)


def test_cost_and_latency_fail_beyond_a_multiple_of_the_baselines():
    """Nothing is said of a judge that was not asked, and free replies are no dearer than free."""
    conditions = read_fail_on("cost>1.5x,latency>3x")
    before = baseline_of(cost=2.0, latency=0.5)
    assert failures(conditions, look_at(cost=3.0, latency=1.5), before) == []
    assert failures(conditions, look_at(cost=3.1, latency=1.6), before) == [
        "a: USD per 1,000 answers: 3.1, 2 at the baseline (cost>1.5x)",
        "a: median seconds of a reply: 1.6, 0.5 at the baseline (latency>3x)",
    ]
    free = baseline_of(cost=0.0, latency=0.5)
    assert failures(conditions, look_at(cost=0.0, latency=0.5), free) == []


def test_an_unknown_cost_does_not_pass_its_limit():
    """It may be the round's or the baseline's."""
    conditions = read_fail_on("cost>1.5x")
    known, unknown = {"cost": 100.0}, {"cost": None}
    assert failures(conditions, look_at(**unknown), baseline_of(**known)) == [
        "a: cost is NA (the value of this round is unknown; cost>1.5x)"
    ]
    assert failures(conditions, look_at(**known), baseline_of(**unknown)) == [
        "a: cost is NA (the value of the baseline is unknown; cost>1.5x)"
    ]


@pytest.mark.parametrize(
    "text", ["outcome-rate:upper>0.05", "abs(outcome-rate)>0.05", "cost:lower>1.5x", "abs(cost)>2x"]
)
def test_an_end_of_a_number_without_an_interval_is_refused(text):
    """It was taken for the number itself."""
    with pytest.raises(RunError, match="has neither a sign nor an interval"):
        read_fail_on(text)
