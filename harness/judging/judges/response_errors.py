"""Classification of HTTP errors: retry, give the request up, or stop the judge.

Errors are read from status, headers and body as received, never from what a client library makes of
them. Messages contain nothing of the body: servers quote the prompt, some the key.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from harness.errors import CallFailed
from harness.judging.judges.requested_waits import requested_wait_s

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.json_values import JsonObject

OK, BAD_REQUEST, TOO_LARGE, TOO_MANY, SERVER_ERROR = 200, 400, 413, 429, 500
REDIRECTS = range(300, 400)
BUSY = frozenset({408, 409, 425})
QUOTA_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "quota_exceeded",
        "insufficient_credits",
        "insufficient_balance",
        "access_terminated",
        "payment_required",
    }
)
CONTEXT_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "string_above_max_length",
        "request_too_large",
        "model_context_window_exceeded",
    }
)
FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
KEY_CODES = frozenset({"invalid_api_key", "api_key_invalid"})
CONTEXT_MESSAGE = re.compile(
    r"(?:prompt|input|request) is too long|maximum context length|context (?:length|window|size)"
    r"|too many (?:input )?tokens|token count .{0,40}exceeds"
)
UNANSWERED = "batch_"  # begins the reasons of requests that a batch did not answer
NOT_BILLED = frozenset(  # nothing was sent, or refused before the model read it
    {
        "bad_request",
        "cap_refused",
        "forbidden",
        "image_unreadable",
        "no_key",
        "not_found",
        "quota_spent",
        "rate_limited",
        "redirect_refused",
        "tls_failed",
        "too_many_files",
        "unauthorized",
        "unguarded",
        "unreachable",
        "unsupported_params",
        "wrong_address",
        "http_409",
        "http_425",
        "http_500",
        "http_503",
        "http_529",
    }
)
CAP_MESSAGE = re.compile(r"max_(?:completion_|output_)?tokens|maxoutputtokens|num_predict")
REFUSAL_MESSAGE = re.compile(
    r"unsupported|not supported|unknown|unrecognized|not permitted|not allowed|too large|must be"
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
    "bad_body": "the response is not a chat completion. Check base_url",
    "bad_request": "the server refuses the request. Check model and params",
    "cap_refused": "the server refuses the token limit of replies. In the judge's params, set the "
    "one that it takes, max_tokens or max_completion_tokens. With `max_tokens: null` none is sent, "
    "and --max-cost needs --max-cost-soft",
    "connection_lost": "the server closed the connection",
    "context_length": "the prompt is longer than the model can read",
    "error_body": "the server reported an error with status 200",
    "forbidden": "the key may not use this model",
    "awaits_second_turn": "the first turn of a pair is kept. Resume to ask the second",
    "cluster_lost": "the cluster ended before the run",
    "in_a_batch": "the remaining requests are in a batch of another run",
    "no_choices": "the responses hold no choices",
    "no_embedding": "the responses hold no vector. Check model and base_url",
    "no_key": "its key is no longer set",
    "not_found": "no such model or address (or, for --batch, no batches). Check model and base_url",
    "over_cap": "a reply cost more than its request allows, so --max-cost cannot be kept. "
    "Pass --max-cost-soft to continue anyway",
    "quota_spent": "the quota or credit of the account is used up",
    "rate_limited": "the server refuses more requests for now. Resume later, or set rpm",
    "redirect_refused": "the server redirects. Give the final address as base_url",
    "store_lost": "the shared store could not be reached for longer than the lease. Resume later",
    "timeout": "no reply within deadline_s",
    "tls_failed": "the certificate of the server is invalid",
    "too_many_files": "this process may open no more files. Raise `ulimit -n` or lower concurrency",
    "unauthorized": "the server refuses the key, or none was sent. `key_env` in judges.yaml names "
    "the variable that holds it",
    "unfinished": "the model reached the token limit before it answered. Raise max_tokens",
    "unreachable": "no server answers at that address. Check base_url and the network",
}


def explain(reason: str, *, address: str | None = None, key_env: str | None = None) -> str:
    """Return a failure's slug, followed by its meaning and remedy where there is one.

    Parameters
    ----------
    reason : str
        Slug of the failure.
    address : str, optional
        Where the requests were sent, to be named.
    key_env : str, optional
        Environment variable of the key, to be named.
    """
    meaning = MEANINGS.get(reason)
    if reason == "unreachable" and address:
        meaning = f"no server answers at {address}. Check base_url and the network"
    elif reason == "unauthorized" and key_env:
        meaning = f"the server refuses the key in {key_env}"
    if reason.startswith("http_5"):
        meaning = "the server failed. Resume later"
    elif reason.startswith(UNANSWERED):
        meaning = "a batch came back without some replies. Resume to ask for them again"
    return f"{reason}: {meaning}" if meaning else reason


def failure_of(status: int, headers: Mapping[str, str], body: bytes) -> CallFailed:
    """Classify an error response by its status, headers with names in any case, and whole body.

    An error in a body with status 200 counts by its own code.
    """
    codes, message = _error_in(body)
    return _failure_by_body(status, codes, message) or _failure_by_status(status, headers, body)


def _failure_by_body(status: int, codes: frozenset[str], message: str) -> CallFailed | None:
    is_refusal = status == BAD_REQUEST  # the only status for which the message counts
    if codes & QUOTA_CODES or (is_refusal and message.startswith("your credit balance is too low")):
        return CallFailed("quota_spent", stops_judge=True, hint=MEANINGS["quota_spent"])
    if codes & CONTEXT_CODES or (is_refusal and CONTEXT_MESSAGE.search(message)):
        return CallFailed("context_length", hint=MEANINGS["context_length"])
    if codes & KEY_CODES or (is_refusal and message.startswith("api key not valid")):
        return CallFailed("unauthorized", stops_judge=True, hint=MEANINGS["unauthorized"])
    if is_refusal and CAP_MESSAGE.search(message):
        if "could not finish" in message:
            return CallFailed("unfinished", hint=MEANINGS["unfinished"])
        if REFUSAL_MESSAGE.search(message):
            return CallFailed("cap_refused", stops_judge=True, hint=MEANINGS["cap_refused"])
    return None


def _failure_by_status(status: int, headers: Mapping[str, str], body: bytes) -> CallFailed:
    if status in STOPS or status in REDIRECTS:
        reason = STOPS.get(status, "redirect_refused")
        return CallFailed(reason, stops_judge=True, hint=MEANINGS[reason])
    if status == TOO_MANY or status in BUSY or status >= SERVER_ERROR:
        reason = "rate_limited" if status == TOO_MANY else f"http_{status}"
        return CallFailed(reason, retry=True, retry_after_s=requested_wait_s(headers, body))
    if status == TOO_LARGE:
        return CallFailed("context_length", hint="the request exceeds the server's size limit")
    if status == OK:
        return CallFailed("error_body", retry=True, hint=MEANINGS["error_body"])
    return CallFailed("bad_request", hint=f"HTTP {status}")


def is_filtered(status: int, body: bytes) -> bool:
    """Whether a provider's content filter refused the prompt: a refusal, not a failure."""
    return status == BAD_REQUEST and bool(_error_in(body)[0] & FILTER_CODES)


def _error_in(body: bytes) -> tuple[frozenset[str], str]:
    """Return the codes of an error body and the start of its message, in lower case."""
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
    codes = frozenset(value.lower() for value in values if isinstance(value, str))
    return codes, str(error.get("message", ""))[:2000].lower()


def code_in(document: Mapping[str, Any]) -> int:
    """Return the HTTP status that an error body with status 200 reports, else 200."""
    error = document.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    is_status = isinstance(code, int) and BAD_REQUEST <= code < 600  # noqa: PLR2004 -- HTTP's last
    return int(code) if is_status and code is not None else OK


def _mappings(values: object) -> list[JsonObject]:
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def limit_wait(error: CallFailed, max_wait_s: float) -> CallFailed:
    """Return an error that stops the judge if the server asks for too long a wait."""
    if (error.retry_after_s or 0) <= max_wait_s:
        return error
    return CallFailed(
        error.reason, stops_judge=True, hint=f"asked to wait {error.retry_after_s:.0f} s"
    )


def may_be_billed(error: BaseException) -> bool:
    """Whether a call that failed may have been paid for: the model may have read its prompt.

    Azure bills prompts that its filter refused, and calls that timed out.
    """
    if not isinstance(error, CallFailed):
        return True
    return not (error.reason in NOT_BILLED or error.reason.startswith(UNANSWERED))


def is_retryable(error: BaseException) -> bool:
    """Whether the request may be sent again."""
    return isinstance(error, CallFailed) and error.retry and not error.stops_judge
