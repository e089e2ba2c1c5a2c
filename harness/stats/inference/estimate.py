"""Estimates: items' contributions, and values with intervals or NA with a reason."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- readers of a result's fields need their types
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from harness.stats.data.arrays import any_by_row, how_many
from harness.stats.inference.bootstrap import ResampledUnit  # noqa: TC001 -- as above
from harness.stats.inference.interval_methods import (
    Sampled,
    percentile_ends,
    score_ends,
)
from harness.stats.inference.metric import DESIGN_VALUE, Metric
from harness.stats.inference.special_functions import betaincinv
from harness.stats.modes import (  # noqa: TC001 -- as above
    Estimand,
    IntervalConstruction,
)
from harness.stats.reasons import (  # noqa: TC001 -- as above
    ExclusionReason,
    NAReason,
    Reason,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, Summands
    from harness.stats.inference.crossed_raters import RaterVariance
    from harness.stats.inference.metric import Metric


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and the method that produced it.

    Attributes
    ----------
    low, high : float
        The ends.
    level : float
        Nominal coverage, e.g. 0.95.
    method : str
        "score": values within a t quantile of their standard errors; see `score_ends`.
        "percentile": quantiles of the bootstrap replicates. "crossed": a score interval that treats
        both items and raters as samples. "jackknife": from the values with blocks of items left
        out, see `jackknife_interval`. "profile likelihood": the values that the likelihood does not
        reject. "simultaneous": valid for all judges at once, because the best of them was selected,
        or for all slices at once.
    unit : {"item", "group", "criterion"}
        Unit of resampling.
    estimand : str
        "design value": the expectation with this many raters and samples per item. It includes
        rater and sampling noise. "population value": the value with infinitely many raters.
    """

    low: float
    high: float
    level: float
    method: IntervalConstruction
    unit: ResampledUnit
    estimand: Estimand = DESIGN_VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A number with its interval and n, or NA with a reason.

    Attributes
    ----------
    value : float or None
        None if undefined.
    reason : str
        Reason that the value is None; "" otherwise.
    interval : Interval or None
        None if the value is undefined, or for the reason in ``interval_reason``.
    interval_reason : str
        Reason that a defined value has no interval: "too_few_items", "too_few_groups" or
        "too_few_criteria": fewer than five, or than two items for a share; "constant": an unbounded
        value that is the same in all resamples; "undefined_in_resamples": for the best judge, if a
        different one is undefined in some resamples; "no_resamples". "" otherwise.
    n_used : int
        Number of items used.
    n_excluded : int
        Number of items not used.
    excluded : tuple of Exclusion
        Reasons for exclusion, with counts that add up to ``n_excluded``.
    n_tied : int
        Used items on which the mode of either side was tied (forms ``h`` only).
    n_resamples : int
        Bootstrap replicates drawn.
    undefined_share : float
        Share of the replicates in which the statistic was undefined; the interval is conditional on
        the remaining ones. 0 if there are no replicates.
    ratings_per_item : float or None
        Median number of human ratings per used item, on which the design value depends.
    n_replies : float or None
        Number of the judge's replies per item in the evaluation; None for all of its replies,
        however many each item has.
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
    undefined_share: float = 0.0
    ratings_per_item: float | None = None
    n_replies: float | None = None
    counts: Mapping[str, float] = field(default_factory=dict)


def percentile_interval(
    replicates: FloatArray, level: float, unit: ResampledUnit
) -> tuple[Interval | None, float]:
    """Return the percentile interval of (B,) replicates, and the share that is undefined."""
    ends = percentile_ends(replicates, level) if replicates.size else None
    interval = Interval(*ends, level, "percentile", unit) if ends else None
    return interval, share_undefined(replicates)


NONE = 1e-12  # counts below this are rounding errors of a share of 0 or 1
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
    """Return the interval for a value.

    Parameters
    ----------
    sampled : Sampled
        The value with its resamples.
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


def share_undefined(replicates: FloatArray) -> float:
    """Return the share of (B,) replicates that are nan, or 0 if there are none."""
    if not replicates.size:
        return 0.0
    return int(np.count_nonzero(np.isnan(replicates))) / replicates.size


def point_estimates(
    totals: FloatArray, metrics: Iterable[Metric], *, n_used: int | None = None
) -> dict[str, Estimate]:
    """Evaluate metrics on (d,) sums, without intervals.

    Parameters
    ----------
    totals : (d,) array
        The sums that the metrics use.
    metrics : iterable of Metric
        Metrics to evaluate.
    n_used : int, optional
        Number of items in the sums; by default the sum of the totals, which suits the cells of a
        table.
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


def share_interval(share: float, n: float, *, level: float = 0.95) -> Interval:
    """Return the exact interval for a share.

    Parameters
    ----------
    share : float in [0, 1]
        The observed share.
    n : float
        Number of independent units. If units are clustered, pass the number of clusters: the
        interval is then valid however similar a cluster's units are.
    level : float in (0, 1)
        Minimum coverage, whatever the share is.

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
    C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the
    case of the binomial, Biometrika 26 (1934), 404-413. For an effective n that is not an integer,
    the method is that of E. L. Korn and B. I. Graubard, Confidence intervals for proportions with
    small expected number of positive counts estimated from survey data, Survey Methodology 24
    (1998), 193-201.

    Examples
    --------
    >>> interval = share_interval(0.0, 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.0, 0.308)
    """
    if not (0 <= share <= 1 and 0 < level < 1 and n > 0):
        raise ValueError(f"no interval is defined for share {share}, level {level} and n {n}")
    hits, misses, tail = share * n, (1 - share) * n, (1 - level) / 2
    low = float(betaincinv(hits, misses + 1, tail)) if hits > NONE else 0.0
    high = float(betaincinv(hits + 1, misses, 1 - tail)) if misses > NONE else 1.0
    return Interval(low, high, level, "exact", "item")


EMPTY: Final = "empty_stratum"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Number of items that an estimate excludes for one reason.

    Attributes
    ----------
    reason : str
        E.g. "judge_invalid": the judge's replies on these items could not be read.
    n_items : int
        Number of items.
    """

    reason: ExclusionReason
    n_items: int


def exclusions(counted: Iterable[tuple[ExclusionReason, int]]) -> tuple[Exclusion, ...]:
    """Return the reasons that excluded at least one item, with the number of items."""
    return tuple(Exclusion(reason, int(n_items)) for reason, n_items in counted if n_items)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ItemSums:
    """Contributions from n items to sums, and the metrics of these sums.

    Attributes
    ----------
    contributions : (n, d) array or Rows
        Contribution of each item; zeros if it does not enter.
    metrics : tuple of Metric
        Metrics to evaluate.
    used : (n,) bool array or None
        Whether each item enters; None for items with any contribution.
    inside : (n,) bool array or None
        Whether each item is in the stratum; None for all. Items outside are not counted as
        excluded.
    excluded : tuple of Exclusion
        Reasons that other items do not enter.
    nothing : str
        The reason if no item enters.
    n_tied : int
        Used items with a tied mode.
    n_ratings : (n,) array or None
        Number of human ratings of each item.
    n_replies : float or None
        As in `Estimate`.
    n_samples : float
        Replies of the judge to each item; infinite without reply noise.
    options : tuple of str
        Names for the counts reported with a value.
    raters : dict of str to RaterVariance
        The raters' contribution to the variance, by metric, if they are a sample.
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
        """Return an (n,) mask of the items that contribute."""
        if self.used is not None:
            return self.used
        return any_by_row(self.contributions)

    def only(self, rows: BoolArray) -> ItemSums:
        """Keep only the items in an (n,) mask."""
        return replace(
            self,
            contributions=np.asarray(self.contributions)[rows],
            used=self.entered[rows],
            inside=None if self.inside is None else self.inside[rows],
            n_ratings=None if self.n_ratings is None else self.n_ratings[rows],
        )

    def within(self, inside: BoolArray, times: IntArray | None = None) -> ItemSums:
        """Keep only the contributions of a stratum's items.

        Item i counts ``times[i]`` times, or once.
        """
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
        """Multiply the items' contributions by (n,) weights."""
        contributions = np.asarray(self.contributions) * weights[:, None]
        return replace(self, contributions=contributions, used=self.entered)
