"""Numbers with their intervals and counts, or NA with the reason."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- whoever reads a result's fields needs their types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import how_many
from harness.stats.inference.bootstrap import (
    Replicated,
    Statistic,
    Unit,
    Units,
    replicate,
)
from harness.stats.inference.interval_methods import (
    IntervalMethod,
    interval_ends,
    jackknife,
    percentile_ends,
)
from harness.stats.inference.metric import DESIGN_VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.inference.resampling import Resampling


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval and how it came about.

    Attributes
    ----------
    low, high : float
        The ends.
    level : float
        Nominal coverage, e.g. 0.95.
    method : str
        "percentile": quantiles of the bootstrap replicates. "bca": corrected for bias and
        acceleration. "jackknife": value and its standard error, leaving out one unit at a time.
    unit : {"item", "group"}
        What was resampled.
    estimand : str
        "design value": the expectation with this many raters and samples per item. Rater and
        sampling noise are part of it; it is not the value that infinitely many raters would give.
        "population value": that one.
    """

    low: float
    high: float
    level: float
    method: str
    unit: Unit
    estimand: str = DESIGN_VALUE


@dataclass(frozen=True, slots=True)
class Exclusion:
    """How many items one reason kept out of an estimate.

    Attributes
    ----------
    reason : str
        E.g. "judge_invalid": the judge's replies on these items could not be read.
    n_items : int
        How many.
    """

    reason: str
    n_items: int


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
        None where the value is undefined, no replicate is defined, or fewer than two units enter:
        one unit, resampled, is always itself.
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
    counts : mapping of str to float
        Counts that explain the value, e.g. the cells of a confusion matrix or the empty cells.
    estimand : str
        What the value estimates; as in `Interval`.
    """

    value: float | None
    reason: str = ""
    interval: Interval | None = None
    n_used: int
    n_excluded: int = 0
    excluded: tuple[Exclusion, ...] = ()
    n_tied: int = 0
    n_resamples: int = 0
    undefined_share: float | None = None
    ratings_per_item: float | None = None
    counts: Mapping[str, float] = field(default_factory=dict)
    estimand: str = DESIGN_VALUE


def percentile_interval(
    replicates: FloatArray, level: float, unit: Unit
) -> tuple[Interval | None, float | None]:
    """Return the percentile interval of (B,) replicates, and the share that is undefined."""
    if not replicates.size:
        return None, None
    undefined_share = float(np.isnan(replicates).mean())
    ends = percentile_ends(replicates, level)
    return Interval(*ends, level, "percentile", unit) if ends else None, undefined_share


def _no_counts(totals: FloatArray) -> dict[str, float]:  # noqa: ARG001 -- the shape of Job.counts
    return {}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Job:
    """A statistic, and what its estimate will say beside the value.

    Attributes
    ----------
    statistic : Statistic
        What is estimated.
    used : (n,) bool array
        Which items enter.
    why : callable
        Sums (d,) of an undefined value to the reason, when some item enters.
    nothing : str
        The reason when no item enters.
    excluded : tuple of Exclusion
        Why the other items do not.
    n_tied : int
        Used items with a tied mode.
    n_ratings : (n,) array or None
        Number of human ratings of each item.
    counts : callable
        Sums (d,) to the counts to be shown.
    estimand : str
        What the value estimates; as in `Interval`.
    """

    statistic: Statistic
    used: BoolArray
    why: Callable[[FloatArray], str]
    nothing: str = "no_items"
    excluded: tuple[Exclusion, ...] = ()
    n_tied: int = 0
    n_ratings: FloatArray | None = None
    counts: Callable[[FloatArray], Mapping[str, float]] = _no_counts
    estimand: str = DESIGN_VALUE


@dataclass(frozen=True, slots=True, repr=False)
class Estimated:
    """An estimate and the (B,) replicates its interval came from."""

    estimate: Estimate
    replicates: FloatArray


def estimate_all(
    groups: Sequence[Mapping[str, Job]],
    units: Units,
    resampling: Resampling,
) -> list[dict[str, Estimated]]:
    """Do all jobs of all groups on the same resamples, keeping the shape of ``groups``."""
    jobs = [job for group in groups for job in group.values()]
    results = replicate([job.statistic for job in jobs], units, resampling.draw(units))
    how = (resampling.level, resampling.method, units)
    done = iter(
        Estimated(_describe(job, result, how), result.replicates)
        for job, result in zip(jobs, results, strict=True)
    )
    return [{name: next(done) for name in group} for group in groups]


def _describe(job: Job, result: Replicated, how: tuple[float, IntervalMethod, Units]) -> Estimate:
    times = how[2].times
    n_used = how_many(job.used, times)
    undefined = bool(np.isnan(result.value))
    per_item = job.n_ratings[job.used] if job.n_ratings is not None else np.empty(0)
    if times is not None and per_item.size:
        per_item = np.repeat(per_item, times[job.used])
    drawn = result.replicates
    return Estimate(
        value=None if undefined else result.value,
        reason=(job.why(result.totals) if n_used else job.nothing) if undefined else "",
        interval=None if undefined else _interval(job, result, *how),
        n_used=n_used,
        n_excluded=how_many(~job.used, times),
        excluded=job.excluded,
        n_tied=job.n_tied,
        n_resamples=len(drawn),
        undefined_share=float(np.isnan(drawn).mean()) if drawn.size else None,
        ratings_per_item=float(np.median(per_item)) if per_item.size else None,
        counts=job.counts(result.totals),
        estimand=job.estimand,
    )


def _interval(
    job: Job, result: Replicated, level: float, method: IntervalMethod, units: Units
) -> Interval | None:
    if _is_one_unit(job.used, units):
        return None
    left_out = np.empty(0) if method == "percentile" else jackknife(job.statistic, units)
    ends = interval_ends(method, result.value, result.replicates, left_out, level)
    return Interval(*ends, level, method, units.kind, job.estimand) if ends else None


def _is_one_unit(used: BoolArray, units: Units) -> bool:
    if units.kind != "group":
        return how_many(used, units.times) < 2  # noqa: PLR2004 -- one says nothing of others
    entering = units.of_item[used]
    return not (entering != entering[:1]).any()


def bootstrap(
    contributions: FloatArray,
    value: Callable[[FloatArray], FloatArray],
    *,
    resampling: Resampling,
) -> Estimate:
    """Estimate one statistic of item sums with its interval.

    Parameters
    ----------
    contributions : (n, d) array
        What each item adds; all zeros for an item that does not enter.
    value : callable
        Sums of shape (..., d) to values of shape (...); nan where undefined.
    resampling : Resampling
        How intervals are made.

    Returns
    -------
    Estimate
        With reason "undefined" where ``value`` is nan.

    Raises
    ------
    ValueError
        If contributions are no finite (n, d) array, or another argument is out of range.

    Examples
    --------
    >>> from harness.stats.inference.metric import mean
    >>> from harness.stats.inference.resampling import Resampling
    >>> ones = np.ones((4, 1))
    >>> hits = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> resampling = Resampling(rng=np.random.default_rng(0))
    >>> bootstrap(np.hstack([hits, ones]), mean, resampling=resampling).value
    0.75
    """
    sums = np.asarray(contributions, dtype=np.float64)
    if sums.ndim != 2 or not np.isfinite(sums).all():  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"contributions has shape {sums.shape}; wanted finite numbers, (n, d)")
    units = resampling.units(len(sums))
    used = np.asarray(sums.any(axis=1), dtype=np.bool_)
    job = Job(statistic=Statistic(sums, value), used=used, why=lambda _: "undefined")
    [estimated] = estimate_all([{"": job}], units, resampling)
    return estimated[""].estimate
