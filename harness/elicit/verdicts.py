"""What a judge answered: replies, verdicts read whole or not at all, and the verdict log's lines."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

Outcome = Literal["answered", "abstained", "refused", "invalid", "failed"]
OUTCOMES: tuple[Outcome, ...] = ("answered", "abstained", "refused", "invalid", "failed")
CANNOT_ASSESS = "CANNOT_ASSESS"


class Reply(BaseModel):
    """One received reply of a judge, as it will be cached."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    request: str  # hash of the request
    text: str
    model: str | None = None  # as the provider reported it
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None  # None: price unknown; 0.0: free
    latency_s: float | None = None
    logprobs: JsonValue = None
    derived: bool = False  # made from another elicitation by rule, not asked for


class PairValue(BaseModel):
    """What a paired unit answered: the set, then the single choice made in the same conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set: tuple[str, ...]
    choice: str


Value = str | tuple[str, ...] | PairValue | None
