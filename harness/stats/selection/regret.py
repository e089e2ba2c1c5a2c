"""Regret of selecting a judge by a metric, and discordant pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, ratio
from harness.stats.inference.estimate import Interval, percentile_interval
from harness.stats.inference.interval_methods import check_level
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it
from harness.stats.selection.rank_sets import MIN_UNITS_OF_WINNER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.inference.bootstrap import ResampledUnit
    from harness.stats.selection.evaluate import Evaluation

GOALS = ("decision_consistency", "prevalence_bias")


@dataclass(frozen=True, slots=True)
class Regret:
    """Regret of selecting a judge by a metric, in terms of a downstream goal.

    Attributes
    ----------
    metric, goal : str
        The metric to select by, and the goal of the selection.
    selected : tuple of str
        Best judges by the metric; if several tie, one is selected at random.
    best : tuple of str
        Best judges by the goal.
    value : float or None
        Loss of the selected judge minus loss of the best, 0 or more, in units of the goal. None if
        either is undefined.
    reason : str
        "no_metric" or "no_goal" if no judge has a value there, "selected_undefined" if the selected
        judge has none for the goal; else "".
    interval : Interval or None
        Interval for the regret, with the selection and the best judge determined again in every
        replicate. None with fewer than 30 items or groups, where a judge that is never wrong on
        them looks the best in every replicate.
    undefined_share : float
        Share of replicates without a value.
    inversions, n_pairs : int
        Number of pairs of judges that metric and goal order oppositely, and of pairs that both
        order.
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
    n_units: int,
) -> Regret:
    """Return one cell of the regret matrix; NA with its reason if a side is undefined.

    ``by`` and ``goal`` are (J,) losses and (J, B) replicates of the metric and of the goal, of
    ``n_units`` resampled units. Lower is better, and replicate ``b`` uses the same items in both.
    The reductions in parentheses of Guerdan et al. 2025, figure 7 and tables 3 and 4.
    """
    check_level(level)
    selected, best = chosen_by(by[0]), chosen_by(goal[0])
    value = float(_cost(by[0], goal[0]))
    costs = _cost(by[1], goal[1])
    interval, undefined_share = percentile_interval(costs, level, unit)
    if n_units < MIN_UNITS_OF_WINNER:
        interval = None
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
    """Return the regret of selecting by each metric, for each downstream goal.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation of the judges, with replicates for the intervals.
    metrics : sequence of str, optional
        Rows of the matrix. Default: all evaluated metrics.
    goals : sequence of str, optional
        Columns of the matrix: evaluated metrics. Default: decision consistency and prevalence bias.

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
                n_units=evaluation.units.n_units,
            )
            for goal in goals
        }
        for metric in chosen
    }


def chosen_by(losses: FloatArray) -> BoolArray:
    """Return (J, ...) bool: judges with the lowest of (J, ...) losses, including ties; not nan."""
    least = np.where(np.isnan(losses), np.inf, losses).min(axis=0, initial=np.inf)
    return np.asarray(losses <= least + TOLERANCE, dtype=np.bool_)


def _cost(by: FloatArray, goal: FloatArray) -> FloatArray:
    """Return (...) regrets from (J, ...) losses: mean over the selected minus the minimum."""
    selected = chosen_by(by)
    suffered = np.where(selected, goal, 0.0).sum(axis=0)  # nan where a selected one is nan
    least = np.where(np.isnan(goal), np.inf, goal).min(axis=0, initial=np.inf)
    cost = ratio(suffered, selected.sum(axis=0)) - np.where(np.isinf(least), np.nan, least)
    return np.where(np.abs(cost) <= TOLERANCE, 0.0, cost)


def _inversions(by: FloatArray, goal: FloatArray) -> tuple[int, int]:
    """Count the pairs in opposite order, and those that both sides order."""
    i, j = np.triu_indices(len(by), 1)
    first, second = by[i] - by[j], goal[i] - goal[j]
    ordered = (np.abs(first) > TOLERANCE) & (np.abs(second) > TOLERANCE)  # nan compares False
    return int((ordered & (first * second < 0)).sum()), int(ordered.sum())


def _named(judges: Sequence[str], chosen: BoolArray) -> tuple[str, ...]:
    return tuple(
        judge for judge, is_chosen in zip(judges, chosen.tolist(), strict=True) if is_chosen
    )
