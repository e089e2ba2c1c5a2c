"""When the replies behind a result were received, and how many of them are new."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from harness.judging.storage.verdict_columns import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from harness.judging.parsing.verdict import Verdict

YEAR_2100 = 4102444800.0  # a later time is damage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDates:
    """When some replies were received.

    Attributes
    ----------
    n : int
        Verdicts with a reply.
    n_new : int
        Of which the run received the reply itself: the others were in the store.
    n_undated : int
        Of which the reply has no time; an earlier version received it.
    oldest, newest : str
        UTC times of the others; "" without any.
    """

    n: int = 0
    n_new: int = 0
    n_undated: int = 0
    oldest: str = ""
    newest: str = ""

    @property
    def dates(self) -> str:
        """The days on which they were received, to end a sentence with; "" if unknown."""
        oldest, newest = self.oldest[:10], self.newest[:10]
        if not oldest:
            return ""
        return f"on {oldest}" if oldest == newest else f"between {oldest} and {newest}"

    def is_longer_than(self, span: timedelta) -> bool:
        """Whether the newest reply came later than the oldest by more than a span."""
        if not self.oldest:
            return False
        oldest, newest = map(datetime.fromisoformat, (self.oldest, self.newest))
        return newest - oldest > span


def reply_dates(replies: Iterable[Sequence[Verdict]]) -> ReplyDates:
    """Return when the replies of some groups of verdicts were received."""
    n, n_new, times = 0, 0, [np.array([], dtype=np.float64)]
    for verdicts in replies:
        columns = columns_of(verdicts)
        is_reply = columns.of_kinds(lambda kind: kind.n_replies > 0)
        n += int(is_reply.sum())
        n_new += int(columns.of_kinds(lambda k: k.n_replies > 0 and not k.from_store).sum())
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
