"""Comparison of judges on the same items and number of replies, with baselines and a rater."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import inf, isfinite
from typing import TYPE_CHECKING, NotRequired, TypedDict, Unpack

import numpy as np

from harness.stats.data.arrays import TOLERANCE, frozen, median
from harness.stats.data.forms import Cut
from harness.stats.inference.alpha_spending import SCREENING
from harness.stats.inference.estimate import TOO_FEW, make_interval
from harness.stats.inference.interval_methods import (
    NO_SPREAD,
    FurtherItem,
    Sampled,
)
from harness.stats.selection.judge_scoring import Scoring
from harness.stats.selection.rank_sets import (
    RankSets,
    SimultaneousInterval,
    better_than,
    rank_sets,
    winner_interval,
)
from harness.stats.selection.references import (
    BASELINES,
    NO_REFERENCE,
    HumanReference,
)
from harness.stats.selection.replies import (
    MIN_ANSWERED,
    Replies,
    SharedItems,
    common_items,
    replies_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.data.rating_table import Distributions, RatingTable
    from harness.stats.inference.bootstrap import ResampledUnit, Resampling
    from harness.stats.inference.crossed_raters import RaterCovariance, RaterVariance
    from harness.stats.inference.engine import Drawn
    from harness.stats.inference.estimate import Estimate, Interval
    from harness.stats.inference.metric import Metric
    from harness.stats.inference.non_inferiority import Margin
    from harness.stats.reasons import Reason
    from harness.stats.selection.rater_panel import RaterPanel


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Footing:
    """Comparison of judges by one metric on the same items and number of replies.

    Attributes
    ----------
    metric : Metric
        Metric to compare them by.
    n_replies : float
        Replies per item; infinite if reply noise was removed.
    items : SharedItems
        The ranked judges, and the items that all of them answered.
    judges : tuple of str
        Ranked judges, in the order of the argument.
    values : (R,) array
        The metric of each ranked judge on the shared items; nan if undefined.
    replicates : (R, B) array
        The same metric in each resample.
    baselines : dict of str to float
        The metric of each computed baseline; nan if undefined.
    baseline_replicates : dict of str to (B,) array
        Each baseline, fitted and evaluated again in each resample.
    ranks : RankSets or None
        Rank sets of the ranked judges; None without resamples, or if a value is undefined.
    winner : SimultaneousInterval or None
        The best judge and the interval for its value.
    clearly_better : (R, R) bool array
        Whether a judge is better than a different one, by a simultaneous comparison of all judges
        at the screening share of the error probability.
    beats : (R, C) bool array
        Whether a judge is better than each of the baselines by a simultaneous one-sided bound over
        all judges and baselines.
    references : tuple of HumanReference
        A human rater compared with each ranked judge.
    values_with_losses : (R,) array
        The metric of each ranked judge on all rated items, with missing answers counted as the
        worst possible answer; nan if the metric is not a mean.
    n_rated : int
        Number of items with the ratings that the metric needs.
    level : float
        Confidence level.
    unit : {"item", "group"}
        Unit of resampling.
    n_units : int
        Number of units that contain the shared items.
    further : FurtherItem or None
        As in `Sampled`, for the judges.
    raters : RaterCovariance or None
        Covariances of ranked judges, then baselines, if raters are a sample too. Intervals and
        comparisons are then over items and raters.
    constants : dict of str to tuple of tuple of str
        Answers, as option keys, of the baselines that always give the same one; several if tied.
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
        """Value and replicates of each ranked judge and each baseline, by name."""
        judges = zip(self.values.tolist(), self.replicates, strict=True)
        baselines = (
            (value, self.baseline_replicates[name]) for name, value in self.baselines.items()
        )
        return dict(zip((*self.judges, *self.baselines), (*judges, *baselines), strict=True))

    def interval(self, name: str, level: float | None = None) -> tuple[Interval | None, Reason]:
        """Return the interval for a judge's or baseline's value, or the reason for its absence."""
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

    def estimates(self, about: Mapping[str, Estimate], order: Sequence[str]) -> dict[str, Estimate]:
        """Return each judge's estimate.

        Parameters
        ----------
        about : mapping of str to Estimate
            Counts and reason for NA by judge. For a judge that is not ranked, the whole estimate.
        order : sequence of str
            Ranked judges, best first. The first judge's interval accounts for its selection.
        """
        return {
            name: self._estimate(name, result, is_first=name == order[0])
            if name in self.judges
            else result
            for name, result in about.items()
        }

    def _estimate(self, judge: str, about: Estimate, *, is_first: bool) -> Estimate:
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
        """Return the best judge's interval, which accounts for its selection, or None.

        If the judge's value is the same in all resamples, the interval is computed as if it had not
        been selected, at a higher level.
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
        """Return the variance that raters add to a contrast of values."""
        if self.raters is None:
            return None
        names = (*self.judges, *self.baselines)
        return self.raters.variance(np.array([contrast.get(name, 0.0) for name in names]))

    @property
    def order(self) -> tuple[str, ...]:
        """Ranked judges from best to worst. Judges without a value come last."""
        losses = self.metric.losses(self.values)
        return tuple(self.judges[j] for j in np.argsort(losses, kind="stable"))


class FootingFields(TypedDict):
    """Fields of `Footing` that are not computed from values and resamples."""

    n_replies: float
    items: SharedItems
    judges: tuple[str, ...]
    references: tuple[HumanReference, ...]
    values_with_losses: FloatArray
    n_rated: int
    unit: ResampledUnit
    n_units: int
    raters: NotRequired[RaterCovariance | None]
    constants: NotRequired[Mapping[str, tuple[tuple[str, ...], ...]]]
    further: NotRequired[FurtherItem | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRules:
    """Rules for comparing judges, and the levels of the comparisons.

    Attributes
    ----------
    n_replies : int or inf, optional
        Replies per item. Default: `replies_in_common`.
    min_answered : float
        Minimum share of the rated items that a ranked judge has answered.
    margin : Margin, optional
        Margin of the test that a judge is not worse than a human rater. Default: no test.
    baseline_level : float, optional
        Confidence level of all comparisons with baselines together. Default: the resampling's
        level.
    n_judges : int, optional
        As in `winner_interval`.
    values_alone : bool
        Whether to compare judges with baselines only by their values, without a human rater and
        without the items they did not answer.
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
    """Compare judges by a metric on the same items and number of replies.

    Parameters
    ----------
    human : RatingTable
        The raters' answers.
    judges : sequence of RatingTable
        Each judge's answers, with the same space and the same items in the same order.
    metric : Metric
        Metric that is a mean over items, or a coefficient of sums.
    tau : float in (0, 1]
        Cut-off of the forms hrs and decision.
    positive : sequence of str
        Positive options of the form decision.
    resampling : Resampling
        Settings for intervals.
    rules : ComparisonRules, optional
        Replies, share answered, margin and levels.
    implied : Distributions, optional
        Assumed response sets of the raters, instead of their own. No rater can then be left out, so
        there is no human reference.
    implied_in : callable, optional
        ``(n,) number of draws of each item -> Distributions``: estimates the implied sets again in
        a resample. Default: ``implied`` in all of them.
    weights : (n,) array, optional
        Number of times each item counts, also for fitting baselines. Default: once.
    criteria : sequence of str, optional
        Criterion of each item. All criteria then have the same weight, so that means over items are
        averages over criteria; see `evaluate`.
    panel : RaterPanel, optional
        Rater of each rating; see `evaluate`.

    Returns
    -------
    Footing
        Values, resamples, rank sets, baselines and a human rater.

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
    """Return judges that answered enough items, with replies, reply number and shared items."""
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
    **about: Unpack[FootingFields],
) -> Footing:
    """Compare values on the same resamples: rank sets, best judge's interval, beaten baselines.

    Parameters
    ----------
    metric : Metric
        Metric of the values.
    of_judges, of_baselines : Drawn
        Values of R judges and C baselines.
    resampling : Resampling
        Supplies the level, and draws the noise of raters.
    rules : ComparisonRules
        Levels, and the number of judges from which the best was selected.
    n_discordant : (R, R) array
        Number of units on which two judges differ.
    baselines : C names, optional
        Names of the baselines.
    **about
        Other fields of `Footing`.
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
        level=resampling.level,
        **about,
    )


def _freedom(raters: RaterCovariance | None, replicates: FloatArray, n_units: int) -> FloatArray:
    """Return (J, J) degrees of freedom for differences, and for the values on the diagonal."""
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


def _n_discordant(by_unit: Sequence[FloatArray]) -> IntArray:
    """Return (J, J) numbers of units on which two judges' (U, d) contributions differ."""
    n = np.zeros((len(by_unit), len(by_unit)), dtype=np.int64)
    for i, j in combinations(range(len(by_unit)), 2):
        n[i, j] = n[j, i] = (np.abs(by_unit[i] - by_unit[j]) > TOLERANCE).any(axis=1).sum()
    return n
