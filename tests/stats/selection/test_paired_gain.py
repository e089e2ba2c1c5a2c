"""The gain of one judge on another in agreement with raters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.stats.inference.non_inferiority import bounded_mean_interval
from harness.stats.selection.paired_gain import paired_gain

LOSSES = arrays(float, 40, elements=st.floats(0, 1).map(lambda x: round(x, 2)))


@pytest.mark.slow
@given(LOSSES, LOSSES)
def test_exchanging_the_judges_mirrors_the_gain(before, after):
    """The gain, its interval and the counts of units change sides."""
    ids = np.arange(40)
    there, back = paired_gain(before, after, ids), paired_gain(after, before, ids)
    assert there.gain == pytest.approx(-back.gain)
    assert (there.n_better, there.n_worse) == (back.n_worse, back.n_better)
    assert there.reason == back.reason
    if there.low is not None:
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-6)
        assert there.low <= there.gain <= there.high
    assert not (there.is_shown and back.is_shown)


def test_the_interval_is_that_of_bounded_means():
    """It is no second procedure."""
    rng = np.random.default_rng(1)
    before, after = rng.random((2, 60))
    ids = np.arange(60)
    gain = paired_gain(before, after, ids, level=0.9)
    assert (gain.low, gain.high) == bounded_mean_interval(before - after, ids, (-1.0, 1.0), 0.9)
    assert (gain.before, gain.after) == pytest.approx((1 - before.mean(), 1 - after.mean()))


def test_few_items_or_changes_have_no_interval():
    """The reason stands in its place, and nothing is shown."""
    before, after = np.ones(50), np.ones(50)
    after[:5] = 0.0
    few = paired_gain(before, after, np.arange(50))
    assert (few.low, few.reason, few.is_shown) == (None, "fewer_than_six_differ", False)
    grouped = paired_gain(before, np.zeros(50), np.arange(50) % 4)
    assert (grouped.n_units, grouped.reason) == (4, "too_few_items")
    for losses in (np.zeros(0), np.array([np.nan])):
        with pytest.raises(ValueError, match="needs at least one item"):
            paired_gain(losses, losses, np.arange(len(losses)))
