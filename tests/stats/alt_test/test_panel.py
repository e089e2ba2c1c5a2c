"""A panel of raters without one of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harness.stats import Panel

RATINGS = st.dictionaries(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(("r1", "r2", "r3", "r4"))),
    st.sampled_from(("yes", "no")),
    min_size=1,
)


@given(RATINGS)
def test_a_panel_without_a_rater_is_that_of_the_other_ratings(ratings):
    """Items stay; raters keep their order, and each rating its value."""
    rows = [(item, rater, value) for (item, rater), value in ratings.items()]
    panel = Panel.of(rows, items="abcde")
    left_out = panel.raters[0]
    fewer = panel.without(left_out)
    expected = Panel.of([row for row in rows if row[1] != left_out], items="abcde")
    assert (fewer.items, fewer.raters) == (expected.items, expected.raters)
    for rater in expected.raters:
        assert fewer.ratings_of(rater) == expected.ratings_of(rater)
    np.testing.assert_array_equal(fewer.ratings_per_item, expected.ratings_per_item)
