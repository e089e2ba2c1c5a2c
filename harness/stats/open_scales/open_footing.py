"""Comparison of judges with open answers: the same items, baselines and a human rater."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import isfinite, sqrt
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE
from harness.stats.inference.cluster_robust import ClusterMean
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import Estimate, make_interval, share_undefined
from harness.stats.inference.interval_methods import Sampled
from harness.stats.inference.non_inferiority import student_p
from harness.stats.selection.footing import RULES, ComparisonRules, footing_of
from harness.stats.selection.references import NO_REFERENCE, HumanReference
from harness.stats.selection.replies import SharedItems, shared_items

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.inference.bootstrap import Resampling, Units
    from harness.stats.inference.estimate import Exclusion
    from harness.stats.inference.metric import Metric
    from harness.stats.inference.non_inferiority import Margin
    from harness.stats.open_scales.open_metrics import Valued
    from harness.stats.selection.footing import Footing


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class LeftOut:
    """A judge and a human rater, each scored against all but one of an item's ratings.

    Attributes
    ----------
    judge, human : callable
        Values of the judge and of the rater.
    used : (n,) bool array
        Items with an answer and at least two ratings.
    n_ratings : int
        Number of ratings left out in turn.
    """

    judge: Valued
    human: Valued
    used: BoolArray
    n_ratings: int


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class OpenJudge:
    """A judge's answers on an open scale, bound to a metric.

    Attributes
    ----------
    name : str
        Name of the judge.
    answered : (n,) bool array
        Items with an answer.
    scores : (n,) array
        A number per item that differs if two judges perform differently; nan without an answer.
    valued : callable
        ``(n,) bool -> Valued``: the judge's metric on some of its answered items.
    left_out : callable
        ``(n,) bool -> LeftOut``: the judge and a human rater on some items.
    value_with_losses : float
        The metric on all rated items, with missing answers counted as the worst one; nan if there
        is no worst answer.
    """

    name: str
    answered: BoolArray
    scores: FloatArray
    valued: Callable[[BoolArray], Valued]
    left_out: Callable[[BoolArray], LeftOut]
    value_with_losses: float


def open_footing(
    metric: Metric,
    judges: Sequence[OpenJudge],
    baselines: Mapping[str, Callable[[BoolArray], Valued]],
    rated: BoolArray,
    *,
    resampling: Resampling,
    rules: ComparisonRules = RULES,
    weights: FloatArray | None = None,
) -> Footing:
    """Compare judges by a metric on the items that all ranked judges answered.

    Parameters
    ----------
    metric : Metric
        Metric to compare them by, with one reply per item.
    judges : sequence of OpenJudge
        Judges over the same n items.
    baselines : mapping of str to callable
        ``(n,) bool -> Valued``: a computed baseline on some items.
    rated : (n,) bool array
        Items that raters rated.
    resampling : Resampling
        Settings for intervals, with one group per item.
    rules : ComparisonRules, optional
        Share answered, margin and levels.
    weights : (n,) array, optional
        Number of times each item counts. Default: once.
    """
    n = len(rated)
    answered = np.array([judge.answered[rated] for judge in judges]).reshape(len(judges), -1)
    sharing = shared_items(answered, min_answered=rules.min_answered)
    shared = np.zeros(n, dtype=np.bool_)
    shared[rated] = sharing.shared
    ranked = [judge for judge, is_ranked in zip(judges, sharing.ranked, strict=True) if is_ranked]
    units, margin = resampling.units(n), rules.margin
    engine = Engine.draw(units, resampling, weights)
    of_judges = engine.of([judge.valued(shared) for judge in ranked])
    of_baselines = engine.of([valued(shared) for valued in baselines.values()])
    return footing_of(
        metric,
        of_judges,
        of_baselines,
        resampling,
        rules=rules,
        baselines=baselines,
        n_discordant=_n_discordant([judge.scores for judge in ranked], shared, units),
        n_replies=1.0,
        items=SharedItems(sharing.answered_fraction, sharing.ranked, shared),
        judges=tuple(judge.name for judge in ranked),
        references=tuple(_reference(metric, judge, shared, engine, margin) for judge in ranked),
        values_with_losses=np.array([judge.value_with_losses for judge in ranked]),
        n_rated=int(rated.sum()),
        unit=units.kind,
        n_units=units.n_entering(shared),
    )


def _n_discordant(scores: Sequence[FloatArray], shared: BoolArray, units: Units) -> IntArray:
    """Return (J, J) numbers of units on which two judges differ."""
    n = np.zeros((len(scores), len(scores)), dtype=np.int64)
    for i, j in combinations(range(len(scores)), 2):
        differs = shared & (np.abs(scores[i] - scores[j]) > TOLERANCE)
        n[i, j] = n[j, i] = units.n_entering(differs)
    return n


def _reference(
    metric: Metric, judge: OpenJudge, shared: BoolArray, engine: Engine, margin: Margin | None
) -> HumanReference:
    """Score the judge and a human rater against the same remaining ratings of shared items."""
    sides = judge.left_out(shared)
    if not sides.used.any() or metric.zero_is_best:
        return NO_REFERENCE
    values, replicates = engine.of([sides.judge, sides.human, judge.valued(shared)])
    losses, drawn = metric.losses(values), metric.losses(replicates)
    difference = float(losses[0] - losses[1])
    if not isfinite(difference):
        return NO_REFERENCE
    largest = metric.loss_range()
    sampled = Sampled(
        value=difference,
        replicates=drawn[0] - drawn[1],
        n_units=engine.units.n_entering(sides.used),
        bounds=(-largest, largest),
    )
    interval, _ = make_interval(sampled, level=engine.level, unit=engine.units.kind)
    n = engine.units.n_entering(sides.used)
    error = float(sampled.replicates.std(ddof=1)) if sampled.replicates.size > 1 else np.nan
    estimate = ClusterMean(difference, error * sqrt(n / max(n - 1, 1)), n - 1.0, n)
    return HumanReference(
        human=float(values[1]),
        judge=float(values[0]),
        difference=difference,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        n_items=int(sides.used.sum()),
        n_ratings=sides.n_ratings,
        judge_by_all=float(values[2]),
        p=None if margin is None else student_p(estimate, n, margin),
        n_units=n,
    )


def estimate_on(
    items: BoolArray,
    metric: Metric,
    valued: Valued,
    engine: Engine,
    *,
    excluded: tuple[Exclusion, ...] = (),
    n_ratings: FloatArray | None = None,
    n_replies: float | None = None,
) -> Estimate:
    """Estimate a judge's metric on some items, with its interval.

    Parameters
    ----------
    items : (n,) bool array
        Items to use.
    metric : Metric
        The metric, which also supplies the reason if the value is undefined.
    valued : callable
        The metric on these items.
    engine : Engine
        The resamples.
    excluded : tuple of Exclusion, optional
        Reasons that the other items do not enter.
    n_ratings : (n,) array, optional
        Number of ratings of each item.
    n_replies : float, optional
        As in `Estimate`.
    """
    n_used = int(items.sum())
    (value,), (replicates,) = engine.of([valued])
    is_defined = bool(np.isfinite(value))
    sampled = Sampled(
        value=float(value),
        replicates=replicates,
        n_units=engine.units.n_entering(items),
        bounds=metric.bounds,
    )
    interval, why_none = make_interval(sampled, level=engine.level, unit=engine.units.kind)
    return Estimate(
        value=float(value) if is_defined else None,
        reason="" if is_defined else metric.reason(np.array([n_used])) if n_used else "no_items",
        interval=interval,
        interval_reason=why_none,
        n_used=n_used,
        n_excluded=len(items) - n_used,
        excluded=excluded,
        n_resamples=len(replicates),
        undefined_share=share_undefined(replicates),
        n_replies=n_replies,
        ratings_per_item=None
        if n_ratings is None or not n_used
        else float(np.median(n_ratings[items])),
    )
