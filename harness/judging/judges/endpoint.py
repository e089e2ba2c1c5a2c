"""Judges behind a server, and the replies in a chat completion; OpenAI-compatible servers."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from harness.errors import CallFailed, TaskError
from harness.judging.judges.base import PromptedJudge
from harness.judging.judges.config import current_key
from harness.judging.judges.http_exchange import Wire
from harness.judging.judges.pricing import cost_of, price_of, split_counts, token_counts
from harness.judging.judges.response_errors import OK, code_in, failure_of, is_filtered
from harness.judging.parsing.verdict import Reply
from harness.tasks.schema import ANSWER_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.judges.http_exchange import Answer
    from harness.judging.judges.pricing import TokenCounts
    from harness.judging.prompts.requests import Prompts, Request
    from harness.tasks import Task


REST_S = 10.0  # for which a server that failed gets no call
GONE = frozenset({502, 503, 504})  # what a gateway says of a server that does not reply
NO_SERVER = frozenset({"unreachable", "connection_lost"})
_DECODER = msgspec.json.Decoder()


@dataclass(slots=True)
class Server:
    """One address, its calls in flight, and when it may be called again."""

    url: str
    in_flight: int = 0
    rests_until_s: float = float("-inf")


class ServerChoice:
    """Chooses among the addresses of one judge."""

    def __init__(self, urls: Sequence[str], now_s: Callable[[], float] = time.monotonic) -> None:
        self._servers = [Server(url) for url in urls]
        self._now_s = now_s

    @contextmanager
    def call(self) -> Iterator[Server]:
        """Choose a server for one call; one that cannot be reached rests for `REST_S`.

        Where all rest, the one that is to rest the shortest is called.
        """
        now = self._now_s()
        server = min(self._servers, key=lambda s: (max(0.0, s.rests_until_s - now), s.in_flight))
        server.in_flight += 1
        try:
            yield server
        except CallFailed as failure:
            if failure.reason in NO_SERVER:
                self._rest(server)
            raise
        finally:
            server.in_flight -= 1

    def note(self, server: Server, answer: Answer) -> None:
        """Note the response of a server, which may be a gateway that has none behind it."""
        if answer.status in GONE:
            self._rest(server)

    def _rest(self, server: Server) -> None:
        server.rests_until_s = self._now_s() + REST_S

    def __repr__(self) -> str:
        now = self._now_s()
        n_resting = sum(server.rests_until_s > now for server in self._servers)
        return f"ServerChoice({len(self._servers)} servers, {n_resting} of them rest)"


class HttpJudge(PromptedJudge):
    """A prompted judge behind an HTTP server."""

    gives_logprobs = True
    reads_images = True
    caps_replies = True

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._price = price_of(spec)

    @cached_property
    def wire(self) -> Wire:
        """The connections to the server."""
        return Wire(self.spec.concurrency)

    async def ask(self, request: Request) -> Reply:
        """Send a request and return its reply; `response_errors` lists the failures."""
        return (await self.ask_many([request]))[0]

    async def aclose(self) -> None:
        """Close the connections."""
        await self.wire.aclose()

    def _replies_in(
        self, document: dict[str, Any], requests: Sequence[Request], latency_s: float
    ) -> list[Reply]:
        """Return the replies in a chat completion, by choice."""
        choices = document.get("choices")
        if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)):
            raise CallFailed("no_choices", retry=True, paid=True)
        completions = [choice for choice in choices if isinstance(choice, dict)][: len(requests)]
        usage = document.get("usage")
        total = token_counts(usage if isinstance(usage, dict) else {})
        shares = split_counts(total, len(completions))
        return [
            _reply_of(
                document,
                choice,
                request,
                counts=share,
                cost_usd=cost_of(share, self._price),
                latency_s=latency_s,
            )
            for choice, request, share in zip(completions, requests, shares, strict=False)
        ]


def sent_turns(request: Request) -> str:
    """Return the messages of a request as they are sent; see `Request.sent_turns`."""
    try:
        return request.sent_turns()
    except TaskError as error:
        raise CallFailed("image_unreadable", stops_judge=True, hint=str(error)) from None


class EndpointJudge(HttpJudge):
    """Sends requests to ``/chat/completions`` of an OpenAI-compatible server, over aiohttp.

    Examples are vLLM, llama.cpp, Ollama and gateways. Connections are kept open. Where
    the only message is a text to go on with, it is sent to ``/completions``.
    """

    completes_text = True
    path = "chat/completions"

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._path = "completions" if spec.asking.completes_text else self.path
        self._url = f"{spec.base_url}/{self._path}"
        urls = [self._url, *(f"{url}/{self._path}" for url in spec.other_urls)]
        self._servers = ServerChoice(urls) if spec.other_urls else None
        fields = {"model": spec.model, **self._sent_params()}
        self._body_ends = {
            kind: json.dumps(fields | self._formats.get(kind, {}))[1:] for kind in ANSWER_KINDS
        }

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests that differ in the sample alone as one; the replies may be fewer."""
        key = self._current_key()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        n = f'"n":{len(requests)},' if len(requests) > 1 else ""
        body = f"{{{self._content(requests[0])},{n}{self._body_end(requests[0])}".encode()
        start = perf_counter()
        if self._servers is None:
            answer = await self.wire.post(self._url, headers, body)
        else:
            with self._servers.call() as server:
                answer = await self.wire.post(server.url, headers, body)
                self._servers.note(server, answer)
        return self._read(answer, requests, perf_counter() - start)

    def _read(self, answer: Answer, requests: Sequence[Request], latency_s: float) -> list[Reply]:
        """Return the replies in the response of the server."""
        if answer.status != OK and is_filtered(answer.status, answer.body):
            return [filtered_reply(request, latency_s) for request in requests]
        return self._replies_in(document_of(answer), requests, latency_s)

    @property
    def follows_schemas(self) -> bool:
        """Whether its replies can be kept to a JSON schema: servers that cannot ignore it."""
        return True

    def _content(self, request: Request) -> str:
        """Return the messages as a member of the body, or the text that is to be completed."""
        if self._path == "completions":
            return f'"prompt":{json.dumps(request.messages[0].content)}'
        return f'"messages":{sent_turns(request)}'

    def _body_end(self, request: Request) -> str:
        """Return what follows the messages in the body of a request."""
        if not self._formats:
            return self._body_ends["forced_choice"]
        [kind] = (k for k in ANSWER_KINDS if request.params.items() >= self._formats[k].items())
        return self._body_ends[kind]

    def _current_key(self) -> str | None:
        return current_key(self.spec)

    def _sent_params(self) -> Mapping[str, JsonValue]:
        return self._params


def document_of(answer: Answer) -> dict[str, Any]:
    """Return the JSON object in the response of a server."""
    status, headers, body = answer
    if status != OK:
        raise failure_of(status, headers, body)
    document = _document(body)
    if not isinstance(document, dict):
        raise CallFailed("bad_body", retry=True, paid=True, hint="not a JSON object")
    if document.get("error") and not document.get("choices"):
        raise failure_of(code_in(document), headers, body)
    return document


def filtered_reply(request: Request, latency_s: float | None = None) -> Reply:
    """Return the reply to a request that the provider's content filter stopped."""
    return Reply(request=request.hash, text="", finish_reason="content_filter", latency_s=latency_s)


def _document(body: bytes) -> object:
    """Decode JSON, lone surrogates included; None if it is not JSON."""
    try:
        return _DECODER.decode(body)  # several times as fast as json
    except (ValueError, RecursionError):
        with suppress(ValueError, RecursionError):
            return json.loads(body)
    return None


def _reply_of(
    document: dict[str, Any],
    choice: dict[str, Any],
    request: Request,
    *,
    counts: TokenCounts,
    cost_usd: float | None,
    latency_s: float,
) -> Reply:
    content = choice.get("message")
    message = content if isinstance(content, dict) else {}
    finish_reason = choice.get("finish_reason")
    text = text_of(message.get("content", choice.get("text")))
    if not text and (refusal := _refusal(message)):
        text, finish_reason = text_of(refusal), "content_filter"
    return Reply(
        request=request.hash,
        text=text,
        model=_name(document.get("model")),
        fingerprint=_name(document.get("system_fingerprint")),
        finish_reason=_name(finish_reason),
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cached_tokens=counts.cached,
        cost_usd=cost_usd,
        latency_s=latency_s,
        logprobs=json_logprobs(choice.get("logprobs")),
    )


def _refusal(message: dict[str, Any]) -> object:
    """Return the text of a refusal, which litellm keeps among the fields of the provider."""
    fields = message.get("provider_specific_fields")
    own = fields.get("refusal") if isinstance(fields, dict) else None
    return message.get("refusal") or own


def _name(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return value if value.isascii() else clean(value)


def json_logprobs(logprobs: object) -> JsonValue:
    """Return log-probabilities as strict JSON: no lone surrogates, null for NaN."""
    if logprobs is None:
        return None
    text = clean(json.dumps(logprobs, ensure_ascii=False))
    value: JsonValue = json.loads(text, parse_constant=lambda _: None)
    return value


def text_of(content: object) -> str:
    """Return the text of a message: a string, or the text parts of a list; "" if there is none."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    return clean(content) if isinstance(content, str) else ""


def clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
