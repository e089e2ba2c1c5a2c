"""Agreement of a judge with the human raters, and `METRICS`, the one table of all metrics.

Every public function here makes the contributions of a metric from two arrays of rating vectors,
human first, and stands in the table. To add a metric is to add its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import rel_entr

from harness.stats import downstream
from harness.stats.arrays import TOLERANCE, FloatArray, ratio
from harness.stats.distributions import SMOOTHING
from harness.stats.rows import MetricRow, both_rated, mean, weighted, why_no_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stats.distributions import Form
    from harness.stats.response_sets import OptionSpace
    from harness.stats.rows import Better

_GUERDAN = "Guerdan et al. 2025, section 4 and table 1"
_CALDERON = "Calderon et al. 2025, table 2 (Acc)"


def hit_rate(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Chance that both modes are the same option, ties broken at random on each side: (n, 2)."""
    return weighted((human * judge).sum(axis=1), both_rated(human, judge))


def hit_rate_ties_lost(human: FloatArray, judge: FloatArray) -> FloatArray:
    """1 where both modes are certainly the same option, tied items counting 0: (n, 2)."""
    certain = (human * judge).sum(axis=1) >= 1.0 - TOLERANCE
    return weighted(certain.astype(np.float64), both_rated(human, judge))


def hit_rate_ties_won(human: FloatArray, judge: FloatArray) -> FloatArray:
    """1 where both modes may be the same option: (n, 2)."""
    possible = (human * judge).sum(axis=1) > 0.0
    return weighted(possible.astype(np.float64), both_rated(human, judge))


def confusion(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Cells of the confusion matrix, human by judge, fractional for ties: (n, K * K)."""
    rated = both_rated(human, judge) > 0
    cells = np.einsum("nh,nj->nhj", human, judge).reshape(len(human), human.shape[1] ** 2)
    return np.where(rated, cells, 0.0)


def kl_human_to_judge(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Information lost when the judge stands for the humans: (n, 3) nats, weight, empty cells."""
    return _kl(human, judge, both_rated(human, judge))


def kl_judge_to_human(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Information lost when the humans stand for the judge: (n, 3) nats, weight, empty cells."""
    return _kl(judge, human, both_rated(human, judge))


def js_divergence(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Jensen-Shannon divergence in bits, 0 to 1: (n, 2)."""
    return weighted(_js(human, judge) / np.log(2.0), both_rated(human, judge))


def js_distance(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Square root of the Jensen-Shannon divergence in nats, item by item: (n, 2)."""
    return weighted(np.sqrt(_js(human, judge)), both_rated(human, judge))


def mse(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Squared Euclidean distance of the rating vectors, summed over options: (n, 2)."""
    return weighted(((human - judge) ** 2).sum(axis=1), both_rated(human, judge))


def coverage(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Chance that the judge's option is among those the humans allow: (n, 2)."""
    return weighted((human * judge).sum(axis=1), both_rated(human, judge))


def _kl(first: FloatArray, second: FloatArray, weight: FloatArray) -> FloatArray:
    terms = rel_entr(first, second)
    empty = np.isposinf(terms)
    nats = np.where(empty, 0.0, terms).sum(axis=1)
    n_empty = np.where(weight > 0, empty.sum(axis=1, keepdims=True), 0.0)
    return np.hstack([weighted(nats, weight), n_empty])


def _kl_value(totals: FloatArray) -> FloatArray:
    return np.where(totals[..., 2] > 0, np.nan, mean(totals))


def _why_no_kl(totals: FloatArray) -> str:
    return "infinite" if totals[2] > 0 else "no_items"


def _kl_counts(totals: FloatArray, space: OptionSpace) -> dict[str, float]:  # noqa: ARG001 -- the shape of MetricRow.counts
    return {"empty_cells": float(totals[2])}


def _js(p: FloatArray, q: FloatArray) -> FloatArray:
    middle = (p + q) / 2.0
    nats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2.0
    # rounding may leave -1e-17 for equal rows
    return np.asarray(np.maximum(nats, 0.0), dtype=np.float64)


def _square(totals: FloatArray) -> FloatArray:
    K = round(totals.shape[-1] ** 0.5)
    return totals.reshape(*totals.shape[:-1], K, K)


def _cohen_value(totals: FloatArray) -> FloatArray:
    shares = ratio(_square(totals), totals.sum(axis=-1)[..., None, None])
    observed = np.trace(shares, axis1=-2, axis2=-1)
    expected = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    constant = expected >= 1.0 - TOLERANCE
    return np.where(constant, np.nan, ratio(observed - expected, 1.0 - expected))


def _scott_value(totals: FloatArray) -> FloatArray:
    shares = ratio(_square(totals), totals.sum(axis=-1)[..., None, None])
    observed = np.trace(shares, axis1=-2, axis2=-1)
    pooled = (shares.sum(axis=-1) + shares.sum(axis=-2)) / 2.0
    expected = (pooled**2).sum(axis=-1)
    constant = expected >= 1.0 - TOLERANCE
    return np.where(constant, np.nan, ratio(observed - expected, 1.0 - expected))


def _alpha_value(totals: FloatArray) -> FloatArray:
    n = 2.0 * totals.sum(axis=-1)  # two ratings per item
    scott = _scott_value(totals)
    return np.asarray(scott + ratio(1.0 - scott, n), dtype=np.float64)


def _randolph_value(totals: FloatArray) -> FloatArray:
    cells = _square(totals)
    observed = ratio(np.trace(cells, axis1=-2, axis2=-1), totals.sum(axis=-1))
    by_chance = 1.0 / cells.shape[-1]
    return ratio(observed - by_chance, np.full_like(observed, 1.0 - by_chance))


def _why_no_randolph(totals: FloatArray) -> str:
    return "single_option" if totals.sum() > 0 else "no_items"


def _why_no_kappa(totals: FloatArray) -> str:
    return "constant_labels" if totals.sum() > 0 else "no_items"


def _confusion_counts(totals: FloatArray, space: OptionSpace) -> dict[str, float]:
    pairs = ((human, judge) for human in space.options for judge in space.options)
    return {f"{h} | {j}": float(n) for (h, j), n in zip(pairs, totals, strict=True)}


def _mean_row(
    name: str,
    contributions: Callable[[FloatArray, FloatArray], FloatArray],
    forms: tuple[Form, Form],
    better: Better,
    bounds: tuple[float, float],
    *,
    symmetric: bool,
    unit: str = "",
    paper: str = _GUERDAN,
) -> MetricRow:
    judge_form, human_form = forms
    return MetricRow(
        name=f"{name}({judge_form}/{human_form})",
        contributions=contributions,
        value=mean,
        why=why_no_mean,
        human_form=human_form,
        judge_form=judge_form,
        better=better,
        symmetric=symmetric,
        bounds=bounds,
        unit=unit,
        paper=paper,
    )


def _kl_row(
    name: str, contributions: Callable[[FloatArray, FloatArray], FloatArray], form: Form
) -> MetricRow:
    return MetricRow(
        name=name,
        contributions=contributions,
        value=_kl_value,
        why=_why_no_kl,
        counts=_kl_counts,
        human_form=form,
        judge_form=form,
        better="lower",
        symmetric=False,
        bounds=(0.0, np.inf),
        unit="nats",
        paper=_GUERDAN,
    )


def _chance_row(
    name: str,
    value: Callable[[FloatArray], FloatArray],
    why: Callable[[FloatArray], str],
    paper: str,
) -> MetricRow:
    return MetricRow(
        name=f"{name}(h/h)",
        contributions=confusion,
        value=value,
        why=why,
        counts=_confusion_counts,
        human_form="h",
        judge_form="h",
        better="higher",
        symmetric=True,
        bounds=(-1.0, 1.0),
        paper=paper,
    )


# Fleiss' kappa of two raters is Scott's pi, so it has no row of its own.
_CHANCE = (
    _chance_row("cohen_kappa", _cohen_value, _why_no_kappa, _GUERDAN),
    _chance_row("scott_pi", _scott_value, _why_no_kappa, "Scott 1955; Fleiss 1971 for two raters"),
    _chance_row(
        "krippendorff_alpha_nominal", _alpha_value, _why_no_kappa, "Krippendorff 2011, two raters"
    ),
    _chance_row(
        "randolph_kappa", _randolph_value, _why_no_randolph, "Randolph 2005, declared options"
    ),
)
_HARD: tuple[Form, Form] = ("h", "h")
_SOFT: tuple[Form, Form] = ("s", "s")
_UNIT = (0.0, 1.0)
METRICS: tuple[MetricRow, ...] = (
    _mean_row("hit_rate", hit_rate, _HARD, "higher", _UNIT, symmetric=True),
    _mean_row(
        "hit_rate_ties_lost",
        hit_rate_ties_lost,
        _HARD,
        "higher",
        _UNIT,
        symmetric=True,
        paper=_CALDERON,
    ),
    _mean_row(
        "hit_rate_ties_won",
        hit_rate_ties_won,
        _HARD,
        "higher",
        _UNIT,
        symmetric=True,
        paper=_CALDERON,
    ),
    *_CHANCE,
    _kl_row("kl(s/s, human->judge)", kl_human_to_judge, "s"),
    _kl_row("kl(s/s, judge->human)", kl_judge_to_human, "s"),
    _kl_row(f"kl_dirichlet_{SMOOTHING}(s/s, human->judge)", kl_human_to_judge, "smoothed"),
    _kl_row(f"kl_dirichlet_{SMOOTHING}(s/s, judge->human)", kl_judge_to_human, "smoothed"),
    _mean_row("js_divergence", js_divergence, _SOFT, "lower", _UNIT, symmetric=True, unit="bits"),
    _mean_row(
        "js_distance",
        js_distance,
        _SOFT,
        "lower",
        (0.0, float(np.sqrt(np.log(2.0)))),
        symmetric=True,
        unit="square root of nats",
    ),
    _mean_row("mse", mse, _SOFT, "lower", (0.0, 2.0), symmetric=True),
    _mean_row("coverage", coverage, ("h", "hrs"), "higher", _UNIT, symmetric=False),
    _mean_row("mse", mse, ("srs", "srs"), "lower", (0.0, np.inf), symmetric=True),
    *downstream.ROWS,
)
