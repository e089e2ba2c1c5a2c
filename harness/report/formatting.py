"""Numbers in words: with their intervals, or NA with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stats.inference.estimate import Estimate, Interval

REASONS = {
    "no_items": "no item has both sides",
    "no_overlap": "no item has ratings to compare",
    "constant_labels": "all labels are the same",
    "infinite": "infinite: an option was never chosen by one side",
    "unequal_raters": "items have unequal numbers of raters",
    "not_two_raters": "no item has just two ratings",
    "too_few_raters": "too few raters per item",
    "single_rating": "one rating shows no noise",
}

READING = {"higher": "higher is better", "lower": "lower is better", "zero": "0 is best"}
LEAST_P = 0.001
TWO_MINUTES_S = 120
HOUR_MIN = 60


def number(value: float | None, digits: int = 3) -> str:
    """A number, or NA; what rounds to 0 has no sign."""
    return "NA" if value is None else f"{value:z.{digits}f}"


def span(interval: Interval | None, digits: int = 3) -> str:
    """An interval in brackets, or nothing."""
    return "" if interval is None else f"[{interval.low:z.{digits}f}, {interval.high:z.{digits}f}]"


def estimate(one: Estimate, digits: int = 3) -> str:
    """A number with its interval, or NA with the reason."""
    if one.value is None:
        return f"NA ({reason(one)})"
    return f"{number(one.value, digits)} {span(one.interval, digits)}".strip()


def p_value(p: float | None) -> str:
    """A p-value, which is never 0, or NA."""
    return "<0.001" if p is not None and p < LEAST_P else number(p)


def in_unit(told: str, unit: str) -> str:
    """A number with its unit, if it has one."""
    return f"{told} {unit}".strip()


def resting(one: Estimate, digits: int = 3) -> str:
    """A number with its interval and its items, or NA with the reason."""
    told = estimate(one, digits)
    return told if one.value is None else f"{told} on {counted([one.n_used])}"


def reason(one: Estimate) -> str:
    """Why a number is NA, in words."""
    return REASONS.get(one.reason, one.reason.replace("_", " "))


def duration(seconds: float) -> str:
    """A time in words: seconds below two minutes, else hours and minutes."""
    if seconds < TWO_MINUTES_S:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= HOUR_MIN else f"{minutes} min"


def counted(numbers: Iterable[int], what: str = "item") -> str:
    """How many, where judges may differ: 90 items, or 77 to 100 items."""
    found = list(numbers)
    return f"{reach(found)} {what}{'' if max(found, default=0) == 1 else 's'}"


def reach(numbers: Iterable[int]) -> str:
    """The least and the greatest of some counts: 77 to 100, or 90 where they are equal."""
    ends = sorted(set(numbers)) or [0]
    return " to ".join(map(str, dict.fromkeys((ends[0], ends[-1]))))


def tenths(count: float) -> str:
    """A count of items that ties split in parts: whole, or to a tenth."""
    return f"{count:.1f}".removesuffix(".0")


def percent(share: float | None) -> str:
    """A share in percent, or NA."""
    return "NA" if share is None else f"{share:.1%}"


def share(part: float | None, n: int) -> str:
    """A share in percent and of how many, or NA."""
    return "NA" if part is None else f"{percent(part)} of {n}"


def cut(text: str, n: int) -> str:
    """At most ``n`` characters of a text, the last an ellipsis where there were more."""
    return text if len(text) <= n else text[: n - 1] + "…"
