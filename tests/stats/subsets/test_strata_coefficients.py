"""Coefficients of two sides, where the other side draws labels by chance."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.subsets import strata
from harness.stats.subsets.strata import against_random, pair_metrics


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_many_resamples_of_many_labels_are_evaluated_in_parts(level, monkeypatch):
    """100 options took 1.5 GB: all pairs of labels of all resamples were held at once."""
    rng = np.random.default_rng(0)
    totals = rng.integers(0, 9, (3, 20, 4)).astype(np.float64)
    metrics = pair_metrics(level, np.arange(4.0), 4)
    whole = against_random(metrics, np.full(4, 0.25))
    expected = [metric.value(totals) for metric in whole]
    monkeypatch.setattr(strata, "CELLS", 16 * 7)
    for metric, values in zip(whole, expected, strict=True):
        np.testing.assert_array_equal(metric.value(totals), values)
