"""Kinds of items: rows that are equal in all tables, and how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np

from harness.stats.data.arrays import IN_ORDER, Counts, IntArray, distinct, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
