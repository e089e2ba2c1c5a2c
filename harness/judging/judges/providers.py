"""Providers of hosted models, with their connection settings.

Each provider is tested against a server on loopback (`tests/judging/judges/test_hosted.py`):
redirects are refused, large replies cut off, and the key is inserted only when the request is sent.
The address is fixed here because litellm would otherwise read it from the environment, and replies
from a different server would then share a cache key.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Provider:
    """Connection settings for a provider."""

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


def redirecting_variable(provider: str) -> str | None:
    """Return the environment variable that redirects a provider's requests, if one is set.

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
