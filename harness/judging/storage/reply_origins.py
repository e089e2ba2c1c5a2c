"""What stored replies were received for and when, and which of them a user names."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class ReplyOrigin(msgspec.Struct, frozen=True, gc=False):
    """What a stored reply was received for, and when: a `Reply` without its content."""

    task: str = ""
    judge: str = ""
    received_at: float | None = None


class ReplyFilter(NamedTuple):
    """Which replies are meant: those to which everything applies that isn't None.

    Attributes
    ----------
    task, judge : str or None
        Names. A reply that several share has those that it was first received for.
    before : float or None
        Seconds since 1970.
    """

    task: str | None = None
    judge: str | None = None
    before: float | None = None

    def includes(self, origin: ReplyOrigin) -> bool:
        """Return whether a reply is meant; one that lacks what is asked for isn't."""
        is_older = self.before is None or (
            origin.received_at is not None and origin.received_at < self.before
        )
        return self.task in {None, origin.task} and self.judge in {None, origin.judge} and is_older

    def is_unknown(self, origin: ReplyOrigin) -> bool:
        """Return whether a reply of an earlier version lacks what is asked for."""
        return (
            (self.task is not None and not origin.task)
            or (self.judge is not None and not origin.judge)
            or (self.before is not None and origin.received_at is None)
        )


decode_origins = msgspec.json.Decoder(list[ReplyOrigin]).decode
