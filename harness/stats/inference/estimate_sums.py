"""Estimates for many metrics from sums over items, with one bootstrap."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- readers of a result's fields need their types
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from harness.stats.data.arrays import Rows, blocks, how_many, median
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import Estimate, ItemSums, make_interval, share_undefined
from harness.stats.inference.interval_methods import Sampled, smoothed
from harness.stats.inference.metric import Metric, always, mean
from harness.stats.reasons import Reason  # noqa: TC001 -- as above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from harness.stats.data.arrays import FloatArray, Summands
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.engine import Replicated


@dataclass(frozen=True, slots=True, repr=False)
class Estimated:
    """An estimate, and the values that its interval was computed from."""

    estimate: Estimate
    sampled: Sampled

    @property
    def replicates(self) -> FloatArray:
        """Values in the resamples, as a (B,) array."""
        return self.sampled.replicates

    def minus(self, other: Estimated, engine: Engine) -> Estimate:
        """Subtract an estimate on the same resamples.

        If either is NA, the difference is NA with its reason.
        """
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
    """Evaluate the metrics of all groups on an engine's resamples.

    Parameters
    ----------
    groups : sequence of iterable of ItemSums
        Sums over the same n items.
    engine : Engine
        The resamples of these items.

    Returns
    -------
    list of dict of str to Estimated
        Estimates per group, by name of the metric.
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
    """Number of items and units, and ratings per item, for all metrics of the same sums."""

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
        least_units=metric.interval_from,
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


def estimate_sums(
    sums: Mapping[str, ItemSums], *, resampling: Resampling
) -> dict[str, dict[str, Estimate]]:
    """Evaluate metrics for the same items with one bootstrap, so that they can be compared.

    Parameters
    ----------
    sums : mapping of str to ItemSums
        Sums over the same n items.
    resampling : Resampling
        Settings for intervals.

    Returns
    -------
    dict of str to dict of str to Estimate
        Estimates by key of ``sums``, then by name of the metric.

    Raises
    ------
    ValueError
        If the numbers of items differ or contributions are not finite (n, d) arrays.
    """
    checked = [
        replace(item_sums, contributions=_check_contributions(item_sums.contributions))
        for item_sums in sums.values()
    ]
    lengths = {len(item_sums.contributions) for item_sums in checked}
    if len(lengths) != 1:
        raise ValueError(f"sums are over {sorted(lengths)} items; all must be over the same number")
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
    """Estimate one statistic of item sums, with its interval.

    Parameters
    ----------
    contributions : (n, d) array
        Contribution of each item; all zeros for an item that does not enter.
    value : callable
        Maps sums of shape (..., d) to values of shape (...), nan if undefined. By default, the
        first sum divided by the second.
    resampling : Resampling
        Settings for the interval.

    Returns
    -------
    Estimate
        The estimate; NA with reason "undefined" if ``value`` is nan.

    Raises
    ------
    ValueError
        If contributions are not a finite (n, d) array.

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


def _check_contributions(contributions: Summands) -> Summands:
    rows = contributions
    if not isinstance(rows, Rows):
        rows = np.asarray(rows, dtype=np.float64)
    is_matrix = len(rows.shape) == 2  # noqa: PLR2004 -- a matrix has two axes
    if not is_matrix or not all(np.isfinite(rows[at]).all() for at in blocks(len(rows))):
        raise ValueError(f"contributions has shape {rows.shape}; wanted finite numbers, (n, d)")
    return rows


def average_over_criteria(
    groups: Sequence[Iterable[ItemSums]], criteria: Sequence[str]
) -> tuple[list[list[ItemSums]], Units]:
    """Average every metric over the criteria, without weights.

    Parameters
    ----------
    groups : sequence of iterable of ItemSums
        Sums over n items.
    criteria : n names
        Criterion of each item.

    Returns
    -------
    groups, units
        The same metrics with one row per criterion instead of one per item. A metric is NA if it is
        undefined for any criterion, with its reason there and the number of such criteria.

    Raises
    ------
    ValueError
        If the items do not have one criterion each.

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
    """Average over the criteria. Return nan if the metric is undefined for one of them."""
    return np.where(totals[..., 2] > 0, np.nan, mean(totals))


def _counted(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return {"criteria": float(totals[1:].sum()), "undefined_criteria": float(totals[2])}
