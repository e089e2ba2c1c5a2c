"""Ratings held as numbers are the same ratings."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks.coded_ratings import CodedRatings
from harness.tasks.item import Rating
from harness.tasks.rating_columns import RatingColumns

ITEMS, RATERS = ("a", "b", "c"), ("ann", "bob")
ANSWERS = (("forced_choice", "yes"), ("response_set", ("yes", "no")), ("forced_choice", "no"))
MADE = ((), (("rated_at", "2026-01-01"),))
rows = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 1), st.sampled_from(ANSWERS), st.sampled_from(MADE)
    ),
    max_size=12,
)


def both(given_rows):
    coded = CodedRatings(ITEMS, RATERS)
    for row in given_rows:
        coded.add(*row)
    return coded, tuple(Rating(ITEMS[i], RATERS[r], *a, made) for i, r, a, made in given_rows)


@given(rows=rows)
def test_they_are_a_tuple_of_ratings_in_less_memory(rows):
    """Each view of them is that of the ratings one by one, and their columns are equal."""
    coded, ratings = both(rows)
    assert (coded == ratings, ratings == coded, len(coded)) == (True, True, len(ratings))
    assert tuple(coded) == coded[:] == ratings
    assert coded[1::2] == ratings[1::2]
    assert [r.provenance for r in coded] == [r.provenance for r in ratings]
    assert list(coded.rows()) == [(r.item, r.rater, r.elicitation, r.value) for r in ratings]
    assert pickle.loads(pickle.dumps(coded)) == coded
    columns, wanted = RatingColumns.of(coded), RatingColumns.of(ratings)
    assert (columns.items, columns.raters, columns.answers) == (
        *(wanted.items, wanted.raters),
        wanted.answers,
    )
    for name in ("item", "rater", "answer"):
        np.testing.assert_array_equal(getattr(columns, name), getattr(wanted, name))


def test_a_rating_out_of_range_is_an_index_error():
    coded, _ = both([(0, 0, ANSWERS[0], ())])
    assert coded[-1] == coded[0]
    assert coded != both([(0, 0, ANSWERS[2], ())])[0]
    with pytest.raises(IndexError):
        coded[1]
