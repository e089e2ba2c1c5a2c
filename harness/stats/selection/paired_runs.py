"""Comparison of two runs of a judge on the same items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isinf
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypedDict

import numpy as np

from harness.stats.data.arrays import TOLERANCE
from harness.stats.data.forms import Cut
from harness.stats.inference.bootstrap import ResampledUnit, weighted_totals
from harness.stats.inference.engine import Engine
from harness.stats.inference.interval_methods import MIN_UNITS, Sampled, score_ends
from harness.stats.inference.non_inferiority import bounded_mean_interval
from harness.stats.inference.special_functions import bdtr
from harness.stats.modes import MadeBy
from harness.stats.reasons import Reason  # noqa: TC001 -- readers of a field's type need it
from harness.stats.selection.judge_scoring import Scoring
from harness.stats.selection.replies import (
    Replies,
    drawn_replies,
    replies_of,
    samples_per_item,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.stats.data.arrays import FloatArray, IntArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.bootstrap import Resampling, Units
    from harness.stats.inference.metric import Metric

NO_MEAN: Final = "no_mean"  # for a metric that is undefined for single items
MIN_DIFFERING = 6  # units on which the runs differ; with fewer, the interval is too short
FEW_DIFFER: Final = "fewer_than_six_differ"


def sign_test(n_first: int, n_second: int) -> float:
    """Test whether two counts are equally likely, and return the exact two-sided p-value.

    The p-value is 1 if both counts are 0. For the items on which only one of two runs is right, it
    is the exact McNemar test.

    References
    ----------
    Q. McNemar, Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12 (1947), 153-157.
    """
    n = n_first + n_second
    return min(1.0, 2.0 * float(bdtr(min(n_first, n_second), n, 0.5))) if n else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRuns:
    """A judge's metric in two runs, on the items answered in both.

    Attributes
    ----------
    n_items : int
        Number of items.
    n_replies : float
        Replies per item in the evaluation of both.
    first, second : float or None
        The metric in each run; None if undefined.
    difference : float or None
        Second minus first.
    low, high : float or None
        Interval for the difference: for a mean, by cluster-robust t; else by bootstrap.
    interval_reason : str
        ``fewer_than_six_differ`` if fewer than six units differ, so that there is no interval.
    n_better, n_worse, n_equal : int
        Number of units (items or groups) on which the second run is better, worse, or equal, on one
        draw of `n_replies` replies from each.
    unit : {"item", "group", "criterion"}
        Unit of counting.
    test : {"mcnemar", "sign", ""}
        "mcnemar" if every unit is right or wrong, else "sign", for the sign test of the units'
        differences. "" if the metric is not a mean over items.
    p : float or None
        Exact two-sided p-value of the test.
    reason : str
        Reason if there is no test: ``no_items`` or ``no_mean``.
    """

    n_items: int
    n_replies: float
    first: float | None
    second: float | None
    difference: float | None
    low: Annotated[float | None, MadeBy("inverted test", "score")] = None
    high: Annotated[float | None, MadeBy("inverted test", "score")] = None
    interval_reason: Reason = ""
    n_better: int = 0
    n_worse: int = 0
    n_equal: int = 0
    unit: ResampledUnit = "item"
    test: str = ""
    p: float | None = None
    reason: Reason = ""


def paired_runs(
    human: RatingTable,
    runs: tuple[RatingTable, RatingTable],
    metric: Metric,
    *,
    tau: float,
    positive: Sequence[str],
    resampling: Resampling,
) -> PairedRuns:
    """Compare a judge's metric between two runs on the items answered in both.

    Parameters
    ----------
    human : RatingTable
        The raters' answers, against which both runs are scored.
    runs : (RatingTable, RatingTable)
        The judge's answers in each run, on the same items in the same order.
    metric : Metric
        Metric to compare, at the smaller number of samples per item of the two runs.
    tau, positive, resampling
        As in `common_footing`.

    Returns
    -------
    PairedRuns
        The comparison, with an exact test of the hypothesis that either run is better equally often
        if they differ. Items in a group are one unit, because they are not independent.

    Notes
    -----
    Values and interval are over all draws of this number of replies. The test uses one draw, which
    is the same for both runs if they gave the same replies. With means instead, the run with more
    replies would be better or worse on nearly every item, however similar the runs are.
    """
    scoring = Scoring.of(human, metric, Cut(tau, tuple(positive)))
    replies = [replies_of(table, metric.judge_form) for table in runs]
    answered = [side.n_samples > 0 for side in replies]
    shared = scoring.rated & answered[0] & answered[1]
    n_replies = min(samples_per_item(side.n_samples[shared], 1.0) for side in replies)
    sums = [scoring.sums(side, shared, n_replies) for side in replies]
    first, second = (float(metric.value(side.sum(axis=0))) for side in sums)
    n_items = int(shared.sum())
    is_defined = bool(np.isfinite(first) and np.isfinite(second))
    units = resampling.units(len(shared))
    result = PairedRuns(
        n_items=n_items,
        n_replies=n_replies,
        first=_number(first),
        second=_number(second),
        difference=second - first if is_defined else None,
        reason="undefined" if n_items else "no_items",
    )
    if not is_defined:
        return result
    if not metric.is_item_mean:
        if _n_differing(sums, units.of_item) < MIN_DIFFERING:
            return replace(result, interval_reason=FEW_DIFFER, reason=NO_MEAN)
        low, high = _bootstrap(metric, sums, units, resampling) or (None, None)
        return replace(result, low=low, high=high, reason=NO_MEAN)
    values = [side[shared, 0] / side[shared, 1] for side in sums]
    clusters = units.of_item[shared]
    drawn = [scoring.sums(side, shared, n_replies) for side in _drawn(replies, n_replies)]
    single = [side[shared, 0] / side[shared, 1] for side in drawn]
    signs = _signs(metric, single, clusters)
    result = replace(result, unit=units.kind, reason="", **signs)
    if signs["n_better"] + signs["n_worse"] < MIN_DIFFERING:
        return replace(result, interval_reason=FEW_DIFFER)
    largest = metric.loss_range(len(human.space.options))
    low, high = bounded_mean_interval(
        values[1] - values[0], clusters, (-largest, largest), resampling.level
    ) or (None, None)
    return replace(result, low=low, high=high)


def _drawn(replies: Sequence[Replies], n_replies: float) -> list[Replies]:
    """Draw the same number of replies from each run without replacement, seeded by the item."""
    if isinf(n_replies):
        return list(replies)
    return [
        Replies.of_counts(drawn_replies(side, n_replies, np.random.default_rng).astype(np.int64))
        for side in replies
    ]


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


class _Signs(TypedDict):
    n_better: int
    n_worse: int
    n_equal: int
    test: Literal["mcnemar", "sign"]
    p: float


def _signs(metric: Metric, values: Sequence[FloatArray], clusters: IntArray) -> _Signs:
    """Count the units on which the second run is better or worse, and test them."""
    losses = [metric.losses(side) for side in values]
    _, place = np.unique(clusters, return_inverse=True)
    gain = np.bincount(place, weights=losses[0] - losses[1])
    n_better, n_worse = int((gain > TOLERANCE).sum()), int((gain < -TOLERANCE).sum())
    is_binary = len(gain) == len(place) and all(np.isin(side, (0.0, 1.0)).all() for side in values)
    return {
        "n_better": n_better,
        "n_worse": n_worse,
        "n_equal": len(gain) - n_better - n_worse,
        "test": "mcnemar" if is_binary else "sign",
        "p": sign_test(n_worse, n_better),
    }


def _n_differing(sums: Sequence[FloatArray], unit: IntArray) -> int:
    """Count the units with different answers in the two runs."""
    differs = (np.abs(sums[1] - sums[0]) > TOLERANCE).any(axis=1)
    return len(np.unique(unit[differs]))


def _bootstrap(
    metric: Metric, sums: Sequence[FloatArray], units: Units, resampling: Resampling
) -> tuple[float, float] | None:
    """Return the ends of the difference's score interval, or None. Runs share the resamples."""

    def value(side: FloatArray, weights: FloatArray) -> FloatArray:
        return metric.value(weighted_totals(side, weights))

    engine = Engine.draw(units, resampling)
    values, replicates = engine.of(partial(value, side) for side in sums)
    if not replicates.size or units.n_units < MIN_UNITS:
        return None
    least, most = metric.bounds
    difference = Sampled(
        value=float(values[1] - values[0]),
        replicates=replicates[1] - replicates[0],
        n_units=units.n_units,
        bounds=(least - most, most - least),
    )
    return score_ends(difference, resampling.level)
