"""Post the outcome of a re-validation to an address, such as a chat's incoming webhook."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "HARNESS_NOTIFY_URL"
TIMEOUT_S = 10.0
ACCEPTED = range(200, 300)  # HTTP status; a redirect is not followed


def check_notify_url(url: str | None) -> None:
    """Reject an invalid address. The error omits the address because it can contain a secret.

    Raises
    ------
    RunError
        If it isn't an http or https address.
    """
    if url is None:
        return
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        raise RunError(f"--notify (${VARIABLE}) isn't an address. Pass it as https://HOST/PATH.")


def notify(url: str | None, sentence: str, ending: Mapping[str, object], run: str) -> str:
    """Post the outcome of a re-validation. If the post fails, only report it.

    Parameters
    ----------
    url : str or None
        Address to post to; without one, nothing is posted. It isn't logged.
    sentence : str
        The first sentence of the result.
    ending : mapping
        Further fields.
    run : str
        Folder of the run, used as the link outside pipelines.

    Returns
    -------
    str
        Reason if the post wasn't accepted, else empty.
    """
    if not url:
        return ""
    link = _pipeline() or run
    content = {"text": f"{sentence} {link}", "link": link, **ending}
    return asyncio.run(_post(url, content))


async def _post(url: str, content: Mapping[str, object]) -> str:
    import aiohttp  # noqa: PLC0415 -- when needed

    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.post(url, json=content, allow_redirects=False) as reply,
        ):
            accepted = reply.status in ACCEPTED
            return "" if accepted else f"the server replied with status {reply.status}"
    except TimeoutError:
        return f"no reply within {TIMEOUT_S:g} s"
    except aiohttp.ClientSSLError:
        return "the server's certificate is invalid, or it doesn't use https"
    except (aiohttp.ClientConnectorError, OSError):
        return "no server answers at that address"
    except (aiohttp.ClientError, ValueError) as error:  # its text can contain the address
        return f"the server's response can't be used ({type(error).__name__})"


def _pipeline() -> str:
    """Return the address of the current GitHub or GitLab job, or "" outside of a job."""
    variables = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, number = (os.environ.get(name, "") for name in variables)
    if server and repository and number:
        return f"{server}/{repository}/actions/runs/{number}"
    return os.environ.get("CI_JOB_URL", "")
