"""Replies as a shared store keeps them, and what is believed of those that it returns."""

from __future__ import annotations

import msgspec

from harness.judging.judges.http_exchange import MAX_REPLY_BYTES
from harness.judging.parsing.verdict import Reply

__all__ = ["MAX_REPLY_BYTES", "decode_reply", "encode_reply"]

encode_reply = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(Reply).decode


def decode_reply(request: str, data: bytes) -> Reply | None:
    """Return a stored reply; None for anything that is not a reply to that request."""
    if len(data) > MAX_REPLY_BYTES:
        return None
    try:
        reply = _DECODE(data)
    except ValueError:
        return None
    return reply if reply.request == request else None
