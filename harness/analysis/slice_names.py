"""Names of numbers by slice, such as ``slice(language=de).consistency``, for requirements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, get_args

from harness.analysis.item_slices import SlicedMeasure
from harness.stats import Estimate

if TYPE_CHECKING:
    from harness.analysis.item_slices import Slices

IntervalEnd: TypeAlias = Literal["", "lower", "upper"]

PREFIX = "slice("
FORM = re.compile(
    r"slice\((?P<field>[^=]*[^=\s])\s*=\s*(?P<value>.*\S)\s*\)\s*\.\s*(?P<measure>[a-z_]+)"
    r"(\s*:\s*(?P<end>lower|upper))?"
)
MEASURES: tuple[SlicedMeasure, ...] = get_args(SlicedMeasure)


@dataclass(frozen=True, slots=True)
class SliceName:
    """A measure of a slice, or an end of its interval."""

    field: str
    value: str
    measure: str
    end: IntervalEnd = ""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read a name; None if it is of another form."""
        match = FORM.fullmatch(text.strip())
        return match and cls(
            match["field"].strip(), match["value"], match["measure"], match["end"] or ""
        )

    def __str__(self) -> str:
        end = f":{self.end}" if self.end else ""
        return f"{PREFIX}{self.field}={self.value}).{self.measure}{end}"


def slice_names(slices: Slices | None) -> set[str]:
    """Return the names of all measures of all slices."""
    rows = slices.judges[0].rows if slices and slices.judges else ()
    return {
        str(SliceName(row.field, row.value, measure)) for row in rows for measure in row.measures
    }


def slice_estimate(slices: Slices | None, judge: str, name: SliceName) -> Estimate:
    """Return a measure of a judge in a slice; NA if there is none."""
    of_judge = slices.of(judge) if slices else None
    for row in of_judge.rows if of_judge else ():
        measure = row.measures.get(name.measure)  # type: ignore[call-overload]  # any text is looked up
        if (row.field, row.value) == (name.field, name.value) and measure is not None:
            return measure.value
    return Estimate(value=None, reason="not_compared", n_used=0)


def number_of(estimate: Estimate, end: IntervalEnd) -> float | None:
    """Return a value, or an end of its interval."""
    if end == "" or estimate.value is None:
        return estimate.value
    if estimate.interval is None:
        return None
    return estimate.interval.low if end == "lower" else estimate.interval.high
