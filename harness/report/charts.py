"""Draw intervals, lines and heat maps as SVG, each with a text alternative and its data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import quote, urlencode

from harness.report.date_axis import date_text, date_ticks
from harness.report.formatting import cut, number
from harness.report.svg import (
    CHARACTER,
    SMALL_CHARACTER,
    Mark,
    PixelScale,
    clip,
    label,
    line,
    mark,
    path,
    wrap_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


CellValue: TypeAlias = str | int | float | None
# Lengths in CSS pixels
WIDTH = 400.0
WIDE = 540.0  # wider charts scroll on a narrow screen instead of shrinking
TOP = 8.0
MARGIN = 20.0  # at the ends of an axis, for half of a tick label
VALUE = 46.0  # at the right end of an axis, for a value
BAND_GAP = 7.0  # above a band, for its name
DIVIDER = 10.0  # between judges and baselines
AXIS = 34.0  # tick labels and title below an axis
BOLD = 1.1  # extra width of the best judge's name
LINE = 13.0  # from one line of text to the next
ROW, ROW_GAP = 22.0, 8.0  # of an interval chart, and between the dots of one row
STRIP = 22.0  # above the lines, for regions without a height
BAR_GAP = 3.0  # between the bars of two lines
HEIGHT = 220.0  # of a line chart between its axis and its labels
KEY_LINE, KEY_ROW = 22.0, 17.0
CELL, HEAT_HEAD = 30.0, 40.0
MAX_LABEL, MAX_NARROW_LABEL = 168.0, 272.0  # row names, and those of a narrow heat map
DARK_SHADE = 6  # darkest shades, with light text, begin here


@dataclass(frozen=True, slots=True)
class Titles:
    """A chart's name (used as id and file name), title, text alternative and axis titles."""

    name: str
    title: str
    alt: str
    x: str = ""
    y: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Chart with its drawing, text alternative and data.

    Attributes
    ----------
    name : str
        Id in the page and file name, from letters, digits and hyphens.
    columns, rows
        The data drawn; None is NA.
    frame : (PixelScale, PixelScale) or None
        Horizontal and vertical scale of a line chart, for scripts that move its lines.
    stub : float
        Width at the left that holds row names and stays visible while a wide chart scrolls.
    link : str
        Link target of its title within the page.
    """

    name: str
    title: str
    alt: str
    width: float
    height: float
    marks: tuple[Mark, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[CellValue, ...], ...] = field(repr=False)
    frame: tuple[PixelScale, PixelScale] | None = field(default=None, repr=False)
    stub: float = 0.0
    link: str = ""

    @property
    def has_links(self) -> bool:
        """Whether any mark has a link. Links work only if the SVG is part of the page."""
        return any(mark.link for mark in self.marks)

    @property
    def is_wide(self) -> bool:
        """Whether the chart scrolls on a narrow screen instead of shrinking to fit."""
        return self.width > WIDE


@dataclass(frozen=True, slots=True)
class Band:
    """Shaded range of the axis behind the rows of an interval chart."""

    name: str
    low: float
    high: float


RowKind: TypeAlias = Literal["best", "tied", "judge", "unranked", "baseline", "rater"]


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One estimate in an interval chart.

    Attributes
    ----------
    kind : RowKind
        The row's style.
    reason : str
        Why the value is NA.
    line : str
        Label at the left, if it isn't the name. Consecutive rows with the same label share a line.
    link : str
        Link target of the label within the page.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    kind: RowKind = "judge"
    reason: str = ""
    line: str = ""
    link: str = ""

    @property
    def description(self) -> str:
        """Description of the row in words."""
        ends = f" [{number(self.low)}, {number(self.high)}]" if self.low is not None else ""
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.name}: {number(self.value)}{ends}{reason}"


def interval_chart(
    titles: Titles,
    rows: Sequence[IntervalRow],
    *,
    within: tuple[float, float],
    reference: float | None = None,
    reach: Sequence[float | None] = (),
    width: float = WIDTH,
    band: Band | None = None,
    shows_values: bool = False,
) -> Chart:
    """Draw a dot with an interval for each row. A line separates judges from baselines.

    Parameters
    ----------
    within : (low, high)
        Limits of the axis.
    reference : float, optional
        Value marked by a vertical line.
    reach : sequence of float, optional
        Values that the axis must include.
    band : Band, optional
        A range to compare the rows with; its name appears above them.
    shows_values : bool, optional
        Write each value beside its interval.
    """
    lines = [(text, list(group)) for text, group in groupby(rows, lambda row: row.line or row.name)]
    bold = {text: BOLD if group[0].kind == "best" else 1.0 for text, group in lines}
    widest = max((len(text) * CHARACTER * bold[text] for text, _ in lines), default=0.0)
    left = min(widest, MAX_LABEL) + 12
    right = VALUE if shows_values else MARGIN
    ends = [*interval_ends(rows), reference, *reach, *((band.low, band.high) if band else ())]
    scale = PixelScale.around(
        ends, left + MARGIN, width - right, within=within, ends_near=shows_values
    )
    top = TOP + (LINE if band else 0.0)
    names = {text: wrap_name(text, (left - 12) / bold[text]) for text, _ in lines}
    tops, bottom, rules = _row_tops(lines, names, top)
    marks = _x_axis(scale, top, bottom, titles.x, _number_ticks(scale))
    if band is not None:
        marks = [*_draw_band(band, scale, bottom), *marks]
    if reference is not None:
        marks.append(line(scale(reference), top, scale(reference), bottom, "reference"))
    marks += [line(0, y, width, y, "divider") for y in rules]
    for (text, group), row_top in zip(lines, tops, strict=True):
        n_lines = len(names[text])
        y = row_top + (ROW + LINE * (n_lines - 1)) / 2
        kind = group[0].kind if len(group) == 1 else "judge"
        for i, part in enumerate(names[text]):
            place = y + 4 + LINE * (i - (n_lines - 1) / 2)
            name = label(left, place, part, f"name {kind}", "end")
            link = group[0].link
            marks.append(replace(name, title=text, link=link) if link else name)
        if shows_values:
            marks += _value_labels(group, scale, y)
        heights = [y + ROW_GAP * (k - (len(group) - 1) / 2) for k in range(len(group))]
        placed = list(zip(group, heights, strict=True))
        points = [(scale(row.value), height) for row, height in placed if row.value is not None]
        marks += [path(points, "tie")] if len(points) > 1 else []
        marks += [m for row, height in placed for m in draw_interval(row, scale, height)]
    columns = ("name", "value", "low", "high", "why NA")
    cells = tuple((r.name, r.value, r.low, r.high, r.reason) for r in rows)
    fields = (titles.name, titles.title, titles.alt, width, bottom + AXIS, tuple(marks))
    return Chart(*fields, columns, cells)


def _row_tops(
    lines: Sequence[tuple[str, list[IntervalRow]]], names: dict[str, list[str]], top: float
) -> tuple[list[float], float, list[float]]:
    """Return the top of each row, the bottom of the last, and the lines between kinds of rows."""
    tops, rules = [], []
    for i, (text, group) in enumerate(lines):
        if i and group[0].kind == "baseline" != lines[i - 1][1][0].kind:
            rules.append(top + DIVIDER / 2)
            top += DIVIDER
        tops.append(top)
        top += ROW + LINE * (len(names[text]) - 1)
    return tops, top, rules


def _value_labels(group: Sequence[IntervalRow], scale: PixelScale, y: float) -> list[Mark]:
    """Return the value label to the right of a row, if the row does not share its line."""
    [first, *others] = group
    if others or first.value is None:
        return []
    right = max(scale(end) for end in (first.value, first.high) if end is not None)
    return [label(right + 8, y + 4, number(first.value), f"small value {first.kind}")]


def _draw_band(band: Band, scale: PixelScale, bottom: float) -> list[Mark]:
    left, right = (min(max(scale(end), scale.start), scale.end) for end in (band.low, band.high))
    top = TOP + BAND_GAP
    place = {"x": left, "y": top, "width": max(right - left, 2.0), "height": bottom - top}
    half = len(band.name) * SMALL_CHARACTER / 2
    middle = min(max((left + right) / 2, scale.start + half - MARGIN), scale.end + MARGIN - half)
    title = f"{band.name}: [{number(band.low)}, {number(band.high)}]"
    return [
        mark("rect", "band", place, title=title),
        label(middle, TOP + 3, band.name, "small", "middle"),
    ]


def interval_ends(rows: Sequence[IntervalRow]) -> list[float | None]:
    """Return all values and interval ends, to compute an axis that several charts share."""
    return [end for row in rows for end in (row.value, row.low, row.high)]


def draw_interval(row: IntervalRow, scale: PixelScale, y: float) -> list[Mark]:
    """Draw a row's interval and dot, or NA."""
    if row.value is None:
        return [label(scale.start, y + 4, "NA", "na")]
    marks = []
    if row.low is not None and row.high is not None:
        marks.append(line(scale(row.low), y, scale(row.high), y, f"interval {row.kind}"))
    place: dict[str, float | str] = {"cx": scale(row.value), "cy": y, "r": 4.5}
    place["data-of"] = row.name
    marks.append(mark("circle", f"dot {row.kind}", place, title=row.description))
    return marks


@dataclass(frozen=True, slots=True)
class Series:
    """One line in a line chart. ``style`` names the line's colour and dash.

    ``spans`` are (low, high) of the bars at its points; None for no bar.
    """

    name: str
    points: tuple[tuple[float, float | None], ...]
    style: str
    spans: tuple[tuple[float, float] | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Dot:
    """Single value in a line chart."""

    name: str
    x: float
    y: float
    style: str


@dataclass(frozen=True, slots=True)
class Region:
    """Coloured box over a range of x. Without ``y``, the box is in the strip above the lines."""

    x: tuple[float, float]
    style: str
    title: str
    y: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Range of x without values, and the reason."""

    x: tuple[float, float]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Elements of a line chart besides its lines.

    Attributes
    ----------
    rules : sequence of (x, text)
        Vertical lines, in order of x.
    rug : sequence of (x, name, style)
        Dots on the x axis.
    dots : sequence of Dot
        Dots among the lines.
    regions : sequence of Region
        Coloured boxes.
    """

    rules: Sequence[tuple[float, str]] = ()
    rug: Sequence[tuple[float, str, str]] = ()
    dots: Sequence[Dot] = ()
    regions: Sequence[Region] = ()


NO_OVERLAY = Overlay()


def line_chart(
    titles: Titles,
    series: Sequence[Series],
    *,
    overlay: Overlay = NO_OVERLAY,
    reach: tuple[float, ...] = (),
    within: tuple[float, float] = (0.0, 1.0),
    gaps: Sequence[Gap] = (),
    ticks: Sequence[tuple[float, str]] = (),
    is_dated: bool = False,
) -> Chart:
    """Draw lines and regions with a key, and a hidden cursor for a script.

    Parameters
    ----------
    series : sequence of Series
        Lines; one without points names the style of a region in the key.
    overlay : Overlay
        Parts drawn over and behind the lines.
    reach : tuple of float
        Values of y that the axis must include.
    within : (low, high)
        Limits of the axis.
    gaps : sequence of Gap
        Ranges without values, and the reasons.
    ticks : sequence of (x, text)
        Labels of the x axis; round numbers by default.
    is_dated : bool
        Whether x is days since 1970, and lines are broken where a value is None.
    """
    rules, dots, regions = overlay.rules, overlay.dots, overlay.regions
    xs = [*(x for s in series for x, _ in s.points), *(x for r in regions for x in r.x)]
    low, high = min(xs, default=0.0), max(xs, default=1.0)
    across = PixelScale(low, high if high > low else low + 1.0, 44, WIDTH - MARGIN)
    levels = _label_levels([(across(x), text) for x, text in rules])
    top = TOP + LINE * max(levels, default=0)
    bottom = top + HEIGHT
    ys = [*reach, *(dot.y for dot in dots), *(y for s in series for _, y in s.points)]
    ys += [end for s in series for span in s.spans for end in span or ()]
    up = PixelScale.around(ys, bottom, top + STRIP, within=within)
    start = min((x for s in series for x, _ in s.points), default=low)
    named = dict(ticks)
    ticks = ticks or (date_ticks(start, high) if is_dated else _number_ticks(across))
    marks = _x_axis(across, top + STRIP, bottom, titles.x, ticks) + _y_axis(up, across)
    marks += [m for gap in gaps for m in _draw_gap(gap, across, top + STRIP, bottom)]
    marks += [_draw_region(region, across, up, top + TOP) for region in regions]
    for (x, text), level in zip(rules, levels, strict=True):
        y = top - LINE * level
        middle = min(across(x), WIDTH - len(text) * SMALL_CHARACTER / 2)
        marks.append(line(across(x), y + 6, across(x), bottom, "rule"))
        marks.append(label(middle, y + 3, text, "small rule-label", "middle"))
    if not rules:  # space of the rule labels
        marks.append(label(0, TOP + 4, titles.y, "small"))
    for i, s in enumerate(series):
        aside = BAR_GAP * (i - (len(series) - 1) / 2) if s.spans else 0.0
        beside = replace(across, start=across.start + aside, end=across.end + aside)
        marks += _draw_series(s, beside, up, is_broken=is_dated)
        marks += _draw_bars(s, beside, up)
    x_text = date_text if is_dated else "{:.3f}".format
    for x, name, style in overlay.rug:
        place = {"cx": across(x), "cy": bottom, "r": 4.0}
        marks.append(mark("circle", f"rug {style}", place, title=f"{name}: {x_text(x)}"))
    for dot in dots:
        spot: dict[str, float | str] = {"cx": across(dot.x), "cy": up(dot.y), "r": 4.5}
        spot["data-of"] = dot.name
        marks.append(mark("circle", f"rug {dot.style}", spot, title=f"{dot.name}: {dot.y:.3f}"))
    cursor = line(across(low), top + STRIP, across(low), bottom, "cursor")
    marks.append(replace(cursor, attributes={**cursor.attributes, "visibility": "hidden"}))
    for i, s in enumerate(series):
        marks += _key(s, bottom + AXIS + KEY_ROW * i)
    columns: tuple[str, ...] = ("name", titles.x or "x", titles.y or "y")
    values = [(s.name, x, y) for s in series for x, y in s.points]
    values += [(dot.name, dot.x, dot.y) for dot in dots]
    cells: tuple[tuple[CellValue, ...], ...] = tuple(
        (name, date_text(x) if is_dated else named.get(x, x), y) for name, x, y in values
    )
    if any(s.spans for s in series):
        columns = (*columns, "low", "high")
        spans = [span or (None, None) for s in series for span in s.spans or [None] * len(s.points)]
        spans += [(None, None)] * len(dots)
        cells = tuple((*row, *span) for row, span in zip(cells, spans, strict=True))
    height = bottom + AXIS + KEY_ROW * len(series)
    fields = (titles.name, titles.title, titles.alt, WIDTH, height, tuple(marks))
    return Chart(*fields, columns, cells, (across, up))


@dataclass(frozen=True, slots=True)
class HeatCells:
    """Cells of a heat map by row: numbers, link targets, and intervals as text."""

    values: Sequence[Sequence[float | None]]
    links: Sequence[Sequence[str]] = ()
    spans: Sequence[Sequence[str]] = ()


def heat_map(
    titles: Titles,
    row_names: Sequence[str],
    column_names: Sequence[str],
    grid: HeatCells,
    *,
    top: float = 1.0,
    digits: int = 2,
    cell_width: float = 54.0,
    row_counts: Sequence[CellValue] = (),
) -> Chart:
    """Draw a table of numbers. Colours get darker towards ``top``, and None is shown as NA.

    ``row_counts`` gives the sample size of each row.
    """
    values, links, spans = grid.values, grid.links, grid.spans
    across = cell_width * len(column_names)
    longest = MAX_LABEL if MAX_NARROW_LABEL + across > WIDE else MAX_NARROW_LABEL
    widest = max((len(name) for name in (*row_names, titles.y)), default=0)
    left = min(widest * CHARACTER, longest) + 14
    end = left + across
    wrapped = [wrap_name(name, cell_width) for name in column_names]
    head = HEAT_HEAD + LINE * (max(map(len, wrapped), default=1) - 1)
    marks = [label(left, 12, titles.x, "small"), label(0, head - 10, titles.y, "small")]
    for j, parts in enumerate(wrapped):
        x = left + cell_width * (j + 0.5)
        lines = enumerate(reversed(parts))
        marks += [label(x, head - 10 - LINE * k, part, "name", "middle") for k, part in lines]
    rows: list[tuple[CellValue, ...]] = []
    for i, row in enumerate(row_names):
        y = head + CELL * i
        counts = row_counts[i : i + 1]
        marks += _row_name(row, left - 8, y)
        marks += [label(end + 6, y + 19, f"n {n}", "small") for n in counts]
        for j, column in enumerate(column_names):
            value, box = values[i][j], (left + cell_width * j, y, cell_width)
            span = spans[i][j] if spans else ""
            title = f"{row}, {column}: {number(value, digits)} {span}".rstrip() + "".join(
                f", n {n}" for n in counts
            )
            link = links[i][j] if links else ""
            title = title if link else ""  # the row, column and cell contain everything
            marks += _heat_cell(box, value, top, digits, title=title, link=link, span=span)
            rows.append((row, column, value, *counts, *((span,) if spans else ())))
    count_width = max((len(f"n {n}") for n in row_counts), default=0) * CHARACTER
    width = max(end + count_width + 4, left + len(titles.x) * CHARACTER)
    more = (*(("n",) if row_counts else ()), *(("interval",) if spans else ()))
    columns = (titles.y or "row", titles.x or "column", "value", *more)
    height = head + CELL * len(row_names) + 4
    fields = (titles.name, titles.title, titles.alt, width, height, tuple(marks))
    return Chart(*fields, columns, tuple(rows), stub=left)


def _row_name(name: str, width: float, y: float) -> list[Mark]:
    """Return the name of a heat map's row, on two lines if needed.

    If the name is too long for two lines, the tooltip shows all of it.
    """
    lines = [name]
    if len(name) * CHARACTER > width and " " in name:
        first, *rest = wrap_name(name, width)
        lines = [first, " ".join(rest)] if rest else [first]
    shown = [clip(text, width) for text in lines]
    title = "" if shown == lines else name
    above = LINE * (len(lines) - 1) / 2
    return [
        replace(label(width, y + 19 + LINE * k - above, text, "name", "end"), title=title)
        for k, text in enumerate(shown)
    ]


def _heat_cell(
    box: tuple[float, float, float],
    value: float | None,
    top: float,
    digits: int,
    *,
    title: str,
    link: str,
    span: str,
) -> list[Mark]:
    x, y, width = box
    share = 0.0 if value is None or top <= 0 else min(max(value / top, 0.0), 1.0)
    shade = round(share * 10)  # eleven classes, because the page's policy forbids inline styles
    place = {"x": x + 1, "y": y + 1, "width": width - 2, "height": CELL - 2, "rx": 3.0}
    kind = "na" if value is None else "on-heat" if shade >= DARK_SHADE else "in-heat"
    text = number(value, digits)
    middle = x + width / 2
    return [
        replace(mark("rect", f"heat s{shade}", place, title=title), link=link),
        label(middle, y + (13 if span else 19), text, kind, "middle"),
        *([label(middle, y + 25, span, f"small {kind}", "middle")] if span else []),
    ]


def _draw_series(
    series: Series, across: PixelScale, up: PixelScale, *, is_broken: bool
) -> list[Mark]:
    """Draw a line, in several parts if it is broken. A point without neighbours becomes a dot."""
    if is_broken:
        grouped = groupby(series.points, lambda point: point[1] is None)
        parts = [list(points) for is_gap, points in grouped if not is_gap]
    else:
        parts = [list(series.points)]
    marks = []
    for part in parts:
        points = [(across(x), up(y)) for x, y in part if y is not None]
        if len(points) == 1:
            place = {"cx": points[0][0], "cy": points[0][1], "r": 3.5}
            marks.append(mark("circle", f"rug {series.style}", place, title=series.name))
        elif points:
            marks.append(path(points, f"series {series.style}", series.name))
    return marks


def _draw_bars(series: Series, across: PixelScale, up: PixelScale) -> list[Mark]:
    """Draw the interval bars of a line, cut off at the limits of the axis."""
    marks = []
    for (x, _), span in zip(series.points, series.spans, strict=False):
        if span is not None:
            low, high = (up(min(max(end, up.low), up.high)) for end in span)
            marks.append(line(across(x), low, across(x), high, f"whisker {series.style}"))
    return marks


def _draw_gap(gap: Gap, across: PixelScale, top: float, bottom: float) -> list[Mark]:
    """Draw a gap with its reason as vertical text."""
    left, right = map(across, gap.x)
    middle, n = (left + right) / 2 + 4, int((bottom - top - 12) / SMALL_CHARACTER)
    text = label(middle, bottom - 6, cut(gap.reason, n), "small")
    turned = {**text.attributes, "transform": f"rotate(-90 {middle:.2f} {bottom - 6:.2f})"}
    place = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return [mark("rect", "gap", place, title=gap.reason), replace(text, attributes=turned)]


def _number_ticks(scale: PixelScale) -> list[tuple[float, str]]:
    return [(value, f"{value:.6g}") for value in scale.ticks()]


def _x_axis(
    scale: PixelScale,
    top: float,
    bottom: float,
    title: str,
    ticks: Sequence[tuple[float, str]],
) -> list[Mark]:
    marks = [line(scale.start, bottom, scale.end, bottom, "axis")]
    for value, text in ticks:
        x = scale(value)
        marks.append(line(x, top, x, bottom, "grid"))
        marks.append(label(x, bottom + 14, text, "tick x", "middle"))
    half = len(title) * SMALL_CHARACTER / 2
    middle = min((scale.start + scale.end) / 2, scale.end + MARGIN - half)
    return [*marks, label(middle, bottom + 29, title, "small", "middle")]


def _y_axis(up: PixelScale, across: PixelScale) -> list[Mark]:
    marks = []
    for value in up.ticks():
        marks.append(line(across.start, up(value), across.end, up(value), "grid"))
        marks.append(label(across.start - 6, up(value) + 4, f"{value:.6g}", "tick y", "end"))
    return marks


def _draw_region(region: Region, across: PixelScale, up: PixelScale, strip: float) -> Mark:
    left, right = map(across, region.x)
    bottom, top = map(up, region.y) if region.y else (strip + 7, strip)
    place = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return mark("rect", f"region {region.style}", place, title=region.title)


def _label_levels(labels: Sequence[tuple[float, str]]) -> list[int]:
    """Return a level for each rule's label, from 0 at the bottom, so that labels do not overlap."""
    ends: list[float] = []
    levels = []
    for x, text in labels:
        half = len(text) * SMALL_CHARACTER / 2
        level = next((i for i, end in enumerate(ends) if x - half >= end + TOP), len(ends))
        ends[level:] = [x + half, *ends[level + 1 :]]
        levels.append(level)
    return levels


def _key(series: Series, y: float) -> list[Mark]:
    place = {"x": 0.0, "y": y + 3, "width": 11.0, "height": 11.0}
    swatch = mark("rect", f"region {series.style}", place)
    if series.points:
        swatch = line(0, y + 8, KEY_LINE - 5, y + 8, f"series {series.style}")
    return [swatch, label(KEY_LINE, y + 12, clip(series.name, WIDTH - KEY_LINE), "name")]


def items_link(**filters: str) -> str:
    """Return the URL fragment that opens the item table with these filters. See `item_filters`."""
    return "#" + urlencode({"open": "errors", **filters}, quote_via=quote)
