"""Facts about a model by its name: provider, listed prices and whether it reasons first.

The list is read without importing litellm.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from harness.files.json_values import JsonObject

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


def provider_of(model: str) -> str:
    """Return the provider in a litellm model string. Without a prefix, infer it from the name."""
    prefix, slash, _ = model.partition("/")
    if slash:
        return prefix
    return "anthropic" if model.startswith("claude") else "openai"


def listed_model(model: str) -> JsonObject:
    """Return litellm's entry for a model, or an empty dict if litellm does not list it."""
    provider, _, bare = model.partition("/")
    entry = _price_list().get(model)
    if entry is None and _price_list().get(bare, {}).get("litellm_provider") == provider:
        entry = _price_list()[bare]
    return entry or {}


@cache
def _price_list() -> dict[str, JsonObject]:
    package = find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    path = Path(package.origin).with_name("model_prices_and_context_window_backup.json")
    prices: dict[str, JsonObject] = json.loads(path.read_bytes()) if path.is_file() else {}
    return prices


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
