"""The advantage probability on numbers and texts: the annotator test's rho, with an interval."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.analysis_inputs import coherence_as_numbers, source_of, task_of
from support.known_answers import golden_cases

from harness import stats
from harness.analysis import validate
from harness.errors import TaskError
from harness.options.concerns import Choices
from harness.report import render
from harness.stats.open_scales.open_wins import OpenWins

COVERAGE = Path(__file__).resolve().parents[3] / "docs" / "coverage.md"
N_ITEMS, N_SETS = 100, 1_000
NOISE = {"better": 0.8, "worse": 1.3}  # of the judges; raters have 1
WORDS = ("red", "red house", "a house", "blue", "")

rated = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcde"), st.integers(0, 4), max_size=5),
              st.integers(0, 4)),
    min_size=1,
    max_size=10,
)  # fmt: skip


def ratings_of(rows, value):
    """Return {rater: {item: value}} and {item: verdict} of drawn rows."""
    ratings = {}
    for i, (of_item, _) in enumerate(rows):
        for rater, code in of_item.items():
            ratings.setdefault(rater, {})[f"i{i}"] = value(code)
    return ratings, {f"i{i}": value(code) for i, (_, code) in enumerate(rows)}


@pytest.mark.parametrize("scale", ["continuous", "text"])
@given(rows=rated)
@settings(max_examples=40, deadline=None)
def test_it_is_the_rho_of_the_annotator_test(scale, rows):
    """For any ratings and verdicts, at one reply each."""
    value = str if scale == "continuous" else WORDS.__getitem__
    ratings, verdicts = ratings_of(rows, value)
    read = float if scale == "continuous" else str
    panel = stats.Panel.of(
        ((item, rater, read(v)) for rater, of in ratings.items() for item, v in of.items()),
        items=list(verdicts),
    )
    score = "neg_rmse" if scale == "continuous" else lambda x, y: float(x == y)
    design = stats.AltTestDesign(score=score, eps=0.1)
    judge = OpenWins.of(panel, design).judge(
        "z", np.arange(len(verdicts)), [read(v) for v in verdicts.values()]
    )
    got = judge.valued(np.ones(len(verdicts), dtype=bool))(np.ones((1, len(verdicts))))[0]
    expected = stats.annotator_test(
        panel, {item: read(v) for item, v in verdicts.items()}, design
    ).advantage.value
    assert np.isnan(got) if expected is None else got == pytest.approx(expected)


def numbers(rng, n_items=N_ITEMS, n_raters=3):
    """Draw (n, m) ratings and each judge's numbers around a truth."""
    truth = rng.normal(0, 1, n_items)
    judges = {name: truth + rng.normal(0, noise, n_items) for name, noise in NOISE.items()}
    return truth[:, None] + rng.normal(0, 1, (n_items, n_raters)), judges


def source_of_numbers(rng, **choices):
    x, judges = numbers(rng)
    items = [f"i{i}" for i in range(len(x))]
    ratings = {f"r{j}": dict(zip(items, map(str, row), strict=True))
               for j, row in enumerate(x.T.tolist())}  # fmt: skip
    verdicts = {name: dict(zip(items, map(str, y.tolist()), strict=True))
                for name, y in judges.items()}  # fmt: skip
    task = task_of(ratings, scale="continuous", options=(), positive=(), bounds=(-9.0, 9.0),
                   rater_ids=choices.pop("rater_ids", "real"))  # fmt: skip
    return source_of(task, verdicts, metric="advantage", **choices)


def test_validate_ranks_numbers_by_it():
    """In order, with intervals, baselines and paired differences, beside the other metrics."""
    result = validate(source_of_numbers(np.random.default_rng(0)))
    first, second = result.evidence.judges
    assert (first.judge, second.judge) == ("better", "worse")
    published = {row.judge: row.test.advantage.value for row in result.replacement.judges}
    for row in (first, second):
        assert row.value == pytest.approx(published[row.judge])
        assert row.estimate.interval.low < row.value < row.estimate.interval.high
    assert second.difference.value == pytest.approx(first.value - second.value)
    baselines = {row.name: row.value for row in result.evidence.baselines}
    assert max(baselines["mean"], baselines["median"]) <= baselines["best_constant"] < first.value
    assert result.judge("better").metrics["rmse"].value is not None
    text = render(result)
    assert "advantage" in text


def test_several_replies_count_alike():
    """Each reply of an item wins or not; the item counts by their share."""
    panel = stats.Panel.of([("i", rater, 0.0) for rater in "abc"], items=["i"])
    wins = OpenWins.of(panel, stats.AltTestDesign(score="neg_rmse", eps=0.1))
    judge = wins.judge("z", np.zeros(4, dtype=np.int64), [0.0, 0.0, 0.0, 9.0])
    assert judge.valued(np.ones(1, dtype=bool))(np.ones((1, 1)))[0] == 0.75


def test_without_names_of_raters_it_is_refused():
    """Positions within an item are no people."""
    with pytest.raises(TaskError, match="compares judges with people, but rater_ids is positional"):
        validate(source_of_numbers(np.random.default_rng(0), rater_ids="positional"))


@pytest.mark.slow
def test_judges_of_summeval_are_ranked_as_published(truth, tmp_path):
    """Coherence as a number from 1 to 5: the metric is the known rho of each judge."""
    result = validate(coherence_as_numbers(truth, tmp_path, Choices(metric="advantage")))
    known = {
        case["inputs"]["judge"]: case["expect"]["rho"]
        for case in golden_cases("alt_test")
        if case["id"].startswith("alt5/summeval/coherence/")
    }
    values = {row.judge: row.value for row in result.evidence.judges if row.judge in known}
    assert {name: pytest.approx(known[name]) for name in values} == values
    assert list(values) == sorted(values, key=known.__getitem__, reverse=True)
    assert len(values) >= 2


def shares_held():
    """Return how often intervals of rho, and of the difference of two judges, hold the truth."""
    design = stats.AltTestDesign(score="neg_rmse", eps=0.1)

    def values_of(x, judges):
        n = len(x)
        items = [str(i) for i in range(n)]
        panel = stats.Panel.of(
            ((items[i], str(j), v) for (i, j), v in np.ndenumerate(x)), items=items
        )
        wins = OpenWins.of(panel, design)
        every = np.ones(n, dtype=bool)
        return [wins.judge(k, np.arange(n), y.tolist()).valued(every) for k, y in judges.items()]

    rng = np.random.default_rng(1)
    truth = [float(v(np.ones((1, 100_000)))[0]) for v in values_of(*numbers(rng, 100_000))]
    held = np.zeros(2)
    for seed in range(N_SETS):
        source = source_of_numbers(np.random.default_rng([2, seed]), n_resamples=500)
        leader, second = validate(source).evidence.judges
        better = leader if leader.judge == "better" else second
        interval, difference = better.estimate.interval, second.difference.interval
        gap = truth[0] - truth[1] if leader is better else truth[1] - truth[0]
        held += (
            interval.low <= truth[0] <= interval.high,
            difference.low <= gap <= difference.high,
        )
    return held / N_SETS


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_intervals_hold_the_advantage_of_numbers_as_often_as_the_docs_say():
    """At least 92 % of them at 100 items, of a judge and of the difference of two."""
    held = shares_held()
    assert held.min() >= 0.92
    row = rf"advantage on numbers, {N_ITEMS} items, 3 raters \| ([\d.]+) % \| ([\d.]+) % \|"
    documented = [float(x) for x in re.search(row, COVERAGE.read_text(encoding="utf-8")).groups()]
    np.testing.assert_allclose(held * 100, documented, atol=0.05)
