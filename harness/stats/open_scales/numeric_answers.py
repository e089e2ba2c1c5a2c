"""Raters and judges on a continuous scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import ratio
from harness.stats.open_scales.open_footing import LeftOut, OpenJudge
from harness.stats.open_scales.open_metrics import PLACE_OF_DISTANCE, AnswerRows, moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.inference.metric import Metric
    from harness.stats.open_scales.open_metrics import Valued

MAX_QUANTILES = 100  # quantiles of the raters' marginal distribution
MEDIAN_CELLS = 1 << 21  # weights of ratings in memory at once
MIN_RATINGS = 2  # one is left out and one remains


@dataclass(frozen=True, slots=True, repr=False)
class NumericRatings:
    """R ratings of n items, as numbers minus their mean.

    Attributes
    ----------
    item : (R,) int array
        Item of each rating.
    value : (R,) array
        The ratings minus ``centre``.
    centre : float
        The rounded mean of all ratings. Subtracting it preserves the precision of sums of squares,
        and equal means of whole numbers stay equal.
    n_items : int
        n.
    """

    item: IntArray
    value: FloatArray
    centre: float
    n_items: int

    @classmethod
    def of(cls, item: IntArray, value: FloatArray, n_items: int) -> NumericRatings:
        """Centre the ratings."""
        centre = float(np.round(value.mean())) if len(value) else 0.0
        return cls(item, value - centre, centre, n_items)

    def __repr__(self) -> str:
        return f"NumericRatings({len(self.item)} ratings of {self.n_items} items)"

    @property
    def counts(self) -> FloatArray:
        """Number of ratings per item, as an (n,) array."""
        return np.bincount(self.item, minlength=self.n_items).astype(np.float64)

    @property
    def sums(self) -> FloatArray:
        """Sum of ratings per item, as an (n,) array."""
        return np.bincount(self.item, self.value, self.n_items).astype(np.float64)

    @property
    def means(self) -> FloatArray:
        """Mean rating per item, or nan for items without ratings."""
        return ratio(self.sums, self.counts)

    @property
    def rated(self) -> BoolArray:
        """Return an (n,) mask of the items that have ratings."""
        return np.asarray(self.counts > 0, dtype=np.bool_)

    def rows_of(self, item: IntArray, answer: FloatArray) -> AnswerRows:
        """Pair numeric answers with the mean ratings of their items."""
        rated = self.rated[item]
        item, answer = item[rated], answer[rated] - self.centre
        return AnswerRows.of(item, answer, self.means[item], self.n_items)

    def judge(
        self,
        name: str,
        item: IntArray,
        answer: FloatArray,
        metric: Metric,
        bounds: tuple[float, float] | None,
    ) -> OpenJudge:
        """Bind a judge's answers to a metric.

        Parameters
        ----------
        name : str
            Name of the judge.
        item, answer : (N,) arrays
            Each answer, as a number on the scale, and its item.
        metric : Metric
            One of `numeric_metrics`.
        bounds : (float, float) or None
            Smallest and largest number on the scale.
        """
        rows = self.rows_of(item, answer)
        n_answers = np.bincount(rows.item, minlength=self.n_items)
        mean = ratio(np.bincount(rows.item, rows.answer, self.n_items), n_answers)
        return OpenJudge(
            name=name,
            answered=np.asarray(n_answers > 0, dtype=np.bool_),
            scores=np.asarray(mean, dtype=np.float64),
            valued=lambda items: rows.among(items).valued_by(metric),
            left_out=lambda items: self._left_out(rows.among(items), metric),
            value_with_losses=self._with_losses(rows, metric, bounds),
        )

    def distances(self, item: IntArray, answer: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (n,) mean distances to the other raters' means, for the judge and for one rater.

        Each rating of an item is left out in turn. Distances are nan if there are fewer than two
        ratings, or no answer.
        """
        judge, human, used = self._without_each(self.rows_of(item, answer))
        of_judge, of_human = (
            np.where(used, rows.sums()[:, PLACE_OF_DISTANCE], np.nan) for rows in (judge, human)
        )
        return of_judge, of_human

    def _left_out(self, rows: AnswerRows, metric: Metric) -> LeftOut:
        """Leave out each rating in turn. Score it, and the judge, against the remaining ratings."""
        judge, human, used = self._without_each(rows)
        return LeftOut(
            judge=judge.valued_by(metric),
            human=human.valued_by(metric),
            used=used,
            n_ratings=len(human.item),
        )

    def _without_each(self, rows: AnswerRows) -> tuple[AnswerRows, AnswerRows, BoolArray]:
        """Pair answers and left-out ratings with the mean of the remaining ratings.

        Also return an (n,) mask of the items used.
        """
        m, answered = self.counts, np.zeros(self.n_items, dtype=np.bool_)
        answered[rows.item] = True
        used = answered & (m >= MIN_RATINGS)
        kept = used[self.item]
        item, value = self.item[kept], self.value[kept]
        others = (self.sums[item] - value) / (m[item] - 1.0)
        human = AnswerRows.of(item, value, others, self.n_items)
        return _crossed(rows.among(used), human), human, used

    def _with_losses(
        self, rows: AnswerRows, metric: Metric, bounds: tuple[float, float] | None
    ) -> float:
        """Compute a mean error in which missing answers count as the farther bound of the scale."""
        missing = self.rated.copy()
        missing[rows.item] = False
        is_mean = metric.is_error
        if not is_mean or (bounds is None and missing.any()):
            return np.nan
        target = self.means[missing]
        low, high = (0.0, 0.0) if bounds is None else (bound - self.centre for bound in bounds)
        worst = np.where(target - low > high - target, low, high)
        sums = rows.sums().sum(axis=0)
        return float(metric.value(sums + moments(worst, target).sum(axis=0)))

    def baselines(self, metric: Metric) -> dict[str, Callable[[BoolArray], Valued]]:
        """Return the computed baselines: ``mean``, ``median``, ``best_constant`` and ``prior``.

        The mean and median of all ratings are computed again in every resample, as is the constant
        with the smallest error from the items' mean ratings, which is their mean or median.
        ``prior`` answers like a random rating: each of 100 quantiles of all ratings, or each rating
        if there are fewer.
        """
        constants = {"mean": self._mean, "median": self._median}
        if metric.is_error:
            is_absolute = metric.name == "mean_absolute_error"
            constants["best_constant"] = self._middle_mean if is_absolute else self._mean_of_means
        return {
            **{name: partial(self._constant, metric, fit) for name, fit in constants.items()},
            "prior": partial(self._prior, metric),
        }

    def _constant(
        self, metric: Metric, fit: Callable[[FloatArray], FloatArray], items: BoolArray
    ) -> Valued:
        """Evaluate a judge that always answers the same number, refitted in each resample."""
        evaluated = np.flatnonzero(items)
        y = self.means[evaluated]

        def value(weights: FloatArray) -> FloatArray:
            w, c = weights[:, evaluated], fit(weights)
            n, of_y, of_yy = w.sum(axis=1), w @ y, w @ (y * y)
            absolute = np.array([row @ abs(y - at) for row, at in zip(w, c, strict=True)])
            squared = np.maximum(of_yy - 2.0 * c * of_y + c * c * n, 0.0)
            sums = [n, c * n, of_y, c * c * n, of_yy, c * of_y, squared, absolute]
            return metric.value(np.stack(sums, axis=-1))

        return value if metric.name != "spearman" else undefined

    def _mean(self, weights: FloatArray) -> FloatArray:
        return ratio(weights @ self.sums, weights @ self.counts)

    def _median(self, weights: FloatArray) -> FloatArray:
        """Return each resample's lower median of all ratings, as a (B,) array."""
        order = np.argsort(self.value, kind="stable")
        item, value = self.item[order], self.value[order]
        medians = np.full(len(weights), np.nan)
        if not len(value):
            return medians
        step = max(1, MEDIAN_CELLS // max(len(item), 1))
        for start in range(0, len(weights), step):
            below = np.cumsum(weights[start : start + step, item], axis=1)
            place = (below < below[:, -1:] / 2.0).sum(axis=1)
            medians[start : start + step] = value[place]
        return medians

    def _mean_of_means(self, weights: FloatArray) -> FloatArray:
        return ratio(weights @ np.where(self.rated, self.means, 0.0), weights @ self.rated)

    def _middle_mean(self, weights: FloatArray) -> FloatArray:
        """Return each resample's lower median of the items' mean ratings, as a (B,) array."""
        rated = np.flatnonzero(self.rated)
        order = rated[np.argsort(self.means[rated], kind="stable")]
        below = np.cumsum(weights[:, order], axis=1)
        place = (below < below[:, -1:] / 2.0).sum(axis=1)
        return np.asarray(self.means[order][place], dtype=np.float64)

    def _prior(self, metric: Metric, items: BoolArray) -> Valued:
        evaluated, drawn = np.flatnonzero(items), typical_numbers(self.value)
        item = np.repeat(evaluated, len(drawn))
        answer = np.tile(drawn, len(evaluated))
        return AnswerRows.of(item, answer, self.means[item], self.n_items).valued_by(metric)


def typical_numbers(value: FloatArray) -> FloatArray:
    """Return 100 quantiles of (R,) ratings, or the ratings themselves if there are fewer."""
    if len(value) <= MAX_QUANTILES:
        return value
    levels = (np.arange(MAX_QUANTILES) + 0.5) / MAX_QUANTILES
    return np.asarray(np.quantile(value, levels, method="inverted_cdf"), dtype=np.float64)


def undefined(weights: FloatArray) -> FloatArray:
    """Return (B,) nan for a judge that has no value."""
    return np.full(len(weights), np.nan)


def _crossed(judge: AnswerRows, human: AnswerRows) -> AnswerRows:
    """Pair each of the judge's answers with every leave-one-out mean of the same item."""
    by_item = np.argsort(human.item, kind="stable")
    n_of_item = np.bincount(human.item, minlength=human.n_items)
    first_of_item = np.cumsum(n_of_item) - n_of_item
    times = n_of_item[judge.item]
    row = np.repeat(np.arange(len(times)), times)
    place = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    item = judge.item[row]
    target = human.target[by_item[first_of_item[item] + place]]
    return AnswerRows.of(item, judge.answer[row], target, human.n_items)
