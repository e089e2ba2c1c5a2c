"""Hosted models through litellm.

litellm translates requests and replies. This package's own HTTP client, passed to litellm as a
transport, sends them. litellm only has a placeholder for the key: the transport inserts the key
when the request is sent, accepts only the judge's own address, and records errors as received. So
litellm's errors and logs cannot contain the key, and errors are classified by the response itself,
not by the status that litellm derives from it.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from threading import Lock
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.judges.base import current_key, key_of
from harness.judging.judges.endpoint import (
    FILTERED,
    HttpJudge,
    document_of,
    ending_word,
    failure_of_choice,
    filtered_reply,
    seconds_since,
    sent_turns,
)
from harness.judging.judges.parameter_refusals import REFUSED, named_parameter, refused_meaning
from harness.judging.judges.providers import PROVIDERS, redirecting_variable
from harness.judging.judges.response_errors import OK, failure_without_choices, sent_names
from harness.judging.model_names import provider_of
from harness.judging.parsing.reply_endings import ending_of
from harness.loading import SharedBlock, silenced, variables_set

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    import httpx
    import openai

    from harness.files.json_values import JsonObject
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.judges.http_exchange import Wire
    from harness.judging.parsing.verdict import Reply
    from harness.judging.prompts.requests import Prompts, Request
    from harness.tasks import Task

PLACEHOLDER = "replaced-by-the-key-when-sent"
LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")  # messages that quote prompts
WARNINGS = (
    ".*using the `ReadOnly` qualifier",
    "Pydantic serializer warnings",
)  # messages that quote replies
NOT_SENT = frozenset(
    {"host", "content-length", "accept-encoding", "connection", "transfer-encoding"}
)
BY_CLASS = {  # litellm's errors before anything is sent
    "AuthenticationError": partial(CallFailed, "unauthorized", stops_judge=True),
    "PermissionDeniedError": partial(CallFailed, "forbidden", stops_judge=True),
    "NotFoundError": partial(CallFailed, "not_found", stops_judge=True),
    "UnsupportedParamsError": partial(CallFailed, "unsupported_params", stops_judge=True),
    "ContentPolicyViolationError": partial(CallFailed, "content_filter"),
    "ContextWindowExceededError": partial(CallFailed, "context_length"),
    "BadRequestError": partial(CallFailed, "bad_request"),
    "UnprocessableEntityError": partial(CallFailed, "bad_request"),
    "RateLimitError": partial(CallFailed, "rate_limited", retry=True),
}


@dataclass(slots=True)
class Exchange:
    """State of a call for ``n`` samples of a request, including what was sent and received.

    ``endings`` are the provider's own words for the ends of the replies.
    """

    key: str | None
    request: Request
    n: int = 1
    sent: bool = False
    failure: CallFailed | None = None
    endings: Sequence[str] = ()


_EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")
QUIET = SharedBlock(lambda: silenced(LOGGERS, WARNINGS))
LOADING = Lock()


class HostedJudge(HttpJudge):
    """Model called through litellm, with litellm's retries and cache switched off."""

    def __init__(self, spec: JudgeSpec, task: Task, prompts: Prompts, *, seed: int = 0) -> None:
        super().__init__(spec, task, prompts, seed=seed)
        self._provider = PROVIDERS.get(provider_of(spec.model))
        self._client: Any = None
        self._is_prepared = False
        own = self._provider.address if self._provider else None
        self._address = spec.base_url or own or ""

    @classmethod
    def check(cls, spec: JudgeSpec, task: Task | None = None) -> None:
        """Raise `JudgeUnavailable` if the judge cannot run.

        It cannot run if its provider's redirects cannot be refused and the judge does not allow
        them, if its address is unknown, if a variable such as OPENAI_BASE_URL names a different
        server, or if its key is missing.
        """
        if task and task.image and not _reads_images(spec):
            raise JudgeUnavailable(
                f"{spec.name}: according to litellm's list, this model doesn't read images",
                "If the model does read images, add `images: true` in judges.yaml",
            )
        provider = PROVIDERS.get(provider_of(spec.model))
        if provider is None and not spec.allow_redirects:
            raise JudgeUnavailable(
                f"{spec.name}: litellm follows redirects of {provider_of(spec.model)!r} models, "
                "which can send your key and texts to other servers",
                "Pass --allow-redirects to allow this",
            )
        if provider is not None and not (spec.base_url or provider.address):
            raise JudgeUnavailable(f"{spec.name}: set the server's address as base_url")
        variable = redirecting_variable(provider_of(spec.model))
        if provider is not None and not spec.base_url and variable:
            raise JudgeUnavailable(
                f"{spec.name}: {variable} names a different server",
                "To use that server, set base_url for the judge in judges.yaml. "
                f"Otherwise unset {variable}",
            )
        key_of(spec.name, spec.key_env)

    async def prepare(self) -> None:
        """Import litellm in a thread, because the import takes seconds."""
        if not self._is_prepared:
            await asyncio.to_thread(load_litellm)
            self._is_prepared = True

    async def ask_many(self, requests: Sequence[Request]) -> list[Reply]:
        """Send requests that differ only in the sample as one request.

        The server can return fewer replies.
        """
        key = current_key(self.spec.name, self.spec.key_env)
        exchange = Exchange(key, requests[0], len(requests))
        _EXCHANGE.set(exchange)
        start_ns = perf_counter_ns()
        try:
            answer = await self._complete(requests[0], len(requests), exchange)
            document = _with_endings(answer.model_dump(warnings=False), exchange.endings)
            replies = self._replies_in(document, requests, seconds_since(start_ns))
        except Exception as error:  # noqa: BLE001 -- litellm raises anything; all of it is classified
            failure = exchange.failure or _classify(error, exchange)
        else:
            if self._provider is None or exchange.sent:
                return replies
            failure = CallFailed(
                "unguarded", stops_judge=True, hint="litellm used a different HTTP client"
            )
        if failure.reason == FILTERED:
            return [filtered_reply(request) for request in requests]
        raise failure.with_traceback(None)  # frames and causes contain the key and the text

    async def aclose(self) -> None:
        """Close the connections."""
        await super().aclose()
        self._client = None

    async def _complete(self, request: Request, n: int, exchange: Exchange) -> Any:  # noqa: ANN401 -- litellm's
        litellm = load_litellm()
        with QUIET.entered():
            return await litellm.acompletion(
                **request.params,
                **({"n": n} if n > 1 else {}),
                **self._connection(exchange),
                model=request.model,
                messages=json.loads(sent_turns(request)),
                max_retries=0,
                num_retries=0,
                caching=False,
            )

    def _connection(self, exchange: Exchange) -> dict[str, object]:
        """Return litellm's arguments for the address, the key and the HTTP client."""
        if self._provider is None:
            if not self.spec.allow_redirects:  # `check` raises before a run
                raise CallFailed("unguarded", stops_judge=True, hint="see --allow-redirects")
            return {"api_key": exchange.key, "api_base": self.spec.base_url}
        if self._client is None:
            self._client = self._open()
        address = self._address
        if provider_of(self.spec.model) == "gemini" and not self.spec.base_url:
            address = ""  # litellm takes a base URL for a gateway with other paths
        return {
            "api_key": PLACEHOLDER,
            "api_base": address.removesuffix(self._provider.suffix) or None,
            "client": self._client,
        }

    def _open(self) -> Any:  # noqa: ANN401 -- a client from openai or litellm
        import httpx  # noqa: PLC0415 -- comes with litellm

        http_client = httpx.AsyncClient(
            transport=_transport(self.wire, self._address),
            follow_redirects=False,
            trust_env=False,
            timeout=None,  # noqa: S113 -- the caller sets a deadline
        )
        if self._provider is not None and self._provider.client == "openai":
            return _single_attempt_client()(
                api_key=PLACEHOLDER, base_url=self._address, http_client=http_client
            )
        from litellm.llms.custom_httpx.http_handler import (  # noqa: PLC0415 -- loaded by now
            AsyncHTTPHandler,
        )

        handler = AsyncHTTPHandler()
        handler.client = http_client
        return handler


def _reads_images(spec: JudgeSpec) -> bool:
    """Return whether a model reads images, according to its specification or litellm's list."""
    if spec.images is not None:
        return spec.images
    return bool(load_litellm().supports_vision(model=spec.model))


def load_litellm() -> ModuleType:
    """Import litellm without network look-ups and `.env` files."""
    with LOADING:  # two threads at once would restore each other's variables
        with variables_set(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION"):
            import litellm  # noqa: PLC0415 -- takes seconds; only for hosted models

        _use_bundled_headers()
    litellm.suppress_debug_info = True
    litellm.drop_params = litellm.telemetry = False
    module: ModuleType = litellm
    return module


@cache
def _use_bundled_headers() -> None:
    """Make litellm use its bundled list of Anthropic headers, not the list on GitHub."""
    with suppress(ImportError):  # raised by versions without that list
        from litellm.anthropic_beta_headers_manager import (  # noqa: PLC0415 -- loaded by now
            reload_beta_headers_config,
        )

        with variables_set(LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS="True"):
            reload_beta_headers_config()


@cache
def _single_attempt_client() -> type[openai.AsyncOpenAI]:
    """Return a client class that never retries, regardless of litellm's settings."""
    import openai  # noqa: PLC0415 -- comes with litellm

    class SingleAttemptClient(openai.AsyncOpenAI):
        @property
        def max_retries(self) -> int:
            return 0

        @max_retries.setter
        def max_retries(self, _: int) -> None:
            pass

    return SingleAttemptClient


def _transport(wire: Wire, address: str) -> httpx.AsyncBaseTransport:
    """Return a transport with which litellm's clients use the judge's connections."""
    import httpx  # noqa: PLC0415 -- comes with litellm

    class WireTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            exchange = _EXCHANGE.get()
            exchange.sent = True
            try:
                body = await _send(wire, address, request, exchange)
            except CallFailed as failure:
                exchange.failure = failure
                raise
            return httpx.Response(OK, headers={"Content-Type": "application/json"}, content=body)

    return WireTransport()


async def _send(wire: Wire, address: str, request: httpx.Request, exchange: Exchange) -> bytes:
    """Send one of litellm's requests. Return the body of a successful response."""
    url = str(request.url)
    if request.method != "POST" or urlsplit(url)[:2] != urlsplit(address)[:2]:
        raise CallFailed("wrong_address", stops_judge=True, hint="litellm chose a different server")
    headers = {
        name: value.replace(PLACEHOLDER, exchange.key or "")
        for name, value in request.headers.items()
        if name not in NOT_SENT and (exchange.key or PLACEHOLDER not in value)
    }
    answer = await wire.post(url, headers, await request.aread())
    document = document_of(answer, exchange.request, exchange.n)
    choices = _replies_in_protocol(document)
    endings = [ending_word(choice) for choice in choices]
    failures = [
        failure_of_choice(choice, ending, exchange.request)
        for choice, ending in zip(choices, endings, strict=True)
    ]
    if "choices" in document and all(failures):
        stated = next(filter(None, failures), None)
        raise stated or failure_without_choices(document, exchange.request)
    exchange.endings = [ending or "" for ending in endings]
    is_plain = answer.body.strip().endswith(b"}") and answer.body.lstrip().startswith(b"{")
    return answer.body if is_plain else json.dumps(document).encode()


def _replies_in_protocol(document: JsonObject) -> list[JsonObject]:
    """Parse the replies in a response in any provider's protocol."""
    replies = document.get("choices", document.get("candidates", [document]))
    return [r for r in replies if isinstance(r, dict)] if isinstance(replies, list) else []


def _with_endings(document: JsonObject, endings: Sequence[str]) -> JsonObject:
    """Restore the provider's finish reasons if litellm changed their meaning.

    litellm treats an unknown word as the end of a complete reply, and ``OTHER`` as a content
    filter.
    """
    choices = document.get("choices")
    for choice, word in zip(choices if isinstance(choices, list) else [], endings, strict=False):
        if word and ending_of(choice.get("finish_reason")) != ending_of(word):
            choice["finish_reason"] = word
    return document


def _classify(error: Exception, exchange: Exchange) -> CallFailed:
    """Classify litellm's exception about a call, unless the exchange recorded a failure."""
    if isinstance(error, CallFailed):
        return error
    if exchange.sent:
        return CallFailed("bad_body", retry=True, paid=True, hint="litellm cannot read the reply")
    if name := _refused_by_litellm(error, exchange):
        return CallFailed(REFUSED + name, stops_judge=True, hint=refused_meaning(REFUSED + name))
    for cls in type(error).__mro__:
        if cls.__name__ in BY_CLASS:
            return BY_CLASS[cls.__name__]()
    return CallFailed("provider_error", retry=True, hint=type(error).__name__)


def _refused_by_litellm(error: Exception, exchange: Exchange) -> str:
    """Return the parameter that litellm rejects for a model, or "" for other errors."""
    if not any(cls.__name__ == "UnsupportedParamsError" for cls in type(error).__mro__):
        return ""
    return named_parameter("", str(error).lower(), sent_names(exchange.request, exchange.n))
