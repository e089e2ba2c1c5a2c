"""Prices of models per million tokens, from a judges file or litellm's list."""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from harness.judging.judges.providers import provider_of

if TYPE_CHECKING:
    from harness.files.json_values import JsonObject


class Price(BaseModel):
    """Price of tokens, in USD per million.

    Attributes
    ----------
    input, output : float
        Price of prompt tokens and of reply tokens.
    cached, cache_write : float or None
        Price of prompt tokens read from the provider's cache, or written to it. If None, they cost
        the same as other prompt tokens.
    batch : float
        Factor applied to all prices for requests sent in a batch.
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
        """Return the cost of a reply in USD; prompt tokens include those cached and written."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, prompt_tokens - cached_tokens - written_tokens)
        prompt = fresh * self.input + cached_tokens * cached + written_tokens * written
        return (prompt + completion_tokens * self.output) / 1_000_000

    @property
    def most_input(self) -> float:
        """Highest price of a prompt token: new, read from the cache or written to it."""
        return max(self.input, self.cached or 0.0, self.cache_write or 0.0)

    def in_batch(self) -> Price:
        """Return the price of a request in a batch."""
        rates = {
            name: None if rate is None else rate * self.batch
            for name, rate in self.model_dump(exclude={"batch"}).items()
        }
        return Price(**rates)


FREE = Price(input=0, output=0)


HALF_IN_BATCH = frozenset({"openai", "anthropic"})


def listed_model(model: str) -> JsonObject:
    """Return a model's entry in litellm's list; empty if it has none."""
    provider, _, bare = model.partition("/")
    entry = _price_list().get(model)
    if entry is None and _price_list().get(bare, {}).get("litellm_provider") == provider:
        entry = _price_list()[bare]
    return entry or {}


@cache
def listed_price(model: str) -> Price | None:
    """Return the price that litellm lists for a model; None if it lists none."""
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


@cache
def _price_list() -> dict[str, JsonObject]:
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    path = Path(package.origin).with_name("model_prices_and_context_window_backup.json")
    prices: dict[str, JsonObject] = json.loads(path.read_bytes()) if path.is_file() else {}
    return prices
