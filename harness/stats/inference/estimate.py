"""Estimates: values with their intervals and counts, or NA with the reason; proportions."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- readers of a result's fields need their types
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from harness.stats.data.arrays import how_many, median, reduced
from harness.stats.inference.bootstrap import ResampledUnit, Units
from harness.stats.inference.engine import Engine
from harness.stats.inference.interval_methods import (
    Sampled,
    percentile_ends,
    score_ends,
    smoothed,
)
from harness.stats.inference.metric import DESIGN_VALUE, Metric, always, mean
from harness.stats.modes import (  # noqa: TC001 -- as above
    Estimand,
    IntervalConstruction,
)
from harness.stats.reasons import ExclusionReason, NAReason, Reason  # noqa: TC001 -- as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, Summands
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.crossed_raters import RaterVariance
    from harness.stats.inference.engine import Replicated


EMPTY: Final = "empty_stratum"


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and the method behind it.

    Attributes
    ----------
    low, high : float
        The ends.
    level : float
        Nominal coverage, e.g. 0.95.
    method : str
        "score": the values within a t quantile of their own standard errors, see `score_ends`.
        "percentile": quantiles of the bootstrap replicates.
        "crossed": a score interval over items and raters, both of which are a sample.
        "profile likelihood": the values that the likelihood does not reject.
        "simultaneous": wide enough for all judges at once, as the best of them was chosen.
    unit : {"item", "group", "criterion"}
        What was resampled.
    estimand : str
        "design value": the expectation with this many raters and samples per item. Rater and
        sampling noise are part of it; it is not the value that infinitely many raters would give.
        "population value": that one.
    """

    low: float
    high: float
    level: float
    method: IntervalConstruction
    unit: ResampledUnit
    estimand: Estimand = DESIGN_VALUE


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Number of items left out of an estimate for one reason.

    Attributes
    ----------
    reason : str
        E.g. "judge_invalid": the judge's replies on these items could not be read.
    n_items : int
        How many.
    """

    reason: ExclusionReason
    n_items: int


def exclusions(counted: Iterable[tuple[ExclusionReason, int]]) -> tuple[Exclusion, ...]:
    """Return the reasons that kept any items out, each with how many."""
    return tuple(Exclusion(reason, int(n_items)) for reason, n_items in counted if n_items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its interval and n, or NA with the reason.

    Attributes
    ----------
    value : float or None
        None where undefined.
    reason : str
        Why the value is None; "" otherwise.
    interval : Interval or None
        None where the value is undefined, and where ``interval_reason`` says why.
    interval_reason : str
        Why a defined value has no interval: "too_few_items", "too_few_groups" or
        "too_few_criteria", fewer than five, or than two items for a share; "constant", an unbounded
        value that does not vary between resamples; "undefined_in_resamples", that of the best judge
        where another is undefined in some; "no_resamples". "" otherwise.
    n_used : int
        Items that entered.
    n_excluded : int
        Items that did not.
    excluded : tuple of Exclusion
        Why they did not; adds up to ``n_excluded``.
    n_tied : int
        Used items on which the mode of either side was tied (forms ``h`` only).
    n_resamples : int
        Bootstrap replicates drawn.
    undefined_share : float or None
        Share of the replicates in which the statistic was undefined; the interval is conditional on
        the others. None without replicates.
    ratings_per_item : float or None
        Median number of human ratings behind a used item: what the design value depends on.
    n_replies : float or None
        Replies of the judge per item at which it is evaluated; None for all that it gave, however
        many that are on each item.
    counts : mapping of str to float
        Counts that explain the value, e.g. the cells of a confusion matrix or the empty cells.
    """

    value: float | None
    reason: Reason = ""
    interval: Interval | None = None
    interval_reason: Reason = ""
    n_used: int
    n_excluded: int = 0
    excluded: tuple[Exclusion, ...] = ()
    n_tied: int = 0
    n_resamples: int = 0
    undefined_share: float | None = None
    ratings_per_item: float | None = None
    n_replies: float | None = None
    counts: Mapping[str, float] = field(default_factory=dict)


def percentile_interval(
    replicates: FloatArray, level: float, unit: ResampledUnit
) -> tuple[Interval | None, float | None]:
    """Return the percentile interval of (B,) replicates, and the share that is undefined."""
    ends = percentile_ends(replicates, level) if replicates.size else None
    interval = Interval(*ends, level, "percentile", unit) if ends else None
    return interval, share_undefined(replicates)


TOO_FEW: dict[ResampledUnit, NAReason] = {
    "item": "too_few_items",
    "group": "too_few_groups",
    "criterion": "too_few_criteria",
}


def make_interval(
    sampled: Sampled,
    *,
    level: float,
    unit: ResampledUnit,
    estimand: Estimand = DESIGN_VALUE,
) -> tuple[Interval | None, Reason]:
    """Return the interval of a value.

    Parameters
    ----------
    sampled : Sampled
        The value and its resamples.
    level, unit, estimand
        As in `Interval`.

    Returns
    -------
    interval, reason : Interval or None, Reason
        As in `Estimate`.
    """
    if np.isnan(sampled.value):
        return None, ""
    if not sampled.has_enough_units:
        return None, TOO_FEW[unit]
    if not len(sampled.replicates):
        return None, "no_resamples"
    ends = score_ends(sampled, level)
    if ends is None:
        return None, "constant"
    method: IntervalConstruction = "score" if sampled.raters is None else "crossed"
    return Interval(*ends, level, method, unit, estimand), ""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ItemSums:
    """Contributions of n items to sums, and the metrics of these sums.

    Attributes
    ----------
    contributions : (n, d) array or Rows
        What each item adds; zeros where it does not enter.
    metrics : tuple of Metric
        What to evaluate.
    used : (n,) bool array or None
        Which items enter; None for those that add anything.
    inside : (n,) bool array or None
        Items of the stratum; None for all. Others are not counted as excluded.
    excluded : tuple of Exclusion
        Why the others do not.
    nothing : str
        The reason when no item enters.
    n_tied : int
        Used items with a tied mode.
    n_ratings : (n,) array or None
        Number of human ratings of each item.
    n_replies : float or None
        As in `Estimate`.
    n_samples : float
        Replies of the judge to each item; infinite without reply noise.
    options : tuple of str
        What the counts beside a value are named after.
    raters : dict of str to RaterVariance
        By metric, what the raters add to its variance, where they are a sample.
    """

    contributions: Summands
    metrics: tuple[Metric, ...]
    used: BoolArray | None = None
    inside: BoolArray | None = None
    excluded: tuple[Exclusion, ...] = ()
    nothing: NAReason = "no_items"
    n_tied: int = 0
    n_ratings: FloatArray | None = None
    n_replies: float | None = None
    n_samples: float = inf
    options: tuple[str, ...] = ()
    raters: Mapping[str, RaterVariance] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ItemSums({len(self.contributions)} items, {len(self.metrics)} metrics)"

    @property
    def entered(self) -> BoolArray:
        """Which items enter: (n,)."""
        if self.used is not None:
            return self.used
        return reduced(np.logical_or, np.asarray(self.contributions))

    def only(self, rows: BoolArray) -> ItemSums:
        """Keep some of the items, (n,) bool."""
        return replace(
            self,
            contributions=np.asarray(self.contributions)[rows],
            used=self.entered[rows],
            inside=None if self.inside is None else self.inside[rows],
            n_ratings=None if self.n_ratings is None else self.n_ratings[rows],
        )

    def within(self, inside: BoolArray, times: IntArray | None = None) -> ItemSums:
        """Return what the items of a stratum, (n,) bool, add; each stands for ``times`` or one."""
        used, contributions = self.entered & inside, self.contributions
        n_unusable = how_many(inside & ~used, times)
        if not inside.all():
            contributions = np.where(inside[:, None], np.asarray(contributions), 0.0)
        return replace(
            self,
            contributions=contributions,
            used=used,
            inside=inside,
            excluded=exclusions([(self.nothing, n_unusable)]),
            nothing=self.nothing if inside.any() else EMPTY,
        )

    def weighted(self, weights: FloatArray) -> ItemSums:
        """Return what items add times their (n,) weights."""
        contributions = np.asarray(self.contributions) * weights[:, None]
        return replace(self, contributions=contributions, used=self.entered)


@dataclass(frozen=True, slots=True, repr=False)
class Estimated:
    """An estimate and the values its interval came from."""

    estimate: Estimate
    sampled: Sampled

    @property
    def replicates(self) -> FloatArray:
        """The (B,) values in the resamples."""
        return self.sampled.replicates

    def minus(self, other: Estimated, engine: Engine) -> Estimate:
        """Subtract an estimate of the same resamples; NA with the reason of either."""
        first, second = self.sampled, other.sampled
        value, replicates = first.value - second.value, first.replicates - second.replicates
        undefined = bool(np.isnan(value))
        difference = replace(
            second,
            value=value,
            replicates=replicates,
            bounds=(first.bounds[0] - second.bounds[1], first.bounds[1] - second.bounds[0]),
            is_share=False,
            further=None,
            smoothed=None,
        )
        interval, why_none = make_interval(difference, level=engine.level, unit=engine.units.kind)
        return replace(
            other.estimate,
            value=None if undefined else value,
            reason=self.estimate.reason or other.estimate.reason,
            interval=interval,
            interval_reason=why_none,
            undefined_share=share_undefined(replicates),
            counts={},
        )


def estimate_all(
    groups: Sequence[Iterable[ItemSums]], engine: Engine
) -> list[dict[str, Estimated]]:
    """Evaluate the metrics of all groups on the resamples of an engine.

    Parameters
    ----------
    groups : sequence of iterable of ItemSums
        All over the same n items.
    engine : Engine
        The resamples of these items.

    Returns
    -------
    list of dict of str to Estimated
        Per group, by name of the metric.
    """
    groups = [tuple(group) for group in groups]
    results = iter(engine.of_sums([sums for group in groups for sums in group]))
    return [
        {
            metric.name: _estimated(metric, sums, entering, result, engine)
            for sums in group
            for of_metrics in [next(results)]
            if of_metrics
            for entering in [_Entering.of(sums, engine.units)]
            for metric, result in zip(sums.metrics, of_metrics, strict=True)
        }
        for group in groups
    ]


class _Entering(NamedTuple):
    """The items and units behind all metrics of the same sums, and ratings per item."""

    n_used: int
    n_units: int
    n_excluded: int
    ratings_per_item: float | None

    @classmethod
    def of(cls, sums: ItemSums, units: Units) -> _Entering:
        used, times = sums.entered, units.times
        per_item = sums.n_ratings[used] if sums.n_ratings is not None else np.empty(0)
        return cls(
            n_used=how_many(used, times),
            n_units=units.n_entering(used),
            n_excluded=how_many(~used if sums.inside is None else sums.inside & ~used, times),
            ratings_per_item=median(per_item, None if times is None else times[used]),
        )


def _estimated(
    metric: Metric, sums: ItemSums, entering: _Entering, result: Replicated, engine: Engine
) -> Estimated:
    units, undefined = engine.units, bool(np.isnan(result.value))
    n_used, n_units = entering.n_used, entering.n_units
    sampled = Sampled(
        value=result.value,
        replicates=result.replicates,
        n_units=n_units,
        n_items=n_used,
        bounds=metric.bounds,
        is_share=metric.is_share and units.kind != "criterion",
        raters=sums.raters.get(metric.name),
        further=metric.further_item(
            len(sums.options),
            n_replies=sums.n_samples,
            n_raters=entering.ratings_per_item or inf,
            n_items=n_used,
            n_units=n_units,
        ),
        smoothed=smoothed(metric.value, result.totals, n_units) if metric.beyond_chance else None,
    )
    interval, why_none = make_interval(
        sampled,
        level=engine.level,
        unit=units.kind,
        estimand=metric.estimand,
    )
    estimate = Estimate(
        value=None if undefined else result.value,
        reason=(metric.reason(result.totals) if n_used else sums.nothing) if undefined else "",
        interval=interval,
        interval_reason=why_none,
        n_used=n_used,
        n_excluded=entering.n_excluded,
        excluded=sums.excluded,
        n_tied=sums.n_tied,
        n_resamples=len(result.replicates),
        undefined_share=share_undefined(result.replicates),
        ratings_per_item=entering.ratings_per_item,
        n_replies=sums.n_replies,
        counts=metric.counts(result.totals, sums.options),
    )
    return Estimated(estimate, sampled)


def share_undefined(replicates: FloatArray) -> float | None:
    """Return the share of (B,) replicates that is nan; None without any."""
    if not replicates.size:
        return None
    return int(np.count_nonzero(np.isnan(replicates))) / replicates.size


def point_estimates(
    totals: FloatArray, metrics: Iterable[Metric], *, n_used: int | None = None
) -> dict[str, Estimate]:
    """Evaluate metrics of (d,) sums, without intervals.

    Parameters
    ----------
    totals : (d,) array
        The sums that the metrics read.
    metrics : iterable of Metric
        What to evaluate.
    n_used : int, optional
        Items behind the sums; by default the sum of the totals, as fits the cells of a table.
    """
    sums = np.asarray(totals, dtype=np.float64)
    n = round(float(sums.sum())) if n_used is None else n_used
    estimates = {}
    for metric in metrics:
        value = float(metric.value(sums))
        undefined = bool(np.isnan(value))
        estimates[metric.name] = Estimate(
            value=None if undefined else value,
            reason=metric.reason(sums) if undefined else "",
            n_used=n,
        )
    return estimates


def estimate_sums(
    sums: Mapping[str, ItemSums], *, resampling: Resampling
) -> dict[str, dict[str, Estimate]]:
    """Evaluate metrics of the same items on one bootstrap, so that they can be compared.

    Parameters
    ----------
    sums : mapping of str to ItemSums
        All over the same n items.
    resampling : Resampling
        How intervals are made.

    Returns
    -------
    dict of str to dict of str to Estimate
        By key of ``sums``, then by name of the metric.

    Raises
    ------
    ValueError
        If the numbers of items differ or contributions are no finite (n, d) arrays.
    """
    checked = [
        replace(item_sums, contributions=_check_contributions(item_sums.contributions))
        for item_sums in sums.values()
    ]
    lengths = {len(item_sums.contributions) for item_sums in checked}
    if len(lengths) != 1:
        raise ValueError(f"sums are over {sorted(lengths)} items; wanted one number of items")
    engine = Engine.draw(resampling.units(lengths.pop()), resampling)
    results = estimate_all([[item_sums] for item_sums in checked], engine)
    return {
        key: {name: estimated.estimate for name, estimated in result.items()}
        for key, result in zip(sums, results, strict=True)
    }


def bootstrap(
    contributions: FloatArray,
    value: Callable[[FloatArray], FloatArray] = mean,
    *,
    resampling: Resampling,
) -> Estimate:
    """Estimate one statistic of item sums with its interval.

    Parameters
    ----------
    contributions : (n, d) array
        What each item adds; all zeros for an item that does not enter.
    value : callable
        Sums of shape (..., d) to values of shape (...); nan where undefined. By default the first
        sum divided by the second.
    resampling : Resampling
        How the interval is made.

    Returns
    -------
    Estimate
        With reason "undefined" where ``value`` is nan.

    Raises
    ------
    ValueError
        If contributions are no finite (n, d) array.

    Examples
    --------
    >>> from harness.stats.inference.bootstrap import Resampling
    >>> ones = np.ones((4, 1))
    >>> hits = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> resampling = Resampling(rng=np.random.default_rng(0))
    >>> bootstrap(np.hstack([hits, ones]), resampling=resampling).value
    0.75
    """
    metric = Metric(name="value", value=value, reason=lambda _: "undefined", bounds=(-inf, inf))
    sums = ItemSums(contributions=contributions, metrics=(metric,))
    return estimate_sums({"": sums}, resampling=resampling)[""]["value"]


def _check_contributions(contributions: Summands) -> FloatArray:
    array = np.asarray(contributions, dtype=np.float64)
    if array.ndim != 2 or not np.isfinite(array).all():  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"contributions has shape {array.shape}; wanted finite numbers, (n, d)")
    return array


def average_over_criteria(
    groups: Sequence[Iterable[ItemSums]], criteria: Sequence[str]
) -> tuple[list[list[ItemSums]], Units]:
    """Average every metric over criteria, unweighted.

    Parameters
    ----------
    groups : sequence of iterable of ItemSums
        Of n items.
    criteria : n names
        What each item is rated on.

    Returns
    -------
    groups, units
        The same metrics with one row per criterion in place of one per item. A metric is NA as soon
        as it is undefined for one criterion, with its reason there and the number of such criteria.

    Raises
    ------
    ValueError
        If there is not one criterion per item.

    Notes
    -----
    Rao and Callison-Burch 2026, section 5.1.
    """
    groups = [tuple(group) for group in groups]
    for sums in (sums for group in groups for sums in group):
        if len(sums.contributions) != len(criteria):
            n = len(sums.contributions)
            raise ValueError(f"criteria has {len(criteria)} entries for {n} items")
    units = Units.of(len(criteria), criteria)
    averaged = [
        [_averaged(metric, sums, units) for sums in group for metric in sums.metrics]
        for group in groups
    ]
    return averaged, Units(np.arange(units.n_units), units.n_units, "criterion")


def _averaged(metric: Metric, sums: ItemSums, units: Units) -> ItemSums:
    by_criterion = np.asarray(units.sums([sums.contributions])[0])
    values = metric.value(by_criterion)
    undefined = np.isnan(values)
    n_undefined = int(undefined.sum())
    rows = np.column_stack([np.nan_to_num(values), ~undefined, undefined])
    reason: Reason = "no_items"
    if n_undefined:
        nothing = not sums.entered.any()
        reason = sums.nothing if nothing else metric.reason(by_criterion[undefined.argmax()])
    average = replace(metric, value=_all_defined, reason=always(reason), counts=_counted)
    return ItemSums(
        contributions=rows.astype(np.float64),
        metrics=(average,),
        used=np.ones(units.n_units, dtype=np.bool_),
        nothing=sums.nothing,
        n_tied=sums.n_tied,
        n_replies=sums.n_replies,
    )


def _all_defined(totals: FloatArray) -> FloatArray:
    """Divide by the number of criteria; nan where one of them is undefined."""
    return np.where(totals[..., 2] > 0, np.nan, mean(totals))


def _counted(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return {"criteria": float(totals[1:].sum()), "undefined_criteria": float(totals[2])}


def wilson_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return the score interval of a share.

    Parameters
    ----------
    share : float in [0, 1]
        The share that was observed.
    n : float
        Independent units behind it. Where units come in clusters, the number of clusters makes the
        interval hold however alike a cluster's units are.
    level : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    interval : Interval
        Within [0, 1], of positive width.

    Raises
    ------
    ValueError
        If ``share`` or ``level`` is out of its range or ``n`` is not positive.

    References
    ----------
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, Journal of
    the American Statistical Association 22 (1927), 209-212.

    Examples
    --------
    >>> interval = wilson_interval(0.0, 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.0, 0.278)
    """
    if not (0 <= share <= 1 and 0 < level < 1 and n > 0):
        raise ValueError(f"share {share}, level {level} and n {n} make no interval")
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = max(0.0, centre - half) if share > 0 else 0.0  # exactly, not but for rounding
    high = min(1.0, centre + half) if share < 1 else 1.0
    return Interval(low, high, level, "wilson", "item")
