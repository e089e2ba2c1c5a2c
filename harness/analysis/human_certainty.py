"""Judges by how certain the humans were (Elangovan et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from harness.analysis.judge_confidence import confidences
from harness.analysis.option_scale import Scale, shares
from harness.stats.data.item_kinds import Kinds
from harness.stats.data.labels import means, medians, modes
from harness.stats.inference.bootstrap import Resampling, Units
from harness.stats.inference.estimate import Estimate, Exclusion, ItemSums
from harness.stats.inference.strata_bootstrap import Pieces, describe, replicate_strata
from harness.stats.metrics.association import correlation_metrics, correlations_by_jackknife
from harness.stats.metrics.binned_divergence import (
    binned_divergence,
    binned_metrics,
    binned_sums,
    bins_of,
    judge_columns,
)
from harness.stats.metrics.downstream import win_rate_metrics, win_sums
from harness.stats.subsets.selective_prediction import risk_coverage
from harness.stats.subsets.strata import By, Stratum, StratumResult, default_strata, stratify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.analysis.estimates import Prepared
    from harness.stats.data.arrays import BoolArray, FloatArray
    from harness.stats.data.rating_table import RatingTable
    from harness.stats.inference.strata_bootstrap import Cut
    from harness.stats.metrics.binned_divergence import BinBy

MAX_POINTS = 101  # of a curve
MAX_TABLE = 1 << 14  # cells of a correlation's table that are resampled
NO_SCORE = "no_confidence"
NO_OVERLAP = "no_overlap"


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumRow:
    """What a stratum holds, and what is said of the humans alone in it.

    Attributes
    ----------
    by : str
        What cuts the strata: `Stratum.by`.
    share_of_items : float or None
        Of all items.
    hh : dict of str to Estimate
        Humans among themselves.
    random, random_h : dict of str to Estimate
        The human mode (median on ordered scales), and one human, against a rater who answers at
        random: expectations.
    """

    name: str
    by: By
    at_least: float
    below: float | None
    n_items: int
    share_of_items: float | None
    n_labels_seen: int
    hh: dict[str, Estimate]
    random: dict[str, Estimate]
    random_h: dict[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeStratum:
    """One judge in one stratum; the parts are those of `StratumResult`."""

    name: str
    mm: dict[str, Estimate]
    hw_mw: dict[str, Estimate]
    h_mw: dict[str, Estimate]
    delta: dict[str, Estimate]
    js_b: dict[str, Estimate]


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
    baseline: bool
    strata: tuple[JudgeStratum, ...]
    binned: dict[str, Estimate]
    bins: tuple[JudgeBin, ...]
    correlation: dict[str, dict[str, Estimate]]
    win_rates: dict[str, Estimate]
    risk_coverage: tuple[RiskCurve, ...]
    risk_coverage_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """Judges by how certain the humans were.

    Attributes
    ----------
    level : str
        ``nominal``: modes are compared; ``ordinal``: medians.
    bins_by : str
        What bins the perception chart.
    options : tuple of str
        In the order of the scale.
    strata : tuple of StratumRow
        All items, by percentage agreement, by number of different labels. Items with one rating
        are in none.
    bins : tuple of PerceptionBin
        Those with items, in order.
    """

    level: Literal["nominal", "ordinal"]
    bins_by: Literal["median", "majority"]
    options: tuple[str, ...]
    strata: tuple[StratumRow, ...]
    bins: tuple[PerceptionBin, ...]
    judges: tuple[JudgeCertainty, ...]


def section(p: Prepared) -> Certainty:
    """Stratify, bin and correlate; every interval comes from the run's own resamples."""
    scale = Scale.of(p.task)
    human = scale.counts(p.human)
    judges = {table.name: scale.counts(table) for table in p.judges}
    by: BinBy = "median" if scale.level == "ordinal" else "majority"
    strata = _strata(human, scale)
    found = stratify(
        human,
        judges or {"": np.zeros_like(human)},
        strata=strata,
        level=scale.level,
        resampling=p.resampling(groups=p.groups),
        scale=scale.numbers,
    )
    everywhere = _on_all_items(p, scale, human, judges)
    return Certainty(
        level=scale.level,
        bins_by=by,
        options=scale.options,
        strata=tuple(map(_stratum_row, next(iter(found.values())))),
        bins=_bins(human, by, scale),
        judges=tuple(
            JudgeCertainty(
                judge=table.name,
                baseline=table.name in p.baselines,
                strata=tuple(map(_judge_stratum, found[table.name])),
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


def _stratum_row(found: StratumResult) -> StratumRow:
    stratum = found.stratum
    return StratumRow(
        name=stratum.name,
        by=stratum.by,
        at_least=stratum.at_least,
        below=stratum.below,
        n_items=found.n_items,
        share_of_items=found.share_of_items,
        n_labels_seen=found.n_labels_seen,
        hh=dict(found.hh),
        random=dict(found.random),
        random_h=dict(found.random_h),
    )


def _judge_stratum(found: StratumResult) -> JudgeStratum:
    return JudgeStratum(
        name=found.stratum.name,
        mm=dict(found.mm),
        hw_mw=dict(found.hw_mw),
        h_mw=dict(found.h_mw),
        delta=dict(found.delta),
        js_b=dict(found.js_b),
    )


def _on_all_items(
    p: Prepared, scale: Scale, human: FloatArray, judges: dict[str, FloatArray]
) -> dict[str, dict[str, Any]]:
    """Estimate what is not stratified, all judges on one walk through the resamples."""
    units, alone = Units.of(len(human), p.groups), Kinds.single(len(human))
    pieces = Pieces.of(np.ones((len(human), 1), dtype=np.bool_), units, alone)
    cuts: dict[tuple[str, str, str], Cut] = {}
    said: dict[str, dict[str, Any]] = {}
    for name, judge in judges.items():
        said[name] = {"binned": {}, "correlation": {}, "win_rates": {}}
        for part, key, cut in _cuts(p, scale, pieces, human, judge):
            if isinstance(cut, dict):
                said[name][part][key] = cut
            else:
                cuts[name, part, key] = cut
    resamples = p.resampling().draw(pieces.units)
    leave_out = p.source.interval != "percentile"
    [found] = replicate_strata(cuts, pieces, resamples, leave_out=leave_out)
    for (name, part, key), each in found.items():
        cut = cuts[name, part, key]
        made = describe(
            each,
            cut,
            (len(human), int(cut.n_used[0])),
            level=p.source.confidence,
            unit=pieces.units.kind,
            method=p.source.interval,
        )
        if part == "correlation":
            said[name][part][key] = made
        else:
            said[name][part].update(made)
    return said


def _cuts(
    p: Prepared, scale: Scale, pieces: Pieces, human: FloatArray, judge: FloatArray
) -> Iterator[tuple[str, str, Cut | dict[str, Estimate]]]:
    """Give what each comparison adds up, by part; estimates where there is no finite table."""
    by: BinBy = "median" if scale.level == "ordinal" else "majority"
    kinds = Kinds.of(human, judge)
    h, j = human[kinds.first], judge[kinds.first]
    members, _ = bins_of(h, by, options=scale.options, scale=scale.numbers)
    sums = binned_sums(members, h, j)
    measures = binned_metrics(len(scale.options))
    batch = ItemSums(contributions=sums, metrics=measures, nothing=NO_OVERLAP)
    apart = judge_columns(sums.shape[1], len(scale.options))
    yield "binned", "", pieces.cut(batch, kinds, apart=apart)
    if scale.level == "ordinal":
        for key, middle in (("median", medians), ("mean", means)):
            x, y = (middle(side, scale.numbers) for side in (human, judge))
            yield "correlation", key, _correlated(p, pieces, x, y)
    if p.task.scale == "pairwise":
        sums = np.nan_to_num(win_sums(modes(h), modes(j)))
        rates = win_rate_metrics(scale.options)
        batch = ItemSums(contributions=sums, metrics=rates, nothing=NO_OVERLAP)
        yield "win_rates", "", pieces.cut(batch, kinds)


def _correlated(
    p: Prepared, pieces: Pieces, x: FloatArray, y: FloatArray
) -> Cut | dict[str, Estimate]:
    """Prepare the correlations of two vectors; where their table is too large, by jackknife."""
    both = ~(np.isnan(x) | np.isnan(y))
    rows, i = np.unique(x[both], return_inverse=True)
    columns, j = np.unique(y[both], return_inverse=True)
    if len(rows) * len(columns) > MAX_TABLE:
        n_excluded = int((~both).sum())
        missing = (Exclusion(NO_OVERLAP, n_excluded),) if n_excluded else ()
        level = p.source.confidence
        found = correlations_by_jackknife(x, y, pieces.units, rng=p.rng(), level=level)
        return {
            name: replace(one, n_excluded=n_excluded, excluded=missing)
            for name, one in found.items()
        }
    place = np.full(len(x), -1)
    place[both] = i.ravel() * len(columns) + j.ravel()
    measures = correlation_metrics(rows, columns)
    return pieces.cut_cells(place, len(rows) * len(columns), measures, nothing=NO_OVERLAP)


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
    found = binned_divergence(
        human,
        judge,
        by=by,
        options=scale.options,
        resampling=Resampling(rng=np.random.default_rng(0), n_resamples=0),  # nothing is drawn
        scale=scale.numbers,
    )
    members, labels = bins_of(human, by, options=scale.options, scale=scale.numbers)
    column = {label: b for b, label in enumerate(labels)}
    names, middle = _middles(judge, by, scale)
    pooled, middles = shares(members.T @ judge), shares(members.T @ middle)
    return tuple(
        JudgeBin(
            label=_label(one.label),
            n_items=one.n_items,
            labels=_named(scale.options, pooled[column[one.label]]),
            middle=_named(names, middles[column[one.label]]),
            divergence_bits=one.divergence_bits,
            distance_nat=one.distance_nat,
        )
        for one in found.bins
    )


def _middles(judge: FloatArray, by: BinBy, scale: Scale) -> tuple[tuple[str, ...], FloatArray]:
    """Return the labels that medians or modes take, and each item's: (n, L)."""
    if by == "majority":
        return scale.options, np.nan_to_num(modes(judge))
    middle = medians(judge, scale.numbers)
    values = np.unique(middle[~np.isnan(middle)])
    names = tuple(_label(value) for value in values.tolist())
    return names, (middle[:, None] == values).astype(np.float64)


def _label(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _named(names: Sequence[str], values: FloatArray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def _risk(p: Prepared, table: RatingTable) -> dict[str, Any]:
    human, judge = (modes(one.forced_choice.astype(np.float64)) for one in (p.human, table))
    right = np.nan_to_num((human * judge).sum(axis=1))
    rated = np.asarray(~np.isnan(human).any(axis=1), dtype=np.bool_)
    scores = confidences(table, p.source.verdicts[table.name])
    curves = tuple(_curve(name, score, right, rated) for name, score in scores.items())
    return {"risk_coverage": curves, "risk_coverage_reason": "" if curves else NO_SCORE}


def _curve(name: str, score: FloatArray, correct: FloatArray, rated: BoolArray) -> RiskCurve:
    found = risk_coverage(score[rated], correct[rated])
    n = len(found.threshold)
    kept = np.unique(np.linspace(0, n - 1, min(n, MAX_POINTS)).round().astype(np.int64))
    return RiskCurve(
        score=name,
        threshold=tuple(found.threshold[kept].tolist()),
        answered_fraction=tuple(found.answered_fraction[kept].tolist()),
        risk=tuple(found.risk[kept].tolist()),
        n_thresholds=n,
        area=found.area,
        reason=found.reason,
        n_used=found.n_used,
        n_excluded=int((~rated).sum()),
    )
