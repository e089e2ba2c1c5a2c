"""Build SVG elements, linear scales and estimates of text width."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Lengths in CSS pixels
CHARACTER = 7.2  # mean width of a character at 12 px
SMALL_CHARACTER = 6.6  # at 11 px
INVISIBLE = 1e-9
NEAR = 0.02  # share of the values' span that an axis adds beyond them


@dataclass(frozen=True, slots=True)
class Mark:
    """SVG element. ``title`` is its tooltip, ``link`` is a target on the page."""

    tag: str
    attributes: Mapping[str, str]
    text: str = ""
    title: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class PixelScale:
    """Linear scale that maps ``low .. high`` to ``start .. end`` in pixels."""

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
        ends_near: bool = False,
    ) -> PixelScale:
        """Return a scale around the finite values, with round numbers at both ends.

        The scale stays ``within`` limits, unless these leave no span. With ``ends_near``, its upper
        end is just above the highest value instead of round.
        """
        finite = [v for v in values if v is not None and math.isfinite(v)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if high - low < INVISIBLE:
            low, high = low - 0.05, high + 0.05
        step = _round_step(high - low)
        top = high + NEAR * (high - low) if ends_near else math.ceil(high / step - 1e-6) * step
        low, high = math.floor(low / step + 1e-6) * step, top
        limits = max(low, within[0]), min(high, within[1])
        return cls(*(limits if limits[1] - limits[0] >= INVISIBLE else (low, high)), start, end)

    def __call__(self, value: float) -> float:
        """Return the pixel position of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return about five round numbers on the scale."""
        step = _round_step(self.high - self.low)
        first, last = math.ceil(self.low / step - 1e-6), math.floor(self.high / step + 1e-6)
        return [round(i * step, 10) for i in range(first, last + 1)]


def _round_step(span: float) -> float:
    rough = span / 4
    power = 10.0 ** math.floor(math.log10(rough))
    return next(s for s in (1.0, 2.0, 2.5, 5.0, 10.0) if s * power >= rough * (1 - 1e-9)) * power


def mark(
    tag: str, classes: str, attributes: Mapping[str, float | str], text: str = "", title: str = ""
) -> Mark:
    """Return an SVG element with a class. Lengths are rounded to two decimals."""
    written = {
        name: value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
        for name, value in attributes.items()
    }
    return Mark(tag, {**written, "class": classes}, text, title)


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> Mark:
    """Return a straight line."""
    return mark("line", classes, {"x1": x1, "y1": y1, "x2": x2, "y2": y2})


def label(x: float, y: float, text: str, classes: str, anchor: str = "start") -> Mark:
    """Return a line of text."""
    return mark("text", classes, {"x": x, "y": y, "text-anchor": anchor}, text)


def path(points: Sequence[tuple[float, float]], classes: str, name: str = "") -> Mark:
    """Return straight lines that connect consecutive points."""
    steps = " L".join(f"{x:.2f} {y:.2f}" for x, y in points)
    return mark("path", classes, {"d": f"M{steps}", "data-of": name})


def clip(text: str, width: float) -> str:
    """Shorten a text in the middle to fit a width. Long names often differ at their ends."""
    n = max(int(width / CHARACTER + INVISIBLE), 2)
    tail = (n - 1) // 2
    return text if len(text) <= n else f"{text[: n - 1 - tail]}…{text[len(text) - tail :]}"


def wrap_name(name: str, width: float) -> list[str]:
    """Break a name into lines, preferably after blanks, slashes, hyphens or underscores."""
    n = max(int(width / CHARACTER), 1)
    parts = re.findall(rf".{{1,{n}}}(?:(?<=[ /_-])|$)|.{{1,{n}}}", name)
    return [part.strip() for part in parts]
