"""What a chart is made of: a scale, marks in drawing order, a text alternative, and its data."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Cell: TypeAlias = str | int | float | None
FONT = 12.0
CHARACTER = 0.6 * FONT  # mean width of a character of the system's sans serif
BOLD = 0.68 * FONT
WIDE = 540.0  # px from which a drawing scrolls on a narrow screen and is not shrunk to it
TITLE = 26.0  # px above a drawing that its title takes
ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
INVISIBLE = 1e-9
PIECE = re.compile(r"[^ /_-]+[ /_-]*|[ /_-]+")


@dataclass(frozen=True, slots=True)
class Mark:
    """One SVG element; ``title`` is what a pointer resting on it is told."""

    tag: str
    attributes: Mapping[str, str]
    text: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing and everything that stands for it where it cannot be seen.

    Attributes
    ----------
    name : str
        Letters, digits and hyphens; id in the page and name of the file.
    title : str
        What is shown.
    alt : str
        What is to be seen in it, for readers who do not see it.
    width, height : float
        Of the view box, in CSS pixels.
    marks : tuple of Mark
        In drawing order.
    columns, rows
        The data drawn; None is NA.
    frame : (Scale, Scale) or None
        Across and up, where the reader may move what is drawn.
    stub : float
        CSS pixels at the left that hold the names of rows; they stay in sight where a screen is
        narrower than the drawing. 0 where there are none.
    """

    name: str
    title: str
    alt: str
    width: float
    height: float
    marks: tuple[Mark, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...] = field(repr=False)
    frame: tuple[Scale, Scale] | None = field(default=None, repr=False)
    stub: float = 0.0

    @property
    def is_wide(self) -> bool:
        """Whether the drawing is scrolled rather than shrunk."""
        return self.width > WIDE

    @property
    def stub_marks(self) -> tuple[Mark, ...]:
        """What is drawn in the stub."""
        return tuple(m for m in self.marks if float(m.attributes.get("x", math.inf)) < self.stub)

    @property
    def size_with_title(self) -> tuple[float, float]:
        """Width and height of the drawing with its title above, as it leaves the page."""
        return max(self.width, len(self.title) * BOLD), self.height + TITLE


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from ``low .. high`` to ``start .. end`` in pixels."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def around(
        cls,
        values: Iterable[float | None],
        start: float,
        end: float,
        *,
        within: tuple[float, float] = (-math.inf, math.inf),
        n_steps: int = 4,
    ) -> Scale:
        """Reach from one round number to another around the finite values, kept ``within``.

        Limits that leave no span, as of a metric that is the same for every judge, are not kept.
        """
        finite = [v for v in values if v is not None and math.isfinite(v)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if high - low < INVISIBLE:
            low, high = low - 0.05, high + 0.05
        step = _step(high - low, n_steps)
        low, high = math.floor(low / step + 1e-6) * step, math.ceil(high / step - 1e-6) * step
        kept = max(low, within[0]), min(high, within[1])
        return cls(*(kept if kept[1] - kept[0] >= INVISIBLE else (low, high)), start, end)

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, n_steps: int = 4) -> list[float]:
        """Round numbers in the scale, about ``n_steps`` apart."""
        step = _step(self.high - self.low, n_steps)
        first = math.ceil(self.low / step - 1e-6)
        last = math.floor(self.high / step + 1e-6)
        return [round(i * step, 10) for i in range(first, last + 1)]


def _step(span: float, n_steps: int) -> float:
    rough = span / n_steps
    power = 10.0 ** math.floor(math.log10(rough))
    return next(s for s in ROUND_STEPS if s * power >= rough * (1 - 1e-9)) * power


def px(value: float) -> str:
    """Return a length with two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Mark:
    """Return a straight line."""
    ends = {"x1": px(x1), "y1": px(y1), "x2": px(x2), "y2": px(y2)}
    return Mark("line", {**ends, "class": kind})


def dot(x: float, y: float, kind: str, *, r: float = 4.5, title: str = "", of: str = "") -> Mark:
    """Return a dot; ``of`` says whose value it is, so that it can be read back."""
    data = {"data-of": of} if of else {}
    return Mark("circle", {"cx": px(x), "cy": px(y), "r": px(r), "class": kind, **data}, "", title)


def label(
    x: float, y: float, text: str, kind: str = "label", *, anchor: str = "start", of: str = ""
) -> Mark:
    """Return a line of text; ``of`` says whose it is."""
    data = {"data-of": of} if of else {}
    place = {"x": px(x), "y": px(y), "class": kind, "text-anchor": anchor}
    return Mark("text", {**place, **data}, text)


def box(x: float, y: float, width: float, height: float, kind: str, **more: str) -> Mark:
    """Return a rectangle; ``title`` and attributes may follow."""
    title = more.pop("title", "")
    named = {name.replace("_", "-"): value for name, value in more.items()}
    place = {"x": px(x), "y": px(y), "width": px(width), "height": px(height)}
    return Mark("rect", {**place, "class": kind, **named}, "", title)


def path(points: Sequence[tuple[float, float]], kind: str, *, of: str = "") -> Mark:
    """Return a line through points."""
    steps = " L".join(f"{px(x)} {px(y)}" for x, y in points)
    data = {"data-of": of} if of else {}
    return Mark("path", {"d": f"M{steps}", "class": kind, **data})


def clip(text: str, width: float) -> str:
    """Shorten a text to what fits a width, by its middle: names often differ at their ends."""
    n = max(int(width / CHARACTER + INVISIBLE), 2)
    if len(text) <= n:
        return text
    tail = (n - 1) // 2
    return f"{text[: n - 1 - tail]}…{text[len(text) - tail :]}"


def pieces(text: str) -> list[str]:
    """Return the parts of a name, each up to the blank, stroke, hyphen or underscore after it."""
    return PIECE.findall(text)


def show(value: Cell, digits: int = 3) -> str:
    """Return a cell as people read it; None is NA."""
    if value is None:
        return "NA"
    return f"{value:z.{digits}f}" if isinstance(value, float) else str(value)


def tick(value: float) -> str:
    """Return a tick's number without trailing zeros."""
    return f"{value:.6g}"
