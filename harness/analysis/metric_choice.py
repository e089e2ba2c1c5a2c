"""Cost of choosing a judge by each metric, and certainty of the order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from harness.stats import (
    Regret,
    model_confidence_set,
    rank_spread,
    regret_matrix,
)
from harness.stats.modes import MadeBy
from harness.stats.selection.ranking import ranks_of
from harness.stats.selection.regret import GOALS

if TYPE_CHECKING:
    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.prepared import Prepared
    from harness.stats import ConfidenceSet, Evaluation
    from harness.stats.selection.confidence_set import RankSpread

SELECTED_BY = (  # the metrics of tables 3 and 4 of Guerdan et al. (2025), Fleiss's kappa as pi
    "hit_rate(h/h)",
    "scott_pi(h/h)",
    "cohen_kappa(h/h)",
    "mse(h/h)",
    "kl(s/s, human->judge)",
    "kl(s/s, judge->human)",
    "ce(s/s, human->judge)",
    "ce(s/s, judge->human)",
    "js_divergence(s/s)",
    "mse(s/s)",
    "coverage(h/hrs)",
    "mse(srs/srs)",
)
USUAL = ("hit_rate(h/h)", "cohen_kappa(h/h)")  # by which judges are selected in most publications


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOnMetric:
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
    rank_low: Annotated[int | None, MadeBy("percentile")]
    rank_high: Annotated[int | None, MadeBy("percentile")]
    p_best: float | None
    in_best_set: bool | None
    p_value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """Certainty of the order of the judges, and the downstream cost of choosing by other metrics.

    Attributes
    ----------
    goals : tuple of str
        Metrics that measure what a judge is used for.
    candidates : tuple of str
        Judges to choose from: those that are ranked.
    places : tuple of JudgeOnMetric
        In order of the metric that ranks, NA last.
    regret : dict of str to dict of str to Regret
        By the metric one selects by, then by goal: of `SELECTED_BY`, the goals and the metric that
        ranks.
    usual : tuple of str
        The metrics by which judges are usually selected.
    """

    goals: tuple[str, ...]
    candidates: tuple[str, ...]
    places: tuple[JudgeOnMetric, ...]
    regret: dict[str, dict[str, Regret]]
    usual: tuple[str, ...]


def section(p: Prepared, evidence: Evidence | None) -> Choosing | None:
    """Return the order and the regret of choosing by others; None without ranked judges."""
    candidates = evidence.candidates if evidence else ()
    if evidence is None or not candidates:
        return None
    shared = p.evaluation
    compared = {*SELECTED_BY, *USUAL, *GOALS, p.metric}
    metrics = [row.name for row in shared.metrics if row.name in compared]
    return Choosing(
        goals=GOALS,
        candidates=candidates,
        places=_places(shared, p.metric),
        regret=regret_matrix(shared, metrics=metrics, goals=GOALS),
        usual=USUAL,
    )


def _places(evaluation: Evaluation, metric: str) -> tuple[JudgeOnMetric, ...]:
    judges = evaluation.judges
    losses, replicates = evaluation.losses(metric)
    ranks = ranks_of(losses)
    spreads = rank_spread(judges, replicates, level=evaluation.level)
    best = model_confidence_set(judges, losses, replicates, level=evaluation.level)
    return tuple(
        _place(judges[j], ranks[j], spreads[j], best, float(best.p_values[j]))
        for j in np.argsort(losses, kind="stable").tolist()
    )


def _place(
    judge: str, rank: int | None, spread: RankSpread, best: ConfidenceSet, p_value: float
) -> JudgeOnMetric:
    defined = rank is not None
    return JudgeOnMetric(
        judge=judge,
        rank=rank,
        rank_low=spread.low if defined else None,
        rank_high=spread.high if defined else None,
        p_best=spread.p_best if defined else None,
        in_best_set=judge in best.judges if defined and not best.reason else None,
        p_value=None if np.isnan(p_value) else p_value,
    )
