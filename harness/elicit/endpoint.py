"""Any OpenAI-compatible server (vLLM, llama.cpp, Ollama, a gateway), straight over aiohttp."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.elicit.faults import OK, code_in, failure_of, filtered
from harness.elicit.judges import Prompted
from harness.elicit.prices import price_of
from harness.elicit.specs import key_now
from harness.elicit.verdicts import Reply
from harness.elicit.wire import Wire
from harness.errors import CallFailed

if TYPE_CHECKING:
    from pydantic import JsonValue

    from harness.elicit.prices import Price
    from harness.elicit.prompts import Prompts, Request
    from harness.elicit.specs import JudgeSpec
    from harness.elicit.wire import Answer
    from harness.task import Task

MOST_TOKENS = 10**12  # a larger count is no count


class Endpoint(Prompted):
    """Asks a server's ``/chat/completions``; one connection per call in flight, kept open."""

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts) -> None:
        super().__init__(spec, task, prompts)
        self._url = f"{spec.base_url}/chat/completions"
        self._price = price_of(spec)
        self._wire = Wire(spec.concurrency)

    async def ask(self, request: Request) -> Reply:
        """Send one request and read the reply; `harness.elicit.faults` lists what can go wrong."""
        key = self._key_now()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        rest = json.dumps({"model": request.model, **self._sent(request)})
        body = f'{{"messages":{request.turns},{rest[1:]}'.encode()
        start = perf_counter()
        answer = await self._wire.post(self._url, headers, body)
        return read_answer(answer, request, self._price, perf_counter() - start)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    def _key_now(self) -> str | None:
        return key_now(self.spec)

    def _sent(self, request: Request) -> dict[str, Any]:
        return request.params


def read_answer(answer: Answer, request: Request, price: Price | None, latency_s: float) -> Reply:
    """Make a reply of what an OpenAI-compatible server sent.

    Parameters
    ----------
    answer : Answer
        Status, headers and body.
    request : Request
        What was asked.
    price : Price or None
        What tokens cost, if that is known.
    latency_s : float
        Seconds from sending to the last byte.

    Raises
    ------
    CallFailed
        If the answer is an error or is not a chat completion.
    """
    status, headers, body = answer
    if status != OK:
        if filtered(status, body):
            return Reply(
                request=request.hash, text="", finish_reason="content_filter", latency_s=latency_s
            )
        raise failure_of(status, headers, body)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise CallFailed("bad_body", retry=True, hint="not a JSON object")
    choices = document.get("choices")
    if document.get("error") and not choices:
        raise failure_of(code_in(document), headers, body)
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        raise CallFailed("no_choices", retry=True)
    return _reply_of(document, choices[0], request, price, latency_s)


def _reply_of(
    document: dict[str, Any],
    choice: dict[str, Any],
    request: Request,
    price: Price | None,
    latency_s: float,
) -> Reply:
    message = choice.get("message")
    said = message if isinstance(message, dict) else {}
    finish = choice.get("finish_reason")
    text = text_of(said.get("content"))
    if not text and said.get("refusal"):
        text, finish = text_of(said["refusal"]), "content_filter"
    usage = document.get("usage")
    counts = token_counts(usage if isinstance(usage, dict) else {})
    model = document.get("model")
    return Reply(
        request=request.hash,
        text=text,
        model=clean(model) if isinstance(model, str) else None,
        finish_reason=clean(finish) if isinstance(finish, str) else None,
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cached_tokens=counts.cached,
        cost_usd=cost_of(counts, price),
        latency_s=latency_s,
        logprobs=plain(choice.get("logprobs")),
    )


class Counts(NamedTuple):
    """Tokens as the provider counted them; None for what it did not tell."""

    prompt: int | None
    completion: int | None
    cached: int | None  # part of the prompt's


def token_counts(usage: dict[str, Any]) -> Counts:
    """Read an OpenAI-style ``usage``."""
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Counts(
        _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached)
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None


def cost_of(counts: Counts, price: Price | None) -> float | None:
    """USD for one reply; None when the price or a count is unknown."""
    if price is None or counts.prompt is None or counts.completion is None:
        return None
    return price.cost_usd(counts.prompt, counts.completion, counts.cached or 0)


def plain(logprobs: object) -> JsonValue:
    """Log-probabilities as a file can hold them: no lone surrogate, no NaN."""
    if logprobs is None:
        return None
    text = clean(json.dumps(logprobs, ensure_ascii=False))
    value: JsonValue = json.loads(text, parse_constant=lambda _: None)
    return value


def text_of(content: object) -> str:
    """Text of a message: a string, or the text parts of a list; nothing is an empty text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return clean(content) if isinstance(content, str) else ""


def clean(text: str) -> str:
    """Replace lone surrogates, which no file can hold, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
