"""How fast one judge is asked: found out by trying, and never faster than its limits say.

Calls in flight start low, grow by addition and are cut by half once per episode of 429: of the
calls that were under way when the limit was cut, no other cuts it again. Requests and tokens per
minute are spread evenly, by the judge's own limits and by what the server's headers leave.
Time is given, never read, so that every law can be tested on a clock of one's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WINDOW_S = 60.0
BURST_S = 1.0  # how much of a window's share may be used at once
LONGEST_PAUSE_S = 60.0
CUT = 0.5
MOST_EVENTS = 1000
TOKEN_KINDS = ("tokens", "input-tokens", "output-tokens")
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?")
HEADERS = [
    (kind, remaining, reset)
    for kind in ("requests", *TOKEN_KINDS)
    for remaining, reset in (
        (f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}"),
        (f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset"),
    )
]


class Event(NamedTuple):
    """A change of pace, for the run's log.

    Attributes
    ----------
    at_s : float
        Seconds on the caller's clock.
    limit : int
        Calls in flight that were allowed from then on.
    reason : str
        ``start``, ``cut`` (a 429), ``ceiling`` (as many as the judge allows), ``paused`` or
        ``spread`` (the server's headers).
    """

    at_s: float
    limit: int
    reason: str


class Allowance(NamedTuple):
    """What a server says is left: ``remaining`` of a kind, full again after ``reset_s`` seconds."""

    kind: str
    remaining: int
    reset_s: float


@dataclass(slots=True)
class _Pace:
    """Spreads units of a kind: before the last use of any minute, less than ``per_minute``."""

    per_minute: float | None = None
    learned_s: float = 0.0  # per unit, by the server's headers
    learned_until: float = float("-inf")
    next_s: float = float("-inf")

    def reserve(self, now: float, n: float) -> float:
        """Take the next ``n`` units; return the seconds to wait for them."""
        if self.per_minute is None and now >= self.learned_until:
            return 0.0
        slack = (WINDOW_S + BURST_S) / self.per_minute if self.per_minute else 0.0
        each = max(slack, self.learned_s if now < self.learned_until else 0.0)
        start = max(now, self.next_s - BURST_S)
        self.next_s = max(now, self.next_s) + n * each
        return start - now if each else 0.0


class Rate:
    """The pace of one judge.

    Parameters
    ----------
    ceiling : int
        Most calls in flight, ever.
    start : int or None
        Calls in flight to begin with; the ceiling when None.
    rpm, tpm : float or None
        Requests and tokens per minute that the judge allows.
    now : float
        The clock's present.

    Attributes
    ----------
    limit : float
        Calls in flight that are allowed now, in [1, ceiling].
    history : list of Event
        What changed, and when; at most `MOST_EVENTS`.
    """

    def __init__(
        self,
        ceiling: int,
        *,
        start: int | None = None,
        rpm: float | None = None,
        tpm: float | None = None,
        now: float = 0.0,
    ) -> None:
        self.ceiling = ceiling
        self.limit = float(min(ceiling, max(1, start or ceiling)))
        self.in_flight = 0
        self.history: list[Event] = []
        self._requests, self._tokens = _Pace(rpm), _Pace(tpm)
        self._blocked_until = float("-inf")
        self._n_started = 0
        self._cut_at = 0  # calls started before the last cut
        self._note(now, "start")

    @property
    def full(self) -> bool:
        """Whether another call must wait for one in flight."""
        return self.in_flight >= int(self.limit)

    @property
    def minds_tokens(self) -> bool:
        """Whether `enter` needs to know a call's tokens."""
        return self._tokens.per_minute is not None or self._tokens.learned_s > 0

    def enter(self, now: float, tokens: float = 0.0) -> tuple[int, float]:
        """Take a place in flight.

        Returns
        -------
        ticket : int
            To be handed back with what became of the call.
        wait_s : float
            Seconds after which it may be sent; then `blocked_s` is to be asked again.
        """
        self.in_flight += 1
        self._n_started += 1
        wait_s = max(self._requests.reserve(now, 1.0), self._tokens.reserve(now, tokens))
        return self._n_started, max(wait_s, self._blocked_until - now, 0.0)

    def blocked_s(self, now: float) -> float:
        """Seconds for which the server wants nothing at all."""
        return max(0.0, self._blocked_until - now)

    def leave(self) -> None:
        """Give a place back."""
        self.in_flight -= 1

    def succeeded(self, now: float) -> None:
        """Allow one more per reply until the first 429, after it one more per round of replies."""
        if self.limit >= self.ceiling:
            return
        self.limit = min(self.ceiling, self.limit + (1 / self.limit if self._cut_at else 1.0))
        if self.limit >= self.ceiling:
            self._note(now, "ceiling")

    def limited(self, now: float, ticket: int) -> None:
        """Halve the limit, unless the call was under way when it was last cut."""
        if ticket > self._cut_at:
            self.limit = max(1.0, self.limit * CUT)
            self._cut_at = self._n_started
            self._note(now, "cut")

    def told(self, now: float, headers: Mapping[str, str], wall_s: float) -> None:
        """Spread what a server's headers leave over the time until it is full again.

        That is done for a minute at most: what is full again tomorrow may be used up today.
        """
        for kind, remaining, full_s in allowances(headers, wall_s):
            reset_s = min(full_s, LONGEST_PAUSE_S)
            pace = self._requests if kind == "requests" else self._tokens
            if remaining <= 0:
                until = now + reset_s
                if until > self._blocked_until:
                    self._blocked_until = until
                    self._note(now, "paused")
                continue
            each = reset_s / remaining
            if now >= pace.learned_until:
                self._note(now, "spread", once=True)
            if now >= pace.learned_until or kind in {"requests", "tokens"}:
                pace.learned_s = each
            else:
                pace.learned_s = max(pace.learned_s, each)
            pace.learned_until = now + reset_s

    def _note(self, now: float, reason: str, *, once: bool = False) -> None:
        known = once and any(event.reason == reason for event in self.history)
        if not known and len(self.history) < MOST_EVENTS:
            self.history.append(Event(now, int(self.limit), reason))

    def __repr__(self) -> str:
        return f"Rate({self.in_flight} of {int(self.limit)} in flight, at most {self.ceiling})"


def allowances(headers: Mapping[str, str], wall_s: float) -> Iterator[Allowance]:
    """Read what is left from ``x-ratelimit-*`` and ``anthropic-ratelimit-*`` headers.

    Parameters
    ----------
    headers : mapping
        Names in any case, if the mapping does not mind it, else in small letters.
    wall_s : float
        Seconds since 1970, for reset times that are dates.

    Yields
    ------
    Allowance
        One per kind that has a readable ``remaining`` and ``reset``.
    """
    for kind, remaining, reset in HEADERS:
        left = headers.get(remaining)
        if left is not None and left.isascii() and left.isdecimal():
            reset_s = _reset_s(headers.get(reset, ""), wall_s)
            if reset_s is not None:
                yield Allowance(kind, int(left[:18]), reset_s)


def _reset_s(text: str, wall_s: float) -> float | None:
    """Seconds in ``6m0s``, ``20ms``, ``1.5``, or until a date; None for what is none of them."""
    try:
        if text[:1].isdigit() and text[4:5] == "-":
            return max(0.0, datetime.fromisoformat(text).timestamp() - wall_s)
        if text and text.replace(".", "", 1).isdecimal():
            return float(text)
        found = DURATION.fullmatch(text) if text else None
        if found is None:
            return None
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
    except (ValueError, OverflowError):
        return None
    return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
