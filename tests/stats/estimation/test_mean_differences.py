"""Differences between the means of systems: correlation over prompts, and coverage."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from benchmarks.estimate_differences import ALPHA, LEAST, Design, simulate
from harness.stats.estimation.effective_counts import Labelled
from harness.stats.estimation.mean_differences import JudgedPrompts, PromptSums, mean_difference
from harness.stats.estimation.population import Bounded


def sums(labels, verdicts, prompts, *, uses_judge=False):
    judged = JudgedPrompts(0, 0.0, 0.0, {})
    labelled = Labelled(np.asarray(labels, dtype=float), np.asarray(verdicts, dtype=float))
    return PromptSums.of(labelled, prompts, judged, uses_judge=uses_judge)


def test_the_same_answers_to_the_same_prompts_are_correlated_in_full():
    """Their difference is known exactly; to other prompts, nothing is shared."""
    labels = np.arange(40) % 2
    prompts = [f"p{i}" for i in range(40)]
    one, other = sums(labels, labels, prompts), sums(labels, labels, prompts)
    assert one.correlation(other) == pytest.approx(1.0)
    apart = sums(labels, labels, [f"q{i}" for i in range(40)])
    assert one.correlation(apart) == 0.0
    assert one.variance == pytest.approx(labels.var() / 40)


def test_the_correlation_is_that_of_labels_less_a_standard_error():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=200)
    first, second = shared + rng.normal(size=200), shared + rng.normal(size=200)
    prompts = [f"p{i}" for i in range(200)]
    r = np.corrcoef(first, second)[0, 1]
    found = sums(first, first, prompts).correlation(sums(second, second, prompts))
    assert found == pytest.approx(r - (1 - r**2) / sqrt(200))


def test_few_shared_prompts_are_not_paired():
    labels, prompts = np.arange(9) % 2, [f"p{i}" for i in range(9)]
    assert sums(labels, labels, prompts).correlation(sums(labels, labels, prompts)) == 0.0


def test_a_difference_lies_within_its_bounds():
    """Intervals are joined by their distances to the means; correlation narrows them."""
    first, second = Bounded(0.02, 0.0, 0.3), Bounded(0.99, 0.7, 1.0)
    found = mean_difference(first, second, (0.0, 1.0))
    assert found.value == pytest.approx(0.97)
    assert found.high == pytest.approx(0.97 + sqrt(0.01**2 + 0.02**2))
    assert found.low == pytest.approx(0.97 - sqrt(0.29**2 + 0.28**2))
    assert mean_difference(first, second, (0.0, 1.0), 0.5).width < found.width
    wide = mean_difference(Bounded(0.0, -1.0, 0.0), Bounded(1.0, 1.0, 2.0), (0.0, 1.0))
    assert wide.high == 1.0
    with pytest.raises(ValueError, match="only an interval"):
        mean_difference(Bounded(None, 0.0, 1.0), second, (0.0, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("design", [Design(2, 100, 0.0, 0.1, True), Design(3, 50, 0.4, 0.2, False)])
def test_differences_are_contained_and_equal_systems_not_told_apart(design):
    """Also if the judge prefers one system by ten points."""
    row = simulate(design, 300)
    assert float(row["contained"]) >= LEAST - 2 * sqrt(LEAST * (1 - LEAST) / 300)
    if not design.gap:
        assert float(row["found"]) <= ALPHA + 2 * sqrt(ALPHA * (1 - ALPHA) / 300)
