"""Krippendorff's alpha for any level of measurement, with missing ratings.

On a finite scale, `coincidences` computes each item's contribution and `alpha_metric` uses their
sums, so bootstrap, strata and weights need no extra code. `krippendorff_alpha` accepts raw ratings
of any kind, including continuous ones, and never stores a matrix over all pairs of values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from harness.stats.data.arrays import (
    TOLERANCE,
    FloatArray,
    blocks,
    ratio,
    row_products,
    row_sums,
)
from harness.stats.inference.estimate import Estimate, exclusions
from harness.stats.inference.metric import Metric
from harness.stats.metrics.chance import MIN_FOR_AGREEMENT, alpha, nominal_alpha, square

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from harness.stats.data.arrays import Counts, IntArray
    from harness.stats.reasons import NAReason, Reason

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = get_args(Level)
_PAPER = "Krippendorff 2011, Computing Krippendorff's Alpha-Reliability"
MOST_RATIOS = 40_000  # different numbers on a raw ratio scale, which take about 20 seconds
LONGEST = 64  # integers on a shorter scale are counted, others sorted


def coincidences(counts: Counts) -> FloatArray:
    """Return (n, K * K) pairs of ratings per item, scaled to sum to the item's number of ratings.

    Parameters
    ----------
    counts : (n, K) array
        Number of times each option was chosen.

    Notes
    -----
    o_ck = n_uc (n_uk - [c = k]) / (m_u - 1). Items with fewer than two ratings contribute nothing.
    """
    c, share = _pair_shares(counts)
    pairs = c[:, :, None] * c[:, None, :]
    diagonal = np.arange(c.shape[1])
    pairs[:, diagonal, diagonal] -= c
    return np.asarray(
        (pairs * share[:, None, None]).reshape(len(c), c.shape[1] ** 2), dtype=np.float64
    )


def coincidence_totals(counts: Counts) -> FloatArray:
    """Return the (K * K,) sums of `coincidences` without computing them per item."""
    c, share = _pair_shares(counts)
    weighted = c * share[:, None]
    return np.asarray((weighted.T @ c - np.diag(weighted.sum(axis=0))).ravel(), dtype=np.float64)


def _pair_shares(counts: Counts) -> tuple[FloatArray, FloatArray]:
    """Return (n, K) counts as floats, and the (n,) weight of each pair of an item's ratings."""
    c = np.asarray(counts, dtype=np.float64)
    m = c.sum(axis=1)
    return c, np.where(m >= MIN_FOR_AGREEMENT, 1.0 / np.maximum(m - 1.0, 1.0), 0.0)


def distances(level: Level, n_c: FloatArray, scale: FloatArray | None = None) -> FloatArray:
    """Return squared distances between options, as a (..., K, K) array.

    Ordinal distances use (..., K) ``n_c``, the pairable ratings of each option, in order. Interval
    and ratio distances use the (K,) numbers of ``scale``, by default 1 to K. ValueError if the
    level is unknown, or a ratio scale has a negative number.
    """
    K = n_c.shape[-1]
    if level == "nominal":
        return np.broadcast_to(1.0 - np.eye(K), (*n_c.shape, K))
    if level == "ordinal":
        position = np.cumsum(n_c, axis=-1) - n_c / 2.0  # differences equal those of midranks
        return np.asarray((position[..., :, None] - position[..., None, :]) ** 2)
    numbers = np.arange(1.0, K + 1.0) if scale is None else np.asarray(scale, dtype=np.float64)
    apart = numbers[:, None] - numbers[None, :]
    if level == "ratio":
        _check_ratio_scale(numbers)
        apart = np.nan_to_num(ratio(apart, numbers[:, None] + numbers[None, :]))
    elif level != "interval":
        raise ValueError(f"level is {level!r}; wanted one of {', '.join(LEVELS)}")
    return np.broadcast_to(apart**2, (*n_c.shape, K))


def alpha_name(level: Level) -> str:
    """Return the name of alpha for a level of measurement, without its forms."""
    return f"krippendorff_alpha_{level}"


def alpha_metric(
    level: Level | None = None,
    *,
    scale: Sequence[float] | None = None,
    weights: ArrayLike | None = None,
) -> Metric:
    """Return the metric that computes alpha from summed `coincidences`.

    Parameters
    ----------
    level : str, optional
        As in `distances`; required unless ``weights`` are given.
    scale : (K,) numbers, optional
        As in `distances`.
    weights : (K, K) array, optional
        The user's own disagreements, instead of a level: 0 on the diagonal, non-negative. The shape
        is (K + 1, K + 1) with CANNOT_ASSESS as an extra option.

    Raises
    ------
    ValueError
        If there is neither a level nor weights, or they are malformed.
    """
    if (level is None) == (weights is None):
        raise ValueError("pass either a level of measurement or a matrix of weights")
    numbers = None if scale is None else np.asarray(scale, dtype=np.float64)
    disagreements = None if weights is None else check_weights(weights)

    def value(totals: FloatArray) -> FloatArray:
        o = square(totals)
        n_c = o.sum(axis=-1)
        apart = (
            disagreements
            if disagreements is not None
            else distances(level or "nominal", n_c, numbers)
        )
        observed = (o * apart).sum(axis=(-2, -1))
        expected = (n_c[..., :, None] * n_c[..., None, :] * apart).sum(axis=(-2, -1))
        return alpha(n_c.sum(axis=-1), observed, expected)

    return Metric(
        name=alpha_name(level) if level else "krippendorff_alpha_weighted",
        value=value,
        reason=_reason_no_alpha,
        paper=_PAPER,
    )


def _reason_no_alpha(totals: FloatArray) -> Reason:
    return "constant_labels" if totals.sum() > 0 else "too_few_raters"


def check_weights(weights: ArrayLike) -> FloatArray:
    """Return a (K, K) matrix of disagreements. Raise ValueError if it is not valid.

    It must be square, finite, non-negative, 0 on the diagonal and positive somewhere.
    """
    matrix = np.asarray(weights, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"weights has shape {matrix.shape}; wanted (K, K)")
    if not np.isfinite(matrix).all() or (matrix < 0).any() or not matrix.any():
        raise ValueError("weights are disagreements: finite, non-negative and not all 0")
    if np.diag(matrix).any():
        raise ValueError("weights: an option disagrees with itself; the diagonal must be 0")
    return matrix


def interval_sums(ratings: FloatArray, *, centre: float | None = None) -> FloatArray:
    """Return each item's contribution to interval alpha for arbitrary numbers, as an (n, 4) array.

    Parameters
    ----------
    ratings : (n, m) array
        Numeric ratings, nan if missing.
    centre : float, optional
        Number to subtract first, which does not change alpha but keeps the sums exact; by default
        the mean. Shards to be added need the same centre.

    Returns
    -------
    (n, 4) array
        Squared distances within the item, pairable ratings, their sum and their sum of squares.
    """
    x = np.asarray(ratings, dtype=np.float64)
    rated = ~np.isnan(x)
    x = np.where(rated, x, 0.0)
    shift = float(ratio(x.sum(), rated.sum())) if centre is None else centre
    x = np.where(rated, x - shift, 0.0)
    return _interval_sums(row_sums(rated.astype(np.float64)), row_sums(x), row_products(x, x))


def _interval_sums(m: FloatArray, s: FloatArray, ss: FloatArray) -> FloatArray:
    within = np.maximum(2.0 * (m * ss - s * s), 0.0) / np.maximum(m - 1.0, 1.0)
    sums = np.stack([within, m, s, ss], axis=1)
    return np.where((m >= MIN_FOR_AGREEMENT)[:, None], sums, 0.0)


def _interval_value(totals: FloatArray) -> FloatArray:
    observed, n, s, ss = np.moveaxis(totals, -1, 0)
    expected = 2.0 * (n * ss - s * s)
    return alpha(n, observed, np.where(expected > TOLERANCE * n * ss, expected, 0.0))


INTERVAL_ALPHA = Metric(
    name="krippendorff_alpha_interval",
    display_name="rater agreement beyond chance on numbers (Krippendorff's alpha)",
    value=_interval_value,
    reason=lambda totals: "constant_labels" if totals[1] > 0 else "too_few_raters",
    paper=_PAPER,
)


def krippendorff_alpha(ratings: ArrayLike, level: Level) -> Estimate:
    """Return Krippendorff's alpha for raw ratings, without an interval (Krippendorff 2011).

    Parameters
    ----------
    ratings : (n, m) array
        Rating of each unit by each rater: any labels for "nominal", otherwise numbers. A missing
        rating is nan among numbers, or None among objects.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of measurement.

    Returns
    -------
    Estimate
        NA with reason "too_few_raters" if no unit has two ratings, "constant_labels" if all
        pairable ratings are equal. ``counts`` contains units, pairable_units, pairable_values.

    Raises
    ------
    ValueError
        If ratings are not an (n, m) array, the level is unknown, or ratings are not numbers but
        must be.

    Notes
    -----
    Time and memory are linear in the number of ratings, except for a sort. At the ratio level,
    time is quadratic in the number of different ratings, so alpha is NA, "not_computed", for more
    than `MOST_RATIOS` of them. Ordinal distances are differences of
    midranks, so ordinal alpha is interval alpha of the midranks.

    Examples
    --------
    >>> krippendorff_alpha([[1, 1], [1, 2], [2, 2]], "nominal").value
    0.4444444444444444
    """
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}; wanted one of {', '.join(LEVELS)}")
    array = np.asarray(ratings)
    if array.ndim != 2:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"ratings has shape {array.shape}; wanted (n, m)")
    counted = _of_short_scale(array, level)
    if counted is None and level == "interval" and array.dtype.kind in "buif":
        return _of_numbers(array.astype(np.float64))
    return counted or _of_labels(array, level)


def _of_short_scale(array: NDArray[np.generic], level: Level) -> Estimate | None:
    """Compute alpha by counting if ratings are steps of 1 on a short scale, or return None."""
    if array.dtype.kind not in "buif" or not array.size:
        return None
    low, high = (float(extreme.reduce(array, axis=None)) for extreme in (np.fmin, np.fmax))
    if not high - low < LONGEST:  # also False without ratings, when both are nan
        return None
    K = int(high - low) + 1
    totals, n_pairable, n_values = np.zeros(K * K), 0, 0
    for at in blocks(len(array)):
        counts = _counted(array[at].astype(np.float64), low, K)
        if counts is None:
            return None
        totals += coincidence_totals(counts)
        m = counts @ np.ones(K)
        n_pairable += int((m >= MIN_FOR_AGREEMENT).sum())
        n_values += int(m[m >= MIN_FOR_AGREEMENT].sum())
    used = square(totals).any(axis=1)
    metric = alpha_metric(level, scale=(low + np.flatnonzero(used)).tolist())
    value = metric.value(square(totals)[np.ix_(used, used)].ravel())
    return _described(float(value), n_pairable, len(array), n_values)


def _counted(x: FloatArray, low: float, K: int) -> FloatArray | None:
    """Count (n, m) numbers in steps of 1 from ``low``. Return None if one is between steps."""
    n, missing = len(x), np.isnan(x)
    absent = int(missing.any())  # missing ratings are counted too, in a separate column
    x -= low - absent
    np.copyto(x, 0.0, where=missing)
    step = x.astype(np.int64)
    if not np.array_equal(step, x):
        return None
    width = K + absent
    step += np.arange(0, n * width, width)[:, None]
    counts = np.bincount(step.ravel(), minlength=n * width).reshape(n, width)
    return counts[:, absent:].astype(np.float64)


def _of_numbers(x: FloatArray) -> Estimate:
    """Compute interval alpha by adding up `interval_sums` in blocks."""
    centre = float(np.nansum(x)) / max(int((~np.isnan(x)).sum()), 1)
    totals, n_pairable = np.zeros(4), 0
    for at in blocks(len(x)):
        sums = interval_sums(x[at], centre=centre)
        totals += np.ones(len(sums)) @ sums
        n_pairable += int((sums[:, 1] > 0).sum())
    return _described(float(_interval_value(totals)), n_pairable, len(x), int(totals[1]))


def _of_labels(array: NDArray[np.generic], level: Level) -> Estimate:
    unit, values = _long(array)
    if level != "nominal":
        values = _numbers(values)
    m = np.bincount(unit, minlength=len(array)).astype(np.float64)
    m[m < MIN_FOR_AGREEMENT] = 0.0
    if not m.all():
        pairable = m[unit] > 0
        unit, values = unit[pairable], values[pairable]
    value: float | None
    if level == "nominal":
        value = _nominal(unit, _codes(values), m)
    elif level == "ordinal":
        codes = _codes(values)
        n_c = np.bincount(codes)
        value = _interval(unit, (np.cumsum(n_c) - n_c / 2.0)[codes], m)
    elif level == "interval":
        value = _interval(unit, values, m)
    else:
        value = _ratio(unit, values, m) if len(np.unique(values)) <= MOST_RATIOS else None
    n_pairable = int((m > 0).sum())
    return _described(value, n_pairable, len(array), len(unit))


def _described(alpha: float | None, n_pairable: int, n_units: int, n_values: int) -> Estimate:
    """Return alpha with its counts. A nan means undefined, and None means not computed."""
    undefined = alpha is None or bool(np.isnan(alpha))
    reason: NAReason = "constant_labels" if n_pairable else "too_few_raters"
    if alpha is None:
        reason = "not_computed"
    excluded = n_units - n_pairable
    return Estimate(
        value=None if undefined else alpha,
        reason=reason if undefined else "",
        n_used=n_pairable,
        n_excluded=excluded,
        excluded=exclusions([("too_few_raters", excluded)]),
        counts={"units": n_units, "pairable_units": n_pairable, "pairable_values": n_values},
    )


def _codes(values: NDArray[np.generic]) -> IntArray:
    """Return each rating's rank among the distinct ratings."""
    codes: IntArray = np.unique(values, return_inverse=True)[1].ravel()
    return codes


def _long(array: NDArray[np.generic]) -> tuple[IntArray, NDArray[Any]]:
    """Return the unit of each rating, and the ratings."""
    if array.dtype.kind in "OUS":
        present = [[not (rating is None or rating != rating) for rating in row] for row in array]  # noqa: PLR0124 -- nan is not itself
        rated = np.array(present)
        rated = rated.reshape(array.shape).astype(np.bool_)
    else:
        rated = ~np.isnan(array.astype(np.float64))
    values = array[rated]
    if values.dtype.kind == "O":
        values = np.array(values.tolist() or [], dtype=None)
    return np.nonzero(rated)[0], values


def _numbers(values: NDArray[np.generic]) -> FloatArray:
    if values.size and values.dtype.kind not in "buif":
        first = np.sort(values)[0].item()
        raise ValueError(f"non_numeric_value: {first!r}; only nominal alpha accepts such labels")
    return values.astype(np.float64)


def _nominal(unit: IntArray, codes: IntArray, m: FloatArray) -> float:
    width = int(codes.max()) + 1 if codes.size else 1
    cells, counts = np.unique(unit * width + codes, return_counts=True)
    of_unit = cells // width
    alike = (counts * (counts - 1.0) / (m[of_unit] - 1.0)).sum()
    n_c = np.bincount(codes).astype(np.float64)
    return float(nominal_alpha(n_c, alike))


def _interval(unit: IntArray, x: FloatArray, m: FloatArray) -> float:
    x = x - (x.mean() if x.size else 0.0)
    s, ss = (np.bincount(unit, w, len(m)).astype(np.float64) for w in (x, x * x))
    return float(_interval_value(_interval_sums(m, s, ss).sum(axis=0)))


def _ratio(unit: IntArray, x: FloatArray, m: FloatArray) -> float:
    _check_ratio_scale(x)
    numbers, counts = np.unique(x, return_counts=True)
    n_c, expected = counts.astype(np.float64), 0.0
    for number, n in zip(numbers.tolist(), counts.tolist(), strict=True):
        expected += n * float(_apart(number, numbers) @ n_c)
    return float(alpha(len(x), _ratio_observed(unit, x, m), expected))


def _apart(first: FloatArray | float, second: FloatArray) -> FloatArray:
    """Return the squared ratio distance between numbers. Two zeros have distance 0."""
    return np.asarray(np.nan_to_num(ratio(first - second, first + second)) ** 2)


def _check_ratio_scale(numbers: FloatArray) -> None:
    if np.isinf(numbers).any():
        raise ValueError("a ratio scale has no infinite numbers")
    if (numbers < 0).any():
        raise ValueError(f"a ratio scale has no negative numbers; {numbers.min()} was given")


def _ratio_observed(unit: IntArray, x: FloatArray, m: FloatArray) -> float:
    """Sum the distances within units, one lag between a unit's ratings at a time."""
    total = 0.0
    for lag in range(1, int(m.max(initial=0.0))):
        same = unit[lag:] == unit[:-lag]
        first, second = x[:-lag][same], x[lag:][same]
        apart = _apart(first, second)
        total += 2.0 * float((apart / (m[unit[lag:][same]] - 1.0)).sum())
    return total
