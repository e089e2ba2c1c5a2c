"""Conditions of ``--fail-on``."""

from __future__ import annotations

import pytest

from harness.revalidation.fail_on import Condition, failures, read_conditions
from harness.revalidation.history import JudgeResult, Look, MetricChange


def look_of(*judges):
    return Look(number=1, occasion=1, baseline=1, at="2026-01-08", judges=judges)


def test_conditions_are_split_outside_brackets():
    """Names of metrics hold commas and signs."""
    text = "worse,outcome-rate>0.05, kl_dirichlet_0.5(s/s, human->judge)<1e-3,not comparable"
    assert read_conditions(text) == (
        Condition("worse"),
        Condition("outcome-rate", ">", 0.05),
        Condition("kl_dirichlet_0.5(s/s, human->judge)", "<", 0.001),
        Condition("not comparable"),
    )


@pytest.mark.parametrize("text", ["", "bad", "mse(s/s)", "mse(s/s)>x", ">1", "worse,"])
def test_what_is_no_condition_is_refused(text):
    """Nothing is ignored."""
    with pytest.raises(ValueError, match="is neither one of changed, worse"):
        read_conditions(text)


def test_a_worse_judge_is_changed_too():
    """A changed one is not worse."""
    look = look_of(
        JudgeResult(judge="a", verdict="worse"), JudgeResult(judge="b", verdict="changed")
    )
    assert failures(read_conditions("changed"), look) == ["a is worse", "b is changed"]
    assert failures(read_conditions("worse"), look) == ["a is worse"]
    assert failures(read_conditions("worse,changed"), look) == ["a is worse", "b is changed"]
    assert failures(read_conditions("underpowered"), look) == []


def test_a_metric_fails_beyond_its_limit_and_where_it_is_undefined():
    """An undefined number does not pass unnoticed."""
    metrics = {
        "kappa": MetricChange(baseline=0.5, look=0.4, n_items=10),
        "f1": MetricChange(baseline=0.5, look=None, reason="no_items"),
    }
    look = look_of(JudgeResult(judge="a", verdict="stable", metrics=metrics))
    assert failures(read_conditions("kappa<0.3"), look) == []
    assert failures(read_conditions("kappa<0.45"), look) == [
        "a: kappa is 0.4 on 10 items (kappa<0.45)"
    ]
    assert failures(read_conditions("f1<0.1"), look) == ["a: f1 is NA (no_items; f1<0.1)"]
