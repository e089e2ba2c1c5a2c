"""Shares of an error probability in series of hypotheses."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.inference.multiple_testing import LATER, holm, share_in_series


@given(st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_a_series_of_any_length_spends_at_most_the_sum(groups):
    """However hypotheses are grouped, the levels sum to at most (1 + LATER) alpha."""
    spent = [k * share_in_series(n, k) for n, k in zip(accumulate(groups), groups, strict=True)]
    assert spent[0] == pytest.approx(1.0)
    assert sum(spent) <= 1.0 + LATER + 1e-12


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_hypotheses_that_come_later_are_never_tested_less_strictly(n_before, n_new):
    """Each has less than it would have had among the first, and less the later it comes."""
    share = share_in_series(n_before + n_new, n_new)
    assert share < 1.0 / (n_before + n_new)
    assert share_in_series(n_before + n_new + 1, n_new) < share


@pytest.mark.parametrize(("n", "n_new"), [(0, 0), (3, 0), (3, 4)])
def test_numbers_that_are_no_series_are_refused(n, n_new):
    """A share is defined for new hypotheses alone."""
    with pytest.raises(ValueError, match="n_new must be from 1 to n"):
        share_in_series(n, n_new)


def test_holm_takes_every_probability_and_nothing_else():
    """0 and 1 are probabilities; nan stays nan."""
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert np.isnan(holm([0.5, np.nan])).tolist() == [False, True]
    for p in (-1e-9, 1.0 + 1e-9):
        with pytest.raises(ValueError, match="numbers between 0 and 1"):
            holm([p])
