"""Cost of a judge's replies, each counted once."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_high
from typing import TYPE_CHECKING

from harness.judging.running.budget import paid_replies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.parsing.verdict import Reply, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of a judge's replies.

    Attributes
    ----------
    usd : float or None
        Paid in this run; None where a price is unknown.
    n_paid, n_cached : int
        Replies that were paid for in this run, and verdicts that the cache gave.
    usd_per_answered : float or None
        What all replies cost when they were bought, cached ones too, per answered verdict. None
        where a price is unknown or nothing was answered.
    prompt_tokens, completion_tokens, cached_tokens : int
        Of the replies paid for; cached are those of the prompt that the provider had in its cache.
    """

    usd: float | None
    n_paid: int
    n_cached: int
    usd_per_answered: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


def cost_of(verdicts: Sequence[Verdict], replies: Sequence[Verdict] | None = None) -> Cost:
    """Return the cost of one judge's verdicts.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of the judge.
    replies : sequence of Verdict, optional
        Those on single replies, where the judge's are votes; other judges' were paid by these.
    """
    judge = verdicts[0].judge if verdicts else ""
    replies = verdicts if replies is None else replies
    bought: list[Reply] = []
    paid: list[Reply] = []
    for reply, new in paid_replies(replies):
        bought += new
        if reply.judge == judge and not reply.cached:
            paid += new
    total = _usd(bought)
    n_answered = sum(verdict.outcome == "answered" for verdict in verdicts)
    useful = bought and n_answered and total is not None
    return Cost(
        usd=_usd(paid),
        n_paid=len(paid),
        n_cached=sum(reply.cached for reply in replies if reply.judge == judge),
        usd_per_answered=total / n_answered if useful and total is not None else None,
        prompt_tokens=sum(reply.prompt_tokens or 0 for reply in paid),
        completion_tokens=sum(reply.completion_tokens or 0 for reply in paid),
        cached_tokens=sum(reply.cached_tokens or 0 for reply in paid),
    )


def _usd(replies: Sequence[Reply]) -> float | None:
    prices = [reply.cost_usd for reply in replies if reply.cost_usd is not None]
    return sum(prices, 0.0) if len(prices) == len(replies) else None


def median_latency_s(verdicts: Sequence[Verdict]) -> float | None:
    """Return the median seconds of a reply, of two middle ones the greater; None without any."""
    latencies = [v.reply.latency_s for v in verdicts if v.reply and v.reply.latency_s is not None]
    return median_high(latencies) if latencies else None
