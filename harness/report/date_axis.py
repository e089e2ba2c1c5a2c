"""Axis of dates for charts, as days since 1970-01-01 (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil, floor
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MINUTE, HOUR = 1 / 1440, 1 / 24
STEPS = (
    *(MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR),
    *(1.0, 2.0, 7.0, 14.0, 28.0, 61.0, 91.0, 183.0, 365.0, 730.0, 3650.0),
)
MAX_TICKS = 5
LONG_STEP = 61.0  # days; for longer ranges, ticks name month and year
LONG_WAIT = 3.0  # multiple of the usual time between points
START = datetime(1970, 1, 1, tzinfo=UTC)


def days(at: str) -> float:
    """Convert a UTC time in ISO format to days since 1970-01-01."""
    time = datetime.fromisoformat(at)
    return (time.replace(tzinfo=time.tzinfo or UTC) - START) / timedelta(days=1)


def date_text(x: float) -> str:
    """Convert days since 1970-01-01 to a date and time."""
    return f"{START + timedelta(days=x):%Y-%m-%d %H:%M}"


def date_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return about five ticks in a range, each labelled with a time, day or month.

    Examples
    --------
    >>> date_ticks(days("2026-01-01"), days("2026-01-22"))[:2]
    [(20454.0, '1 Jan'), (20461.0, '8 Jan')]
    """
    step = next((step for step in STEPS if (high - low) / step < MAX_TICKS), STEPS[-1])
    first = (
        low if step > 1.0 else ceil(low / step - 1e-9) * step
    )  # long steps start at the first look
    ticks = [first + i * step for i in range(floor((high - first) / step + 1e-9) + 1)]
    return [(x, _tick_text(x, step)) for x in ticks or [low]]


def _tick_text(x: float, step: float) -> str:
    time = START + timedelta(days=x, seconds=1)  # because sums of fractions can fall short
    if step < 1.0:
        return f"{time:%H:%M}"
    month = MONTHS[time.month - 1]
    return f"{month} {time.year}" if step >= LONG_STEP else f"{time.day} {month}"


def steps_around(xs: Sequence[float]) -> list[tuple[float, float]]:
    """Return a range around each point.

    A range ends halfway to the next point, and its width is at most the usual distance.
    """
    usual = _usual_step(xs) or 1.0
    steps = [usual, *(min(after - before, usual) for before, after in pairwise(xs)), usual]
    halves = pairwise(step / 2 for step in steps)
    return [(x - left, x + right) for x, (left, right) in zip(xs, halves, strict=False)]


def _usual_step(xs: Sequence[float]) -> float:
    return median([after - before for before, after in pairwise(xs)] or [0.0])


def long_waits(xs: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Yield the gaps between dates, in days, that exceed a day and the usual distance by far."""
    usual = _usual_step(xs)
    for before, after in pairwise(xs):
        if after - before > max(LONG_WAIT * usual, 1.0):
            yield before + usual / 2, after - usual / 2
