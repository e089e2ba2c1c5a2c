"""Multiple-testing procedures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, Scalar

ROUNDING = 1e-12  # tolerance for a p-value that equals its threshold as a fraction


@dataclass(frozen=True, slots=True, repr=False)
class FalseDiscoveries:
    """Decisions at a false discovery rate.

    Attributes
    ----------
    rejected : (..., m) bool array
        Whether each null hypothesis is rejected, in the order of the p-values.
    thresholds : (..., m) array
        Thresholds for the smallest, second smallest, ... p-value; nan beyond the number of
        hypotheses tested.
    adjusted : (..., m) array in [0, 1]
        The rate at which each hypothesis would just be rejected; nan if not tested.
    """

    rejected: BoolArray
    thresholds: FloatArray
    adjusted: FloatArray

    def __repr__(self) -> str:
        return f"FalseDiscoveries({int(self.rejected.sum())} of {self.rejected.size} rejected)"


def benjamini_yekutieli(p: ArrayLike, q: float = 0.05) -> FalseDiscoveries:
    """Control the false discovery rate of hypotheses with arbitrary dependence.

    Parameters
    ----------
    p : (..., m) array in [0, 1]
        p-values; each row of the last axis is one family. nan means that a hypothesis was not
        tested.
    q : float in (0, 1)
        Expected share of false rejections among the rejections.

    Returns
    -------
    FalseDiscoveries
        Step-up: the i smallest are rejected for the largest i whose p-value is at most
        ``i q / (m c)`` with ``c = 1 + 1/2 + ... + 1/m``; equality rejects.

    Raises
    ------
    ValueError
        If a p-value or q is out of range.

    Notes
    -----
    Benjamini and Yekutieli 2001; Calderon et al. 2025, algorithm 1.

    Examples
    --------
    >>> benjamini_yekutieli([0.5, 0.001, 0.02]).rejected
    array([False,  True, False])
    """
    values = np.asarray(p, dtype=np.float64)
    check_rate(q)
    if values.ndim == 0 or not (np.isnan(values) | ((values >= 0) & (values <= 1))).all():
        raise ValueError(f"p has shape {values.shape}; wanted (..., m) p-values between 0 and 1")
    order = np.argsort(values, axis=-1, kind="stable")  # nan comes last
    ordered = np.take_along_axis(values, order, axis=-1)
    scale = _scale(ordered)
    with np.errstate(invalid="ignore"):
        adjusted = np.minimum(_running_minimum(ordered * scale), 1.0)
    return FalseDiscoveries(
        rejected=np.asarray(values <= _greatest_rejected(ordered, scale, q), dtype=np.bool_),
        thresholds=q / scale,
        adjusted=_in_order(adjusted, order),
    )


def _greatest_rejected(ordered: FloatArray, scale: FloatArray, q: float) -> FloatArray:
    """Return the largest p-value that reaches its threshold, or -1 if none does."""
    with np.errstate(invalid="ignore"):
        reached = ordered <= q / scale * (1.0 + ROUNDING)
    greatest = np.where(reached, ordered, -1.0).max(axis=-1, keepdims=True, initial=-1.0)
    return np.asarray(greatest, dtype=np.float64)


def holm(p: ArrayLike) -> FloatArray:
    """Adjust p-values to control the probability of any false rejection under any dependence.

    Parameters
    ----------
    p : (m,) numbers in [0, 1]
        One p-value per comparison; nan for a comparison that was not made, which is not counted.

    Returns
    -------
    (m,) array
        Adjusted p-values, at most 1; nan remains nan.

    Raises
    ------
    ValueError
        If a p-value lies outside [0, 1].

    Notes
    -----
    Holm 1979, step down: the i-th smallest of m p-values is multiplied by m - i + 1, and adjusted
    values never fall.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p, dtype=np.float64)
    tested = ~np.isnan(values)
    if values.ndim != 1 or ((values[tested] < 0.0) | (values[tested] > 1.0)).any():
        raise ValueError(f"p must be (m,) numbers between 0 and 1, not of shape {values.shape}")
    order = np.argsort(values[tested], kind="stable")
    m = order.size
    scaled = np.maximum.accumulate(values[tested][order] * np.arange(m, 0, -1))
    adjusted = np.full_like(values, np.nan)
    adjusted[np.flatnonzero(tested)[order]] = np.minimum(scaled, 1.0)
    return adjusted


def partial_conjunction(p: ArrayLike, n_false: int) -> FloatArray:
    """Test whether at least a given number of hypotheses are false.

    Parameters
    ----------
    p : (..., m) array in [0, 1]
        p-values; each row of the last axis is one family.
    n_false : int
        Number of false hypotheses under the alternative: u, from 1 to m.

    Returns
    -------
    (...) array
        p-value of H0: fewer than u hypotheses are false; the minimum of ``(m - u + 1) / (k - u + 1)
        p_(k)`` over k from u to m, with p_(k) the k-th smallest.

    Raises
    ------
    ValueError
        If a p-value is out of range, or u is not from 1 to m.

    References
    ----------
    Y. Benjamini, R. Heller, Screening for partial conjunction hypotheses, Biometrics 64 (2008),
    1215-1222: the form of Simes.

    Examples
    --------
    >>> float(partial_conjunction([0.5, 0.001, 0.02], 2))
    0.04
    """
    values = np.asarray(p, dtype=np.float64)
    if values.ndim == 0 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p has shape {values.shape}; wanted (..., m) p-values between 0 and 1")
    m = values.shape[-1]
    if not 1 <= n_false <= m:
        raise ValueError(f"n_false is {n_false}; with {m} hypotheses, it must be from 1 to {m}")
    n_left = m - n_false + 1
    greatest = np.sort(values, axis=-1)[..., n_false - 1 :]
    return np.asarray((n_left / np.arange(1, n_left + 1) * greatest).min(axis=-1))


def check_rate(q: float) -> None:
    """Reject a false discovery rate outside (0, 1)."""
    if not 0.0 < q < 1.0:
        raise ValueError(f"q is {q!r}; a false discovery rate must be between 0 and 1")


def _scale(ordered: FloatArray) -> FloatArray:
    """Return ``m c / i`` for the i-th smallest p-value, or nan for untested hypotheses."""
    tested = ~np.isnan(ordered)
    i = np.arange(1, ordered.shape[-1] + 1)
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / i)])
    m = tested.sum(axis=-1, keepdims=True)
    return np.where(tested, m * harmonic[m] / i, np.nan)


def _running_minimum(values: FloatArray) -> FloatArray:
    """Return the running minimum from the end of the last axis. A nan stays nan."""
    least = np.fmin.accumulate(values[..., ::-1], axis=-1)[..., ::-1]
    return np.where(np.isnan(values), np.nan, least)


def _in_order(ordered: NDArray[Scalar], order: IntArray) -> NDArray[Scalar]:
    back = np.empty_like(ordered)
    np.put_along_axis(back, order, ordered, axis=-1)
    return back
