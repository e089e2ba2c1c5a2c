"""Sequences of intervals that hold at every number of labels."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.estimation_claims import OFTEN_WIDER, WIDER, Looked, width_ratios
from harness.stats.estimation.labelling import confidence_sequence, share_bounds


@pytest.mark.parametrize(("n", "share"), [(40, 0.1), (300, 0.02), (300, 0.5)])
def test_bounds_of_the_judges_share_hold_often_enough(n, share):
    """By enumeration; they are narrower than Hoeffding's if the share is rare."""
    counts = np.arange(n + 1)
    held = [low <= share <= high for low, high in (share_bounds(k / n, n, 0.05) for k in counts)]
    assert binom.pmf(counts, n, share)[held].sum() >= 0.95
    low, high = share_bounds(0.02, n, 0.05)
    assert high - low < 2.0 * np.sqrt(log(2 / 0.05) / (2 * n))


def test_judge_about_whom_nothing_is_known_changes_nothing():
    """Its verdicts on one item: the sequence is that of the labels."""
    rng = np.random.default_rng(2)
    labels = (rng.random(60) < 0.3).astype(float)
    useful, useless = (
        confidence_sequence(labels, verdicts, 0.5, 1) for verdicts in (labels, 1.0 - labels)
    )
    assert useful.low == pytest.approx(useless.low)
    assert useful.high == pytest.approx(useless.high)


@pytest.mark.slow
@pytest.mark.parametrize(
    "looked", [Looked(300, 0.05), Looked(300, 0.5), Looked(2000, 0.1)], ids=repr
)
def test_near_perfect_judge_rarely_widens_an_interval(looked):
    """It did in all data sets with 5 % positive items, up to 2.8 times."""
    wider = (width_ratios(looked, 100) > WIDER).mean()
    assert wider <= OFTEN_WIDER + 3.0 * np.sqrt(OFTEN_WIDER * (1.0 - OFTEN_WIDER) / 100)


@pytest.mark.slow
def test_near_perfect_judge_narrows_the_interval_if_many_items_are_judged():
    """By a quarter and more, with half of the items positive."""
    assert np.median(width_ratios(Looked(20_000, 0.5), 20)) < 0.85
