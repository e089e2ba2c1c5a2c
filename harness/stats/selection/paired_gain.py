"""Gain of one judge over another in agreement with raters, on the same items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.stats.data.arrays import TOLERANCE
from harness.stats.inference.alpha_spending import GAIN
from harness.stats.inference.interval_methods import MIN_UNITS
from harness.stats.inference.non_inferiority import bounded_mean_interval
from harness.stats.inference.special_functions import ndtri
from harness.stats.modes import MadeBy
from harness.stats.planning.sample_size import sample_size_for_difference, sd_to_plan_with
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it
from harness.stats.selection.paired_runs import FEW_DIFFER, MIN_DIFFERING

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

RANGE = (-1.0, 1.0)  # range of the difference between two losses in [0, 1]
ALPHA = GAIN * 0.05  # probability of showing a gain if there is none
LEVEL = 1.0 - 2.0 * ALPHA  # a false gain is in one of the two tails


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedGain:
    """Difference in loss between two judges.

    Attributes
    ----------
    n_items, n_units : int
        Number of items, and of groups of dependent items.
    before, after : float
        Mean of 1 - loss of each judge, in [0, 1].
    gain : float
        ``after - before``.
    low, high : float or None
        Interval of the gain.
    level : float
        Coverage of the interval; the error rate of a gain above 0 is half of the remaining
        probability.
    reason : str
        Reason if there is no interval: ``fewer_than_six_differ`` or ``too_few_items``.
    n_better, n_worse : int
        Number of units on which the second judge has a lower loss, and a higher one.
    """

    n_items: int
    n_units: int
    before: float
    after: float
    gain: float
    low: Annotated[float | None, MadeBy("inverted test")] = None
    high: Annotated[float | None, MadeBy("inverted test")] = None
    level: float
    reason: Reason = ""
    n_better: int
    n_worse: int

    @property
    def is_shown(self) -> bool:
        """Return whether the interval is above 0."""
        return self.low is not None and self.low > 0.0


def items_for_gain(gains: FloatArray, worth: float) -> int | None:
    """Return the number of items needed to show a gain with a power of 80 %.

    Parameters
    ----------
    gains : (n,) array
        Gain of the second judge on each item of a pilot: loss of the first judge minus loss of the
        second.
    worth : float
        The gain to show.

    Returns
    -------
    int or None
        See `sample_size_for_difference`; None with fewer than two items, or if all gains are equal.
    """
    if len(gains) < 2 or not (sd := float(gains.std(ddof=1))):  # noqa: PLR2004 -- for a spread
        return None
    spread = sd_to_plan_with(sd, len(gains))
    return sample_size_for_difference(spread, worth, critical=-float(ndtri(ALPHA)))


def paired_gain(
    before: FloatArray, after: FloatArray, groups: IntArray, *, level: float = LEVEL
) -> PairedGain:
    """Return one judge's gain over another, with its interval.

    Parameters
    ----------
    before, after : (n,) arrays in [0, 1]
        Loss of each judge on each item.
    groups : (n,) int array
        The unit of each item; items in one unit are not independent.
    level : float, optional
        Coverage of the interval.

    Notes
    -----
    The interval comes from `bounded_mean_interval`. With fewer than six units that differ, there is
    no interval, as in `paired_runs`. `benchmarks/improve.py` measures its error rate after a
    search.

    Raises
    ------
    ValueError
        If there are no items, or a loss is nan.
    """
    gains = before - after
    if not len(gains) or np.isnan(gains).any():
        raise ValueError(
            "a gain needs at least one item, and each item needs a loss for both judges"
        )
    _, place = np.unique(groups, return_inverse=True)
    units = np.bincount(place, weights=gains)
    n_better, n_worse = int((units > TOLERANCE).sum()), int((units < -TOLERANCE).sum())
    point = PairedGain(
        n_items=len(gains),
        n_units=len(units),
        before=1.0 - float(before.mean()),
        after=1.0 - float(after.mean()),
        gain=float(gains.mean()),
        level=level,
        n_better=n_better,
        n_worse=n_worse,
    )
    if len(units) < MIN_UNITS:
        return replace(point, reason="too_few_items")
    if n_better + n_worse < MIN_DIFFERING:
        return replace(point, reason=FEW_DIFFER)
    low, high = bounded_mean_interval(gains, place, RANGE, level) or (None, None)
    return replace(point, low=low, high=high)
