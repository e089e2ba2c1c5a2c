"""Estimates by slice of the unlabelled items. A slice's items share a value of a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.sliced_fields import SlicedField, field_names, sliced_fields
from harness.errors import OptionError, use_one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.estimation.value_differences import ValueDifference
    from harness.stats.data.arrays import BoolArray
    from harness.stats.estimation.population import PopulationMean
    from harness.tasks import Item, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceEstimate:
    """The mean over a slice's population.

    Attributes
    ----------
    value : str
        Value of the field.
    n_rated, n_unlabelled : int
        Numbers of items behind the mean.
    mean : PopulationMean or None
        Mean with an interval at a level at which all slices' intervals contain their means
        together. None if fewer than ten items are rated, or all are.
    """

    value: str
    n_rated: int
    n_unlabelled: int
    mean: PopulationMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateBySlice:
    """Means over the population by the values of a field.

    Attributes
    ----------
    field : str
        Field of the items.
    level : float
        Probability that the intervals of all slices contain their means (Bonferroni).
    slices : tuple of SliceEstimate
        Slices in the order of the values, without rare values.
    differences : tuple of ValueDifference
        Differences of all pairs of values with an estimate; empty if the estimate uses beta.
    same_family : tuple of str
        Values that contain the name of the judge's model family.
    compares : bool
        Whether items compare the answers of two systems. A mean is then the share that prefers a
        system, with ties as half. A difference is the share that prefers its second system minus
        the share that prefers its first.
    n_too_few : int
        Number of pairs of systems with fewer than ten rated comparisons, or without unlabelled
        ones.
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
        If rated items have no field with this name, or it doesn't tell them apart.
    """
    fields = {field.name: field for field in sliced_fields(task, rated)}
    if name in fields:
        return fields[name]
    if name in field_names(task, rated):
        problem = "fewer than two values have 10 rated items each"
        raise OptionError("by", problem, "Use a field with fewer values", found=name)
    advice = use_one_of(name, fields, none="Leave out {by}")
    raise OptionError("by", "rated items have no field with this name", advice, found=name)


def rows_by_value(field: SlicedField, task: Task, items: Sequence[Item]) -> Mapping[int, list[int]]:
    """Return the positions of the items with each value of a field, by the value's position."""
    rows: dict[int, list[int]] = {}
    for row, place in enumerate(field.places_of(task, items).tolist()):
        if place >= 0:
            rows.setdefault(place, []).append(row)
    return rows


def has_value(field: SlicedField, task: Task, items: Sequence[Item], place: int) -> BoolArray:
    """Return an (n,) mask of the items with the value at a position."""
    return np.asarray(field.places_of(task, items) == place, dtype=np.bool_)
