"""Counts of human ratings."""

from __future__ import annotations

import numpy as np
import pytest

from harness.ratings import count_outcomes, human_table, judge_table, without_rater
from harness.tasks import load_task


@pytest.mark.parametrize("name", ["toxicity", "helpfulness"])
def test_counts_without_a_rater_are_those_of_the_other_ratings(name):
    """Choices, response sets, pairs and outcomes."""
    task = load_task(name)
    rater = task.ratings[0].rater
    others = tuple(rating for rating in task.ratings if rating.rater != rater)
    expected = human_table(task.model_copy(update={"ratings": others}), task.items)
    fewer = without_rater(human_table(task, task.items), task, task.items, rater)
    assert 0 < len(others) < len(task.ratings)
    for field in ("forced_choice", "response_set", "outcomes"):
        np.testing.assert_array_equal(getattr(fewer, field), getattr(expected, field))
    if fewer.joint is not None:
        joint = np.zeros_like(fewer.joint) if expected.joint is None else expected.joint
        np.testing.assert_array_equal(fewer.joint, joint)


def test_a_judge_without_verdicts_has_a_table_of_zeros():
    """A judge of a race, or one that was stopped, may have answered nothing yet."""
    task = load_task("toxicity")
    table = judge_table(task, task.items, "mute", [])
    assert not table.outcomes.any()
    assert not table.forced_choice.any()
    [row] = count_outcomes([], {"forced_choice": 3})
    assert (row.planned, row.not_asked) == (3, 3)
