"""Tokens as a provider counted them, what they cost, and how several replies share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from harness.judging.judges.pricing import Price

MOST_TOKENS = 10**12  # a larger count is no count


class Counts(NamedTuple):
    """Tokens of one reply; None for what the provider did not tell.

    ``cached`` (read from the provider's prompt cache) and ``written`` (put into it) are part of
    ``prompt``.
    """

    prompt: int | None
    completion: int | None
    cached: int | None
    written: int | None = None


def token_counts(usage: dict[str, Any]) -> Counts:
    """Read an OpenAI-style ``usage``; litellm gives Anthropic's in this form, too.

    Anthropic's own names (``cache_read_input_tokens``, ``cache_creation_input_tokens``) are read
    where the details are absent. A prompt of no tokens was not counted, nor was its reply: litellm
    puts zeros where a server told nothing.
    """
    details = usage.get("prompt_tokens_details")
    details = details if isinstance(details, dict) else {}
    cached = _count(details.get("cached_tokens"))
    written = _count(details.get("cache_creation_tokens"))
    if cached is None:
        cached = _count(usage.get("cache_read_input_tokens"))
    if written is None:
        written = _count(usage.get("cache_creation_input_tokens"))
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt == 0:
        return Counts(None, None, None)
    return Counts(prompt, completion, cached, written)


def shared(counts: Counts, n: int) -> list[Counts]:
    """Share the tokens of one request among its ``n`` replies; the shares sum to the whole."""
    if n == 1:
        return [counts]
    return [Counts(*(_share(total, n, place) for total in counts)) for place in range(n)]


def _share(total: int | None, n: int, place: int) -> int | None:
    return None if total is None else total // n + (place < total % n)


def cost_of(counts: Counts, price: Price | None) -> float | None:
    """USD for one reply; None when the price or a count is unknown."""
    if price is None or counts.prompt is None or counts.completion is None:
        return None
    return price.cost_usd(counts.prompt, counts.completion, counts.cached or 0, counts.written or 0)


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None
