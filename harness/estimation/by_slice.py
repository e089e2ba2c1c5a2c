"""Estimates for slices of the unlabelled items. Items in a slice share a field's value."""

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
    """Estimated mean in a slice's population.

    Attributes
    ----------
    value : str
        Value of the field.
    n_rated, n_unlabelled : int
        Numbers of rated and unlabelled items in the slice.
    mean : PopulationMean or None
        Mean with its interval, which is simultaneous with the other slices' intervals. None if
        fewer than ten items are rated, or no item is unlabelled.
    """

    value: str
    n_rated: int
    n_unlabelled: int
    mean: PopulationMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateBySlice:
    """Estimated population means by a field's values.

    Attributes
    ----------
    field : str
        Field of the items.
    level : float
        Simultaneous confidence level of all slices' intervals (Bonferroni).
    slices : tuple of SliceEstimate
        Slices in the order of the field's values. Rare values are left out.
    differences : tuple of ValueDifference
        Differences between all pairs of values with an estimate. Empty if the estimate uses beta.
    same_family : tuple of str
        Values that contain the name of the judge's model family.
    compares : bool
        Whether items compare the answers of two systems. A mean is then the share that prefers a
        system, with ties as half. A difference is the share that prefers its second system minus
        the share that prefers its first.
    n_too_few : int
        Number of pairs of systems with fewer than ten rated comparisons, or without an unlabelled
        comparison.
    """

    field: str
    level: float
    slices: tuple[SliceEstimate, ...]
    differences: tuple[ValueDifference, ...]
    same_family: tuple[str, ...]
    compares: bool = False
    n_too_few: int = 0


def field_to_slice(name: str, task: Task, rated: Sequence[Item]) -> SlicedField:
    """Return the field that divides rated items into slices.

    Raises
    ------
    OptionError
        If rated items have no field with this name, or fewer than two of its values have enough
        rated items.
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
    """Group item positions by value of a field. Keys are the values' positions in the field."""
    rows: dict[int, list[int]] = {}
    for row, place in enumerate(field.places_of(task, items).tolist()):
        if place >= 0:
            rows.setdefault(place, []).append(row)
    return rows


def has_value(field: SlicedField, task: Task, items: Sequence[Item], place: int) -> BoolArray:
    """Return an (n,) Boolean mask of the items that have the value at a position in the field."""
    return np.asarray(field.places_of(task, items) == place, dtype=np.bool_)
