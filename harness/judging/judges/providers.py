"""Hosted providers, with the prices of their models and whether these reason first.

Each provider is tested against a server on loopback (`tests/judging/judges/test_hosted.py`):
redirects are refused, large replies cut off, and the key is inserted only when the request is sent.
The address is fixed here because litellm would otherwise read it from the environment, and replies
from a different server would then share a cache key. Prices are in USD per million tokens, from a
judges file or litellm's list, which is read without importing litellm.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from harness.files.json_values import JsonObject


@dataclass(frozen=True, slots=True)
class Provider:
    """Connection settings of a provider."""

    client: Literal["openai", "http"]  # litellm takes the SDK's client, or its own
    address: str | None  # base URL unless the judge sets one; None if there is no default
    key_env: str | None  # variable unless the judge names one; None if no key is needed
    suffix: str = ""  # path that litellm appends to a base URL


PROVIDERS = {
    "openai": Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("http", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "/v1"),
    "gemini": Provider("http", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
    "mistral": Provider("http", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepinfra": Provider("openai", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "openrouter": Provider("http", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together_ai": Provider("http", "https://api.together.ai/v1", "TOGETHERAI_API_KEY"),
    "groq": Provider("http", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "deepseek": Provider("http", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "xai": Provider("http", "https://api.x.ai/v1", "XAI_API_KEY"),
    "fireworks_ai": Provider("http", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "perplexity": Provider("openai", "https://api.perplexity.ai", "PERPLEXITYAI_API_KEY"),
    "cerebras": Provider("openai", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "nvidia_nim": Provider("openai", "https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY"),
    "sambanova": Provider("openai", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    "ollama_chat": Provider("http", "http://127.0.0.1:11434", None),
    "ollama": Provider("http", "http://127.0.0.1:11434", None),
    "hosted_vllm": Provider("http", None, None),
}

OPENAI = "OpenAI's"  # protocol of all other providers
OWN_PROTOCOLS = {
    "anthropic": "Anthropic's",
    "gemini": "Gemini's",
    "ollama": "Ollama's",
    "ollama_chat": "Ollama's",
}


def provider_of(model: str) -> str:
    """Return the provider in a litellm model string; without a prefix, OpenAI or Anthropic."""
    prefix, slash, _ = model.partition("/")
    if slash:
        return prefix
    return "anthropic" if model.startswith("claude") else "openai"


def redirecting_variable(provider: str) -> str | None:
    """Return the environment variable that sets a different server for a provider, if any.

    Other programs send their requests to that server.
    """
    known = PROVIDERS.get(provider)
    usual = urlsplit(known.address).hostname if known and known.address else None
    for suffix in ("BASE_URL", "API_BASE"):
        variable = f"{provider.upper()}_{suffix}"
        if (address := os.environ.get(variable)) and usual != _host(address):
            return variable
    return None


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


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
        """Return the price for requests in a batch."""
        rates = {
            name: None if rate is None else rate * self.batch
            for name, rate in self.model_dump(exclude={"batch"}).items()
        }
        return Price(**rates)


FREE = Price(input=0, output=0)


HALF_IN_BATCH = frozenset({"openai", "anthropic"})


def listed_model(model: str) -> JsonObject:
    """Return a model's entry in litellm's list, or an empty dict if it has none."""
    provider, _, bare = model.partition("/")
    entry = _price_list().get(model)
    if entry is None and _price_list().get(bare, {}).get("litellm_provider") == provider:
        entry = _price_list()[bare]
    return entry or {}


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


@cache
def _price_list() -> dict[str, JsonObject]:
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    path = Path(package.origin).with_name("model_prices_and_context_window_backup.json")
    prices: dict[str, JsonObject] = json.loads(path.read_bytes()) if path.is_file() else {}
    return prices


REASONING_MAX_TOKENS = 4096  # token limit of a reply that starts with hidden reasoning
SETTINGS = ("reasoning_effort", "reasoning", "thinking")  # parameters that turn reasoning on
OFF = frozenset({"none", "disabled", "disable"})
NAMED = re.compile(
    r"(?:^|[/:._-])(?:o[1-9]|gpt-?(?:[5-9]|oss)|deepseek-?r[1-9]|deepseek-reasoner|qwq|qwen-?3"
    r"|magistral|grok-(?:[4-9]|3-mini)|gemini-(?:2\.5|[3-9]))(?![a-z0-9])"
    r"|thinking|reason",
    re.IGNORECASE,
)
ANSWERS_AT_ONCE = re.compile(r"instruct|non-?(?:thinking|reasoning)|no-?think", re.IGNORECASE)


def reasons_first(model: str, params: Mapping[str, JsonValue]) -> bool:
    """Return whether a model is known to reason before it answers.

    Parameters that turn reasoning on or off take precedence, and Claude only reasons if they turn
    it on. Otherwise the model's name decides, then ``supports_reasoning`` in litellm's list.

    Examples
    --------
    >>> reasons_first("openai/o3", {})
    True
    >>> reasons_first("anthropic/claude-haiku-4-5", {})
    False
    >>> reasons_first("anthropic/claude-haiku-4-5", {"thinking": {"type": "enabled"}})
    True
    """
    settings = [params[name] for name in SETTINGS if params.get(name) is not None]
    if settings:
        return not any(_is_off(setting) for setting in settings)
    if provider_of(model) == "anthropic" or "claude" in model.lower():
        return False
    if ANSWERS_AT_ONCE.search(model):
        return False
    return bool(NAMED.search(model) or listed_model(model).get("supports_reasoning"))


def _is_off(setting: JsonValue) -> bool:
    if isinstance(setting, dict):
        setting = setting.get("type", setting.get("effort"))
    return setting is False or str(setting).lower() in OFF
