"""Bounds on multi-label vectors, consistency and bias from forced choices only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.data.arrays import FloatArray, ratio
from harness.stats.data.forms import Cut, check_tau, reaches
from harness.stats.data.kinds import Kinds
from harness.stats.data.rating_table import Distributions, check_rows
from harness.stats.indeterminacy.sensitivity import Flips
from harness.stats.indeterminacy.translation import sensitivity_family
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import Estimate, ItemSums, exclusions, percentile_interval
from harness.stats.inference.estimate_sums import estimate_all
from harness.stats.inference.metric import Metric, both_rated, mean, no_items, weighted
from harness.stats.metrics import downstream
from harness.stats.selection.replies import decisions_at_replies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.inference.estimate import Exclusion
    from harness.stats.inference.estimate_sums import Estimated
    from harness.stats.reasons import NAReason, Reason

BoundsKind: TypeAlias = Literal["free_per_item", "common", "pairs"]


@dataclass(frozen=True, slots=True)
class Bound:
    """Smallest and largest value that is compatible with the forced choices.

    Attributes
    ----------
    low, high : Estimate
        The ends, each with its own interval; NA with the reason if they are not computed.
    kind : {"free_per_item", "common", "pairs"}
        Range of F': any for each item, or one for all items within stated limits. "pairs" covers
        everything that fits choices and pairs.
    """

    low: Estimate
    high: Estimate
    kind: BoundsKind


@dataclass(frozen=True, slots=True)
class EndorsementLimit:
    """Limits on how often raters who choose one option also accept other options.

    Attributes
    ----------
    option : str
        The chosen option.
    adds : tuple of str
        The options that can be accepted with it.
    low, high : float in [0, 1]
        Range of the probability; a free parameter if the ends differ.
    """

    option: str
    adds: tuple[str, ...]
    low: float
    high: float


def meets_bounds(
    O: FloatArray, space: OptionSpace, positive: Sequence[str]
) -> tuple[FloatArray, FloatArray]:
    """Bound the probability that the accepted set contains a positive option, given choices.

    Both (n,) bounds are sharp for each item: raters who choose j must meet the positive options if
    every admissible set with j does, and can if some set does. nan rows of the (n, K) choice shares
    stay nan; ValueError if a row is not a distribution or an option is unknown.
    """
    shares = check_rows(O, len(space.options), "O")
    meets = space.meets(positive)
    may = (space.membership & meets).any(axis=1)
    must = ~(space.membership & ~meets).any(axis=1)
    low, high = shares @ must.astype(np.float64), shares @ may.astype(np.float64)
    return np.asarray(np.minimum(low, 1.0)), np.asarray(np.minimum(high, 1.0))


def free_bounds(
    human: RatingTable,
    judges: Sequence[RatingTable],
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    n_replies: float | None = None,
) -> dict[str, dict[str, Bound]]:
    """Bound each judge's decision consistency and prevalence bias if F' can differ per item.

    Parameters
    ----------
    human : RatingTable
        Table of which only the forced choices are used.
    judges : sequence of RatingTable
        Tables with response sets, so that the judges' decisions are known.
    tau, positive
        As in `evaluate`.
    resampling : Resampling
        Settings for resamples; intervals use percentiles.
    n_replies : float, optional
        Replies per item on which judges' decisions are based. Default: all of them.

    Returns
    -------
    mapping
        Judge name to "decision_consistency" and "prevalence_bias" to `Bound`. Both ends can be
        attained, but not for both metrics at the same time.

    Raises
    ------
    ValueError
        If an argument does not fit.
    """
    dist = Distributions.of(human)
    ends = [reaches(end, tau)[:, None] for end in meets_bounds(dist.O, human.space, positive)]
    cut = Cut(tau, tuple(positive))
    decided = [decisions_at_replies(table, cut, n_replies) for table in judges]
    jobs = [_free_jobs(ends[0], ends[1], decisions, dist.n_forced) for decisions in decided]
    units = resampling.units(len(human.items))
    engine = Engine.draw(units, resampling)
    estimates = estimate_all(jobs, engine)
    return {
        table.name: {
            row.name: Bound(
                _with_percentiles(by_metric[f"{row.name} low"], engine),
                _with_percentiles(by_metric[f"{row.name} high"], engine),
                "free_per_item",
            )
            for row in downstream.METRICS
        }
        for table, by_metric in zip(judges, estimates, strict=True)
    }


def _free_jobs(
    low: FloatArray, high: FloatArray, judge: FloatArray, n_ratings: FloatArray
) -> list[ItemSums]:
    missing, nothing = _missing(low, judge), _nothing(low, judge)
    kinds = Kinds.of(low, high, judge)
    low, high, judge = (side[kinds.first] for side in (low, high, judge))
    weight = both_rated(low, judge)
    used = np.asarray(weight[:, 0] > 0, dtype=np.bool_)[kinds.of_item]
    alike = 1.0 - np.abs(np.hstack([low, high]) - judge)
    per_item = {
        "decision_consistency low": alike.min(axis=1),
        "decision_consistency high": alike.max(axis=1),
        "prevalence_bias low": (judge - high)[:, 0],
        "prevalence_bias high": (judge - low)[:, 0],
    }
    return [
        ItemSums(
            contributions=kinds.rows(weighted(values, weight)),
            metrics=(Metric(name=name, value=mean, reason=no_items),),
            used=used,
            nothing=nothing,
            excluded=missing,
            n_ratings=n_ratings,
        )
        for name, values in per_item.items()
    ]


def _with_percentiles(extreme: Estimated, engine: Engine) -> Estimate:
    """Add a percentile interval to the mean of extremes if there are enough units."""
    if not extreme.sampled.has_enough_units:
        return extreme.estimate
    interval, _ = percentile_interval(extreme.replicates, engine.level, engine.units.kind)
    return replace(extreme.estimate, interval=interval, interval_reason="")


def _nothing(human: FloatArray, judge: FloatArray) -> NAReason:
    if np.isnan(human).all():
        return "no_forced_choices"
    return "no_response_sets" if np.isnan(judge).all() else "no_overlap"


def _missing(human: FloatArray, judge: FloatArray) -> tuple[Exclusion, ...]:
    unrated = np.isnan(human[:, 0])
    unjudged = np.isnan(judge[:, 0]) & ~unrated
    return exclusions(
        [("human_no_forced_choices", unrated.sum()), ("judge_no_response_sets", unjudged.sum())]
    )


def common_bounds(
    human: RatingTable,
    judges: Sequence[RatingTable],
    limits: Sequence[EndorsementLimit],
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
    n_replies: float | None = None,
) -> dict[str, dict[str, Bound]]:
    """Bound consistency and bias if all items share one F' within stated limits.

    Parameters
    ----------
    human, judges, tau, positive, resampling, n_replies
        As in `free_bounds`.
    limits : sequence of EndorsementLimit
        Limits for every option whose choice can hide others; the rest hide nothing.

    Returns
    -------
    mapping
        As in `free_bounds`. Exact if at most one limit is open: all values between the break points
        are evaluated in every resample. NA, "not_computed", if two or more are open.

    Raises
    ------
    ValueError
        If a limit is not a range of probabilities or occurs twice, or an argument does not fit.
    """
    check_tau(tau)
    ends = _ends(human.space, limits)
    dist = Distributions.of(human)
    meets = human.space.meets(positive)[:, None].astype(np.float64)
    first, last = (dist.O @ (F_reverse.T @ meets) for F_reverse in ends)
    flips = Flips.of(first, last, tau)
    engine = Engine.draw(resampling.units(len(human.items)), resampling)
    computed = sum(limit.low < limit.high for limit in limits) <= 1
    bounds: dict[str, dict[str, Bound]] = {}
    for table in judges:
        judge = decisions_at_replies(table, Cut(tau, tuple(positive)), n_replies)
        bounds[table.name] = {
            row.name: _common(row, flips, judge, engine, computed=computed)
            for row in downstream.METRICS
        }
    return bounds


def _ends(space: OptionSpace, limits: Sequence[EndorsementLimit]) -> tuple[FloatArray, FloatArray]:
    """Return two (V, K) versions of F': with every limit at its low end, and at its high end."""
    named = [limit.option for limit in limits]
    if len(set(named)) < len(named):
        raise ValueError(f"limits: an option is limited twice in {named}")
    low, high = (sensitivity_family(space, 0.0, {}) for _ in range(2))
    for limit in limits:
        if not 0.0 <= limit.low <= limit.high <= 1.0:
            raise ValueError(f"limits: {limit} is not a range of probabilities in [0, 1]")
        k = space.option_index(limit.option)
        for F_reverse, beta in ((low, limit.low), (high, limit.high)):
            F_reverse[:, k] = sensitivity_family(space, beta, {limit.option: limit.adds})[:, k]
    return low, high


def _common(
    row: Metric, flips: Flips, judge: FloatArray, engine: Engine, *, computed: bool
) -> Bound:
    base, added = flips.gains(row, judge)
    used, n = int((base[:, 1] > 0).sum()), len(judge)
    missing = _missing(flips.start, judge)
    reason: Reason = "" if used else _nothing(flips.start, judge)
    reason = reason if computed else "not_computed"
    if reason:
        na = Estimate(value=None, reason=reason, n_used=used, n_excluded=n - used, excluded=missing)
        return Bound(na, na, "common")
    ends = []
    for value, replicates in zip(*engine.of([partial(_extremes, base, added, flips)]), strict=True):
        interval, undefined_share = percentile_interval(replicates, engine.level, engine.units.kind)
        ends.append(
            Estimate(
                value=float(value),
                interval=interval,
                n_used=used,
                n_excluded=n - used,
                excluded=missing,
                n_resamples=replicates.size,
                undefined_share=undefined_share,
            )
        )
    return Bound(ends[0], ends[1], "common")


def _extremes(base: FloatArray, added: FloatArray, flips: Flips, weights: FloatArray) -> FloatArray:
    """Return the (2, b) minimum and maximum means along the path, given (b, n) item weights."""
    sums = weights @ base
    moved = np.cumsum(weights[:, flips.item] * added[:, 0], axis=1)[:, flips.ends()]
    path = sums[:, :1] + np.hstack([np.zeros((len(weights), 1)), moved])
    return np.stack([ratio(path.min(axis=1), sums[:, 1]), ratio(path.max(axis=1), sums[:, 1])])
