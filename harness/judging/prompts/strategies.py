"""Strategies: how a judge is prompted and replies, written as the end of its name (``gpt@cot``)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from harness.tasks import CANNOT_ASSESS

if TYPE_CHECKING:
    from pydantic import JsonValue

    from harness.judging.parsing.grammar import AnswerKind
    from harness.tasks import Task


ZERO_SHOT = "zero-shot"
CHAIN_OF_THOUGHT = "cot"
STRUCTURED = "json"
LOG_PROBABILITIES = "logprob"
CALIBRATED = "logprob-calibrated"
ENDORSEMENT = "endorse"
SOFT_ENDORSEMENT = "endorse-logprob"
ENDORSEMENTS = frozenset({ENDORSEMENT, SOFT_ENDORSEMENT})
VERBALISED = "verbalised"
SOFT = frozenset({LOG_PROBABILITIES, CALIBRATED, SOFT_ENDORSEMENT, VERBALISED})
FEW_SHOT = re.compile(r"few-shot:([1-9][0-9]?)(@cot)?")
SELF_CONSISTENCY = re.compile(r"self-consistency:([1-9][0-9]{0,2})")
VERDICT = "verdict"


def is_strategy(name: str) -> bool:
    """Return whether a name is that of a strategy, which says how a judge is prompted."""
    fixed = {ZERO_SHOT, CHAIN_OF_THOUGHT, STRUCTURED, *SOFT, *ENDORSEMENTS}
    return name in fixed or FEW_SHOT.fullmatch(name) is not None


def split_strategy(name: str) -> tuple[str, str]:
    """Split the name of a judge into that of the model or alias, and its strategy.

    Only a registered strategy or self-consistency after the last ``@`` counts.

    Examples
    --------
    >>> split_strategy("gpt@cot")
    ('gpt', 'cot')
    >>> split_strategy("vertex_ai/claude@20250101")
    ('vertex_ai/claude@20250101', '')
    """
    base, _, suffix = name.rpartition("@")
    is_suffix = is_strategy(suffix) or votes_of(suffix) > 1
    return (base, suffix) if base and is_suffix else (name, "")


def gives_reasons(strategy: str) -> bool:
    """Return whether a judge under a strategy gives its reasons before its verdict."""
    return strategy == CHAIN_OF_THOUGHT or strategy.endswith(f"@{CHAIN_OF_THOUGHT}")


def combined(first: str, second: str) -> str | None:
    """Return the strategy that two make together; None where they do not go together.

    Examples
    --------
    >>> combined("cot", "few-shot:4")
    'few-shot:4@cot'
    >>> combined("cot", "logprob") is None
    True
    """
    if first == ZERO_SHOT:
        return second
    names = {first, second} - {CHAIN_OF_THOUGHT}
    both = f"{names.pop()}@{CHAIN_OF_THOUGHT}" if len(names) == 1 else ""
    return both if FEW_SHOT.fullmatch(both) else None


def n_demonstrations(strategy: str) -> int:
    """Return the number of demonstrations of a few-shot strategy; 0 for any other.

    Examples
    --------
    >>> n_demonstrations("few-shot:4")
    4
    """
    match = FEW_SHOT.fullmatch(strategy)
    return int(match[1]) if match else 0


def votes_of(strategy: str) -> int:
    """Return the number of votes of a self-consistency strategy; 0 for any other.

    Examples
    --------
    >>> votes_of("self-consistency:5")
    5
    """
    match = SELF_CONSISTENCY.fullmatch(strategy)
    return int(match[1]) if match else 0


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
