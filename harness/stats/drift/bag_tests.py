"""Evidence that replies in a window come from another source than all earlier replies.

Given how often each category occurs among all replies of an item (its bag), how often it occurs in
the window is hypergeometric if nothing changed, whatever the item's own distribution is. Two tests
follow: an e-value, whose expectation is 1 if nothing changed, and an exact p-value.

S streams with the same numbers of items and categories are handled at once: S is 1 for a judge's
replies, larger in simulations. Sums do not go through BLAS, so that they are the same on each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.special_functions import gammaln

if TYPE_CHECKING:
    from harness.stats.data.arrays import FloatArray, IntArray

CONCENTRATIONS = (0.15, 0.5)
MAX_LOG_E = 50.0
SHARES = (0.01, 0.05, 0.25, 1.0)  # of items that changed
SHIFTS = (0.5, 2.0)  # of the odds of a category, in all items

SCORE_CONCENTRATION = 0.15
SCORE_MAX_LOG_E = 12.0
SCORE_STEP = 0.25
FFT_LENGTH = 1024
TAIL = 0.75  # sums from this share of the FFT's length on are not told apart
ROUNDING = 1e-12
TILTS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)  # of the Chernoff bound


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WindowEvidence:
    """Both tests of one window, for S streams.

    Attributes
    ----------
    log_e : (S,) array
        Log e-value: the mean of those of both alternatives.
    log_few : (S,) array
        Log e-value against "a few items changed".
    log_shifts : (S, 1 + C, 2) array
        Log e-values against "all items changed a little": fewer or more replies of the items' usual
        answer, then of each category; -inf for a category that does not occur.
    p : (S,) array
        Exact p-values.
    """

    log_e: FloatArray
    log_few: FloatArray
    log_shifts: FloatArray
    p: FloatArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Rows:
    """The R different laws of how often a category of an item occurs in a window.

    ``n_replies``, ``n_category`` and ``n_inside``, (R,) each, are the replies of the item, those of
    the category, and those inside the window; ``log_p``, (R, Y), is the log chance that 0 to Y - 1
    of the category are inside.
    """

    n_replies: IntArray
    n_category: IntArray
    n_inside: IntArray
    log_p: FloatArray

    @classmethod
    def of(cls, n_replies: IntArray, n_category: IntArray, n_inside: IntArray) -> _Rows:
        y = np.arange(int(np.minimum(n_category, n_inside).max(initial=0)) + 1)
        N, M, A = n_replies[:, None], n_category[:, None], n_inside[:, None]
        possible = (y <= M) & (y <= A) & (A - y <= N - M)
        log_p = _log_choose(M, y) + _log_choose(N - M, np.clip(A - y, 0, N - M)) - _log_choose(N, A)
        return cls(n_replies, n_category, n_inside, np.where(possible, log_p, -np.inf))

    def log_e(self, concentration: float) -> FloatArray:
        """Return (R, Y) log e-values for a Beta prior on both sides of the window."""
        y = np.arange(self.log_p.shape[1])
        N, M, A = self.n_replies[:, None], self.n_category[:, None], self.n_inside[:, None]
        largest = int(self.n_replies.max(initial=0))
        log_gamma = _log_gamma(concentration, largest)
        counts = (y, A - y, M - y, N - A - M + y)
        log_h = sum(log_gamma[np.clip(count, 0, largest)] for count in counts)
        return self._normalised(np.asarray(log_h))

    def log_shift(self, ratio: float) -> FloatArray:
        """Return (R, Y) log e-values for odds that changed by a factor in the window."""
        return self._normalised(np.arange(self.log_p.shape[1]) * np.log(ratio))

    def _normalised(self, log_h: FloatArray) -> FloatArray:
        """Divide by the expectation; -inf where impossible."""
        joint = self.log_p + log_h
        log_e = log_h - _log_sum_exp(joint)[:, None]
        return np.where(np.isfinite(self.log_p), log_e, -np.inf)


def window_evidence(bags: IntArray, inside: IntArray) -> WindowEvidence:
    """Return both tests of a window.

    Parameters
    ----------
    bags : (S, n, C) int array
        Replies per stream, item and category, up to the end of the window.
    inside : (S, n, C) int array
        Those inside the window.
    """
    usual = _usual(bags)
    rows, row, x = _usual_rows(bags, inside, usual)
    log_e = _mixed(rows)
    factors = np.stack([_mix_with_one(log_e, share) for share in SHARES], axis=-1)
    log_few = _log_mean_exp(factors[row, x].sum(axis=1))
    log_shifts, n_shifts = _shifts(bags, inside, usual)
    log_all = _log_sum_exp(log_shifts.reshape(len(bags), -1)) - np.log(n_shifts)
    return WindowEvidence(
        log_e=np.logaddexp(log_few, log_all) - np.log(2.0),
        log_few=log_few,
        log_shifts=log_shifts,
        p=_exact_p(rows, row, x),
    )


def item_log_e(bags: IntArray, inside: IntArray) -> FloatArray:
    """Return the (S, n) log e-values of single items in a window; arguments as above."""
    rows, row, x = _usual_rows(bags, inside, _usual(bags))
    return np.asarray(_mixed(rows)[row, x], dtype=np.float64)


def exact_p(bags: IntArray, inside: IntArray) -> FloatArray:
    """Return the (S,) exact p-values alone; arguments as above."""
    return _exact_p(*_usual_rows(bags, inside, _usual(bags)))


def _usual(bags: IntArray) -> IntArray:
    """Return the (S, n) plurality answers of whole bags; ties go to the first category."""
    return np.asarray(np.argmax(bags, axis=2))


def _usual_rows(
    bags: IntArray, inside: IntArray, usual: IntArray
) -> tuple[_Rows, IntArray, IntArray]:
    """Return the laws of the usual answers, each item's law (S, n), and its count inside (S, n)."""
    rows, row = _rows_of(bags.sum(axis=2), _pick(bags, usual), inside.sum(axis=2))
    return rows, row, _pick(inside, usual)


def _pick(counts: IntArray, category: IntArray) -> IntArray:
    return np.asarray(np.take_along_axis(counts, category[..., None], axis=2)[..., 0])


def _rows_of(
    n_replies: IntArray, n_category: IntArray, n_inside: IntArray
) -> tuple[_Rows, IntArray]:
    """Group equal triples: the different laws, and the place of each triple among them."""
    n_replies, n_inside = np.broadcast_arrays(n_replies, n_inside)
    size = int(n_replies.max(initial=0)) + 1
    key = (n_replies * size + n_inside) * size + n_category
    different, row = np.unique(key, return_inverse=True)
    pairs, M = np.divmod(different, size)
    N, A = np.divmod(pairs, size)
    return _Rows.of(N, M, A), row.reshape(key.shape)


def _mixed(rows: _Rows) -> FloatArray:
    """Return (R, Y) log e-values, averaged over the concentrations."""
    log_e = np.stack([rows.log_e(concentration) for concentration in CONCENTRATIONS])
    return np.asarray(np.minimum(_log_mean_exp(log_e, axis=0), MAX_LOG_E))


def _mix_with_one(log_e: FloatArray, share: float) -> FloatArray:
    """Return log(1 - share + share e)."""
    if share == 1.0:
        return log_e
    return np.asarray(np.logaddexp(np.log1p(-share), np.log(share) + log_e))


def _shifts(bags: IntArray, inside: IntArray, usual: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the (S, 1 + C, 2) log e-values of common shifts, and how many enter, (S,)."""
    n_category = np.concatenate([_pick(bags, usual)[..., None], bags], axis=2)
    x = np.concatenate([_pick(inside, usual)[..., None], inside], axis=2)
    N, A = bags.sum(axis=2, keepdims=True), inside.sum(axis=2, keepdims=True)
    rows, row = _rows_of(np.broadcast_to(N, n_category.shape), n_category, A)
    tables = np.stack([rows.log_shift(ratio) for ratio in SHIFTS], axis=-1)
    log_shifts = tables[row, x].sum(axis=1)
    occurs = np.asarray(n_category.any(axis=1))
    occurs[:, 0] = True
    log_shifts = np.where(occurs[..., None], log_shifts, -np.inf)
    return log_shifts, len(SHIFTS) * occurs.sum(axis=1)


# Exact p-values


def _exact_p(rows: _Rows, row: IntArray, x: IntArray) -> FloatArray:
    """Return the chance of a sum of item scores at least as large as the one observed, (S,)."""
    scores = _scores(rows)
    observed = scores[row, x].sum(axis=1)
    n_items = _histogram(row, len(scores))
    law = _score_law(rows, scores)
    length = FFT_LENGTH
    while _chernoff(law, n_items, TAIL * length).max(initial=0.0) > ROUNDING:
        length *= 2
    p = np.full(len(row), ROUNDING)
    near = observed < TAIL * length
    if near.any():
        tails = np.cumsum(_sum_law(law, n_items[near], length)[:, ::-1], axis=1)[:, ::-1]
        p[near] = np.take_along_axis(tails, observed[near, None], axis=1)[:, 0] + ROUNDING
    return np.asarray(np.clip(p, ROUNDING, 1.0))


def _scores(rows: _Rows) -> IntArray:
    """Return (R, Y): how much each count speaks for a change, in steps."""
    log_e = np.minimum(rows.log_e(SCORE_CONCENTRATION), SCORE_MAX_LOG_E)
    steps = np.round(np.log(0.75 + 0.25 * np.exp(log_e)) / SCORE_STEP)
    return np.maximum(steps, 0.0).astype(np.int64)


def _score_law(rows: _Rows, scores: IntArray) -> FloatArray:
    """Return (R, K): the chance of each score of an item."""
    n_rows, n_scores = len(scores), int(scores.max(initial=0)) + 1
    cell = np.arange(n_rows)[:, None] * n_scores + scores
    law = np.bincount(cell.ravel(), np.exp(rows.log_p).ravel(), n_rows * n_scores)
    return np.asarray(law.reshape(n_rows, n_scores), dtype=np.float64)


def _histogram(row: IntArray, n_rows: int) -> IntArray:
    """Count the items of each law: (S, R)."""
    cell = np.arange(len(row))[:, None] * n_rows + row
    return np.bincount(cell.ravel(), minlength=len(row) * n_rows).reshape(len(row), n_rows)


def _sum_law(law: FloatArray, n_items: IntArray, length: int) -> FloatArray:
    """Return (S, length): the chance of each sum of scores."""
    transform = np.fft.rfft(law, n=length, axis=1)
    log_size = np.log(np.maximum(np.abs(transform), np.finfo(np.float64).tiny))
    counts = n_items.astype(np.float64)
    size = np.exp(np.einsum("sr,rf->sf", counts, log_size))
    angle = np.einsum("sr,rf->sf", counts, np.angle(transform))
    return np.asarray(np.fft.irfft(size * np.exp(1j * angle), n=length, axis=1))


def _chernoff(law: FloatArray, n_items: IntArray, bound: float) -> FloatArray:
    """Bound the chance of a sum of at least ``bound``: (S,)."""
    tilts = np.array(TILTS)
    growth = np.log(np.einsum("rk,kt->rt", law, np.exp(np.outer(np.arange(law.shape[1]), tilts))))
    exponent = np.einsum("sr,rt->st", n_items.astype(np.float64), growth) - tilts * bound
    return np.asarray(np.exp(exponent.min(axis=1)))


# Logarithms


@lru_cache(maxsize=32)
def _log_gamma(offset: float, largest: int) -> FloatArray:
    """Return the log gamma function at offset, offset + 1, ..., offset + largest."""
    return gammaln(np.arange(largest + 1) + offset)


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    """Return log binomial coefficients; any number where k exceeds n."""
    log_factorial = _log_gamma(1.0, int(n.max(initial=0)))
    k = np.minimum(k, n)
    return np.asarray(log_factorial[n] - log_factorial[k] - log_factorial[n - k])


def _log_sum_exp(values: FloatArray, axis: int = -1) -> FloatArray:
    """Return log(sum(exp(values))) along an axis that holds a finite number."""
    greatest = values.max(axis=axis, keepdims=True)
    return np.asarray(np.log(np.exp(values - greatest).sum(axis=axis)) + greatest.squeeze(axis))


def _log_mean_exp(values: FloatArray, axis: int = -1) -> FloatArray:
    finite = np.maximum(values, np.finfo(np.float64).min / 4)
    return np.asarray(_log_sum_exp(finite, axis) - np.log(values.shape[axis]))
