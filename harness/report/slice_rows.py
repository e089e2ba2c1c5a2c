"""Convert a judge's slices to table rows for the terminal and the page, worst slice first."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from harness.files.plain_text import counted, visible
from harness.report.formatting import cut, estimate, level_text, number, percent

if TYPE_CHECKING:
    from harness.analysis import Validation
    from harness.analysis.item_slices import ComparedMeasure, JudgeSlice, SlicedMeasure

FURTHER_HEADS = ("disagreement", "answered", "signed error")
MAX_SLICE = 44  # characters of a field name and its value
N_IN_TERMINAL = 5  # columns
COMPARED_HEADS: dict[ComparedMeasure, str] = {
    "agreement": "agrees",
    "distance": "distance",
    "similarity": "similarity",
}
COMPARED_WORDS: dict[ComparedMeasure, str] = {
    "agreement": (
        "how often the judge agrees with another rater's answer, the difference from all other "
        "items, and how often a rater agrees with another rater"
    ),
    "distance": (
        "how far the judge is from the mean of the other raters, the difference from all other "
        "items, and how far a rater is from the other raters"
    ),
    "similarity": (
        "how similar the judge's text is to the raters' texts, the difference from all other "
        "items, and how similar a rater's text is to the others"
    ),
}


def slice_name(field: str, value: str) -> str:
    """Return the slice's field and value as one line."""
    return cut(visible(f"{field}: {value}"), MAX_SLICE)


def worst_first(rows: tuple[JudgeSlice, ...]) -> list[JudgeSlice]:
    """Return a judge's slices, worst first compared with other items."""
    return sorted(rows, key=_difference)


def _difference(row: JudgeSlice) -> float:
    """Return how much better the judge is in the slice than on other items.

    The first defined measure decides.
    """
    for name, sign in _ORDERED_BY.items():
        measure = row.measures.get(name)
        if measure is not None and measure.difference.value is not None:
            return sign * measure.difference.value
    return inf


_ORDERED_BY: dict[SlicedMeasure, int] = {  # 1 if more is better
    "agreement": 1,
    "similarity": 1,
    "distance": -1,
    "disagreement": -1,
}


def slice_table(v: Validation, judge: str) -> tuple[str, list[str], list[list[str]]] | None:
    """Return a table of a judge's slices, worst first, as title, heads and rows.

    Return None without slices.
    """
    of_judge = v.slices.of(judge) if v.slices else None
    if of_judge is None:
        return None
    assert v.slices is not None, "a judge has slices"
    compared = v.slices.compared
    rows = [
        [
            slice_name(row.field, row.value),
            str(row.n_items),
            *_compared(row, compared),
            *_others(row),
        ]
        for row in worst_first(of_judge.rows)
    ]
    sides = COMPARED_HEADS[compared], "difference from other items", "a rater", "difference"
    return slices_note(v, judge), ["slice", "items", *sides, *FURTHER_HEADS], rows


def terminal_slice_table(v: Validation) -> tuple[str, list[str], list[list[str]]] | None:
    """Return a table of the top judge's agreement by slice, at most 80 columns wide."""
    table = slice_table(v, v.decision.leader or "")
    if table is None:
        return None
    title, heads, rows = table
    heads = [head.removesuffix(" from other items") for head in heads]
    return title, heads[:N_IN_TERMINAL], [row[:N_IN_TERMINAL] for row in rows]


def slices_note(v: Validation, judge: str) -> str:
    """Describe what is compared, the number of slices, and how many values are pooled."""
    assert v.slices is not None
    pooled = [
        f"{field.n_pooled} of {visible(field.name)}" for field in v.slices.fields if field.n_pooled
    ]
    rare = f" Rare values are combined into one slice: {', '.join(pooled)}." if pooled else ""
    level = level_text(v.settings.confidence)
    return (
        f"{judge} by slice, worst first: {COMPARED_WORDS[v.slices.compared]}. The intervals in "
        f"each column are simultaneous {level} intervals for "
        f"{counted([v.slices.n_slices], 'slice')}.{rare}"
    )


def shown(value: float | None, compared: ComparedMeasure) -> str:
    """Format a value: agreement in percent, other measures as numbers."""
    return percent(value) if compared == "agreement" else number(value, 2)


def _compared(row: JudgeSlice, compared: ComparedMeasure) -> tuple[str, ...]:
    """Return the judge's and a rater's values of the compared measure, with their differences."""
    sides = [
        (side.value, side.difference) for side in (row.measures.get(compared), row.human) if side
    ]
    cells = [(shown(value.value, compared), estimate(gap, 2)) for value, gap in sides]
    return tuple(cell for pair in cells for cell in pair) if cells else ("NA", "", "NA", "")


def _others(row: JudgeSlice) -> tuple[str, str, str]:
    """Return the slice's ranking metric, share of items answered and signed error as text."""
    measures = row.measures
    disagreement, error = measures.get("disagreement"), measures.get("signed_error")
    return (
        number(disagreement.value.value) if disagreement else "NA",
        percent(measures["answered_fraction"].value.value),
        number(error.value.value, 2) if error else "NA",
    )
