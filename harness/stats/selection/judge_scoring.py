"""Scores of judges against the raters' vectors: contributions, baselines and resamples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import ratio, reduced, row_shares, weighted_total
from harness.stats.data.forms import ELICITATION_OF, Cut, aggregate
from harness.stats.data.kinds import Kinds
from harness.stats.data.rating_table import Distributions
from harness.stats.inference.bootstrap import ALIKE, Units, weighted_totals
from harness.stats.inference.cluster_robust import ClusterMean, cluster_mean, linearized
from harness.stats.inference.crossed_raters import RaterCovariance, leave_out
from harness.stats.inference.engine import Drawn, Engine
from harness.stats.inference.metric import mean
from harness.stats.inference.non_inferiority import bounded_mean_interval, non_inferiority_p
from harness.stats.selection.references import (
    BASELINES,
    NO_REFERENCE,
    HumanReference,
    baseline_values,
    best_constants,
    most_frequent_answers,
    one_human,
    values_of_constants,
)
from harness.stats.selection.replies import Replies, contributions_at_replies, counts_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling, Weights
    from harness.stats.inference.crossed_raters import CrossedRatings, RaterVariance
    from harness.stats.inference.engine import SideOfTotals
    from harness.stats.inference.metric import Metric
    from harness.stats.inference.non_inferiority import Margin
    from harness.stats.selection.references import OneHuman
    from harness.stats.selection.replies import Vectors


MOST_PAIRED = 8  # with at most this many answers, any two ratings and an answer are tried


def _over_raters(estimate: ClusterMean, raters: RaterVariance | None) -> ClusterMean:
    """Add the raters' variance to a mean's standard error."""
    if raters is None:
        return estimate
    items = estimate.standard_error**2
    variance, freedom = raters.with_items(items, estimate.degrees_of_freedom)
    if not freedom > 0:
        return estimate
    return replace(estimate, standard_error=variance**0.5, degrees_of_freedom=freedom)


def _rating_counts(human: RatingTable, metric: Metric, implied: Distributions | None) -> FloatArray:
    """Return the (n, W) ratings that baselines are fitted to."""
    if implied is not None and ELICITATION_OF[metric.judge_form] == "response_set":
        return np.nan_to_num(implied.theta) * np.nan_to_num(implied.n_sets)[:, None]
    return np.asarray(counts_of(human, metric.judge_form), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Scoring:
    """A metric, together with the raters' ratings of some items."""

    metric: Metric
    counts: FloatArray  # ratings, (n, W)
    human_vectors: FloatArray  # (n, D)
    human_form: Vectors  # shares -> raters' rating vectors
    judge_form: Vectors  # shares -> a judge's rating vectors
    to_vectors: Callable[[Distributions], FloatArray]
    can_leave_out: bool  # whether the counts come from single raters
    weights: FloatArray  # (n,) weight of each item

    @classmethod
    def of(
        cls,
        human: RatingTable,
        metric: Metric,
        cut: Cut,
        *,
        implied: Distributions | None = None,
        weights: FloatArray | None = None,
    ) -> Scoring:
        """Combine a metric with a table of ratings."""
        dist = Distributions.of(human) if implied is None else implied
        to_vectors = partial(aggregate, form=metric.human_form, tau=cut.tau, positive=cut.positive)
        return cls(
            metric=metric,
            counts=_rating_counts(human, metric, implied),
            human_vectors=to_vectors(dist),
            to_vectors=to_vectors,
            human_form=vectors_of(human, metric.human_form, cut),
            judge_form=vectors_of(human, metric.judge_form, cut),
            can_leave_out=implied is None
            and ELICITATION_OF[metric.human_form] == ELICITATION_OF[metric.judge_form],
            weights=np.ones(len(dist.O)) if weights is None else weights,
        )

    def with_implied(
        self,
        human: RatingTable,
        implied_in: Callable[[FloatArray], Distributions],
        times: FloatArray,
    ) -> Scoring:
        """Return the scoring for a resample in which items were drawn (n,) times."""
        implied = implied_in(times)
        return replace(
            self,
            counts=_rating_counts(human, self.metric, implied),
            human_vectors=self.to_vectors(implied),
        )

    def counting_criteria_alike(self, criteria: Sequence[str], shared: BoolArray) -> Scoring:
        """Return a scoring in which each criterion's shared items together count as one."""
        _, of_item = np.unique(np.array(criteria), return_inverse=True)
        n_shared = np.bincount(of_item[shared], minlength=int(of_item.max(initial=0)) + 1)
        return replace(self, weights=self.weights / np.maximum(n_shared, 1)[of_item])

    @property
    def rated(self) -> BoolArray:
        """Return an (n,) mask of the items that were rated."""
        return ~reduced(np.logical_or, np.isnan(self.human_vectors))

    def sums(self, replies: Replies, shared: BoolArray, n_replies: float) -> FloatArray:
        """Return a judge's (n, d) contributions at r replies.

        Items that are not shared have zeros.
        """
        kept = contributions_at_replies(
            self.metric.contributions,
            self.human_vectors[shared],
            Replies(replies.shares[shared], replies.n_samples[shared]),
            n_replies,
            vectors=self.judge_form,
            squared=self.metric.squared,
        )
        sums = np.zeros((len(shared), kept.shape[1]))
        sums[shared] = kept
        return sums

    def value_with_losses(self, replies: Replies, n_replies: float) -> float:
        """Return the metric on all rated items. Missing answers count as the worst answer."""
        every = self.with_worst_answers(replies, n_replies)
        if every is None:
            return np.nan
        return self.value_of(self.sums(every, self.rated, n_replies))

    def value_of(self, sums: FloatArray) -> float:
        """Return the metric's value for (n, d) contributions.

        The order of the items does not matter.
        """
        return float(self.metric.value(weighted_total(sums, self.weights)))

    def with_worst_answers(self, replies: Replies, n_replies: float) -> Replies | None:
        """Replace missing answers to rated items with the answer that has the highest loss.

        The result is None if the metric is undefined for a single item.
        """
        missing = self.rated & ~replies.answered(n_replies)
        if not missing.any():
            return replies
        W = self.counts.shape[1]
        human, answers = self.human_vectors[missing], []
        for k in range(W):
            judge = self.judge_form(np.eye(W)[k : k + 1])
            shape = (len(human), judge.shape[1])
            answers.append(self.metric.contributions(human, np.broadcast_to(judge, shape)))
        losses = self.metric.losses(self.metric.value(np.array(answers)))
        if np.isnan(losses).any():
            return None
        shares, n_samples = replies.shares.copy(), replies.n_samples.copy()
        shares[missing], n_samples[missing] = np.eye(W)[losses.argmax(axis=0)], np.inf
        return Replies(shares, n_samples)

    def resample(
        self,
        replies: Sequence[Replies],
        sums: Sequence[FloatArray],
        shared: BoolArray,
        n_replies: float,
        *,
        resampling: Resampling,
        fit: Callable[[FloatArray], Scoring] | None,
    ) -> tuple[Drawn, Drawn]:
        """Evaluate judges and baselines on all items and on the same resamples.

        ``fit`` creates the scoring of a resample, if it varies. Items with equal ratings and
        answers are drawn together if there are few kinds.
        """
        units, scoring, J = resampling.units(len(shared)), self, len(sums)
        if fit is not None:

            def fitted(times: FloatArray) -> FloatArray:
                scoring = fit(times)
                sums = [scoring.sums(z, shared, n_replies) for z in replies]
                return scoring.side(sums, shared, n_replies)((times * self.weights)[None])[:, 0]

            values = self.side(sums, shared, n_replies)(self.weights[None])[:, 0]
            engine = Engine.draw(units, resampling)
            drawn = Drawn(values, engine.refitted(fitted, len(values)))
        else:
            kinds = self.few_kinds(replies, shared) if units.kind == "item" else None
            if kinds is not None:
                at, units = kinds.first, Units.alike(kinds.times)
                scoring, shared = self.only(at), shared[at]
                sums = [of_judge[at] for of_judge in sums]
            engine = Engine.draw(units, resampling, scoring.weights)
            drawn = engine.of_totals(scoring.side(sums, shared, n_replies))
        return (
            Drawn(drawn.values[:J], drawn.replicates[:J]),
            Drawn(drawn.values[J:], drawn.replicates[J:]),
        )

    def only(self, rows: IntArray) -> Scoring:
        """Keep only the items at the given indices."""
        return replace(
            self,
            counts=self.counts[rows],
            human_vectors=self.human_vectors[rows],
            weights=self.weights[rows],
        )

    def few_kinds(self, replies: Sequence[Replies], shared: BoolArray) -> Kinds | None:
        """Group items that contribute the same to all values.

        Return None if most items differ.
        """
        of_judges = [array for z in replies for array in (z.shares, z.n_samples)]
        tables = [self.counts, self.human_vectors, self.weights, shared.astype(float), *of_judges]
        columns = (np.nan_to_num(table, nan=-1.0) for table in tables)
        return Kinds.few(len(shared) // ALIKE, *columns)

    def side(self, sums: Sequence[FloatArray], shared: BoolArray, n_replies: float) -> SideOfTotals:
        """Return one side that evaluates judges with (n, d) contributions, then the baselines."""
        together = np.hstack([np.empty((len(shared), 0)), *sums])

        def values(weights: Weights) -> FloatArray:
            totals = weighted_totals(together, weights)
            by_judge = np.split(totals, len(sums), axis=1) if sums else []
            of_baselines = baseline_values(
                self.metric,
                self.human_vectors,
                self.counts,
                n_replies,
                vectors=self.judge_form,
                evaluated=shared,
                weights=weights,
            )
            of_judges = [self.metric.value(of_judge) for of_judge in by_judge]
            return np.array([*of_judges, *(of_baselines[name] for name in BASELINES)])

        return values

    def rater_covariance(
        self,
        ratings: CrossedRatings,
        replies: Sequence[Replies],
        shared: BoolArray,
        n_replies: float,
    ) -> RaterCovariance | None:
        """Return the covariances of judges and fitted baselines that come from the raters.

        The result is None if a value is undefined without some rating.
        """
        scored = [*replies, *(Replies.of_distribution(rows) for rows in self.fitted_baselines())]
        sides = [partial(self.sums_of_counts, side, shared, n_replies) for side in scored]
        left_out = leave_out(ratings, sides, self.metric.value)
        covariance = RaterCovariance.of(left_out, ratings)
        return covariance if np.isfinite(covariance.raters + covariance.cells).all() else None

    def fitted_baselines(self) -> Iterator[FloatArray]:
        """Yield the (n, W) answer distribution of each of `BASELINES`."""
        pooled = (self.weights @ self.counts)[None]
        most_frequent = most_frequent_answers(pooled).astype(np.float64)
        best = self.best_constants().astype(np.float64)
        for answers in (np.ones_like(pooled), pooled, most_frequent, best):
            yield np.broadcast_to(row_shares(answers), self.counts.shape)

    def constants(self, space: OptionSpace) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Return the answers of constant baselines, as option keys."""
        is_choice = ELICITATION_OF[self.metric.judge_form] == "forced_choice"
        answers = [(option,) for option in space.options] if is_choice else list(space.sets)
        fitted = {
            "most_frequent": most_frequent_answers((self.weights @ self.counts)[None])[0],
            "best_constant": self.best_constants()[0],
        }
        return {
            name: tuple(answers[i] for i in np.flatnonzero(columns).tolist())
            for name, columns in fitted.items()
        }

    def best_constants(self) -> BoolArray:
        """Return a (1, W) mask of the answers that are best if always given."""
        values = values_of_constants(
            self.metric.contributions,
            self.metric.value,
            self.human_vectors,
            self.counts,
            vectors=self.judge_form,
            weights=self.weights[None],
            squared=self.metric.squared,
        )
        return best_constants(self.metric.losses(values))

    def sums_of_counts(
        self,
        replies: Replies,
        shared: BoolArray,
        n_replies: float,
        counts: IntArray,
        rows: IntArray,
    ) -> FloatArray:
        """Return a judge's contributions to its score for ``rows``, if raters gave ``counts``."""
        n_ratings = counts.sum(axis=1).astype(np.float64)
        vectors = self.human_form(ratio(counts, n_ratings[:, None]), n_ratings)
        scoring = replace(self, human_vectors=vectors)
        of_rows = Replies(replies.shares[rows], replies.n_samples[rows])
        return scoring.sums(of_rows, shared[rows], n_replies)

    def reference(
        self,
        units: Units,
        replies: Replies,
        shared: BoolArray,
        *,
        level: float,
        ratings: CrossedRatings | None,
        margin: Margin | None = None,
    ) -> HumanReference:
        """Score the judge and a human rater against the same remaining ratings of shared items.

        This is defined for metrics that are means over items and for which lower or higher is
        better. The interval is over ``units``, and over ``ratings`` if raters are a sample too.
        """
        if not (self.can_leave_out and self.metric.is_item_mean):
            return NO_REFERENCE
        sides = self.one_human_by_kind(replies, shared)
        if not sides.used.any():
            return NO_REFERENCE
        differences = self.metric.losses(sides.difference[sides.used, 0])
        values = linearized(differences, self.weights[sides.used])
        groups = units.of_item[sides.used]
        estimate = cluster_mean(values, groups)
        if ratings is not None and isfinite(estimate.standard_error):
            side = partial(self.one_human_of_counts, replies, shared)
            raters = RaterCovariance.of(leave_out(ratings, [side], mean), ratings).variance(
                np.ones(1)
            )
            estimate = _over_raters(estimate, raters)
        ends = bounded_mean_interval(values, groups, self.bounds_of_human(), level, estimate)
        n_ratings = self.counts.sum(axis=1)[sides.used].astype(np.int64)
        return HumanReference(
            human=self.value_of(sides.human),
            judge=self.value_of(sides.judge),
            difference=estimate.mean,
            low=None if ends is None else ends[0],
            high=None if ends is None else ends[1],
            n_items=int(sides.used.sum()),
            n_ratings=int(n_ratings.sum()),
            judge_by_all=self.value_of(self.sums(replies, shared, 1.0)),
            p=None if margin is None else non_inferiority_p(values, groups, estimate, margin),
            n_units=units.n_entering(sides.used),
        )

    def bounds_of_human(self) -> tuple[float, float]:
        """Return the bounds of the difference between a judge and a rater on one item.

        These are the differences with two ratings. With more ratings, the human is compared with an
        average.
        """
        W = self.counts.shape[1]
        if W > MOST_PAIRED:
            largest = self.metric.loss_range()
            return -largest, largest
        first, second = np.triu_indices(W)
        counts = np.repeat(np.eye(W)[first] + np.eye(W)[second], W, axis=0)
        answers = np.tile(np.eye(W), (len(first), 1))
        sides = one_human(
            self.metric.contributions,
            counts,
            answers,
            human_vectors=self.human_form,
            judge_vectors=self.judge_form,
        )
        differences = self.metric.losses(sides.difference[:, 0])
        return float(differences.min()), float(differences.max())

    def one_human(
        self, replies: Replies, shared: BoolArray, counts: FloatArray | IntArray
    ) -> OneHuman:
        """Leave out the ratings of shared items in turn. Other items contribute nothing."""
        return one_human(
            self.metric.contributions,
            np.where(shared[:, None], counts, 0),
            replies.shares,
            human_vectors=self.human_form,
            judge_vectors=self.judge_form,
        )

    def one_human_by_kind(self, replies: Replies, shared: BoolArray) -> OneHuman:
        """Compute `one_human`, but evaluate items with equal ratings and answers only once."""
        answers = (np.nan_to_num(array, nan=-1.0) for array in (replies.shares, replies.n_samples))
        kinds = Kinds.of(self.counts, shared.astype(np.float64), *answers)
        at = kinds.first
        of_kinds = Replies(replies.shares[at], replies.n_samples[at])
        sides = self.one_human(of_kinds, shared[at], self.counts[at])
        used = sides.used[kinds.of_item]
        return replace(
            sides,
            human=sides.human[kinds.of_item],
            judge=sides.judge[kinds.of_item],
            used=used,
            n_ratings=int(self.counts[used].sum()),
        )

    def one_human_of_counts(
        self, replies: Replies, shared: BoolArray, counts: IntArray, rows: IntArray
    ) -> FloatArray:
        """Return differences between judge and human at some rows, given other rating counts."""
        of_rows = Replies(replies.shares[rows], replies.n_samples[rows])
        return self.one_human(of_rows, shared[rows], counts).difference
