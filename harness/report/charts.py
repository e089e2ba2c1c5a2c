"""Kinds of charts: dots with intervals, lines, and heat maps. They know nothing of judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from harness.report.svg import (
    CHARACTER,
    WIDE,
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
    pieces,
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
LEVEL = 13.0  # px from one level of words to the next
AXIS = 34.0
GUTTER = 20.0  # px at the ends of an axis, for half of a tick's words
MAX_LABEL = 168.0
MAX_ROW_NAME = 236.0  # of a heat map that is not wide
CELL = 30.0
HEAD = 40.0
SLOPE = 0.7  # sine and cosine of the angle at which long names of columns stand
DARK = 6  # class of a heat cell from which white reads better than ink
SMALL = 0.92  # of a small label's width to a label's
KEY_LINE = 22.0  # px of a line in the key, before its name
KEY_ROW = 17.0
KEY_APART = 14.0  # px between two names in the key
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
            return f"{self.name}: {self.value:z.3f}"
        return f"{self.name}: {self.value:z.3f} [{self.low:z.3f}, {self.high:z.3f}]"


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
        marks.append(label(left, y + 4, clip(told, left - 12), f"name {kind}", anchor="end"))
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
    """Draw lines over a key that names them.

    Parameters
    ----------
    rules : sequence of (x, text)
        Values of x worth a vertical line, in order.
    rug : sequence of (x, name, style)
        Values to mark on the x axis.
    band : sequence of (low, high, style, told)
        Stretches of x to colour above the lines.
    reach : tuple of float
        Values of y that the axis must show too.
    cursor : bool
        Whether the reader moves a vertical line.
    height : float
        Without the key, and without levels of rules' words beyond the first.
    """
    xs = [x for one in series for x, _ in one.points]
    low, high = min(xs, default=0.0), max(xs, default=1.0)
    across = Scale(low, high if high > low else low + 1.0, 44, width - GUTTER)
    levels = _levels([(across(x), told) for x, told in rules])
    top = TOP + LEVEL * max(levels, default=0)
    bottom = top - TOP + height - AXIS
    ys = [*reach, *(y for one in series for _, y in one.points)]
    up = Scale.around(ys, bottom, top + BAND, within=y_within)
    marks = [*_x_axis(across, top + BAND, bottom, titles.x), *_y_axis(up, across)]
    for first, last, style, told in band:
        reached = across(last) - across(first)
        title = f"{told}: {first:.3f} to {last:.3f}"
        marks.append(box(across(first), top + 8, reached, 7, f"band region {style}", title=title))
    for (x, told), level in zip(rules, levels, strict=True):
        marks += _rule(across(x), told, (top - LEVEL * level, bottom), across.end + GUTTER)
    if not rules:  # their words stand where this would
        marks.append(label(0, TOP + 4, titles.y, "small"))
    for one in series:
        drawn = [(across(x), up(y)) for x, y in one.points if y is not None]
        if drawn:
            marks.append(path(drawn, f"series {one.style}", of=one.name))
    for x, name, style in rug:
        marks.append(dot(across(x), bottom, f"rug {style}", r=4, title=f"{name}: {x:.3f}"))
    if cursor:
        still = line(across(low), top + BAND, across(low), bottom, "cursor")
        marks.append(replace(still, attributes={**still.attributes, "visibility": "hidden"}))
    key, height = _key(series, bottom + AXIS, width)
    marks += key
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
    counts: Sequence[int] = (),
    row_counts: Sequence[str] = (),
) -> Chart:
    """Draw a table whose cells are the darker the nearer they are to ``top``; None is NA.

    ``counts`` says of each column what its cells rest on, ``row_counts`` of each row.
    """
    widest = max((len(n) for n in (*row_names, titles.y)), default=0)
    across = cell_width * len(column_names)
    longest = MAX_LABEL if MAX_ROW_NAME + across > WIDE else MAX_ROW_NAME
    left = min(widest * CHARACTER, longest) + 14
    names, head, overhang = _column_names(column_names, counts, left, cell_width)
    end = left + across
    noted = max(map(len, row_counts), default=0) * CHARACTER
    width = max(end + max(overhang, noted + 2) + 2, left + len(titles.x) * CHARACTER)
    height = head + CELL * len(row_names) + 4
    marks = [label(left, 12, titles.x, "small"), label(0, head - 10, titles.y, "small"), *names]
    for i, name in enumerate(row_names):
        y = head + CELL * i
        marks.append(label(left - 8, y + 19, clip(name, left - 8), "name", anchor="end"))
        for j, value in enumerate(values[i]):
            x = left + cell_width * j
            told = f"{name}, {column_names[j]}: {show(value)}"
            told += "".join(f", n {n}" for n in (*counts[j : j + 1], *row_counts[i : i + 1]))
            marks += _heat_cell((x, y, cell_width), value, top, digits, told)
        marks += [label(end + 6, y + 19, f"n {n}", "small") for n in row_counts[i : i + 1]]
    n_columns = ("n",) if counts or row_counts else ()
    columns = (titles.y or "row", titles.x or "column", "value", *n_columns)
    data = tuple(
        (row, column, values[i][j], *counts[j : j + 1], *row_counts[i : i + 1])
        for i, row in enumerate(row_names)
        for j, column in enumerate(column_names)
    )
    return replace(_chart(titles, (width, height), marks, (columns, data)), stub=left)


def _column_names(
    names: Sequence[str], counts: Sequence[int], left: float, cell_width: float
) -> tuple[list[Mark], float, float]:
    """Name columns in a few lines, or sloping; return how high and how far out they go."""
    lines_of = [wrapped(name, cell_width) for name in names]
    widest = max((len(part) for parts in lines_of for part in parts), default=0) * CHARACTER
    reaches = [min(len(name) * CHARACTER, MAX_LABEL) * SLOPE for name in names]
    sloping = max(reaches) if widest > cell_width + CHARACTER else 0.0
    below = LEVEL if counts else 0.0
    head = HEAD + (sloping or LEVEL * (max(map(len, lines_of), default=1) - 1)) + below
    marks = []
    for j, (name, parts) in enumerate(zip(names, lines_of, strict=True)):
        middle, foot = left + cell_width * (j + 0.5), head - 10 - below
        if sloping:
            marks.append(_sloping(middle, foot, name))
            continue
        for above, part in enumerate(reversed(parts)):
            marks.append(label(middle, foot - LEVEL * above, part, "name", anchor="middle"))
    for j, n in enumerate(counts):
        middle = left + cell_width * (j + 0.5)
        marks.append(label(middle, head - 8, f"n {n}", "small", anchor="middle"))
    ends = [reach - cell_width * (len(names) - j - 0.5) for j, reach in enumerate(reaches)]
    return marks, head, max(ends) if sloping else 0.0


def wrapped(name: str, width: float) -> list[str]:
    """Break a name at its joints into lines that fit, as far as they can."""
    n = int(width / CHARACTER) + 1
    found = [""]
    for piece in pieces(name):
        if found[-1] and len(found[-1] + piece.rstrip()) > n:
            found.append("")
        found[-1] += piece
    return [part.rstrip() for part in found]


def _sloping(x: float, y: float, name: str) -> Mark:
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


def _levels(words: Sequence[tuple[float, str]]) -> list[int]:
    """Return the level of each rule's words, 0 the lowest, so that none run into each other."""
    ends: list[float] = []
    levels = []
    for x, told in words:
        half = len(told) * CHARACTER * SMALL / 2
        free = (i for i, end in enumerate(ends) if x - half >= end + RULE_LABEL)
        level = next(free, len(ends))
        ends[level:] = [x + half, *ends[level + 1 :]]
        levels.append(level)
    return levels


def _rule(x: float, told: str, ends: tuple[float, float], edge: float) -> list[Mark]:
    """Draw a vertical line with its words above, kept left of an edge."""
    top, bottom = ends
    middle = min(x, edge - len(told) * CHARACTER * SMALL / 2)
    return [
        line(x, top + 6, x, bottom, "rule"),
        label(middle, top + 3, told, "small rule-label", anchor="middle"),
    ]


def _key(series: Sequence[Series], top: float, width: float) -> tuple[list[Mark], float]:
    """Name each line below the drawing, several to a row; return the marks and where they end."""
    marks: list[Mark] = []
    x, y = 0.0, top
    for one in series:
        name = clip(one.name, width - KEY_LINE)
        reach = KEY_LINE + len(name) * CHARACTER
        if x and x + reach > width:
            x, y = 0.0, y + KEY_ROW
        marks.append(line(x, y + 8, x + KEY_LINE - 5, y + 8, f"series {one.style}"))
        marks.append(label(x + KEY_LINE, y + 12, name, "name"))
        x += reach + KEY_APART
    return marks, y + KEY_ROW if series else top


def _chart(
    titles: Titles,
    size: tuple[float, float],
    marks: Sequence[Mark],
    table: tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]],
    frame: tuple[Scale, Scale] | None = None,
) -> Chart:
    return Chart(titles.name, titles.title, titles.alt, *size, tuple(marks), *table, frame)
