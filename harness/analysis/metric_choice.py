"""Compute the regret of selecting a judge by each metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stats import Regret, regret_matrix
from harness.stats.selection.ranking import GOALS

if TYPE_CHECKING:
    from harness.analysis.evidence_rows import Evidence
    from harness.analysis.prepared import Prepared

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
USUAL = ("hit_rate(h/h)", "cohen_kappa(h/h)")  # usual selection metrics in publications


@dataclass(frozen=True, slots=True, kw_only=True)
class Choosing:
    """Regret of selecting a judge by different metrics.

    Attributes
    ----------
    goals : tuple of str
        Metrics for the purpose that a judge serves.
    candidates : tuple of str
        The ranked judges, which one can choose from.
    regret : dict of str to dict of str to Regret
        Regret by selection metric, then by goal. The selection metrics are `SELECTED_BY`, the goals
        and the metric that ranks.
    usual : tuple of str
        The metrics by which judges are usually selected.
    """

    goals: tuple[str, ...]
    candidates: tuple[str, ...]
    regret: dict[str, dict[str, Regret]]
    usual: tuple[str, ...]


def section(p: Prepared, evidence: Evidence | None) -> Choosing | None:
    """Return the regret for each selection metric, or None without ranked judges."""
    candidates = evidence.candidates if evidence else ()
    if evidence is None or not candidates:
        return None
    shared = p.evaluation
    compared = {*SELECTED_BY, *USUAL, *GOALS, p.metric}
    metrics = [row.name for row in shared.metrics if row.name in compared]
    return Choosing(
        goals=GOALS,
        candidates=candidates,
        regret=regret_matrix(shared, metrics=metrics, goals=GOALS),
        usual=USUAL,
    )
