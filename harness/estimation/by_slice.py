"""Estimates by slice of the unlabelled items: those that share a value of a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.sliced_fields import SlicedField, field_names, sliced_fields
from harness.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.estimation.value_differences import ValueDifference
    from harness.stats.data.arrays import BoolArray
    from harness.stats.estimation.population import PopulationMean
    from harness.tasks import Item, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceEstimate:
    """The mean over the population of a slice.

    Attributes
    ----------
    value : str
        Of the field.
    n_rated, n_unlabelled : int
        Items behind it.
    mean : PopulationMean or None
        At a level at which the intervals of all slices contain theirs; None with fewer than ten
        rated items, or none without ratings.
    """

    value: str
    n_rated: int
    n_unlabelled: int
    mean: PopulationMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateBySlice:
    """The mean over the population by the values of a field.

    Attributes
    ----------
    field : str
        Of the items.
    level : float
        Probability that the intervals of all slices contain theirs (Bonferroni).
    slices : tuple of SliceEstimate
        In the order of the values; there is none of rare values.
    differences : tuple of ValueDifference
        Of all pairs of values with an estimate; empty where beta is part of it.
    same_family : tuple of str
        Values that name the judge's model family.
    compares : bool
        Whether items compare the answers of two systems. Means are then how often a system is
        preferred, a tie as half, and a difference is the share that prefers its second system less
        the share that prefers its first.
    n_too_few : int
        Pairs of systems with fewer than ten rated comparisons, or without unlabelled ones.
    """

    field: str
    level: float
    slices: tuple[SliceEstimate, ...]
    differences: tuple[ValueDifference, ...]
    same_family: tuple[str, ...]
    compares: bool = False
    n_too_few: int = 0


def field_to_slice(name: str, task: Task, rated: Sequence[Item]) -> SlicedField:
    """Return the field by which rated items are sliced.

    Raises
    ------
    OptionError
        If rated items have no such field, or it doesn't tell them apart.
    """
    fields = {field.name: field for field in sliced_fields(task, rated)}
    if name in fields:
        return fields[name]
    if name in field_names(task, rated):
        problem = "no two values are on 10 rated items, or all have the same"
        raise OptionError("by", problem, "Name a field with fewer values", found=name)
    advice = f"Name one of {', '.join(fields)}" if fields else "Leave {by} out"
    raise OptionError("by", "rated items have no such field", advice, found=name)


def rows_by_value(field: SlicedField, task: Task, items: Sequence[Item]) -> Mapping[int, list[int]]:
    """Return the places of the items with each value of a field, by the value's place."""
    rows: dict[int, list[int]] = {}
    for row, place in enumerate(field.places_of(task, items).tolist()):
        if place >= 0:
            rows.setdefault(place, []).append(row)
    return rows


def has_value(field: SlicedField, task: Task, items: Sequence[Item], place: int) -> BoolArray:
    """Return (n,) bool: which items have the value at a place."""
    return np.asarray(field.places_of(task, items) == place, dtype=np.bool_)
