"""What a judge's tokens cost: its own price, or litellm's local list, read without litellm."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from harness.judging.judges.providers import provider_of

if TYPE_CHECKING:
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.prompts.requests import Request


class Price(BaseModel):
    """What tokens cost, in USD per million.

    Attributes
    ----------
    input, output : float
        Of the prompt and of the reply.
    cached, cache_write : float or None
        Of prompt tokens that the provider read from its cache, or put into it; as any when None.
    batch : float
        Share of the price that is asked when requests are sent as a batch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    cached: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    cache_write: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    batch: Annotated[float, Field(gt=0, le=1)] = 1.0

    def cost_usd(
        self,
        prompt_tokens: int,
        completion_tokens: int,
        cached_tokens: int = 0,
        written_tokens: int = 0,
    ) -> float:
        """USD for one reply; tokens read from and put into a cache are part of the prompt's."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, prompt_tokens - cached_tokens - written_tokens)
        prompt = fresh * self.input + cached_tokens * cached + written_tokens * written
        return (prompt + completion_tokens * self.output) / 1_000_000

    def in_batch(self) -> Price:
        """Price of a request that is part of a batch."""
        rates = {
            name: None if rate is None else rate * self.batch
            for name, rate in self.model_dump(exclude={"batch"}).items()
        }
        return Price(**rates)


FREE = Price(input=0, output=0)
HALF_IN_BATCH = frozenset({"openai", "anthropic"})


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


def tokens_at_most(spec: JudgeSpec, request: Request, n: int) -> int:
    """Guess how many tokens a request for ``n`` samples may take of an allowance."""
    prompt, completion = estimate(spec, request)
    return prompt + n * completion


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
    read = entry.get("cache_read_input_token_cost")
    written = entry.get("cache_creation_input_token_cost")
    return Price(
        input=_per_million(entry["input_cost_per_token"]),
        output=_per_million(entry["output_cost_per_token"]),
        cached=None if read is None else _per_million(read),
        cache_write=None if written is None else _per_million(written),
        batch=0.5 if provider_of(model) in HALF_IN_BATCH else 1.0,
    )


def _per_million(usd: float) -> float:
    return round(usd * 1e6, 9)


@cache
def _price_list() -> dict[str, dict[str, Any]]:
    found = find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    path = Path(found.origin).with_name("model_prices_and_context_window_backup.json")
    listed: dict[str, dict[str, Any]] = json.loads(path.read_bytes()) if path.is_file() else {}
    return listed
