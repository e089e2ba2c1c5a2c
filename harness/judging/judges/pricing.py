"""Prices and token counts of judges, and checks that a cost limit can be enforced.

Prices come from the judge's specification, else from litellm's local list, which is read without
importing litellm. A cost limit needs the maximum cost of a call.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from harness.errors import JudgeUnavailable
from harness.judging.judge_spec import FREE, Price
from harness.judging.judges.judge_registry import caps_replies
from harness.judging.judges.prompt_tokens import estimated_prompt_tokens, most_prompt_tokens
from harness.judging.model_names import listed_model, provider_of
from harness.judging.parsing.verdict import MAX_COST_USD
from harness.judging.strategies.strategy import TOKEN_LIMITS
from harness.options.concerns import REPLY_CAP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.prompts.question import Message
    from harness.judging.prompts.requests import Request


EXPECTED_TOKENS = 16  # assumed for a reply without a limit


class TokenEstimate(NamedTuple):
    """Estimated prompt tokens and maximum reply tokens, which are None if there is no limit."""

    prompt: int
    completion: int | None


def reply_cap(spec: JudgeSpec) -> int | None:
    """Return the token limit for replies in a judge's parameters, or None if there is none.

    If there are two limits, the larger one counts, because servers may ignore either.
    """
    if spec.kind == "embedding":
        return 0
    limits = (spec.params.get(name) for name in TOKEN_LIMITS)
    own = max((limit for limit in limits if isinstance(limit, int)), default=None)
    return own if own is not None or spec.remote else EXPECTED_TOKENS


def estimate(spec: JudgeSpec, request: Request) -> TokenEstimate:
    """Estimate tokens without a tokenizer: 1 per 4 bytes, 4 per message and 1,600 per image."""
    return TokenEstimate(estimated_prompt_tokens(request.messages), reply_cap(spec))


def max_tokens(messages: Sequence[Message], cap: int | None, n: int) -> int:
    """Return the maximum total tokens of a prompt and ``n`` replies, given a `reply_cap`."""
    return estimated_prompt_tokens(messages) + n * (EXPECTED_TOKENS if cap is None else cap)


def worst_cost(request: Request, price: Price | None, cap: int | None, n: int = 1) -> float:
    """Return the maximum cost in USD of ``n`` samples of a request.

    Parameters
    ----------
    request : Request
        Request for any of the samples.
    price : Price or None
        Price of the judge. If it is unknown, so is the cost, and 0 is returned.
    cap : int or None
        The judge's `reply_cap`, including reasoning; None means `REPLY_CAP`.
    """
    if price is None:
        return 0.0
    n_reply_tokens = n * (REPLY_CAP if cap is None else cap)
    most_usd = most_prompt_tokens(request) * price.most_input + n_reply_tokens * price.output
    return most_usd / 1_000_000


def price_of(spec: JudgeSpec) -> Price | None:
    """Return a judge's own price or litellm's list price, or None if both are unknown.

    Embedded judges are free.
    """
    if spec.price is not None:
        return spec.price
    if not spec.remote:
        return FREE
    hosted = spec.kind in {"litellm", "embedding"} and not spec.base_url
    return listed_price(spec.model) if hosted or spec.kind == "litellm" else None


def most_reply_tokens(spec: JudgeSpec) -> int | None:
    """Return the maximum reply tokens of a hosted model in litellm's list, or None."""
    limit = listed_model(spec.model).get("max_output_tokens") if spec.kind == "litellm" else None
    return limit if isinstance(limit, int) else None


class TokenCounts(Struct, frozen=True, gc=False):
    """Token counts of a reply. A count is None if the provider did not report it.

    ``cached`` (read from the provider's prompt cache) and ``written`` (put into it) are part of
    ``prompt``.
    """

    prompt: int | None
    completion: int | None
    cached: int | None
    written: int | None = None


def cost_of(counts: TokenCounts, price: Price) -> float | None:
    """Return a reply's cost in USD, or None if a count is unknown or the cost is absurd."""
    if counts.prompt is None or counts.completion is None:
        return None
    cached, written = counts.cached or 0, counts.written or 0
    cost_usd = price.cost_usd(counts.prompt, counts.completion, cached, written)
    return cost_usd if cost_usd <= MAX_COST_USD else None


BESIDE_TOKENS = frozenset(  # parameters that add costs beyond the tokens
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
SOFT = "Pass --max-cost-soft to run it anyway, possibly beyond the limit."


def with_reply_cap(spec: JudgeSpec, cap: int | None) -> JudgeSpec:
    """Set the token limit ``cap`` on a judge's requests, unless the judge has a limit."""
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
        raise JudgeUnavailable(
            f"{spec.name}: --max-cost cannot be enforced, because {reason}. {SOFT}"
        )


def _why_unlimited(spec: JudgeSpec) -> str:
    """Return why a call can exceed its maximum tokens, or "" if it cannot."""
    price = price_of(spec)
    if price is None or not (price.most_input or price.output):
        return ""
    if not caps_replies(spec):
        return f"judges of kind {spec.kind} do not limit the tokens of a reply"
    if reply_cap(spec) is None:
        return "its requests were made without a token limit, and adding one would change them"
    beside = sorted(BESIDE_TOKENS & spec.sent_params.keys())
    return f"{', '.join(beside)} in its params can add costs beyond its tokens" if beside else ""


class Overshoot(NamedTuple):
    """Maximum cost beyond a soft limit, due to one judge's replies in flight.

    Replies have up to ``n_tokens`` tokens. ``usd`` is None if no list has their maximum length.
    """

    judge: str
    n_requests: int
    n_tokens: int | None
    usd: float | None

    def __str__(self) -> str:
        if self.usd is None or self.n_tokens is None:
            return (
                f"{self.judge}: the maximum by which its replies can exceed --max-cost is "
                "unknown, because their maximum length isn't listed anywhere"
            )
        return (
            f"{self.judge}: its replies can exceed --max-cost by up to ${self.usd:.2f} "
            f"({self.n_requests} in flight, each of up to {self.n_tokens:,} tokens)"
        )


def overshoot_of(spec: JudgeSpec, n_in_flight: int) -> Overshoot:
    """Return how far the replies to several requests can exceed their reserved cost."""
    price, most = price_of(spec), most_reply_tokens(spec)
    n_replies = n_in_flight * spec.n_per_request
    if price is None or most is None:
        return Overshoot(spec.name, n_replies, None, None)
    beyond = max(0, most - (reply_cap(spec) or REPLY_CAP))
    return Overshoot(spec.name, n_replies, most, n_replies * beyond * price.output / 1e6)


HALF_IN_BATCH = frozenset({"openai", "anthropic"})


@cache
def listed_price(model: str) -> Price | None:
    """Return the price that litellm lists for a model, or None if it lists none."""
    entry = listed_model(model)
    if not {"input_cost_per_token", "output_cost_per_token"} <= entry.keys():
        return None
    read_usd = entry.get("cache_read_input_token_cost")
    write_usd = entry.get("cache_creation_input_token_cost")
    return Price(
        input=_per_million(entry["input_cost_per_token"]),
        output=_per_million(entry["output_cost_per_token"]),
        cached=None if read_usd is None else _per_million(read_usd),
        cache_write=None if write_usd is None else _per_million(write_usd),
        batch=0.5 if provider_of(model) in HALF_IN_BATCH else 1.0,
    )


def _per_million(usd: float) -> float:
    return round(usd * 1e6, 9)
