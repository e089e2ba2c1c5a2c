"""Judges against humans whose forced choices hide options with a chance beta, over a grid of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import FloatArray, frozen
from harness.stats.data.rating_table import (
    ELICITATION_OF,
    FORMS,
    Distributions,
    aggregate,
    multilabel,
)
from harness.stats.indeterminacy.translation import (
    SweepVariant,
    reconstruct_theta,
    sensitivity_family,
)
from harness.stats.inference.estimate import Estimate, Estimated, ItemSums, estimate_all
from harness.stats.inference.metric import Metric, find_metric, mean, no_items, weighted
from harness.stats.metrics.registry import METRICS
from harness.stats.selection.comparisons import Cut, Side, judge_sums
from harness.stats.selection.ranking import Ranking, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling, Unit

NEED_SETS = tuple(form for form in FORMS if ELICITATION_OF[form] == "response_set")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SweepPoint:
    """Everything at one beta of the humans.

    Attributes
    ----------
    beta : float
        P(a positive option in S, given a negative one was chosen) that is supposed.
    judges : tuple of str
        In the order given.
    metrics : tuple of Metric
        The rows that were evaluated.
    estimates : mapping
        Judge name to metric name to `Estimate`.
    replicates : mapping
        Metric name to its (J, B) values, column ``b`` from the same items at every beta.
    prevalence : Estimate
        Share of the items that are positive for the humans.
    level, unit
        Of the intervals.
    """

    beta: float
    judges: tuple[str, ...]
    metrics: tuple[Metric, ...]
    estimates: Mapping[str, Mapping[str, Estimate]]
    replicates: Mapping[str, FloatArray]
    prevalence: Estimate
    level: float
    unit: Unit

    def __repr__(self) -> str:
        return f"SweepPoint(beta {self.beta:g}, {len(self.judges)} judges)"

    def ranking(self, metric: str) -> Ranking:
        """Order the judges on one metric at this beta, each compared with the best."""
        return rank(
            metric,
            find_metric(metric, self.metrics).better,
            self.judges,
            [self.estimates[judge][metric] for judge in self.judges],
            self.replicates[metric],
            level=self.level,
            unit=self.unit,
        )


def beta_sweep(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    betas: Sequence[float],
    adds: Mapping[str, Iterable[str]],
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    variant: SweepVariant = "keeps_choice",
    metrics: Sequence[str | Metric] | None = None,
) -> tuple[SweepPoint, ...]:
    """Compare judges with humans as `evaluate` does, supposing each beta of a grid in turn.

    Parameters
    ----------
    human : RatingTable
        Its forced choices are used and nothing else.
    judges : sequence of RatingTable
        With response sets where a metric needs them.
    betas : sequence of float in [0, 1]
        The grid.
    adds, variant
        As in `sensitivity_family`.
    tau, positive, metrics, resampling
        As in `evaluate`.

    Returns
    -------
    tuple of SweepPoint
        In the order of ``betas``, all on the same resamples.

    Raises
    ------
    ValueError
        If an argument does not fit.

    Notes
    -----
    Guerdan et al. 2025, section 7: figures 7 and 8, tables 3 and 4.
    """
    chosen = METRICS if metrics is None else metrics
    rows = tuple(find_metric(one, METRICS) if isinstance(one, str) else one for one in chosen)
    cut = Cut(tau, tuple(positive))
    added = {option: tuple(one) for option, one in adds.items()}
    sides = [Side.of(table, cut, rows) for table in judges]
    fixed = [row for row in rows if row.human_form not in NEED_SETS]
    moving = [row for row in rows if row.human_form in NEED_SETS]
    implied = [suppose(human, beta, added, variant=variant) for beta in betas]
    supposed = [_supposed(human, one, cut, moving) for one in implied]
    once = [judge_sums(Side.of(human, cut, fixed), side, fixed) for side in sides]
    jobs = []
    for one in supposed:
        jobs += [
            [*same, *judge_sums(one, side, moving)] for same, side in zip(once, sides, strict=True)
        ]
        jobs.append([_prevalence(one)])
    units = resampling.units(len(human.items))
    level = resampling.level
    found = estimate_all(jobs, units, resampling)
    each = len(judges) + 1
    names = tuple(table.name for table in judges)
    return tuple(
        _point(names, rows, found[g * each : (g + 1) * each], beta=beta, of=(level, units.kind))
        for g, beta in enumerate(betas)
    )


def suppose(
    human: RatingTable,
    beta: float,
    adds: Mapping[str, Iterable[str]],
    *,
    variant: SweepVariant = "keeps_choice",
) -> Distributions:
    """Return the humans' distributions as their forced choices and one beta imply them.

    Parameters
    ----------
    human : RatingTable
        Its forced choices are used and nothing else.
    beta, adds, variant
        As in `sensitivity_family`.
    """
    dist = Distributions.of(human)
    family = sensitivity_family(human.space, beta, adds, variant=variant)
    theta = reconstruct_theta(dist.O, family)
    return replace(dist, theta=theta, omega=multilabel(theta, human.space), n_sets=dist.n_forced)


def _supposed(human: RatingTable, implied: Distributions, cut: Cut, rows: Sequence[Metric]) -> Side:
    side = Side.of(human, cut, rows, implied)
    if "decision" not in side.forms:  # the prevalence needs it
        decided = aggregate(implied, "decision", tau=cut.tau, positive=cut.positive)
        side.forms["decision"] = decided
    return side


def _prevalence(side: Side) -> ItemSums:
    decided = side.forms["decision"]
    weight = (~np.isnan(decided)).astype(np.float64)
    return ItemSums(
        contributions=weighted(np.nan_to_num(decided[:, 0]), weight),
        metrics=(Metric(name="prevalence", value=mean, reason=no_items),),
        used=np.asarray(weight[:, 0] > 0, dtype=np.bool_),
        nothing="no_forced_choices",
        n_ratings=side.dist.n_forced,
    )


def _point(
    names: tuple[str, ...],
    rows: tuple[Metric, ...],
    found: Sequence[Mapping[str, Estimated]],
    *,
    beta: float,
    of: tuple[float, Unit],
) -> SweepPoint:
    compared = found[:-1]
    return SweepPoint(
        beta=beta,
        judges=names,
        metrics=rows,
        estimates={
            name: {row.name: each[row.name].estimate for row in rows}
            for name, each in zip(names, compared, strict=True)
        },
        replicates={
            row.name: frozen(np.array([each[row.name].replicates for each in compared]))
            for row in rows
        },
        prevalence=found[-1]["prevalence"].estimate,
        level=of[0],
        unit=of[1],
    )
