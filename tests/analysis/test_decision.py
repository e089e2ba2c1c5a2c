"""How firm an order is, and what choosing by it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import (
    indeterminate_source,
    indeterminate_task,
    source_of,
    task_of,
)

from harness.analysis import JudgeFacts, validate
from harness.analysis.decision import verdict_of
from harness.analysis.evidence_rows import BaselineEvidence
from harness.report.formatting import span
from harness.report.next_steps import next_steps
from harness.report.verdict_words import because
from harness.stats import holm


@pytest.fixture(scope="module")
def result():
    """One validation of three judges."""
    return validate(
        indeterminate_source(indeterminate_task(paired=60), judges=("strict", "lenient", "random"))
    )


def test_no_judge_is_best_by_a_goal_that_is_not_defined():
    """Without response sets of the raters the goals are NA for every judge."""
    result = validate(indeterminate_source(indeterminate_task(24)))
    assert result.decision.first_by_goal == {"decision_consistency": (), "prevalence_bias": ()}


def test_holm_against_by_hand():
    """statsmodels 0.14 multipletests(method='holm') on the same p-values; nan is not counted."""
    p = [0.01, np.nan, 0.04, 0.03, 0.005]
    np.testing.assert_allclose(holm(p), [0.03, np.nan, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="numbers between 0 and 1"):
        holm([1.5])


@pytest.mark.slow
def test_candidates_are_the_judges_that_are_ranked(result):
    """Regret is about the judges one may use: none that answered too little."""
    assert set(result.choosing.candidates) == {"lenient", "random"}
    source = indeterminate_source(indeterminate_task(24))
    every = validate(source.with_settings(min_answered=0.8))
    assert set(every.choosing.candidates) == {"strict", "lenient", "random"}
    for by_goal in result.choosing.regret.values():
        for cell in by_goal.values():
            assert "strict" not in cell.selected


def test_regret_of_a_goal_by_itself_is_nothing(result):
    """Rows are metrics, columns goals; the diagonal is 0 and no cell is negative."""
    regret = result.choosing.regret
    for goal in result.choosing.goals:
        assert regret[goal][goal].value == 0.0
        for metric, cells in regret.items():
            value = cells[goal].value
            assert value is None or value >= 0.0, metric
            assert (value is None) == bool(cells[goal].reason)


def test_choosing_is_on_shared_items():
    """What a judge answered on items that another one left out counts for neither."""
    task = indeterminate_task(paired=60)
    source = indeterminate_source(task, judges=("strict", "lenient"), min_answered=0.8)
    result = validate(source)
    shared = {item.id for i, item in enumerate(task.items) if i % 9}
    kept = {
        name: [verdict for verdict in verdicts if verdict.item in shared]
        for name, verdicts in source.verdicts.items()
    }
    alone = validate(replace(source, verdicts=kept))
    goal = "decision_consistency"
    assert {judge.metrics[goal].n_used for judge in result.judges} == {len(shared)}
    assert result.choosing.regret == alone.choosing.regret
    assert result.decision.first_by_goal == alone.decision.first_by_goal
    assert result.sensitivity.break_evens == alone.sensitivity.break_evens
    lenient = result.judge("lenient").metrics[goal]
    assert [(e.reason, e.n_items) for e in lenient.excluded] == [("not_shared", 7)]
    assert lenient == replace(alone.judge("lenient").metrics[goal], excluded=lenient.excluded)


def test_judges_that_are_not_ranked_have_no_place(result):
    """A judge that answered too little is in no order and no sweep."""
    assert result.decision.unranked == ("strict",)
    assert set(result.choosing.candidates) == {"lenient", "random"}
    assert set(result.sensitivity.grid.judges) == {"lenient", "random"}


@pytest.mark.slow
def test_goals_and_usual_metrics_are_compared_at_the_same_number_of_replies():
    """Beside a judge asked once, one asked ten times hits as often as its samples on average."""
    rng, n = np.random.default_rng(0), 40
    ratings = {f"r{j}": {f"i{i}": str(rng.choice(["A", "B"])) for i in range(n)} for j in range(5)}
    samples = {f"i{i}": [str(choice) for choice in rng.choice(["A", "B"], 10)] for i in range(n)}
    once = {item: choices[:1] for item, choices in samples.items()}
    source = source_of(task_of(ratings), {"once": once, "often": samples}, n_resamples=10)
    once, often = (judge.metrics["hit_rate(h/h)"] for judge in validate(source).judges)
    assert once.n_replies == often.n_replies == 1
    hits = []
    for k in range(10):
        of_sample = {item: [choices[k]] for item, choices in samples.items()}
        alone = validate(source_of(task_of(ratings), {"a": of_sample}, n_resamples=10))
        hits.append(alone.judge("a").metrics["hit_rate(h/h)"].value)
    assert once.value == hits[0]
    assert often.value == pytest.approx(np.mean(hits))


def test_without_judges_there_is_nothing_to_choose():
    """The section is None; the humans are described all the same."""
    result = validate(indeterminate_source(indeterminate_task(12), judges=()))
    assert result.choosing is None
    assert result.ranking is None
    assert result.sensitivity.grid.judges == {}
    assert len(result.sensitivity.grid.prevalence) == len(result.sensitivity.grid.taus)


def test_strongest_baseline_of_a_metric_whose_best_is_0_is_the_nearest_to_0():
    """One that undercounts by .4 stood as the rival in place of one that overcounts by .05."""
    source = indeterminate_source(indeterminate_task(paired=60), metric="prevalence_bias")
    evidence = validate(source).evidence
    baselines = tuple(
        BaselineEvidence(name, value, None, None)
        for name, value in (("uniform", 0.05), ("prior", -0.4))
    )
    leader, *others = evidence.judges
    for beaten, rival in (((True, True), "uniform"), ((True, False), "prior")):
        first = replace(leader, better_than=dict(zip(("uniform", "prior"), beaten, strict=True)))
        _, checks, _ = verdict_of(replace(evidence, baselines=baselines, judges=(first, *others)))
        check = checks["beats_baselines"]
        assert (check.rival, check.threshold) == (rival, 0.05 if rival == "uniform" else -0.4)


@pytest.mark.parametrize("n_judges", [1, 2, 3])
def test_perfect_judges_have_one_kind_of_interval(n_judges):
    """One had none, the next Wilson's for 0 of 182, and a human rater one of no width."""
    truth = {f"i{i}": "AB"[i % 2] for i in range(182)}
    task = task_of({f"r{j}": truth for j in range(3)})
    result = validate(source_of(task, {f"j{j}": truth for j in range(n_judges)}))
    spans = {
        row.estimate.interval and span(row.estimate.interval) for row in result.evidence.judges
    }
    assert spans == {"[0.000, 0.021]"}
    assert 0.0 == result.evidence.human_low < result.evidence.human_high


def test_control_that_comes_first_leads_a_decision_without_a_judge():
    """It answers best, and a control isn't a judge to use; the judge behind it isn't either."""
    source = indeterminate_source(indeterminate_task(), judges=("lenient", "random"))
    first = validate(source)
    assert (first.decision.judge, first.decision.leader) == ("lenient", "lenient")
    facts = (JudgeFacts(name="lenient", kind="scripted", is_control=True), source.judges[1])
    control = validate(replace(source, judges=facts))
    decision = control.decision
    assert (decision.verdict, decision.reason) == ("none", "control_first")
    assert (decision.judge, decision.leader) == (None, "lenient")
    assert control.ranking.rows[0].judge == "lenient"  # it is shown
    assert because(control) == (
        "lenient comes first, but it's a control, which isn't meant to be used."
    )
    assert next_steps(control)[0].startswith("Try another judge")
