"""Two runs of the same judges: shared items, one set of ratings, and adjusted tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.analysis_inputs import source_of, task_of

from harness.analysis.run_comparison import compare_runs
from harness.errors import TaskError
from harness.report.comparison import scope
from harness.stats.inference.multiple_testing import holm

N = 60


def run_of(accuracies, seed=0, names=None):
    """Make a run on items i0, i1, ... whose raters agree; judges are right so often."""
    rng = np.random.default_rng(seed)
    names = names or [f"i{i}" for i in range(N)]
    truth = {name: "AB"[i % 2] for i, name in enumerate(names)}
    ratings = {f"r{j}": truth for j in range(3)}
    judges = {
        judge: {
            name: value if rng.random() < accuracy else "AB"[value == "A"]
            for name, value in truth.items()
        }
        for judge, accuracy in accuracies.items()
    }
    return source_of(task_of(ratings), judges)


def test_judges_of_both_runs_are_compared_on_shared_items():
    """Others are left out; each p-value is adjusted for all tests made."""
    first = run_of({"y": 0.9, "z": 0.7, "old": 0.5})
    second = run_of({"y": 0.9, "z": 0.7, "new": 0.5}, 1, [f"i{i}" for i in range(20, 20 + N)])
    result = compare_runs(first, second, ["js_divergence(s/s)"])
    assert (result.n_items, result.n_shared) == ((N, N), 40)
    assert {row.judge for row in result.metrics} == {"y", "z"}
    tested = [row for row in result.metrics if row.result.p is not None]
    assert [row.p_adjusted for row in tested] == pytest.approx(
        holm([row.result.p for row in tested]).tolist()
    )
    assert all(row.result.n_items == 40 for row in result.metrics)


def test_a_run_compared_with_itself_differs_in_nothing():
    """No difference, no better or worse item, and p = 1."""
    source = run_of({"y": 0.8})
    for row in compare_runs(source, source).metrics:
        assert row.result.difference == 0.0
        assert row.result.p in {None, 1.0}


def test_comparisons_of_sampled_items_say_that_they_describe_the_sample():
    """Items that were equally likely need no such sentence."""

    def sampled(probabilities):
        source = run_of({"y": 0.8})
        items = [
            replace(item, fields={**item.fields, "inclusion_probability": probabilities[i % 2]})
            for i, item in enumerate(source.items)
        ]
        return replace(source, items=tuple(items))

    unequal, equal = (
        compare_runs(source, source) for source in map(sampled, [("0.5", "0.25"), ("0.5", "0.5")])
    )
    assert (unequal.sampled, equal.sampled) == (True, False)
    assert scope(("a", "b"), unequal).endswith("it describes the sample.")
    assert "sample" not in scope(("a", "b"), equal)


def test_items_whose_text_changed_are_not_shared():
    """They are other items, though their id is the same."""
    source = run_of({"y": 0.8})
    edited = [replace(item, fields={"text": "other"}) for item in source.items[:10]]
    changed = replace(source, items=(*edited, *source.items[10:]))
    assert compare_runs(source, changed).n_shared == N - 10


def test_runs_of_tasks_with_other_options_are_not_compared():
    """One line says which options each has."""
    source = run_of({"y": 0.8})
    task = task_of({"r": {"i0": "A"}}, options=("A", "C"))
    with pytest.raises(TaskError, match=r"options A, B .*options A, C"):
        compare_runs(source, source_of(task, {"y": {"i0": "A"}}))


@pytest.mark.slow
def test_same_judges_are_told_apart_in_at_most_five_percent():
    """Family-wise, over judges and metrics, in 100 pairs of runs."""
    n_rejected = 0
    for seed in range(100):
        first, second = (run_of({"y": 0.8, "z": 0.6}, 2 * seed + i) for i in range(2))
        tests = [
            row.p_adjusted
            for row in compare_runs(
                first.with_settings(n_resamples=2), second.with_settings(n_resamples=2)
            ).metrics
            if row.p_adjusted is not None
        ]
        n_rejected += min(tests) <= 0.05
    assert n_rejected <= 0.05 * 100
