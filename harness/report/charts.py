"""Kinds of charts: dots with intervals, lines, and heat maps. They know nothing of judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    show,
    tick,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 460.0
ROW = 26.0
TOP = 8.0
BAND = 22.0
RULE_LABEL = 34.0
AXIS = 34.0
GUTTER = 14.0
MAX_LABEL = 168.0
MAX_ROW_NAME = 236.0  # of a heat map: metrics differ in what follows their names
CELL = 30.0
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
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    kind: str = "judge"
    reason: str = ""

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
    reference: float | None = None,
) -> Scale:
    """Return a scale that shows every dot, every interval and the reference."""
    ends = [v for row in rows for v in (row.value, row.low, row.high)]
    return Scale.around([*ends, reference], start, end, within=within)


def dots(
    titles: Titles,
    rows: Sequence[DotRow],
    *,
    within: tuple[float, float],
    reference: float | None = None,
    width: float = WIDTH,
) -> Chart:
    """Draw one dot with its interval for each row, under one another.

    Parameters
    ----------
    within : (low, high)
        Bounds that the axis does not leave.
    reference : float, optional
        A value worth a vertical line.
    """
    left = min(max((len(row.name) for row in rows), default=0) * CHARACTER, MAX_LABEL) + 12
    scale = dot_scale(rows, left + GUTTER, width - GUTTER, within=within, reference=reference)
    height = TOP + ROW * len(rows) + AXIS
    marks = _x_axis(scale, TOP, height - AXIS, titles.x)
    if reference is not None:
        marks.append(line(scale(reference), TOP, scale(reference), height - AXIS, "reference"))
    for i, row in enumerate(rows):
        y = TOP + ROW * (i + 0.5)
        marks.append(label(left, y + 4, clip(row.name, left), f"name {row.kind}", anchor="end"))
        marks += dot_marks(row, scale, y)
    columns = ("name", "value", "low", "high", "why NA")
    data = tuple((r.name, r.value, r.low, r.high, r.reason) for r in rows)
    return _chart(titles, (width, height), marks, (columns, data))


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
    width = max(left + cell_width * len(column_names) + 2, 230.0)
    head = 40.0
    height = head + CELL * len(row_names) + 4
    marks = [
        label(left, 12, clip(titles.x, width - left), "small"),
        label(0, 30, titles.y, "small"),
    ]
    for j, name in enumerate(column_names):
        middle = left + cell_width * (j + 0.5)
        marks.append(label(middle, 30, clip(name, cell_width - 6), "name", anchor="middle"))
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


def _heat_cell(
    place: tuple[float, float, float], value: float | None, top: float, digits: int, told: str
) -> list[Mark]:
    x, y, width = place
    share = 0.0 if value is None or top <= 0 else min(max(value / top, 0.0), 1.0)
    shade = f"heat s{round(share * 10)}"  # eleven classes: the page's policy forbids inline styles
    text = show(value if value is None else float(value), digits)
    dark = "on-heat" if share > 0.55 else "in-heat"  # noqa: PLR2004 -- where white reads better than ink
    return [
        box(x + 1, y + 1, width - 2, CELL - 2, shade, rx="3", title=told),
        label(x + width / 2, y + 19, text, "na" if value is None else dark, anchor="middle"),
    ]


def _x_axis(scale: Scale, top: float, bottom: float, title: str) -> list[Mark]:
    marks = [line(scale.start, bottom, scale.end, bottom, "axis")]
    for value in scale.ticks():
        x = scale(value)
        marks.append(line(x, top, x, bottom, "grid"))
        marks.append(label(x, bottom + 14, tick(value), "tick x", anchor="middle"))
    middle = (scale.start + scale.end) / 2
    half = len(title) * CHARACTER * 0.46  # kept inside the drawing where the axis is short
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
    marks, last = [], float("-inf")
    for x, told in rules:
        marks.append(line(across(x), TOP + 6, across(x), bottom, "rule"))
        if across(x) - last >= RULE_LABEL:
            last = across(x)
            marks.append(label(last, TOP + 3, told, "small rule-label", anchor="middle"))
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
