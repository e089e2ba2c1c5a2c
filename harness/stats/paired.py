"""Coefficients of two sides and among many raters, by the level of measurement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.agreement import METRICS
from harness.stats.arrays import FloatArray, ratio
from harness.stats.association import kendall_of, spearman_of
from harness.stats.krippendorff import alpha_measure, coincidences, square
from harness.stats.measures import Batch, Measure
from harness.stats.raters import HUMAN_AGREEMENT, MIN_RATERS
from harness.stats.rows import find_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.arrays import Counts
    from harness.stats.krippendorff import Level

_ELANGOVAN = "Elangovan et al. 2025"
_SAME = {"fleiss_kappa": "scott_pi", "randolph_kappa": "randolph_kappa"}  # of two raters


def among(counts: Counts, level: Level, scale: ArrayLike | None = None) -> Batch:
    """Make the coefficients among the raters of items with two ratings or more.

    Parameters
    ----------
    counts : (n, K) array
        How often each option was chosen.
    level, scale
        As in `alpha_measure`.

    Returns
    -------
    Batch
        Every row of `HUMAN_AGREEMENT`, and alpha at the level if it is not nominal.
    """
    c = np.asarray(counts, dtype=np.float64)
    parts = [row.contributions(c) for row in HUMAN_AGREEMENT] + [coincidences(c)]
    ends = np.cumsum([0, *(part.shape[1] for part in parts)])
    several = (c.sum(axis=1) >= MIN_RATERS)[:, None]
    rows = [
        Measure(name=row.name, value=row.value, why=row.why, paper=row.paper)
        for row in HUMAN_AGREEMENT
    ]
    measures = [sliced(row, slice(*ends[i : i + 2])) for i, row in enumerate(rows)]
    if level != "nominal":
        alpha = alpha_measure(level, scale=None if scale is None else np.asarray(scale).tolist())
        measures.append(sliced(alpha, slice(*ends[-2:])))
    return Batch(
        contributions=np.where(several, np.hstack(parts), 0.0),
        measures=tuple(measures),
        nothing="too_few_raters",
    )


def sliced(measure: Measure, part: slice) -> Measure:
    """Let a measure read its own columns out of wider sums."""
    return replace(
        measure,
        value=lambda totals: measure.value(totals[..., part]),
        why=lambda totals: measure.why(totals[..., part]),
    )


def pair_measures(level: Level, numbers: FloatArray, K: int) -> tuple[Measure, ...]:
    """Make the coefficients of two sides from the (L * L) cells of their labels.

    Parameters
    ----------
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of measurement.
    numbers : (L,) array
        What the axes stand for, in order; medians may lie between options.
    K : int
        The declared number of options.
    """
    alpha = alpha_measure(level, scale=None if level == "nominal" else numbers.tolist())
    shared = (
        _measure("agreement", _agreement),
        _measure(alpha.name, lambda totals: alpha.value(_both_ways(totals))),
        _measure("randolph_kappa", lambda totals: _randolph(totals, K)),
    )
    if level == "nominal":
        rows = [find_metric(f"{name}(h/h)", METRICS) for name in ("cohen_kappa", "scott_pi")]
        return (*shared, *(_measure(row.name.removesuffix("(h/h)"), row.value) for row in rows))
    return (
        *shared,
        _measure("spearman", lambda totals: spearman_of(square(totals))),
        _measure("kendall_tau_b", lambda totals: kendall_of(square(totals))),
    )


def deltas(many: Sequence[Measure], two: Sequence[Measure]) -> tuple[Measure, ...]:
    """Subtract what two sides give from what many raters give, coefficient by coefficient."""
    by_name = {measure.name: measure for measure in two}
    pairs = ((first, by_name.get(_SAME.get(first.name, first.name))) for first in many)
    return tuple(_difference(first, second) for first, second in pairs if second is not None)


def _difference(first: Measure, second: Measure) -> Measure:
    return Measure(
        name=first.name,
        value=lambda totals: first.value(totals) - second.value(totals),
        why=lambda t: first.why(t) if np.isnan(first.value(t)) else second.why(t),
        paper=f"{_ELANGOVAN}, table 1: HH - HwMw",
        better="zero",
        bounds=(-2.0, 2.0),
    )


def _measure(name: str, value: Callable[[FloatArray], FloatArray]) -> Measure:
    return Measure(
        name=name,
        value=value,
        why=lambda totals: "constant_labels" if totals.sum() > 0 else "no_items",
        paper=_ELANGOVAN,
    )


def _agreement(totals: FloatArray) -> FloatArray:
    return ratio(np.trace(square(totals), axis1=-2, axis2=-1), totals.sum(axis=-1))


def _randolph(totals: FloatArray, K: int) -> FloatArray:
    by_chance = 1.0 / K
    agreement = _agreement(totals)
    return ratio(agreement - by_chance, np.full_like(agreement, 1.0 - by_chance))


def _both_ways(totals: FloatArray) -> FloatArray:
    cells = square(totals)
    return (cells + np.swapaxes(cells, -1, -2)).reshape(totals.shape)
