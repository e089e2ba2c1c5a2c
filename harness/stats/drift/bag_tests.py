"""Evidence that replies in a window are not exchangeable with all earlier replies.

If nothing changed, a category's count in the window, given its count among all of an item's replies
(its bag), is hypergeometric, whatever the item's own distribution. Two tests follow: an e-value,
whose expectation is 1 if nothing changed, and an exact p-value.

S streams with the same numbers of items and categories are handled at once: S is 1 for a judge's
replies, larger in simulations. Sums avoid BLAS, so that they are identical on each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from harness.stats.inference.special_functions import gammaln

if TYPE_CHECKING:
    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray

CONCENTRATIONS = (0.15, 0.5)
MAX_LOG_E = 50.0
SHARES = (0.01, 0.05, 0.25, 1.0)  # of items that changed
SHIFTS = (0.5, 2.0)  # of the odds of a category, in all items: down, up
OUTCOME_SHIFTS = (0.125, 8.0, 32.0)  # also, for outcomes without a value, such as refusals
RATIOS = np.array((*SHIFTS, *OUTCOME_SHIFTS))

SCORE_CONCENTRATION = 0.15
SCORE_MAX_LOG_E = 12.0
SCORE_STEP = 0.25
FFT_LENGTH = 64  # initial length
TAIL = 0.75  # sums beyond this share of the FFT's length are not distinguished
ROUNDING = 1e-12
MAX_DENSE = 1 << 16  # most keys that are counted instead of sorted
TILTS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)  # of the Chernoff bound


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WindowEvidence:
    """Results of both tests of one window, for S streams.

    Attributes
    ----------
    log_e : (S,) array
        Log e-value: the mean over both alternatives.
    log_few : (S,) array
        Log e-value against "a few items changed".
    log_shifts : (S, 1 + C, 5) array
        Log e-values against "all items changed a little": the odds of the items' usual answer, then
        of each category, are multiplied by each of `RATIOS`; -inf for a category that does not
        occur and for a ratio that is only tried with outcomes.
    p : (S,) array
        Exact p-values.
    """

    log_e: FloatArray
    log_few: FloatArray
    log_shifts: FloatArray
    p: FloatArray


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Rows:
    """The R distinct probability distributions of a category's count in a window.

    ``n_replies``, ``n_category`` and ``n_inside``, (R,) each, are the number of replies to the
    item, in the category, and inside the window. ``log_p``, (R, Y), is the log probability that 0
    to Y - 1 of the category are inside.
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
        """Return (R, Y) log e-values with a Beta prior inside and outside the window."""
        y = np.arange(self.log_p.shape[1])
        N, M, A = self.n_replies[:, None], self.n_category[:, None], self.n_inside[:, None]
        largest = int(self.n_replies.max(initial=0))
        log_gamma = _log_gamma(concentration, largest)
        counts = (y, A - y, M - y, N - A - M + y)
        log_h = sum(log_gamma[np.clip(count, 0, largest)] for count in counts)
        return self._normalised(np.asarray(log_h))

    def log_shift(self, ratio: float) -> FloatArray:
        """Return (R, Y) log e-values for odds that are multiplied by a factor inside the window."""
        return self._normalised(np.arange(self.log_p.shape[1]) * np.log(ratio))

    def _normalised(self, log_h: FloatArray) -> FloatArray:
        """Divide e-values by their expectation. Impossible counts get a log of -inf."""
        joint = self.log_p + log_h
        log_e = log_h - _log_sum_exp(joint)[:, None]
        return np.where(np.isfinite(self.log_p), log_e, -np.inf)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Cells:
    """The U distinct combinations of a distribution and a count, with their frequencies.

    ``rows`` are the laws; ``row`` and ``x``, (U,) each, are the law of a combination, in ascending
    order, and its count. ``place``, (S, n, 1 + C), is the combination of each item and category,
    and ``times``, (S, 1 + C, U), counts the items; category 0 is the item's usual answer: the
    plurality of its whole bag, the first if tied.
    """

    rows: _Rows
    row: IntArray
    x: IntArray
    place: IntArray
    times: FloatArray

    @classmethod
    def of(cls, bags: IntArray, inside: IntArray) -> _Cells:
        usual = np.argmax(bags, axis=2)[..., None]
        n_category = np.concatenate([np.take_along_axis(bags, usual, axis=2), bags], axis=2)
        x = np.concatenate([np.take_along_axis(inside, usual, axis=2), inside], axis=2)
        pair, n_replies, n_inside = _pairs(_item_sums(bags), _item_sums(inside))
        n_counts, n_x = int(n_category.max(initial=0)) + 1, int(x.max(initial=0)) + 1
        different, place = _places((pair[..., None] * n_counts + n_category) * n_x + x)
        row_key, x_of_cell = np.divmod(different, n_x)
        row_keys, row = np.unique(row_key, return_inverse=True)
        pair_of_row, M = np.divmod(row_keys, n_counts)
        rows = _Rows.of(n_replies[pair_of_row], M, n_inside[pair_of_row])
        return cls(rows, row, x_of_cell, place, _times(place, len(different)))

    def sums(self, table: FloatArray) -> FloatArray:
        """Sum (U, d) values over the items and return an (S, 1 + C, d) array."""
        return np.asarray(np.einsum("scu,ud->scd", self.times, table))

    def usual_sums(self, table: FloatArray) -> FloatArray:
        """Sum (U, d) values of usual answers over the items and return an (S, d) array."""
        return np.asarray(np.einsum("su,ud->sd", self.times[:, 0], table))


def window_evidence(bags: IntArray, inside: IntArray, is_outcome: BoolArray) -> WindowEvidence:
    """Run both tests on a window.

    Parameters
    ----------
    bags : (S, n, C) int array
        Number of replies per stream, item and category, up to the end of the window.
    inside : (S, n, C) int array
        Number of replies inside the window.
    is_outcome : (C,) bool array
        Categories that are outcomes without a value, such as refused: larger shifts of their odds
        are tried as well, so that a rise from zero is detected at once.
    """
    cells = _Cells.of(bags, inside)
    log_e = _mixed(cells.rows)[cells.row, cells.x]
    factors = np.stack([_mix_with_one(log_e, share) for share in SHARES], axis=-1)
    log_few = _log_mean_exp(cells.usual_sums(factors))
    log_shifts, n_shifts = _shifts(cells, is_outcome)
    log_all = _log_sum_exp(log_shifts.reshape(len(bags), -1)) - np.log(n_shifts)
    return WindowEvidence(
        log_e=np.logaddexp(log_few, log_all) - np.log(2.0),
        log_few=log_few,
        log_shifts=log_shifts,
        p=_exact_p(cells),
    )


def item_log_e(bags: IntArray, inside: IntArray) -> FloatArray:
    """Return each item's log e-value as an (S, n) array.

    The arguments are as for `window_evidence`.
    """
    cells = _Cells.of(bags, inside)
    log_e = _mixed(cells.rows)[cells.row, cells.x]
    return np.asarray(log_e[cells.place[..., 0]])


def exact_p(bags: IntArray, inside: IntArray) -> FloatArray:
    """Return only the (S,) exact p-values. The arguments are as for `window_evidence`."""
    return _exact_p(_Cells.of(bags, inside))


def _item_sums(counts: IntArray) -> IntArray:
    """Sum (S, n, C) counts over the categories. Faster than `numpy.sum` for few categories."""
    return np.asarray(np.einsum("snc->sn", counts))


def _pairs(n_replies: IntArray, n_inside: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Number the distinct pairs. Return each element's pair number and both parts of each pair."""
    size = int(n_inside.max(initial=0)) + 1
    different, pair = _places(n_replies * size + n_inside)
    return pair, *np.divmod(different, size)


def _places(key: IntArray) -> tuple[IntArray, IntArray]:
    """Return an array's distinct values in ascending order, and the index of each element.

    Like `numpy.unique`, but by counting if the values are dense.
    """
    low, span = int(key.min(initial=0)), int(key.max(initial=0)) + 1
    if span > MAX_DENSE + key.size:
        different, place = np.unique(key, return_inverse=True)
        return different, place.reshape(key.shape)
    occurs = np.bincount((key - low).ravel()) > 0
    return np.flatnonzero(occurs) + low, (np.cumsum(occurs) - 1)[key - low]


def _times(place: IntArray, n_cells: int) -> FloatArray:
    """Count how many items are in each cell and return an (S, 1 + C, n_cells) array."""
    n_streams, _, n_columns = place.shape
    shape = (n_streams, n_columns, n_cells)
    start = np.arange(n_streams * n_columns).reshape(n_streams, 1, n_columns) * n_cells
    times = np.bincount((start + place).ravel(), minlength=n_streams * n_columns * n_cells)
    return times.reshape(shape).astype(np.float64)


def _mixed(rows: _Rows) -> FloatArray:
    """Return (R, Y) log e-values, averaged over the concentrations."""
    log_e = np.stack([rows.log_e(concentration) for concentration in CONCENTRATIONS])
    return np.asarray(np.minimum(_log_mean_exp(log_e, axis=0), MAX_LOG_E))


def _mix_with_one(log_e: FloatArray, share: float) -> FloatArray:
    """Return log(1 - share + share e)."""
    if share == 1.0:
        return log_e
    return np.asarray(np.logaddexp(np.log1p(-share), np.log(share) + log_e))


def _shifts(cells: _Cells, is_outcome: BoolArray) -> tuple[FloatArray, IntArray]:
    """Return (S, 1 + C, 5) log e-values for common shifts, and (S,) numbers of shifts tested."""
    tables = [cells.rows.log_shift(ratio)[cells.row, cells.x] for ratio in RATIOS]
    n_category = cells.rows.n_category[cells.row].astype(np.float64)
    *log_shifts, n_replies = np.moveaxis(cells.sums(np.stack([*tables, n_category], axis=-1)), 2, 0)
    occurs = n_replies > 0
    occurs[:, 0] = True
    is_large = ~np.isin(RATIOS, SHIFTS)
    enters = occurs[..., None] & (np.append(False, is_outcome)[:, None] | ~is_large)
    values = np.where(enters, np.stack(log_shifts, axis=-1), -np.inf)
    return values, np.asarray(np.count_nonzero(enters, axis=(1, 2)))


# Exact p-values


def _exact_p(cells: _Cells) -> FloatArray:
    """Return the (S,) probabilities of a total score at least as large as the observed score."""
    starts = np.flatnonzero(np.diff(cells.row, prepend=-1))
    n_items = np.add.reduceat(cells.times[:, 0], starts, axis=1)  # for each law
    used = n_items.any(axis=0)
    scores = _scores(cells.rows)
    observed = cells.usual_sums(scores[cells.row, cells.x][:, None].astype(np.float64))[:, 0]
    law = _score_law(cells.rows.log_p[used], scores[used])
    return _tails(law, n_items[:, used], observed.astype(np.int64))


def _tails(law: FloatArray, n_items: FloatArray, observed: IntArray) -> FloatArray:
    """Return the (S,) probabilities that a sum of scores is at least the observed sum.

    The transform is lengthened until a sum beyond `TAIL` of its length has a probability of at most
    1e-12, which is then the p-value there. Otherwise 1e-12 is added to cover truncation and
    rounding.
    """
    length = FFT_LENGTH
    while _chernoff(law, n_items, TAIL * length).max(initial=0.0) > ROUNDING:
        length *= 2
    p = np.full(len(observed), ROUNDING)
    near = observed < TAIL * length
    if near.any():
        tails = np.cumsum(_sum_law(law, n_items[near], length)[:, ::-1], axis=1)[:, ::-1]
        p[near] = np.take_along_axis(tails, observed[near, None], axis=1)[:, 0] + ROUNDING
    return np.asarray(np.clip(p, ROUNDING, 1.0))


def _scores(rows: _Rows) -> IntArray:
    """Return an (R, Y) array with each count's score, in steps, as evidence for a change."""
    log_e = np.minimum(rows.log_e(SCORE_CONCENTRATION), SCORE_MAX_LOG_E)
    steps = np.round(np.log(0.75 + 0.25 * np.exp(log_e)) / SCORE_STEP)
    return np.maximum(steps, 0.0).astype(np.int64)


def _score_law(log_p: FloatArray, scores: IntArray) -> FloatArray:
    """Return the probability of each score of an item as an (R, K) array."""
    n_rows, n_scores = len(scores), int(scores.max(initial=0)) + 1
    cell = np.arange(n_rows)[:, None] * n_scores + scores
    law = np.bincount(cell.ravel(), np.exp(log_p).ravel(), n_rows * n_scores)
    return np.asarray(law.reshape(n_rows, n_scores), dtype=np.float64)


def _sum_law(law: FloatArray, n_items: FloatArray, length: int) -> FloatArray:
    """Return the probability of each sum of scores as an (S, length) array."""
    transform = np.fft.rfft(law, n=length, axis=1)
    log_size = np.log(np.maximum(np.abs(transform), np.finfo(np.float64).tiny))
    size = np.exp(np.einsum("sr,rf->sf", n_items, log_size))
    angle = np.einsum("sr,rf->sf", n_items, np.angle(transform))
    return np.asarray(np.fft.irfft(size * np.exp(1j * angle), n=length, axis=1))


def _chernoff(law: FloatArray, n_items: FloatArray, bound: float) -> FloatArray:
    """Return (S,) upper bounds on the probability that the sum is at least ``bound``."""
    tilts = np.array(TILTS)
    growth = np.log(np.einsum("rk,kt->rt", law, np.exp(np.outer(np.arange(law.shape[1]), tilts))))
    exponent = np.einsum("sr,rt->st", n_items, growth) - tilts * bound
    return np.asarray(np.exp(exponent.min(axis=1)))


# Logarithms


@lru_cache(maxsize=32)
def _log_gamma(offset: float, largest: int) -> FloatArray:
    """Return the log gamma function at offset, offset + 1, ..., offset + largest."""
    return gammaln(np.arange(largest + 1) + offset)


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    """Return log binomial coefficients. The result is arbitrary if k exceeds n."""
    log_factorial = _log_gamma(1.0, int(n.max(initial=0)))
    k = np.minimum(k, n)
    return np.asarray(log_factorial[n] - log_factorial[k] - log_factorial[n - k])


def _log_sum_exp(values: FloatArray, axis: int = -1) -> FloatArray:
    """Return log(sum(exp(values))) along an axis with at least one finite number."""
    greatest = values.max(axis=axis, keepdims=True)
    return np.asarray(np.log(np.exp(values - greatest).sum(axis=axis)) + greatest.squeeze(axis))


def _log_mean_exp(values: FloatArray, axis: int = -1) -> FloatArray:
    finite = np.maximum(values, np.finfo(np.float64).min / 4)
    return np.asarray(_log_sum_exp(finite, axis) - np.log(values.shape[axis]))
