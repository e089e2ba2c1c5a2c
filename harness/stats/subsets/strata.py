"""Agreement by human certainty.

Over all items, a judge can agree with the humans as well as they agree with each other only because
of items on which they disagree, and on which even a random rater agrees as well. So each stratum
compares humans among themselves, the judge with itself, both modes (or medians), a human with the
judge, and a random rater (Elangovan et al. 2025, section 3.1). The compared ratings also define the
strata, so differences between strata are partly due to selection; `held_out_raters` avoids that.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- needed by readers of the fields' types
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, remembered, row_shares
from harness.stats.data.labels import (
    majority_shares,
    median_shares,
    medians,
    modes,
    n_distinct,
    numbers_of,
)
from harness.stats.inference.engine import Engine
from harness.stats.inference.estimate import (
    Estimate,
    ItemSums,
)
from harness.stats.inference.estimate_sums import Estimated, estimate_all
from harness.stats.inference.metric import (
    SHARE,
    Metric,
    by_contributions,
    constant_labels,
    find_metric,
    name_of,
)
from harness.stats.metrics.alpha import alpha_metric, coincidences
from harness.stats.metrics.association import kendall_of, spearman_of
from harness.stats.metrics.binned_divergence import binned_metrics, binned_sums, bins_of
from harness.stats.metrics.chance import (
    MIN_FOR_AGREEMENT,
    above_uniform,
    both_directions,
    share_alike,
    square,
)
from harness.stats.metrics.human_agreement import HUMAN_AGREEMENT
from harness.stats.metrics.registry import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from numpy.typing import ArrayLike

    from harness.stats.data.arrays import BoolArray, Counts
    from harness.stats.inference.bootstrap import Resampling
    from harness.stats.metrics.alpha import Level
    from harness.stats.metrics.binned_divergence import BinBy

    _Parts = Callable[..., dict[str, list[ItemSums]]]
    _Estimates = dict[str, dict[str, Estimated]]

CELLS = 1 << 20  # pairs of labels in memory at once: 8 MiB
_NOMINAL = ("krippendorff_alpha_nominal", "cohen_kappa", "scott_pi", "gwet_ac1")
_measure = partial(Metric, reason=constant_labels, paper="Elangovan et al. 2025")
_SAME = {"fleiss_kappa": "scott_pi", "randolph_kappa": "randolph_kappa"}  # names for two raters


def among(counts: Counts, level: Level, scale: ArrayLike | None = None) -> list[ItemSums]:
    """Return coefficients among raters, from (n, K) counts, for items with at least two ratings.

    These are every row of `HUMAN_AGREEMENT`, and alpha at the level if it is not nominal.
    """
    c = np.asarray(counts, dtype=np.float64)
    several = np.asarray(c.sum(axis=1) >= MIN_FOR_AGREEMENT, dtype=np.bool_)
    rows = HUMAN_AGREEMENT
    if level != "nominal":
        alpha = alpha_metric(level, scale=None if scale is None else np.asarray(scale).tolist())
        rows = (*rows, replace(alpha, contributions=coincidences))
    return [
        ItemSums(
            contributions=np.where(several[:, None], metrics[0].contributions(c), 0.0),
            metrics=metrics,
            used=several,
            nothing="too_few_raters",
        )
        for metrics in by_contributions(rows)
    ]


def pair_metrics(level: Level, numbers: FloatArray, K: int) -> tuple[Metric, ...]:
    """Return coefficients for two sides, from the (L * L) cells of their labels.

    The axes have (L,) ``numbers``, in order; medians can be between the K declared options.
    """
    agreement, randolph = (
        _measure(name="agreement", value=share_alike, bounds=SHARE),
        _measure(name="randolph_kappa", value=lambda totals: above_uniform(share_alike(totals), K)),
    )
    if level == "nominal":
        alpha, *others = (find_metric(name_of(kind, "h", "h"), METRICS) for kind in _NOMINAL)
        kappas = (_measure(name=metric.kind, value=metric.value) for metric in others)
        return (agreement, _measure(name=_NOMINAL[0], value=alpha.value), randolph, *kappas)
    by_level = alpha_metric(level, scale=numbers.tolist())
    return (
        agreement,
        _measure(name=by_level.name, value=lambda totals: by_level.value(both_directions(totals))),
        randolph,
        _measure(name="spearman", value=lambda totals: spearman_of(square(totals))),
        _measure(name="kendall_tau_b", value=lambda totals: kendall_of(square(totals))),
    )


def against_random(metrics: Iterable[Metric], chances: FloatArray) -> tuple[Metric, ...]:
    """Adapt `pair_metrics` to compare a rater with one who labels at random.

    The L labels have the (L,) probabilities ``chances``, whatever the item.
    """

    @remembered
    def cells(totals: FloatArray) -> FloatArray:
        both = totals[..., :, None] * chances
        return both.reshape(*totals.shape[:-1], len(chances) ** 2)

    def value_of(metric: Metric, totals: FloatArray) -> FloatArray:
        rows = totals.reshape(-1, len(chances))
        step = max(1, CELLS // len(chances) ** 2)
        if len(rows) <= step:
            return metric.value(cells(totals))
        parts = [metric.value(cells(rows[i : i + step])) for i in range(0, len(rows), step)]
        return np.concatenate(parts).reshape(totals.shape[:-1])

    def reading(metric: Metric) -> Metric:
        return replace(
            metric,
            value=partial(value_of, metric),
            reason=lambda totals: metric.reason(cells(totals)),
        )

    return tuple(reading(metric) for metric in metrics)


def counterparts(many: Iterable[str], two: Iterable[str]) -> dict[str, str]:
    """Map coefficients among many raters to the names that they have for two sides.

    Percentages are not included, because percentages of three raters and of two modes are different
    quantities.
    """
    names = set(two)
    return {name: _SAME.get(name, name) for name in many if _SAME.get(name, name) in names}


StratifiedBy: TypeAlias = Literal[
    "majority_share", "median_share", "median_share_floor", "n_labels"
]
BYS: tuple[StratifiedBy, ...] = get_args(StratifiedBy)
_NO_OVERLAP: Final = "no_overlap"


@dataclass(frozen=True, slots=True)
class Stratum:
    """Items whose certainty is in [at_least, below).

    Attributes
    ----------
    name : str
        Name for output.
    by : {"majority_share", "median_share", "median_share_floor", "n_labels"}
        Share of the labels equal to the most common one, or to the median (rounded down, as in the
        published code); or the number of distinct labels.
    at_least : float
        Closed lower end.
    below : float or None
        Open upper end; None for no end, so that full agreement is in the top stratum.
    """

    name: str
    by: StratifiedBy
    at_least: float = 0.0
    below: float | None = None

    def __post_init__(self) -> None:
        if self.by not in BYS:
            raise ValueError(f"stratum {self.name!r}: by is {self.by!r}; wanted one of {BYS}")
        if self.below is not None and self.below <= self.at_least:
            raise ValueError(f"stratum {self.name!r}: [{self.at_least}, {self.below}) is empty")

    def members(self, human: Counts, scale: ArrayLike | None = None) -> BoolArray:
        """Return an (n,) mask of the stratum's items that have at least two ratings."""
        [inside] = members_of([self], human, scale)
        return inside

    def holds(self, certainty: FloatArray) -> BoolArray:
        """Return an (n,) mask of the certainties in the stratum. A nan is not in it."""
        inside = certainty >= self.at_least - TOLERANCE
        if self.below is not None:
            inside &= certainty < self.below - TOLERANCE
        return np.asarray(inside, dtype=np.bool_)


def members_of(
    strata: Sequence[Stratum], human: Counts, scale: ArrayLike | None = None
) -> list[BoolArray]:
    """Return an (n,) mask per stratum of its items that have at least two ratings."""
    certainty_by: dict[StratifiedBy, Callable[[], FloatArray]] = {
        "majority_share": lambda: majority_shares(human),
        "median_share": lambda: median_shares(human, scale),
        "median_share_floor": lambda: median_shares(human, scale, floor=True),
        "n_labels": lambda: n_distinct(human),
    }
    several = np.asarray(human).sum(axis=1) >= MIN_FOR_AGREEMENT
    certainty = {by: np.where(several, certainty_by[by](), np.nan) for by in {s.by for s in strata}}
    return [stratum.holds(certainty[stratum.by]) for stratum in strata]


def default_strata(K: int, *, ordinal: bool) -> tuple[Stratum, ...]:
    """Return the strata of Elangovan et al. 2025: all, by majority share, by number of labels."""
    by: StratifiedBy = "median_share" if ordinal else "majority_share"
    return (
        Stratum("all", by),
        Stratum("PA = 1", by, 1.0),
        Stratum("0.8 <= PA < 1", by, 0.8, 1.0),
        Stratum("0.6 <= PA < 0.8", by, 0.6, 0.8),
        Stratum("PA < 0.6", by, 0.0, 0.6),
        *(Stratum(f"unique = {k}", "n_labels", k, k + 1) for k in range(1, K + 1)),
    )


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StratumResult:
    """Agreement in one stratum.

    Attributes
    ----------
    stratum : Stratum
        The stratum.
    n_items : int
        Number of items in it.
    share_of_items : float or None
        Share of all items; None if there are no items at all.
    n_labels_seen : int
        Number of distinct human labels in it.
    hh, mm : mapping of str to Estimate
        Agreement of humans among themselves, and of the judge's samples among themselves.
    hw_mw : mapping of str to Estimate
        Human mode (median on ordered scales) against the judge's.
    h_mw : mapping of str to Estimate
        A random human against the judge's mode: the expectation, not one draw.
    random : mapping of str to Estimate
        Human mode against a rater who answers at random: the expectation.
    random_h : mapping of str to Estimate
        A random human against a rater who answers at random; its ``agreement`` is 1 / K.
    delta : mapping of str to Estimate
        ``hh`` minus ``hw_mw`` for the same coefficient, both on the items that the judge answered.
        None for percentages, because percentages of three raters and of two modes are different
        quantities. It is partly due to selection: the expectation is not 0 for a judge that answers
        like a random rater.
    js_b : mapping of str to Estimate
        Binned divergence of the labels, in bits and as a distance.
    """

    stratum: Stratum
    n_items: int
    share_of_items: float | None
    n_labels_seen: int
    hh: Mapping[str, Estimate]
    mm: Mapping[str, Estimate]
    hw_mw: Mapping[str, Estimate]
    h_mw: Mapping[str, Estimate]
    random: Mapping[str, Estimate]
    random_h: Mapping[str, Estimate]
    delta: Mapping[str, Estimate]
    js_b: Mapping[str, Estimate]

    def __repr__(self) -> str:
        return f"StratumResult({self.stratum.name!r}, {self.n_items} items)"


def stratify(
    human: Counts,
    judges: Mapping[str, Counts],
    *,
    strata: Sequence[Stratum],
    level: Level,
    resampling: Resampling,
    scale: ArrayLike | None = None,
    measures: Mapping[str, Collection[str]] | None = None,
) -> dict[str, tuple[StratumResult, ...]]:
    """Measure the judges' agreement with the raters in each stratum, using one bootstrap.

    Parameters
    ----------
    human : (n, K) array
        Number of times each option was chosen.
    judges : mapping of judge to (n, K) array
        The same counts for each judge.
    strata : sequence of Stratum
        Strata, which may overlap.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of the scale: modes are compared on the nominal level, medians on the other levels.
    resampling : Resampling
        Settings for intervals.
    scale : (K,) numbers, optional
        Increasing numbers for the options; by default 1 to K.
    measures : mapping of str to collection of str, optional
        Names of the coefficients to estimate, by part of the result; by default, and in parts not
        listed, all. The resamples are the same.

    Returns
    -------
    dict of judge to tuple of StratumResult
        One result per stratum; empty ones are NA, ``empty_stratum``. Results that only concern the
        raters are the same for all judges.

    Raises
    ------
    ValueError
        If shapes do not fit or there is no stratum.
    """
    h = np.asarray(human, dtype=np.float64)
    counts = {name: _of_shape(h, judge) for name, judge in judges.items()}
    if not strata:
        raise ValueError("strata is empty; pass at least one, e.g. Stratum('all', 'n_labels')")
    wanted = measures or {}
    engine = Engine.draw(resampling.units(len(h)), resampling).kept()
    members = members_of(strata, h, scale)
    different = {inside.tobytes(): inside for inside in members}  # "PA = 1" is "unique = 1"

    def estimates(parts: _Parts, *tables: FloatArray) -> dict[bytes, _Estimates]:
        """Return each part's results in each distinct stratum."""
        first, of_kinds = engine.of_kinds(*tables)
        sums = {
            name: [
                replace(
                    of_part,
                    used=of_part.entered,
                    metrics=_named(of_part.metrics, wanted.get(name)),
                )
                for of_part in group
            ]
            for name, group in parts(*(table[first] for table in tables), level, scale).items()
        }
        by_members = {}
        for key, inside in different.items():
            results = estimate_all(*_in_stratum(sums.values(), of_kinds, inside[first]))
            by_members[key] = dict(zip(sums, results, strict=True))
        return by_members

    def result_of(
        stratum: Stratum, inside: BoolArray, humans: _Estimates, judge: _Estimates
    ) -> StratumResult:
        hh, hw_mw = judge["hh"], judge["hw_mw"]  # from the same draws
        return StratumResult(
            stratum=stratum,
            n_items=int(inside.sum()),
            share_of_items=float(inside.mean()) if len(h) else None,
            n_labels_seen=int(np.count_nonzero(inside.astype(np.float64) @ h)),
            delta={
                name: hh[name].minus(hw_mw[other], engine)
                for name, other in counterparts(hh, hw_mw).items()
                if "delta" not in wanted or name in wanted["delta"]
            },
            **{
                part: {name: result.estimate for name, result in by_metric.items()}
                for part, by_metric in (judge | humans).items()
            },
        )

    of_humans = estimates(_human_parts, h)
    of_judges = {name: estimates(_judge_parts, h, judge) for name, judge in counts.items()}
    return {
        name: tuple(
            result_of(stratum, inside, of_humans[inside.tobytes()], of_judge[inside.tobytes()])
            for stratum, inside in zip(strata, members, strict=True)
        )
        for name, of_judge in of_judges.items()
    }


def _named(metrics: tuple[Metric, ...], names: Collection[str] | None) -> tuple[Metric, ...]:
    return tuple(metric for metric in metrics if names is None or metric.name in names)


def _in_stratum(
    groups: Iterable[Sequence[ItemSums]], engine: Engine, inside: BoolArray
) -> tuple[list[list[ItemSums]], Engine]:
    """Return the contributions of the items in a stratum's (n,) mask, and their units.

    Other items are left out of their groups; if items are resampled, they contribute nothing.
    """
    if engine.units.by_item:
        times = engine.units.times
        return [[sums.within(inside, times) for sums in group] for group in groups], engine
    within = inside[inside]
    kept = [[sums.only(inside).within(within) for sums in group] for group in groups]
    return kept, engine.only(inside)


def _of_shape(human: FloatArray, judge: Counts) -> FloatArray:
    j = np.asarray(judge, dtype=np.float64)
    if human.ndim != 2 or human.shape != j.shape:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(
            f"human has shape {human.shape} and judge {j.shape}; wanted (n, K) for both"
        )
    return j


def _human_parts(h: FloatArray, level: Level, scale: ArrayLike | None) -> dict[str, list[ItemSums]]:
    """Compare the humans with each other and with random raters."""
    options, of_h, _, numbers = _labels(h, h, level, scale)
    metrics = against_random(pair_metrics(level, numbers, h.shape[1]), options.mean(axis=0))
    return {
        "hh": among(h, level, scale),
        "random": _sums(of_h, metrics),
        "random_h": _sums(row_shares(h) @ options, metrics),
    }


def _judge_parts(
    h: FloatArray, j: FloatArray, level: Level, scale: ArrayLike | None
) -> dict[str, list[ItemSums]]:
    """Compare a judge with itself and with the humans.

    The agreement among humans is computed on the items that the judge answered, so that
    coefficients of modes can be subtracted from it.
    """
    K = h.shape[1]
    options, of_h, of_j, numbers = _labels(h, j, level, scale)
    metrics = pair_metrics(level, numbers, K)
    by: BinBy = "majority" if level == "nominal" else "median"
    bins, _ = bins_of(h, by, options=[str(k) for k in range(K)], scale=scale)
    of_two = {metric.name for metric in metrics}
    return {
        "hh": [
            replace(sums, metrics=paired)
            for sums in among(np.where(j.sum(axis=1, keepdims=True) > 0, h, 0.0), level, scale)
            if (paired := tuple(m for m in sums.metrics if counterparts([m.name], of_two)))
        ],
        "mm": among(j, level, scale),
        "hw_mw": _sums(_cells(of_h, of_j), metrics),
        "h_mw": _sums(_cells(row_shares(h) @ options, of_j), metrics),
        "js_b": _sums(binned_sums(bins, h, j), binned_metrics(K)),
    }


def _sums(contributions: FloatArray, metrics: tuple[Metric, ...]) -> list[ItemSums]:
    sums = np.nan_to_num(contributions)
    return [ItemSums(contributions=sums, metrics=metrics, nothing=_NO_OVERLAP)]


def _labels(
    h: FloatArray, j: FloatArray, level: Level, scale: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return options, human labels and judge labels as rows over L numbers, and the numbers.

    These are modes over the options on the nominal level; else medians, which can be between
    options.
    """
    K = h.shape[1]
    if level == "nominal":
        return np.eye(K), modes(h), modes(j), np.arange(float(K))
    middles = [medians(h, scale), medians(j, scale)]
    middles_present = [middle[~np.isnan(middle)] for middle in middles]
    numbers = np.unique(np.concatenate([numbers_of(scale, K), *middles_present]))
    of_h, of_j = (_one_hot(middle, numbers) for middle in middles)
    return _one_hot(numbers_of(scale, K), numbers), of_h, of_j, numbers


def _one_hot(values: FloatArray, numbers: FloatArray) -> FloatArray:
    one_hot = (values[:, None] == numbers).astype(np.float64)
    return np.where(np.isnan(values)[:, None], np.nan, one_hot)


def _cells(first: FloatArray, second: FloatArray) -> FloatArray:
    cells = np.einsum("na,nb->nab", first, second).reshape(len(first), first.shape[1] ** 2)
    return np.asarray(cells)
