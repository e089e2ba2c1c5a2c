"""Ratings by item and rater, and verdicts on the same items."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

import numpy as np

from harness.stats.data.arrays import BoolArray, FloatArray, IntArray, blocks, frozen

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from harness.stats.modes import RaterIds

Key = TypeVar("Key", bound="Hashable")
Scalars = TypeVar("Scalars", IntArray, FloatArray)
UNANSWERED = -1


@dataclass(frozen=True, slots=True, repr=False)
class Coded:
    """One value per item, stored as codes.

    Attributes
    ----------
    labels : tuple
        Distinct values; the panel's values come first, in its order.
    code : (n,) int array
        Index in ``labels``; -1 if there is no value.
    """

    labels: tuple[Hashable, ...]
    code: IntArray

    @property
    def present(self) -> BoolArray:
        """Return an (n,) mask of the items that have a value."""
        return np.asarray(self.code != UNANSWERED, dtype=np.bool_)

    def only(self, rows: IntArray) -> Coded:
        """Return the values of the items at (R,) indices."""
        return Coded(self.labels, frozen(self.code[rows]))


class PanelNames(NamedTuple):
    """Items, raters and labels of a `Panel`."""

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Panel:
    """R ratings of n items by m raters.

    Attributes
    ----------
    items : n names
        Item names, in the order of every per-item argument, e.g. the groups of a bootstrap.
    raters : m names
        Rater names, sorted.
    labels : tuple
        The distinct values.
    of_item, of_rater, code : (R,) int arrays
        Item, rater and value of each rating, sorted by item and then by rater.
    rater_ids : {"real", "positional"}
        Whether a name identifies a person or only a position within the item.
    """

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[Hashable, ...]
    of_item: IntArray
    of_rater: IntArray
    code: IntArray
    rater_ids: RaterIds = "real"

    @classmethod
    def of(
        cls,
        ratings: Iterable[tuple[str, str, Hashable]],
        *,
        items: Iterable[str] | None = None,
        rater_ids: RaterIds = "real",
    ) -> Self:
        """Build a panel from (item, rater, value) ratings.

        Parameters
        ----------
        ratings : iterable of (item, rater, value)
            Values are option keys, numbers or texts: anything that can be compared and hashed.
        items : iterable of str, optional
            All items, in order. Default: rated items, in order of appearance.
        rater_ids : {"real", "positional"}
            Whether a name identifies a person or a position.

        Raises
        ------
        ValueError
            If a rater rated an item twice, a value is nan or None, or an item is not in ``items``.
        """
        columns: tuple[list[str], list[str], list[Hashable]] = ([], [], [])
        item_column, rater_column, value_column = columns
        for item, rater, value in ratings:  # unpacking all at once uses a fifth more memory
            item_column.append(item)
            rater_column.append(rater)
            value_column.append(value)
        index = _index(() if items is None else items)
        n_items = len(index)
        of_item = _codes(index, item_column)
        if items is not None and len(index) > n_items:
            missing = list(index)[n_items]
            raise ValueError(f"ratings: item {missing!r} is not among the {n_items} items")
        raters = _index(sorted(set(rater_column)))
        labels: defaultdict[Hashable, int] = _index(())
        of_rater, code = _codes(raters, rater_column), _codes(labels, value_column)
        names = PanelNames(tuple(index), tuple(raters), tuple(labels))
        return cls.of_codes(names, of_item, of_rater, code, rater_ids=rater_ids)

    @classmethod
    def of_codes(
        cls,
        names: PanelNames,
        of_item: IntArray,
        of_rater: IntArray,
        code: IntArray,
        *,
        rater_ids: RaterIds = "real",
    ) -> Self:
        """Build a panel from (R,) indices of items, raters and values.

        Raises
        ------
        ValueError
            If a rater rated an item twice, or a value is nan or None.
        """
        _check_labels(names.labels, "ratings")
        order = _sorted_order(of_item * len(names.raters) + of_rater)
        panel = cls(
            *names,
            of_item=frozen(of_item[order]),
            of_rater=frozen(of_rater[order]),
            code=frozen(code[order]),
            rater_ids=rater_ids,
        )
        panel._check_keys()
        return panel

    def _check_keys(self) -> None:
        key = self.of_item * len(self.raters) + self.of_rater
        repeated = np.flatnonzero(key[1:] == key[:-1])
        if repeated.size:
            first = repeated[0]
            item, rater = self.items[self.of_item[first]], self.raters[self.of_rater[first]]
            raise ValueError(f"duplicate_rating: rater {rater!r} rated item {item!r} twice")

    def __repr__(self) -> str:
        return (
            f"Panel({len(self.code)} ratings of {len(self.items)} items "
            f"by {len(self.raters)} raters)"
        )

    def without(self, rater: str) -> Self:
        """Return the panel without one rater's ratings. All items stay."""
        left_out = self.raters.index(rater)
        kept = self.of_rater != left_out
        of_rater = self.of_rater[kept]
        return replace(
            self,
            raters=self.raters[:left_out] + self.raters[left_out + 1 :],
            of_item=frozen(self.of_item[kept]),
            of_rater=frozen(of_rater - (of_rater > left_out)),
            code=frozen(self.code[kept]),
        )

    @property
    def ratings_per_item(self) -> IntArray:
        """Number of ratings per item, as an (n,) array."""
        return self._added(np.zeros(len(self.items), dtype=np.int64), None)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum (R,) values over the ratings of each item, and return an (n,) array."""
        return self._added(np.zeros(len(self.items)), values)

    def _added(self, sums: Scalars, values: FloatArray | None) -> Scalars:
        """Add values to the items' sums in blocks of ratings, which are sorted by item."""
        for at in blocks(len(self.of_item)):
            first = self.of_item[at.start]
            added = np.bincount(self.of_item[at] - first, None if values is None else values[at])
            sums[first : first + len(added)] += added
        return sums

    def coded(
        self,
        values: Mapping[str, Hashable],
        name: str = "verdicts",
        labels: Sequence[Hashable] | None = None,
    ) -> Coded:
        """Code one value per item. An item that is missing, or has None, is unanswered.

        Parameters
        ----------
        values : mapping
            Maps items to values.
        name : str
            Name of the values in messages.
        labels : sequence, optional
            Values that come first, in this order. Default: the panel's values.

        Raises
        ------
        ValueError
            If a value is nan.
        """
        first_labels = self.labels if labels is None else labels
        if tuple(values) == self.items:  # a comparison is faster than look-ups
            of_items: list[Hashable] = list(values.values())
        else:
            of_items = list(map(values.get, self.items))
        index = _index(first_labels)
        index[None] = UNANSWERED
        code = _codes(index, of_items)
        del index[None]
        _check_labels(index, name)
        return Coded(tuple(index), frozen(code))

    def coded_places(self, places: IntArray, values: Sequence[Hashable]) -> Coded:
        """Code values like `coded`, given (n,) indices into distinct values. -1 means no value."""
        index = _index(self.labels)
        code_of = np.full(len(values) + 1, UNANSWERED)  # the last entry is for no value
        used, first = np.unique(places, return_index=True)
        for place in used[np.argsort(first)].tolist():
            if place != UNANSWERED:
                code_of[place] = index[values[place]]
        return Coded(tuple(index), frozen(code_of[places]))

    def ratings_of(self, rater: str) -> dict[str, Hashable]:
        """Return one rater's value per item.

        Raises
        ------
        ValueError
            If the rater is not in the panel.
        """
        if rater not in self.raters:
            raise ValueError(f"rater {rater!r} is not in the panel; its raters are {self.raters}")
        rows = self.of_rater == self.raters.index(rater)
        return {
            self.items[i]: self.labels[c]
            for i, c in zip(self.of_item[rows].tolist(), self.code[rows].tolist(), strict=True)
        }


def numbers(labels: Sequence[Hashable], name: str) -> FloatArray:
    """Convert distinct values to numbers.

    Raises
    ------
    ValueError
        If a value is not a finite number: "non_numeric_value".
    """
    try:
        values = np.array([float(label) for label in labels], dtype=np.float64)  # type: ignore[arg-type]  # whatever float() takes
    except (TypeError, ValueError):
        raise ValueError(f"non_numeric_value: {name} contain values that are not numbers") from None
    if not np.isfinite(values).all():
        raise ValueError(f"non_numeric_value: {name} contain values that are not finite")
    return values


def _index(values: Iterable[Key]) -> defaultdict[Key, int]:
    """Number distinct values from 0. New values get the next number when they are looked up."""
    numbers = dict(zip(dict.fromkeys(values), count(), strict=False))
    return defaultdict(count(len(numbers)).__next__, numbers)


def _codes(index: Mapping[Key, int], values: Sequence[Key]) -> IntArray:
    return np.fromiter(map(index.__getitem__, values), dtype=np.int64, count=len(values))


def _sorted_order(key: IntArray) -> IntArray | slice:
    return slice(None) if (key[1:] >= key[:-1]).all() else np.argsort(key, kind="stable")


def _check_labels(labels: Iterable[Hashable], name: str) -> None:
    for label in labels:
        if label is None or label != label:  # noqa: PLR0124 -- only nan differs from itself
            raise ValueError(f"{name} contain a value that is {label}; leave the item out instead")
