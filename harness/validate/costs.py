"""What a judge's replies cost, each counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.validate.result import Cost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.elicit.verdicts import Reply, Verdict


def cost_of(verdicts: Sequence[Verdict]) -> Cost:
    """Add up what one judge's verdicts cost.

    A reply that serves two units (a pair's first turn is the response set's) was paid for once.
    """
    receipts: dict[str, Verdict | Reply] = {}
    free: set[str] = set()
    for verdict in verdicts:
        for receipt in _receipts(verdict):
            receipts[receipt.request] = receipt
            if verdict.cached:
                free.add(receipt.request)
    paid = [receipt for request, receipt in receipts.items() if request not in free]
    usd, total = _usd(paid), _usd(list(receipts.values()))
    n_answered = sum(verdict.outcome == "answered" for verdict in verdicts)
    useful = receipts and n_answered and total is not None
    return Cost(
        usd=usd,
        n_paid=len(paid),
        n_cached=sum(verdict.cached for verdict in verdicts),
        usd_per_answered=total / n_answered if useful and total is not None else None,
        prompt_tokens=sum(receipt.prompt_tokens or 0 for receipt in paid),
        completion_tokens=sum(receipt.completion_tokens or 0 for receipt in paid),
        cached_tokens=sum(receipt.cached_tokens or 0 for receipt in paid),
    )


def _receipts(verdict: Verdict) -> Iterator[Verdict | Reply]:
    if verdict.first is not None:
        yield verdict.first
    if verdict.reply is not None:
        yield verdict


def _usd(receipts: Sequence[Verdict | Reply]) -> float | None:
    known = [one.cost_usd for one in receipts if one.cost_usd is not None]
    return sum(known) if len(known) == len(receipts) else None
