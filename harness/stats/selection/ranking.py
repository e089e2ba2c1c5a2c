"""Which judge comes first on one metric, and which cannot be told apart from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray
from harness.stats.inference.estimate import Interval, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.inference.bootstrap import Unit
    from harness.stats.inference.estimate import Estimate
    from harness.stats.inference.metric import Better


@dataclass(frozen=True, slots=True)
class Difference:
    """How much worse one judge is than another, from paired replicates.

    Attributes
    ----------
    judge, reference : str
        Who is compared with whom.
    value : float or None
        Loss of the judge minus loss of the reference: positive when the judge is worse, whatever
        the metric's direction. None where either is undefined.
    interval : Interval or None
        Of the same items for both; None where no replicate is defined for both.
    separated : bool
        Whether the interval excludes 0.
    p_value : float or None
        Two-sided, of no difference: twice the share of replicates on the far side of 0, the data
        themselves counted among them. None without replicates.
    """

    judge: str
    reference: str
    value: float | None
    interval: Interval | None
    separated: bool
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One line of a ranking.

    Attributes
    ----------
    judge : str
        Its name.
    rank : int or None
        1 is best; equal values share a rank; None where the metric is undefined.
    estimate : Estimate
        The metric's value for this judge.
    difference : Difference or None
        To the best judge; None for the best itself and where the metric is undefined.
    """

    judge: str
    rank: int | None
    estimate: Estimate
    difference: Difference | None


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """Judges from best to worst on one metric, those with NA last.

    Attributes
    ----------
    metric : str
        Name of the row.
    better : {"higher", "lower", "zero"}
        Direction that was read.
    rows : tuple of Ranked
        In order.
    """

    metric: str
    better: Better
    rows: tuple[Ranked, ...]

    def __repr__(self) -> str:
        return f"Ranking({self.metric!r}, {' < '.join(row.judge for row in self.rows)})"

    @property
    def best(self) -> str | None:
        """The first judge; None if the metric is undefined for all."""
        return self.rows[0].judge if self.rows and self.rows[0].rank is not None else None

    @property
    def indistinguishable(self) -> tuple[str, ...]:
        """The other judges whose difference to the best is not separated from 0."""
        return tuple(
            row.judge for row in self.rows if row.difference and not row.difference.separated
        )


def loss(values: FloatArray, better: Better) -> FloatArray:
    """Turn values into losses, lower better: the only place that reads a metric's direction."""
    if better == "higher":
        return -np.asarray(values, dtype=np.float64)
    return np.asarray(values if better == "lower" else np.abs(values), dtype=np.float64)


def rank(
    metric: str,
    better: Better,
    judges: Sequence[str],
    estimates: Sequence[Estimate],
    replicates: FloatArray,
    *,
    level: float,
    unit: Unit,
) -> Ranking:
    """Order judges on one metric and compare each with the best.

    Parameters
    ----------
    metric, better : str
        The row's name and direction.
    judges : J names
        In the order of ``estimates`` and of the rows of ``replicates``.
    estimates : J estimates
        Undefined ones come last.
    replicates : (J, B) array
        The metric in each resample, column ``b`` from the same items for all judges.
    level : float
        Of the intervals of the differences.
    unit : {"item", "group"}
        What was resampled.

    Returns
    -------
    Ranking
        Ties keep the order of ``judges``.
    """
    values = np.array([np.nan if e.value is None else e.value for e in estimates])
    losses = loss(values, better)
    order = np.argsort(losses, kind="stable")  # nan last
    rows = []
    for j in order.tolist():
        ranked = None if np.isnan(losses[j]) else 1 + int((losses < losses[j] - TOLERANCE).sum())
        difference = None
        if ranked is not None and j != order[0]:
            pair = [j, order[0]]
            difference = compare(
                (judges[j], judges[order[0]]),
                losses[pair],
                loss(replicates[pair], better),
                level=level,
                unit=unit,
            )
        rows.append(Ranked(judges[j], ranked, estimates[j], difference))
    return Ranking(metric, better, tuple(rows))


def compare(
    names: tuple[str, str],
    losses: FloatArray,
    replicates: FloatArray,
    *,
    level: float,
    unit: Unit,
) -> Difference:
    """Compare a judge with a reference: their (2,) losses and paired (2, B) replicates of them."""
    value = float(losses[0] - losses[1])
    apart = replicates[0] - replicates[1]
    interval, _ = percentile_interval(apart, level, unit)
    separated = interval is not None and (interval.low > TOLERANCE or interval.high < -TOLERANCE)
    p_value = _two_sided(apart[~np.isnan(apart)])
    return Difference(*names, None if np.isnan(value) else value, interval, separated, p_value)


def _two_sided(apart: FloatArray) -> float | None:
    if not apart.size:
        return None
    least = min(int((apart <= TOLERANCE).sum()), int((apart >= -TOLERANCE).sum()))
    return min(1.0, 2.0 * (least + 1) / (apart.size + 1))
