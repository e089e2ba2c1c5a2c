"""Ranking of judges by a metric, and the difference between two."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray
from harness.stats.inference.estimate import Interval, make_interval
from harness.stats.inference.interval_methods import Sampled
from harness.stats.inference.metric import Better, MetricUnit  # noqa: TC001 -- msgspec reads fields

if TYPE_CHECKING:
    from harness.stats.inference.bootstrap import ResampledUnit
    from harness.stats.inference.crossed_raters import RaterVariance


@dataclass(frozen=True, slots=True)
class Difference:
    """Paired difference between two judges: how much worse the first is than the second.

    Attributes
    ----------
    judge, reference : str
        The two judges.
    value : float or None
        Loss of the judge minus loss of the reference: positive if the judge is worse, whatever the
        metric's direction. None if either is undefined.
    interval : Interval or None
        Interval on the same items for both; None if either is undefined, if fewer than five units
        enter, or without replicates.
    """

    judge: str
    reference: str
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line of a ranking.

    Attributes
    ----------
    judge : str
        Name of the judge.
    rank : int or None
        1 is best; equal values share a rank; None if the metric is undefined.
    """

    judge: str
    rank: int | None


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """Judges from best to worst on one metric, those with NA last.

    Attributes
    ----------
    metric : str
        Name of the metric.
    better : {"higher", "lower", "zero"}
        Direction of the metric.
    unit : str
        Unit of the metric: "bits", "nats", or "" for a pure number.
    rows : tuple of Ranked
        Lines in order.
    """

    metric: str
    better: Better
    unit: MetricUnit
    rows: tuple[Ranked, ...]

    def __repr__(self) -> str:
        return f"Ranking({self.metric!r}, {' < '.join(row.judge for row in self.rows)})"

    @property
    def best(self) -> str | None:
        """The first judge; None if the metric is undefined for all."""
        return self.rows[0].judge if self.rows and self.rows[0].rank is not None else None


def ranks_of(losses: FloatArray) -> list[int | None]:
    """Rank (J,) losses: 1 plus the number of lower ones; None for nan."""
    return [
        None if np.isnan(of_judge) else 1 + int((losses < of_judge - TOLERANCE).sum())
        for of_judge in losses.tolist()
    ]


def compare(
    names: tuple[str, str],
    losses: FloatArray,
    replicates: FloatArray,
    *,
    level: float,
    unit: ResampledUnit,
    n_units: int,
    largest: float = inf,
    raters: RaterVariance | None = None,
) -> Difference:
    """Compare a judge with a reference.

    Parameters
    ----------
    names : (judge, reference)
        Who is compared with whom.
    losses : (2,) array
        Losses of both, lower is better.
    replicates : (2, B) array
        Values in the same resamples for both.
    level, unit
        Properties of the interval, see `Interval`.
    n_units : int
        Number of units in both losses.
    largest : float, optional
        The largest possible difference.
    raters : RaterVariance, optional
        Variance of the difference due to raters, if they are a sample too.
    """
    value = float(losses[0] - losses[1])
    sampled = Sampled(
        value=value,
        replicates=replicates[0] - replicates[1],
        n_units=n_units,
        bounds=(-largest, largest),
        raters=raters,
    )
    interval, _ = make_interval(sampled, level=level, unit=unit)
    return Difference(*names, None if np.isnan(value) else value, interval)
