"""A judge's replies to an item as one label."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.option_scale import drawn_modes

ITEMS = [f"item {i}" for i in range(2000)]
TIED = np.tile([2.0, 1.0, 2.0], (len(ITEMS), 1))


def test_ties_are_drawn_alike_whatever_other_items_there_are():
    """A shard of the items draws the same labels as all of them, in any order."""
    labels, n_tied = drawn_modes(TIED, ITEMS, judge="j", seed=0)
    some = np.arange(len(ITEMS))[::-7]
    alone, _ = drawn_modes(TIED[some], [ITEMS[i] for i in some], judge="j", seed=0)
    np.testing.assert_array_equal(alone, labels[some])
    assert n_tied == len(ITEMS)


@pytest.mark.parametrize(("judge", "seed"), [("j", 0), ("j", 1), ("k", 0)])
def test_each_of_several_modes_is_equally_likely(judge, seed):
    """Of 2,000 ties between two options half are drawn as each, within four standard errors."""
    labels, _ = drawn_modes(TIED, ITEMS, judge=judge, seed=seed)
    assert set(labels) == {0.0, 2.0}
    assert abs((labels == 0).mean() - 0.5) < 4 * 0.5 / len(ITEMS) ** 0.5


def test_judges_and_seeds_draw_independently():
    """Two judges, or two seeds, agree on half of the ties, within four standard errors."""
    labels, *others = (
        drawn_modes(TIED, ITEMS, judge=judge, seed=seed)[0]
        for judge, seed in (("j", 0), ("k", 0), ("j", 1))
    )
    for other in others:
        assert abs((labels == other).mean() - 0.5) < 4 * 0.5 / len(ITEMS) ** 0.5


def test_items_without_replies_have_no_label():
    """Nothing is drawn where nothing was answered."""
    labels, n_tied = drawn_modes(np.array([[0.0, 0.0], [0.0, 3.0]]), ["a", "b"], judge="j", seed=0)
    np.testing.assert_array_equal(labels, [np.nan, 1.0])
    assert n_tied == 0
