"""Coefficients of two sides and among many raters, by the level of measurement."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio, remembered
from harness.stats.inference.estimate import ItemSums
from harness.stats.inference.metric import SHARE, Metric, by_contributions, find_metric
from harness.stats.metrics.alpha import alpha_metric, coincidences
from harness.stats.metrics.association import kendall_of, spearman_of
from harness.stats.metrics.chance import above_uniform, both_directions, square
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT, MIN_RATERS
from harness.stats.metrics.registry import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import Counts
    from harness.stats.metrics.alpha import Level

CELLS = 1 << 20  # of pairs of labels, held at once: 8 MiB
_NOMINAL = ("krippendorff_alpha_nominal", "cohen_kappa", "scott_pi")
_ELANGOVAN = "Elangovan et al. 2025"
_SAME = {"fleiss_kappa": "scott_pi", "randolph_kappa": "randolph_kappa"}  # of two raters


def among(counts: Counts, level: Level, scale: ArrayLike | None = None) -> list[ItemSums]:
    """Make the coefficients among the raters of items with two ratings or more.

    Parameters
    ----------
    counts : (n, K) array
        How often each option was chosen.
    level, scale
        As in `alpha_metric`.

    Returns
    -------
    list of ItemSums
        Every row of `HUMAN_AGREEMENT`, and alpha at the level if it is not nominal.
    """
    c = np.asarray(counts, dtype=np.float64)
    several = np.asarray(c.sum(axis=1) >= MIN_RATERS, dtype=np.bool_)
    rows = HUMAN_AGREEMENT
    if level != "nominal":
        alpha = alpha_metric(level, scale=None if scale is None else np.asarray(scale).tolist())
        rows = (*rows, replace(alpha, contributions=coincidences))
    return [
        ItemSums(
            contributions=np.where(several[:, None], metrics[0].contributions(c), 0.0),
            metrics=metrics,
            used=several,
            nothing="too_few_raters",
        )
        for metrics in by_contributions(rows)
    ]


def pair_metrics(level: Level, numbers: FloatArray, K: int) -> tuple[Metric, ...]:
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
    agreement, randolph = (
        _measure("agreement", _agreement, bounds=SHARE),
        _measure("randolph_kappa", lambda totals: above_uniform(_agreement(totals), K)),
    )
    if level == "nominal":
        alpha, *others = (find_metric(f"{name}(h/h)", METRICS) for name in _NOMINAL)
        kappas = (_measure(metric.name.removesuffix("(h/h)"), metric.value) for metric in others)
        return (agreement, _measure(_NOMINAL[0], alpha.value), randolph, *kappas)
    by_level = alpha_metric(level, scale=numbers.tolist())
    return (
        agreement,
        _measure(by_level.name, lambda totals: by_level.value(both_directions(totals))),
        randolph,
        _measure("spearman", lambda totals: spearman_of(square(totals))),
        _measure("kendall_tau_b", lambda totals: kendall_of(square(totals))),
    )


def against_random(metrics: Iterable[Metric], chances: FloatArray) -> tuple[Metric, ...]:
    """Let metrics of two sides read the sums of one: the other is a rater who draws labels.

    Parameters
    ----------
    metrics : iterable of Metric
        Of the (L * L) cells of `pair_metrics`.
    chances : (L,) array
        How probable each label is, whatever the item.
    """

    @remembered
    def cells(totals: FloatArray) -> FloatArray:
        both = totals[..., :, None] * chances
        return both.reshape(*totals.shape[:-1], len(chances) ** 2)

    def value_of(metric: Metric, totals: FloatArray) -> FloatArray:
        rows = totals.reshape(-1, len(chances))
        step = max(1, CELLS // len(chances) ** 2)
        if len(rows) <= step:
            return metric.value(cells(totals))
        parts = [metric.value(cells(rows[i : i + step])) for i in range(0, len(rows), step)]
        return np.concatenate(parts).reshape(totals.shape[:-1])

    def reading(metric: Metric) -> Metric:
        return replace(
            metric,
            value=partial(value_of, metric),
            reason=lambda totals: metric.reason(cells(totals)),
        )

    return tuple(reading(metric) for metric in metrics)


def counterparts(many: Iterable[str], two: Iterable[str]) -> dict[str, str]:
    """Return coefficients among many raters that two sides have too, and what those call them.

    Percentages are not among them: those of three raters and of two modes are different quantities.
    """
    names = set(two)
    return {name: _SAME.get(name, name) for name in many if _SAME.get(name, name) in names}


def _measure(
    name: str,
    value: Callable[[FloatArray], FloatArray],
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Metric:
    return Metric(
        name=name,
        value=value,
        reason=lambda totals: "constant_labels" if totals.sum() > 0 else "no_items",
        paper=_ELANGOVAN,
        bounds=bounds,
    )


@remembered
def _agreement(totals: FloatArray) -> FloatArray:
    return ratio(np.trace(square(totals), axis1=-2, axis2=-1), totals.sum(axis=-1))
