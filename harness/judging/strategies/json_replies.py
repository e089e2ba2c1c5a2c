"""Replies that follow a JSON schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.judging.strategies.strategy import Combining, Params, Strategy, with_room
from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from harness.judging.parsing.verdict import Verdict
    from harness.tasks import Task
    from harness.tasks.schema import AnswerKind

VERDICT = "verdict"
JSON_MAX_TOKENS = 128  # of a reply in JSON


class JsonReplies(Strategy):
    """Asks the plain question, and the server to keep the reply to a schema."""

    def params(self, params: Params) -> Params:
        """Return parameters with room for JSON."""
        return with_room(params, JSON_MAX_TOKENS)

    def response_format(self, task: Task, kind: AnswerKind) -> Params:
        """Return the parameter ``response_format`` of an OpenAI-compatible server.

        Its schema admits ``{"verdict": KEY}``, or ``{"verdict": [KEY, ...]}`` for a response set;
        on a continuous scale, ``{"verdict": NUMBER}``, on a text scale ``{"verdict": TEXT}``.
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
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    def notes(self, replies: Sequence[Verdict], of: Combining) -> Iterator[str]:
        """Yield the number of replies that are no JSON though it was asked for."""
        read = (v for v in replies if v.outcome in {"answered", "abstained"})
        if n := sum(not is_structured(v.text) for v in read):
            yield (
                f"{of.judge}: {n} of {len(replies)} replies are verdicts in plain text, not in "
                "the JSON that was asked for"
            )


def is_structured(text: str) -> bool:
    """Return whether a reply is a JSON object with the verdict and nothing else."""
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(reply, dict) and reply.keys() == {VERDICT}
