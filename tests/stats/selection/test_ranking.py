"""Places of judges, and the difference of two."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from harness import stats
from harness.stats.inference.metric import mean, no_items
from harness.stats.selection.ranking import Ranked, Ranking, compare, ranks_of


def ranks(better, values):
    """Rank judges by their values."""
    metric = stats.Metric(name="metric", value=mean, reason=str, better=better, bounds=(-1.0, 1.0))
    return ranks_of(metric.losses(np.array(values, dtype=float)))


def compared(losses, replicates=None, largest=np.inf):
    """Compare judge b with judge a, whose replicates scatter around their losses."""
    if replicates is None:
        drawn = np.random.default_rng(0).normal(0, 0.01, (2, 400))
        replicates = np.array(losses)[:, None] + drawn
    return compare(
        ("b", "a"),
        np.array(losses)[::-1],
        replicates[::-1],
        level=0.95,
        unit="item",
        n_units=30,
        largest=largest,
    )


@pytest.mark.parametrize(
    ("better", "places"), [("higher", [3, 2, 1]), ("lower", [1, 2, 3]), ("zero", [2, 1, 3])]
)
def test_direction_is_data_on_the_row(better, places):
    """The ranker reads ``better`` and nothing else."""
    assert ranks(better, [-0.4, 0.1, 0.9]) == places


def test_signed_bias_is_minimised():
    """-0.4 does not beat 0: bias ranks by its absolute value."""
    assert ranks("zero", [-0.4, 0.0, 0.3]) == [3, 1, 2]


def test_undefined_judges_have_no_rank():
    """NA is no score: it neither wins nor is told apart."""
    assert ranks("lower", [np.nan, 0.2, 0.1]) == [None, 2, 1]
    assert ranks("lower", [np.nan, np.nan]) == [None, None]
    assert compared([0.1, np.nan]).value is compared([0.1, np.nan]).interval is None


def test_equal_values_share_a_rank():
    """1, 1, 3, in the order given."""
    assert ranks("higher", [0.5, 0.7, 0.7]) == [3, 1, 1]


def test_the_best_is_the_first_that_has_a_rank():
    """A ranking on a line names its judges in order."""
    rows = (Ranked("c", 1), Ranked("a", None))
    ranking = Ranking("metric", "lower", "", rows)
    assert (repr(ranking), ranking.best) == ("Ranking('metric', c < a)", "c")
    assert Ranking("metric", "lower", "", rows[1:]).best is None
    assert Ranking("metric", "lower", "", ()).best is None


def test_judges_that_cannot_be_told_apart_from_the_best():
    """The interval of the difference holds 0."""
    near, far = compared([0.10, 0.101]), compared([0.10, 0.5])
    assert near.interval.low < 0 < near.interval.high
    assert (far.judge, far.reference) == ("b", "a")
    assert far.value == pytest.approx(0.4)
    assert far.interval.low > 0


def test_differences_are_paired():
    """Judges that move together are told apart although their own intervals overlap."""
    rng = np.random.default_rng(1)
    common = rng.normal(0, 1, 400)
    replicates = np.stack([0.1 + common, 0.2 + common + rng.normal(0, 0.01, 400)])
    assert compared([0.1, 0.2], replicates).interval.low > 0


def test_difference_without_spread_is_no_evidence_unless_it_is_bounded():
    """The same difference in every resample may be otherwise on one more item."""
    common = np.random.default_rng(1).normal(0, 1, 400)
    replicates = np.stack([0.1 + common, 0.2 + common])
    assert compared([0.1, 0.2], replicates).interval is None
    bounded = compared([0.1, 0.2], replicates, largest=1.0)
    assert bounded.interval.low < 0 < bounded.interval.high


def test_identical_judges_cannot_be_told_apart():
    """A difference of 0 in every resample is no difference, whatever the rounding."""
    same = np.random.default_rng(1).normal(0, 1, 400)
    interval = compared([0.1, 0.1], np.stack([same, same + 1e-16])).interval
    assert interval is None or interval.low <= 0


def test_without_replicates_nothing_is_told_apart():
    """No interval, no claim."""
    assert compared([0.1, 0.9], np.empty((2, 0))).interval is None


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
