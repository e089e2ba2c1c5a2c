from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import stats
from harness.stats.metrics.set_agreement import jaccard, masi, set_agreement_metrics

# Columns are {a}, {a, b}, {b, c}, {c} and the empty set.
SETS = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0]])


def value_of(name, membership, counts):
    row = stats.find_metric(name, set_agreement_metrics(membership))
    totals = row.contributions(np.array(counts)).sum(axis=0)
    return float(row.value(totals)), row.reason(totals)


def test_similarities_follow_the_definition():
    """Passonneau 2006: 1 for equal sets, 2/3 for a subset, 1/3 for an overlap, times Jaccard."""
    assert jaccard(SETS)[0].tolist() == [1.0, 0.5, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(masi(SETS)[0, :4], [1.0, 0.5 * 2 / 3, 0.0, 0.0])
    assert masi(SETS)[1, 2] == pytest.approx(1 / 3 * 1 / 3)
    assert (jaccard(SETS)[4, 4], masi(SETS)[4, 4]) == (1.0, 1.0)


def test_jaccard_agreement_is_a_mean_over_pairs():
    """{a} and {a, b} overlap by half; three raters who agree are three pairs: (0.5 + 3) / 4."""
    counts = [[1, 1, 0, 0, 0], [0, 0, 3, 0, 0]]
    assert value_of("jaccard_agreement", SETS, counts)[0] == pytest.approx(3.5 / 4)


def test_masi_alpha_of_single_options_is_nominal_alpha():
    """krippendorff 0.9.0, value_counts of 0 to 4 ratings per unit: 0.34523809523809523."""
    counts = [[3, 0, 1], [1, 1, 0], [0, 0, 2], [0, 4, 0], [1, 0, 0], [0, 0, 0], [2, 1, 1]]
    result, _ = value_of("krippendorff_alpha_masi", np.eye(3), counts)
    assert result == pytest.approx(0.34523809523809523, abs=1e-15)


@given(st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=12))
def test_masi_alpha_is_alpha_with_masi_distances(counts):
    """1 - D_o / D_e over all pairs of sets, written out."""
    pairable = [row for row in counts if sum(row) >= 2]
    distance = 1.0 - masi(SETS)
    labels = [[v for v, n in enumerate(row) for _ in range(n)] for row in pairable]
    everything = [v for row in labels for v in row]
    n = len(everything)
    expected = sum(distance[a, b] for a in everything for b in everything)
    observed = sum(distance[a, b] / (len(row) - 1) for row in labels for a in row for b in row)
    result, reason = value_of("krippendorff_alpha_masi", SETS, counts)
    if expected > 1e-9:
        assert result == pytest.approx(1.0 - (n - 1) * observed / expected)
    else:
        assert np.isnan(result)
        assert reason == ("constant_labels" if n else "too_few_raters")
