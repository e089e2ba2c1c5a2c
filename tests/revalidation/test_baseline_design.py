"""Anchor sets keep the raters' agreement."""

from __future__ import annotations

from collections import Counter

import pytest
from support.task_folders import make_task_folder

from harness.errors import RunError
from harness.revalidation.baseline_design import draw_anchor, proportional_sizes
from harness.tasks import load_task


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(make_task_folder(tmp_path_factory.mktemp("anchor") / "task", 40))


def agreement(item) -> int:
    """Of `make_task_folder`: 0 and 3 of 3 raters agree wholly."""
    return int(item.id[1:]) % 4 in {0, 3}


def test_each_stratum_has_its_share(task):
    """Half of the items have full agreement, so half of the anchor has."""
    anchor = draw_anchor(task, task.items, 10, seed=0)
    assert Counter(map(agreement, anchor)) == {0: 5, 1: 5}
    assert list(anchor) == sorted(anchor, key=task.items.index)


def test_the_draw_is_a_function_of_the_seed(task):
    """Another seed draws others."""
    draws = [draw_anchor(task, task.items, 10, seed=seed) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_all_items_are_an_anchor_and_more_are_none(task):
    """The message names how many there are."""
    assert draw_anchor(task, task.items, None, seed=0) == task.items
    with pytest.raises(RunError, match="the run has only 40 items"):
        draw_anchor(task, task.items, 41, seed=0)


def test_shares_are_rounded_by_largest_remainders():
    """They add up, and none is off by one or more: worked by hand."""
    assert proportional_sizes([5, 3, 2], 4) == [2, 1, 1]
    assert proportional_sizes([7, 0, 1], 3) == [3, 0, 0]
