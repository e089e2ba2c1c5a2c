"""Measure how well numeric scores order items, without a threshold.

The measures are AUC, rank correlations with the raters' mean and median, also by the raters'
certainty (Elangovan et al. 2025, tables 2 and 7 and figure 6), and pairwise accuracy with ties
calibrated (Deutsch et al. 2023). A direction or a tie width that is estimated from the data uses
one half of the items. The value is then computed on the other half.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeAlias

import numpy as np

from harness.judging.strategies.scores import ordered_options, rated_counts, score_of
from harness.stats.inference.bootstrap import (
    ResampledUnit,
)
from harness.stats.inference.estimate import TOO_FEW, Estimate, Interval
from harness.stats.inference.metric import SHARE
from harness.stats.reasons import NAReason
from harness.stats.scores.concordance import (
    MEASURES,
    Scored,
    TiedPairs,
    jackknife_interval,
    least_units,
    pairwise_accuracy,
    some_rows,
)
from harness.stats.scores.score_map import folds_of, ratings_ascend
from harness.stats.subsets.strata import default_strata, members_of
from harness.tasks import CANNOT_ASSESS
from harness.tasks.item import unit_numbers
from harness.tasks.schema import numeric_keys

if TYPE_CHECKING:
    from harness.analysis.inputs import JudgeScores, Source
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.scores.concordance import ScoreMeasure
    from harness.tasks import Item, Task

Direction: TypeAlias = Literal["higher", "lower"]
CORRELATION = (-1.0, 1.0)
SIGN = {"higher": 1.0, "lower": -1.0}  # sign of a score with a declared direction
PAIRS = "pairwise_accuracy"
N_CERTAINTIES = 5  # of the paper's strata: all items, and strata by the raters' agreement
ALL = "all"
MAX_CELLS = 20_000_000  # items times different ratings, in memory at once
MAX_MEDIANS = 30  # most medians that are distinguished
QUARTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStratum:
    """Measures of a judge's scores in one stratum by rater certainty.

    Attributes
    ----------
    name : str
        Name of the stratum; ``all`` for all items.
    n_items : int
        Items in it with a score and ratings, among those on which the judge is measured.
    measures : dict of str to Estimate
        ``auc``, and ``spearman`` and ``kendall_tau_b`` with ``_mean`` and ``_median``.
    """

    name: str
    n_items: int
    measures: dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoresAtMedian:
    """Quantiles of the scores for items with the same median rating.

    Attributes
    ----------
    median : float
        Median of the ratings; options without numbers are numbered from 1.
    quantiles : tuple of float
        The 5, 25, 50, 75 and 95 % quantiles of the scores.
    """

    median: float
    n_items: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredJudge:
    """Measures of how well a judge's scores order items.

    Attributes
    ----------
    better : {"higher", "lower"}
        Better direction of the scores.
    is_declared : bool
        Whether that direction was declared. If not, it was estimated on half of the items, and the
        strata contain the other half.
    tie_width : float or None
        Largest difference between two scores that counts as a tie, estimated on half of the items.
    pairwise_accuracy : Estimate
        Share of item pairs in the other half that scores and mean ratings order, or tie, in the
        same way.
    strata : tuple of ScoreStratum
        Strata, with all items first.
    by_median : tuple of ScoresAtMedian
        Scores of all scored items, by median rating; empty if there are more than 30 medians.
    """

    judge: str
    better: Direction
    is_declared: bool
    tie_width: float | None
    pairwise_accuracy: Estimate
    strata: tuple[ScoreStratum, ...]
    by_median: tuple[ScoresAtMedian, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Results for all judges that return numbers.

    Attributes
    ----------
    unit : str
        The independent unit: items, or groups of items.
    options : tuple of str
        The options from the worst to the best; empty on a continuous scale.
    """

    unit: ResampledUnit
    options: tuple[str, ...]
    judges: tuple[ScoredJudge, ...]


def section(source: Source) -> Scores:
    """Measure how well each judge's scores order items."""
    names = [judge.name for judge in source.judges if judge.name in source.scores]
    rated = _Rated.of(source.task, source.items)
    grouped = any(item.group is not None for item in source.items)
    unit: ResampledUnit = "group" if grouped else "item"
    level = source.settings.confidence
    return Scores(
        unit=unit,
        options=() if source.task.is_open else ordered_options(source.task),
        judges=tuple(_judge(name, source.scores[name], rated, unit, level) for name in names),
    )


class _Rated(NamedTuple):
    """Ratings of the items, and strata by rater certainty (or the reason for having no strata)."""

    place: dict[str, int]
    units: IntArray
    ratings: FloatArray
    numbers: FloatArray
    strata: dict[str, BoolArray]
    why_none: NAReason

    @classmethod
    def of(cls, task: Task, items: tuple[Item, ...]) -> Self:
        place = {item.id: i for i, item in enumerate(items)}
        units = np.array(unit_numbers(items), dtype=np.int64)
        ratings, numbers = _numbers(task, place) if task.is_open else _options(task, items)
        strata = {ALL: np.ones(len(items), dtype=np.bool_)}
        if not task.is_open:
            by_certainty = default_strata(1, ordinal=task.scale == "ordinal")[1:N_CERTAINTIES]
            members = members_of(by_certainty, ratings, numbers)
            strata |= {s.name: rows for s, rows in zip(by_certainty, members, strict=True)}
        why_none: NAReason = "no_items" if len(numbers) else "not_computed"
        return cls(place, units, ratings, numbers, strata, why_none)


def _options(task: Task, items: tuple[Item, ...]) -> tuple[FloatArray, FloatArray]:
    row = {item.id: i for i, item in enumerate(task.items)}
    counts = rated_counts(task)[[row[item.id] for item in items]]
    numeric = sorted(numeric_keys(ordered_options(task))) if task.scale == "ordinal" else []
    return counts, np.array(numeric or range(1, counts.shape[1] + 1), dtype=np.float64)


def _numbers(task: Task, place: dict[str, int]) -> tuple[FloatArray, FloatArray]:
    rated = [
        (place[rating.item], float(rating.value))
        for rating in task.ratings
        if rating.item in place and isinstance(rating.value, str) and rating.value != CANNOT_ASSESS
    ]
    rows = np.array([row for row, _ in rated], dtype=np.int64)
    numbers, column = np.unique([number for _, number in rated], return_inverse=True)
    if len(place) * len(numbers) > MAX_CELLS:
        return np.zeros((len(place), 0)), np.zeros(0)
    if not rated:
        return np.zeros((len(place), 1)), np.ones(1)
    counts = np.zeros((len(place), len(numbers)))
    np.add.at(counts, (rows, column), 1.0)
    return counts, numbers


def _judge(
    name: str, scores: JudgeScores, rated: _Rated, unit: ResampledUnit, level: float
) -> ScoredJudge:
    rows, values = _item_scores(scores, rated)
    units, ratings = rated.units[rows], rated.ratings[rows]
    half = folds_of(units, np.ones(len(rows), dtype=np.bool_), 2)
    found = scores.better not in SIGN
    sign = SIGN.get(scores.better) or (
        1.0 if ratings_ascend(values[half == 0], ratings[half == 0]) else -1.0
    )
    items = Scored.of(sign * values, ratings, rated.numbers)
    measured = _Measured(items, units, unit, level, rated.why_none)
    shown = half == 1 if found else np.ones(len(rows), dtype=np.bool_)
    width = TiedPairs.of(_some(items.only(half == 0))).best_width() if len(rows) else None
    return ScoredJudge(
        judge=name,
        better="higher" if sign > 0 else "lower",
        is_declared=not found,
        tie_width=width,
        pairwise_accuracy=measured.pairs(half == 1, width or 0.0),
        strata=tuple(
            ScoreStratum(
                name=stratum,
                n_items=int((shown & members[rows]).sum()),
                measures={
                    name: measured.estimate(name, measure, shown & members[rows])
                    for name, measure in MEASURES.items()
                },
            )
            for stratum, members in rated.strata.items()
            if stratum == ALL or (shown & members[rows]).any()
        ),
        by_median=_by_median(values, items.median),
    )


def _item_scores(scores: JudgeScores, rated: _Rated) -> tuple[IntArray, FloatArray]:
    """Return the rows of rated items with a score, and the mean score on each of these items."""
    by_row: dict[int, list[float]] = defaultdict(list)
    for verdict in scores.verdicts:
        row, score = rated.place.get(verdict.item), score_of(verdict)
        if row is not None and score is not None and rated.ratings[row].any():
            by_row[row].append(score)
    rows = np.array(sorted(by_row), dtype=np.int64)
    return rows, np.array([np.mean(by_row[row]) for row in rows.tolist()], dtype=np.float64)


def _some(items: Scored) -> Scored:
    return items.only(some_rows(len(items.score)))


def _bounds(name: str) -> tuple[float, float]:
    return SHARE if name in ("auc", PAIRS) else CORRELATION


class _Measured(NamedTuple):
    """Scored items with their resampling units and the confidence level."""

    items: Scored
    units: IntArray
    unit: ResampledUnit
    level: float
    why_none: NAReason

    def estimate(self, name: str, measure: ScoreMeasure, rows: BoolArray) -> Estimate:
        """Estimate a measure on some of the items."""
        items, units, n = self.items.only(rows), self.units[rows], int(rows.sum())
        value = measure(items) if n else np.nan
        if np.isnan(value):
            return Estimate(value=None, reason="no_variance" if n else self.why_none, n_used=n)
        if len(np.unique(units)) < least_units(name):
            return Estimate(value=value, interval_reason=TOO_FEW[self.unit], n_used=n)
        ends = jackknife_interval(measure, items, units, level=self.level, bounds=_bounds(name))
        if ends is None:
            return Estimate(value=value, interval_reason="undefined_in_resamples", n_used=n)
        return Estimate(
            value=value,
            interval=Interval(*ends, self.level, "jackknife", self.unit),
            n_used=n,
        )

    def pairs(self, rows: BoolArray, width: float) -> Estimate:
        """Estimate pairwise accuracy on some of the items. If there are many, use a sample."""
        places = np.flatnonzero(rows)
        places = places[some_rows(len(places))]
        kept = np.isin(np.arange(len(rows)), places)
        return self.estimate(PAIRS, partial(pairwise_accuracy, width=width), kept)


def _by_median(values: FloatArray, median: FloatArray) -> tuple[ScoresAtMedian, ...]:
    medians = np.unique(median)
    if len(medians) > MAX_MEDIANS:
        return ()
    return tuple(
        ScoresAtMedian(
            median=float(at),
            n_items=int((median == at).sum()),
            quantiles=tuple(np.quantile(values[median == at], QUARTILES).tolist()),
        )
        for at in medians
    )
