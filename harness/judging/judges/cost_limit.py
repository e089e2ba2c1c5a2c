"""Whether a judge can run under a cost limit: the maximum cost of a call must be known."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from harness.errors import JudgeUnavailable
from harness.judging.judges.judge_registry import caps_replies
from harness.judging.judges.pricing import (
    most_reply_tokens,
    price_of,
    reply_cap,
)
from harness.options.concerns import REPLY_CAP

if TYPE_CHECKING:
    from harness.judging.judges.config import JudgeSpec

BESIDE_TOKENS = frozenset(  # parameters with costs that prices of tokens do not cover
    {
        "audio",
        "best_of",
        "modalities",
        "plugins",
        "prediction",
        "service_tier",
        "tools",
        "web_search_options",
    }
)
SOFT = "--max-cost-soft asks it all the same, and may exceed the limit."


def with_reply_cap(spec: JudgeSpec, cap: int | None) -> JudgeSpec:
    """Return a judge with a token limit on every request: its own, else ``cap``."""
    if cap is None or not spec.remote or reply_cap(spec) is not None:
        return spec
    return spec.model_copy(update={"params": {**spec.params, "max_tokens": cap}})


def check_limited(spec: JudgeSpec, *, is_soft: bool) -> None:
    """Check that the maximum cost of a call is known, or that the limit is soft.

    Raises
    ------
    JudgeUnavailable
        If neither is true, with the reason. Nothing was sent.
    """
    if price_of(spec) is None:
        raise JudgeUnavailable(
            f"{spec.name}: its price is unknown, so --max-cost cannot be applied",
            "Add `price: {input: .., output: ..}` to your judges.yaml.",
        )
    if not is_soft and (reason := _why_unlimited(spec)):
        raise JudgeUnavailable(f"{spec.name}: --max-cost cannot be kept: {reason}. {SOFT}")


def _why_unlimited(spec: JudgeSpec) -> str:
    """Return why a call can cost more than its maximum of tokens; empty if it can't."""
    price = price_of(spec)
    if price is None or not (price.most_input or price.output):
        return ""
    if not caps_replies(spec):
        return f"judges of kind {spec.kind} do not limit the tokens of a reply"
    if reply_cap(spec) is None:
        return "its requests were made without a token limit, and adding one would change them"
    beside = sorted(BESIDE_TOKENS & spec.sent_params.keys())
    return f"{', '.join(beside)} in its params may cost more than its tokens" if beside else ""


class Overshoot(NamedTuple):
    """Maximum excess over a soft limit by one judge's replies in flight.

    Replies have up to ``n_tokens`` tokens. ``usd`` is None if no list has their maximum length.
    """

    judge: str
    n_requests: int
    n_tokens: int | None
    usd: float | None

    def __str__(self) -> str:
        if self.usd is None or self.n_tokens is None:
            return (
                f"{self.judge}: how far its replies may exceed --max-cost isn't known, because no "
                "list has their maximum length"
            )
        return (
            f"{self.judge}: its replies may exceed --max-cost by up to ${self.usd:.2f} "
            f"({self.n_requests} in flight, each of up to {self.n_tokens:,} tokens)"
        )


def overshoot_of(spec: JudgeSpec, n_in_flight: int) -> Overshoot:
    """Return how far the replies to a number of requests can exceed their reservations."""
    price, most = price_of(spec), most_reply_tokens(spec)
    n_replies = n_in_flight * spec.n_per_request
    if price is None or most is None:
        return Overshoot(spec.name, n_replies, None, None)
    beyond = max(0, most - (reply_cap(spec) or REPLY_CAP))
    return Overshoot(spec.name, n_replies, most, n_replies * beyond * price.output / 1e6)
