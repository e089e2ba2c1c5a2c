"""Intraclass correlation for raters who all rated the same items.

Both coefficients treat raters as a sample (two-way random effects, absolute agreement), so a rater
who is always one point higher lowers them. Shrout and Fleiss 1979, Intraclass correlations: uses in
assessing rater reliability, Psychological Bulletin 86, 420-428.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio
from harness.stats.inference.metric import Metric
from harness.stats.metrics.chance import MIN_FOR_AGREEMENT

if TYPE_CHECKING:
    from harness.stats.reasons import Reason

MIN_ITEMS = 2  # one item has no variance between items
SINGLE_FROM = 50  # items; with 30, coverage was 89% if few items stand out
PAPER = "Shrout and Fleiss 1979"


def crossed_ratings(ratings: FloatArray) -> FloatArray:
    """Return centred ratings by the k raters who rated every rated item, as an (n, k) array.

    Parameters
    ----------
    ratings : (n, m) array
        Numbers, nan if a rater did not rate an item.
    """
    rated = ~np.isnan(ratings)
    everywhere = rated[rated.any(axis=1)].all(axis=0) if rated.any() else np.zeros(0, dtype=bool)
    kept = ratings[:, everywhere] if rated.any() else ratings[:, :0]
    return np.asarray(kept - (np.nanmean(kept) if kept.size else 0.0), dtype=np.float64)


def two_way_sums(ratings: FloatArray) -> FloatArray:
    """Return (n, 3 + k) columns: 1, squared sum of ratings / k, sum of squares, k ratings.

    An item that nobody rated has zeros.
    """
    x = np.nan_to_num(ratings)
    rated = ~np.isnan(ratings).any(axis=1) if x.shape[1] else np.zeros(len(x), dtype=np.bool_)
    squared_sum = x.sum(axis=1) ** 2 / max(x.shape[1], 1)
    return np.column_stack([rated, squared_sum, (x * x).sum(axis=1), x])


class MeanSquares(NamedTuple):
    """Numbers of items and raters, and mean squares for items, for raters and for the residual."""

    n: FloatArray
    k: int
    items: FloatArray
    raters: FloatArray
    residual: FloatArray


def mean_squares(totals: FloatArray) -> MeanSquares:
    """Return the two-way analysis of variance for summed `two_way_sums`."""
    n, k, by_rater = totals[..., 0], totals.shape[-1] - 3, totals[..., 3:]
    correction = ratio(by_rater.sum(axis=-1) ** 2, n * max(k, 1))
    items = totals[..., 1] - correction
    raters = ratio(np.vecdot(by_rater, by_rater), n) - correction
    residual = np.maximum(totals[..., 2] - correction - items - raters, 0.0)
    enough = np.where((n >= MIN_ITEMS) & (k >= MIN_FOR_AGREEMENT), n - 1.0, np.nan)
    between = max(k - 1, 1)
    return MeanSquares(
        n, k, ratio(items, enough), raters / between, ratio(residual, enough * between)
    )


def icc_single(totals: FloatArray) -> FloatArray:
    """Return ICC(2,1), the reliability of one rater's rating."""
    n, k, items, raters, residual = mean_squares(totals)
    return _icc(items, residual, items + (k - 1) * residual + k * ratio(raters - residual, n))


def icc_mean(totals: FloatArray) -> FloatArray:
    """Return ICC(2,k), the reliability of the mean over all k raters."""
    n, _, items, raters, residual = mean_squares(totals)
    return _icc(items, residual, items + ratio(raters - residual, n))


def _icc(items: FloatArray, residual: FloatArray, total: FloatArray) -> FloatArray:
    return np.where(total > TOLERANCE, ratio(items - residual, total), np.nan)


def _why_no_icc(totals: FloatArray) -> Reason:
    if totals.shape[-1] - 3 < MIN_FOR_AGREEMENT:
        return "raters_not_crossed"
    return "constant_labels" if totals[0] else "no_items"


ICC: tuple[Metric, ...] = tuple(
    Metric(
        name=name,
        display_name=display_name,
        family="agreement among raters",
        bounds=(-np.inf, 1.0),
        contributions=two_way_sums,
        value=value,
        reason=_why_no_icc,
        interval_from=interval_from,
        paper=f"{PAPER}, {form}",
    )
    for name, display_name, value, form, interval_from in (
        ("icc_single", "reliability of one rater (ICC(2,1))", icc_single, "ICC(2,1)", SINGLE_FROM),
        ("icc_mean", "reliability of the raters' mean (ICC(2,k))", icc_mean, "ICC(2,k)", 0),
    )
)
