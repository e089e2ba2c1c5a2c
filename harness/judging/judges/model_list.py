"""The list of models of an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from harness.errors import JudgeUnavailable
from harness.judging.judges.config import key_of

if TYPE_CHECKING:
    from harness.judging.judges.config import JudgeSpec

MAX_BYTES = 4 << 20


async def list_models(spec: JudgeSpec, base_url: str, *, timeout_s: float) -> tuple[int, list[str]]:
    """Ask a server for its models, with the judge's key if it is set; redirects are not followed.

    Returns
    -------
    status : int
        HTTP status.
    names : list of str
        Empty if the answer is not an OpenAI-style list of models.

    Raises
    ------
    TimeoutError
        If there is no answer in time.
    OSError
        If the server cannot be reached. Neither error holds the key.
    """
    status, body = await _get(f"{base_url}/models", _authorization(spec), timeout_s)
    try:
        return status, [str(model["id"]) for model in json.loads(body)["data"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return status, []


def _authorization(spec: JudgeSpec) -> dict[str, str]:
    try:
        key = key_of(spec)
    except JudgeUnavailable:
        key = None
    return {} if key is None else {"Authorization": f"Bearer {key}"}


async def _get(url: str, headers: dict[str, str], timeout_s: float) -> tuple[int, bytes]:
    import aiohttp  # noqa: PLC0415 -- only when a server is contacted

    try:
        async with (
            asyncio.timeout(timeout_s),
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.get(url, headers=headers, allow_redirects=False) as response,
        ):
            body = bytearray()
            async for part in response.content.iter_any():
                body += part
                if len(body) > MAX_BYTES:
                    break
            return response.status, bytes(body)
    except aiohttp.ClientError:
        failure = OSError("no answer")
    raise failure  # outside the except clause: its traceback would hold the key
