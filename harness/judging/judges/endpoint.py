"""Judges on OpenAI-compatible servers, and the parsing of chat completions."""

from __future__ import annotations

import json
import time
from collections import deque
from contextlib import suppress
from copy import copy
from functools import cached_property
from time import perf_counter_ns
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import astuple

from harness.errors import CallFailed, TaskError
from harness.judging.judges.base import PromptedJudge, current_key
from harness.judging.judges.event_streams import document_in_events
from harness.judging.judges.http_exchange import KEPT, KeepingWire, Wire
from harness.judging.judges.pricing import TokenCounts, cost_of, price_of
from harness.judging.judges.prompt_tokens import CHARS_PER_TOKEN, cut_prompt_tokens
from harness.judging.judges.response_errors import (
    MEANINGS,
    OK,
    code_in,
    failure_of,
    failure_within,
    failure_without_choices,
    is_error,
)
from harness.judging.parsing.reply_endings import ending_of
from harness.judging.parsing.verdict import Reply
from harness.judging.strategies.strategy import TOKEN_LIMITS
from harness.options.concerns import MAX_TOKENS
from harness.tasks.item import ANSWER_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self

    from pydantic import JsonValue

    from harness.files.json_values import JsonObject
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.judges.http_exchange import PreparedRequest, Response
    from harness.judging.prompts.requests import Prompts, Request
    from harness.tasks import Task

    Completion = tuple[JsonObject, str | None]  # a choice with a reply, and its `ending_word`

NS_PER_S = 1_000_000_000
REST_S = 10.0  # time for which an unreachable server is skipped
FILTERED = "content_filter"
GONE = frozenset({502, 503, 504})  # a gateway's statuses for a server that doesn't reply
ENDING_MEMBERS = (
    "finish_reason",
    "native_finish_reason",
    "finishReason",
    "stop_reason",
    "done_reason",
)
NO_SERVER = frozenset({"unreachable", "connection_lost"})
REPLY_DETAILS = ("completion_tokens_details", "output_tokens_details")
REASONING_NAMES = frozenset(  # names used by OpenAI and most others, Anthropic, and Gemini
    {"reasoning_tokens", "thinking_tokens", "thoughts_tokens", "thoughts_token_count"}
)
REASONING_MEMBERS = REASONING_NAMES.union(REPLY_DETAILS)
_DECODER = msgspec.json.Decoder()


class ServerList:
    """Servers of one judge, called in rotation. Calls skip an unreachable server for `REST_S`.

    If no server can be reached, the next call goes to the address whose pause ends first.
    """

    def __init__(self, urls: Sequence[str], now_s: Callable[[], float] = time.monotonic) -> None:
        self._urls = deque(urls)
        self._skipped_until_s = dict.fromkeys(urls, float("-inf"))
        self._now_s = now_s

    def next(self) -> str:
        """Return the address for the next call."""
        if len(self._urls) == 1:
            return self._urls[0]
        now, until_s = self._now_s(), self._skipped_until_s
        url = min(self._urls, key=lambda url: max(0.0, until_s[url] - now))
        self._urls.remove(url)
        self._urls.append(url)
        return url

    def skip(self, url: str) -> None:
        """Skip a server that cannot be reached."""
        self._skipped_until_s[url] = self._now_s() + REST_S

    def __repr__(self) -> str:
        return f"ServerList({len(self._urls)} servers)"


class HttpJudge(PromptedJudge):
    """Prompted judge behind an HTTP server."""

    gives_logprobs = True
    reads_images = True
    follows_schemas = True
    caps_replies = True

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._price = price_of(spec)
        caps = (self._params.get(name) for name in TOKEN_LIMITS)
        self._reply_caps = frozenset(cap for cap in caps if isinstance(cap, int))
        self.wire = Wire(spec.concurrency)

    async def ask(self, request: Request) -> Reply:
        """Send a request and return its reply. `response_errors` classifies failures."""
        return (await self.ask_many([request]))[0]

    async def write_requests(self, requests: Iterable[Request]) -> list[PreparedRequest]:
        """Write requests in the form in which they would be sent, without sending them.

        Raises
        ------
        CallFailed
            If a request cannot be written.
        """
        wire, judge = self._kept
        await judge.prepare()
        async with wire.in_use:
            return [await _written(request, wire, judge) for request in requests]

    async def read_result(self, request: Request, answer: Response) -> Reply:
        """Parse a response that did not arrive over the judge's own connections.

        Raises
        ------
        CallFailed
            If it contains no usable reply.
        """
        wire, judge = self._kept
        async with wire.in_use:
            wire.answer = answer
            return await judge.ask(request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self.wire.aclose()

    @cached_property
    def _kept(self) -> tuple[KeepingWire, Self]:
        """Return a wire that sends nothing, and a copy of this judge that uses this wire."""
        wire, judge = KeepingWire(), copy(self)
        judge.wire = wire
        return wire, judge

    def _replies_in(
        self, document: JsonObject, requests: Sequence[Request], latency_s: float
    ) -> list[Reply]:
        """Return one reply for each choice in a chat completion."""
        completions = _completions(document, requests)
        usage = document.get("usage")
        total, n = token_counts(usage if isinstance(usage, dict) else {}), len(completions)
        used_all = total.completion is not None and total.completion / n in self._reply_caps
        prompt_at_least = _prompt_at_least(requests[0], total)
        return [
            _reply_of(
                document,
                completion,
                request,
                counts=share,
                cost_usd=self._cost_usd(share),
                latency_s=latency_s,
                used_all_tokens=used_all,
                prompt_at_least=prompt_at_least,
            )
            for completion, request, share in zip(
                completions, requests, split_counts(total, n), strict=False
            )
        ]

    def _cost_usd(self, counts: TokenCounts) -> float | None:
        """Return the cost of a reply in USD, or None if the judge has no price."""
        return None if self._price is None else cost_of(counts, self._price)


async def _written(request: Request, wire: KeepingWire, judge: HttpJudge) -> PreparedRequest:
    wire.answer = wire.prepared = None
    try:
        await judge.ask(request)
    except CallFailed as failure:
        if failure.reason == KEPT and wire.prepared is not None:
            return wire.prepared
        raise
    raise AssertionError("nothing was sent, so there can't be a reply")


def sent_turns(request: Request) -> str:
    """Return a request's messages in the form sent. See `Request.sent_turns`."""
    try:
        return request.sent_turns()
    except TaskError as error:
        raise CallFailed("image_unreadable", stops_judge=True, hint=str(error)) from None


class EndpointJudge(HttpJudge):
    """Judge behind ``/chat/completions`` of an OpenAI-compatible server, over aiohttp.

    Examples are vLLM, llama.cpp, Ollama and gateways. Connections are kept open. If the only
    message is a text to complete, it is sent to ``/completions``.
    """

    completes_text = True
    path = "chat/completions"

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._path = "completions" if spec.asking.completes_text else self.path
        urls = [f"{url}/{self._path}" for url in (spec.base_url, *spec.other_urls)]
        self._servers = ServerList(urls)
        fields = {"model": spec.model, **self._sent_params()}
        self._body_ends = {
            kind: json.dumps(fields | self._formats.get(kind, {}))[1:] for kind in ANSWER_KINDS
        }

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests that differ only in the sample as one request.

        The server can return fewer replies.
        """
        key = self._current_key()
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        n = f'"n":{len(requests)},' if len(requests) > 1 else ""
        body = f"{{{self._content(requests[0])},{n}{self._body_end(requests[0])}".encode()
        start_ns = perf_counter_ns()
        url = self._servers.next()
        try:
            answer = await self.wire.post(url, headers, body)
        except CallFailed as failure:
            if failure.reason in NO_SERVER:
                self._servers.skip(url)
            raise
        if answer.status in GONE:
            self._servers.skip(url)
        return self._read(answer, requests, seconds_since(start_ns))

    def _read(self, answer: Response, requests: Sequence[Request], latency_s: float) -> list[Reply]:
        """Return the replies in the server's response."""
        try:
            document = document_of(answer, requests[0], len(requests))
            return self._replies_in(document, requests, latency_s)
        except CallFailed as failure:
            if failure.reason != FILTERED:
                raise
        return [filtered_reply(request, latency_s) for request in requests]

    def _content(self, request: Request) -> str:
        """Return the body's field for the messages, or for a text to complete."""
        if self._path == "completions":
            return f'"prompt":{json.dumps(request.messages[0].content)}'
        return f'"messages":{sent_turns(request)}'

    def _body_end(self, request: Request) -> str:
        """Return the body's part that follows the messages."""
        if not self._formats:
            return self._body_ends["forced_choice"]
        [kind] = (k for k in ANSWER_KINDS if request.params.items() >= self._formats[k].items())
        return self._body_ends[kind]

    def _current_key(self) -> str | None:
        return current_key(self.spec.name, self.spec.key_env)

    def _sent_params(self) -> Mapping[str, JsonValue]:
        return self._params


def seconds_since(start_ns: int) -> float:
    """Return the seconds elapsed since a time from `perf_counter_ns`."""
    return (perf_counter_ns() - start_ns) / NS_PER_S


def document_of(answer: Response, request: Request | None = None, n: int = 1) -> JsonObject:
    """Parse the JSON object in a server's response to ``n`` samples of a request."""
    status, headers, body = answer
    if status != OK:
        raise failure_of(status, headers, body, request, n)
    document = _document(body)
    if not isinstance(document, dict):
        raise CallFailed("bad_body", retry=True, paid=True, hint="not a JSON object")
    if document.get("error") and (failure := failure_within(document, headers, body, request)):
        raise failure
    return document


def filtered_reply(request: Request, latency_s: float | None = None) -> Reply:
    """Return the reply to a request that the provider's content filter blocked."""
    return Reply(request=request.hash, text="", finish_reason=FILTERED, latency_s=latency_s)


def _completions(document: JsonObject, requests: Sequence[Request]) -> list[Completion]:
    """Return the completions in a response, at most one per request.

    Raises
    ------
    CallFailed
        If there are none; with the reason if a choice states one.
    """
    choices = document.get("choices")
    completions, failure = [], None
    for choice in choices[: len(requests)] if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        ending = ending_word(choice)
        if failed := failure_of_choice(choice, ending, requests[0]):
            failure = failed
        else:
            completions.append((choice, ending))
    if not completions:
        raise failure or failure_without_choices(document, requests[0])
    return completions


def failure_of_choice(
    choice: JsonObject, ending: str | None, request: Request
) -> CallFailed | None:
    """Return the failure that a choice reports, or None if it reports none.

    A choice reports a failure by an error, in itself or in its message, or by its ending word. The
    model may have written part of a reply, which does not count as an answer.
    """
    message = choice.get("message")
    is_message = isinstance(message, dict)
    if choice.get("error") or (isinstance(message, dict) and message.get("error")):
        for place in (choice, message):
            if isinstance(place, dict) and is_error(place.get("error")):
                failure = failure_of(code_in(place), {}, json.dumps(place).encode(), request)
                failure.paid = True
                return failure
    meaning = ending_of(ending)
    if meaning == "failed":
        return CallFailed("error_body", retry=True, paid=True, hint=MEANINGS["error_body"])
    if meaning == "complete" and not is_message and "text" not in choice:
        return CallFailed("no_choices", retry=True, paid=True, hint=MEANINGS["no_choices"])
    return None


def ending_word(choice: JsonObject) -> str | None:
    """Return the finish reason of a choice in any protocol, or None if the choice has none.

    A gateway's own word can always be ``stop``. The provider's word, passed on by the gateway,
    therefore takes precedence if it means that the reply is incomplete.
    """
    own = choice.get("finish_reason")
    if isinstance(own, str) and "native_finish_reason" not in choice:
        return own  # the usual case, three times as fast
    words = [word for name in ENDING_MEMBERS if isinstance(word := choice.get(name), str)]
    incomplete = [word for word in words if ending_of(word) not in {"complete", "unknown"}]
    return next(iter([*incomplete, *words]), None)


def _prompt_at_least(request: Request, total: TokenCounts) -> int | None:
    """Return a lower bound on a prompt's tokens if the server counted far fewer, or else None."""
    if total.prompt is None or len(request.turns) <= CHARS_PER_TOKEN * total.prompt:
        return None  # the usual case, for which words needn't be counted
    n_counted = total.prompt + (total.cached or 0) + (total.written or 0)
    return cut_prompt_tokens(request, n_counted)


def _document(body: bytes) -> object:
    """Decode JSON, which can have lone surrogates, or events with JSON. Return None otherwise."""
    try:
        return _DECODER.decode(body)  # several times as fast as json
    except (ValueError, RecursionError):
        with suppress(ValueError, RecursionError):
            return json.loads(body)
    return document_in_events(body)


TOOL_CALLS = "tool_calls"  # ending of a reply with a tool call, whatever the server's word


def _reply_of(
    document: JsonObject,
    completion: Completion,
    request: Request,
    *,
    counts: TokenCounts,
    cost_usd: float | None,
    latency_s: float,
    used_all_tokens: bool,
    prompt_at_least: int | None,
) -> Reply:
    choice, ending = completion
    content = choice.get("message")
    message = content if isinstance(content, dict) else {}
    text = text_of(message.get("content", choice.get("text")))
    if not text and (refusal := _refusal(message)):
        text, ending = text_of(refusal), FILTERED
    is_empty = not text.strip()
    reasoning = _reasoning(message) if is_empty else ""
    if is_empty and (message.get("tool_calls") or message.get("function_call")):
        ending = TOOL_CALLS
    return Reply(
        request=request.hash,
        text=text,
        model=_name(document.get("model")),
        fingerprint=_name(document.get("system_fingerprint")),
        finish_reason=_name(ending),
        prompt_tokens=counts.prompt,
        completion_tokens=counts.completion,
        cached_tokens=counts.cached,
        cost_usd=cost_usd,
        latency_s=latency_s,
        logprobs=json_logprobs(choice.get("logprobs")),
        reasoning=reasoning,
        used_all_tokens=used_all_tokens,
        prompt_at_least=prompt_at_least,
    )


def _reasoning(message: JsonObject) -> str:
    """Return a message's hidden reasoning, from a separate field or from its content."""
    texts = [text_of(message.get(name)) for name in ("reasoning_content", "reasoning")]
    parts = filter(_is_reasoning, _parts(message.get("content")))
    names = ("text", "thinking", "reasoning")
    texts.append(clean("".join(_text_of_part(part, names) for part in parts)))
    return next(filter(None, texts), "")


def _refusal(message: JsonObject) -> object:
    """Return the text of a refusal, which litellm puts into provider-specific fields.

    It can also be a part of the content.
    """
    fields = message.get("provider_specific_fields")
    parts = [part for part in _parts(message.get("content")) if isinstance(part, dict)]
    places = (message, fields if isinstance(fields, dict) else {}, *parts)
    return next(filter(None, (place.get("refusal") for place in places)), None)


def _name(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    return value if value.isascii() else clean(value)


def json_logprobs(logprobs: object) -> JsonValue:
    """Convert log-probabilities to strict JSON without lone surrogates, and NaN to null."""
    if logprobs is None:
        return None
    text = clean(json.dumps(logprobs, ensure_ascii=False))
    value: JsonValue = json.loads(text, parse_constant=lambda _: None)
    return value


def text_of(content: object) -> str:
    """Return a message's text, with its text parts joined, or "" if the message has no text."""
    if isinstance(content, str):
        return clean(content)
    parts = [part for part in _parts(content) if not _is_reasoning(part)]
    return clean("".join(map(_text_of_part, parts)))


def _parts(content: object) -> list[str | JsonObject]:
    """Return a message's content as a list of parts, which can have just one part."""
    parts = content if isinstance(content, list) else [content]
    return [part for part in parts if isinstance(part, str | dict)]


def _text_of_part(part: str | JsonObject, names: Sequence[str] = ("text",)) -> str:
    """Return a part's text from the first of the named fields that is not empty."""
    if isinstance(part, str):
        return part
    value = next(filter(None, map(part.get, names)), "")
    if isinstance(value, str):
        return value
    return "".join(_text_of_part(inner, names) for inner in _parts(value))


def _is_reasoning(part: str | JsonObject) -> bool:
    kind = part.get("type") if isinstance(part, dict) else None
    return isinstance(kind, str) and kind.startswith(("reason", "think", "redacted_think"))


def clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, with U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def token_counts(usage: JsonObject) -> TokenCounts:
    """Parse an OpenAI-style ``usage``. litellm reports Anthropic's usage in this form too.

    Anthropic's own names (``cache_read_input_tokens``, ``cache_creation_input_tokens``) are read if
    the details are absent. A prompt of zero tokens means that nothing was counted: litellm writes
    zeros if a server reports no usage.
    """
    cached = written = None
    details = usage.get("prompt_tokens_details")
    if isinstance(details, dict):
        cached = _count(details.get("cached_tokens"))
        written = _count(details.get("cache_creation_tokens"))
    if cached is None:
        cached = _count(usage.get("cache_read_input_tokens"))
    if written is None:
        written = _count(usage.get("cache_creation_input_tokens"))
    prompt = _count(usage.get("prompt_tokens", usage.get("input_tokens")))
    completion = _count(usage.get("completion_tokens", usage.get("output_tokens")))
    if prompt == 0:
        return TokenCounts(None, None, None)
    if prompt is not None and completion is not None:
        completion = _with_reasoning(completion, prompt, usage)
    return TokenCounts(prompt, completion, cached, written)


def _with_reasoning(completion: int, prompt: int, usage: JsonObject) -> int:
    """Return a reply's billed tokens, including its reasoning tokens.

    OpenAI counts reasoning in ``completion_tokens``. xAI and Gemini's OpenAI-compatible interface
    count it in ``total_tokens`` only, Perplexity's deep research in neither. Reasoning longer than
    its reply cannot be part of it, so it is added.
    """
    counted = max(completion, (_count(usage.get("total_tokens")) or 0) - prompt)
    reasoning = _reasoning_tokens(usage)
    return counted if reasoning <= counted else completion + reasoning


def _reasoning_tokens(usage: JsonObject) -> int:
    """Return the number of reasoning tokens in a ``usage`` object or in its details."""
    if REASONING_MEMBERS.isdisjoint(usage):
        return 0
    most = 0
    for source in (usage, *map(usage.get, REPLY_DETAILS)):
        if isinstance(source, dict) and not REASONING_NAMES.isdisjoint(source):
            most = max(most, *(_count(source.get(name)) or 0 for name in REASONING_NAMES))
    return most


def split_counts(counts: TokenCounts, n: int) -> list[TokenCounts]:
    """Split a request's token counts among its ``n`` replies, keeping the totals."""
    if n == 1:
        return [counts]
    totals: tuple[int | None, ...] = astuple(counts)
    return [TokenCounts(*(_share(total, n, index) for total in totals)) for index in range(n)]


def _share(total: int | None, n: int, index: int) -> int | None:
    return None if total is None else total // n + (index < total % n)


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < MAX_TOKENS else None
