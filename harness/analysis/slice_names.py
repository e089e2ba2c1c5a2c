"""Names of numbers in slices, such as ``slice(language=de).consistency``, in requirements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Self, get_args

from harness.analysis.item_slices import SlicedMeasure
from harness.analysis.sliced_fields import sliced_fields
from harness.errors import TaskError
from harness.stats import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.analysis.item_slices import Slices
    from harness.stats.data.arrays import BoolArray
    from harness.tasks import Task

PREFIX = "slice("
FORM = re.compile(
    r"slice\((?P<field>[^=]*[^=\s])\s*=\s*(?P<value>.*\S)\s*\)\s*\.\s*(?P<measure>[a-z_]+)"
)
MEASURES: tuple[SlicedMeasure, ...] = get_args(SlicedMeasure)


@dataclass(frozen=True, slots=True)
class SliceName:
    """Name of a measure in a slice."""

    field: str
    value: str
    measure: str

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read a name. Return None if the text has a different form."""
        match = FORM.fullmatch(text.strip())
        if match is None:
            return None
        return cls(match["field"].strip(), match["value"], match["measure"])

    def __str__(self) -> str:
        return f"{PREFIX}{self.field}={self.value}).{self.measure}"


def slice_names(slices: Slices | None) -> set[str]:
    """Return the names of every measure in every slice."""
    rows = slices.judges[0].rows if slices and slices.judges else ()
    return {
        str(SliceName(row.field, row.value, measure)) for row in rows for measure in row.measures
    }


def slice_estimate(slices: Slices | None, judge: str, name: SliceName) -> Estimate:
    """Return a judge's measure in a slice. It is NA if the judge has no such measure."""
    of_judge = slices.of(judge) if slices else None
    estimates = (
        measure.value
        for row in (of_judge.rows if of_judge else ())
        if (row.field, row.value) == (name.field, name.value)
        for measured, measure in row.measures.items()
        if measured == name.measure
    )
    return next(estimates, Estimate(value=None, reason="not_compared", n_used=0))


def check_slice(name: SliceName, task: Task) -> None:
    """Reject a name if the task's items have no such slice or slices have no such measure.

    Raises
    ------
    TaskError
        If there is no slice or measure of that name; the message lists similar names.
    """
    known = [
        f"{PREFIX}{slice_of}).{measure}"
        for slice_of in _members_by_slice(task)
        for measure in MEASURES
    ]
    if (wanted := str(name)) not in known:
        raise _unknown(task, wanted, known)


def slice_members(task: Task, slice_of: str) -> BoolArray:
    """Return an (n,) bool array: whether each item is in a slice, given as ``FIELD=VALUE``.

    Raises
    ------
    TaskError
        If there is no slice of that name; the message lists similar names.
    """
    members = _members_by_slice(task)
    if slice_of not in members:
        raise _unknown(task, slice_of, list(members))
    return members[slice_of]


def _members_by_slice(task: Task) -> dict[str, BoolArray]:
    return {
        f"{field.name}={value}": members
        for field in sliced_fields(task, task.items)
        for value, members in zip(field.values, field.members, strict=True)
    }


def _unknown(task: Task, name: str, known: Sequence[str]) -> TaskError:
    close = get_close_matches(name, known, n=3, cutoff=0.4) or known[:3]
    hint = f"Did you mean {' or '.join(close)}?" if close else "Its items have no fields."
    return TaskError(f"task {task.name}: no slice {name!r}. {hint}")
