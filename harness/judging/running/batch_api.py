"""The batch interfaces of OpenAI and Anthropic: hand requests in, look whether they are done.

What a request looks like and how a reply is read is the judge's business. Its connections are
replaced by a `BatchWire`, which keeps what the judge would send and later gives it what came back;
so batches need no second way of writing requests or reading replies.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.errors import CallFailed
from harness.judging.judges.http_exchange import Answer, Wire
from harness.judging.judges.providers import provider_of
from harness.judging.judges.response_errors import OK, failure_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from aiohttp import ClientSession

    from harness.judging.judges.config import JudgeSpec
    from harness.judging.storage.batch_ledger import PendingBatch

CALL_S = 300.0  # one exchange; a download may take this long between two pieces
MOST_LINE_BYTES = 8 << 20
CLOCKS_APART_S = 300.0
KEPT_HEADERS = frozenset({"authorization", "x-api-key", "anthropic-version", "anthropic-beta"})
KEPT = "kept_for_batch"
BAD_REQUEST, SERVER_ERROR = 400, 500


class Sent(NamedTuple):
    """What a judge would have sent."""

    url: str
    headers: dict[str, str]
    body: Any


class Outcome(NamedTuple):
    """What became of one request; no answer if it was never asked, with the reason."""

    request: str
    answer: Answer | None
    reason: str = ""


class Api(Protocol):
    """One provider's batches."""

    async def submit(self, ticket: PendingBatch, requests: Sequence[tuple[str, Any]]) -> str:
        """Hand in requests by their hash; return the batch's id."""

    async def find(self, ticket: PendingBatch, known: set[str]) -> str:
        """Look for a batch that may have been received; return its id, or nothing."""

    async def ended(self, batch: str) -> bool:
        """Whether the batch is done, one way or another."""

    def outcomes(self, batch: str) -> AsyncIterator[Outcome]:
        """Give what became of each request, in any order."""


class BatchWire(Wire):
    """Keeps what would be sent, and gives the answer that it was given."""

    def __init__(self) -> None:
        super().__init__(1)
        self.sent: Sent | None = None
        self.answer: Answer | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send nothing."""
        if self.answer is not None:
            return self.answer
        kept = {k: v for k, v in headers.items() if k.lower() in KEPT_HEADERS}
        self.sent = Sent(url, kept, json.loads(body))
        raise CallFailed(KEPT)


class Http:
    """Exchanges of JSON with one provider; redirects are refused."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)
        self._session: ClientSession | None = None

    def _open(self) -> ClientSession:
        import aiohttp  # noqa: PLC0415 -- only when something is sent

        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=None)
            )
        return self._session

    async def call(
        self, method: str, url: str, data: bytes | None = None, kind: str = "application/json"
    ) -> dict[str, Any]:
        """Send and return the JSON object that comes back; `CallFailed` for anything else."""
        chunks: list[bytes] = []
        async for chunk in self._pieces(method, url, data, kind):
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

    async def lines(self, url: str) -> AsyncIterator[dict[str, Any]]:
        """Give the JSON objects of a file of lines, without holding the file."""
        rest = b""
        async for chunk in self._pieces("GET", url, None, ""):
            *whole, rest = (rest + chunk).split(b"\n")
            if len(rest) > MOST_LINE_BYTES:
                raise CallFailed("reply_too_large")
            for line in whole:
                if (document := _object(line)) is not None:
                    yield document
        if (document := _object(rest)) is not None:
            yield document

    async def _pieces(
        self, method: str, url: str, data: bytes | None, kind: str
    ) -> AsyncIterator[bytes]:
        import aiohttp  # noqa: PLC0415 -- only when something is sent

        headers = self._headers | ({"Content-Type": kind} if data is not None else {})
        try:
            async with asyncio.timeout(CALL_S) as deadline:
                async with self._open().request(
                    method, url, data=data, headers=headers, allow_redirects=False
                ) as response:
                    if response.status != OK:
                        body = await response.content.read(1 << 16)
                        raise failure_of(response.status, response.headers, body)
                    async for chunk in response.content.iter_any():
                        deadline.reschedule(asyncio.get_running_loop().time() + CALL_S)
                        yield chunk
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError):
            lost = True  # raised out here, so that nothing that knows the key hangs on to it
        else:
            lost = False
        if lost:
            raise CallFailed("connection_lost", retry=True)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


class OpenAI:
    """Files of requests, and batches of files."""

    def __init__(self, http: Http, url: str) -> None:
        self._http = http
        self._base = url.removesuffix("/chat/completions")

    async def submit(self, ticket: PendingBatch, requests: Sequence[tuple[str, Any]]) -> str:
        """Send the file, then ask for its batch, with our token in it."""
        lines = b"".join(
            json.dumps(
                {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
            ).encode()
            + b"\n"
            for key, body in requests
        )
        mark = secrets.token_hex(16)
        form = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="batch.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        form += lines + f"\r\n--{mark}--\r\n".encode()
        kind = f"multipart/form-data; boundary={mark}"
        file = await self._http.call("POST", f"{self._base}/files", form, kind)
        wanted = {
            "input_file_id": file.get("id"),
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"judge_harness": ticket.token},
        }
        batch = await self._http.call("POST", f"{self._base}/batches", json.dumps(wanted).encode())
        return _id(batch)

    async def find(self, ticket: PendingBatch, known: set[str]) -> str:
        """Look for our token among the latest batches."""
        listed = await self._http.call("GET", f"{self._base}/batches?limit=100")
        for batch in _listed(listed):
            if (batch.get("metadata") or {}).get("judge_harness") == ticket.token:
                return "" if batch.get("id") in known else _id(batch)
        return ""

    async def ended(self, batch: str) -> bool:
        """Whether its status is final."""
        told = await self._http.call("GET", f"{self._base}/batches/{batch}")
        return told.get("status") in {"completed", "failed", "expired", "cancelled"}

    async def outcomes(self, batch: str) -> AsyncIterator[Outcome]:
        """Read both files, of replies and of errors."""
        told = await self._http.call("GET", f"{self._base}/batches/{batch}")
        for name in ("output_file_id", "error_file_id"):
            if not isinstance(told.get(name), str):
                continue
            async for line in self._http.lines(f"{self._base}/files/{told[name]}/content"):
                response = line.get("response")
                if isinstance(response, dict) and isinstance(response.get("status_code"), int):
                    body = json.dumps(response.get("body")).encode()
                    answer = Answer(response["status_code"], {}, body)
                    yield Outcome(str(line.get("custom_id")), answer)
                else:
                    yield Outcome(str(line.get("custom_id")), None, "batch_unanswered")


class Anthropic:
    """Batches of messages."""

    def __init__(self, http: Http, url: str) -> None:
        self._http = http
        self._url = f"{url}/batches"

    async def submit(self, ticket: PendingBatch, requests: Sequence[tuple[str, Any]]) -> str:
        """Send all requests at once."""
        del ticket  # there is no place for our token
        wanted = {"requests": [{"custom_id": key, "params": body} for key, body in requests]}
        return _id(await self._http.call("POST", self._url, json.dumps(wanted).encode()))

    async def find(self, ticket: PendingBatch, known: set[str]) -> str:
        """Look for a batch of that size that nobody knows and that is not older than ours."""
        for batch in _listed(await self._http.call("GET", f"{self._url}?limit=100")):
            counts = batch.get("request_counts")
            n = sum(v for v in counts.values() if isinstance(v, int)) if counts else 0
            since = _seconds(batch.get("created_at")) - ticket.created
            if n == ticket.n and since > -CLOCKS_APART_S and batch.get("id") not in known:
                return _id(batch)
        return ""

    async def ended(self, batch: str) -> bool:
        """Whether its processing has ended."""
        told = await self._http.call("GET", f"{self._url}/{batch}")
        return told.get("processing_status") == "ended"

    async def outcomes(self, batch: str) -> AsyncIterator[Outcome]:
        """Read the file of results."""
        async for line in self._http.lines(f"{self._url}/{batch}/results"):
            key, result = str(line.get("custom_id")), line.get("result")
            result = result if isinstance(result, dict) else {}
            kind = result.get("type")
            if kind == "succeeded":
                yield Outcome(key, Answer(OK, {}, json.dumps(result.get("message")).encode()))
            elif kind == "errored":
                body = json.dumps(result.get("error")).encode()
                ours = b"invalid_request" in body
                yield Outcome(key, Answer(BAD_REQUEST if ours else SERVER_ERROR, {}, body))
            else:
                yield Outcome(key, None, f"batch_{kind}"[:40])


def style_of(spec: JudgeSpec) -> Callable[[Http, str], Api] | None:
    """Whose batches a judge's requests can go into; None if nobody's."""
    if spec.kind == "endpoint":
        return OpenAI
    if spec.kind != "litellm":
        return None
    styles: dict[str, Callable[[Http, str], Api]] = {"openai": OpenAI, "anthropic": Anthropic}
    return styles.get(provider_of(spec.model))


def _id(batch: Mapping[str, Any]) -> str:
    found = batch.get("id")
    if not isinstance(found, str) or not found.replace("-", "").replace("_", "").isalnum():
        raise CallFailed("bad_body", hint="a batch without an id")
    return found


def _listed(page: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = page.get("data")
    return [b for b in listed if isinstance(b, dict)] if isinstance(listed, list) else []


def _seconds(date: object) -> float:
    try:
        return datetime.fromisoformat(str(date)).timestamp()
    except ValueError:
        return 0.0
