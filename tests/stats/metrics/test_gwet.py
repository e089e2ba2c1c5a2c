from __future__ import annotations

import numpy as np
import pytest

from harness import stats
from harness.stats.metrics.gwet import ac2_of_raters, gwet_ac1, quadratic_credit

# irrCAC's cont3x3abstractors (Gwet 2014): two abstractors of 100 pregnant women.
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]], dtype=float)


def of_raters(name, counts):
    """Evaluate a coefficient among raters; return value and reason."""
    row = stats.find_metric(name, (*stats.HUMAN_AGREEMENT, ac2_of_raters(range(3))))
    totals = row.contributions(np.array(counts)).sum(axis=0)
    value = float(row.value(totals))
    return (None, row.reason(totals)) if np.isnan(value) else (value, "")


def test_ac1_of_two_raters_is_the_published_value():
    """The documentation of irrCAC prints 0.8493305 for its 3 x 3 example."""
    assert gwet_ac1(ABSTRACTORS.ravel()) == pytest.approx(0.8493305, abs=5e-8)


def test_quadratic_credit_is_the_published_matrix():
    """irrCAC's quadratic.weights(1:3)."""
    wanted = [[1.0, 0.75, 0.0], [0.75, 1.0, 0.75], [0.0, 0.75, 1.0]]
    np.testing.assert_allclose(quadratic_credit([1, 2, 3]), wanted)


def test_ac1_stays_high_on_skewed_labels_on_which_kappa_falls():
    """Feinstein and Cicchetti's paradox: 97% agreement, nearly all of it on one option."""
    counts = [[2, 0, 0]] * 97 + [[1, 1, 0]] * 3
    assert of_raters("fleiss_kappa", counts)[0] < 0
    assert of_raters("gwet_ac1", counts)[0] > 0.95


@pytest.mark.parametrize("name", ["fleiss_kappa", "randolph_kappa"])
def test_coefficients_for_unequal_raters_equal_the_strict_ones_on_equal_raters(name):
    """Only on unequal numbers of ratings are there two definitions."""
    counts = np.random.default_rng(0).multinomial(4, [0.5, 0.3, 0.2], 30)
    strict, general = (of_raters(which, counts)[0] for which in (name, f"{name}_unequal_raters"))
    assert general == pytest.approx(strict)


def test_an_item_with_one_rating_counts_in_the_shares_only():
    """By hand: P = 1/2 over two items; shares 1/2 and 1/2 over three items; AC1 = 0."""
    counts = [[2, 0], [1, 1], [0, 1]]
    [ac1] = [row for row in stats.HUMAN_AGREEMENT if row.name == "gwet_ac1"]
    value = float(ac1.value(ac1.contributions(np.array(counts)).sum(axis=0)))
    assert value == pytest.approx(0.0)


@pytest.mark.parametrize("name", ["gwet_ac1", "fleiss_kappa_unequal_raters"])
def test_raters_who_share_no_item_have_no_agreement(name):
    """One rating an item is no pair."""
    assert of_raters(name, [[1, 0, 0], [0, 1, 0]]) == (None, "too_few_raters")


def test_one_option_has_no_chance_agreement():
    """With one declared option there is nothing to choose; on constant labels AC1 is 1."""
    assert of_raters("gwet_ac1", [[2], [2]]) == (None, "single_option")
    assert of_raters("gwet_ac1", [[2, 0], [2, 0]])[0] == pytest.approx(1.0)
    assert of_raters("fleiss_kappa_unequal_raters", [[2, 0], [3, 0]]) == (None, "constant_labels")
