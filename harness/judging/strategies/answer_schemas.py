"""JSON schemas for structured replies, by task and kind of answer.

A schema contains neither ``uniqueItems`` nor bounds on numbers: OpenAI rejects the former in strict
schemas, Anthropic the latter. The reply reader checks both.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import JsonValue

    from harness.judging.parsing.verdict import Verdict
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind

VERDICT, REASON = "verdict", "reason"
SCHEMA_MAX_TOKENS = 128  # tokens of a reply in JSON
JSON_TOKENS = 6  # tokens around the key in an average reply


def verdict_format(
    task: Task, kind: AnswerKind, *, keys: Iterable[str] = (), with_reason: bool = False
) -> dict[str, JsonValue]:
    """Return the parameter ``response_format`` for an OpenAI-compatible server.

    Its schema allows ``{"verdict": KEY}``, or ``{"verdict": [KEY, ...]}`` for a response set. On a
    continuous scale it allows ``{"verdict": NUMBER}``, on a text scale ``{"verdict": TEXT}``.

    Parameters
    ----------
    task : Task
        The task. Its options are the allowed keys, and CANNOT_ASSESS if raters may abstain.
    kind : str
        Whether to ask for one key or a set.
    keys : iterable of str, optional
        Allowed keys, instead of the options.
    with_reason : bool
        Whether a member ``reason`` comes before the verdict.
    """
    verdict = _key(task, tuple(keys))
    if kind == "response_set":
        verdict = {"type": "array", "items": verdict}
    members: dict[str, JsonValue] = {VERDICT: verdict}
    if with_reason:
        members = {REASON: {"type": "string"}, **members}
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }
    named: dict[str, JsonValue] = {"name": kind, "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def _key(task: Task, keys: Sequence[str]) -> dict[str, JsonValue]:
    """Return the JSON schema for one answer."""
    admissible = [*(keys or [option.key for option in task.options])]
    admissible += [CANNOT_ASSESS] if task.abstain else []
    key: dict[str, JsonValue] = {"type": "string", "enum": [*admissible]}
    if keys or not task.is_open:
        return key
    answer: dict[str, JsonValue] = {"type": "number" if task.scale == "continuous" else "string"}
    return {"anyOf": [answer, key]} if task.abstain else answer


def plain_replies_note(judge: str, replies: Sequence[Verdict]) -> str:
    """Report how many replies are not JSON although a schema was sent, or return ""."""
    read = (v for v in replies if v.outcome in {"answered", "abstained"})
    if n := sum(not is_structured(v.text) for v in read):
        return (
            f"{judge}: {n} of {len(replies)} replies are verdicts in plain text instead of the "
            "requested JSON"
        )
    return ""


def is_structured(text: str) -> bool:
    """Return whether a reply is a JSON object with a verdict and, optionally, a reason."""
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(reply, dict) and VERDICT in reply and reply.keys() <= {REASON, VERDICT}
