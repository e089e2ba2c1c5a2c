"""Variance of each metric that comes from the selection of raters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import ratio, remembered
from harness.stats.data.forms import ELICITATION_OF, FORMS
from harness.stats.inference.crossed_raters import RaterCovariance, leave_out
from harness.stats.inference.metric import by_contributions
from harness.stats.selection.replies import counts_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.data.forms import Cut
    from harness.stats.data.rating_table import Form, RatingTable
    from harness.stats.inference.crossed_raters import CrossedRatings
    from harness.stats.inference.estimate import ItemSums
    from harness.stats.inference.metric import Metric
    from harness.stats.selection.replies import Vectors

    Counted = Callable[[IntArray, IntArray], FloatArray]


@dataclass(frozen=True, slots=True)
class RaterPanel:
    """Ratings with their raters, by elicitation. None means that raters and items are not crossed.

    Attributes
    ----------
    forced_choice, response_set : CrossedRatings or None
        Ratings of options and of response sets.
    """

    forced_choice: CrossedRatings | None
    response_set: CrossedRatings | None

    @property
    def is_crossed(self) -> bool:
        """Return whether at least five raters rated most items in either elicitation."""
        both = (self.forced_choice, self.response_set)
        return any(ratings is not None and ratings.is_crossed for ratings in both)

    def of(self, human: RatingTable, form: Form) -> CrossedRatings | None:
        """Return the ratings for a form of the raters' table.

        The result is None if they are not known, or for a form that only applies to these raters.
        """
        if FORMS[form].names_raters:
            return None
        counts = counts_of(human, form)
        is_choice = ELICITATION_OF[form] == "forced_choice" or counts is human.forced_choice
        ratings = self.forced_choice if is_choice else self.response_set
        if ratings is None or not ratings.is_crossed:
            return None
        return ratings if np.array_equal(ratings.counts(), counts) else None


def rater_covariances(
    panel: RaterPanel,
    human: RatingTable,
    metrics: Sequence[Metric],
    scores: Sequence[Callable[[Metric, FloatArray, IntArray], FloatArray]],
    cut: Cut,
) -> dict[str, RaterCovariance]:
    """Return the judges' covariances that come from a crossed panel's raters, by metric.

    ``scores`` contains a function per judge, from a metric, (n', D) vectors of the raters and their
    (n',) rows to (n', d) contributions.
    """
    covariances: dict[str, RaterCovariance] = {}
    for members in by_contributions(metrics):
        first = members[0]
        ratings = panel.of(human, first.human_form)
        if ratings is None:
            continue
        vectors = _vectors_of_counts(vectors_of(human, first.human_form, cut))
        values = [metric.value for metric in members]
        sides = [_counted(first, score, vectors) for score in scores]
        left_out = leave_out(ratings, sides, *values)
        covariances |= {
            metric.name: RaterCovariance.of(left_out, ratings, i)
            for i, metric in enumerate(members)
        }
    return covariances


def with_rater_variance(
    groups: Sequence[ItemSums], panel: RaterPanel, human: RatingTable
) -> list[ItemSums]:
    """Add the variance from the selection of raters to metrics of rater agreement."""
    ratings = panel.of(human, "s")
    if ratings is None:
        return list(groups)
    completed = []
    for sums in groups:
        [metric] = sums.metrics
        left_out = leave_out(ratings, [partial(_of_counts, metric)], metric.value)
        variance = RaterCovariance.of(left_out, ratings).variance(np.ones(1))
        completed.append(replace(sums, raters={metric.name: variance} if variance else {}))
    return completed


def _of_counts(metric: Metric, counts: IntArray, rows: IntArray) -> FloatArray:  # noqa: ARG001 -- the signature of leave_out
    return metric.contributions(counts)


def _counted(
    metric: Metric,
    score: Callable[[Metric, FloatArray, IntArray], FloatArray],
    vectors: Callable[[IntArray], FloatArray],
) -> Counted:
    """Return a function that computes a judge's contributions from the raters' counts."""

    def contributions(counts: IntArray, rows: IntArray) -> FloatArray:
        return score(metric, vectors(counts), rows)

    return contributions


def _vectors_of_counts(vectors: Vectors) -> Callable[[IntArray], FloatArray]:
    """Return a function from the raters' counts to their vectors. Judges share its last result."""

    @remembered
    def of_counts(counts: IntArray) -> FloatArray:
        n_ratings = counts.sum(axis=1).astype(np.float64)
        return vectors(ratio(counts, n_ratings[:, None]), n_ratings)

    return of_counts
