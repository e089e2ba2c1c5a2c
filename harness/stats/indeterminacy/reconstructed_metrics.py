"""Metrics against reconstructed response sets, with intervals that allow for an estimated F'."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.indeterminacy.reconstruction import implied_in_resamples, reconstruct
from harness.stats.inference.estimate import Estimate, make_interval
from harness.stats.inference.interval_methods import Sampled
from harness.stats.inference.metric import Metric, find_metric
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.comparisons import Cut, Side
from harness.stats.selection.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling


def reconstructed_metrics(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    metrics: Sequence[str | Metric],
    weights: FloatArray | None = None,
) -> dict[str, dict[str, Estimate]]:
    """Compare judges with the response sets that raters' choices imply, F' estimated from pairs.

    Parameters
    ----------
    human : RatingTable
        Forced choices of all items, and ``joint`` of some; see `reconstruct`.
    judges, tau, positive
        As in `evaluate`.
    resampling : Resampling
        How intervals are made. F' is estimated anew from the pairs of each resample, so that
        intervals allow for the few pairs behind it; they are score intervals whatever the method.
    metrics : sequence of str or Metric
        Names of `METRICS`, or other metrics.
    weights : (n,) array, optional
        How often each item counts; F' is that of the pairs as they are. Default: once.

    Returns
    -------
    dict of str to dict of str to Estimate
        By judge, then by metric.
    """
    rows = [find_metric(row, METRICS) if isinstance(row, str) else row for row in metrics]
    cut, implied = Cut(tau, tuple(positive)), reconstruct(human).distributions
    evaluation = evaluate(
        human,
        judges,
        tau=tau,
        positive=positive,
        resampling=replace(resampling, n_resamples=0),
        metrics=rows,
        implied=implied,
        weights=weights,
    )
    sides = [Side.of(table, cut, rows) for table in judges]
    counted = np.ones(len(human.items)) if weights is None else weights
    drawn = _replicates(human, sides, cut, rows, resampling=resampling, counted=counted)
    n_units = resampling.units(len(human.items)).n_units

    def estimate(j: int, m: int) -> Estimate:
        point, replicates = evaluation.estimates[judges[j].name][rows[m].name], drawn[j, m]
        if point.value is None:
            return point
        sampled = Sampled(
            value=point.value,
            replicates=replicates,
            n_units=min(point.n_used, n_units),
            n_items=point.n_used,
            bounds=rows[m].bounds,
            is_share=rows[m].is_share,
        )
        interval, why_none = make_interval(
            sampled, level=resampling.level, unit=evaluation.units.kind
        )
        return replace(
            point,
            interval=interval,
            interval_reason=why_none,
            n_resamples=len(replicates),
            undefined_share=float(np.isnan(replicates).mean()) if replicates.size else None,
        )

    return {
        table.name: {row.name: estimate(j, m) for m, row in enumerate(rows)}
        for j, table in enumerate(judges)
    }


def _replicates(
    human: RatingTable,
    sides: Sequence[Side],
    cut: Cut,
    rows: Sequence[Metric],
    *,
    resampling: Resampling,
    counted: FloatArray,
) -> FloatArray:
    """Return the (J, M, B) values in each resample, with F' of its own pairs."""
    units = resampling.units(len(human.items))
    resamples = resampling.draw(units)
    values = np.full((len(sides), len(rows), resamples.n_replicates), np.nan)
    if not values.size:
        return values
    implied = implied_in_resamples(human)
    blocks = (weights[:, units.of_item] for weights in resamples.blocks())
    for b, weights in enumerate(row for block in blocks for row in block):
        raters = Side.of(human, cut, rows, implied(weights))
        for m, row in enumerate(rows):
            vectors = raters.forms[row.human_form]
            for j, side in enumerate(sides):
                added = row.contributions(vectors, side.forms[row.judge_form])
                values[j, m, b] = row.value((weights * counted) @ added)
    return values
