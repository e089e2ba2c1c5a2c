"""Calibration of confidences, and proper scores."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.subsets.selective_prediction import calibration_curve


def test_curve_and_scores_against_by_hand():
    """Two bins; the Brier score is over raters, and items without either are left out."""
    confidence = [0.2, 0.2, 0.8, 0.9, np.nan, 0.5]
    agreement = [0.0, 0.5, 1.0, 0.5, 1.0, np.nan]
    curve = calibration_curve(confidence, agreement, np.arange(6), n_bins=2)
    assert curve.confidence == pytest.approx([0.2, 0.85])
    assert curve.agreement == pytest.approx([0.25, 0.75])
    assert curve.n_items == (2, 2)
    brier = [0.04, 0.09 + 0.25, 0.04, 0.16 + 0.25]
    assert curve.brier == pytest.approx(np.mean(brier))
    assert (curve.brier_low, curve.brier_high) == (None, None), "four items are too few"
    more = calibration_curve(confidence * 2, agreement * 2, np.arange(12))
    assert more.brier_low < more.brier < more.brier_high
    halves = [-(np.log(c) + np.log(1 - c)) / 2 for c in (0.2, 0.9)]
    assert curve.log_loss == pytest.approx(
        np.mean([-np.log(0.8), halves[0], -np.log(0.8), halves[1]])
    )
    assert (curve.n_used, curve.n_excluded) == (4, 2)


def test_the_true_chance_scores_best():
    """On average over raters, by both scores, whatever else is stated (they are proper)."""
    chance, clusters = np.full(9, 0.7), np.arange(9)
    stated = np.linspace(0.1, 0.9, 9)
    curves = [calibration_curve(np.full(9, c), chance, clusters) for c in stated]
    for score in ("brier", "log_loss"):
        means = [getattr(curve, score) for curve in curves]
        assert stated[int(np.argmin(means))] == pytest.approx(0.7)
    half = calibration_curve(np.full(9, 0.5), chance, clusters)
    assert half.brier == pytest.approx(0.25)


def test_bins_of_a_calibrated_judge_lie_on_the_diagonal():
    """With many raters, agreement is the confidence in each of ten equal bins."""
    rng = np.random.default_rng(0)
    confidence = rng.random(5000)
    agreement = rng.binomial(50, confidence) / 50
    curve = calibration_curve(confidence, agreement, np.arange(5000))
    assert curve.n_items == (500,) * 10
    np.testing.assert_allclose(curve.agreement, curve.confidence, atol=0.02)


def test_certain_and_wrong_has_no_log_loss():
    """It would be infinite; right and certain loses nothing."""
    curve = calibration_curve([1.0, 1.0], [1.0, 0.5], [0, 1])
    assert curve.log_loss is None
    assert calibration_curve([1.0, 0.0], [1.0, 0.0], [0, 1]).log_loss == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("confidence", "reason"), [([np.nan, np.nan], "no_items"), ([0.5, 7.0], "not_a_probability")]
)
def test_no_curve_has_a_reason(confidence, reason):
    """Nothing is scaled in silence."""
    curve = calibration_curve(confidence, [1.0, 0.0], [0, 1])
    assert (curve.reason, curve.brier, len(curve.n_items)) == (reason, None, 0)
