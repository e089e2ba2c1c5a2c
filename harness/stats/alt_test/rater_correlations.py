"""Correlation of a judge with each rater, the traditional measure beside the annotator test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.alt_test.crowd_sums import means_left_out, sums_by_resample
from harness.stats.alt_test.outcome import with_interval
from harness.stats.alt_test.panel import numbers
from harness.stats.alt_test.scoring import item_numbers
from harness.stats.inference.estimate import Estimate
from harness.stats.metrics.human_agreement import MIN_ITEMS, pearson_mean_over_raters, pearsons

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from scipy.sparse import csr_array

    from harness.stats.alt_test.panel import Panel
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.inference.bootstrap import Units
    from harness.stats.inference.resampling import Resampling

N_SUMS = 6  # 1, x, y, x^2, y^2, x y


def mean_rater_correlations(
    panel: Panel,
    judges: Mapping[str, Mapping[str, Hashable]],
    *,
    resampling: Resampling,
) -> dict[str, Estimate]:
    """Estimate each judge's Pearson correlation with a rater, averaged over the raters.

    Parameters
    ----------
    panel : Panel
        Numeric ratings.
    judges : mapping of judge to mapping of item to number
        An item without a number, or with None, is unanswered.
    resampling : Resampling
        How intervals are made; all judges see the same resamples.

    Returns
    -------
    dict of str to Estimate
        NA "no_overlap" where no rater shares two items with the judge, "constant_labels" where all
        correlations are undefined.

    Raises
    ------
    ValueError
        If a rating or verdict is no number, or there is not one group per item.

    Notes
    -----
    "Pears" of Calderon et al. 2025, table 2: unweighted over the raters for whom it is defined.
    """
    units = resampling.units(len(panel.items))
    resamples = resampling.draw(units)
    rating = numbers(panel.labels, "ratings")[panel.code]
    matrices, used = [], []
    for verdicts in judges.values():
        verdict = item_numbers(panel.coded(verdicts), "verdicts", ranks=False)
        answered = ~np.isnan(verdict[panel.of_item])
        matrices.append(_matrix(panel, rating, verdict, units, answered))
        used.append(np.bincount(panel.of_item[answered], minlength=len(panel.items)) > 0)
    replicates = np.empty((len(matrices), resamples.n_replicates))
    if replicates.size and panel.raters:
        for j, at, sums in sums_by_resample(matrices, resamples, len(panel.raters)):
            replicates[j, at] = pearson_mean_over_raters(_by_rater(sums))
    return {
        name: _estimate(matrices[j], used[j], replicates[j], units, resampling)
        for j, name in enumerate(judges)
    }


def _matrix(
    panel: Panel, y: FloatArray, verdict: FloatArray, units: Units, answered: BoolArray
) -> csr_array:
    """Return what units add to each rater's sums, as a sparse (6 m, U) array."""
    from scipy.sparse import csr_array  # noqa: PLC0415 -- heavy

    item, rater, m = panel.of_item[answered], panel.of_rater[answered], len(panel.raters)
    x, y = verdict[item], y[answered]
    added = np.concatenate([np.ones(len(x)), x, y, x * x, y * y, x * y])
    row = np.concatenate([k * m + rater for k in range(N_SUMS)])
    column = np.tile(units.of_item[item], N_SUMS)
    return csr_array((added, (row, column)), shape=(N_SUMS * m, units.n_units))


def _by_rater(sums: FloatArray) -> FloatArray:
    """Put (6, m, ...) sums in the order that `pearsons` reads: (..., 6 m)."""
    return np.moveaxis(sums, (0, 1), (-1, -2)).reshape(*sums.shape[2:], -1)


def _correlations(sums: FloatArray) -> FloatArray:
    return pearsons(_by_rater(sums))


def _estimate(
    matrix: csr_array,
    used: BoolArray,
    replicates: FloatArray,
    units: Units,
    resampling: Resampling,
) -> Estimate:
    m = matrix.shape[0] // N_SUMS
    sums = np.asarray(matrix.sum(axis=1), dtype=np.float64).reshape(N_SUMS, m)
    correlations = _correlations(sums)
    n_used, value = int(used.sum()), pearson_mean_over_raters(_by_rater(sums))
    reason = ""
    if np.isnan(value):
        reason = "constant_labels" if (sums[0] >= MIN_ITEMS).any() else "no_overlap"
    estimate = Estimate(value=None, reason=reason, n_used=n_used, n_excluded=len(used) - n_used)
    left_out = np.empty(0)
    if resampling.method != "percentile":
        left_out = means_left_out(matrix, sums, correlations, _correlations)
    if len(np.unique(units.of_item[used])) < 2:  # noqa: PLR2004 -- one unit is always itself
        replicates, left_out = np.full_like(replicates, np.nan), np.empty(0)
    return with_interval(
        estimate,
        np.append(value, replicates),
        resampling.level,
        unit=units.kind,
        method=resampling.method,
        left_out=left_out,
    )
