"""How often a judge and a rater agree with another rater, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support.rating_tables import table_of_counts

from harness.stats.inference.bootstrap import Resampling
from harness.stats.selection.share_agreeing import share_agreeing


def reference(humans, judge, **options):
    return share_agreeing(
        table_of_counts("humans", humans),
        table_of_counts("judge", judge),
        items=np.ones(len(humans), dtype=bool),
        resampling=Resampling(rng=np.random.default_rng(0), n_resamples=50),
        **options,
    )


def test_shares_are_of_the_remaining_choices_of_the_same_items():
    """yes, yes, no: a rater agrees with 1/2, 1/2 and 0, the judge's yes with 1/2, 1/2 and 1."""
    result = reference([[2, 1]], [[1, 0]])
    assert (result.human, result.judge) == pytest.approx((1 / 3, 2 / 3))
    assert (result.n_items, result.n_ratings) == (1, 3)
    assert result.difference == pytest.approx(-1 / 3)


def test_criteria_count_alike_whatever_their_number_of_items():
    """Two items of one criterion weigh as one item of the other."""
    humans, judge = [[3, 0], [3, 0], [0, 3]], [[1, 0]] * 3
    assert reference(humans, judge).judge == pytest.approx(2 / 3)
    assert reference(humans, judge, criteria=["a", "a", "b"]).judge == pytest.approx(1 / 2)


def test_items_with_one_choice_or_without_a_reply_do_not_enter():
    """Without any other item there is no value, of no items and no ratings."""
    assert reference([[2, 0], [1, 0], [0, 2]], [[1, 0], [1, 0], [0, 0]]).n_items == 1
    nothing = reference([[2, 0]], [[0, 0]])
    assert (nothing.judge, nothing.human, nothing.difference) == (None, None, None)
    assert (nothing.n_items, nothing.n_ratings, nothing.n_units) == (0, 0, 0)
