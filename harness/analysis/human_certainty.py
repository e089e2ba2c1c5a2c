"""Judges by the raters' certainty (Elangovan et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from harness.analysis.judge_confidence import risk_of
from harness.analysis.option_scale import OptionScale
from harness.stats import (
    Estimate,
    ItemSums,
    Resampling,
    Stratum,
    binned_divergence,
    default_strata,
    stratify,
)
from harness.stats.data.arrays import FloatArray, row_shares
from harness.stats.inference.bootstrap import Units
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate_sums import estimate_all
from harness.stats.metrics.alpha import alpha_name
from harness.stats.metrics.binned_divergence import (
    BinBy,
    binned_metrics,
    binned_sums,
    bins_of,
)
from harness.stats.modes import Ordering
from harness.stats.reasons import Reason
from harness.stats.subsets.held_out_raters import HeldOutStratum, held_out_strata
from harness.stats.subsets.selective_prediction import (
    CalibrationCurve,
    RiskCoverage,
)
from harness.stats.subsets.strata import StratumResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.analysis.prepared import Prepared
    from harness.stats import RatingTable
    from harness.stats.data.arrays import FloatArray


LEVELS: tuple[Ordering, ...] = get_args(Ordering)
ALPHAS = {level: alpha_name(level) for level in LEVELS}
MEASURES = (*ALPHAS.values(), "agreement")  # measures in each stratum
COEFFICIENTS = {  # other coefficients among raters, and their names between two sides
    "fleiss_kappa_unequal_raters": "scott_pi",
    "randolph_kappa_unequal_raters": "randolph_kappa",
    "gwet_ac1": "gwet_ac1",
}
ALL = "all"  # the stratum of all items, which has the task's coefficients
RANKS = ("spearman", "kendall_tau_b")  # of two sides on ordered scales
MEASURES_OF = dict.fromkeys(("mm", "h_mw", "random", "random_h", "delta"), MEASURES) | {
    "js_b": tuple(metric.name for metric in binned_metrics(2)),
    "hh": (*MEASURES, *COEFFICIENTS),
    "hw_mw": (*MEASURES, *COEFFICIENTS.values(), *RANKS),
}
NO_OVERLAP: Final = "no_overlap"


@dataclass(frozen=True, slots=True, kw_only=True)
class PerceptionBin:
    """Items with the same median or most common human label, as a panel of the perception chart.

    Attributes
    ----------
    n_items : float
        Number of items, fractional if modes are tied.
    share_of_items : float
        Share of all items that humans rated, shown as the dial.
    labels : dict of str to float
        Share of each option among all human labels for these items.
    """

    label: str
    n_items: float
    share_of_items: float
    labels: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeBin:
    """A judge's labels on the items of one bin that the judge answered.

    Attributes
    ----------
    labels : dict of str to float
        Share of each option among all its labels for these items.
    divergence_bits : float
        Divergence between the humans' labels and its own, in bits.
    """

    label: str
    n_items: float
    labels: dict[str, float]
    divergence_bits: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCertainty:
    """Results for one judge by human certainty.

    Attributes
    ----------
    held_out : tuple of HeldOutStratum
        Agreement of the judge in place of one rater, in strata defined by an item's other raters.
    binned : dict of str to Estimate
        ``js_divergence_bits`` and ``js_distance_nat`` over all bins.
    risk_coverage : dict of str to RiskCoverage
        Curves by score in the verdicts: ``verbal_confidence``, ``logprob`` or ``sample_agreement``.
        A long curve keeps 101 points.
    risk_coverage_reason : str
        Why there is no risk-coverage curve.
    calibration : tuple of CalibrationCurve
        One curve per score in the verdicts.
    """

    judge: str
    strata: tuple[StratumResult, ...]
    held_out: tuple[HeldOutStratum, ...]
    binned: dict[str, Estimate]
    bins: tuple[JudgeBin, ...]
    risk_coverage: dict[str, RiskCoverage]
    risk_coverage_reason: Reason
    calibration: tuple[CalibrationCurve, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """Results for all judges by human certainty.

    Attributes
    ----------
    level : str
        ``nominal`` (modes are compared) or ``ordinal`` (medians are compared).
    bins_by : str
        The statistic that defines the perception chart's bins.
    options : tuple of str
        Options in the order of the scale.
    strata : tuple of StratumResult
        All items, then strata by percentage agreement and by number of different labels. The
        judges' strata contain their comparisons with the raters. Items with one rating are in no
        stratum.
    bins : tuple of PerceptionBin
        Nonempty bins, in order.
    """

    level: Ordering
    bins_by: BinBy
    options: tuple[str, ...]
    strata: tuple[StratumResult, ...]
    bins: tuple[PerceptionBin, ...]
    judges: tuple[JudgeCertainty, ...]

    @property
    def alpha(self) -> str:
        """Name of the alpha coefficient for the scale's level, used in the charts and strata."""
        return ALPHAS[self.level]

    @property
    def coefficients(self) -> dict[str, str]:
        """Names of other coefficients, from the judges' name to the raters' name."""
        ranks = RANKS if self.level == "ordinal" else ()
        return COEFFICIENTS | {name: name for name in ranks}


def section(p: Prepared) -> Certainty:
    """Compare judges with the raters by stratum and by bin, and compute their correlations.

    Strata and bins use the items on which the ranking compares judges. Risk and coverage use all
    items that a judge answered.
    """
    scale = OptionScale.of(p.task)
    human = scale.counts(p.human)
    compared = p.on_common_items(p.judges)
    judges = {table.name: scale.counts(table) for table in compared}
    by: BinBy = "median" if scale.level == "ordinal" else "majority"
    strata = _strata(human, scale)
    engine = Engine.draw(Units.of(len(human), p.groups), p.resampling()).kept()
    by_judge = stratify(
        human,
        judges or {"": np.zeros_like(human)},
        strata=strata,
        level=scale.level,
        resampling=p.resampling(groups=p.groups),
        scale=scale.numbers,
        measures=MEASURES_OF,
    )
    held_out = held_out_strata(
        human,
        judges,
        strata=strata,
        resampling=p.resampling(groups=p.groups),
        scale=scale.numbers,
    )
    return Certainty(
        level=scale.level,
        bins_by=by,
        options=scale.options,
        strata=tuple(map(_human_part, next(iter(by_judge.values())))),
        bins=_bins(human, by, scale),
        judges=tuple(
            JudgeCertainty(
                judge=table.name,
                strata=tuple(_judge_part(part, table, kept) for part in by_judge[table.name]),
                held_out=held_out[table.name],
                bins=_judge_bins(human, judges[table.name], by, scale),
                binned=_binned(scale, (human, judges[table.name]), engine),
                **risk_of(p, table),
            )
            for table, kept in zip(p.judges, compared, strict=True)
        ),
    )


def _strata(human: FloatArray, scale: OptionScale) -> tuple[Stratum, ...]:
    """Return the paper's strata, without those for more labels than an item has ratings."""
    most = max(1, min(len(scale.options), int(human.sum(axis=1).max(initial=0.0))))
    return default_strata(most, ordinal=scale.level == "ordinal")


def _human_part(result: StratumResult) -> StratumResult:
    """Keep only agreement among raters: alpha, and other coefficients in strata by certainty."""
    return replace(
        result,
        hh=_of_stratum(result, result.hh),
        mm={},
        hw_mw={},
        h_mw={},
        delta={},
        js_b={},
    )


def _judge_part(result: StratumResult, table: RatingTable, kept: RatingTable) -> StratumResult:
    """Keep a judge's own measures. ``kept`` is the judge's table on the compared items."""
    is_compared = kept.forced_choice.any() or not table.forced_choice.any()
    reason: Reason = "" if is_compared else "too_few_answered"
    return replace(
        result,
        mm=_with_reason(result.mm, reason),
        hw_mw=_with_reason(_of_stratum(result, result.hw_mw), reason),
        h_mw=_with_reason(result.h_mw, reason),
        delta=_with_reason(result.delta, reason),
        hh={},
        js_b=_with_reason(result.js_b, reason),
        random={},
        random_h={},
    )


def _of_stratum(result: StratumResult, measures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Keep all measures in nonempty strata by certainty, and only alpha in others."""
    stratum = result.stratum
    by_certainty = stratum.by != "n_labels" and stratum.name != ALL and result.n_items > 0
    return {name: value for name, value in measures.items() if by_certainty or name in MEASURES}


def _with_reason(measures: Mapping[str, Estimate], reason: Reason) -> dict[str, Estimate]:
    """Add a reason if no measure has a value."""
    return {
        name: replace(value, reason=reason) if reason else value for name, value in measures.items()
    }


def _binned(
    scale: OptionScale, counts: tuple[FloatArray, FloatArray], engine: Engine
) -> dict[str, Estimate]:
    """Estimate the divergence over all bins, from the same resamples for every judge."""
    first, of_kinds = engine.of_kinds(*counts)
    h, j = (side[first] for side in counts)
    by: BinBy = "median" if scale.level == "ordinal" else "majority"
    members, _ = bins_of(h, by, options=scale.options, scale=scale.numbers)
    sums = ItemSums(
        contributions=binned_sums(members, h, j),
        metrics=binned_metrics(len(scale.options)),
        nothing=NO_OVERLAP,
    )
    batch = sums.within(np.ones(len(h), dtype=np.bool_), of_kinds.units.times)
    [by_metric] = estimate_all([[batch]], of_kinds)
    return {name: result.estimate for name, result in by_metric.items()}


def _bins(human: FloatArray, by: BinBy, scale: OptionScale) -> tuple[PerceptionBin, ...]:
    members, labels = bins_of(human, by, options=scale.options, scale=scale.numbers)
    n = members.sum(axis=0)
    pooled = row_shares(members.T @ human)
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
    human: FloatArray, judge: FloatArray, by: BinBy, scale: OptionScale
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
    pooled = row_shares(members.T @ judge)
    return tuple(
        JudgeBin(
            label=_label(row.label),
            n_items=row.n_items,
            labels=_named(scale.options, pooled[column[row.label]]),
            divergence_bits=row.divergence_bits,
        )
        for row in divergence.bins
    )


def _label(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _named(names: Sequence[str], values: FloatArray) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
