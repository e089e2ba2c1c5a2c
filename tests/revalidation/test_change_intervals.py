"""The interval of a metric's change between a baseline and a round."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from harness.revalidation.metric_changes import _change_ends
from harness.stats import Estimate
from harness.stats.inference.bootstrap import Units


def change_of(look, baseline, *, n=51):
    """Return the ends of the interval of a change of a mean over items."""
    rng = np.random.default_rng(0)
    weights = rng.multinomial(n, np.full(n, 1 / n), 500) / n
    drawn = np.stack([weights @ look, weights @ baseline])
    estimates = [Estimate(value=float(side.mean()), n_used=n) for side in (look, baseline)]
    evaluation = SimpleNamespace(units=Units.of(n, None), level=0.95)
    return _change_ends(estimates, drawn, evaluation, 2.0)


def test_change_of_equal_replies_has_a_width():
    """It was [0, 0]: the next item can differ all the same."""
    same = np.linspace(0.0, 2.0, 51)
    low, high = change_of(same, same)
    assert low == pytest.approx(-high)
    assert 0.1 < high < 0.2


def test_change_of_few_items_is_na():
    """Fewer than five items say too little about their spread."""
    assert change_of(np.ones(4), np.zeros(4), n=4) is None
