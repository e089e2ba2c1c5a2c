"""Procedures for several hypotheses at once."""

from __future__ import annotations

import numpy as np
import pytest

from harness.stats.inference.multiple_testing import holm


def test_holm_takes_every_probability_and_nothing_else():
    """0 and 1 are probabilities; nan stays nan."""
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert np.isnan(holm([0.5, np.nan])).tolist() == [False, True]
    for p in (-1e-9, 1.0 + 1e-9):
        with pytest.raises(ValueError, match="numbers between 0 and 1"):
            holm([p])
