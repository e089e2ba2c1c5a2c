from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from harness import stats
from harness.stats import Estimate, Metric
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.metric import mean, no_items
from harness.stats.selection.evaluation import Evaluation, TableTranslation


def ranking(better, values, spread=0.01, *, replicates=None, largest=np.inf):
    """Rank judges a, b, c... whose replicates scatter around their values."""
    rng = np.random.default_rng(0)
    estimates = [
        Estimate(value=v, n_used=30)
        if v is not None
        else Estimate(value=None, reason="x", n_used=0)
        for v in values
    ]
    centres = np.array([np.nan if v is None else v for v in values])
    drawn = centres[:, None] + rng.normal(0, spread, (len(values), 400))
    drawn = drawn if replicates is None else replicates
    judges = "abcdef"[: len(values)]
    metric = Metric(
        name="metric", value=mean, reason=str, better=better, bounds=(-largest, largest)
    )
    nothing = Estimate(value=None, n_used=0)
    beta = TableTranslation(None, nothing, nothing)
    return Evaluation(
        judges=tuple(judges),
        metrics=(metric,),
        estimates={
            judge: {"metric": estimate} for judge, estimate in zip(judges, estimates, strict=True)
        },
        replicates={"metric": drawn},
        human_agreement={},
        human_translation=beta,
        translations=dict.fromkeys(judges, beta),
        tau=0.5,
        level=0.95,
        positive=(),
        units=Units.of(30, None),
    ).ranking("metric")


def close_to_best(actual):
    """Name the judges whose difference to the best may be 0."""
    compared = [row.difference for row in actual.rows if row.difference]
    return [each.judge for each in compared if not each.interval or each.interval.low <= 0]


@pytest.mark.parametrize(
    ("better", "order"), [("higher", "cba"), ("lower", "abc"), ("zero", "bac")]
)
def test_direction_is_data_on_the_row(better, order):
    """The ranker reads ``better`` and nothing else."""
    ranked = ranking(better, [-0.4, 0.1, 0.9])
    assert [row.judge for row in ranked.rows] == list(order)
    assert ranked.best == order[0]


def test_signed_bias_is_minimised():
    """-0.4 does not beat 0: bias ranks by its absolute value and keeps its sign."""
    ranked = ranking("zero", [-0.4, 0.0, 0.3])
    assert [row.judge for row in ranked.rows] == ["b", "c", "a"]
    assert ranked.rows[-1].difference.value == pytest.approx(0.4)


def test_undefined_judges_come_last_without_a_rank():
    """NA is no score: it neither wins nor is told apart."""
    ranked = ranking("lower", [None, 0.2, 0.1])
    assert [(row.judge, row.rank) for row in ranked.rows] == [("c", 1), ("b", 2), ("a", None)]
    assert ranked.rows[-1].difference is None
    assert "a" not in close_to_best(ranked)
    assert ranking("lower", [None, None]).best is None
    assert ranking("lower", []).best is None


def test_equal_values_share_a_rank():
    """1, 1, 3, in the order given."""
    ranked = ranking("higher", [0.5, 0.7, 0.7])
    assert [(row.judge, row.rank) for row in ranked.rows] == [("b", 1), ("c", 1), ("a", 3)]


def test_judges_that_cannot_be_told_apart_from_the_best():
    """The interval of the difference holds 0."""
    ranked = ranking("lower", [0.10, 0.101, 0.5])
    assert close_to_best(ranked) == ["b"]
    near, far = ranked.rows[1].difference, ranked.rows[2].difference
    assert near.interval.low < 0 < near.interval.high
    assert (far.judge, far.reference) == ("c", "a")
    assert far.interval.low > 0
    assert repr(ranked) == "Ranking('metric', a < b < c)"


def test_differences_are_paired():
    """Judges that move together are told apart although their own intervals overlap."""
    rng = np.random.default_rng(1)
    common = rng.normal(0, 1, 400)
    replicates = np.stack([0.1 + common, 0.2 + common + rng.normal(0, 0.01, 400)])
    assert not close_to_best(ranking("lower", [0.1, 0.2], replicates=replicates))


def test_difference_without_spread_is_no_evidence_unless_it_is_bounded():
    """The same difference in every resample may be otherwise on one more item."""
    common = np.random.default_rng(1).normal(0, 1, 400)
    replicates = np.stack([0.1 + common, 0.2 + common])
    [_, unbounded] = ranking("lower", [0.1, 0.2], replicates=replicates).rows
    assert unbounded.difference.interval is None
    [_, bounded] = ranking("lower", [0.1, 0.2], replicates=replicates, largest=1.0).rows
    assert bounded.difference.interval.low < 0 < bounded.difference.interval.high


def test_identical_judges_cannot_be_told_apart():
    """A difference of 0 in every resample is no difference, whatever the rounding."""
    same = np.random.default_rng(1).normal(0, 1, 400)
    replicates = np.stack([same, same + 1e-16])
    assert close_to_best(ranking("lower", [0.1, 0.1], replicates=replicates)) == ["b"]


def test_without_replicates_nothing_is_told_apart():
    """No interval, no claim."""
    ranked = ranking("lower", [0.1, 0.9], replicates=np.empty((2, 0)))
    assert close_to_best(ranked) == ["b"]
    assert ranked.rows[1].difference.interval is None


def test_loss_is_lower_for_the_better():
    """For all three directions."""
    values = np.array([-2.0, 1.0])
    wanted = {
        "higher": ([2.0, -1.0], [-1.0, -1.0], (-3.0, 4.0)),
        "lower": ([-2.0, 1.0], [1.0, 1.0], (-4.0, 3.0)),
        "zero": ([2.0, 1.0], [-1.0, 1.0], (0.0, 4.0)),
    }
    for better, (losses, signs, bounds) in wanted.items():
        metric = stats.Metric(
            name="m", value=mean, reason=no_items, better=better, bounds=(-4.0, 3.0)
        )
        assert metric.losses(values).tolist() == losses
        assert metric.loss_signs(values).tolist() == signs
        assert metric.loss_bounds == bounds


def test_direction_of_a_metric_is_read_in_one_place():
    """Other modules ask `Metric` for losses, signs and bounds; two that did not were wrong."""
    harness = Path(stats.__file__).resolve().parents[1]
    readers = {
        str(path.relative_to(harness))
        for layer in ("stats", "analysis", "revalidation", "experiments")
        for path in (harness / layer).rglob("*.py")
        if re.search(r"better\s*[!=]=", path.read_text(encoding="utf-8"))
    }
    assert readers == {"stats/inference/metric.py"}
