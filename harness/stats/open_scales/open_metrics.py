"""Metrics for open answers, which compare a judge's numbers with the raters' means.

All except the rank correlation use the same sums, `moments`. Ranks depend on all items at once, so
`rank_correlation` computes them again in every resample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.inference.metric import Metric, no_items
from harness.stats.metrics.alpha import INTERVAL_ALPHA
from harness.stats.metrics.human_agreement import pearsons

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, IntArray
    from harness.stats.reasons import Reason


RAO = "Rao and Callison-Burch 2026, table 1"
CALDERON = "Calderon et al. 2025, section 3.2"
MIN_ITEMS = 2  # items that a correlation needs
PLACE_OF_SQUARE, PLACE_OF_DISTANCE = 6, 7  # indices in `moments`


def moments(judge: FloatArray, human: FloatArray) -> FloatArray:
    """Return (N, 8) columns for judge x and raters y: 1, x, y, x^2, y^2, x y, (x - y)^2, |x - y|.

    The numbers must be roughly centred, because only differences and correlations use the sums.
    """
    x, y = judge, human
    return np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y, (x - y) ** 2, abs(x - y)])


def _pearson(totals: FloatArray) -> FloatArray:
    return pearsons(totals[..., :6])[..., 0]


def _mean_of(place: int, totals: FloatArray) -> FloatArray:
    return ratio(totals[..., place], totals[..., 0])


def _mse(totals: FloatArray) -> FloatArray:
    return _mean_of(PLACE_OF_SQUARE, totals)


def _interval_alpha(totals: FloatArray) -> FloatArray:
    """Return alpha for two coders, which are the judge and the raters' mean."""
    n, x, y, xx, yy, _, apart, _ = np.moveaxis(totals, -1, 0)
    return INTERVAL_ALPHA.value(np.stack([2.0 * apart, 2.0 * n, x + y, xx + yy], axis=-1))


def _why_no_correlation(totals: FloatArray) -> Reason:
    return "constant_labels" if totals[0] > MIN_ITEMS - 1 else "too_few_items"


def numeric_metrics(width: float) -> tuple[Metric, ...]:
    """Return the metrics for a continuous scale. The first one ranks judges by default.

    Parameters
    ----------
    width : float
        Largest minus smallest number on the scale; infinite without bounds.

    Returns
    -------
    tuple of Metric
        Metrics of the sums of `moments`; `rank_correlation` evaluates ``spearman``.
    """
    error = partial(Metric, reason=no_items, better="lower", paper=CALDERON)
    association = partial(
        Metric, reason=_why_no_correlation, symmetric=True, family="association", paper=RAO
    )
    return (
        error(
            name="rmse",
            value=lambda totals: np.sqrt(_mse(totals)),
            display_name="root mean squared error",
            bounds=(0.0, width),
        ),
        error(name="mse", value=_mse, display_name="mean squared error", bounds=(0.0, width**2)),
        error(
            name="mean_absolute_error",
            value=partial(_mean_of, PLACE_OF_DISTANCE),
            bounds=(0.0, width),
        ),
        Metric(
            name="mean_difference",
            display_name="mean difference (judge minus raters)",
            value=lambda totals: _mean_of(1, totals) - _mean_of(2, totals),
            reason=no_items,
            better="zero",
            bounds=(-width, width),
        ),
        association(name="pearson", value=_pearson, display_name="correlation (Pearson)"),
        association(name="spearman", value=_pearson, display_name="rank correlation (Spearman)"),
        association(
            name="krippendorff_alpha_interval",
            value=_interval_alpha,
            display_name="agreement (Krippendorff's alpha, interval)",
            paper=INTERVAL_ALPHA.paper,
        ),
    )


def rank_correlation(weights: FloatArray, judge: FloatArray, human: FloatArray) -> FloatArray:
    """Return Spearman's correlation of weighted rows, with midranks for ties, as a (B,) array.

    ``weights`` (B, N) are the number of times each row counts in each resample. The result is nan
    if either side, (N,), is constant on the rows that count, or there are fewer than two.
    """
    n = weights.sum(axis=1)
    x, y = (midranks(weights, values) - n[:, None] / 2.0 for values in (judge, human))
    sums = [n, *((weights * part).sum(axis=1) for part in (x, y, x * x, y * y, x * y))]
    return pearsons(np.stack(sums, axis=-1))[..., 0]


def midranks(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return each row's weighted midrank in each resample, as a (B, N) array.

    A row's midrank is the weight of the rows below it plus half the weight of equal rows.
    """
    _, place = np.unique(values, return_inverse=True)
    of_value = _sums_by_place(weights, place)
    ranks = np.cumsum(of_value, axis=1) - of_value / 2.0
    return np.asarray(ranks[:, place], dtype=np.float64)


def _sums_by_place(weights: FloatArray, place: IntArray) -> FloatArray:
    """Sum (B, N) weights over the rows that have each of D values. The result is (B, D)."""
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return np.asarray(np.add.reduceat(weights[:, order], starts, axis=1), dtype=np.float64)


Valued: TypeAlias = Callable[[FloatArray], FloatArray]
"""``(B, n) counts of each item -> (B,) values``."""


@dataclass(frozen=True, slots=True, repr=False)
class AnswerRows:
    """A judge's numbers for items, with the raters' mean for each item.

    Attributes
    ----------
    item : (N,) int array
        Item of each row.
    answer, target : (N,) arrays
        The answer, and the number to compare it with.
    share : (N,) array
        Weight of each row; an item's rows add up to 1.
    n_items : int
        n.
    """

    item: IntArray
    answer: FloatArray
    target: FloatArray
    share: FloatArray
    n_items: int

    def __repr__(self) -> str:
        return f"AnswerRows({len(self.item)} answers to {self.n_items} items)"

    @classmethod
    def of(cls, item: IntArray, answer: FloatArray, target: FloatArray, n_items: int) -> AnswerRows:
        """Weight all answers to an item equally."""
        times = np.bincount(item, minlength=n_items)
        return cls(item, answer, target, 1.0 / times[item], n_items)

    def among(self, items: BoolArray) -> AnswerRows:
        """Keep only the rows whose items are in an (n,) mask."""
        kept = items[self.item]
        return AnswerRows(
            self.item[kept], self.answer[kept], self.target[kept], self.share[kept], self.n_items
        )

    def sums(self) -> FloatArray:
        """Average `moments` over each item's rows, as an (n, 8) array."""
        rows = moments(self.answer, self.target) * self.share[:, None]
        sums = np.zeros((self.n_items, rows.shape[1]))
        np.add.at(sums, self.item, rows)
        return sums

    def valued_by(self, metric: Metric) -> Valued:
        """Return a function that computes the metric from the number of times each item counts."""
        if metric.name == "spearman":
            return self._rank_correlations
        sums = self.sums()
        return lambda weights: metric.value(weights @ sums)

    def _rank_correlations(self, weights: FloatArray) -> FloatArray:
        return rank_correlation(weights[:, self.item] * self.share, self.answer, self.target)
