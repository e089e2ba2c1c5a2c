"""Baselines of free texts are means over the items that count."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.open_scales.text_answers import _mean_over


def test_a_baseline_averages_the_items_that_count():
    """Items outside the selection, and items without a score, add neither a value nor a weight."""
    scores = np.array([0.25, np.nan, 0.75, 1.0])
    value = _mean_over(scores, np.array([True, True, True, False]))
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [3.0, 2.0, 1.0, 5.0], [0.0, 4.0, 0.0, 1.0]])
    assert value(weights)[:2] == pytest.approx([0.5, 0.375])
    assert np.isnan(value(weights)[2])
