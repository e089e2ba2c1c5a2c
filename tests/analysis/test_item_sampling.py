"""Validation of items that were sampled with unequal probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import indeterminate_source, indeterminate_task

from harness.analysis import validate
from harness.analysis.choice_checks import check_choices
from harness.analysis.estimates import prepare
from harness.analysis.inputs import on_sampling
from harness.analysis.serialize import to_json
from harness.errors import TaskError
from harness.options.concerns import Choices
from harness.report.judge_card import judge_card
from harness.stats import evaluate, find_metric

N = 30


@pytest.fixture(scope="module")
def task():
    return indeterminate_task(N, 5)


def source_of(task, probabilities, **choices):
    items = tuple(
        item if p is None else replace(item, fields={**item.fields, "inclusion_probability": p})
        for item, p in zip(task.items, probabilities, strict=True)
    )
    sampled = task.model_copy(update={"items": items})
    return indeterminate_source(sampled, judges=("lenient",), n_resamples=20, **choices)


def test_metrics_and_ranking_are_weighted_and_a_note_says_so(task):
    """By hand: the weighted mean of the items' squared distances; beta and strata stay."""
    probabilities = ["0.5" if i % 3 else "0.25" for i in range(N)]
    plain = validate(source_of(task, [None] * N))
    source = source_of(task, probabilities)
    weighted, p = validate(source), prepare(source)
    row = find_metric("mse(s/s)", p.compared.rows)
    [judge] = p.judges
    shares = [t.forced_choice / t.forced_choice.sum(axis=1)[:, None] for t in (p.human, judge)]
    added = row.contributions(*shares)
    weights = np.array([1 / float(text) for text in probabilities])
    expected = float(row.value(weights @ added))
    value = weighted.judge("lenient").metrics["mse(s/s)"].value
    assert value == pytest.approx(expected)
    assert value != pytest.approx(plain.judge("lenient").metrics["mse(s/s)"].value, abs=1e-4)
    [ranked] = weighted.evidence.judges
    assert ranked.value == pytest.approx(
        weighted.judge("lenient").metrics[weighted.evidence.metric].value
    )
    agreement = weighted.humans.agreement["pairwise_agreement"]
    settings = {"tau": 0.5, "positive": (), "weights": p.compared.weights}
    among = evaluate(p.human, (), resampling=p.resampling(groups=None), **settings).human_agreement
    assert agreement.value == pytest.approx(among["pairwise_agreement"].value)
    assert agreement.value != plain.humans.agreement["pairwise_agreement"].value
    assert weighted.certainty == plain.certainty
    assert to_json(weighted.replacement) == to_json(plain.replacement)
    assert (weighted.sampling.weighted, plain.sampling.weighted) == (True, False)
    [note] = [note for note in weighted.notes if "inclusion_probability" in note]
    assert (
        "30 items represent 80 items that could be sampled, and are as informative as 27 equally"
        in note
    )
    assert note.endswith("and sensitivity describe the sample")
    assert "weighted by the inverse of their inclusion probability" in judge_card(weighted)


def test_equal_probabilities_change_nothing(task):
    """Items that were equally likely count alike, and no note is needed."""
    plain, sampled = (prepare(source_of(task, [text] * N)) for text in (None, "0.125"))
    assert sampled.compared.weights is None
    assert sampled.evaluation.estimates == plain.evaluation.estimates
    assert on_sampling(sampled.source.items, is_weighted=False) == ""


def test_whole_items_are_not_weighted():
    """At level item a decision is about a group, which has no probability; a note says so."""
    task = indeterminate_task(N, 5)
    source = source_of(task, ["0.5", "0.25"] * (N // 2), level="item")
    assert prepare(source).compared.weights is None
    assert "numbers describe the sample" in on_sampling(source.items, is_weighted=False)


@pytest.mark.parametrize("wrong", [None, "", "0", "1.2", "often"])
def test_items_without_a_probability_are_named(task, wrong):
    """Before any judge is asked: no item counts for nothing, or for a guess."""
    items = source_of(task, ["0.5"] * (N - 1) + [wrong]).items
    with pytest.raises(TaskError, match="inclusion_probability of item i29 is"):
        check_choices(task, items, Choices())
