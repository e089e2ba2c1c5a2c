"""Any OpenAI-compatible server (vLLM, llama.cpp, Ollama, a gateway), straight over aiohttp."""

from __future__ import annotations

import json
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from harness.errors import CallFailed
from harness.judging.judges.config import key_now
from harness.judging.judges.pricing import price_of
from harness.judging.judges.registry import Prompted
from harness.judging.judges.response_errors import OK, code_in, failure_of, filtered
from harness.judging.judges.token_usage import cost_of, shared, token_counts
from harness.judging.parsing.verdict import Reply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.judges.http_exchange import Answer
    from harness.judging.judges.pricing import Price
    from harness.judging.judges.token_usage import Counts
    from harness.judging.prompts.requests import Prompts, Request
    from harness.tasks import Task


_DECODER = msgspec.json.Decoder()


class Endpoint(Prompted):
    """Asks a server's ``/chat/completions``; one connection per call in flight, kept open."""

    def __init__(
        self,
        spec: JudgeSpec,
        task: Task,
        prompts: Prompts,
        params: Mapping[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(spec, task, prompts, params)
        self._url = f"{spec.base_url}/chat/completions"
        self._price = price_of(spec)
        self._ending = json.dumps({"model": spec.model, **self._sent()})[1:]  # of every request

    async def ask(self, request: Request) -> Reply:
        """Send a request and return its reply; `response_errors` lists what can go wrong."""
        return (await self.ask_many([request]))[0]

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests that differ in the sample alone as one; there may be fewer replies."""
        key = self._key_now()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        n = f'"n":{len(requests)},' if len(requests) > 1 else ""
        body = f'{{"messages":{requests[0].turns},{n}{self._ending}'.encode()
        start = perf_counter()
        answer = await self.wire.post(self._url, headers, body)
        return read_answer(answer, requests, self._price, perf_counter() - start)

    def _key_now(self) -> str | None:
        return key_now(self.spec)

    def _sent(self) -> Mapping[str, JsonValue]:
        return self._params


def read_answer(
    answer: Answer, requests: Sequence[Request], price: Price | None, latency_s: float
) -> list[Reply]:
    """Make replies of what an OpenAI-compatible server sent: one per choice, in order.

    Parameters
    ----------
    answer : Answer
        Status, headers and body.
    requests : sequence of Request
        What was asked at once: the same request under several sample numbers.
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
            return [filtered_out(request, latency_s) for request in requests]
        raise failure_of(status, headers, body)
    document = _document(body)
    if not isinstance(document, dict):
        raise CallFailed("bad_body", retry=True, hint="not a JSON object")
    choices = document.get("choices")
    if document.get("error") and not choices:
        raise failure_of(code_in(document), headers, body)
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
        raise CallFailed("no_choices", retry=True)
    usable = [choice for choice in choices if isinstance(choice, dict)][: len(requests)]
    usage = document.get("usage")
    counts = shared(token_counts(usage if isinstance(usage, dict) else {}), len(usable))
    model = document.get("model")
    return [
        _reply_of(
            model,
            choice,
            request,
            counts=share,
            cost_usd=cost_of(share, price),
            latency_s=latency_s,
        )
        for choice, request, share in zip(usable, requests, counts, strict=False)
    ]


def filtered_out(request: Request, latency_s: float | None = None) -> Reply:
    """Make the reply of a provider whose content filter held the model's back."""
    return Reply(request=request.hash, text="", finish_reason="content_filter", latency_s=latency_s)


def _document(body: bytes) -> object:
    """Read JSON, lone surrogates too; None for what is none."""
    try:
        return _DECODER.decode(body)  # several times as fast as the other
    except (ValueError, RecursionError):
        with suppress(ValueError, RecursionError):
            return json.loads(body)
    return None


def _reply_of(
    model: object,
    choice: dict[str, Any],
    request: Request,
    *,
    counts: Counts,
    cost_usd: float | None,
    latency_s: float,
) -> Reply:
    message = choice.get("message")
    said = message if isinstance(message, dict) else {}
    finish = choice.get("finish_reason")
    text = text_of(said.get("content"))
    if not text and said.get("refusal"):
        text, finish = text_of(said["refusal"]), "content_filter"
    return Reply(
        request=request.hash,
        text=text,
        model=clean(model) if isinstance(model, str) else None,
        finish_reason=clean(finish) if isinstance(finish, str) else None,
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cached_tokens=counts.cached,
        cost_usd=cost_usd,
        latency_s=latency_s,
        logprobs=plain(choice.get("logprobs")),
    )


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
