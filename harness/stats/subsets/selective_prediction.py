"""Selective prediction: risk and coverage of a judge that abstains, and calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, IntArray, frozen, ratio
from harness.stats.inference.cluster_robust import ClusterMean, cluster_mean
from harness.stats.inference.non_inferiority import bounded_mean_interval
from harness.stats.modes import InvertedEnd  # noqa: TC001 -- types of fields
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import IntArray


@dataclass(frozen=True, slots=True, repr=False)
class RiskCoverage:
    """Risk of a judge that only answers if its score is high enough.

    Attributes
    ----------
    threshold, answered_fraction, risk : (t,) arrays
        Each distinct score, from the highest down, with the share of items that reach it, and the
        share of those that are wrong. Equal scores are never split.
    area : float or None
        Mean risk over the answered items, each as the last one included (lower is better); None
        without items.
    reason : str
        "all_abstained" or "no_items" if there is no curve.
    n_used, n_excluded : int
        Number of items with a label, with or without a score; number of items without a label.
    """

    threshold: FloatArray
    answered_fraction: FloatArray
    risk: FloatArray
    area: float | None
    reason: Reason
    n_used: int
    n_excluded: int

    def __repr__(self) -> str:
        return f"RiskCoverage({len(self.threshold)} thresholds, area {self.area})"

    def thinned(self, n_points: int, digits: int) -> RiskCoverage:
        """Return evenly spaced, rounded points of a longer curve for drawing. Both ends are kept.

        ``area`` and counts remain those of the whole curve.
        """
        n = len(self.threshold)
        kept = np.unique(np.linspace(0, n - 1, min(n, n_points)).round().astype(np.int64))
        return replace(
            self,
            threshold=frozen(np.round(self.threshold[kept], digits)),
            answered_fraction=frozen(np.round(self.answered_fraction[kept], digits)),
            risk=frozen(np.round(self.risk[kept], digits)),
        )


def risk_coverage(score: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """Compute risk as a function of coverage.

    Parameters
    ----------
    score : (n,) array
        Confidence of each verdict (stated, agreement of samples, or log-probability), with higher
        values for more certain verdicts; nan if the judge did not answer.
    correct : (n,) array in [0, 1]
        Whether, or how probably, the verdict is right; nan if there is no label.

    Raises
    ------
    ValueError
        If the shapes differ or ``correct`` is outside [0, 1].

    Notes
    -----
    Selective prediction as in Rao and Callison-Burch 2026, section 6.3.
    """
    s, right = np.asarray(score, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    if s.ndim != 1 or s.shape != right.shape:
        raise ValueError(f"score has shape {s.shape} and correct {right.shape}; wanted (n,)")
    if (right < -TOLERANCE).any() or (right > 1.0 + TOLERANCE).any():
        raise ValueError("correct contains a number outside [0, 1]")
    answered = ~np.isnan(s)
    labelled = ~np.isnan(right) | ~answered
    n_used = int(labelled.sum())
    kept = answered & labelled
    thresholds, place = np.unique(-s[kept], return_inverse=True)
    admitted = np.bincount(place.ravel(), minlength=len(thresholds))
    wrong = np.bincount(place.ravel(), weights=1.0 - right[kept], minlength=len(thresholds))
    n = np.cumsum(admitted)
    risk = ratio(np.cumsum(wrong), n)
    empty: Reason = "" if kept.any() else ("all_abstained" if n_used else "no_items")
    return RiskCoverage(
        threshold=frozen(-thresholds),
        answered_fraction=frozen(ratio(n, np.full(len(n), n_used))),
        risk=frozen(risk),
        area=None if empty else float((risk * admitted).sum() / n[-1]),
        reason=empty,
        n_used=n_used,
        n_excluded=len(s) - n_used,
    )


N_BINS = 10
NOT_A_PROBABILITY: Final = "not_a_probability"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationCurve:
    """A judge's confidence compared with the share of raters who agree.

    Attributes
    ----------
    score : str
        Source of the confidence.
    confidence, agreement : tuple of float
        Means over the items of a bin, from the lowest confidence up.
    n_items : tuple of int
        Number of items in each bin.
    brier, brier_low, brier_high : float or None
        The squared difference between the confidence and whether a rater agrees, with its interval;
        None without items. 0 is best; a confidence of one half always results in 1/4.
    log_loss : float or None
        The negative log of the confidence in a rater's answer; None without items, or if a judge is
        certain and a rater disagrees.
    reason : str
        "no_items" or "not_a_probability" if there is no curve.
    n_used, n_excluded : int
        Number of items with confidence and agreement; number of other items.
    """

    score: str
    confidence: tuple[float, ...]
    agreement: tuple[float, ...]
    n_items: tuple[int, ...]
    brier: float | None
    brier_low: InvertedEnd
    brier_high: InvertedEnd
    log_loss: float | None
    reason: Reason
    n_used: int
    n_excluded: int


def calibration_curve(
    confidence: ArrayLike,
    agreement: ArrayLike,
    clusters: ArrayLike,
    *,
    score: str = "",
    level: float = 0.95,
    n_bins: int = N_BINS,
) -> CalibrationCurve:
    """Compare confidences with the share of raters who agree.

    Parameters
    ----------
    confidence : (n,) array in [0, 1]
        Probability of the judge's verdict; nan if it has none.
    agreement : (n,) array in [0, 1]
        Share of the item's raters who agree with the verdict; nan if it has none.
    clusters : (n,) int array
        The group of each item, for the standard errors.
    score : str
        Source of the confidence.
    level : float
        Confidence level of the interval.
    n_bins : int
        Maximum number of bins. Bins have about the same number of items, and equal confidences
        share one.

    Returns
    -------
    CalibrationCurve
        The curve; without points if a confidence is outside [0, 1].

    Notes
    -----
    The Brier score and the logarithmic score are proper: a judge scores best by reporting its
    beliefs (Gneiting and Raftery 2007). The event is that a random rater agrees, so an item
    contributes ``(c - a)^2 + a (1 - a)`` and ``-a log c - (1 - a) log(1 - c)``.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(agreement, dtype=np.float64)
    used = ~np.isnan(c) & ~np.isnan(a)
    n_used, n_excluded = int(used.sum()), int((~used).sum())
    c, a, groups = c[used], a[used], np.asarray(clusters)[used]
    outside = bool(((c < -TOLERANCE) | (c > 1.0 + TOLERANCE)).any())
    if outside or not n_used:
        reason: Reason = NOT_A_PROBABILITY if outside else "no_items"
        return CalibrationCurve(
            score=score,
            confidence=(),
            agreement=(),
            n_items=(),
            brier=None,
            brier_low=None,
            brier_high=None,
            log_loss=None,
            reason=reason,
            n_used=n_used,
            n_excluded=n_excluded,
        )
    bins = _bins(c, n_bins)
    n_items = np.bincount(bins)
    brier, log_loss = cluster_mean((c - a) ** 2 + a * (1.0 - a), groups), _log_loss(c, a, groups)
    of_items = (c - a) ** 2 + a * (1.0 - a)
    low, high = bounded_mean_interval(of_items, groups, (0.0, 1.0), level) or (None, None)
    return CalibrationCurve(
        score=score,
        confidence=tuple(ratio(np.bincount(bins, weights=c), n_items).tolist()),
        agreement=tuple(ratio(np.bincount(bins, weights=a), n_items).tolist()),
        n_items=tuple(n_items.tolist()),
        brier=brier.mean,
        brier_low=low,
        brier_high=high,
        log_loss=None if log_loss is None else log_loss.mean,
        reason="",
        n_used=n_used,
        n_excluded=n_excluded,
    )


def _bins(confidence: FloatArray, n_bins: int) -> IntArray:
    """Number bins of about equal size from 0. Equal values are never split."""
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
