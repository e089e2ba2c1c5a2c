"""Agreement of two labels: hit rate, agreement beyond chance, and yes-or-no decisions.

A yes-or-no decision has four cells, in this order: tp (both positive), fn (only the human
positive), fp (only the judge positive) and tn (neither; Rao and Callison-Burch 2026, section 2).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio, row_products
from harness.stats.inference.metric import (
    SHARE,
    Metric,
    average_metric,
    both_rated,
    constant_labels,
    name_of,
    no_counts,
    no_items,
    unless_empty,
    weighted,
)
from harness.stats.metrics.chance import (
    above_uniform,
    cohen_kappa,
    margins,
    nominal_alpha,
    scott_pi,
    square,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.option_space import OptionSpace
    from harness.stats.inference.metric import Better, Family
    from harness.stats.reasons import Reason

CELLS = ("tp", "fn", "fp", "tn")
_RAO = "Rao and Callison-Burch 2026"
_GUERDAN = "Guerdan et al. 2025, section 4 and table 1"
_CALDERON = "Calderon et al. 2025, table 2 (Acc)"


def hit_rate(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: the probability that both modes are equal, and the item's weight."""
    return weighted(row_products(human, judge), both_rated(human, judge))


def hit_rate_ties_lost(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: 1 if the modes are certainly equal (ties count 0), and the weight."""
    certain = row_products(human, judge) >= 1.0 - TOLERANCE
    return weighted(certain.astype(np.float64), both_rated(human, judge))


def hit_rate_ties_won(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 2) columns: 1 if the modes can be equal, else 0, and the item's weight."""
    possible = row_products(human, judge) > 0.0
    return weighted(possible.astype(np.float64), both_rated(human, judge))


def confusion(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, K * K) cells of the confusion matrix, human by judge. Ties count in part."""
    rated = both_rated(human, judge) > 0
    cells = np.einsum("nh,nj->nhj", human, judge).reshape(len(human), human.shape[1] ** 2)
    return cells if rated.all() else np.where(rated, cells, 0.0)


def _two_sided_alpha(totals: FloatArray) -> FloatArray:
    _, hits, human, judge = margins(totals)
    return nominal_alpha(human + judge, 2.0 * hits)


def _randolph_kappa(totals: FloatArray) -> FloatArray:
    n, hits, human, _ = margins(totals)
    return above_uniform(ratio(hits, n), human.shape[-1])


def gorodkin_r(totals: FloatArray) -> FloatArray:
    """Return the correlation of K options from (..., K * K) cells. It equals phi if K is 2.

    It is the covariance of the two one-hot labels divided by the root of both variances (Gorodkin
    2004, Eq. 8).
    """
    n, hits, human, judge = margins(totals)
    squared = n * n
    varied = (squared - np.vecdot(human, human)) * (squared - np.vecdot(judge, judge))
    varied = np.where(varied > TOLERANCE * squared**2, varied, 0.0)
    return np.clip(ratio(n * hits - np.vecdot(human, judge), np.sqrt(varied)), -1.0, 1.0)


def macro_f1(totals: FloatArray) -> FloatArray:
    """Return the unweighted mean F1 over the options that occur in (..., K * K) cells."""
    cells = square(totals)
    hits = np.diagonal(cells, axis1=-2, axis2=-1)
    return mean_f1(hits, cells.sum(axis=-1) + cells.sum(axis=-2))


def mean_f1(hits: FloatArray, chosen: FloatArray) -> FloatArray:
    """Average 2 hits / chosen, both (..., K), over the options that either side chose."""
    occurs = chosen > TOLERANCE
    scores = np.where(occurs, ratio(2.0 * hits, chosen), 0.0)
    return ratio(scores.sum(axis=-1), occurs.sum(axis=-1))


def cell_counts(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:
    """Name each cell of a confusion matrix by its options, as human | judge."""
    pairs = ((human, judge) for human in options for judge in options)
    return {f"{h} | {j}": float(n) for (h, j), n in zip(pairs, totals, strict=True)}


def _hit_metric(
    kind: str,
    display_name: str,
    contributions: Callable[[FloatArray, FloatArray], FloatArray],
    paper: str,
    also: tuple[str, ...] = (),
) -> Metric:
    return average_metric(
        kind,
        contributions,
        ("h", "h"),
        display_name=display_name,
        better="higher",
        bounds=SHARE,
        symmetric=True,
        family="categorical",
        paper=paper,
        also=also,
    )


class LabelFields(TypedDict, total=False):
    """Fields of `Metric` that differ between coefficients for two modes."""

    family: Family
    reason: Callable[[FloatArray], Reason]
    bounds: tuple[float, float]
    counts: Callable[[FloatArray, Sequence[str]], dict[str, float]]
    also: tuple[str, ...]


def label_metric(
    kind: str,
    display_name: str,
    value: Callable[[FloatArray], FloatArray],
    paper: str,
    **about: Unpack[LabelFields],
) -> Metric:
    """Return a coefficient for the cells of two modes. By default, constant labels are NA."""
    metric = Metric(
        name=name_of(kind, "h", "h"),
        kind=kind,
        display_name=display_name,
        contributions=confusion,
        value=value,
        symmetric=True,
        paper=paper,
        family="categorical",
        reason=constant_labels,
        beyond_chance=True,
        counts=cell_counts,
    )
    return replace(metric, **about)


_SINGLE_LABEL = (
    "exact match of the modes",
    "coverage, multi-label precision and recall (h/h)",
    "micro_f1(h/h)",
)
METRICS: tuple[Metric, ...] = (
    _hit_metric("hit_rate", "hit rate", hit_rate, _GUERDAN, _SINGLE_LABEL),
    _hit_metric(
        "hit_rate_ties_lost", "hit rate, ties counted as misses", hit_rate_ties_lost, _CALDERON
    ),
    _hit_metric(
        "hit_rate_ties_won", "hit rate, ties counted as hits", hit_rate_ties_won, _CALDERON
    ),
    label_metric("cohen_kappa", "agreement beyond chance (Cohen's kappa)", cohen_kappa, _GUERDAN),
    label_metric(
        "scott_pi",
        "agreement beyond chance (Scott's pi)",
        scott_pi,
        "Scott 1955; Fleiss 1971 for two raters",
        also=("fleiss_kappa of the two modes",),
    ),
    label_metric(
        "krippendorff_alpha_nominal",
        "agreement beyond chance (Krippendorff's alpha)",
        _two_sided_alpha,
        "Krippendorff 2011, two raters",
    ),
    label_metric(
        "randolph_kappa",
        "agreement beyond uniform guessing (Randolph's kappa)",
        _randolph_kappa,
        "Randolph 2005, declared options",
        reason=unless_empty("single_option"),
    ),
    label_metric(
        "gorodkin_r",
        "correlation of options (Gorodkin's R)",
        gorodkin_r,
        "Gorodkin 2004, Eq. 8: the Matthews correlation of several options",
        counts=no_counts,
    ),
    label_metric(
        "macro_f1",
        "agreement on each option, averaged (macro F1)",
        macro_f1,
        "Opitz and Burst 2019: the mean of the F1 scores over options that occur",
        reason=no_items,
        bounds=SHARE,
        counts=no_counts,
    ),
)


def binary_cells(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 4) columns per item: tp, fn, fp and tn.

    Parameters
    ----------
    human, judge : (n,) array
        1 for positive, 0 for negative, a number in between for a tie, nan if there is no verdict.

    Raises
    ------
    ValueError
        If the shapes differ, or a number lies outside [0, 1].
    """
    h, j = np.asarray(human, dtype=np.float64), np.asarray(judge, dtype=np.float64)
    if h.ndim != 1 or h.shape != j.shape:
        raise ValueError(f"human has shape {h.shape} and judge {j.shape}; wanted (n,) for both")
    for name, side in (("human", h), ("judge", j)):
        if (side < -TOLERANCE).any() or (side > 1.0 + TOLERANCE).any():
            raise ValueError(
                f"{name} contains a number outside [0, 1]; use 1 for positive and 0 for negative"
            )
    cells = np.stack([h * j, h * (1.0 - j), (1.0 - h) * j, (1.0 - h) * (1.0 - j)], axis=1)
    return np.where(np.isnan(cells), 0.0, cells)


def one_vs_rest(totals: FloatArray, k: int) -> FloatArray:
    """Collapse (..., K * K) confusion cells to four, with option ``k`` against all others."""
    cells = square(totals)
    tp, row, column = cells[..., k, k], cells[..., k, :].sum(axis=-1), cells[..., :, k].sum(axis=-1)
    return np.stack([tp, row - tp, column - tp, totals.sum(axis=-1) - row - column + tp], axis=-1)


def _parts(totals: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    tp, fn, fp, tn = np.moveaxis(totals, -1, 0)
    return tp, fn, fp, tn


def _accuracy(totals: FloatArray) -> FloatArray:
    tp, fn, fp, tn = _parts(totals)
    return ratio(tp + tn, tp + fn + fp + tn)


def _precision(totals: FloatArray) -> FloatArray:
    tp, _, fp, _ = _parts(totals)
    return ratio(tp, tp + fp)


def _recall(totals: FloatArray) -> FloatArray:
    tp, fn, _, _ = _parts(totals)
    return ratio(tp, tp + fn)


def _f1(totals: FloatArray) -> FloatArray:
    tp, fn, fp, _ = _parts(totals)
    return ratio(2.0 * tp, 2.0 * tp + fp + fn)


def _prevalence(totals: FloatArray) -> FloatArray:
    tp, fn, fp, tn = _parts(totals)
    return ratio(tp + fn, tp + fn + fp + tn)


def _predicted_rate(totals: FloatArray) -> FloatArray:
    tp, fn, fp, tn = _parts(totals)
    return ratio(tp + fp, tp + fn + fp + tn)


def _marginal_drift(totals: FloatArray) -> FloatArray:
    return _predicted_rate(totals) - _prevalence(totals)


def _expected(totals: FloatArray) -> FloatArray:
    human, judge = _prevalence(totals), _predicted_rate(totals)
    return human * judge + (1.0 - human) * (1.0 - judge)


def _mixed(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A = (TP + FN)(FN + TN) and B = (TP + FP)(FP + TN) from equations 9 to 11."""
    tp, fn, fp, tn = _parts(totals)
    return (tp + fn) * (fn + tn), (tp + fp) * (fp + tn)


def _phi(totals: FloatArray) -> FloatArray:
    tp, fn, fp, tn = _parts(totals)
    A, B = _mixed(totals)
    phi = ratio(tp * tn - fp * fn, np.sqrt(A) * np.sqrt(B))
    return np.clip(phi, -1.0, 1.0)


def _kappa_over_phi(totals: FloatArray) -> FloatArray:
    A, B = _mixed(totals)
    quotient = ratio(2.0 * np.sqrt(A) * np.sqrt(B), A + B)
    return np.where((A > 0) & (B > 0), quotient, np.nan)


def _kappa_phi_gap(totals: FloatArray) -> FloatArray:
    return _phi(totals) - cohen_kappa(totals)


def _negative(value: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    return lambda totals: value(totals[..., ::-1])


_DECISION_NAMES = {
    "accuracy": "share of decisions that match",
    "precision": "share of the judge's positives that are positive",
    "recall": "share of the positives that the judge calls positive",
    "f1": "agreement on positives (F1)",
    "precision_negative": "share of the judge's negatives that are negative",
    "recall_negative": "share of the negatives that the judge calls negative",
    "f1_negative": "agreement on negatives (F1)",
    "kappa": "agreement on decisions beyond chance (kappa)",
    "phi": "correlation between decisions (phi)",
    "prevalence": "share of positives according to the raters",
    "predicted_rate": "share of positives according to the judge",
    "marginal_drift": "judge's share of positives minus the raters'",
    "p_e": "agreement expected by chance",
    "kappa_over_phi": "kappa divided by phi",
    "kappa_phi_gap": "phi minus kappa",
}
_SYMMETRIC = {"accuracy", "f1", "f1_negative", "kappa", "phi", "p_e", "kappa_over_phi"}
_SYMMETRIC |= {"kappa_phi_gap"}


def _decision_metric(
    name: str,
    value: Callable[[FloatArray], FloatArray],
    reason: Reason,
    equation: str,
    *,
    better: Better = "higher",
    bounds: tuple[float, float] = SHARE,
    beyond_chance: bool = False,
    also: tuple[str, ...] = (),
) -> Metric:
    return Metric(
        name=name,
        display_name=_DECISION_NAMES[name],
        contributions=binary_cells,
        value=value,
        reason=unless_empty(reason),
        symmetric=name in _SYMMETRIC,
        paper=f"{_RAO}, {equation}",
        family="binary",
        better=better,
        bounds=bounds,
        beyond_chance=beyond_chance,
        also=also,
    )


def _decision_counts(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return dict(zip(CELLS, map(float, totals), strict=True))


_SIGNED = (-1.0, 1.0)
_CONSTANT: Final = "constant_labels"
_PHI_IS_ALSO = ("mcc", "pearson", "spearman", "kendall_tau_b")
BINARY: tuple[Metric, ...] = (
    _decision_metric("accuracy", _accuracy, "", "Eq. 1"),
    _decision_metric("precision", _precision, "no_positive_verdicts", "section 3"),
    _decision_metric("recall", _recall, "no_positive_labels", "section 3"),
    _decision_metric("f1", _f1, "no_positives", "Eq. 2"),
    _decision_metric(
        "precision_negative", _negative(_precision), "no_negative_verdicts", "section 3"
    ),
    _decision_metric("recall_negative", _negative(_recall), "no_negative_labels", "section 3"),
    _decision_metric("f1_negative", _negative(_f1), "no_negatives", "footnote 2"),
    _decision_metric(
        "kappa", cohen_kappa, _CONSTANT, "Eq. 3 and 4", bounds=_SIGNED, beyond_chance=True
    ),
    _decision_metric(
        "phi", _phi, _CONSTANT, "Eq. 5 to 8", also=_PHI_IS_ALSO, bounds=_SIGNED, beyond_chance=True
    ),
)
DIAGNOSTICS: tuple[Metric, ...] = (
    _decision_metric("prevalence", _prevalence, "", "section 2"),
    _decision_metric("predicted_rate", _predicted_rate, "", "section 2"),
    _decision_metric(
        "marginal_drift",
        _marginal_drift,
        "",
        "section 5: predicted rate - prevalence",
        better="zero",
        bounds=_SIGNED,
    ),
    _decision_metric("p_e", _expected, "", "Eq. 3"),
    _decision_metric("kappa_over_phi", _kappa_over_phi, _CONSTANT, "Eq. 11"),
    _decision_metric(
        "kappa_phi_gap",
        _kappa_phi_gap,
        _CONSTANT,
        "section 5: phi - kappa",
        better="zero",
        bounds=_SIGNED,
    ),
)
_ON_MODES = {*(metric.name for metric in BINARY), "marginal_drift", "kappa_phi_gap"}


def binary_metrics(space: OptionSpace, positive: Sequence[str]) -> tuple[Metric, ...]:
    """Return the binary metrics for the human mode and the judge mode.

    Parameters
    ----------
    space : OptionSpace
        The options.
    positive : sequence of str
        The options that count as positive; all others are negative.

    Raises
    ------
    ValueError
        If a positive option is unknown, or none or all are positive.
    """
    mask = space.option_mask(positive)
    if mask.all():
        raise ValueError("positive names every option; at least one must be negative")

    def contributions(human: FloatArray, judge: FloatArray) -> FloatArray:
        both_rated(human, judge)
        return binary_cells(human[:, mask].sum(axis=1), judge[:, mask].sum(axis=1))

    return tuple(
        replace(
            metric,
            name=name_of(metric.kind, "h", "h"),
            contributions=contributions,
            counts=_decision_counts,
        )
        for metric in (*BINARY, *DIAGNOSTICS)
        if metric.name in _ON_MODES
    )


def n_var_kappa(p: FloatArray) -> FloatArray:
    """Return N times the large-sample variance of Cohen's kappa.

    Parameters
    ----------
    p : (..., K, K) array
        Cell shares, human by judge.

    Returns
    -------
    (...) array
        nan if kappa is undefined.

    Notes
    -----
    Multinomial delta method: sum p g^2 - (sum p g)^2 with g the gradient of kappa, which is the
    closed form of Fleiss, Cohen and Everitt 1969.
    """
    p = _shares(p)
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    observed = np.trace(p, axis1=-2, axis2=-1)[..., None, None]
    expected = (rows * columns).sum(axis=-1)[..., None, None]
    expected = np.where(expected < 1.0 - TOLERANCE, expected, np.nan)
    by_expected = columns[..., :, None] + rows[..., None, :]
    gradient = np.eye(p.shape[-1]) / (1.0 - expected)
    gradient = gradient - by_expected * (1.0 - observed) / (1.0 - expected) ** 2
    return _delta(p, gradient)


def n_var_phi(p: FloatArray) -> FloatArray:
    """Return N times phi's large-sample variance for (..., 2, 2) shares. See `n_var_kappa`."""
    p = _shares(p)
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    scale = np.sqrt(rows.prod(axis=-1) * columns.prod(axis=-1))[..., None, None]
    scale = np.where(scale > 0, scale, np.nan)
    signed = np.array([[1.0, -1.0], [-1.0, 1.0]])
    product = p[..., 0, 0] * p[..., 1, 1] - p[..., 0, 1] * p[..., 1, 0]
    phi = product[..., None, None] / scale
    by_row, by_column = (ratio(np.ones_like(margin), margin) for margin in (rows, columns))
    by_margin = by_row[..., :, None] + by_column[..., None, :]
    gradient = signed * p[..., ::-1, ::-1] / scale - phi / 2.0 * by_margin
    return _delta(p, gradient)


def _shares(p: FloatArray) -> FloatArray:
    cells = np.asarray(p, dtype=np.float64)
    if cells.ndim < 2 or cells.shape[-1] != cells.shape[-2]:  # noqa: PLR2004 -- a matrix has two axes
        raise ValueError(f"p has shape {cells.shape}; wanted cell shares, (..., K, K)")
    if (cells < 0).any() or (np.abs(cells.sum(axis=(-2, -1)) - 1.0) > TOLERANCE * 1e3).any():
        raise ValueError("not_a_distribution: cell shares are non-negative and sum to 1")
    return cells


def _delta(p: FloatArray, gradient: FloatArray) -> FloatArray:
    first = (p * gradient).sum(axis=(-2, -1))
    return np.asarray((p * gradient**2).sum(axis=(-2, -1)) - first**2, dtype=np.float64)
