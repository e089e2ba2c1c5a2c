"""Server-sent events, which some servers use for responses even if not requested."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.files.json_values import JsonObject

DONE = "[DONE]"
TEXTS = ("content", "reasoning_content", "reasoning", "refusal")  # members that arrive in pieces
OF_STREAM = ("event:", "id:", "retry:", ":")


def document_in_events(body: bytes) -> JsonObject | None:
    r"""Assemble a response from the events in a body.

    A stream contains either a single event with the whole response, or the pieces of a chat
    completion. If an event reports an error, that event is the response.

    Parameters
    ----------
    body : bytes
        Body of a response. None is returned if it is not a complete stream.

    Examples
    --------
    >>> document_in_events(b'data: {"choices": [{"delta": {"content": "B"}}]}\n\ndata: [DONE]\n\n')
    {'choices': [{'index': 0, 'message': {'content': 'B'}, 'finish_reason': None}]}
    """
    try:
        text = body.decode().strip()
    except UnicodeDecodeError:
        return None
    whole = text.removesuffix(f"data: {DONE}").rstrip()
    with suppress(ValueError, RecursionError):
        document = json.loads(whole.removeprefix("data:"))
        if isinstance(document, dict) and not _is_piece(document):
            return document
    try:
        events = list(_events(text))
    except (ValueError, RecursionError):
        return None
    if failed := next((event for event in events if event.get("error")), None):
        return failed
    document = _joined([event for event in events if isinstance(event.get("choices"), list)])
    has_ended = text.endswith(DONE) or all(c["finish_reason"] for c in document["choices"])
    return document if document["choices"] and has_ended else None


def _events(text: str) -> Iterator[JsonObject]:
    """Yield each event's content. Raise `ValueError` if the text has anything else."""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith(OF_STREAM):
            continue
        data = line.removeprefix("data:").strip()
        if data == DONE:
            return
        event = json.loads(data)
        if not line.startswith("data:") or not isinstance(event, dict):
            raise ValueError("not an event")
        yield event


def _is_piece(document: JsonObject) -> bool:
    choices = document.get("choices")
    return isinstance(choices, list) and any(isinstance(c, dict) and "delta" in c for c in choices)


def _joined(events: list[JsonObject]) -> JsonObject:
    """Assemble a chat completion from its chunks. For top-level fields, the last value wins."""
    document: JsonObject = {}
    choices: dict[object, JsonObject] = {}
    for event in events:
        document |= {name: value for name, value in event.items() if value is not None}
        for piece in filter(_is_object, event["choices"]):
            index = piece.get("index", 0)
            empty = {"index": index, "message": {}, "finish_reason": None}
            _add(choices.setdefault(index, empty), piece)
    return document | {"choices": list(choices.values())}


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _add(choice: JsonObject, piece: JsonObject) -> None:
    """Add a chunk to a choice. Append texts and log-probabilities, and replace all else."""
    delta = piece.get("delta")
    message = choice["message"]
    for name, value in delta.items() if isinstance(delta, dict) else ():
        if name in TEXTS and isinstance(value, str):
            message[name] = message.get(name, "") + value
        elif value is not None:
            message[name] = value
    logprobs = piece.get("logprobs")
    if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
        choice.setdefault("logprobs", {"content": []})["content"] += logprobs["content"]
    if ending := piece.get("finish_reason"):
        choice["finish_reason"] = ending
