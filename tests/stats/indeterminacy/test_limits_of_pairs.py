"""What one pair per item says about decisions at a cut-off, and what it does not."""

from __future__ import annotations

import numpy as np
import pytest
from support.pair_designs import figures, law_of_data, narrow_spread, wide_spread


@pytest.mark.parametrize("n_choices", [1, 5, 20])
def test_two_populations_give_the_same_law_of_choices_and_pairs(n_choices):
    """And differ in the share of items that at least .8 of the raters find positive: 1/7, 2/7.

    The law is a polynomial in t, so that 50 nodes integrate it exactly.
    """
    nodes, weights = np.polynomial.legendre.leggauss(50)
    t = 0.375 + 0.175 * nodes  # uniform in [.2, .55]
    first = law_of_data(narrow_spread(t), weights, n_choices)
    second = law_of_data(wide_spread(t), np.tile(weights, 2), n_choices)
    np.testing.assert_allclose(first, second, atol=1e-14)
    assert first.sum() == pytest.approx(1.0)
    even = np.linspace(0.2, 0.55, 70_001)
    omegas = [spread(even)[:, [0, 2]].sum(axis=1) for spread in (narrow_spread, wide_spread)]
    shares = [np.mean(omega >= 0.8 - 1e-12) for omega in omegas]
    assert shares == pytest.approx([1 / 7, 2 / 7], abs=1e-4)


def test_one_F_reverses_the_order_of_two_judges_in_expectation():  # noqa: N802 -- the paper's F
    """The judge that is better by every measure is worse by F', even at the true beta.

    By the squared error, too: F' is right for the mean of Omega, not for its product with what a
    judge answers.
    """
    of = figures(200_000)
    wide, narrow = of["wide"], of["narrow"]
    assert [wide.mse, narrow.mse] == pytest.approx([0.0275, 0.0545], abs=0.001)
    assert [wide.bias, narrow.bias] == pytest.approx([0.01, -0.31], abs=0.01)
    assert [wide.consistency, narrow.consistency] == pytest.approx([0.735, 0.645], abs=0.005)
    assert [wide.by_choices, narrow.by_choices] == pytest.approx([0.642, 0.695], abs=0.005)
    by_F = [wide.mse_by_choices, narrow.mse_by_choices]  # noqa: N806 -- the paper's F
    assert by_F == pytest.approx([0.064, 0.043], abs=0.001)
    assert wide.population > narrow.population + 0.1
