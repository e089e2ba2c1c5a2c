"""Calibration curve of a judge's confidence, and proper scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, IntArray, frozen, ratio
from harness.stats.inference.cluster_robust import ClusterMean, cluster_mean

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

N_BINS = 10
NOT_A_PROBABILITY = "not_a_probability"


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationCurve:
    """Confidence of a judge beside the share of raters who agree with it.

    Attributes
    ----------
    confidence, agreement : (b,) arrays
        Means over the items of a bin, from the lowest confidence up.
    n_items : (b,) int array
        Items of each bin.
    brier : ClusterMean or None
        Of the squared difference between the confidence and whether a rater agrees; None without
        items. 0 is best; a confidence of one half always gives 1/4.
    log_loss : ClusterMean or None
        Of the negative log of the confidence in what a rater says; None without items, or where a
        judge is certain and a rater disagrees.
    reason : str
        "no_items" or "not_a_probability" where there is no curve.
    n_used, n_excluded : int
        Items with confidence and agreement; the others.
    """

    confidence: FloatArray
    agreement: FloatArray
    n_items: IntArray
    brier: ClusterMean | None
    log_loss: ClusterMean | None
    reason: str
    n_used: int
    n_excluded: int

    def __repr__(self) -> str:
        brier = f"{self.brier.mean:.3f}" if self.brier else self.reason
        return f"CalibrationCurve({len(self.n_items)} bins, Brier {brier})"


def calibration_curve(
    confidence: ArrayLike, agreement: ArrayLike, clusters: ArrayLike, *, n_bins: int = N_BINS
) -> CalibrationCurve:
    """Compare confidences with how often raters agree.

    Parameters
    ----------
    confidence : (n,) array in [0, 1]
        Probability that the judge gives its verdict; nan where it gives none.
    agreement : (n,) array in [0, 1]
        Share of the item's raters who agree with the verdict; nan where it has none.
    clusters : (n,) int array
        The group of each item, for the standard errors.
    n_bins : int
        Most bins; each holds about as many items as another, and equal confidences share one.

    Returns
    -------
    CalibrationCurve
        Without a curve where a confidence leaves [0, 1].

    Notes
    -----
    The Brier score and the logarithmic score are proper: what a judge believes scores best
    (Gneiting and Raftery 2007). The event is that a rater, drawn at random, agrees: an item adds
    ``(c - a)^2 + a (1 - a)`` and ``-a log c - (1 - a) log(1 - c)``.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(agreement, dtype=np.float64)
    used = ~np.isnan(c) & ~np.isnan(a)
    n_used, n_excluded = int(used.sum()), int((~used).sum())
    c, a, groups = c[used], a[used], np.asarray(clusters)[used]
    outside = bool(((c < -TOLERANCE) | (c > 1.0 + TOLERANCE)).any())
    if outside or not n_used:
        reason = NOT_A_PROBABILITY if outside else "no_items"
        nothing = np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)
        return CalibrationCurve(*nothing, None, None, reason, n_used, n_excluded)
    bins = _bins(c, n_bins)
    n_items = np.bincount(bins)
    return CalibrationCurve(
        confidence=frozen(ratio(np.bincount(bins, weights=c), n_items)),
        agreement=frozen(ratio(np.bincount(bins, weights=a), n_items)),
        n_items=frozen(n_items),
        brier=cluster_mean((c - a) ** 2 + a * (1.0 - a), groups),
        log_loss=_log_loss(c, a, groups),
        reason="",
        n_used=n_used,
        n_excluded=n_excluded,
    )


def _bins(confidence: FloatArray, n_bins: int) -> IntArray:
    """Number bins of about equally many items from 0; equal values are never split."""
    _, place, n = np.unique(confidence, return_inverse=True, return_counts=True)
    middle = (np.cumsum(n) - n / 2.0) / len(confidence)
    wanted = np.minimum((middle * n_bins).astype(np.int64), n_bins - 1)
    _, number = np.unique(wanted, return_inverse=True)
    return np.asarray(number[place.ravel()])


def _log_loss(c: FloatArray, a: FloatArray, clusters: IntArray) -> ClusterMean | None:
    certain_and_wrong = ((c <= 0.0) & (a > 0.0)) | ((c >= 1.0) & (a < 1.0))
    if certain_and_wrong.any():
        return None
    inside = np.clip(c, np.finfo(np.float64).tiny, 1.0 - np.finfo(np.float64).epsneg)
    losses = -a * np.log(inside) - (1.0 - a) * np.log1p(-inside)
    return cluster_mean(losses, clusters)
