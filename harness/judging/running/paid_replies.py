"""Which replies were paid for: each counts once, whichever units it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.judging.parsing.verdict import Reply, Verdict


class Receipts:
    """Tells the replies of verdicts that have not been counted, from verdict to verdict.

    A pair's first turn may be the reply to a response set. It is if it took the same time: without
    a cache, the same was bought twice. So response sets come before the pairs that go on from them,
    as they do while judges are asked. What it remembers are 64 bits of each reply but forced
    choices, which serve one unit alone.
    """

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def new(self, verdict: Verdict) -> Sequence[Verdict | Reply]:
        """Return a verdict's replies that no verdict before it had; a verdict stands for its own.

        They were paid for unless the verdict is ``cached``.
        """
        own = _own(verdict)
        if verdict.elicitation == "forced_choice":
            return own
        turns = own if verdict.first is None else (verdict.first, *own)
        return [turn for turn in turns if self._is_new(turn)]

    def _is_new(self, receipt: Verdict | Reply) -> bool:
        n_seen = len(self._seen)
        self._seen.add(hash((receipt.request, receipt.latency_s)))
        return len(self._seen) > n_seen


def receipts_of(
    verdicts: Iterable[Verdict],
) -> Iterator[tuple[Verdict, Sequence[Verdict | Reply]]]:
    """Tell of verdicts in any order which of its replies each is the first to have; pairs last."""
    known = list(verdicts)
    pairs = [verdict for verdict in known if verdict.elicitation == "paired"]
    new = Receipts().new if pairs else _own  # only pairs share replies with others
    yield from ((verdict, new(verdict)) for verdict in known if verdict.elicitation != "paired")
    yield from ((verdict, new(verdict)) for verdict in pairs)


def _own(verdict: Verdict) -> Sequence[Verdict | Reply]:
    """Return the reply that a verdict was read from: the verdict stands for it."""
    return (verdict,) if verdict.reply is not None else ()
