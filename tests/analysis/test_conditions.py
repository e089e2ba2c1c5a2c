"""Conditions: one grammar and one evaluator for gates, looks, pytest and ``--fail-unless``."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sliced_judges import planted

from harness.analysis.conditions import SIGNS, ComparedQuantity, Condition, read_conditions
from harness.analysis.decision import VERDICTS
from harness.app.gates import check_requirements
from harness.cli.options import exit_code_of
from harness.errors import ExitCode
from harness.revalidation.fail_on import failures, read_fail_on
from harness.revalidation.records import Baseline, DecisionFacts, Figure, JudgeLook, Look
from harness.stats import METRICS, Estimate, Interval
from harness.testing import assert_judge

NAMES = st.sampled_from(
    [*sorted({row.name for row in METRICS}), "beta", "slice(url=http://a, b).agreement"]
)
QUANTITIES = st.builds(
    ComparedQuantity, NAMES, st.sampled_from(["value", "lower", "upper"]), st.booleans()
)
LIMITS = st.floats(allow_nan=False, allow_infinity=False)
CONDITIONS = st.one_of(
    st.sampled_from(["changed", "not comparable"]).map(Condition),
    st.lists(st.sampled_from(VERDICTS), min_size=1, unique=True).map(
        lambda verdicts: Condition(verdicts=tuple(verdicts))
    ),
    st.builds(
        Condition,
        judge=st.sampled_from([None, "gpt", "ollama/llama3:8b"]),
        quantity=QUANTITIES,
        sign=st.sampled_from(list(SIGNS)),
        limit=LIMITS,
        is_multiple=st.booleans(),
    ),
)


@given(CONDITIONS)
def test_a_condition_is_read_as_it_is_written(condition):
    """The text of a condition is the same condition."""
    assert Condition.read(str(condition)) == condition


@given(st.lists(CONDITIONS, min_size=1, max_size=4))
def test_a_list_of_conditions_is_split_between_them(conditions):
    """Commas in names of metrics and slices don't separate conditions."""
    assert read_conditions(", ".join(map(str, conditions))) == tuple(conditions)


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_none(text):
    """Nothing raises, and what is read is a word, verdicts or a number."""
    condition = Condition.read(text)
    if condition is not None:
        parts = [condition.word, condition.verdicts, condition.quantity]
        assert sum(map(bool, parts)) == 1


@given(
    *(st.floats(-2, 2) for _ in range(3)),
    st.booleans(),
    st.sampled_from(["value", "lower", "upper"]),
)
def test_a_quantity_without_its_sign_is_that_of_the_absolute_value(a, b, c, absolute, end):
    """Its interval is the image of the interval; without an interval, an end is NA."""
    low, value, high = sorted((a, b, c))
    quantity = ComparedQuantity("bias", end, absolute)
    interval = Interval(low, high, level=0.95, method="score", unit="item")
    compared = quantity.of(Estimate(value=value, n_used=9, interval=interval)).value
    inside = [abs(x) if absolute else x for x in (low, value, high)]
    inside += [0.0] if absolute and low <= 0 <= high else []
    expected = {"lower": min(inside), "upper": max(inside), "value": inside[1]}
    assert compared == expected[end]
    if end != "value":
        assert quantity.of(Estimate(value=value, n_used=9)).reason == "no_interval"


@pytest.fixture(scope="module")
def validation():
    return planted()


def _look(validation, quantity):
    """Return a look that found exactly what a validation did."""
    judge = validation.judges[0]
    na = Estimate(value=None, reason="not_computed", n_used=0)
    found = quantity.of(judge.metrics.get(quantity.name, na))
    figure = Figure(name=str(quantity), look=found.value, n=found.n_used, reason=found.reason)
    decision = DecisionFacts(
        metric="m", verdict=validation.decision.verdict, judge=None, n_rated=9, judges=()
    )
    row = JudgeLook(judge=judge.name, figures=(figure,))
    return Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=(row,), decision=decision)


def _fails_a_look(text, look):
    baseline: Any = SimpleNamespace(spec=Baseline)  # conditions on numbers don't read it
    return bool(failures(read_fail_on(text), look, baseline))


def _is_asserted(validation, quantity, sign, limit):
    metric = assert_judge(validation, validation.judges[0].name).metric(str(_plain(quantity)))
    assertion = metric.at_least if sign == ">=" else metric.at_most
    try:
        assertion(limit, end=quantity.end)
    except AssertionError:
        return False
    return True


def _plain(quantity):
    return ComparedQuantity(quantity.name, is_absolute=quantity.is_absolute)


@pytest.mark.parametrize("end", ["value", "lower", "upper"])
@pytest.mark.parametrize("is_absolute", [False, True])
def test_gates_looks_and_pytest_decide_the_same_on_every_metric(validation, end, is_absolute):
    """A number on one side of its limit passes or fails for all; an NA one passes for none."""
    judge = validation.judges[0]
    for (name, estimate), sign in product(judge.metrics.items(), (">=", "<=")):
        quantity = ComparedQuantity(name, end, is_absolute)
        value = quantity.of(estimate).value
        for limit in (0.5,) if value is None else (value - 1e-6, value, value + 1e-6):
            text = f"{judge.name}: {quantity}{sign}{limit!r}"
            [gate] = check_requirements(validation, [text])
            assert gate.passed == _is_asserted(validation, quantity, sign, limit), text
            look = _look(validation, quantity)
            assert _fails_a_look(text, look) == (value is None or gate.passed), text


def test_gates_looks_pytest_and_fail_unless_decide_the_same_on_every_verdict(validation):
    """A weaker verdict fails each of them, the same and a stronger one none."""
    judge = validation.judges[0].name
    for (strength, verdict), (demand, least) in product(enumerate(VERDICTS), enumerate(VERDICTS)):
        text, passes = f"decision>={least}", strength <= demand
        decided: Any = SimpleNamespace(
            judges=(validation.judges[0],),
            slices=None,
            race=None,
            decision=SimpleNamespace(verdict=verdict, judge=judge, reason=""),
            completeness=dict,
        )
        assert check_requirements(decided, [text])[0].passed == passes
        assert _fails_a_look(text, _look(decided, ComparedQuantity("beta"))) == passes
        assert (exit_code_of(decided, least) == ExitCode.DONE) == passes
        assertion = assert_judge(decided, judge)
        if passes:
            assertion.is_recommended(least=least)
        else:
            with pytest.raises(AssertionError, match=f"not {least}"):
                assertion.is_recommended(least=least)
