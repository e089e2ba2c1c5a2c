from __future__ import annotations

import numpy as np
import pytest

from harness.stats.subsets.permutation import permutation_p


def test_a_planted_effect_is_detected_and_none_is_not():
    """All of one label abstain, none of the other; then labels that have nothing to do with it."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    blocks = np.zeros(40, dtype=int)
    assert permutation_p(labels.astype(float), labels, blocks, rng) == pytest.approx(0.001)
    values = np.tile([0.0, 0.0, 1.0, 1.0], 10)
    assert permutation_p(values, labels, blocks, rng) > 0.5


@pytest.mark.slow
def test_p_values_without_an_effect_are_uniform():
    """Of 100 data sets of rare abstentions, 5% and two standard errors have one of at most 5%."""
    rng = np.random.default_rng(1)
    labels, blocks = np.arange(30) % 3, np.zeros(30, dtype=int)
    p = [
        permutation_p((rng.random(30) < 0.2).astype(float), labels, blocks, rng) or 1.0
        for _ in range(100)
    ]
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 100)


def test_labels_are_permuted_within_blocks():
    """The effect is between blocks alone: within each, labels make no difference."""
    blocks = np.repeat([0, 1], 20)
    values = blocks.astype(float)
    labels = np.where(np.arange(40) % 10 < 2, 1 - blocks, blocks)
    everywhere = permutation_p(values, labels, np.zeros(40, dtype=int), np.random.default_rng(0))
    assert everywhere < 0.01
    assert permutation_p(values, labels, blocks, np.random.default_rng(0)) == pytest.approx(1.0)


def test_labels_without_variation_have_no_permutation_test():
    """One label, one label per block, equal values, or no label at all."""
    rng, values = np.random.default_rng(0), np.arange(6.0)
    one, blocks = np.zeros(6, dtype=int), np.repeat([0, 1], 3)
    assert permutation_p(values, one, one, rng) is None
    assert permutation_p(values, blocks, blocks, rng) is None
    assert permutation_p(np.ones(6), blocks, one, rng) is None
    assert permutation_p(values, one - 1, one, rng) is None
