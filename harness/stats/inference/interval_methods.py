"""How an interval is made from replicates of a value, or from leaving out one unit at a time."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import Summands
    from harness.stats.inference.bootstrap import Units

IntervalMethod: TypeAlias = Literal["percentile", "bca", "jackknife"]
METHODS: tuple[IntervalMethod, ...] = ("percentile", "bca", "jackknife")
MIN_VALUES = 2  # one value has no spread
_NORMAL = NormalDist()


def check_method(method: str) -> None:
    """Refuse a method that is none of `METHODS`."""
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; wanted one of {', '.join(METHODS)}")


def check_level(level: float) -> None:
    """Refuse a confidence level outside (0, 1)."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level is {level!r}; a confidence level lies between 0 and 1")


def interval_ends(
    method: IntervalMethod,
    value: float,
    replicates: FloatArray,
    left_out: FloatArray,
    level: float,
) -> tuple[float, float] | None:
    """Make the ends of an interval by any method; None where nothing says what they are.

    Parameters
    ----------
    method : {"percentile", "bca", "jackknife"}
        Which.
    value, replicates, left_out, level
        As in `bca_ends`; percentiles need nothing left out.
    """
    if method == "percentile":
        return percentile_ends(replicates, level)
    if method == "bca":
        return bca_ends(value, replicates, left_out, level)
    return jackknife_ends(value, left_out, level)


def jackknife(
    contributions: Summands, value: Callable[[FloatArray], FloatArray], units: Units
) -> FloatArray:
    """Evaluate a metric with each unit left out in turn: (U,), nan where undefined."""
    by_unit = np.asarray(units.sums(contributions))
    left_out = np.asarray(value(units.total(by_unit) - by_unit), dtype=np.float64)
    return left_out if units.times is None else np.repeat(left_out, units.times)


def percentile_ends(replicates: FloatArray, level: float) -> tuple[float, float] | None:
    """Return quantiles of (B,) replicates, nan left out; None where none is defined."""
    defined = replicates[~np.isnan(replicates)]
    if not defined.size:
        return None
    return _quantiles(defined, (1.0 - level) / 2.0, (1.0 + level) / 2.0)


def _quantiles(values: FloatArray, low: float, high: float) -> tuple[float, float]:
    """Return what `numpy.quantile` returns in six times as long, for there are thousands."""
    ordered = np.sort(values)
    last = len(ordered) - 1
    ends = np.interp([low * last, high * last], np.arange(last + 1), ordered)
    return float(ends[0]), float(ends[1])


def bca_ends(
    value: float, replicates: FloatArray, left_out: FloatArray, level: float
) -> tuple[float, float] | None:
    """Return quantiles of the replicates at levels corrected for bias and acceleration.

    Parameters
    ----------
    value : float
        On all units.
    replicates : (B,) array
        Of the bootstrap; nan where undefined.
    left_out : (U,) array
        Values with one unit left out; nan where undefined.
    level : float
        Nominal coverage.

    Returns
    -------
    (low, high) or None
        None where no replicate is defined. The plain quantiles where all replicates lie on one side
        of the value, so that no bias can be told.

    Notes
    -----
    Efron 1987, equations 2.3 and 6.6; replicates equal to the value count half.
    """
    defined = replicates[~np.isnan(replicates)]
    if not defined.size:
        return None
    tied = np.abs(defined - value) <= TOLERANCE
    below = float(((defined < value) & ~tied).mean() + tied.mean() / 2.0)
    if not 0.0 < below < 1.0:
        return percentile_ends(defined, level)
    bias, acceleration = _NORMAL.inv_cdf(below), _acceleration(left_out)
    tails = []
    for share in ((1.0 - level) / 2.0, (1.0 + level) / 2.0):
        moved = bias + _NORMAL.inv_cdf(share)
        tails.append(_NORMAL.cdf(bias + moved / max(1.0 - acceleration * moved, TOLERANCE)))
    return _quantiles(defined, *tails)


def jackknife_ends(value: float, left_out: FloatArray, level: float) -> tuple[float, float] | None:
    """Return value -/+ a normal quantile times the jackknife's standard error.

    None where fewer than two of the (U,) values with one unit left out are defined.

    Notes
    -----
    Tukey's jackknife, which for smooth functions of sums is the delta method.
    """
    defined = left_out[~np.isnan(left_out)]
    U = defined.size
    if U < MIN_VALUES:
        return None
    error = float(np.sqrt((U - 1.0) / U * ((defined - defined.mean()) ** 2).sum()))
    return normal_ends(value, error, level)


def normal_ends(value: float, error: float, level: float) -> tuple[float, float]:
    """Return value -/+ a normal quantile times its standard error."""
    reach = _NORMAL.inv_cdf((1.0 + level) / 2.0) * error
    return value - reach, value + reach


def _acceleration(left_out: FloatArray) -> float:
    defined = left_out[~np.isnan(left_out)]
    if not defined.size:
        return 0.0
    off = defined.mean() - defined
    skew = ratio((off**3).sum(), 6.0 * (off**2).sum() ** 1.5)
    return float(np.nan_to_num(skew))
