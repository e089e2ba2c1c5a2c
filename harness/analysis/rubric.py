"""Compute results for rubrics: by criterion, pooled, averaged over criteria, and by item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.analysis.prepared import item_tables
from harness.options.concerns import AggregationLevel
from harness.stats import Estimate, evaluate, find_metric
from harness.stats.data.forms import hard
from harness.stats.data.rating_table import Distributions
from harness.stats.data.resolved_tables import MET
from harness.stats.metrics.registry import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import RatingTable
    from harness.tasks.schema import RubricFields

POOLED = ("micro", "two_stage")
HIT_RATE, KAPPA = "hit_rate(h/h)", "cohen_kappa(h/h)"


RubricLevel: TypeAlias = Literal[AggregationLevel, "criterion", "two_stage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricRow:
    """The judges' results on one criterion, or on all criteria combined.

    Attributes
    ----------
    name : str
        The criterion; "" if all are aggregated.
    level : str
        "criterion"; "micro" (all decisions pooled); "two_stage" (the same, with intervals that also
        allow for other criteria on each item); "macro" (the unweighted mean over criteria); or
        "item" (one verdict per item, by weights and threshold).
    weight : float or None
        Weight of the criterion.
    n : int
        Decisions, or items, that raters rated.
    met : float or None
        Share of them that most raters consider met, with ties counted in part. None if nothing is
        rated, or at level macro.
    hit_rate, kappa : dict of str to Estimate
        Agreement with most raters, and agreement beyond chance, by judge.
    """

    name: str
    level: RubricLevel
    weight: float | None
    n: int
    met: float | None
    hit_rate: dict[str, Estimate]
    kappa: dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricResult:
    """Results for a rubric's criteria, and for all of them combined.

    Attributes
    ----------
    threshold : float
        Share of the weight that must be met for the item to be met.
    rows : tuple of RubricRow
        The criteria in the order of task.yaml, then the levels micro, two_stage, macro and item.
    """

    threshold: float
    rows: tuple[RubricRow, ...]


def section(p: Prepared, rubric: RubricFields) -> RubricResult:
    """Compare the judges on each criterion of a rubric, and on all criteria combined."""
    criteria = [item.criterion or "" for item in p.source.items]
    rows = []
    for name, fields in rubric.criteria.items():
        kept = np.array([criterion == name for criterion in criteria])
        tables = [table.masked(kept) for table in (p.human, *p.judges)]
        rows.append(_row(p, tables, "criterion", name, fields.weight))
    everything = (p.human, *p.judges)
    rows.append(_row(p, everything, "micro"))
    rows.append(_row(p, everything, "two_stage"))
    rows.append(_row(p, everything, "macro", criteria=criteria))
    rows.append(_row(p, item_tables(p.task, p.source.items, everything), "item"))
    return RubricResult(threshold=rubric.threshold, rows=tuple(rows))


def _row(
    p: Prepared,
    tables: Sequence[RatingTable],
    level: RubricLevel,
    name: str = "",
    weight: float | None = None,
    *,
    criteria: Sequence[str] | None = None,
) -> RubricRow:
    human, *judges = tables
    positive = (MET,) if level == "item" else p.task.positive
    groups = p.groups if level in POOLED else criteria
    resampling = p.resampling(groups=groups)
    evaluation = evaluate(
        human,
        judges,
        tau=p.tau,
        positive=positive,
        resampling=replace(resampling, second_stage=level == "two_stage"),
        metrics=[find_metric(name, METRICS) for name in (HIT_RATE, KAPPA)],
        criteria=criteria,
        beside=(),
    )
    estimates = evaluation.estimates
    return RubricRow(
        name=name,
        level=level,
        weight=weight,
        n=int(human.forced_choice.any(axis=1).sum()),
        met=None if criteria else _share_met(human, positive),
        hit_rate={judge: estimates[judge][HIT_RATE] for judge in estimates},
        kappa={judge: estimates[judge][KAPPA] for judge in estimates},
    )


def _share_met(table: RatingTable, positive: Sequence[str]) -> float | None:
    """Return the share of items whose most common choice is positive. Ties count in part."""
    modes = hard(Distributions.of(table).O)
    rated = ~np.isnan(modes).any(axis=1)
    if not rated.any():
        return None
    return float(modes[rated][:, table.space.option_mask(positive)].sum(axis=1).mean())
