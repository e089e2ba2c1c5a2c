"""HTTP requests without redirects and with a size limit for replies.

A redirect would send the key and the item's text to a different address. A reply that has or
unpacks to gigabytes would exhaust memory. Proxies, cookies and `.netrc` are not used.
"""

from __future__ import annotations

import asyncio
import io
import zlib
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import CallFailed
from harness.files.regular_files import NO_DESCRIPTORS
from harness.judging.judges.response_errors import MEANINGS, OK, REDIRECTS, failure_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

MAX_REPLY_BYTES = 8 << 20
LARGE_BODY = 1 << 20  # aiohttp warns about larger bodies that are not streams
EITHER_ZLIB_OR_GZIP = 47
KEPT = "kept"


class Response(NamedTuple):
    """Server response with any status except a redirect, and the unpacked body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class PreparedRequest(NamedTuple):
    """Request that a judge would have sent. ``body`` is JSON."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """HTTP connections of a judge. At most ``limit`` are open simultaneously."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._session: ClientSession | None = None
        self._urls: dict[str, URL] = {}
        self._connection_errors: tuple[type[Exception], ...] = ()

    def _open(self) -> ClientSession:
        import aiohttp  # noqa: PLC0415 -- costs 100 ms; only when something is sent

        self._connection_errors = (aiohttp.ClientError, OSError, ValueError)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._limit),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
            auto_decompress=False,
        )

    def _parse_url(self, url: str) -> URL:
        from yarl import URL  # noqa: PLC0415 -- comes with aiohttp

        self._urls[url] = URL(url)
        return self._urls[url]

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Send a POST request and read its response. ``headers`` extend the session's own.

        Raises
        ------
        CallFailed
            If the response is incomplete, too large or a redirect.
        """
        if self._session is None:
            self._session = self._open()
        status = 0
        try:
            response = await self._session.post(
                self._urls[url] if url in self._urls else self._parse_url(url),
                data=body if len(body) < LARGE_BODY else io.BytesIO(body),
                headers=headers,
                allow_redirects=False,
            )
            status = response.status
            try:
                return Response(status, response.headers, await _read(response))
            except BaseException:
                response.close()  # aiohttp reuses the connection only after a complete body
                raise
        except CallFailed as error:
            failure = error
        except self._connection_errors as error:
            failure = _connection_failure(error)
        failure.paid = status == OK
        raise failure  # outside the handler, because the original exception can contain the key

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


class KeepingWire(Wire):
    """Stand-in for connections, which keeps the request or returns a given response.

    Attributes
    ----------
    prepared : PreparedRequest or None
        The last request that would have been sent.
    answer : Response or None
        Response to return for the next request; None to keep the request instead.
    in_use : Lock
        Lock to hold from setting one attribute until the other has been read.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self.prepared: PreparedRequest | None = None
        self.answer: Response | None = None
        self.in_use = asyncio.Lock()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        """Return the set answer, or keep the request and raise `CallFailed`."""
        if self.answer is not None:
            return self.answer
        self.prepared = PreparedRequest(url, dict(headers), body)
        raise CallFailed(KEPT)


def _connection_failure(error: Exception) -> CallFailed:
    """Convert a connection error, which can reveal the key, to a failure without the key."""
    import aiohttp  # noqa: PLC0415 -- loaded by now

    if isinstance(error, aiohttp.ClientSSLError):
        return CallFailed("tls_failed", stops_judge=True, hint=MEANINGS["tls_failed"])
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return CallFailed(
            "bad_request", hint="the address or the headers contain characters that can't be sent"
        )
    if getattr(error, "errno", None) in NO_DESCRIPTORS:
        return CallFailed("too_many_files", retry=True, hint=MEANINGS["too_many_files"])
    if isinstance(error, aiohttp.ClientConnectorError):
        return CallFailed("unreachable", retry=True, hint=MEANINGS["unreachable"])
    return CallFailed("connection_lost", retry=True)


async def _read(response: ClientResponse) -> bytes:
    if response.status in REDIRECTS:
        raise failure_of(response.status, {}, b"")
    chunks: list[bytes] = []
    size = 0
    too_large = (response.content_length or 0) > MAX_REPLY_BYTES
    while not (too_large or response.content.at_eof()):
        chunks.append(await response.content.readany())
        size += len(chunks[-1])
        too_large = size > MAX_REPLY_BYTES
    if too_large:
        raise CallFailed("reply_too_large", hint=f"more than {MAX_REPLY_BYTES} bytes")
    body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
    encoding = response.headers.get("Content-Encoding", "identity").lower()
    return body if encoding == "identity" or not body else _unpack(body, encoding)


def _unpack(body: bytes, encoding: str) -> bytes:
    """Unpack a body up to the size limit. Some servers compress replies unasked."""
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise CallFailed("bad_body", retry=True, hint="unexpected content encoding")
    unpacker = zlib.decompressobj(EITHER_ZLIB_OR_GZIP)
    try:
        unpacked = unpacker.decompress(body, MAX_REPLY_BYTES + 1)
    except zlib.error:
        unpacked = b""
    if len(unpacked) > MAX_REPLY_BYTES:
        raise CallFailed("reply_too_large", hint=f"unpacks to more than {MAX_REPLY_BYTES} bytes")
    if not unpacker.eof:
        raise CallFailed("bad_body", retry=True, hint="invalid compressed body")
    return unpacked
