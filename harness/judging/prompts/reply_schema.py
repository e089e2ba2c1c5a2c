"""JSON schemas of replies, for servers that can keep a reply to one (structured output)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from pydantic import JsonValue

    from harness.judging.prompts.demonstrations import AnswerKind
    from harness.tasks import Task

VERDICT = "verdict"


def response_format(task: Task, kind: AnswerKind) -> dict[str, JsonValue]:
    """Return the parameter ``response_format`` of an OpenAI-compatible server.

    Its schema admits ``{"verdict": KEY}``, or ``{"verdict": [KEY, ...]}`` for a response set; on a
    continuous scale, ``{"verdict": NUMBER}``, on a text scale ``{"verdict": TEXT}``.
    """
    keys: list[JsonValue] = [option.key for option in task.options]
    keys += [CANNOT_ASSESS] if task.abstain else []
    key: dict[str, JsonValue] = {"type": "string", "enum": keys}
    if task.is_open:
        answer: dict[str, JsonValue] = {
            "type": "number" if task.scale == "continuous" else "string"
        }
        key = {"anyOf": [answer, key]} if task.abstain else answer
    keys_of_set: dict[str, JsonValue] = {"type": "array", "items": key}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {VERDICT: key if kind == "forced_choice" else keys_of_set},
        "required": [VERDICT],
        "additionalProperties": False,
    }
    named: dict[str, JsonValue] = {"name": kind, "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


def is_structured(text: str) -> bool:
    """Return whether a reply is a JSON object with the verdict and nothing else."""
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(reply, dict) and reply.keys() == {VERDICT}
