"""The difference of two evaluated judges by itself, where no other pair is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.selection.ranking import compare

if TYPE_CHECKING:
    from harness.stats import Difference, Evaluation


def difference_of(evaluation: Evaluation, metric: str) -> Difference:
    """Compare the second of two judges with the first, as losses: positive is worse."""
    row, (first, second) = evaluation.row(metric), evaluation.judges
    losses, replicates = evaluation.losses(metric)
    estimates = [evaluation.estimates[judge][metric] for judge in (second, first)]
    covariance = evaluation.covariances.get(metric)
    signs = row.loss_signs(np.array([estimate.value or 0.0 for estimate in reversed(estimates)]))
    return compare(
        (second, first),
        losses[::-1],
        replicates[::-1],
        level=evaluation.level,
        unit=evaluation.units.kind,
        n_units=min(evaluation.units.n_units, *(estimate.n_used for estimate in estimates)),
        largest=row.loss_range(),
        raters=covariance and covariance.variance(np.array([-1.0, 1.0]) * signs),
    )
