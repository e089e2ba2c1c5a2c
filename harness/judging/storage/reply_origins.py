"""Origins and times of stored replies, and filters to select replies."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class ReplyOrigin(msgspec.Struct, frozen=True, gc=False):
    """Origin and time of a stored reply."""

    task: str = ""
    judge: str = ""
    received_at: float | None = None


class ReplyFilter(NamedTuple):
    """Filter for stored replies. Fields that are None match every reply.

    Attributes
    ----------
    task, judge : str or None
        Names. A shared reply has those that it was first received for.
    before : float or None
        Seconds since 1970.
    """

    task: str | None = None
    judge: str | None = None
    before: float | None = None

    def includes(self, origin: ReplyOrigin) -> bool:
        """Return whether the filter selects a reply, never if the reply lacks a needed field."""
        is_older = self.before is None or (
            origin.received_at is not None and origin.received_at < self.before
        )
        return self.task in {None, origin.task} and self.judge in {None, origin.judge} and is_older

    def is_unknown(self, origin: ReplyOrigin) -> bool:
        """Return whether a reply, from an earlier version, lacks a field that the filter needs."""
        return (
            (self.task is not None and not origin.task)
            or (self.judge is not None and not origin.judge)
            or (self.before is not None and origin.received_at is None)
        )


decode_origins = msgspec.json.Decoder(list[ReplyOrigin]).decode
