"""Statistics averaged over criteria: one value each, and criteria are what is resampled."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.bootstrap import Statistic, Units
from harness.stats.inference.metric import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.stats.data.arrays import FloatArray
    from harness.stats.inference.estimate import Job


def macro(
    groups: Sequence[Mapping[str, Job]], criteria: Sequence[str]
) -> tuple[list[dict[str, Job]], Units]:
    """Average every statistic over criteria, unweighted.

    Parameters
    ----------
    groups : sequence of mapping of str to Job
        Of n items.
    criteria : n names
        What each item is rated on.

    Returns
    -------
    groups, units
        The same jobs with one row per criterion in place of one per item. A statistic is NA as soon
        as it is undefined for one criterion, with its reason there and the number of such criteria.

    Raises
    ------
    ValueError
        If there is not one criterion per item.

    Notes
    -----
    Rao and Callison-Burch 2026, section 5.1.
    """
    units = Units.of(_length(groups, criteria), criteria)
    found = [{name: _averaged(job, units) for name, job in group.items()} for group in groups]
    return found, Units(np.arange(units.n_units), units.n_units, "criterion")


def _length(groups: Sequence[Mapping[str, Job]], criteria: Sequence[str]) -> int:
    lengths = {len(job.used) for group in groups for job in group.values()}
    if lengths - {len(criteria)}:
        raise ValueError(f"criteria has {len(criteria)} entries for {max(lengths)} items")
    return len(criteria)


def _averaged(job: Job, units: Units) -> Job:
    by_criterion = np.asarray(units.sums(job.statistic.contributions))
    values = job.statistic.value(by_criterion)
    undefined = np.isnan(values)
    n_undefined = int(undefined.sum())
    rows = np.column_stack([np.nan_to_num(values), ~undefined, undefined])
    first = by_criterion[undefined.argmax()] if n_undefined else by_criterion.sum(axis=0)
    return replace(
        job,
        statistic=Statistic(rows.astype(np.float64), _all_defined),
        used=np.ones(units.n_units, dtype=np.bool_),
        why=_said(job.why(first) if n_undefined else ""),
        excluded=(),
        n_ratings=None,
        counts=_counted,
    )


def _all_defined(totals: FloatArray) -> FloatArray:
    """Divide by the number of criteria; nan where one of them is undefined."""
    return np.where(totals[..., 2] > 0, np.nan, mean(totals))


def _said(reason: str) -> Callable[[FloatArray], str]:
    return lambda _: reason


def _counted(totals: FloatArray) -> dict[str, float]:
    return {"criteria": float(totals[1:].sum()), "undefined_criteria": float(totals[2])}
