"""Ranking of judges by a metric, the difference between two, and the regret of selecting by it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, BoolArray, FloatArray, ratio
from harness.stats.inference.estimate import Interval, make_interval, percentile_interval
from harness.stats.inference.interval_methods import Sampled, check_level
from harness.stats.inference.metric import Better, MetricUnit  # noqa: TC001 -- msgspec reads fields
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it
from harness.stats.selection.rank_sets import MIN_UNITS_OF_WINNER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.inference.bootstrap import ResampledUnit
    from harness.stats.inference.crossed_raters import RaterVariance
    from harness.stats.selection.evaluate import Evaluation


@dataclass(frozen=True, slots=True)
class Difference:
    """Paired difference between two judges: the first judge's loss minus the second's.

    Attributes
    ----------
    judge, reference : str
        The two judges.
    value : float or None
        Loss of the judge minus loss of the reference: positive if the judge is worse, whatever the
        metric's direction. None if either is undefined.
    interval : Interval or None
        Interval on the same items for both; None if either is undefined, if fewer than five units
        enter, or without replicates.
    """

    judge: str
    reference: str
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row of a ranking.

    Attributes
    ----------
    judge : str
        Name of the judge.
    rank : int or None
        Rank of the judge; 1 is best, equal values share a rank, and None means that the metric is
        undefined.
    """

    judge: str
    rank: int | None


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """Judges ordered from best to worst by one metric. Judges with NA come last.

    Attributes
    ----------
    metric : str
        Name of the metric.
    better : {"higher", "lower", "zero"}
        Direction of the metric.
    unit : str
        Unit of the metric: "bits", "nats", or "" for a pure number.
    rows : tuple of Ranked
        Lines in order.
    """

    metric: str
    better: Better
    unit: MetricUnit
    rows: tuple[Ranked, ...]

    def __repr__(self) -> str:
        return f"Ranking({self.metric!r}, {' < '.join(row.judge for row in self.rows)})"

    @property
    def best(self) -> str | None:
        """The first judge, or None if the metric is undefined for all judges."""
        return self.rows[0].judge if self.rows and self.rows[0].rank is not None else None


def ranks_of(losses: FloatArray) -> list[int | None]:
    """Rank (J,) losses as 1 plus the number of lower losses. A nan gets None."""
    return [
        None if np.isnan(of_judge) else 1 + int((losses < of_judge - TOLERANCE).sum())
        for of_judge in losses.tolist()
    ]


def compare(
    names: tuple[str, str],
    losses: FloatArray,
    replicates: FloatArray,
    *,
    level: float,
    unit: ResampledUnit,
    n_units: int,
    largest: float = inf,
    raters: RaterVariance | None = None,
) -> Difference:
    """Compare a judge with a reference.

    Parameters
    ----------
    names : (judge, reference)
        Names of the judge and the reference.
    losses : (2,) array
        Losses of both, lower is better.
    replicates : (2, B) array
        Values in the same resamples for both.
    level, unit
        Properties of the interval, see `Interval`.
    n_units : int
        Number of units in both losses.
    largest : float, optional
        The largest possible difference.
    raters : RaterVariance, optional
        Variance of the difference due to raters, if they are a sample too.
    """
    value = float(losses[0] - losses[1])
    sampled = Sampled(
        value=value,
        replicates=replicates[0] - replicates[1],
        n_units=n_units,
        bounds=(-largest, largest),
        raters=raters,
    )
    interval, _ = make_interval(sampled, level=level, unit=unit)
    return Difference(*names, None if np.isnan(value) else value, interval)


GOALS = ("decision_consistency", "prevalence_bias")


@dataclass(frozen=True, slots=True)
class Regret:
    """Regret of selecting a judge by a metric, measured by a downstream goal.

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
        replicate. None with fewer than 30 items or groups, because a judge that is never wrong on
        them looks best in every replicate.
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
    """Return one cell of the regret matrix, or NA with a reason if metric or goal is undefined.

    ``by`` and ``goal`` are (J,) losses and (J, B) replicates of the metric and of the goal, of
    ``n_units`` resampled units. Lower is better, and replicate ``b`` uses the same items in both.
    These are the reductions in parentheses in Guerdan et al. 2025, figure 7 and tables 3 and 4.
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
    """Return a (J, ...) mask of the judges with the lowest loss, including ties but not nan."""
    least = np.where(np.isnan(losses), np.inf, losses).min(axis=0, initial=np.inf)
    return np.asarray(losses <= least + TOLERANCE, dtype=np.bool_)


def _cost(by: FloatArray, goal: FloatArray) -> FloatArray:
    """Return (...) regrets from (J, ...) losses: the selected judges' mean minus the minimum."""
    selected = chosen_by(by)
    suffered = np.where(selected, goal, 0.0).sum(axis=0)  # nan if a selected one is nan
    least = np.where(np.isnan(goal), np.inf, goal).min(axis=0, initial=np.inf)
    cost = ratio(suffered, selected.sum(axis=0)) - np.where(np.isinf(least), np.nan, least)
    return np.where(np.abs(cost) <= TOLERANCE, 0.0, cost)


def _inversions(by: FloatArray, goal: FloatArray) -> tuple[int, int]:
    """Count pairs that metric and goal order oppositely, and pairs that both of them order."""
    i, j = np.triu_indices(len(by), 1)
    first, second = by[i] - by[j], goal[i] - goal[j]
    ordered = (np.abs(first) > TOLERANCE) & (np.abs(second) > TOLERANCE)  # nan compares False
    return int((ordered & (first * second < 0)).sum()), int(ordered.sum())


def _named(judges: Sequence[str], chosen: BoolArray) -> tuple[str, ...]:
    return tuple(
        judge for judge, is_chosen in zip(judges, chosen.tolist(), strict=True) if is_chosen
    )
