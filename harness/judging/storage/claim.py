"""Answer of a store to a claim on requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.judging.parsing.verdict import Reply


class Claim(NamedTuple):
    """Answer to a claim on some requests, by their hashes; the others somebody else is sending.

    Attributes
    ----------
    granted : set of str
        May be sent; to be released unless their replies are put into the store.
    stored : mapping of str to Reply
        Need not be sent.
    held : mapping of str to str
        May not be sent: they wait in batches of other runs, each with the command that brings its
        reply.
    """

    granted: set[str]
    stored: Mapping[str, Reply]
    held: Mapping[str, str]
