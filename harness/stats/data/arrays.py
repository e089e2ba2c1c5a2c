"""Array types, order-independent sums, and operations on the rows of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer]
BoolArray: TypeAlias = NDArray[np.bool_]
Counts: TypeAlias = FloatArray | IntArray
Scalar = TypeVar("Scalar", bound=np.generic)
Made = TypeVar("Made")
Asked = TypeVar("Asked", bound=NDArray[Any])

# Equal fractions can differ by the rounding errors of up to about a thousand additions
# (0.1 + 0.7 < 0.8). Different fractions with fewer than a million raters are never this close.
TOLERANCE = 1e-12
BLOCK = 1 << 13  # items processed together, which fit the processor's cache
MANY = 1 << 16  # from this many items on, contributions are computed by block and not stored
IN_ORDER = 8  # numpy adds rows with fewer numbers than this in sequence
SHORT = 1 << 10  # integers within this range are counted, not sorted


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view. The caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


def ratio(numerator: Counts, denominator: Counts) -> FloatArray:
    """Divide elementwise with broadcasting. The result is nan if the denominator is 0 or nan."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.asarray(np.true_divide(numerator, denominator), dtype=np.float64)
    finite = np.isfinite(quotient)
    are_all = np.count_nonzero(finite) == finite.size
    return quotient if are_all else np.where(finite, quotient, np.nan)


def how_many(rows: BoolArray, times: IntArray | None = None) -> int:
    """Count the items behind the selected rows.

    Row i stands for ``times[i]`` items, or for one item.
    """
    return int(np.count_nonzero(rows) if times is None else times[rows].sum())


def median(values: Counts, times: IntArray | None = None) -> float | None:
    """Return the median, or None for an empty array. ``times`` counts each value's occurrences."""
    if not len(values):
        return None
    if times is None:
        return float(np.median(values))
    order = np.argsort(values)
    up_to = np.cumsum(times[order])
    middle = np.searchsorted(up_to, [(up_to[-1] - 1) // 2, up_to[-1] // 2], side="right")
    return float(values[order][middle].sum()) / 2.0


def remembered(function: Callable[[Asked], Made]) -> Callable[[Asked], Made]:
    """Cache a function's last result, for metrics that evaluate the same sums in succession.

    The result for the last array is kept; arrays are distinguished by identity.
    """
    last: list[tuple[ref[Asked], Made]] = []

    @wraps(function)
    def cached(totals: Asked) -> Made:
        for array_ref, result in last:
            if array_ref() is totals:
                return result
        result = function(totals)
        last[:] = [(ref(totals), result)]
        return result

    return cached


def reduced(ufunc: np.ufunc, rows: NDArray[Any]) -> NDArray[Any]:
    """Reduce each row of an (n, K) array with a function of two numbers, such as `numpy.add`.

    The result equals ``ufunc.reduce(rows, axis=1)`` to the last bit, but takes a tenth of its time
    if K is small.
    """
    if 1 < rows.shape[1] < IN_ORDER:
        return np.asarray(reduce(ufunc, rows.T))
    return np.asarray(ufunc.reduce(rows, axis=1))


def row_sums(rows: FloatArray) -> FloatArray:
    """Sum each row of an (n, K) array. If K is small, this matrix product is faster than a sum."""
    return rows @ np.ones(rows.shape[1])


def row_shares(counts: Counts) -> FloatArray:
    """Divide each row of (n, K) counts by the row's sum. Rows that sum to 0 become nan."""
    return ratio(counts, reduced(np.add, counts)[:, None])


def row_products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return an (n,) array with the dot product of each pair of rows in two (n, K) arrays."""
    return np.asarray(np.einsum("nk,nk->n", first, second), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rows:
    """An (n, d) array whose rows are computed on demand from arrays with n items.

    Attributes
    ----------
    make : callable
        Computes rows (b, d) from some items of every array.
    per_item : tuple of (n, ...) arrays
        The arrays.
    """

    make: Callable[..., FloatArray]
    per_item: tuple[NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.per_item[0])

    def __getitem__(self, at: slice | IntArray) -> FloatArray:
        return self.make(*(array[at] for array in self.per_item))

    def __array__(self, dtype: object = None, copy: object = None) -> FloatArray:
        rows = np.empty(self.shape)
        for at in blocks(len(self)):
            rows[at] = self[at]
        return rows

    def __repr__(self) -> str:
        return f"Rows{self.shape}"

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, d), as for an array."""
        return len(self), self[:1].shape[1]


Summands: TypeAlias = FloatArray | Rows


def sum_in_order(rows: Summands) -> FloatArray:
    """Sum an (n, d) array over its rows, one block after another, and return a (d,) array."""
    sums = np.zeros((1, rows.shape[1]))
    for at in blocks(len(rows)):
        sums = np.concatenate([sums, rows[at]]).sum(axis=0, keepdims=True)
    return np.asarray(sums[0], dtype=np.float64)


def any_by_row(rows: Summands) -> BoolArray:
    """Return an (n,) mask of the rows that contain a nonzero number."""
    if not isinstance(rows, Rows):
        return np.asarray(reduced(np.logical_or, rows), dtype=np.bool_)
    filled = [reduced(np.logical_or, rows[at]) for at in blocks(len(rows))]
    return np.concatenate([np.empty(0, dtype=np.bool_), *filled])


def in_blocks(make_rows: Callable[..., FloatArray], *per_item: NDArray[Scalar]) -> Summands:
    """Compute (n, d) rows in blocks of `BLOCK` items. Beyond `MANY` items, compute them on demand.

    For many items, intermediate steps would not fit the processor's cache, and allocating new
    memory costs more than the arithmetic. So rows of very many items are never all in memory.
    """
    rows = Rows(make_rows, per_item)
    n = len(rows)
    if n > MANY:
        return rows
    return rows[:] if n <= BLOCK else np.asarray(rows)


def blocks(n: int) -> Iterator[slice]:
    """Yield slices of `BLOCK` items that together cover 0 to n."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def distinct(values: Counts) -> tuple[FloatArray, IntArray]:
    """Return the distinct values of an (n,) array in ascending order, and each element's index.

    Like `numpy.unique`, but without sorting if the values are steps of 1 on a short scale.
    """
    if values.size:
        low = values.min()
        if values.max() - low < SHORT:
            step = (values - low).astype(np.int64)
            if np.array_equal(step + low, values):
                times = np.bincount(step)
                steps = np.flatnonzero(times)
                place = step if len(steps) == len(times) else (np.cumsum(times > 0) - 1)[step]
                return np.asarray(steps + low, dtype=np.float64), place
    values_in_order, place = np.unique(values.astype(np.float64, copy=False), return_inverse=True)
    return values_in_order, place.ravel()


def by_occurrence(codes: IntArray, n_codes: int) -> tuple[IntArray, IntArray]:
    """Order codes by their first occurrence.

    Parameters
    ----------
    codes : (n,) int array
        Codes from 0.
    n_codes : int
        More than the largest of them.

    Returns
    -------
    used : (U,) int array
        The codes that occur, in order of first occurrence.
    place : (n_codes,) int array
        Index in ``used`` of each code; 0 for one that does not occur.
    """
    first = np.full(n_codes, len(codes), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    used = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(codes))]
    place = np.zeros(n_codes, dtype=np.int64)
    place[used] = np.arange(len(used))
    return used, place


def numbered(names: Iterable[str]) -> tuple[tuple[str, ...], IntArray]:
    """Return the distinct names in order of first occurrence, and each name's index among them."""
    index: dict[str, int] = {}
    places = np.array([index.setdefault(name, len(index)) for name in names], dtype=np.int64)
    return tuple(index), places


STEPS = (2.0**-10, 2.0**-36, 2.0**-62)  # numbers are split into multiples of these for adding


N_SUMS = len(STEPS) + 1  # one per step, and one for the remainders


SUMMED_CELLS = 1 << 14  # numbers split at once, which fit the processor's cache


def total(rows: Summands, times: IntArray | None = None) -> FloatArray:
    """Sum an (n, d) array over its rows. The result does not depend on their order.

    If numbers are near or below 2**-62, or above 2**17, the last bits can depend on the order.

    Parameters
    ----------
    rows : (n, d) array or Rows
        Rows to add up.
    times : (n,) int array, optional
        Number of times each row counts. Default: once.
    """
    sums = np.zeros((N_SUMS, rows.shape[1]))
    for at in blocks(len(rows)):
        sums += sums_by_step(rows[at], None if times is None else times[at])
    return joined_steps(sums)


def weighted_total(rows: Summands, weights: FloatArray) -> FloatArray:
    """Sum an (n, d) array over its rows with (n,) weights. Integer weights count as repetitions."""
    whole = np.rint(weights)
    if np.array_equal(whole, weights):
        return total(rows, whole.astype(np.int64))
    return total(weights[:, None] * np.asarray(rows))


def sums_by_step(rows: FloatArray, times: IntArray | None = None) -> FloatArray:
    """Split (n, d) numbers into multiples of each of `STEPS`, and return exact (4, d) sums.

    The sums are exact, because 2**26 numbers below 2**17 need at most the 53 bits of a float. The
    last row is the sum of the remainders, at most 2**-63 of each number.
    """
    n, d = rows.shape
    weights = np.ones(n) if times is None else times.astype(np.float64)
    sums = np.zeros((N_SUMS, d))
    size = max(1, SUMMED_CELLS // max(d, 1))
    for start in range(0, n, size):
        at = slice(start, start + size)
        rest = rows[at].astype(np.float64)
        multiples = np.empty_like(rest)
        for i, step in enumerate(STEPS):
            if not np.count_nonzero(rest):
                break
            np.multiply(rest, 1 / step, out=multiples)
            np.rint(multiples, out=multiples)
            multiples *= step
            sums[i] += weights[at] @ multiples
            rest -= multiples
        sums[-1] += weights[at] @ rest
    return sums


def joined_steps(sums: FloatArray) -> FloatArray:
    """Add the four rows that `sums_by_step` returned, smallest first, and return a (d,) array."""
    return np.asarray(sums[3] + sums[2] + sums[1] + sums[0])
