"""Which models reason before they answer, so that a short token limit leaves no room."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.judging.judges.price import listed_model
from harness.judging.judges.providers import provider_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

REASONING_MAX_TOKENS = 4096  # of a reply that starts with hidden reasoning
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

    Parameters decide where they turn reasoning on or off; Claude reasons only then. Otherwise the
    name of the model decides, then ``supports_reasoning`` in litellm's list of models.

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
