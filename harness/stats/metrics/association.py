"""Association between two ordered scales, from the cells of a contingency table.

Pearson, Spearman (midranks) and Kendall's tau-b only need the number of times each pair of values
occurs, so on finite scales they use sums over items like all other metrics. For vectors with too
many distinct values for a table, ranks are computed from the data, and intervals resample the
items.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, distinct, frozen, ratio
from harness.stats.inference.estimate import Estimate, point_estimates
from harness.stats.inference.metric import Metric, constant_labels

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import BoolArray, IntArray

MAX_TABLE = 1 << 16  # cells of one table; for more, ranks are computed from the data
_RAO = "Rao and Callison-Burch 2026, section 4"


def _coded(
    x: FloatArray, y: FloatArray
) -> tuple[BoolArray, FloatArray, IntArray, FloatArray, IntArray]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x has shape {x.shape} and y {y.shape}; wanted (n,) for both")
    both = np.asarray(~(np.isnan(x) | np.isnan(y)), dtype=np.bool_)
    at = slice(None) if both.all() else both
    rows, i = distinct(x[at])
    columns, j = distinct(y[at])
    return both, rows, i, columns, j


def pearson_of(totals: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return Pearson's correlation for (..., A, B) cells, given the numbers on both axes."""
    n = totals.sum(axis=(-2, -1))
    of_x, of_y = totals.sum(axis=-1), totals.sum(axis=-2)
    x = rows - ratio((of_x * rows).sum(axis=-1), n)[..., None]
    y = columns - ratio((of_y * columns).sum(axis=-1), n)[..., None]
    xx, yy = (of_x * x * x).sum(axis=-1), (of_y * y * y).sum(axis=-1)
    xy = (x * (totals @ y[..., None])[..., 0]).sum(axis=-1)
    constant = _constant(of_x) | _constant(of_y)
    return np.where(constant, np.nan, _between(-1.0, ratio(xy, np.sqrt(xx) * np.sqrt(yy)), 1.0))


def _between(low: float, values: FloatArray, high: float) -> FloatArray:
    """Clip values. This is faster than `numpy.clip` for few values."""
    return np.asarray(np.maximum(np.minimum(values, high), low), dtype=np.float64)


def _constant(margin: FloatArray) -> BoolArray:
    return np.asarray((margin > 0).sum(axis=-1) < 2, dtype=np.bool_)  # noqa: PLR2004 -- one value has no spread


def spearman_of(totals: FloatArray) -> FloatArray:
    """Return Spearman's correlation, with midranks, for (..., A, B) ordered cells."""
    of_x, of_y = totals.sum(axis=-1), totals.sum(axis=-2)
    return pearson_of(totals, _midranks(of_x), _midranks(of_y))


def _midranks(margin: FloatArray) -> FloatArray:
    return np.asarray(np.cumsum(margin, axis=-1) - margin / 2.0, dtype=np.float64)


def kendall_of(totals: FloatArray) -> FloatArray:
    """Return Kendall's tau-b for (..., A, B) cells with ordered axes.

    Notes
    -----
    This is the number of concordant minus discordant pairs, divided by the geometric mean of the
    pairs untied on either side (Rao and Callison-Burch 2026, Eq. 7). Every pair is counted twice in
    both.
    """
    of_x, of_y = totals.sum(axis=-1), totals.sum(axis=-2)
    n = of_x.sum(axis=-1)
    untied = (n * n - np.vecdot(of_x, of_x)) * (n * n - np.vecdot(of_y, of_y))
    ahead = _signs(totals.shape[-2]) @ totals @ _signs(totals.shape[-1]).T
    balance = np.einsum("...ab,...ab->...", totals, ahead)
    return _between(-1.0, ratio(balance, np.sqrt(np.maximum(untied, 0.0))), 1.0)


@cache
def _signs(K: int) -> FloatArray:
    """Return a (K, K) matrix of signs: 1 below the diagonal, -1 above it, and 0 on it."""
    return frozen(np.tri(K, k=-1) - np.tri(K, k=-1).T)


def correlation_metrics(rows: FloatArray, columns: FloatArray) -> tuple[Metric, ...]:
    """Return the three correlations for (A * B,) cells with these values on the axes."""
    shape = (len(rows), len(columns))
    coefficients: dict[str, tuple[str, Callable[[FloatArray], FloatArray]]] = {
        "pearson": ("correlation (Pearson)", partial(pearson_of, rows=rows, columns=columns)),
        "spearman": ("rank correlation (Spearman)", spearman_of),
        "kendall_tau_b": ("rank correlation (Kendall)", kendall_of),
    }

    def of_table(value: Callable[[FloatArray], FloatArray], totals: FloatArray) -> FloatArray:
        return value(totals.reshape(*totals.shape[:-1], *shape))

    return tuple(
        Metric(
            name=name,
            display_name=display_name,
            family="association",
            symmetric=True,
            value=partial(of_table, value),
            reason=constant_labels,
            paper=f"{_RAO}, Eq. 7" if name == "kendall_tau_b" else _RAO,
        )
        for name, (display_name, value) in coefficients.items()
    )


def correlations(x: ArrayLike, y: ArrayLike) -> dict[str, Estimate]:
    """Return Pearson's, Spearman's and Kendall's correlation of two vectors, without intervals.

    Parameters
    ----------
    x, y : (n,) array
        Numbers, nan if missing; only items with both enter.

    Returns
    -------
    dict
        Estimates ``pearson``, ``spearman`` and ``kendall_tau_b``. NA, "constant_labels", if either
        vector is constant. On binary vectors, all three equal phi.

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    both, rows, i, columns, j = _coded(x, y)
    metrics = correlation_metrics(rows, columns)
    if len(rows) * len(columns) <= MAX_TABLE:
        cells = np.bincount(i * len(columns) + j, minlength=len(rows) * len(columns))
        return point_estimates(cells.astype(np.float64), metrics)
    n = int(both.sum())
    if min(len(rows), len(columns)) < 2:  # noqa: PLR2004 -- one value has no spread
        return {
            metric.name: Estimate(value=None, reason="constant_labels", n_used=n)
            for metric in metrics
        }
    values = _of_vectors(x[both], y[both])
    return {
        metric.name: Estimate(value=value, n_used=n)
        for metric, value in zip(metrics, values, strict=True)
    }


def _of_vectors(x: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    from scipy.stats import kendalltau, spearmanr  # noqa: PLC0415 -- heavy

    pearson = np.corrcoef(x, y)[0, 1]
    return float(pearson), float(spearmanr(x, y).statistic), float(kendalltau(x, y).statistic)
