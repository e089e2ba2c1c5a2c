"""Divide items into slices by their fields. Items in a slice share a value or a range."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from harness.stats.data.arrays import frozen
from harness.stats.subsets.slices import thirds
from harness.tasks.model import INCLUSION_PROBABILITY, SOURCE_ITEM
from harness.tasks.schema import as_number, number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.stats.data.arrays import BoolArray, FloatArray, IntArray
    from harness.tasks import Item, Task

FieldKind: TypeAlias = Literal["values", "thirds", "words", "certainty", "criterion", "position"]

MAX_VALUES = 12  # most values of a field
MIN_ITEMS = 10  # a value with fewer items is rare
MIN_VALUES = 2
MAX_NUMBERS = 3  # up to this many different numbers are values, not a scale
WORDS = "length in words"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SlicedField:
    """Assignment of items to slices by one field.

    Attributes
    ----------
    name : str
        Name of the field.
    kind : str
        "values": items with each value. "thirds": numbers, split into thirds. "words": the number
        of words in the texts that judges see, split into thirds. "certainty": the raters'
        agreement. "criterion": the rated criterion. "position": the answer that most raters prefer.
    values : tuple of str
        The V values, or names of thirds.
    of_item : (n,) int array
        Index of each item's value; -1 for an item without one.
    n_pooled : int
        Rare values that the last of ``values`` pools.
    cuts : (float, float) or None
        The largest numbers in the lower and the middle third; None for values.
    """

    name: str
    kind: FieldKind
    values: tuple[str, ...]
    of_item: IntArray
    n_pooled: int = 0
    cuts: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return f"SlicedField({self.name!r}, {len(self.values)} values)"

    @property
    def members(self) -> BoolArray:
        """A (V, n) bool array that shows whether each item has each value."""
        return np.asarray(self.of_item == np.arange(len(self.values))[:, None], dtype=np.bool_)

    @property
    def frequent(self) -> tuple[str, ...]:
        """The values without the slice of pooled rare values."""
        return self.values[:-1] if self.n_pooled else self.values

    def of_rows(self, rows: IntArray) -> SlicedField:
        """Return the field for the items in the given rows. Row -1 is an item without a value."""
        of_item = np.where(rows < 0, -1, self.of_item[rows])
        return replace(self, of_item=frozen(of_item))

    def places_of(self, task: Task, items: Sequence[Item]) -> IntArray:
        """Return an (n,) array of value indices for other items. Rare and new values get -1."""
        if self.cuts is None:
            place = {value: v for v, value in enumerate(self.frequent)}
            return np.array([place.get(_text(item, self.name), -1) for item in items], np.int64)
        numbers = n_words(task, items) if self.kind == "words" else _numbers(self.name, items)
        return np.where(np.isnan(numbers), -1, np.searchsorted(self.cuts, numbers))


def field_names(task: Task, items: Iterable[Item]) -> tuple[str, ...]:
    """Return the names of fields that describe items. Omit texts, answers and probabilities."""
    shown = {*task.text, task.image, task.reasons, INCLUSION_PROBABILITY, SOURCE_ITEM}
    gold = task.alt_test.gold if task.alt_test else None
    names = dict.fromkeys(name for item in items for name in item.field_names)
    return tuple(name for name in names if name not in shown and name != gold)


def sliced_fields(task: Task, items: Sequence[Item]) -> tuple[SlicedField, ...]:
    """Return the fields that divide the items into slices, followed by the length of their texts.

    Empty if items have no such field. A field with a single value, or without any value that
    `MIN_ITEMS` items share, isn't among them.
    """
    by_name = (sliced_field(name, items) for name in field_names(task, items))
    fields = tuple(field for field in by_name if field is not None)
    if not fields:
        return ()
    length = length_field(task, items)
    return (*fields, length) if length else fields


def fields_as_in_task(task: Task, items: Sequence[Item]) -> tuple[SlicedField, ...]:
    """Return the fields for some items, with slices as in the whole task. See `sliced_fields`.

    Rare values and cuts between thirds come from all items.
    """
    row = {item.id: i for i, item in enumerate(task.items)}
    rows = np.array([row.get(item.id, -1) for item in items], dtype=np.int64)
    return tuple(field.of_rows(rows) for field in sliced_fields(task, task.items))


def length_field(task: Task, items: Sequence[Item]) -> SlicedField | None:
    """Divide items into thirds by the number of words that judges see."""
    return _in_thirds(WORDS, "words", n_words(task, items))


def sliced_field(name: str, items: Sequence[Item]) -> SlicedField | None:
    """Divide items by one field. Return None if the field does not distinguish items."""
    values = [_text(item, name) for item in items]
    numbers = [as_number(value) for value in values if value]
    if None not in numbers and len(set(numbers)) > MAX_NUMBERS:
        return _in_thirds(name, "thirds", _numbers(name, items))
    return by_value(name, "values", values)


def by_value(name: str, kind: FieldKind, values: Sequence[str]) -> SlicedField | None:
    """Divide items by value, pooling rare values. Return None if this yields only one slice.

    "" means that an item has no value.
    """
    counts = Counter(value for value in values if value)
    frequent = [value for value, n in counts.most_common() if n >= MIN_ITEMS]
    if len(counts) > len(frequent) or len(frequent) > MAX_VALUES:
        frequent = frequent[: MAX_VALUES - 1]
    n_pooled = len(counts) - len(frequent)
    if not frequent or len(counts) < MIN_VALUES:
        return None
    place = {value: v for v, value in enumerate(frequent)}
    of_item = [place.get(value, len(frequent)) if value else -1 for value in values]
    pooled = (_pooled_name(counts, n_pooled),) if n_pooled else ()
    return SlicedField(
        name=name,
        kind=kind,
        values=(*frequent, *pooled),
        of_item=frozen(np.array(of_item, dtype=np.int64)),
        n_pooled=n_pooled,
    )


def n_words(task: Task, items: Iterable[Item]) -> FloatArray:
    """Return an (n,) array with the number of words that judges see for each item."""
    shown = [[item.fields.get(name, "") for name in task.text] for item in items]
    return np.array([sum(len(text.split()) for text in texts) for texts in shown], np.float64)


def _text(item: Item, name: str) -> str:
    """Return a field's value as one line, or "" without a value."""
    return " ".join(item.fields.get(name, "").split())


def _numbers(name: str, items: Iterable[Item]) -> FloatArray:
    """Return an (n,) array of a field's numbers. An item without a number has nan."""
    numbers = (as_number(_text(item, name)) for item in items)
    return np.array([np.nan if number is None else number for number in numbers], np.float64)


def _pooled_name(counts: Counter[str], n_pooled: int) -> str:
    """Return a name for the slice of rare values that differs from every value."""
    name = f"{n_pooled} rare value{'' if n_pooled == 1 else 's'}"
    return name if name not in counts else f"({name})"


def _in_thirds(name: str, kind: FieldKind, numbers: FloatArray) -> SlicedField | None:
    cuts = thirds(numbers)
    if cuts is None:
        return None
    lower, middle = map(number_text, cuts)
    of_item = np.where(np.isnan(numbers), -1, np.searchsorted(cuts, numbers))
    labels = (f"up to {lower}", f"above {lower} to {middle}", f"above {middle}")
    return SlicedField(name=name, kind=kind, values=labels, of_item=frozen(of_item), cuts=cuts)
