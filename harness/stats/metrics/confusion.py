"""Agreement on a yes-or-no criterion: four cells, and everything that is read off them.

The cells are, in this order, tp, fn, fp, tn: human positive and judge positive, human positive
alone, judge positive alone, neither (Rao and Callison-Burch 2026, section 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.stats.data.arrays import TOLERANCE, FloatArray, ratio
from harness.stats.inference.metric import Metric, both_rated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from harness.stats.data.option_space import OptionSpace

CELLS = ("tp", "fn", "fp", "tn")
_RAO = "Rao and Callison-Burch 2026"


def binary_cells(human: FloatArray, judge: FloatArray) -> FloatArray:
    """Return (n, 4): tp, fn, fp, tn of each item.

    Parameters
    ----------
    human, judge : (n,) array
        1 for positive, 0 for negative, between for a tie, nan where there is no verdict.

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
            raise ValueError(f"{name} holds a number outside [0, 1]; 1 is positive, 0 negative")
    cells = np.stack([h * j, h * (1.0 - j), (1.0 - h) * j, (1.0 - h) * (1.0 - j)], axis=1)
    return np.where(np.isnan(cells), 0.0, cells)


def one_vs_rest(totals: FloatArray, k: int) -> FloatArray:
    """Collapse (..., K * K) confusion cells to the four of option ``k`` against all others."""
    K = round(totals.shape[-1] ** 0.5)
    cells = totals.reshape(*totals.shape[:-1], K, K)
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
    """Return A = (TP + FN)(FN + TN) and B = (TP + FP)(FP + TN) of Eq. 9 to 11."""
    tp, fn, fp, tn = _parts(totals)
    return (tp + fn) * (fn + tn), (tp + fp) * (fp + tn)


def _kappa(totals: FloatArray) -> FloatArray:
    tp, fn, fp, tn = _parts(totals)
    A, B = _mixed(totals)
    return ratio(2.0 * (tp * tn - fp * fn), A + B)


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
    return _phi(totals) - _kappa(totals)


def _negative(value: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], FloatArray]:
    return lambda totals: value(totals[..., ::-1])


def _why(reason: str) -> Callable[[FloatArray], str]:
    return lambda totals: reason if totals.sum() > 0 else "no_items"


def _share(
    name: str, value: Callable[[FloatArray], FloatArray], reason: str, equation: str
) -> Metric:
    return Metric(
        name=name, value=value, reason=_why(reason), paper=f"{_RAO}, {equation}", bounds=(0.0, 1.0)
    )


_CONSTANT = _why("constant_labels")
_PHI_IS_ALSO = ("mcc", "pearson", "spearman", "kendall_tau_b")
BINARY: tuple[Metric, ...] = (
    _share("accuracy", _accuracy, "", "Eq. 1"),
    _share("precision", _precision, "no_positive_verdicts", "section 3"),
    _share("recall", _recall, "no_positive_labels", "section 3"),
    _share("f1", _f1, "no_positives", "Eq. 2"),
    _share("precision_negative", _negative(_precision), "no_negative_verdicts", "section 3"),
    _share("recall_negative", _negative(_recall), "no_negative_labels", "section 3"),
    _share("f1_negative", _negative(_f1), "no_negatives", "footnote 2"),
    Metric(name="kappa", value=_kappa, reason=_CONSTANT, paper=f"{_RAO}, Eq. 3 and 4"),
    Metric(
        name="phi",
        value=_phi,
        reason=_CONSTANT,
        paper=f"{_RAO}, Eq. 5 to 8",
        also=_PHI_IS_ALSO,
    ),
)
DIAGNOSTICS: tuple[Metric, ...] = (
    _share("prevalence", _prevalence, "", "section 2"),
    _share("predicted_rate", _predicted_rate, "", "section 2"),
    Metric(
        name="marginal_drift",
        value=_marginal_drift,
        reason=_why(""),
        paper=f"{_RAO}, section 5: predicted rate - prevalence",
        better="zero",
    ),
    _share("p_e", _expected, "", "Eq. 3"),
    _share("kappa_over_phi", _kappa_over_phi, "constant_labels", "Eq. 11"),
    Metric(
        name="kappa_phi_gap",
        value=_kappa_phi_gap,
        reason=_CONSTANT,
        paper=f"{_RAO}, section 5: phi - kappa",
        better="zero",
    ),
)


_SYMMETRIC = {"accuracy", "f1", "f1_negative", "kappa", "phi", "kappa_phi_gap"}
_ROWS = {*(one.name for one in BINARY), "marginal_drift", "kappa_phi_gap"}


def binary_metrics(space: OptionSpace, positive: Sequence[str]) -> tuple[Metric, ...]:
    """Make rows, as in `METRICS`, of the binary metrics of the human and the judge mode.

    Parameters
    ----------
    space : OptionSpace
        The options.
    positive : sequence of str
        The options that count as positive; the others are negative.

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
        Metric(
            name=f"{one.name}(h/h)",
            contributions=contributions,
            value=one.value,
            reason=one.reason,
            counts=_cell_counts,
            human_form="h",
            judge_form="h",
            better=one.better,
            symmetric=one.name in _SYMMETRIC,
            bounds=one.bounds,
            paper=one.paper,
            family="binary",
            also=one.also,
        )
        for one in (*BINARY, *DIAGNOSTICS)
        if one.name in _ROWS
    )


def _cell_counts(totals: FloatArray, options: Sequence[str]) -> dict[str, float]:  # noqa: ARG001 -- the signature of Metric.counts
    return dict(zip(CELLS, map(float, totals), strict=True))


def n_var_kappa(p: FloatArray) -> FloatArray:
    """N times the large-sample variance of Cohen's kappa.

    Parameters
    ----------
    p : (..., K, K) array
        Cell shares, human by judge.

    Returns
    -------
    (...) array
        nan where kappa is undefined.

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
    """N times the large-sample variance of phi: as `n_var_kappa`, for (..., 2, 2) cell shares."""
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
