"""Batch APIs of OpenAI and Anthropic. The judge itself writes requests and reads replies."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.errors import CallFailed
from harness.judging.judges.http_exchange import Response
from harness.judging.judges.response_errors import OK, failure_of
from harness.judging.model_names import provider_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from aiohttp import ClientSession

    from harness.extras.batch.batch_ledger import PendingBatch
    from harness.files.json_values import JsonObject
    from harness.judging.judge_spec import JudgeSpec

CALL_S = 300.0  # for one exchange, or between two pieces of a download
MOST_LINE_BYTES = 8 << 20
CLOCKS_APART_S = 300.0
KEPT_HEADERS = frozenset({"authorization", "x-api-key", "anthropic-version", "anthropic-beta"})
BAD_REQUEST, SERVER_ERROR = 400, 500


class BatchResult(NamedTuple):
    """Response to one request in a batch, or None and a reason if it was not processed."""

    request: str
    answer: Response | None
    reason: str = ""


class BatchApi(Protocol):
    """Interface to the batches of one provider."""

    async def submit(self, pending: PendingBatch, requests: Sequence[tuple[str, bytes]]) -> str:
        """Submit the request bodies, which are given by request hash. Return the batch's id.

        Raises
        ------
        CallFailed
            If the batch is not accepted, or if that is unknown. ``unsent`` if no request was made.
        """

    async def find(self, pending: PendingBatch, taken: set[str]) -> str:
        """Return the id of a batch that may have been received, or "" if it was not received."""

    async def ended(self, batch: str) -> bool:
        """Return whether the batch has ended, with or without success."""

    def results(self, batch: str) -> AsyncIterator[BatchResult]:
        """Yield the result of each request, in any order."""


class Http:
    """Client that exchanges JSON with one provider and rejects redirects.

    ``headers`` come from a request that a judge wrote. Only the headers with the key and the
    version are sent.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = {k: v for k, v in headers.items() if k.lower() in KEPT_HEADERS}
        self._session: ClientSession | None = None

    def _open(self) -> ClientSession:
        import aiohttp  # noqa: PLC0415 -- only when something is sent

        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=None)
            )
        return self._session

    async def call(
        self, method: str, url: str, document: object = None, *, file: bytes | None = None
    ) -> JsonObject:
        """Send JSON or a file. Return the response's JSON object, or raise `CallFailed`."""
        chunks: list[bytes] = []
        async for chunk in self._pieces(method, url, document, file):
            chunks.append(chunk)
            if sum(map(len, chunks)) > MOST_LINE_BYTES:
                raise CallFailed("reply_too_large")
        try:
            document = json.loads(b"".join(chunks))
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise CallFailed("bad_body", retry=True, hint="not a JSON object")
        return document

    async def lines(self, url: str) -> AsyncIterator[JsonObject]:
        """Yield the JSON objects in a file of lines, without keeping the file in memory."""
        rest = b""
        async for chunk in self._pieces("GET", url):
            *whole, rest = (rest + chunk).split(b"\n")
            if len(rest) > MOST_LINE_BYTES:
                raise CallFailed("reply_too_large")
            for line in whole:
                if (document := _object(line)) is not None:
                    yield document
        if (document := _object(rest)) is not None:
            yield document

    async def _pieces(
        self, method: str, url: str, document: object = None, file: bytes | None = None
    ) -> AsyncIterator[bytes]:
        import aiohttp  # noqa: PLC0415 -- only when something is sent

        form = None
        if file is not None:
            form = aiohttp.FormData({"purpose": "batch"})
            form.add_field("file", file, filename="batch.jsonl", content_type="application/jsonl")
        try:
            async with asyncio.timeout(CALL_S) as deadline:
                async with self._open().request(
                    method,
                    url,
                    data=form,
                    json=document,
                    headers=self._headers,
                    allow_redirects=False,
                ) as response:
                    if response.status != OK:
                        body = await response.content.read(1 << 16)
                        raise failure_of(response.status, response.headers, body)
                    async for chunk in response.content.iter_any():
                        deadline.reschedule(asyncio.get_running_loop().time() + CALL_S)
                        yield chunk
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
            connected = False
        else:
            connected = True
        if not connected:  # raised here, because the original exception contains the key
            raise CallFailed("connection_lost", retry=True)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _object(line: bytes) -> JsonObject | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


class OpenAI:
    """Client for OpenAI's batch API, which takes each batch's requests as an uploaded file."""

    def __init__(self, http: Http, url: str) -> None:
        self._http = http
        self._base = url.removesuffix("/chat/completions")

    async def submit(self, pending: PendingBatch, requests: Sequence[tuple[str, bytes]]) -> str:
        """Upload a file of requests, and create a batch with our token from it."""
        lines = b"".join(
            b'{"custom_id":"%b","method":"POST","url":"/v1/chat/completions","body":%b}\n'
            % (key.encode(), content)
            for key, content in requests
        )
        try:
            file = await self._http.call("POST", f"{self._base}/files", file=lines)
        except CallFailed as failure:
            failure.unsent = True
            raise
        body = {
            "input_file_id": file.get("id"),
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"judge_harness": pending.token},
        }
        batch = await self._http.call("POST", f"{self._base}/batches", body)
        return _id(batch)

    async def find(self, pending: PendingBatch, taken: set[str]) -> str:
        """Find the batch with our token among the latest batches."""
        page = await self._http.call("GET", f"{self._base}/batches?limit=100")
        for batch in _listed(page):
            if (batch.get("metadata") or {}).get("judge_harness") == pending.token:
                return "" if batch.get("id") in taken else _id(batch)
        return ""

    async def ended(self, batch: str) -> bool:
        """Return whether the batch's status is final."""
        status = await self._http.call("GET", f"{self._base}/batches/{batch}")
        return status.get("status") in {"completed", "failed", "expired", "cancelled"}

    async def results(self, batch: str) -> AsyncIterator[BatchResult]:
        """Read the files that contain the replies and the errors."""
        status = await self._http.call("GET", f"{self._base}/batches/{batch}")
        for name in ("output_file_id", "error_file_id"):
            if not isinstance(status.get(name), str):
                continue
            async for line in self._http.lines(f"{self._base}/files/{status[name]}/content"):
                response = line.get("response")
                if isinstance(response, dict) and isinstance(response.get("status_code"), int):
                    body = json.dumps(response.get("body")).encode()
                    answer = Response(response["status_code"], {}, body)
                    yield BatchResult(str(line.get("custom_id")), answer)
                else:
                    yield BatchResult(str(line.get("custom_id")), None, "batch_unanswered")


class Anthropic:
    """Client for Anthropic's batch API for messages."""

    def __init__(self, http: Http, url: str) -> None:
        self._http = http
        self._url = f"{url}/batches"

    async def submit(self, pending: PendingBatch, requests: Sequence[tuple[str, bytes]]) -> str:
        """Send all requests in one call."""
        del pending  # the API has no field for our token
        entries = [{"custom_id": key, "params": json.loads(content)} for key, content in requests]
        return _id(await self._http.call("POST", self._url, {"requests": entries}))

    async def find(self, pending: PendingBatch, taken: set[str]) -> str:
        """Return a batch of this size that is no older than ours and that no run has claimed."""
        n_requests = len(pending.requests)
        for batch in _listed(await self._http.call("GET", f"{self._url}?limit=100")):
            counts = batch.get("request_counts")
            n = sum(v for v in counts.values() if isinstance(v, int)) if counts else 0
            since = _seconds(batch.get("created_at")) - pending.created
            if n == n_requests and since > -CLOCKS_APART_S and batch.get("id") not in taken:
                return _id(batch)
        return ""

    async def ended(self, batch: str) -> bool:
        """Return whether the batch has finished processing."""
        status = await self._http.call("GET", f"{self._url}/{batch}")
        return status.get("processing_status") == "ended"

    async def results(self, batch: str) -> AsyncIterator[BatchResult]:
        """Read the file of results."""
        async for line in self._http.lines(f"{self._url}/{batch}/results"):
            key, result = str(line.get("custom_id")), line.get("result")
            result = result if isinstance(result, dict) else {}
            kind = result.get("type")
            if kind == "succeeded":
                yield BatchResult(key, Response(OK, {}, json.dumps(result.get("message")).encode()))
            elif kind == "errored":
                body = json.dumps(result.get("error")).encode()
                status = BAD_REQUEST if b"invalid_request" in body else SERVER_ERROR
                yield BatchResult(key, Response(status, {}, body))
            else:
                yield BatchResult(key, None, f"batch_{kind}"[:40])


def batch_api_of(spec: JudgeSpec) -> Callable[[Http, str], BatchApi] | None:
    """Return the batch API for a judge's requests, or None if no batch API accepts them."""
    if spec.kind == "endpoint":
        return OpenAI
    if spec.kind != "litellm":
        return None
    apis: dict[str, Callable[[Http, str], BatchApi]] = {"openai": OpenAI, "anthropic": Anthropic}
    return apis.get(provider_of(spec.model))


def _id(batch: Mapping[str, Any]) -> str:
    batch_id = batch.get("id")
    if not isinstance(batch_id, str) or not batch_id.replace("-", "").replace("_", "").isalnum():
        raise CallFailed("bad_body", hint="a batch without an id")
    return batch_id


def _listed(page: Mapping[str, Any]) -> list[JsonObject]:
    batches = page.get("data")
    return [b for b in batches if isinstance(b, dict)] if isinstance(batches, list) else []


def _seconds(date: object) -> float:
    try:
        return datetime.fromisoformat(str(date)).timestamp()
    except ValueError:
        return 0.0
