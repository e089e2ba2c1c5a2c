"""Multi-label agreement metrics.

Rating vectors follow Guerdan et al. 2025, table 1, with every pair of aggregations that has
distinct results. Functions whose name ends in ``_of_modes`` are for forms ``h``. A tied mode
represents a draw among the tied options, and they return its expectation, which differs from the
result for the split vector if squares or logarithms are involved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio, row_products, row_sums
from harness.stats.data.forms import COMPARED_FORMS, FORMS, SMOOTHING
from harness.stats.inference.metric import (
    POPULATION_VALUE,
    SHARE,
    Metric,
    SquaredDistance,
    average_metric,
    both_rated,
    finite_part,
    infinite_metric,
    mean,
    name_of,
    no_counts,
    no_items,
    weighted,
)
from harness.stats.inference.special_functions import xlogy
from harness.stats.metrics.confusion import mean_f1

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.rating_table import Form
    from harness.stats.reasons import Reason

_GUERDAN = "Guerdan et al. 2025, section 4 and table 1"
_SET_NAMES = {
    "coverage(h/hrs)": "share of items where the judge's choice is in the raters' response set",
    "coverage(hrs/h)": "share of items where the raters' choice is in the judge's response set",
    "coverage(hrs/hrs)": "share of items where both response sets hold one option",
    "multi_label_recall(h/hrs)": "share of the raters' response set that the judge chooses",
    "multi_label_recall(hrs/hrs)": "share of the raters' response set that is in the judge's",
    "multi_label_precision(hrs/h)": "share of the judge's options that the raters choose",
    "multi_label_precision(hrs/hrs)": "share of the judge's options that the raters accept",
}


def coverage(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: P(the judge's option is among the humans' options), and the weight."""
    met = np.minimum(row_products(human, judge), 1.0)
    return weighted(met, both_rated(human, judge))


def recall(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 3) columns for the share of the humans' options that the judge accepts too.

    The third sum counts the items on which the humans accept none, which have no recall.
    """
    return _share(human, judge, human)


def precision(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 3) columns for the share of the judge's options that humans accept too."""
    return _share(human, judge, judge)


def shared_options(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 1 + 2 K) columns: 1, then per option whether both accept it, and how many do."""
    rated = both_rated(human, judge)
    sums = np.hstack([rated, human * judge, human + judge])
    return np.where(rated > 0, sums, 0.0)


def predictive_efficiency(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: the number of options that the judge accepts, and the weight.

    A judge's mode is one option, so that row in table 1 of Guerdan et al. 2025 is 1 for every
    judge.
    """
    return weighted(row_sums(judge), both_rated(human, judge))


def binary_cross_entropy(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 3) columns for the judge's cross-entropy for the humans' options in nats.

    The third sum counts the options for which the judge is certain and the humans disagree. Each
    would have an infinite cost.
    """
    nats = -(xlogy(human, judge) + xlogy(1.0 - human, 1.0 - judge))
    return finite_part(nats, both_rated(human, judge))


def binary_cross_entropy_of_modes(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Compute `binary_cross_entropy` for a judge's mode. It is either zero or infinite."""
    certain = np.abs(human - judge) <= TOLERANCE
    tied = (judge > TOLERANCE) & (judge < 1.0 - TOLERANCE)
    return finite_part(np.where(certain & ~tied, 0.0, np.inf), both_rated(human, judge))


def mse(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: squared Euclidean distance between the rating vectors, and weight."""
    return weighted(row_sums((human - judge) ** 2), both_rated(human, judge))


def mse_of_judge_modes(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Compute `mse` for a judge's mode."""
    return _mse(human, judge, row_products(human, human), row_sums(judge))


def mse_of_human_modes(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Compute `mse` for the humans' mode."""
    return _mse(human, judge, row_sums(human), row_products(judge, judge))


def mse_of_modes(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Compute `mse` for both modes. It is twice the share of misses."""
    return _mse(human, judge, row_sums(human), row_sums(judge))


def mse_without_rater_noise(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Estimate `mse` without bias for infinitely many raters and samples.

    Parameters
    ----------
    human, judge : (n, 2 K) arrays
        Vectors of a noisy form: shares, followed by the variance of each.
    """
    K = human.shape[1] // 2
    distance = row_sums((human[:, :K] - judge[:, :K]) ** 2)
    noise = row_sums(human[:, K:]) + row_sums(judge[:, K:])
    return weighted(distance - noise, both_rated(human, judge))


def _share(human: FloatArray, judge: FloatArray, of: FloatArray) -> FloatArray:
    rated = both_rated(human, judge)
    allowed = row_sums(of)[:, None]
    weight = np.where(rated > 0, (allowed > 0).astype(np.float64), 0.0)
    share = ratio(row_products(human, judge), allowed[:, 0])
    return np.hstack([weighted(share, weight), rated - weight])


def _both_and_either(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    K = (totals.shape[-1] - 1) // 2
    return totals[..., 1 : 1 + K], totals[..., 1 + K :]


def _micro_f1(totals: FloatArray) -> FloatArray:
    both, either = _both_and_either(totals)
    return ratio(2.0 * both.sum(axis=-1), either.sum(axis=-1))


def _macro_f1(totals: FloatArray) -> FloatArray:
    return mean_f1(*_both_and_either(totals))


def _no_f1_reason(totals: FloatArray) -> Reason:
    return "empty_sets" if totals[0] > 0 else "no_items"


def _mse(
    human: FloatArray, judge: FloatArray, human_square: FloatArray, judge_square: FloatArray
) -> FloatArray:
    distance = human_square + judge_square - 2.0 * row_products(human, judge)
    return weighted(np.maximum(distance, 0.0), both_rated(human, judge))


def _empty_sets(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return {"empty_sets": float(totals[2])}


def _no_share_reason(totals: FloatArray) -> Reason:
    return "empty_sets" if totals[2] > 0 else "no_items"


def _set_metric(
    kind: str,
    contributions: Callable[[FloatArray, FloatArray], FloatArray],
    forms: tuple[Form, Form],
    also: tuple[str, ...] = (),
) -> Metric:
    judge, human = forms
    alike = judge == human
    counted = contributions in {recall, precision}
    name = name_of(kind, judge, human)
    return Metric(
        name=name,
        kind=kind,
        display_name=_SET_NAMES[name],
        contributions=contributions,
        value=mean,
        reason=_no_share_reason if counted else no_items,
        human_form=human,
        judge_form=judge,
        better="higher",
        symmetric=alike and not counted,
        bounds=(0.0, 1.0),
        paper=_GUERDAN,
        family="categorical multi-label",
        perfect=("bound" if counted else "best") if alike else "other",
        also=also,
        counts=_empty_sets if counted else no_counts,
    )


def _f1_metric(kind: str, value: Callable[[FloatArray], FloatArray], display_name: str) -> Metric:
    return Metric(
        name=name_of(kind, "hrs", "hrs"),
        kind=kind,
        display_name=display_name,
        contributions=shared_options,
        value=value,
        reason=_no_f1_reason,
        human_form="hrs",
        judge_form="hrs",
        symmetric=True,
        bounds=SHARE,
        paper="Tsoumakas et al. 2010, Mining Multi-label Data",
        family="categorical multi-label",
    )


def _size_metric(judge: Form, bounds: tuple[float, float], paper: str) -> Metric:
    metric = average_metric(
        "predictive_efficiency",
        predictive_efficiency,
        (judge, judge),
        display_name=f"options per item: {FORMS[judge].words} of the judge",
        bounds=bounds,
        symmetric=judge == "h",
        family="categorical multi-label",
        paper=paper,
        perfect="other",
        unit="options",
    )
    return replace(metric, name=f"{metric.kind}({judge}/-)")  # it depends only on the judge


def _compared(judge: Form, human: Form) -> str:
    if judge == human:
        return f"{FORMS[judge].words} of both"
    return f"judge's {FORMS[judge].words}, raters' {FORMS[human].words}"


_BCE = {"smoothed": f"bce_dirichlet_{SMOOTHING}", "smoothed_srs": f"bce_beta_{SMOOTHING}"}


def _bce_metric(judge: Form, human: Form) -> Metric:
    alike = judge == human
    return infinite_metric(
        _BCE.get(judge, "bce"),
        binary_cross_entropy_of_modes if judge == "h" else binary_cross_entropy,
        (judge, human),
        display_name=f"surprise at the raters' answers ({_compared(judge, human)})",
        family="continuous multi-label",
        paper=_GUERDAN,
        symmetric=alike,
        perfect="bound" if alike else "other",
    )


_MSE = {
    (True, True): mse_of_modes,
    (True, False): mse_of_judge_modes,
    (False, True): mse_of_human_modes,
    (False, False): mse,
}


def _mse_metric(judge: Form, human: Form) -> Metric:
    alike = judge == human
    return average_metric(
        "mse",
        _MSE[judge == "h", human == "h"],
        (judge, human),
        display_name="disagreement with raters"
        if judge == human == "srs"
        else f"disagreement with raters ({_compared(judge, human)})",
        symmetric=alike,
        bounds=(0.0, 2.0 if alike and judge in {"h", "s"} else np.inf),
        most_per_option=1.0,
        family="distributional" if (judge, human) == ("s", "s") else "continuous multi-label",
        paper=_GUERDAN,
        perfect="bound" if alike else "other",
        squared=SquaredDistance(_same) if alike and judge in {"s", "srs"} else None,
    )


def _same(vectors: FloatArray) -> FloatArray:
    return vectors


def _noiseless_metric(form: Form) -> Metric:
    return average_metric(
        "mse_without_rater_noise",
        mse_without_rater_noise,
        (form, form),
        display_name=f"disagreement with raters, rater noise removed ({FORMS[form].words})",
        symmetric=True,
        bounds=(-np.inf, np.inf),
        most_per_option=1.0,
        family="continuous multi-label",
        paper="mse less omega (1 - omega) / (m - 1) per option and side",
        perfect="other",
        estimand=POPULATION_VALUE,
    )


METRICS: tuple[Metric, ...] = (
    _set_metric("coverage", coverage, ("h", "hrs"), ("multi-label precision(h/hrs)",)),
    _set_metric("coverage", coverage, ("hrs", "h"), ("multi-label recall(hrs/h)",)),
    _set_metric("coverage", coverage, ("hrs", "hrs")),
    _set_metric("multi_label_recall", recall, ("h", "hrs")),
    _set_metric("multi_label_recall", recall, ("hrs", "hrs")),
    _set_metric("multi_label_precision", precision, ("hrs", "h")),
    _set_metric("multi_label_precision", precision, ("hrs", "hrs")),
    _f1_metric("micro_f1", _micro_f1, "agreement on options in response sets (micro F1)"),
    _f1_metric(
        "macro_f1", _macro_f1, "agreement on each option in response sets, averaged (macro F1)"
    ),
    _size_metric("h", (1.0, 1.0), f"{_GUERDAN}; 1 for every judge"),
    _size_metric("hrs", (0.0, np.inf), _GUERDAN),
    *(_bce_metric(judge, human) for human in ("h", "hrs") for judge in COMPARED_FORMS),
    *(
        _bce_metric(judge, human)
        for human in ("h", "hrs")
        for judge in ("smoothed", "smoothed_srs")
    ),
    *(_mse_metric(judge, human) for human in COMPARED_FORMS for judge in COMPARED_FORMS),
    _noiseless_metric("noisy_s"),
    _noiseless_metric("noisy_srs"),
)
