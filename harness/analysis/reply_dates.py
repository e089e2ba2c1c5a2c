"""Dates of the replies behind a result, and how many replies are new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from harness.judging.storage.verdict_columns import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from harness.judging.parsing.verdict import Verdict

YEAR_2100 = 4102444800.0  # a later time means corrupted data


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDates:
    """Dates and counts of some replies.

    Attributes
    ----------
    n : int
        Verdicts with a reply.
    n_new : int
        Verdicts whose reply the run received itself. The remaining replies were in the store.
    n_undated : int
        Verdicts whose reply has no time because an earlier version received it.
    oldest, newest : str
        UTC times of the oldest and newest dated replies; "" without any.
    """

    n: int = 0
    n_new: int = 0
    n_undated: int = 0
    oldest: str = ""
    newest: str = ""

    @property
    def sentence(self) -> str:
        """A sentence on the number of new replies and the age of others, or "" if all are new."""
        n_stored = self.n - self.n_new
        if not n_stored:
            return ""
        undated = f" {self.n_undated:,} have no date." if self.n_undated else ""
        if not self.n_new:
            were = f"were collected {self.dates}" if self.dates else "are from earlier runs"
            return f"No new replies: all {self.n:,} {were}.{undated}"
        were_shared = "is shared" if n_stored == 1 else "are shared"
        oldest = f" The oldest was collected on {self.oldest[:10]}." if self.oldest else ""
        return (
            f"{self.n_new:,} of {self.n:,} replies are new, and {n_stored:,} {were_shared} with "
            f"other judges or earlier runs.{oldest}{undated}"
        )

    def by_day(self) -> ReplyDates:
        """Return a copy with dates instead of times."""
        return replace(self, oldest=self.oldest[:10], newest=self.newest[:10])

    def plus(self, other: ReplyDates) -> ReplyDates:
        """Return dates and counts for both groups of replies together."""
        known = sorted(filter(None, (self.oldest, self.newest, other.oldest, other.newest)))
        return ReplyDates(
            n=self.n + other.n,
            n_new=self.n_new + other.n_new,
            n_undated=self.n_undated + other.n_undated,
            oldest=known[0] if known else "",
            newest=known[-1] if known else "",
        )

    @property
    def dates(self) -> str:
        """The period in which replies were received, as a phrase that ends a sentence, or ""."""
        return dates_text(self.oldest[:10], self.newest[:10]) if self.oldest else ""

    def is_longer_than(self, span: timedelta) -> bool:
        """Return whether the oldest and the newest reply are further apart than a span."""
        if not self.oldest:
            return False
        oldest, newest = map(datetime.fromisoformat, (self.oldest, self.newest))
        return newest - oldest > span


NO_DATES = ReplyDates()


def dates_text(oldest: str, newest: str) -> str:
    """Format two days as a phrase that can end a sentence."""
    return f"on {oldest}" if oldest == newest else f"between {oldest} and {newest}"


def reply_dates(replies: Iterable[Sequence[Verdict]], *, since: float = 0.0) -> ReplyDates:
    """Return the dates of the replies behind some groups of verdicts.

    Replies received before ``since``, in seconds since 1970, aren't new.
    """
    n, n_new, times = 0, 0, [np.array([], dtype=np.float64)]
    for verdicts in replies:
        columns = columns_of(verdicts)
        is_reply = columns.of_kinds(lambda kind: kind.n_replies > 0)
        n += int(is_reply.sum())
        is_bought = columns.of_kinds(lambda kind: kind.n_replies > 0 and not kind.from_store)
        n_new += int((is_bought & ~(columns.received_at < since)).sum())
        times.append(columns.received_at[is_reply])
    received_at = np.concatenate(times)
    known = received_at[(received_at >= 0) & (received_at < YEAR_2100)]
    return ReplyDates(
        n=n,
        n_new=n_new,
        n_undated=n - len(known),
        oldest=_utc(known.min()) if len(known) else "",
        newest=_utc(known.max()) if len(known) else "",
    )


def _utc(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).isoformat(timespec="seconds")
