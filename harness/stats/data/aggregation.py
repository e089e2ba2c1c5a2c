"""Levels of aggregation over criteria: per criterion, micro, macro and per item.

Each level is estimated with the bootstrap that matches it (Rao and Callison-Burch 2026, section
5.1): decisions for micro, criteria for macro, items for the item level.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- needed by readers of the fields' types
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, numbered
from harness.stats.data.resolved_tables import enough_met
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import (
    Estimate,
    ItemSums,
    average_over_criteria,
    estimate_all,
)
from harness.stats.metrics.confusion import binary_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import IntArray
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.metric import Metric

UNGROUPED = "decisions_not_grouped"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Levels:
    """One metric at every level of aggregation.

    Attributes
    ----------
    metric : str
        Its name.
    micro : Estimate
        All decisions pooled; decisions are resampled, as if they were independent.
    macro : Estimate
        Unweighted mean over criteria; criteria are resampled, and ``n_used`` counts criteria. NA,
        with their number, as soon as the metric is undefined for some.
    item : Estimate
        One verdict per item; items are resampled.
    per_criterion : mapping of str to Estimate
        Each criterion alone; its items are resampled.
    """

    metric: str
    micro: Estimate
    macro: Estimate
    item: Estimate
    per_criterion: Mapping[str, Estimate]

    def __repr__(self) -> str:
        values = ", ".join(
            f"{level} {getattr(self, level).value}" for level in ("micro", "macro", "item")
        )
        return f"Levels({self.metric!r}, {values})"


def levels(
    human: FloatArray,
    judges: Mapping[str, FloatArray],
    *,
    criteria: Sequence[str],
    items: Sequence[str] | None,
    metrics: Sequence[Metric],
    resampling: Resampling,
) -> dict[str, dict[str, Levels]]:
    """Evaluate metrics of tp, fn, fp, tn on every level of aggregation, each on one bootstrap.

    Parameters
    ----------
    human : (n,) array
        One decision per item and criterion: 1, 0 or nan.
    judges : mapping of str to (n,) array
        The same of each judge.
    criteria, items : n names
        What each decision is about. An item passes when all its criteria are met; with a decision
        missing on one side it enters no item level. Without ``items`` the item level is NA,
        "decisions_not_grouped".
    metrics : sequence of Metric
        Rows of `BINARY` or `DIAGNOSTICS`.
    resampling : Resampling
        How intervals are made, without groups: ``items`` says which decisions belong together.

    Returns
    -------
    dict of str to dict of str to Levels
        By judge and by name of the metric.

    Raises
    ------
    ValueError
        If lengths differ, or an item has a criterion twice.
    """
    n, cells = len(human), {name: binary_cells(human, judge) for name, judge in judges.items()}
    for what, of_decisions in (("criteria", criteria), ("items", items)):
        if of_decisions is not None and len(of_decisions) != n:
            raise ValueError(f"{what} has {len(of_decisions)} entries for {n} decisions")
    names, of_criterion = numbered(criteria)
    estimated = partial(_estimated, metrics=tuple(metrics), resampling=resampling)
    by_criterion = {
        name: estimated({judge: rows[of_criterion == c] for judge, rows in cells.items()})
        for c, name in enumerate(names)
    }
    if items is None:
        none = Estimate(value=None, reason=UNGROUPED, n_used=0, n_excluded=n)
        whole = {judge: {metric.name: none for metric in metrics} for judge in judges}
    else:
        _, of_item = numbered(items)
        _check_once(of_item, of_criterion, names)
        of_humans, *of_judges = (
            enough_met(np.asarray(side, np.float64), of_item, np.ones(n), 1.0)
            for side in (human, *judges.values())
        )
        pairs = zip(judges, of_judges, strict=True)
        whole = estimated({name: binary_cells(of_humans, of_judge) for name, of_judge in pairs})
    micro, macro = estimated(cells), estimated(cells, criteria=criteria)
    return {
        judge: {
            metric.name: Levels(
                metric=metric.name,
                micro=micro[judge][metric.name],
                macro=macro[judge][metric.name],
                item=whole[judge][metric.name],
                per_criterion={
                    name: estimates[judge][metric.name] for name, estimates in by_criterion.items()
                },
            )
            for metric in metrics
        }
        for judge in judges
    }


def _estimated(
    cells: Mapping[str, FloatArray],
    metrics: tuple[Metric, ...],
    resampling: Resampling,
    criteria: Sequence[str] | None = None,
) -> dict[str, dict[str, Estimate]]:
    """Estimate metrics of (n, 4) cells by judge, as averages over criteria if there are any."""
    groups = [[ItemSums(contributions=rows, metrics=metrics)] for rows in cells.values()]
    if not groups:
        return {}
    if criteria is None:
        units = resampling.units(len(groups[0][0].contributions))
    else:
        groups, units = average_over_criteria(groups, criteria)
    results = estimate_all(groups, Engine.draw(units, resampling))
    return {
        judge: {name: result.estimate for name, result in by_metric.items()}
        for judge, by_metric in zip(cells, results, strict=True)
    }


def _check_once(of_item: IntArray, of_criterion: IntArray, names: tuple[str, ...]) -> None:
    keys, n_each = np.unique(of_item * max(len(names), 1) + of_criterion, return_counts=True)
    if (n_each > 1).any():
        name = names[int(keys[n_each > 1][0]) % len(names)]
        raise ValueError(f"an item has criterion {name!r} twice; wanted one decision of each")
