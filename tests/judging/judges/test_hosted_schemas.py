"""The structured output of each provider, as litellm writes it, and the replies to it."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.task_folders import make_task_folder

from harness.judging.judges.config import load_judges, new_judge
from harness.judging.judges.http_exchange import Response
from harness.judging.judges.judge_registry import build
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.tasks import load_task

KEY = "sk-for-tests-only-1234"
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["A", "B", "CANNOT_ASSESS"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}
UNIT = Unit("i0", "forced_choice")
OF_OPENAI = ("response_format", "json_schema", "schema")
PLACES = {  # of the schema in the body of a request
    "gpt": OF_OPENAI,
    "mistral": OF_OPENAI,
    "claude": ("output_format", "schema"),
    "gemini": ("generationConfig", "response_json_schema"),
}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(str(make_task_folder(tmp_path_factory.mktemp("hosted") / "small", 6)))


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for provider in ("OPENAI", "ANTHROPIC", "GEMINI", "MISTRAL", "GROQ"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)


def judge_of(spec, task):
    return build(spec, task, Prompts.load(task, strategies=[spec.asking]))


@pytest.mark.parametrize(("alias", "place"), PLACES.items())
def test_bundled_judge_has_the_structured_output_of_its_provider(task, alias, place):
    """The provider enforces it: the keys are no mere part of the prompt."""
    judge = judge_of(load_judges()[alias], task)
    [written] = asyncio.run(judge.write_requests([judge.request(UNIT)]))
    part = json.loads(written.body)
    for name in place:
        part = part[name]
    assert part == SCHEMA


def of_anthropic(stop, *content):
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop,
        "usage": {"input_tokens": 5, "output_tokens": 5},
    }


def of_openai(finish, **message):
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant"} | message}
    return {
        "id": "m",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "service_tier": "default",
        "choices": [choice],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    }


TEXT = json.dumps({"verdict": "B"})
CALL = {"function": {"name": "json_tool_call", "arguments": TEXT}, "id": "t", "type": "function"}
TOOL = {"type": "tool_use", "id": "t", "name": "json_tool_call", "input": {"verdict": "B"}}


@pytest.mark.parametrize(
    ("model", "response", "outcome"),
    [
        (
            "anthropic/claude-haiku-4-5",
            of_anthropic("end_turn", {"type": "text", "text": TEXT}),
            "answered",
        ),
        ("anthropic/claude-3-5-haiku-20241022", of_anthropic("tool_use", TOOL), "answered"),
        ("anthropic/claude-haiku-4-5", of_anthropic("refusal"), "refused"),
        (
            "groq/llama-3.3-70b-versatile",
            of_openai("tool_calls", content=None, tool_calls=[CALL]),
            "answered",
        ),
        ("openai/gpt-5.4-mini", of_openai("stop", content=TEXT), "answered"),
        ("openai/gpt-5.4-mini", of_openai("stop", content=None, refusal="I can't."), "refused"),
    ],
)
def test_reply_of_a_provider_to_a_schema_is_read(task, model, response, outcome):
    """litellm writes a tool for older models; a refusal has a field or a word of its own."""
    judge = judge_of(new_judge(name="m", model=model, answer="schema"), task)
    answer = Response(200, {}, json.dumps(response).encode())
    reply = asyncio.run(judge.read_result(judge.request(UNIT), answer))
    verdict = ReplyReader(task).verdict(reply, UNIT, "m")
    assert (verdict.outcome, verdict.value) == (outcome, "B" if outcome == "answered" else None)
