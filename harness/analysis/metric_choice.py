"""Cost of choosing a judge by each metric, and certainty of each order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats import (
    Difference,
    Estimate,
    Regret,
    holm,
    model_confidence_set,
    rank_spread,
    regret_matrix,
)
from harness.stats.selection.regret import GOALS

if TYPE_CHECKING:
    from harness.analysis.estimates import Prepared
    from harness.stats import Evaluation

ALIKE = "decision_consistency"
USUAL = ("hit_rate(h/h)", "cohen_kappa(h/h)")  # by which judges are selected in most publications


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one judge stands on one metric.

    Attributes
    ----------
    rank : int or None
        1 is best; equal values share a rank; None where the metric is NA.
    rank_low, rank_high : int or None
        Interval of the rank over the resamples.
    p_best : float or None
        Share of the resamples in which it comes first.
    in_best_set : bool or None
        Whether the model confidence set holds it; None where there is no set.
    p_value : float or None
        Highest significance at which the set would still hold it.
    """

    judge: str
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    p_best: float | None
    in_best_set: bool | None
    p_value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Judges in order of one metric, NA last, and the certainty of that order.

    Attributes
    ----------
    places : tuple of Place
        In order.
    undefined_share : float or None
        Share of the resamples left out of the confidence set, some judge being NA in them.
    """

    metric: str
    better: str
    unit: str
    places: tuple[Place, ...]
    undefined_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """How much worse one judge is than another on the same resamples.

    Attributes
    ----------
    difference : Difference
        Positive where the judge is worse, whatever the metric's direction.
    p_holm : float or None
        Its p-value adjusted by Holm's method over all pairs of this metric.
    """

    metric: str
    difference: Difference
    p_holm: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """Certainty of each order of the judges, and the downstream cost of choosing by it.

    Attributes
    ----------
    goals : tuple of str
        Metrics that measure what a judge is used for.
    orders : dict of str to Order
        By metric.
    differences : tuple of PairedDifference
        Every pair of judges, on the metric that ranks and on the goals.
    candidates : tuple of str
        Judges to choose from: those that are ranked.
    alike : dict of str to Estimate
        By candidate, the share of items that are decided as the raters do, on the items that all
        candidates answered in every way in which they were asked.
    regret : dict of str to dict of str to Regret
        By the metric one selects by, then by goal, on the same items.
    usual : tuple of str
        The metrics by which judges are usually selected.
    """

    goals: tuple[str, ...]
    orders: dict[str, Order]
    differences: tuple[PairedDifference, ...]
    candidates: tuple[str, ...]
    alike: dict[str, Estimate]
    regret: dict[str, dict[str, Regret]]
    usual: tuple[str, ...]


def section(p: Prepared, candidates: tuple[str, ...]) -> Choosing | None:
    """Return the orders and the regret of choosing by them; None without judges.

    Parameters
    ----------
    p : Prepared
        The validation's inputs.
    candidates : tuple of str
        Judges to choose from.
    """
    evaluation = p.evaluation
    if not evaluation.judges:
        return None
    compared = dict.fromkeys((p.metric, *GOALS))
    shared = _on_shared_items(p, candidates)
    return Choosing(
        goals=GOALS,
        orders={row.name: _order(evaluation, row.name) for row in evaluation.metrics},
        differences=tuple(pair for metric in compared for pair in _differences(evaluation, metric)),
        candidates=candidates,
        alike={name: shared.estimates[name][ALIKE] for name in candidates},
        regret=regret_matrix(shared, goals=GOALS, judges=candidates),
        usual=USUAL,
    )


def _on_shared_items(p: Prepared, candidates: tuple[str, ...]) -> Evaluation:
    """Evaluate the candidates on the items that all of them answered, both ways if asked so."""
    tables = [table for table in p.compared.judges if table.name in candidates]
    answered = [
        counts.any(axis=1)
        for table in tables
        for counts in (table.forced_choice, table.response_set)
        if counts.any()
    ]
    shared = np.all(answered, axis=0) if answered else np.zeros(0, dtype=np.bool_)
    if all(shared[rows].all() for rows in answered):
        return p.evaluation
    return p.evaluated([table.masked(shared) for table in tables])


def _order(evaluation: Evaluation, metric: str) -> Order:
    row, judges = evaluation.row(metric), evaluation.judges
    losses, replicates = evaluation.losses(metric)
    spreads = rank_spread(judges, replicates, level=evaluation.level)
    best = model_confidence_set(judges, losses, replicates, level=evaluation.level)
    drawn = replicates.shape[1]
    places = []
    for ranked in evaluation.ranking(metric).rows:
        j = judges.index(ranked.judge)
        is_ranked = ranked.rank is not None
        p_value = float(best.p_values[j])
        places.append(
            Place(
                judge=ranked.judge,
                rank=ranked.rank,
                rank_low=spreads[j].low if is_ranked else None,
                rank_high=spreads[j].high if is_ranked else None,
                p_best=spreads[j].p_best if is_ranked else None,
                in_best_set=None if best.reason or not is_ranked else ranked.judge in best.judges,
                p_value=None if np.isnan(p_value) else p_value,
            )
        )
    return Order(
        metric=metric,
        better=row.better,
        unit=row.unit,
        places=tuple(places),
        undefined_share=1.0 - best.n_replicates / drawn if drawn else None,
    )


def _differences(evaluation: Evaluation, metric: str) -> list[PairedDifference]:
    differences = evaluation.differences(metric)
    p_values = [difference.p_value for difference in differences]
    adjusted = holm([np.nan if p is None else p for p in p_values])
    return [
        PairedDifference(
            metric=metric, difference=difference, p_holm=None if np.isnan(p) else float(p)
        )
        for difference, p in zip(differences, adjusted, strict=True)
    ]
