"""Parser for the wait that a server requests when it rejects a call."""

from __future__ import annotations

import math
import re
import time
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EARLIEST_S, LATEST_S = 1e9, 1e11  # range of times since 1970; waits are shorter
READ_BYTES = 1 << 16  # bytes of a body that are read, because errors are short
UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
UNIT = (
    r"(?:(?P<ms>ms|msecs?|milliseconds?)|(?P<s>s|secs?|seconds?)|(?P<m>m|mins?|minutes?)"
    r"|(?P<h>h|hrs?|hours?)|(?P<d>d|days?))(?![a-z])"
)
TIME = re.compile(rf"(?P<n>\d+(?:\.\d+)?)\s*{UNIT}", re.IGNORECASE)
_DURATION = re.sub(r"\?P<\w+>", "?:", TIME.pattern)
MEMBER = re.compile(  # Google's retryDelay and the common retry_after, quoted once or several times
    r"retry[-_ ]?(?:after|delay|in)[-_ ]?(?P<unit>ms|milliseconds|s|seconds)?"
    r"[\\\"']*\s*[:=]\s*[\\\"']*"
    rf"(?:(?P<duration>{_DURATION})|(?P<number>\d+(?:\.\d+)?)(?![\w.]))",
    re.IGNORECASE,
)
PHRASE = re.compile(  # "try again in 1m2.5s", "retry after 6 seconds", "available in 9 seconds"
    r"\b(?:retry(?:ing)?|try(?: \w+){0,2} again|wait|available|resets?)\b[^\d.!?;{}]{0,24}"
    rf"(?P<duration>{_DURATION}(?:(?:,|\s|and)*{_DURATION})*)",
    re.IGNORECASE,
)


def requested_wait_s(headers: Mapping[str, str], body: bytes) -> float | None:
    """Return the wait in seconds that a server requests, or None if it requests none.

    Parameters
    ----------
    headers : mapping of str to str
        Names in any case. ``retry-after-ms`` takes precedence over ``Retry-After``. Without either,
        the reset time of an exhausted limit counts (``x-ratelimit-reset-tokens``).
    body : bytes
        The error body, which is read if no header names a wait. It can contain a member such as
        ``retryDelay`` or ``retry_after``, or words such as "try again in 6.2s". The longest wait
        counts.

    Examples
    --------
    >>> requested_wait_s({"Retry-After": "6"}, b"")
    6.0
    >>> requested_wait_s({}, b"Rate limit reached: 3 per min. Please try again in 1m2s.")
    62.0
    """
    wait_s = _wait_in_headers(headers)
    return _wait_in_text(body[:READ_BYTES].decode(errors="replace")) if wait_s is None else wait_s


def _wait_in_headers(headers: Mapping[str, str]) -> float | None:
    """Return the wait in headers in seconds, or None if it is not positive or not readable."""
    named = {name.lower(): value for name, value in headers.items()}
    wait = _number(named.get("retry-after-ms", "")) / 1000
    if not wait > 0:
        wait = _wait_in(named.get("retry-after", ""))
    waits = [wait, *_waits_for_limits(named)] if math.isnan(wait) else [wait]
    return max((wait for wait in waits if 0 < wait < math.inf), default=None)


def _waits_for_limits(named: Mapping[str, str]) -> Iterator[float]:
    """Yield the seconds until each exhausted limit resets."""
    for name, value in named.items():
        if "ratelimit" in name.replace("-", "") and "reset" in name:
            remaining = named.get(name.replace("reset", "remaining"), "")
            if _number(remaining) <= 0:
                yield _wait_in(value)


def _wait_in(value: str) -> float:
    """Return a header's wait in seconds, from a number, a duration such as "1m2s" or a time.

    A time is an HTTP date, an ISO date, or the seconds or milliseconds since 1970.
    """
    number = _number(value)
    if not math.isnan(number):
        since_1970 = number / 1000 if number > LATEST_S else number
        return since_1970 - time.time() if since_1970 > EARLIEST_S else number
    if re.fullmatch(rf"(?:{_DURATION}\s*)+", value.strip(), re.IGNORECASE):
        return _seconds(value)
    return _until(value)


def _wait_in_text(text: str) -> float | None:
    waits = [_seconds(match["duration"]) for match in PHRASE.finditer(text)]
    for match in MEMBER.finditer(text):
        if match["duration"]:
            waits.append(_seconds(match["duration"]))
        else:
            unit = "ms" if (match["unit"] or "s").lower().startswith("m") else "s"
            waits.append(float(match["number"]) * UNITS_S[unit])
    return max((wait for wait in waits if 0 < wait < math.inf), default=None)


def _seconds(duration: str) -> float:
    """Return the seconds in a duration such as "1m2.5s" or "2 minutes and 5 seconds"."""
    return sum(
        float(part["n"]) * next(UNITS_S[unit] for unit in UNITS_S if part[unit])
        for part in TIME.finditer(duration)
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _until(date: str) -> float:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, TypeError, OverflowError):
            return read(date).timestamp() - time.time()
    return math.nan
