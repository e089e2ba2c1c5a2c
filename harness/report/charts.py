"""Kinds of charts: dots with intervals, lines, and heat maps. They know nothing of judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from harness.report.marks import (
    CHARACTER,
    Cell,
    Chart,
    Mark,
    Scale,
    box,
    clip,
    dot,
    label,
    line,
    path,
    px,
    show,
    tick,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 400.0
ROW = 26.0
APART = 9.0  # px between dots on one line
TOP = 8.0
BAND = 22.0
RULE_LABEL = 8.0  # px at least between the words of two rules
AXIS = 34.0
GUTTER = 14.0
MAX_LABEL = 168.0
MAX_ROW_NAME = 236.0  # of a heat map: metrics differ in what follows their names
CELL = 30.0
HEAD = 40.0
SLOPE = 0.7  # sine and cosine of the angle at which long names of columns stand
DARK = 6  # class of a heat cell from which white reads better than ink
SMALL = 0.92  # of a small label's width to a label's
N_STYLES = 8


@dataclass(frozen=True, slots=True)
class DotRow:
    """One line of a chart of dots.

    Attributes
    ----------
    kind : str
        "best", "tied" (with the best), "judge" or "baseline"; says how it is drawn.
    reason : str
        Why the value is NA.
    line : str
        What stands at the left, if not the name; rows in sequence that share it share a line.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    kind: str = "judge"
    reason: str = ""
    line: str = ""

    @property
    def told(self) -> str:
        """The row in words."""
        if self.value is None:
            return f"{self.name}: NA ({self.reason})" if self.reason else f"{self.name}: NA"
        if self.low is None or self.high is None:
            return f"{self.name}: {self.value:.3f}"
        return f"{self.name}: {self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart of lines; ``style`` chooses colour and dash."""

    name: str
    points: tuple[tuple[float, float | None], ...]
    style: str


@dataclass(frozen=True, slots=True)
class Titles:
    """What a chart is called and what its axes say."""

    name: str
    title: str
    alt: str
    x: str = ""
    y: str = ""


def dot_scale(
    rows: Sequence[DotRow],
    start: float,
    end: float,
    *,
    within: tuple[float, float],
    reach: Sequence[float | None] = (),
) -> Scale:
    """Return a scale that shows every dot, every interval and what else it must ``reach``."""
    return Scale.around([*dot_ends(rows), *reach], start, end, within=within)


def dot_ends(rows: Sequence[DotRow]) -> list[float | None]:
    """Return the values and ends of intervals, for an axis that several charts share."""
    return [v for row in rows for v in (row.value, row.low, row.high)]


def dots(
    titles: Titles,
    rows: Sequence[DotRow],
    *,
    within: tuple[float, float],
    reference: float | None = None,
    reach: Sequence[float | None] = (),
    width: float = WIDTH,
) -> Chart:
    """Draw one dot with its interval for each row, line under line.

    Parameters
    ----------
    within : (low, high)
        Bounds that the axis does not leave.
    reference : float, optional
        A value worth a vertical line.
    reach : sequence of float, optional
        Values that the axis must show too.
    """
    drawn = [(told, list(some)) for told, some in groupby(rows, lambda row: row.line or row.name)]
    left = min(max((len(told) for told, _ in drawn), default=0) * CHARACTER, MAX_LABEL) + 12
    reached = (reference, *reach)
    scale = dot_scale(rows, left + GUTTER, width - GUTTER, within=within, reach=reached)
    height = TOP + ROW * len(drawn) + AXIS
    marks = _x_axis(scale, TOP, height - AXIS, titles.x)
    if reference is not None:
        marks.append(line(scale(reference), TOP, scale(reference), height - AXIS, "reference"))
    for i, (told, some) in enumerate(drawn):
        y = TOP + ROW * (i + 0.5)
        kind = some[0].kind if len(some) == 1 else "judge"
        marks.append(label(left, y + 4, clip(told, left), f"name {kind}", anchor="end"))
        marks += _together(some, scale, y)
    columns = ("name", "value", "low", "high", "why NA")
    data = tuple((r.name, r.value, r.low, r.high, r.reason) for r in rows)
    return _chart(titles, (width, height), marks, (columns, data))


def _together(rows: Sequence[DotRow], scale: Scale, middle: float) -> list[Mark]:
    """Draw the rows of one line, a little apart and tied to one another."""
    heights = [middle + APART * (k - (len(rows) - 1) / 2) for k in range(len(rows))]
    placed = list(zip(rows, heights, strict=True))
    known = [(scale(row.value), y) for row, y in placed if row.value is not None]
    tie = [path(known, "tie")] if len(known) > 1 else []
    return [*tie, *(mark for row, y in placed for mark in dot_marks(row, scale, y))]


def dot_marks(row: DotRow, scale: Scale, y: float) -> list[Mark]:
    """Draw one row's interval and dot, or NA."""
    if row.value is None:
        return [Mark("text", {"x": f"{scale.start:g}", "y": f"{y + 4:g}", "class": "na"}, "NA")]
    marks = []
    if row.low is not None and row.high is not None:
        marks.append(line(scale(row.low), y, scale(row.high), y, f"interval {row.kind}"))
    marks.append(dot(scale(row.value), y, f"dot {row.kind}", title=row.told, of=row.name))
    return marks


def lines(
    titles: Titles,
    series: Sequence[Series],
    *,
    y_within: tuple[float, float],
    rules: Sequence[tuple[float, str]] = (),
    rug: Sequence[tuple[float, str, str]] = (),
    band: Sequence[tuple[float, float, str, str]] = (),
    reach: tuple[float, ...] = (),
    cursor: bool = False,
    width: float = WIDTH,
    height: float = 250.0,
) -> Chart:
    """Draw lines with their names at their right ends.

    Parameters
    ----------
    rules : sequence of (x, text)
        Values of x worth a vertical line.
    rug : sequence of (x, name, style)
        Values to mark on the x axis.
    band : sequence of (low, high, style, told)
        Stretches of x to colour above the lines.
    reach : tuple of float
        Values of y that the axis must show too.
    cursor : bool
        Whether the reader moves a vertical line.
    """
    xs = [x for one in series for x, _ in one.points]
    low, high = min(xs, default=0.0), max(xs, default=1.0)
    right = min(max((len(one.name) for one in series), default=0) * CHARACTER, MAX_LABEL) + 12
    across = Scale(low, high if high > low else low + 1.0, 44, width - right - 4)
    ys = [*reach, *(y for one in series for _, y in one.points)]
    up = Scale.around(ys, height - AXIS, TOP + BAND, within=y_within)
    marks = [*_x_axis(across, TOP + BAND, height - AXIS, titles.x), *_y_axis(up, across)]
    for first, last, style, told in band:
        reached = across(last) - across(first)
        title = f"{told}: {first:.3f} to {last:.3f}"
        marks.append(box(across(first), TOP + 8, reached, 7, f"band region {style}", title=title))
    marks += _rules(rules, across, height - AXIS)
    if not rules:  # their words stand where this would
        marks.append(label(0, TOP + 4, titles.y, "small"))
    for one in series:
        drawn = [(across(x), up(y)) for x, y in one.points if y is not None]
        if drawn:
            marks.append(path(drawn, f"series {one.style}", of=one.name))
    marks += _end_labels(series, across, up, right)
    for x, name, style in rug:
        marks.append(dot(across(x), height - AXIS, f"rug {style}", r=4, title=f"{name}: {x:.3f}"))
    if cursor:
        still = line(across(low), TOP + BAND, across(low), height - AXIS, "cursor")
        marks.append(replace(still, attributes={**still.attributes, "visibility": "hidden"}))
    data = tuple((one.name, x, y) for one in series for x, y in one.points)
    columns = ("name", titles.x or "x", titles.y or "y")
    return _chart(titles, (width, height), marks, (columns, data), (across, up))


def heat(
    titles: Titles,
    row_names: Sequence[str],
    column_names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    top: float = 1.0,
    digits: int = 2,
    cell_width: float = 54.0,
) -> Chart:
    """Draw a table whose cells are the darker the nearer they are to ``top``; None is NA."""
    widest = max((len(n) for n in (*row_names, titles.y)), default=0)
    left = min(widest * CHARACTER, MAX_ROW_NAME) + 14
    longest = max(map(len, column_names), default=0) * CHARACTER
    sloping = min(longest, MAX_LABEL) * SLOPE if longest > cell_width + CHARACTER else 0.0
    width = left + max(cell_width * len(column_names) + sloping + 2, len(titles.x) * CHARACTER)
    head = HEAD + sloping
    height = head + CELL * len(row_names) + 4
    marks = [label(left, 12, titles.x, "small"), label(0, head - 10, titles.y, "small")]
    for j, name in enumerate(column_names):
        middle = left + cell_width * (j + 0.5)
        marks.append(_column_name(middle, head - 10, name, sloping=bool(sloping)))
    for i, name in enumerate(row_names):
        y = head + CELL * i
        marks.append(label(left - 8, y + 19, clip(name, left - 8), "name", anchor="end"))
        for j, value in enumerate(values[i]):
            x = left + cell_width * j
            told = f"{name}, {column_names[j]}: {show(value)}"
            marks += _heat_cell((x, y, cell_width), value, top, digits, told)
    columns = (titles.y or "row", titles.x or "column", "value")
    data = tuple(
        (row, column, values[i][j])
        for i, row in enumerate(row_names)
        for j, column in enumerate(column_names)
    )
    return _chart(titles, (width, height), marks, (columns, data))


def _column_name(x: float, y: float, name: str, *, sloping: bool) -> Mark:
    if not sloping:
        return label(x, y, name, "name", anchor="middle")
    turned = label(x, y, clip(name, MAX_LABEL), "name")
    angle = {"transform": f"rotate(-45 {px(x)} {px(y)})"}
    return replace(turned, attributes={**turned.attributes, **angle})


def _heat_cell(
    place: tuple[float, float, float], value: float | None, top: float, digits: int, told: str
) -> list[Mark]:
    x, y, width = place
    share = 0.0 if value is None or top <= 0 else min(max(value / top, 0.0), 1.0)
    shade = round(share * 10)  # eleven classes: the page's policy forbids inline styles
    text = show(value if value is None else float(value), digits)
    dark = "on-heat" if shade >= DARK else "in-heat"
    return [
        box(x + 1, y + 1, width - 2, CELL - 2, f"heat s{shade}", rx="3", title=told),
        label(x + width / 2, y + 19, text, "na" if value is None else dark, anchor="middle"),
    ]


def _x_axis(scale: Scale, top: float, bottom: float, title: str) -> list[Mark]:
    marks = [line(scale.start, bottom, scale.end, bottom, "axis")]
    for value in scale.ticks():
        x = scale(value)
        marks.append(line(x, top, x, bottom, "grid"))
        marks.append(label(x, bottom + 14, tick(value), "tick x", anchor="middle"))
    middle = (scale.start + scale.end) / 2
    half = len(title) * CHARACTER * SMALL / 2  # kept inside the drawing where the axis is short
    middle = min(middle, scale.end + GUTTER - half)
    marks.append(label(middle, bottom + 29, title, "small", anchor="middle"))
    return marks


def _y_axis(up: Scale, across: Scale) -> list[Mark]:
    marks = []
    for value in up.ticks():
        marks.append(line(across.start, up(value), across.end, up(value), "grid"))
        marks.append(label(across.start - 6, up(value) + 4, tick(value), "tick y", anchor="end"))
    return marks


def _rules(rules: Sequence[tuple[float, str]], across: Scale, bottom: float) -> list[Mark]:
    """Draw vertical lines, and say what they are where the words do not run into each other."""
    marks, end = [], float("-inf")
    for x, told in rules:
        marks.append(line(across(x), TOP + 6, across(x), bottom, "rule"))
        half = len(told) * CHARACTER * SMALL / 2
        if across(x) - half >= end + RULE_LABEL:
            end = across(x) + half
            marks.append(label(across(x), TOP + 3, told, "small rule-label", anchor="middle"))
    return marks


def _end_labels(series: Sequence[Series], across: Scale, up: Scale, room: float) -> list[Mark]:
    """Name each line at its right end, pushed apart where they would lie on one another."""
    ends = []
    for one in series:
        known = [y for _, y in one.points if y is not None]
        if known:
            ends.append((up(known[-1]), one))
    ends.sort(key=lambda end: end[0])
    placed: list[float] = []
    for y, _ in ends:
        placed.append(max(y, placed[-1] + 13) if placed else y)
    overflow = max(0.0, placed[-1] - up.start) if placed else 0.0
    for i in reversed(range(len(placed))):
        below = placed[i + 1] - 13 if i + 1 < len(placed) else placed[i] - overflow
        placed[i] = min(placed[i], below)
    return [
        label(across.end + 8, y + 4, clip(one.name, room), f"end {one.style}", of=one.name)
        for y, (_, one) in zip(placed, ends, strict=True)
    ]


def _chart(
    titles: Titles,
    size: tuple[float, float],
    marks: Sequence[Mark],
    table: tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]],
    frame: tuple[Scale, Scale] | None = None,
) -> Chart:
    return Chart(titles.name, titles.title, titles.alt, *size, tuple(marks), *table, frame)
