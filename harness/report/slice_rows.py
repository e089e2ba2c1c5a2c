"""Slices of a judge as rows of a table, worst first, for the terminal and the page."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from harness.files.plain_text import visible
from harness.report.formatting import counted, cut, estimate, level_text, number, percent

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.item_slices import JudgeSlice, SlicedMeasure

HEADS = (
    "slice",
    "items",
    "agrees",
    "difference from other items",
    "a rater",
    "difference",
    "disagreement",
    "answered",
    "signed error",
)
MAX_SLICE = 44  # characters of a field and its value
TERMINAL_HEADS = ("slice", "items", "agrees", "difference", "a rater")


def slice_name(field: str, value: str) -> str:
    """Return field and value of a slice on one line."""
    return cut(visible(f"{field}: {value}"), MAX_SLICE)


def worst_first(rows: tuple[JudgeSlice, ...]) -> list[JudgeSlice]:
    """Return the slices by how much less a judge agrees there than on the other items."""
    return sorted(rows, key=_difference)


def _difference(row: JudgeSlice) -> float:
    """Return the difference in agreement; without one, how much greater the disagreement is."""
    agreement, disagreement = (row.measures.get(name) for name in _ORDERED_BY)
    if agreement is not None and agreement.difference.value is not None:
        return agreement.difference.value
    if disagreement is not None and disagreement.difference.value is not None:
        return -disagreement.difference.value
    return inf


_ORDERED_BY: tuple[SlicedMeasure, SlicedMeasure] = ("agreement", "disagreement")


def slice_table(v: Validation, judge: str) -> tuple[str, list[str], list[list[str]]] | None:
    """Return title, heads and rows: a judge in each slice, worst first; None without slices."""
    of_judge = v.slices.of(judge) if v.slices else None
    if of_judge is None:
        return None
    rows = [
        [slice_name(row.field, row.value), str(row.n_items), *_compared(row), *_others(row)]
        for row in worst_first(of_judge.rows)
    ]
    return slices_note(v, judge), list(HEADS), rows


def terminal_slice_table(v: Validation) -> tuple[str, list[str], list[list[str]]] | None:
    """Return title, heads and rows of the first judge's agreement by slice, for 80 columns."""
    table = slice_table(v, v.decision.leader or "")
    if table is None:
        return None
    title, _, rows = table
    return title, list(TERMINAL_HEADS), [row[: len(TERMINAL_HEADS)] for row in rows]


def slices_note(v: Validation, judge: str) -> str:
    """Say what is compared, how many slices there are, and which values are pooled."""
    assert v.slices is not None
    pooled = [
        f"{field.n_pooled} of {visible(field.name)}" for field in v.slices.fields if field.n_pooled
    ]
    rare = f" Rare values are one slice: {', '.join(pooled)}." if pooled else ""
    level = level_text(v.settings.confidence)
    return (
        f"{judge} by slice, worst first: how often it agrees with another rater's answer, the "
        "difference from all other items, and how often a rater does. With "
        f"{level} confidence, the intervals of a column contain the values for all "
        f"{counted([v.slices.n_slices], 'slice')} at once.{rare}"
    )


def _compared(row: JudgeSlice) -> tuple[str, ...]:
    """Return the agreement of the judge and of a rater, each with its difference."""
    agreement = row.measures.get("agreement")
    sides = [(side.value, side.difference) for side in (agreement, row.human) if side]
    cells = [(percent(value.value), estimate(gap, 2)) for value, gap in sides]
    return tuple(cell for pair in cells for cell in pair) if cells else ("NA", "", "NA", "")


def _others(row: JudgeSlice) -> tuple[str, str, str]:
    """Return the metric that ranks, the answered fraction and the signed error."""
    measures = row.measures
    disagreement, error = measures.get("disagreement"), measures.get("signed_error")
    return (
        number(disagreement.value.value) if disagreement else "NA",
        percent(measures["answered_fraction"].value.value),
        number(error.value.value, 2) if error else "NA",
    )
