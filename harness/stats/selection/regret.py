"""Regret of choosing a judge by a metric, and discordant pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, ratio
from harness.stats.inference.estimate import Interval, percentile_interval
from harness.stats.inference.interval_methods import check_level
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.inference.bootstrap import ResampledUnit
    from harness.stats.selection.evaluate import Evaluation

GOALS = ("decision_consistency", "prevalence_bias")


@dataclass(frozen=True, slots=True)
class Regret:
    """Regret of choosing a judge by a metric, on a downstream goal.

    Attributes
    ----------
    metric, goal : str
        The metric one selects by, and what the judge is selected for.
    selected : tuple of str
        The best by the metric; several where they are equal, and then chosen from at random.
    best : tuple of str
        The best by the goal.
    value : float or None
        Loss of the selected less loss of the best, 0 or more, in units of the goal. None where
        either is undefined.
    reason : str
        "no_metric" or "no_goal" where no judge has a value there, "selected_undefined" where the
        selected has none downstream; else "".
    interval : Interval or None
        Of the regret, selection and best judge being worked out anew in every replicate.
    undefined_share : float
        Share of replicates without a value.
    inversions, n_pairs : int
        Pairs of judges that the metric orders against the goal, of those that both order.
    """

    metric: str
    goal: str
    selected: tuple[str, ...]
    best: tuple[str, ...]
    value: float | None
    reason: Reason
    interval: Interval | None
    undefined_share: float
    inversions: int
    n_pairs: int


def regret_of(
    names: tuple[str, str],
    judges: Sequence[str],
    by: tuple[FloatArray, FloatArray],
    goal: tuple[FloatArray, FloatArray],
    *,
    level: float,
    unit: ResampledUnit,
) -> Regret:
    """Return one cell of the regret matrix; NA with its reason where a side is undefined.

    ``by`` and ``goal`` are (J,) losses and (J, B) replicates of the metric and of the goal, lower
    better, replicate ``b`` from the same items in both. The reductions in parentheses of Guerdan
    et al. 2025, figure 7 and tables 3 and 4.
    """
    check_level(level)
    selected, best = chosen_by(by[0]), chosen_by(goal[0])
    value = float(_cost(by[0], goal[0]))
    interval, undefined_share = percentile_interval(_cost(by[1], goal[1]), level, unit)
    inversions, n_pairs = _inversions(by[0], goal[0])
    reason: Reason = ""
    if np.isnan(value):
        reason = "selected_undefined" if selected.any() and best.any() else "no_goal"
        reason = reason if selected.any() else "no_metric"
    return Regret(
        metric=names[0],
        goal=names[1],
        selected=_named(judges, selected),
        best=_named(judges, best),
        value=None if reason else value,
        reason=reason,
        interval=None if reason else interval,
        undefined_share=undefined_share,
        inversions=inversions,
        n_pairs=n_pairs,
    )


def regret_matrix(
    evaluation: Evaluation,
    *,
    metrics: Sequence[str] | None = None,
    goals: Sequence[str] = GOALS,
) -> dict[str, dict[str, Regret]]:
    """Return the regret of choosing by each metric, on each downstream goal.

    Parameters
    ----------
    evaluation : Evaluation
        Of the judges, with replicates for the intervals.
    metrics : sequence of str, optional
        Rows of the matrix. Default: all that were evaluated.
    goals : sequence of str, optional
        Columns: metrics that were evaluated. Default: decision consistency and prevalence bias.

    Returns
    -------
    mapping
        Metric name to goal name to `Regret`.

    Raises
    ------
    ValueError
        If a metric was not evaluated.
    """
    chosen = [row.name for row in evaluation.metrics] if metrics is None else list(metrics)
    losses = {name: evaluation.losses(name) for name in {*chosen, *goals}}
    return {
        metric: {
            goal: regret_of(
                (metric, goal),
                evaluation.judges,
                losses[metric],
                losses[goal],
                level=evaluation.level,
                unit=evaluation.units.kind,
            )
            for goal in goals
        }
        for metric in chosen
    }


def chosen_by(losses: FloatArray) -> BoolArray:
    """Return (J, ...) bool: who has the least of (J, ...) losses, ties included; nan never has."""
    least = np.where(np.isnan(losses), np.inf, losses).min(axis=0, initial=np.inf)
    return np.asarray(losses <= least + TOLERANCE, dtype=np.bool_)


def _cost(by: FloatArray, goal: FloatArray) -> FloatArray:
    """Return (...) regrets of (J, ...) losses: mean over the selected, less the least."""
    selected = chosen_by(by)
    suffered = np.where(selected, goal, 0.0).sum(axis=0)  # nan where a selected one is nan
    least = np.where(np.isnan(goal), np.inf, goal).min(axis=0, initial=np.inf)
    cost = ratio(suffered, selected.sum(axis=0)) - np.where(np.isinf(least), np.nan, least)
    return np.where(np.abs(cost) <= TOLERANCE, 0.0, cost)


def _inversions(by: FloatArray, goal: FloatArray) -> tuple[int, int]:
    """Count the pairs ordered oppositely, and those that both sides order."""
    i, j = np.triu_indices(len(by), 1)
    first, second = by[i] - by[j], goal[i] - goal[j]
    ordered = (np.abs(first) > TOLERANCE) & (np.abs(second) > TOLERANCE)  # nan compares False
    return int((ordered & (first * second < 0)).sum()), int(ordered.sum())


def _named(judges: Sequence[str], chosen: BoolArray) -> tuple[str, ...]:
    return tuple(
        judge for judge, is_chosen in zip(judges, chosen.tolist(), strict=True) if is_chosen
    )
