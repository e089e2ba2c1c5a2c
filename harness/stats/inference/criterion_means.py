"""Metrics averaged over criteria: each criterion has one value, and criteria are resampled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.bootstrap import Units
from harness.stats.inference.estimate import ItemSums
from harness.stats.inference.metric import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from harness.stats.data.arrays import FloatArray
    from harness.stats.inference.metric import Metric


def macro(
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
    by_criterion = np.asarray(units.sums(sums.contributions))
    values = metric.value(by_criterion)
    undefined = np.isnan(values)
    n_undefined = int(undefined.sum())
    rows = np.column_stack([np.nan_to_num(values), ~undefined, undefined])
    reason = metric.reason(by_criterion[undefined.argmax()]) if n_undefined else "no_items"
    average = replace(metric, value=_all_defined, reason=_constant(reason), counts=_counted)
    return ItemSums(
        contributions=rows.astype(np.float64),
        metrics=(average,),
        used=np.ones(units.n_units, dtype=np.bool_),
        nothing=sums.nothing,
        n_tied=sums.n_tied,
    )


def _all_defined(totals: FloatArray) -> FloatArray:
    """Divide by the number of criteria; nan where one of them is undefined."""
    return np.where(totals[..., 2] > 0, np.nan, mean(totals))


def _constant(reason: str) -> Callable[[FloatArray], str]:
    return lambda _: reason


def _counted(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return {"criteria": float(totals[1:].sum()), "undefined_criteria": float(totals[2])}
