"""What a server's answer means when it is no reply: retry, give this request up, or stop asking.

Read from what came over the wire, status, headers and body, never from what a client library made
of it. Nothing of the body gets into a message: servers like to quote the prompt, some the key.
"""

from __future__ import annotations

import json
import math
import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from harness.errors import CallFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

OK, BAD_REQUEST, TOO_LARGE, TOO_MANY, SERVER_ERROR = 200, 400, 413, 429, 500
REDIRECTS = range(300, 400)
BUSY = frozenset({408, 409, 425})
QUOTA_WORDS = frozenset(
    {
        *(
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_not_active",
            "quota_exceeded",
        ),
        *("insufficient_credits", "insufficient_balance", "access_terminated", "payment_required"),
    }
)
CONTEXT_WORDS = frozenset(
    {
        *("context_length_exceeded", "exceed_context_size_error", "string_above_max_length"),
        *("request_too_large", "model_context_window_exceeded"),
    }
)
FILTER_WORDS = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
KEY_WORDS = frozenset({"invalid_api_key", "api_key_invalid"})
CONTEXT_SAYING = re.compile(
    r"(?:prompt|input|request) is too long|maximum context length|context (?:length|window|size)"
    r"|too many (?:input )?tokens|token count .{0,40}exceeds"
)
STOPS = {
    402: "quota_spent",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "not_found",
    410: "not_found",
}
MEANINGS = {
    "bad_body": "what came back is no reply of a model; check base_url",
    "bad_request": "the server refuses the request; check model and params",
    "connection_lost": "the server hung up",
    "context_length": "the prompt is longer than the model can read",
    "error_body": "an error came with status 200",
    "forbidden": "the key may not use this model",
    "in_a_batch": "the rest waits in a batch of another run",
    "no_choices": "the replies hold nothing",
    "no_key": "its key is set no longer",
    "not_found": "no such model or address (or, for --batch, no batches); check model and base_url",
    "quota_spent": "the account has nothing left",
    "rate_limited": "the server takes no more for now; resume later, or set rpm",
    "redirect_refused": "the server sends elsewhere; give the final address as base_url",
    "timeout": "no reply within deadline_s",
    "tls_failed": "the server's certificate is wrong",
    "unauthorized": "the key was not accepted; check the variable that key_env names",
    "unreachable": "no server answers at that address; check base_url and the network",
}


def told(reason: str) -> str:
    """Write a slug with what it means and what to do, as far as that is known."""
    meaning = MEANINGS.get(reason)
    if reason.startswith("http_5"):
        meaning = "the server is in trouble; resume later"
    elif reason.startswith("batch_"):
        meaning = "a batch came back without some replies; resume to ask for them again"
    return f"{reason}: {meaning}" if meaning else reason


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> CallFailed:
    """Say what kind of failure an answer is.

    Parameters
    ----------
    status : int
        HTTP status as received; an error in a body with status 200 counts by its own code.
    headers : mapping
        Response headers; names in any case.
    body : bytes
        The response's body, in full.

    Returns
    -------
    CallFailed
        With ``retry``, ``retry_after_s`` and ``stops_judge`` set.
    """
    words, saying = _error_in(body)
    return _told_by_body(status, words, saying) or _told_by_status(status, headers)


def _told_by_body(status: int, words: frozenset[str], saying: str) -> CallFailed | None:
    refused = status == BAD_REQUEST  # what a message says counts only here
    if words & QUOTA_WORDS or (refused and saying.startswith("your credit balance is too low")):
        return CallFailed("quota_spent", stops_judge=True, hint=MEANINGS["quota_spent"])
    if words & CONTEXT_WORDS or (refused and CONTEXT_SAYING.search(saying)):
        return CallFailed("context_length", hint=MEANINGS["context_length"])
    if words & KEY_WORDS or (refused and saying.startswith("api key not valid")):
        return CallFailed("unauthorized", stops_judge=True, hint=MEANINGS["unauthorized"])
    return None


def _told_by_status(status: int, headers: Mapping[str, str]) -> CallFailed:
    if status in STOPS or status in REDIRECTS:
        reason = STOPS.get(status, "redirect_refused")
        return CallFailed(reason, stops_judge=True, hint=MEANINGS[reason])
    if status == TOO_MANY or status in BUSY or status >= SERVER_ERROR:
        reason = "rate_limited" if status == TOO_MANY else f"http_{status}"
        return CallFailed(reason, retry=True, retry_after_s=retry_after_s(headers))
    if status == TOO_LARGE:
        return CallFailed("context_length", hint="the request is larger than the server takes")
    if status == OK:
        return CallFailed("error_body", retry=True, hint=MEANINGS["error_body"])
    return CallFailed("bad_request", hint=f"HTTP {status}")


def filtered(status: int, body: bytes) -> bool:
    """Whether a provider's content filter refused the prompt; that is a refusal, not a fault."""
    return status == BAD_REQUEST and bool(_error_in(body)[0] & FILTER_WORDS)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read how long a server asks us to wait, in seconds.

    ``retry-after-ms`` goes before ``Retry-After``, which is seconds or an HTTP date. What is past,
    zero or unreadable is None: then the wait is ours to choose.
    """
    named = {name.lower(): value for name, value in headers.items() if name.lower()[:5] == "retry"}
    wait = _number(named.get("retry-after-ms", "")) / 1000
    if not wait > 0:
        given = named.get("retry-after", "")
        wait = _number(given)
        if math.isnan(wait):
            wait = _until(given)
    return wait if 0 < wait < math.inf else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return math.nan


def _error_in(body: bytes) -> tuple[frozenset[str], str]:
    """Codes of an error body and the start of its message, in small letters."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return frozenset(), ""
    if isinstance(document, list) and document:
        document = document[0]
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return frozenset(), str(error)[:2000].lower()
    sources = [error, *_mappings(error.get("details")), *_mappings([error.get("innererror")])]
    values = [source.get(key) for source in sources for key in ("code", "type", "status", "reason")]
    words = frozenset(value.lower() for value in values if isinstance(value, str))
    return words, str(error.get("message", ""))[:2000].lower()


def code_in(document: Mapping[str, Any]) -> int:
    """HTTP status that an error body with status 200 gives itself, else 200."""
    error = document.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    plausible = isinstance(code, int) and BAD_REQUEST <= code < 600  # noqa: PLR2004 -- HTTP's last
    return int(code) if plausible and code is not None else OK


def _mappings(values: object) -> list[dict[str, Any]]:
    return [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []


def final(error: CallFailed, longest_wait_s: float) -> CallFailed:
    """Stop the judge of a server that asks for a longer wait than it is granted."""
    if (error.retry_after_s or 0) <= longest_wait_s:
        return error
    return CallFailed(
        error.reason, stops_judge=True, hint=f"asked to wait {error.retry_after_s:.0f} s"
    )


def worth_a_retry(error: BaseException) -> bool:
    """Whether the same request may be sent again."""
    return isinstance(error, CallFailed) and error.retry and not error.stops_judge
