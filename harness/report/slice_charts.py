"""Draw judges by slice, with the slice in which a judge agrees least at the top."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from harness.report.charts import IntervalRow, Titles, interval_chart, items_link
from harness.report.judge_charts import interval_row, judge_kinds, unique_slug
from harness.report.slice_rows import slice_name, slice_table, worst_first
from harness.stats.inference.metric import SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.analysis import Validation
    from harness.analysis.item_slices import ComparedMeasure, JudgeSlice, SlicedJudge
    from harness.report.charts import Chart, RowKind

WIDTH = 520.0
NOT_NEGATIVE = (0.0, inf)


class _ChartWords(NamedTuple):
    """Texts for a chart of the measure that compares a judge with raters."""

    title: str
    alt: str
    axis: str


CHART_WORDS: dict[ComparedMeasure, _ChartWords] = {
    "agreement": _ChartWords(
        "Agreement with another rater",
        (
            "Share of items on which the judge agrees with another rater, and on which a rater "
            "agrees with another rater"
        ),
        "agreement with another rater",
    ),
    "distance": _ChartWords(
        "Distance from the other raters",
        (
            "Distance of the judge from the mean of the other raters, and a rater's distance "
            "from the others"
        ),
        "distance from the mean of the other raters",
    ),
    "similarity": _ChartWords(
        "Similarity to the raters",
        (
            "Similarity of the judge's text to the raters' texts, and of a rater's text to the "
            "other raters' texts"
        ),
        "similarity to the raters' texts",
    ),
}


@dataclass(frozen=True, slots=True)
class SlicedView:
    """A judge's slices on the page: a chart, a table and a note."""

    judge: str
    note: str
    chart: Chart
    heads: list[str]
    rows: list[list[str]]


def sliced_judges(v: Validation) -> list[SlicedView]:
    """Return the slices of each ranked judge for the page, best judge first."""
    views = []
    for judge in v.ranked_judges:
        of_judge = v.slices.of(judge.name) if v.slices else None
        table = slice_table(v, judge.name)
        if of_judge is None or table is None or not _is_drawn(of_judge):
            continue
        views.append(SlicedView(judge.name, table[0], _chart(v, of_judge), *table[1:]))
    return views


def _is_drawn(of_judge: SlicedJudge) -> bool:
    return any(row.human is not None for row in of_judge.rows)


def _chart(v: Validation, of_judge: SlicedJudge) -> Chart:
    """Draw the agreement of a judge and of a rater in each slice, with intervals."""
    assert v.slices is not None, "a judge has slices"
    kind, compared = judge_kinds(v)[of_judge.judge], v.slices.compared
    rows = [
        row for r in worst_first(of_judge.rows) for row in _rows(of_judge.judge, r, kind, compared)
    ]
    words = CHART_WORDS[compared]
    worst = of_judge.worst_row
    named = f" Weakest: {slice_name(worst.field, worst.value)}." if worst else ""
    titles = Titles(
        name=f"slices-{unique_slug(of_judge.judge)}",
        title=f"{words.title}, by slice: {of_judge.judge}",
        alt=f"{words.alt}, in each slice. The slice that lags the other items most is "
        f"first.{named}",
        x=f"{words.axis} (uncoloured: a rater)",
    )
    within = NOT_NEGATIVE if compared == "distance" else SHARE
    return interval_chart(titles, rows, within=within, width=WIDTH)


def _rows(
    judge: str, row: JudgeSlice, kind: RowKind, compared: ComparedMeasure
) -> Iterator[IntervalRow]:
    """Yield the judge's row and the rater's row for a slice. Both are on one line of the chart."""
    name = slice_name(row.field, row.value)
    line = f"{name} ({row.n_items})"
    link = items_link(judge=judge, slice=name)
    measure = row.measures.get(compared)
    if measure is None:
        return
    of_judge = interval_row(f"{judge}, {name}", measure.value, kind)
    yield replace(of_judge, line=line, link=link)
    if row.human is not None:
        yield replace(interval_row(f"a rater, {name}", row.human.value, "rater"), line=line)
