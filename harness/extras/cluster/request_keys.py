"""Keys and values for requests and replies in a database that many machines share."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from harness.judging.judges.http_exchange import MAX_REPLY_BYTES
from harness.judging.parsing.verdict import Reply

if TYPE_CHECKING:
    from collections.abc import Iterable


_ENCODE = msgspec.json.Encoder().encode


_DECODE = msgspec.json.Decoder(Reply).decode


class RequestKeys:
    """Database keys for requests, for one run (the ``owner``) or for all runs.

    Attributes
    ----------
    paid : set of str
        Requests read so far that were paid for by processes of the run folder ``folder``.
    """

    def __init__(self, owner: str = "", folder: str = "") -> None:
        self.paid: set[str] = set()
        self._folder = folder
        self._mask = int.from_bytes(sha256(owner.encode()).digest()) if owner else 0

    def key(self, request: str) -> bytes:
        """Return the key of a request hash."""
        return (int(request, 16) ^ self._mask).to_bytes(32)

    def request(self, key: bytes) -> str:
        """Return the request hash for a key."""
        return f"{int.from_bytes(key) ^ self._mask:064x}"

    def replies(
        self, rows: Iterable[tuple[bytes, bytes | None, str | None]]
    ) -> dict[str, Reply | None]:
        """Map each row's request hash to its reply, or to None if the row has no reply."""
        replies: dict[str, Reply | None] = {}
        for key, data, folder in rows:
            request = self.request(key)
            replies[request] = _decode_reply(request, data)
            if folder and folder == self._folder:
                self.paid.add(request)
        return replies

    def __repr__(self) -> str:
        return f"RequestKeys({'shared' if not self._mask else 'of one run'})"


def _decode_reply(request: str, data: bytes | None) -> Reply | None:
    if data is None or len(data) > MAX_REPLY_BYTES:
        return None
    try:
        reply = _DECODE(data)
    except ValueError:
        return None
    return reply if reply.request == request else None
