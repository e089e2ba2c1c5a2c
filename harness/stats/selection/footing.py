"""Judges on common footing: the same items, the same number of replies, baselines and one human."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.stats.data.arrays import (
    TOLERANCE,
    Kinds,
    frozen,
    median,
    ratio,
    reduced,
    row_shares,
    weighted_total,
)
from harness.stats.data.rating_table import ELICITATION_OF, Cut, Distributions, aggregate
from harness.stats.inference.alpha_spending import SCREENING
from harness.stats.inference.bootstrap import ALIKE, Units, weighted_totals
from harness.stats.inference.cluster_robust import ClusterMean, cluster_mean, linearized
from harness.stats.inference.crossed_raters import RaterCovariance, leave_out
from harness.stats.inference.engine import Drawn, Engine
from harness.stats.inference.estimate import TOO_FEW, make_interval
from harness.stats.inference.interval_methods import (
    NO_SPREAD,
    FurtherItem,
    Sampled,
)
from harness.stats.inference.metric import mean
from harness.stats.inference.non_inferiority import bounded_mean_interval, non_inferiority_p
from harness.stats.modes import InvertedEnd  # noqa: TC001 -- types of fields
from harness.stats.selection.rank_sets import (
    RankSets,
    SimultaneousInterval,
    better_than,
    rank_sets,
    winner_interval,
)
from harness.stats.selection.references import (
    BASELINES,
    baseline_values,
    best_constants,
    most_frequent_answers,
    one_human,
    values_of_constants,
)
from harness.stats.selection.replies import (
    MIN_ANSWERED,
    Replies,
    SharedItems,
    common_items,
    contributions_at_replies,
    counts_of,
    replies_of,
    vectors_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import ResampledUnit, Resampling, Weights
    from harness.stats.inference.crossed_raters import CrossedRatings, RaterVariance
    from harness.stats.inference.engine import SideOfTotals
    from harness.stats.inference.estimate import Estimate, Interval
    from harness.stats.inference.metric import Metric
    from harness.stats.inference.non_inferiority import Margin
    from harness.stats.reasons import Reason
    from harness.stats.selection.rater_panel import RaterPanel
    from harness.stats.selection.references import OneHuman
    from harness.stats.selection.replies import Vectors


@dataclass(frozen=True, slots=True)
class HumanReference:
    """A judge in the place of one rater, scored on the same remaining ratings.

    Attributes
    ----------
    human, judge : float or None
        The metric of a rater who was left out, and of one reply of the judge.
    judge_by_all : float or None
        The metric of one reply of the judge, scored on all ratings: less ``difference``, it places
        a rater beside judges that are scored on all ratings.
    difference : float or None
        Judge minus human, as losses: positive where the judge is worse.
    low, high : float or None
        Interval of the difference by the test that decides, see `mean_interval`: over raters and
        groups, too, if they are a sample. None with fewer than five items or groups.
    n_items, n_ratings : int
        Items that entered, and ratings left out in turn.
    p : float or None
        One-sided p-value of H0: the difference is at least the margin; None without a margin, or
        where it is undefined.
    n_units : int
        Items or groups that entered.
    """

    human: float | None
    judge: float | None
    difference: float | None
    low: InvertedEnd
    high: InvertedEnd
    n_items: int
    n_ratings: int
    judge_by_all: float | None = None
    p: float | None = None
    n_units: int = 0


MOST_PAIRED = 8  # answers up to which any two ratings and an answer are tried
NO_REFERENCE = HumanReference(None, None, None, None, None, 0, 0)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Footing:
    """Judges compared by one metric on the same items at the same number of replies.

    Attributes
    ----------
    metric : Metric
        What they are compared by.
    n_replies : float
        Replies per item; infinite where reply noise was removed.
    items : SharedItems
        Which judges are ranked, and the items that all of them answered.
    judges : tuple of str
        Ranked judges, in the order given.
    values : (R,) array
        The metric of each ranked judge on the shared items; nan where undefined.
    replicates : (R, B) array
        The same in each resample.
    baselines : dict of str to float
        The metric of each computed baseline; nan where undefined.
    baseline_replicates : dict of str to (B,) array
        Each baseline fitted and evaluated anew in each resample.
    ranks : RankSets or None
        Of the ranked judges; None without resamples, or where a value is undefined.
    winner : SimultaneousInterval or None
        The best judge and the interval of its value.
    clearly_better : (R, R) bool array
        Whether a judge is better than another, by a simultaneous comparison of all judges at the
        share of the error probability that is for screening.
    beats : (R, C) bool array
        Whether a judge is better than each of the baselines by a simultaneous one-sided bound over
        all judges and baselines.
    references : tuple of HumanReference
        One human beside each ranked judge.
    values_with_losses : (R,) array
        The metric of each ranked judge on all rated items, where an item that it did not answer
        counts like the worst answer that could have been given; nan where the metric is not a mean.
    n_rated : int
        Items that the raters rated as the metric needs.
    min_answered : float
        Share of them that a ranked judge answered.
    level : float
        Confidence level.
    unit : {"item", "group"}
        What was resampled.
    n_units : int
        How many of them the shared items are in.
    further : FurtherItem or None
        As in `Sampled`, of the judges.
    raters : RaterCovariance or None
        Of ranked judges, then baselines, where raters are a sample, too: intervals and comparisons
        are then over items and raters.
    constants : dict of str to tuple of tuple of str
        Option keys of what the baselines that always give one answer give; several where tied.
    """

    metric: Metric
    n_replies: float
    items: SharedItems
    judges: tuple[str, ...]
    values: FloatArray
    replicates: FloatArray
    baselines: dict[str, float]
    baseline_replicates: dict[str, FloatArray]
    ranks: RankSets | None
    winner: SimultaneousInterval | None
    clearly_better: BoolArray
    beats: BoolArray
    references: tuple[HumanReference, ...]
    values_with_losses: FloatArray
    n_rated: int
    min_answered: float
    level: float
    unit: ResampledUnit
    n_units: int
    raters: RaterCovariance | None = None
    constants: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    further: FurtherItem | None = None

    def __repr__(self) -> str:
        shared = int(self.items.shared.sum())
        return f"Footing({len(self.judges)} judges, {shared} items, {self.n_replies:g} replies)"

    @property
    def by_name(self) -> dict[str, tuple[float, FloatArray]]:
        """Value and replicates of each ranked judge, then of each baseline."""
        judges = zip(self.values.tolist(), self.replicates, strict=True)
        baselines = (
            (value, self.baseline_replicates[name]) for name, value in self.baselines.items()
        )
        return dict(zip((*self.judges, *self.baselines), (*judges, *baselines), strict=True))

    def interval(self, name: str, level: float | None = None) -> tuple[Interval | None, Reason]:
        """Return the interval of a judge's or baseline's value, or why there is none."""
        value, replicates = self.by_name[name]
        sampled = Sampled(
            value=value,
            replicates=replicates,
            n_units=self.n_units,
            n_items=int(self.items.shared.sum()),
            bounds=self.metric.bounds,
            is_share=self.metric.is_share,
            raters=self.raters_of({name: 1.0}),
            further=self.further if name in self.judges else None,
        )
        return make_interval(
            sampled, level=level or self.level, unit=self.unit, estimand=self.metric.estimand
        )

    def estimate(self, judge: str, about: Estimate, *, is_first: bool) -> Estimate:
        """Return the estimate of a ranked judge.

        Parameters
        ----------
        judge : str
            One of ``judges``.
        about : Estimate
            Its counts, and why it is NA.
        is_first : bool
            Whether it comes first: its interval then allows for its choice among all judges.
        """
        value = float(self.values[self.judges.index(judge)])
        interval, why_none = self.interval(judge)
        if is_first and interval is not None and self.winner is not None:
            interval = self.interval_of_winner(judge, interval)
            why_none = "" if interval else TOO_FEW[self.unit]
        elif is_first and interval is not None and len(self.judges) > 1:
            interval, why_none = None, "undefined_in_resamples"
        return replace(
            about,
            value=value if isfinite(value) else None,
            reason="" if isfinite(value) else about.reason,
            interval=interval,
            interval_reason=why_none,
        )

    def interval_of_winner(self, judge: str, interval: Interval) -> Interval | None:
        """Return an interval with the ends that allow for having been chosen; None without.

        That of a judge that is the same in all resamples is made as if it had not been chosen, at a
        higher level.
        """
        if self.winner is None:
            return None
        if self.by_name[judge][1].std(ddof=1) <= NO_SPREAD:
            constant, _ = self.interval(judge, self.winner.level)
            return constant and replace(constant, level=self.level, method="simultaneous")
        if self.winner.low is None or self.winner.high is None:
            return None
        low, high = self.winner.low, self.winner.high
        least, most = self.metric.bounds
        return replace(interval, low=max(low, least), high=min(high, most), method="simultaneous")

    def raters_of(self, contrast: Mapping[str, float]) -> RaterVariance | None:
        """Return what raters add to the variance of a sum of values times a contrast."""
        if self.raters is None:
            return None
        names = (*self.judges, *self.baselines)
        return self.raters.variance(np.array([contrast.get(name, 0.0) for name in names]))

    @property
    def order(self) -> tuple[str, ...]:
        """Ranked judges, best first; those without a value last."""
        losses = self.metric.losses(self.values)
        return tuple(self.judges[j] for j in np.argsort(losses, kind="stable"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRules:
    """When judges are compared, and at which levels.

    Attributes
    ----------
    n_replies : int or inf, optional
        Replies per item. Default: `replies_in_common`.
    min_answered : float
        Share of the rated items that a ranked judge has answered, at least.
    margin : Margin, optional
        Of the test that a judge is not worse than one human. Default: there is no test.
    baseline_level : float, optional
        Confidence level of all comparisons with baselines together. Default: that of the
        resampling.
    n_judges : int, optional
        As in `winner_interval`.
    values_alone : bool
        Whether judges are compared with baselines by their values alone: not with one human, nor
        on the items that they did not answer.
    """

    n_replies: float | None = None
    min_answered: float = MIN_ANSWERED
    margin: Margin | None = None
    baseline_level: float | None = None
    n_judges: int | None = None
    values_alone: bool = False


RULES = ComparisonRules()


def common_footing(
    human: RatingTable,
    judges: Sequence[RatingTable],
    metric: Metric,
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    rules: ComparisonRules = RULES,
    implied: Distributions | None = None,
    implied_in: Callable[[FloatArray], Distributions] | None = None,
    weights: FloatArray | None = None,
    criteria: Sequence[str] | None = None,
    panel: RaterPanel | None = None,
) -> Footing:
    """Compare judges by a metric on common footing.

    Parameters
    ----------
    human : RatingTable
        What the raters answered.
    judges : sequence of RatingTable
        What each judge answered: the same space, the same items in the same order.
    metric : Metric
        A mean over items, or a coefficient of sums.
    tau : float in (0, 1]
        Cut-off of the forms hrs and decision.
    positive : sequence of str
        Positive options of the form decision.
    resampling : Resampling
        How intervals are made.
    rules : ComparisonRules, optional
        Replies, share answered, margin and levels.
    implied : Distributions, optional
        What the raters' response sets are supposed to be, in place of those they gave; no rater
        can then be left out, so there is no human reference.
    implied_in : callable, optional
        ``(n,) how often each item was drawn -> Distributions``: what is implied in a resample,
        estimated anew. Default: ``implied`` in all of them.
    weights : (n,) array, optional
        How often each item counts, also where baselines are fitted. Default: once.
    criteria : sequence of str, optional
        What each item is rated on: each criterion then counts alike, so that means over items are
        averages over criteria; see `evaluate`.
    panel : RaterPanel, optional
        Who gave which rating; see `evaluate`.

    Returns
    -------
    Footing
        Values, resamples, rank sets, baselines and one human.

    Raises
    ------
    ValueError
        If a form, an option or the number of replies is wrong.
    """
    cut = Cut(tau, tuple(positive))
    scoring = Scoring.of(human, metric, cut, implied=implied, weights=weights)
    chosen, replies, n_replies, items = _ranked_judges(scoring, judges, rules)
    shared = items.shared
    if criteria is not None:
        scoring = scoring.counting_criteria_alike(criteria, shared)
    fit = None if implied_in is None else partial(scoring.with_implied, human, implied_in)
    units, sums = (
        resampling.units(len(shared)),
        [scoring.sums(z, shared, n_replies) for z in replies],
    )
    of_judges, of_baselines = scoring.resample(
        replies, sums, shared, n_replies, resampling=resampling, fit=fit
    )
    ratings = panel.of(human, metric.human_form) if panel and implied is None else None
    raters = None
    if ratings is not None and replies:
        raters = scoring.rater_covariance(ratings, replies, shared, n_replies)
    n_discordant = _n_discordant([np.asarray(of_judge) for of_judge in units.sums(sums)])
    n_items, n_units = int(shared.sum()), units.n_entering(shared)
    references = (NO_REFERENCE,) * len(replies)
    with_losses = np.full(len(replies), np.nan)
    if not rules.values_alone:
        references = tuple(
            scoring.reference(
                units, z, shared, level=resampling.level, ratings=ratings, margin=rules.margin
            )
            for z in replies
        )
        with_losses = np.array([scoring.value_with_losses(z, n_replies) for z in replies])
    further = None
    if criteria is None:
        further = metric.further_item(
            len(human.space.options),
            n_replies=n_replies,
            n_raters=median(scoring.counts[shared].sum(axis=1)) or inf,
            n_items=n_items,
            n_units=n_units,
        )
    return footing_of(
        metric,
        of_judges,
        of_baselines,
        resampling,
        rules=rules,
        n_discordant=n_discordant,
        n_replies=n_replies,
        items=items,
        judges=tuple(table.name for table in chosen),
        references=references,
        values_with_losses=frozen(with_losses),
        n_rated=int(scoring.rated.sum()),
        unit=units.kind,
        n_units=n_units,
        raters=raters,
        constants=scoring.constants(human.space) if replies else {},
        further=further,
    )


def _ranked_judges(
    scoring: Scoring,
    judges: Sequence[RatingTable],
    rules: ComparisonRules,
) -> tuple[list[RatingTable], list[Replies], float, SharedItems]:
    """Return the judges that answered enough, their replies, how many of them, and the items."""
    replies = [replies_of(table, scoring.metric.judge_form) for table in judges]
    n_replies, items = common_items(
        replies, scoring.rated, n_replies=rules.n_replies, min_answered=rules.min_answered
    )
    chosen = np.flatnonzero(items.ranked).tolist()
    return [judges[j] for j in chosen], [replies[j] for j in chosen], n_replies, items


def footing_of(
    metric: Metric,
    of_judges: Drawn,
    of_baselines: Drawn,
    resampling: Resampling,
    *,
    rules: ComparisonRules,
    n_discordant: IntArray,
    baselines: Iterable[str] = BASELINES,
    **about: Any,  # noqa: ANN401 -- further fields of Footing
) -> Footing:
    """Compare values on the same resamples: rank sets, interval of the winner, beaten baselines.

    Parameters
    ----------
    metric : Metric
        What the values are of.
    of_judges, of_baselines : Drawn
        Of R judges and C baselines.
    resampling : Resampling
        Its level; draws the noise of raters.
    rules : ComparisonRules
        Levels, and among how many judges the best was chosen.
    n_discordant : (R, R) array
        On how many units two judges differ.
    baselines : C names, optional
        Of the baselines.
    **about
        Further fields of `Footing`, ``n_units`` among them.
    """
    n_units, raters, further = about["n_units"], about.get("raters"), about.get("further")
    R = len(of_judges.values)
    values = np.concatenate([of_judges.values, of_baselines.values])
    replicates = np.concatenate([of_judges.replicates, of_baselines.replicates])
    losses, drawn = metric.losses(values), metric.losses(replicates)
    defined = R > 0 and drawn.shape[1] > 1 and bool(np.isfinite(drawn[:R]).all())
    freedom = _freedom(raters, drawn, n_units)
    if raters is not None:
        noise = raters.noise(drawn.shape[1], resampling.rng)
        replicates = replicates + noise
        drawn = drawn + metric.loss_signs(values)[:, None] * noise
    judges = losses[:R], drawn[:R]
    ranks, winner = None, None
    clearly = np.zeros((R, R), dtype=np.bool_)
    if defined:
        single = np.diag(freedom)[:R]
        compared = partial(
            rank_sets,
            *judges,
            freedom=freedom[:R, :R],
            n_discordant=n_discordant,
            n_units=n_units,
        )
        ranks = compared(level=resampling.level)
        clearly = compared(level=1.0 - SCREENING * (1.0 - resampling.level)).better
        winner = winner_interval(
            values[:R],
            replicates[:R],
            winner=int(losses[:R].argmin()),
            n_judges=rules.n_judges,
            freedom=single,
            bounds=metric.bounds,
            further=further,
            level=resampling.level,
            n_units=n_units,
        )
    beats = np.zeros((R, len(values) - R), dtype=np.bool_)
    usable = np.isfinite(losses) & np.isfinite(drawn).all(axis=1)
    usable[:R] = False
    if drawn.shape[1] > 1 and np.isfinite(drawn[:R]).all() and usable.any():
        rivals = losses[usable], drawn[usable]
        of_pairs = freedom[:R, usable]
        level = resampling.level if rules.baseline_level is None else rules.baseline_level
        beats[:, usable[R:]] = better_than(
            *judges, *rivals, freedom=of_pairs, level=level, n_units=n_units
        )
    return Footing(
        metric=metric,
        values=frozen(of_judges.values),
        replicates=frozen(of_judges.replicates),
        baselines=dict(zip(baselines, of_baselines.values.tolist(), strict=True)),
        baseline_replicates=dict(zip(baselines, of_baselines.replicates, strict=True)),
        ranks=ranks,
        winner=winner,
        clearly_better=clearly,
        beats=beats,
        min_answered=rules.min_answered,
        level=resampling.level,
        **about,
    )


def _freedom(raters: RaterCovariance | None, replicates: FloatArray, n_units: int) -> FloatArray:
    """Return (J, J) degrees of freedom of differences, those of values on the diagonal."""
    J = len(replicates)
    freedom = np.full((J, J), n_units - 1.0)
    if raters is None or replicates.shape[1] == 0:
        return freedom
    for i in range(J):
        for j in range(J):
            contrast = np.zeros(J)
            contrast[j] -= 1.0
            contrast[i] = 1.0
            items = float(np.var(contrast @ replicates))
            of_pair = raters.variance(contrast)
            if of_pair is not None and isfinite(of_pair.with_items(items, n_units - 1.0)[1]):
                freedom[i, j] = of_pair.with_items(items, n_units - 1.0)[1]
    return freedom


def _over_raters(estimate: ClusterMean, raters: RaterVariance | None) -> ClusterMean:
    """Add to the standard error of a mean what raters add to its variance."""
    if raters is None:
        return estimate
    items = estimate.standard_error**2
    variance, freedom = raters.with_items(items, estimate.degrees_of_freedom)
    if not freedom > 0:
        return estimate
    return replace(estimate, standard_error=variance**0.5, degrees_of_freedom=freedom)


def _n_discordant(by_unit: Sequence[FloatArray]) -> IntArray:
    """Return (J, J): on how many units the (U, d) contributions of two judges differ."""
    n = np.zeros((len(by_unit), len(by_unit)), dtype=np.int64)
    for i, j in combinations(range(len(by_unit)), 2):
        n[i, j] = n[j, i] = (np.abs(by_unit[i] - by_unit[j]) > TOLERANCE).any(axis=1).sum()
    return n


def _rating_counts(human: RatingTable, metric: Metric, implied: Distributions | None) -> FloatArray:
    """Return the (n, W) ratings on which baselines are fitted."""
    if implied is not None and ELICITATION_OF[metric.judge_form] == "response_set":
        return np.nan_to_num(implied.theta) * np.nan_to_num(implied.n_sets)[:, None]
    return np.asarray(counts_of(human, metric.judge_form), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Scoring:
    """A metric bound to the raters of some items."""

    metric: Metric
    counts: FloatArray  # (n, W) ratings
    human_vectors: FloatArray  # (n, D)
    human_form: Vectors  # shares -> rating vectors of the raters
    judge_form: Vectors  # shares -> rating vectors of a judge
    to_vectors: Callable[[Distributions], FloatArray]
    can_leave_out: bool  # whether the counts are those of single raters
    weights: FloatArray  # (n,) how often each item counts

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
        """Bind a metric to the ratings of a table."""
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
        """Return the scoring of a resample in which items were drawn so many times, (n,)."""
        implied = implied_in(times)
        return replace(
            self,
            counts=_rating_counts(human, self.metric, implied),
            human_vectors=self.to_vectors(implied),
        )

    def counting_criteria_alike(self, criteria: Sequence[str], shared: BoolArray) -> Scoring:
        """Return the scoring in which the shared items of each criterion count as one."""
        _, of_item = np.unique(np.array(criteria), return_inverse=True)
        n_shared = np.bincount(of_item[shared], minlength=int(of_item.max(initial=0)) + 1)
        return replace(self, weights=self.weights / np.maximum(n_shared, 1)[of_item])

    @property
    def rated(self) -> BoolArray:
        """Return (n,) bool: which items the raters rated."""
        return ~reduced(np.logical_or, np.isnan(self.human_vectors))

    def sums(self, replies: Replies, shared: BoolArray, n_replies: float) -> FloatArray:
        """Return the (n, d) contributions of a judge at r replies, zeros off the shared items."""
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
        """Return the metric on all rated items, unanswered ones with the worst answer."""
        every = self.with_worst_answers(replies, n_replies)
        if every is None:
            return np.nan
        return self.value_of(self.sums(every, self.rated, n_replies))

    def value_of(self, sums: FloatArray) -> float:
        """Return the metric of (n, d) contributions, to the last bit whatever the items' order."""
        return float(self.metric.value(weighted_total(sums, self.weights)))

    def with_worst_answers(self, replies: Replies, n_replies: float) -> Replies | None:
        """Give each rated item without enough replies the answer that loses most on it.

        None where the metric of an item alone is undefined.
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
        """Evaluate judges and baselines on all items and on the same resamples of them.

        ``fit`` makes the scoring of a resample, where it is not the same in all. Items that are
        rated and answered alike are drawn together where there are few kinds.
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
        """Keep some of the items."""
        return replace(
            self,
            counts=self.counts[rows],
            human_vectors=self.human_vectors[rows],
            weights=self.weights[rows],
        )

    def few_kinds(self, replies: Sequence[Replies], shared: BoolArray) -> Kinds | None:
        """Tell apart items that add the same to all values; None where most differ."""
        of_judges = [array for z in replies for array in (z.shares, z.n_samples)]
        tables = [self.counts, self.human_vectors, self.weights, shared.astype(float), *of_judges]
        columns = (np.nan_to_num(table, nan=-1.0) for table in tables)
        return Kinds.few(len(shared) // ALIKE, *columns)

    def side(self, sums: Sequence[FloatArray], shared: BoolArray, n_replies: float) -> SideOfTotals:
        """Return judges with such (n, d) contributions, then baselines, as one side."""
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
        """Return the covariances of judges and of baselines, as fitted, by the raters.

        None where a value is undefined without some rating.
        """
        scored = [*replies, *(Replies.of_distribution(rows) for rows in self.fitted_baselines())]
        sides = [partial(self.sums_of_counts, side, shared, n_replies) for side in scored]
        left_out = leave_out(ratings, sides, self.metric.value)
        covariance = RaterCovariance.of(left_out, ratings)
        return covariance if np.isfinite(covariance.raters + covariance.cells).all() else None

    def fitted_baselines(self) -> Iterator[FloatArray]:
        """Yield the distribution of each of `BASELINES` on each item, (n, W)."""
        pooled = (self.weights @ self.counts)[None]
        most_frequent = most_frequent_answers(pooled).astype(np.float64)
        best = self.best_constants().astype(np.float64)
        for answers in (np.ones_like(pooled), pooled, most_frequent, best):
            yield np.broadcast_to(row_shares(answers), self.counts.shape)

    def constants(self, space: OptionSpace) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Return the answers of the baselines that always give one, as tuples of option keys."""
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
        """Return (1, W): the answers that are best on all items if always given."""
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
        """Return the contributions of a judge at some rows with other (n', W) counts of ratings."""
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
        """Score the judge and one human on the same remaining ratings of the shared items.

        Defined for metrics that are means over items, of which less or more is better. The
        interval is over ``units``, and over ``ratings`` where raters are a sample, too.
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
        """Return the least and greatest difference between a judge and one human on an item.

        Those of two ratings: with more of them, the human is compared with an average.
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
        """Leave out ratings of the shared items in turn; other items add nothing."""
        return one_human(
            self.metric.contributions,
            np.where(shared[:, None], counts, 0),
            replies.shares,
            human_vectors=self.human_form,
            judge_vectors=self.judge_form,
        )

    def one_human_by_kind(self, replies: Replies, shared: BoolArray) -> OneHuman:
        """As `one_human`, with items that are rated and answered alike looked at once."""
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
        """Return the differences of judge and human with other counts of ratings at some rows."""
        of_rows = Replies(replies.shares[rows], replies.n_samples[rows])
        return self.one_human(of_rows, shared[rows], counts).difference
