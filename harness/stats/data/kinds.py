"""Kinds of items: items with equal rows in all tables count as one kind."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import IN_ORDER, Counts, IntArray, distinct, frozen, in_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.stats.data.arrays import FloatArray, Summands


TABLE = 1 << 16  # codes below this, or 4 per item, are counted, larger ones sorted


@dataclass(frozen=True, slots=True, repr=False)
class Kinds:
    """Items grouped by equal counts.

    Attributes
    ----------
    first : (R,) int array
        One item of each kind, in the order of the kinds' counts.
    of_item : (n,) int array
        The kind of each item.
    """

    first: IntArray
    of_item: IntArray

    @classmethod
    def of(cls, *tables: Counts) -> Self:
        """Group items whose rows are equal in all tables. Each table has shape (n, ...).

        Notes
        -----
        Linear in the number of items if there are few kinds of whole numbers, because these are
        counted, not sorted.
        """
        n = len(tables[0])
        kinds = cls.few(n, *tables)
        return cls.single(n) if kinds is None else kinds

    @classmethod
    def few(cls, most: int, *tables: Counts) -> Self | None:
        """Group items like `of`, but return None if that results in more than ``most`` kinds."""
        n = len(tables[0])
        code: IntArray = np.zeros(n, dtype=np.int64)
        width, limit = 1, max(TABLE, 4 * n)
        for column in _varying(tables):
            values, place = distinct(column)
            if width * len(values) > limit:
                code, width = renumbered(code, width)
                if width > most:
                    return None
            code = code * len(values) + place
            width *= len(values)
            if width > limit:
                code, width = _sorted(code)
        code, width = renumbered(code, width)
        if width > most:
            return None
        first = np.empty(width, dtype=np.int64)
        first[code[::-1]] = np.arange(n - 1, -1, -1)
        return cls(frozen(first), frozen(code))

    @classmethod
    def single(cls, n: int) -> Self:
        """Make each of n items a separate kind."""
        places = frozen(np.arange(n))
        return cls(places, places)

    @property
    def times(self) -> IntArray:
        """Number of items of each kind, as an (R,) array."""
        return np.bincount(self.of_item, minlength=len(self.first))

    def rows(self, of_kinds: FloatArray) -> Summands:
        """Expand (R, d) rows of kinds to (n, d) rows of items. See `in_blocks`."""
        return in_blocks(of_kinds.__getitem__, self.of_item)

    def __repr__(self) -> str:
        return f"Kinds({len(self.first)} of {len(self.of_item)} items)"


def _varying(tables: Iterable[Counts]) -> Iterator[Counts]:
    """Yield the columns of (n, ...) tables that differ between items."""
    for table in tables:
        columns = table.reshape(len(table), prod(table.shape[1:]))
        if columns.size:
            if columns.shape[1] < IN_ORDER:  # as in `reduced`
                differs = [column.max() != column.min() for column in columns.T]
            else:
                differs = columns.max(axis=0) != columns.min(axis=0)
            yield from (columns[:, k] for k in np.flatnonzero(differs).tolist())


def renumbered(code: IntArray, width: int = 0) -> tuple[IntArray, int]:
    """Renumber codes from 0 without gaps, keeping their order. Also return how many there are."""
    occurs = np.bincount(code, minlength=width) > 0
    return (np.cumsum(occurs) - 1)[code], int(occurs.sum())


def _sorted(code: IntArray) -> tuple[IntArray, int]:
    """Renumber codes like `renumbered`, but by sorting, which suits large codes."""
    codes, place = np.unique(code, return_inverse=True)
    return place.ravel(), len(codes)
