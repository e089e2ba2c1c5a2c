"""Cost of choosing a judge by each metric, and certainty of each order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats import (
    Regret,
    model_confidence_set,
    rank_spread,
    regret_matrix,
)
from harness.stats.selection.ranking import ranks_of
from harness.stats.selection.regret import GOALS

if TYPE_CHECKING:
    from harness.analysis.estimates import Prepared
    from harness.analysis.evidence import Evidence
    from harness.stats import ConfidenceSet, Evaluation
    from harness.stats.selection.confidence_set import RankSpread

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
class Choosing:
    """Certainty of each order of the judges, and the downstream cost of choosing by it.

    Attributes
    ----------
    goals : tuple of str
        Metrics that measure what a judge is used for.
    candidates : tuple of str
        Judges to choose from: those that are ranked.
    orders : dict of str to Order
        By metric.
    regret : dict of str to dict of str to Regret
        By the metric one selects by, then by goal.
    usual : tuple of str
        The metrics by which judges are usually selected.
    """

    goals: tuple[str, ...]
    candidates: tuple[str, ...]
    orders: dict[str, Order]
    regret: dict[str, dict[str, Regret]]
    usual: tuple[str, ...]


def section(p: Prepared, evidence: Evidence | None) -> Choosing | None:
    """Return the orders and the regret of choosing by them; None without ranked judges."""
    candidates = evidence.candidates if evidence else ()
    if evidence is None or not candidates:
        return None
    shared = p.evaluation
    return Choosing(
        goals=GOALS,
        candidates=candidates,
        orders={row.name: _order(shared, row.name) for row in shared.metrics},
        regret=regret_matrix(shared, goals=GOALS),
        usual=USUAL,
    )


def _order(evaluation: Evaluation, metric: str) -> Order:
    row, judges = evaluation.row(metric), evaluation.judges
    losses, replicates = evaluation.losses(metric)
    ranks = ranks_of(losses)
    spreads = rank_spread(judges, replicates, level=evaluation.level)
    best = model_confidence_set(judges, losses, replicates, level=evaluation.level)
    drawn = replicates.shape[1]
    return Order(
        metric=metric,
        better=row.better,
        unit=row.unit,
        places=tuple(
            _place(judges[j], ranks[j], spreads[j], best, float(best.p_values[j]))
            for j in np.argsort(losses, kind="stable").tolist()
        ),
        undefined_share=1.0 - best.n_replicates / drawn if drawn else None,
    )


def _place(
    judge: str, rank: int | None, spread: RankSpread, best: ConfidenceSet, p_value: float
) -> Place:
    defined = rank is not None
    return Place(
        judge=judge,
        rank=rank,
        rank_low=spread.low if defined else None,
        rank_high=spread.high if defined else None,
        p_best=spread.p_best if defined else None,
        in_best_set=judge in best.judges if defined and not best.reason else None,
        p_value=None if np.isnan(p_value) else p_value,
    )
