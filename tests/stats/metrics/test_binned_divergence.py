from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.dataset_facts import dataset_facts
from support.rating_tables import split_options

from harness.stats.metrics.binned_divergence import (
    binned_divergence,
    binned_metrics,
    binned_sums,
    bins_of,
)

LIKERT = ("1", "2", "3")
counts_of_items = arrays.arrays(np.int64, (7, 3), elements=st.integers(0, 3))


def divergence(human, judge, by="median", options=LIKERT, **chosen):
    """Evaluate without intervals, unless asked otherwise."""
    resampling, rest = split_options(chosen, n_resamples=0)
    return binned_divergence(
        np.array(human), np.array(judge), by=by, options=options, resampling=resampling, **rest
    )


def test_divergence_is_eq_2_and_not_the_square_root_of_the_code():
    """The toy example of A.7: 0.2463 bits by Eq. 2, 0.3956 by the code, each under its name."""
    human, judge = [[0, 2, 1], [1, 2, 0], [0, 1, 2]], [[0, 1, 1], [2, 0, 0], [0, 2, 0]]
    result = divergence(human, judge, n_resamples=100)
    assert result.js_divergence_bits.value == pytest.approx(0.24627602037593696)
    assert result.js_distance_nat.value == pytest.approx(0.3956045508244973)
    assert [(bin_.label, bin_.n_items) for bin_ in result.bins] == [(2.0, 2), (3.0, 1)]
    assert result.js_divergence_bits.interval_reason == "too_few_items"
    assert repr(result).startswith("BinnedDivergence(2 bins, 0.246")


def test_items_whose_median_is_a_half_point_have_their_bin():
    """Medians 1.5 and 2 are two bins; nothing falls between them."""
    result = divergence([[1, 1, 0], [0, 2, 0]], [[1, 0, 0], [0, 1, 0]])
    assert [bin_.label for bin_ in result.bins] == [1.5, 2.0]
    assert sum(bin_.weight for bin_ in result.bins) == 1


def test_tied_modes_enter_their_bins_in_equal_parts():
    """An item with modes A and B is half in each bin, labels and all, and is counted."""
    result = divergence([[1, 1, 0], [2, 0, 0]], [[1, 0, 0], [1, 0, 0]], by="majority")
    assert [(bin_.label, bin_.n_items) for bin_ in result.bins] == [("1", 1.5), ("2", 0.5)]
    assert result.n_tied == 1


def test_items_without_labels_on_one_side_are_left_out_and_counted():
    """No overlap at all is NA; a missing side never counts as an empty distribution."""
    result = divergence([[1, 0, 0], [0, 0, 0], [0, 1, 0]], [[1, 0, 0], [1, 0, 0], [0, 0, 0]])
    estimate = result.js_divergence_bits
    assert (estimate.value, estimate.n_used, estimate.n_excluded) == (0.0, 1, 2)
    assert {x.reason: x.n_items for x in estimate.excluded} == {
        "human_no_ratings": 1,
        "judge_no_ratings": 1,
    }
    nothing = divergence([[1, 0, 0]], [[0, 0, 0]])
    assert (nothing.js_distance_nat.value, nothing.js_distance_nat.reason) == (None, "no_overlap")
    assert divergence(np.empty((0, 3)), np.empty((0, 3))).js_distance_nat.reason == "no_items"


@settings(deadline=None)
@given(human=counts_of_items, judge=counts_of_items)
def test_divergence_keeps_its_laws(human, judge):
    """0 for the humans themselves, and within bounds."""
    for by in ("median", "majority"):
        bins, _ = bins_of(human, by, options=LIKERT)
        totals = binned_sums(bins, human, judge).sum(axis=0)
        of_itself = binned_sums(bins, human, human).sum(axis=0)
        for measure in binned_metrics(3):
            value = float(measure.value(totals))
            itself = float(measure.value(of_itself))
            assert np.isnan(value) or -1e-12 <= value <= measure.bounds[1] + 1e-12
            assert np.isnan(itself) or itself == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: divergence([[1, 0, 0]], [[1, 0, 0]], by="mean"), "by is 'mean'"),
        (lambda: divergence([[1, 0, 0]], [[1, 0]]), r"human has shape \(1, 3\) and judge \(1, 2\)"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    """The message names the argument and what was wanted."""
    with pytest.raises(ValueError, match=message):
        call()


def test_facts_by_pairs_against_by_hand():
    """Raters a and b share 3 items, b and c share 1: kappas 2/5 and none, mae 1/3 and 1."""
    ratings = np.array([[0, 0, np.nan], [1, 1, np.nan], [1, 0, 1], [np.nan] * 3])
    result = dataset_facts(ratings, 2)
    assert (result.n_raters, result.n_items, result.n_pairs) == (3, 3, 3)
    assert result.items_per_rater == pytest.approx(7 / 3)
    kappa = result.by_pairs["cohen_kappa"]  # a, b: 2/5; a, c: constant; b, c: 0
    assert (kappa.value, kappa.n_used, kappa.n_excluded) == (pytest.approx(0.2), 2, 1)
    assert result.by_pairs["cohen_kappa_overlap_weighted"].value == pytest.approx(1.2 / 4)
    assert result.by_pairs["mae"].value == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert result.by_pairs["pearson"].n_used == 1
    assert repr(result) == "DatasetFacts(3 items, 3 raters)"


def test_facts_of_nothing_are_na():
    """No ratings, or one rater: NA with the reason."""
    nothing = dataset_facts(np.full((2, 2), np.nan), 2)
    assert (nothing.n_items, nothing.items_per_rater, nothing.raters_per_item) == (0, None, None)
    assert nothing.by_pairs["mae"].reason == "too_few_raters"
    assert dataset_facts([[0], [1]], 2).agreement["pairwise_agreement"].reason == "too_few_raters"
