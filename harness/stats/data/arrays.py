"""Array types, sums that do not depend on the order, and kinds of items with the same ratings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce, wraps
from math import prod
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar
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

# Shares that are equal as fractions may differ by the rounding of up to about a thousand additions
# (0.1 + 0.7 < 0.8). No two fractions with fewer than a million raters lie this close.
TOLERANCE = 1e-12
BLOCK = 1 << 13  # items processed together: what stays in the processor's cache
MANY = 1 << 18  # items from which on what they add is made a block at a time, and not held
STEPS = (2.0**-10, 2.0**-36, 2.0**-62)  # what numbers are split into multiples of, to be added
N_SUMS = len(STEPS) + 1  # one per step, and that of what is left
SUMMED_CELLS = 1 << 14  # numbers split at once: what stays in the processor's cache
IN_ORDER = 8  # numbers in a row that numpy adds one after the other, of fewer than so many
SHORT = 1 << 10  # whole numbers that lie no further apart are counted, not sorted


def frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view; the caller's own array stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view


def ratio(numerator: Counts, denominator: Counts) -> FloatArray:
    """Divide elementwise, with broadcasting; nan where the denominator is 0 or nan."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.asarray(np.true_divide(numerator, denominator), dtype=np.float64)
    finite = np.isfinite(quotient)
    are_all = np.count_nonzero(finite) == finite.size
    return quotient if are_all else np.where(finite, quotient, np.nan)


def how_many(rows: BoolArray, times: IntArray | None = None) -> int:
    """Count the items behind some of (n,) rows, each of which stands for ``times``, or for one."""
    return int(np.count_nonzero(rows) if times is None else times[rows].sum())


def median(values: Counts, times: IntArray | None = None) -> float | None:
    """Return the median of (n,) numbers, each of which occurs so many times, or once."""
    if not len(values):
        return None
    if times is None:
        return float(np.median(values))
    order = np.argsort(values)
    up_to = np.cumsum(times[order])
    middle = np.searchsorted(up_to, [(up_to[-1] - 1) // 2, up_to[-1] // 2], side="right")
    return float(values[order][middle].sum()) / 2.0


def remembered(function: Callable[[Asked], Made]) -> Callable[[Asked], Made]:
    """Let metrics that are asked about the same sums, one after the other, share a first step.

    What was made of the last array is kept; arrays are told apart as objects.
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
    """Return (n,): (n, K) rows reduced by a function of two numbers, such as `numpy.add`.

    As ``ufunc.reduce(rows, axis=1)``, to the last bit; that takes ten times as long where K is
    small.
    """
    if 1 < rows.shape[1] < IN_ORDER:
        return np.asarray(reduce(ufunc, rows.T))
    return np.asarray(ufunc.reduce(rows, axis=1))


def row_sums(rows: FloatArray) -> FloatArray:
    """Add up (n, K) along the rows; a product is quicker than a sum where K is small."""
    return rows @ np.ones(rows.shape[1])


def row_shares(counts: Counts) -> FloatArray:
    """Divide each row of (n, K) counts by its sum; nan where that is 0."""
    return ratio(counts, reduced(np.add, counts)[:, None])


def row_products(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return (n,): the scalar product of each row of one (n, K) array with that of another."""
    return np.asarray(np.einsum("nk,nk->n", first, second), dtype=np.float64)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Rows:
    """Rows, (n, d), that are made of arrays of n items each, as often as they are asked for.

    Attributes
    ----------
    make : callable
        What becomes of some items of every array: (b, d).
    per_item : tuple of (n, ...) arrays
        Of these.
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
        """Return n and d, as an array does."""
        return len(self), self[:1].shape[1]


Summands: TypeAlias = FloatArray | Rows


def in_blocks(make_rows: Callable[..., FloatArray], *per_item: NDArray[Scalar]) -> Summands:
    """Make (n, d) rows from arrays of n items each, `BLOCK` items at a time, or of `MANY` not yet.

    Steps between would not fit the processor's cache for many items, and memory that is new to the
    process costs more than the arithmetic: so rows of very many are not to be held at all.
    """
    rows = Rows(make_rows, per_item)
    n = len(rows)
    if n > MANY:
        return rows
    return rows[:] if n <= BLOCK else np.asarray(rows)


def blocks(n: int) -> Iterator[slice]:
    """Cut 0 to n into runs of `BLOCK`."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


def total(rows: Summands, times: IntArray | None = None) -> FloatArray:
    """Return (d,): the sum of (n, d) rows, to the last bit the same in any order.

    Where numbers are not far above 2**-62, or above 2**17, the last bits may depend on the order.

    Parameters
    ----------
    rows : (n, d) array or Rows
        What is added up.
    times : (n,) int array, optional
        How often each row counts. Default: once.
    """
    sums = np.zeros((N_SUMS, rows.shape[1]))
    for at in blocks(len(rows)):
        sums += sums_by_step(rows[at], None if times is None else times[at])
    return joined_steps(sums)


def weighted_total(rows: Summands, weights: FloatArray) -> FloatArray:
    """Return (d,): `total` of (n, d) rows times (n,) weights; those that are whole are counts."""
    whole = np.rint(weights)
    if np.array_equal(whole, weights):
        return total(rows, whole.astype(np.int64))
    return total(weights[:, None] * np.asarray(rows))


def sums_by_step(rows: FloatArray, times: IntArray | None = None) -> FloatArray:
    """Return (4, d): the sums of the multiples of each of `STEPS` that (n, d) numbers consist of.

    They are exact: 2**26 numbers below 2**17 need no more than the 53 bits of a sum. The last row
    is the sum of what is left, at most 2**-63 of each number.
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
    """Return (d,): the sum of what `sums_by_step` returned, (4, d), smallest first."""
    return np.asarray(sums[3] + sums[2] + sums[1] + sums[0])


def distinct(values: Counts) -> tuple[FloatArray, IntArray]:
    """Return the different values of (n,) numbers in order, and each one's place among them.

    As `numpy.unique` does, but without a sort where the values are steps of 1 on a short scale.
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


def numbered(names: Iterable[str]) -> tuple[tuple[str, ...], IntArray]:
    """Return the different names in the order in which they occur, and each one's place there."""
    index: dict[str, int] = {}
    places = np.array([index.setdefault(name, len(index)) for name in names], dtype=np.int64)
    return tuple(index), places


TABLE = 1 << 16  # codes below this, or 4 per item, are counted, others sorted


@dataclass(frozen=True, slots=True, repr=False)
class Kinds:
    """Items with the same counts are one kind.

    Attributes
    ----------
    first : (R,) int array
        An item of each kind, in the order of the kinds' counts.
    of_item : (n,) int array
        The kind of each item.
    """

    first: IntArray
    of_item: IntArray

    @classmethod
    def of(cls, *tables: Counts) -> Self:
        """Tell apart the items of tables, each (n, ...).

        Notes
        -----
        Linear in the items where there are few kinds of whole numbers: they are counted, not
        sorted.
        """
        n = len(tables[0])
        kinds = cls.few(n, *tables)
        return cls.single(n) if kinds is None else kinds

    @classmethod
    def few(cls, most: int, *tables: Counts) -> Self | None:
        """As `of`, but None as soon as more than so many kinds are seen."""
        n = len(tables[0])
        code: IntArray = np.zeros(n, dtype=np.int64)
        width, limit = 1, max(TABLE, 4 * n)
        for column in _varying(tables):
            values, place = distinct(column)
            if width * len(values) > limit:
                code, width = _numbered(code, width)
                if width > most:
                    return None
            code = code * len(values) + place
            width *= len(values)
            if width > limit:
                code, width = _sorted(code)
        code, width = _numbered(code, width)
        if width > most:
            return None
        first = np.empty(width, dtype=np.int64)
        first[code[::-1]] = np.arange(n - 1, -1, -1)
        return cls(frozen(first), frozen(code))

    @classmethod
    def single(cls, n: int) -> Self:
        """Make a kind of each of n items."""
        places = frozen(np.arange(n))
        return cls(places, places)

    @property
    def times(self) -> IntArray:
        """How many items are of each kind: (R,)."""
        return np.bincount(self.of_item, minlength=len(self.first))

    def __repr__(self) -> str:
        return f"Kinds({len(self.first)} of {len(self.of_item)} items)"


def _varying(tables: Iterable[Counts]) -> Iterator[Counts]:
    """Give the columns, (n,), of tables (n, ...) in which items differ."""
    for table in tables:
        columns = table.reshape(len(table), prod(table.shape[1:]))
        if columns.size:
            if columns.shape[1] < IN_ORDER:  # as in `reduced`
                differs = [column.max() != column.min() for column in columns.T]
            else:
                differs = columns.max(axis=0) != columns.min(axis=0)
            yield from (columns[:, k] for k in np.flatnonzero(differs).tolist())


def _numbered(code: IntArray, width: int) -> tuple[IntArray, int]:
    """Number the codes below ``width`` that occur from 0 on; return them and how many there are."""
    occurs = np.bincount(code, minlength=width) > 0
    return (np.cumsum(occurs) - 1)[code], int(occurs.sum())


def _sorted(code: IntArray) -> tuple[IntArray, int]:
    """As `_numbered`, for codes that may be large."""
    codes, place = np.unique(code, return_inverse=True)
    return place.ravel(), len(codes)
