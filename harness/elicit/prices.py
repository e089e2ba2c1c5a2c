"""What a judge's tokens cost: its own price, or litellm's local list, read without litellm."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from harness.elicit.prompts import Request
    from harness.elicit.specs import JudgeSpec


class Price(BaseModel):
    """What tokens cost, in USD per million; ``cached`` is for prompt tokens the provider had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    cached: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    def cost_usd(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """USD for one reply; ``cached_tokens`` are part of ``prompt_tokens``."""
        cached = self.input if self.cached is None else self.cached
        fresh = max(0, prompt_tokens - cached_tokens)
        return (
            fresh * self.input + cached_tokens * cached + completion_tokens * self.output
        ) / 1_000_000


FREE = Price(input=0, output=0)


class Tokens(NamedTuple):
    """An estimate: tokens of the prompt, and the most the reply may have."""

    prompt: int
    completion: int


def estimate(spec: JudgeSpec, request: Request) -> Tokens:
    """Guess a request's tokens without a tokenizer: 4 bytes each, and 4 tokens around a message."""
    size = sum(math.ceil(len(m.content.encode()) / 4) + 4 for m in request.messages)
    params = spec.params
    limit = params.get("max_completion_tokens", params.get("max_tokens", 16))
    return Tokens(size, limit if isinstance(limit, int) else 16)


def price_of(spec: JudgeSpec) -> Price | None:
    """Look a judge's price up: its own, else litellm's local price list; None when unknown.

    Embedded judges are free. litellm itself is not imported.
    """
    if spec.price is not None:
        return spec.price
    if not spec.remote:
        return FREE
    return _listed_price(spec.model) if spec.kind == "litellm" else None


def _listed_price(model: str) -> Price | None:
    provider, _, bare = model.partition("/")
    entry = _price_list().get(model)
    if entry is None and _price_list().get(bare, {}).get("litellm_provider") == provider:
        entry = _price_list()[bare]
    if entry is None or not {"input_cost_per_token", "output_cost_per_token"} <= entry.keys():
        return None
    cached = entry.get("cache_read_input_token_cost")
    return Price(
        input=round(entry["input_cost_per_token"] * 1e6, 9),
        output=round(entry["output_cost_per_token"] * 1e6, 9),
        cached=None if cached is None else round(cached * 1e6, 9),
    )


@cache
def _price_list() -> dict[str, dict[str, Any]]:
    found = find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    path = Path(found.origin).with_name("model_prices_and_context_window_backup.json")
    listed: dict[str, dict[str, Any]] = json.loads(path.read_bytes()) if path.is_file() else {}
    return listed
