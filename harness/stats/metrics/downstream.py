"""Downstream metrics: consistency of decisions, and bias of prevalence estimates.

Both compare decisions: whether the probability that the accepted response set meets the positive
options is at least tau (Guerdan et al. 2025, section 2.2). Rating vectors are (n, 1) arrays of 0.0
and 1.0, nan if there is no response set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.metric import (
    Metric,
    average_metric,
    both_rated,
    weighted,
)

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray
    from harness.stats.data.rating_table import Form


def decision_consistency(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: 1 if judge and humans make the same decision, and the weight.

    For a judge's expected decision in [0, 1], it is the probability of the same decision.
    """
    alike = 1.0 - np.abs(human[:, 0] - judge[:, 0])
    return weighted(alike, both_rated(human, judge))


def prevalence_bias(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: the judge's decision minus the humans', and the weight."""
    return weighted(judge[:, 0] - human[:, 0], both_rated(human, judge))


_PAPER = "Guerdan et al. 2025, section 2.2"
_DECISIONS: tuple[Form, Form] = ("decision", "decision")
METRICS: tuple[Metric, ...] = (
    average_metric(
        "decision_consistency",
        decision_consistency,
        _DECISIONS,
        display_name="share of decisions that match the raters'",
        better="higher",
        symmetric=True,
        bounds=(0.0, 1.0),
        family="downstream",
        paper=_PAPER,
    ),
    average_metric(
        "prevalence_bias",
        prevalence_bias,
        _DECISIONS,
        display_name="over- or undercount of positive items",
        better="zero",
        bounds=(-1.0, 1.0),
        family="downstream",
        paper=_PAPER,
    ),
)
