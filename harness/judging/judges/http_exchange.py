"""One guarded exchange over HTTP: no redirect followed, no reply larger than it should be.

Redirects would carry the key and the item's text to another address; a reply of gigabytes, or one
that unpacks to gigabytes, would take the machine down. Proxies, cookies and `.netrc` are not used.
"""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import CallFailed
from harness.judging.judges.response_errors import MEANINGS, REDIRECTS, failure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aiohttp import ClientResponse, ClientSession
    from yarl import URL

MAX_REPLY_BYTES = 8 << 20
LARGE_BODY = 1 << 20  # aiohttp wants larger ones as a stream
EITHER_ZLIB_OR_GZIP = 47


class Answer(NamedTuple):
    """What came back: any status but a redirect, and the unpacked body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Wire:
    """Connections of one judge.

    Parameters
    ----------
    limit : int
        Most connections open at once.

    Attributes
    ----------
    told : callable or None
        Gets the headers of every answer.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._session: ClientSession | None = None
        self._urls: dict[str, URL] = {}
        self._losses: tuple[type[Exception], ...] = ()
        self.told: Callable[[Mapping[str, str]], None] | None = None

    def _open(self) -> ClientSession:
        import aiohttp  # noqa: PLC0415 -- costs 100 ms; only when something is sent

        self._losses = (aiohttp.ClientError, OSError, ValueError)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=self._limit),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
            auto_decompress=False,
        )

    def _read_once(self, url: str) -> URL:
        from yarl import URL  # noqa: PLC0415 -- comes with aiohttp

        self._urls[url] = URL(url)
        return self._urls[url]

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send one request and read its answer.

        Parameters
        ----------
        url : str
            Where to.
        headers : mapping
            Added to the session's own.
        body : bytes
            Sent as it is.

        Raises
        ------
        CallFailed
            If no whole answer came, it was too large, or it was a redirect.
        """
        if self._session is None:
            self._session = self._open()
        try:
            response = await self._session.post(
                self._urls.get(url) or self._read_once(url),
                data=body if len(body) < LARGE_BODY else io.BytesIO(body),
                headers=headers,
                allow_redirects=False,
            )
            try:
                return await self._answer(response)
            except BaseException:
                response.close()  # after a whole body aiohttp itself gives the connection back
                raise
        except self._losses as error:
            failure = _lost(error)
        raise failure  # out here, so that no exception that knows the key hangs on to it

    async def _answer(self, response: ClientResponse) -> Answer:
        if self.told is not None:
            self.told(response.headers)
        if response.status in REDIRECTS:
            raise failure_of(response.status, {}, b"")
        return Answer(response.status, response.headers, await _read(response))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _lost(error: Exception) -> CallFailed:
    """Say what an exchange without an answer means; the error itself may hold key and address."""
    import aiohttp  # noqa: PLC0415 -- loaded by now

    if isinstance(error, aiohttp.ClientSSLError):
        return CallFailed("tls_failed", stops_judge=True, hint=MEANINGS["tls_failed"])
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return CallFailed("bad_request", hint="address or headers cannot be sent")
    if isinstance(error, aiohttp.ClientConnectorError):
        return CallFailed("unreachable", retry=True, hint=MEANINGS["unreachable"])
    return CallFailed("connection_lost", retry=True)


async def _read(response: ClientResponse) -> bytes:
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
    """Unpack what came packed although we asked for plain, up to the cap and no further."""
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise CallFailed("bad_body", retry=True, hint="packed in a way that was not asked for")
    unpacker = zlib.decompressobj(EITHER_ZLIB_OR_GZIP)
    try:
        plain = unpacker.decompress(body, MAX_REPLY_BYTES + 1)
    except zlib.error:
        plain = b""
    if len(plain) > MAX_REPLY_BYTES:
        raise CallFailed("reply_too_large", hint=f"unpacks to more than {MAX_REPLY_BYTES} bytes")
    if not unpacker.eof:
        raise CallFailed("bad_body", retry=True, hint="packed badly")
    return plain
