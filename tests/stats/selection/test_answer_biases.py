"""Biases of options: found from losses, never worse than none on the items they are found on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.selection.answer_biases import fitted_steps, mean_loss

STEPS = np.arange(-40, 50) / 5


@given(seed=st.integers(0, 10_000), k=st.integers(2, 4), n=st.integers(1, 40))
def test_fitted_biases_lose_no_more_than_none(seed, k, n):
    """On the items that they were fitted on; the first option has no bias."""
    rng = np.random.default_rng(seed)
    logs, losses = np.log(rng.dirichlet(np.ones(k), n)), rng.random((n, k))
    places = fitted_steps(logs, losses, STEPS)
    assert STEPS[places[0]] == 0
    assert mean_loss(logs, losses, STEPS[places]) <= mean_loss(logs, losses, np.zeros(k)) + 1e-12


def test_a_shift_of_all_log_probabilities_is_found():
    """A judge that ranks items well and says one option too often is right with the bias."""
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=400)
    odds = np.where(truth == 1, 1.0, -1.0) + 0.3 * rng.normal(size=400) - 2.6
    logs = np.column_stack([np.zeros(400), odds])
    losses = np.column_stack([truth, 1 - truth]).astype(float)
    assert mean_loss(logs, losses, np.zeros(2)) > 0.4
    bias = STEPS[fitted_steps(logs, losses, STEPS)]
    assert bias[1] == pytest.approx(2.6, abs=0.4)
    assert mean_loss(logs, losses, bias) < 0.02


def test_wrong_arrays_are_refused():
    """Without items, or of two shapes."""
    for logs, losses in ((np.empty((0, 2)), np.empty((0, 2))), (np.ones((2, 2)), np.ones((2, 3)))):
        with pytest.raises(ValueError, match="biases need at least one item"):
            fitted_steps(logs, losses, STEPS)
