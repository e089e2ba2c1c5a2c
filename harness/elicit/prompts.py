"""What a judge is asked: requests, their canonical hash, and the templates that make them."""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

Elicitation = Literal["forced_choice", "response_set", "paired"]
ELICITATIONS: tuple[Elicitation, ...] = ("forced_choice", "response_set", "paired")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(_Frozen):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Request(_Frozen):
    """Everything that can change a judge's reply; its hash is the cache key.

    The judge's alias is not part of it: two aliases of one model share their replies.
    """

    provider: str
    base_url: str | None = None
    model: str
    params: dict[str, JsonValue] = {}
    messages: tuple[Message, ...]
    sample: int = 0

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical JSON, 64 hex digits."""
        text = json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class Unit(_Frozen):
    """One thing to ask one judge: an item, an elicitation and the number of the sample."""

    item: str
    elicitation: Elicitation
    sample: int = 0
