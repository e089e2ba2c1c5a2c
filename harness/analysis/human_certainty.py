"""Judges by human certainty (Elangovan et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.analysis.estimates import on_shared_items
from harness.analysis.judge_confidence import confidences
from harness.analysis.option_scale import Scale, shares
from harness.stats import (
    Estimate,
    Exclusion,
    ItemSums,
    Resampling,
    Stratum,
    binned_divergence,
    default_strata,
    risk_coverage,
    stratify,
)
from harness.stats.data.item_kinds import Kinds
from harness.stats.data.labels import means, medians, modes
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.interval_methods import NEED_LEFT_OUT
from harness.stats.inference.strata_bootstrap import Pieces, describe, replicate_strata
from harness.stats.metrics.association import correlation_metrics, correlations_by_jackknife
from harness.stats.metrics.binned_divergence import (
    binned_metrics,
    binned_sums,
    bins_of,
    judge_columns,
)
from harness.stats.metrics.downstream import win_rate_metrics, win_sums
from harness.stats.subsets.held_out_raters import HeldOutStratum, held_out_strata
from harness.stats.subsets.strata import StratumResult  # noqa: TC001 -- read at run time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis.estimates import Prepared
    from harness.stats import RatingTable
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.inference.strata_bootstrap import Cut
    from harness.stats.metrics.binned_divergence import BinBy

MAX_POINTS = 101  # of a curve
MAX_TABLE = 1 << 14  # cells of a correlation's table that are resampled
NO_SCORE = "no_confidence"
NO_OVERLAP = "no_overlap"


@dataclass(frozen=True, slots=True, kw_only=True)
class PerceptionBin:
    """Items of one human median, or most frequent label: a panel of the perception chart.

    Attributes
    ----------
    n_items : float
        Fractional where modes are tied.
    share_of_items : float
        Of all items that humans rated: the dial.
    labels : dict of str to float
        Share of each option among all human labels of these items.
    """

    label: str
    n_items: float
    share_of_items: float
    labels: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBin:
    """A judge's labels in one bin, over the items it answered.

    Attributes
    ----------
    labels : dict of str to float
        Share of each option among all its labels of these items.
    middle : dict of str to float
        Share of each median, or mode, of its labels.
    divergence_bits, distance_nat : float
        Between the labels of the humans and its own.
    """

    label: str
    n_items: float
    labels: dict[str, float]
    middle: dict[str, float]
    divergence_bits: float
    distance_nat: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskCurve:
    """Risk of a judge that answers only where its score is high enough; see `RiskCoverage`.

    Attributes
    ----------
    score : str
        ``verbal_confidence``, ``logprob`` or ``sample_agreement``.
    n_thresholds : int
        Of the whole curve; of a long one, evenly spaced points are kept.
    """

    score: str
    threshold: tuple[float, ...]
    answered_fraction: tuple[float, ...]
    risk: tuple[float, ...]
    n_thresholds: int
    area: float | None
    reason: str
    n_used: int
    n_excluded: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCertainty:
    """One judge by human certainty.

    Attributes
    ----------
    held_out : tuple of HeldOutStratum
        The judge in place of one rater, in strata that the other raters of an item define.
    binned : dict of str to Estimate
        ``js_divergence_bits`` and ``js_distance_nat`` over all bins.
    correlation : dict of str to dict of str to Estimate
        By ``median`` and by ``mean``: Pearson, Spearman and Kendall's tau-b. Ordered scales only.
        Intervals are those of a jackknife where there are too many different means to resample.
    win_rates : dict of str to Estimate
        Per option by the humans, by the judge, and the difference. Pairwise scales only.
    risk_coverage : tuple of RiskCurve
        One per score that the verdicts carry.
    risk_coverage_reason : str
        Why there is none.
    """

    judge: str
    strata: tuple[StratumResult, ...]
    held_out: tuple[HeldOutStratum, ...]
    binned: dict[str, Estimate]
    bins: tuple[JudgeBin, ...]
    correlation: dict[str, dict[str, Estimate]]
    win_rates: dict[str, Estimate]
    risk_coverage: tuple[RiskCurve, ...]
    risk_coverage_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """Judges by human certainty.

    Attributes
    ----------
    level : str
        ``nominal``: modes are compared; ``ordinal``: medians.
    bins_by : str
        What bins the perception chart.
    options : tuple of str
        In the order of the scale.
    strata : tuple of StratumResult
        All items, by percentage agreement, by number of different labels; those of the judges hold
        what compares them with the raters. Items with one rating are in none.
    bins : tuple of PerceptionBin
        Those with items, in order.
    """

    level: Literal["nominal", "ordinal"]
    bins_by: Literal["median", "majority"]
    options: tuple[str, ...]
    strata: tuple[StratumResult, ...]
    bins: tuple[PerceptionBin, ...]
    judges: tuple[JudgeCertainty, ...]


def section(p: Prepared, candidates: Sequence[str] = ()) -> Certainty:
    """Compare judges with the raters by stratum, by bin and by correlation.

    Candidates are compared on the items that all of them answered.
    """
    scale = Scale.of(p.task)
    human = scale.counts(p.human)
    tables = on_shared_items(p.judges, candidates)
    judges = {table.name: scale.counts(table) for table in tables}
    by: BinBy = "median" if scale.level == "ordinal" else "majority"
    strata = _strata(human, scale)
    by_judge = stratify(
        human,
        judges or {"": np.zeros_like(human)},
        strata=strata,
        level=scale.level,
        resampling=p.resampling(groups=p.groups),
        scale=scale.numbers,
    )
    held_out = held_out_strata(
        human,
        judges,
        strata=strata,
        resampling=p.resampling(groups=p.groups),
        scale=scale.numbers,
    )
    everywhere = _on_all_items(p, scale, human, judges)
    return Certainty(
        level=scale.level,
        bins_by=by,
        options=scale.options,
        strata=tuple(map(_human_part, next(iter(by_judge.values())))),
        bins=_bins(human, by, scale),
        judges=tuple(
            JudgeCertainty(
                judge=table.name,
                strata=tuple(map(_judge_part, by_judge[table.name])),
                held_out=held_out[table.name],
                bins=_judge_bins(human, judges[table.name], by, scale),
                **everywhere[table.name],
                **_risk(p, table),
            )
            for table in p.judges
        ),
    )


def _strata(human: FloatArray, scale: Scale) -> tuple[Stratum, ...]:
    """Choose the paper's strata; no item has more different labels than ratings."""
    most = max(1, min(len(scale.options), int(human.sum(axis=1).max(initial=0.0))))
    return default_strata(most, ordinal=scale.level == "ordinal")


def _human_part(result: StratumResult) -> StratumResult:
    return replace(result, mm={}, hw_mw={}, h_mw={}, delta={}, js_b={})


def _judge_part(result: StratumResult) -> StratumResult:
    return replace(result, hh={}, random={}, random_h={})


def _on_all_items(
    p: Prepared, scale: Scale, human: FloatArray, judges: dict[str, FloatArray]
) -> dict[str, dict[str, Any]]:
    """Estimate what is not stratified, all judges on the same resamples."""
    units, single = Units.of(len(human), p.groups), Kinds.single(len(human))
    pieces = Pieces.of(np.ones((len(human), 1), dtype=np.bool_), units, single)
    cuts: dict[tuple[str, str, str], Cut] = {}
    estimates: dict[str, dict[str, Any]] = {}
    for name, judge in judges.items():
        estimates[name] = {"binned": {}, "correlation": {}, "win_rates": {}}
        for part, key, cut in _cuts(p, scale, pieces, human, judge):
            if isinstance(cut, dict):
                estimates[name][part][key] = cut
            else:
                cuts[name, part, key] = cut
    resamples = p.resampling().draw(pieces.units)
    leave_out = p.source.interval in NEED_LEFT_OUT
    [replicated] = replicate_strata(cuts, pieces, resamples, leave_out=leave_out)
    for (name, part, key), replicates in replicated.items():
        cut = cuts[name, part, key]
        described = describe(
            replicates,
            cut,
            (len(human), int(cut.n_used[0]), pieces.units.n_units),
            level=p.source.confidence,
            unit=pieces.units.kind,
            method=p.source.interval,
        )
        if part == "correlation":
            estimates[name][part][key] = described
        else:
            estimates[name][part].update(described)
    return estimates


def _cuts(
    p: Prepared, scale: Scale, pieces: Pieces, human: FloatArray, judge: FloatArray
) -> Iterator[tuple[str, str, Cut | dict[str, Estimate]]]:
    """Yield the sums of each comparison, by part; estimates where there is no finite table."""
    by: BinBy = "median" if scale.level == "ordinal" else "majority"
    kinds = Kinds.of(human, judge)
    h, j = human[kinds.first], judge[kinds.first]
    members, _ = bins_of(h, by, options=scale.options, scale=scale.numbers)
    sums = binned_sums(members, h, j)
    metrics = binned_metrics(len(scale.options))
    binned = ItemSums(contributions=sums, metrics=metrics, nothing=NO_OVERLAP)
    apart = judge_columns(sums.shape[1], len(scale.options))
    yield "binned", "", pieces.cut(binned, kinds, apart=apart)
    if scale.level == "ordinal":
        for key, average in (("median", medians), ("mean", means)):
            x, y = (average(counts, scale.numbers) for counts in (human, judge))
            yield "correlation", key, _correlated(p, pieces, x, y)
    if p.task.scale == "pairwise":
        sums = np.nan_to_num(win_sums(modes(h), modes(j)))
        rates = win_rate_metrics(scale.options)
        wins = ItemSums(contributions=sums, metrics=rates, nothing=NO_OVERLAP)
        yield "win_rates", "", pieces.cut(wins, kinds)


def _correlated(
    p: Prepared, pieces: Pieces, x: FloatArray, y: FloatArray
) -> Cut | dict[str, Estimate]:
    """Prepare the correlations of two vectors; where their table is too large, by jackknife."""
    paired = ~(np.isnan(x) | np.isnan(y))
    rows, i = np.unique(x[paired], return_inverse=True)
    columns, j = np.unique(y[paired], return_inverse=True)
    if len(rows) * len(columns) > MAX_TABLE:
        n_excluded = int((~paired).sum())
        excluded = (Exclusion(NO_OVERLAP, n_excluded),) if n_excluded else ()
        level = p.source.confidence
        estimates = correlations_by_jackknife(x, y, pieces.units, rng=p.rng(), level=level)
        return {
            name: replace(estimate, n_excluded=n_excluded, excluded=excluded)
            for name, estimate in estimates.items()
        }
    cells = np.full(len(x), -1)
    cells[paired] = i.ravel() * len(columns) + j.ravel()
    metrics = correlation_metrics(rows, columns)
    return pieces.cut_cells(cells, len(rows) * len(columns), metrics, nothing=NO_OVERLAP)


def _bins(human: FloatArray, by: BinBy, scale: Scale) -> tuple[PerceptionBin, ...]:
    members, labels = bins_of(human, by, options=scale.options, scale=scale.numbers)
    n = members.sum(axis=0)
    pooled = shares(members.T @ human)
    return tuple(
        PerceptionBin(
            label=_label(labels[b]),
            n_items=float(n[b]),
            share_of_items=float(n[b] / n.sum()),
            labels=_named(scale.options, pooled[b]),
        )
        for b in np.flatnonzero(n)
    )


def _judge_bins(
    human: FloatArray, judge: FloatArray, by: BinBy, scale: Scale
) -> tuple[JudgeBin, ...]:
    divergence = binned_divergence(
        human,
        judge,
        by=by,
        options=scale.options,
        resampling=Resampling(rng=np.random.default_rng(0), n_resamples=0),  # nothing is drawn
        scale=scale.numbers,
    )
    members, labels = bins_of(human, by, options=scale.options, scale=scale.numbers)
    column = {label: b for b, label in enumerate(labels)}
    names, averages = _averages(judge, by, scale)
    pooled, middle = shares(members.T @ judge), shares(members.T @ averages)
    return tuple(
        JudgeBin(
            label=_label(row.label),
            n_items=row.n_items,
            labels=_named(scale.options, pooled[column[row.label]]),
            middle=_named(names, middle[column[row.label]]),
            divergence_bits=row.divergence_bits,
            distance_nat=row.distance_nat,
        )
        for row in divergence.bins
    )


def _averages(judge: FloatArray, by: BinBy, scale: Scale) -> tuple[tuple[str, ...], FloatArray]:
    """Return the L labels that medians or modes take, and (n, L): that of each item."""
    if by == "majority":
        return scale.options, np.nan_to_num(modes(judge))
    averages = medians(judge, scale.numbers)
    values = np.unique(averages[~np.isnan(averages)])
    names = tuple(_label(value) for value in values.tolist())
    return names, (averages[:, None] == values).astype(np.float64)


def _label(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _named(names: Sequence[str], values: FloatArray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _risk(p: Prepared, table: RatingTable) -> dict[str, Any]:
    human, judge = (modes(side.forced_choice.astype(np.float64)) for side in (p.human, table))
    correct = np.nan_to_num((human * judge).sum(axis=1))
    rated = np.asarray(~np.isnan(human).any(axis=1), dtype=np.bool_)
    scores = confidences(table, p.source.verdicts[table.name])
    curves = tuple(_curve(name, score, correct, rated) for name, score in scores.items())
    return {"risk_coverage": curves, "risk_coverage_reason": "" if curves else NO_SCORE}


def _curve(name: str, score: FloatArray, correct: FloatArray, rated: BoolArray) -> RiskCurve:
    curve = risk_coverage(score[rated], correct[rated])
    n = len(curve.threshold)
    points = np.unique(np.linspace(0, n - 1, min(n, MAX_POINTS)).round().astype(np.int64))
    return RiskCurve(
        score=name,
        threshold=tuple(curve.threshold[points].tolist()),
        answered_fraction=tuple(curve.answered_fraction[points].tolist()),
        risk=tuple(curve.risk[points].tolist()),
        n_thresholds=n,
        area=curve.area,
        reason=curve.reason,
        n_used=curve.n_used,
        n_excluded=int((~rated).sum()),
    )
