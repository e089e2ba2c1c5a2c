"""Classification of HTTP errors: retry, skip the request, or stop the judge.

Errors are classified from the status, headers and body as received, never from a client library's
interpretation. Messages never quote the body, because servers repeat the prompt and some repeat the
key.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import CallFailed
from harness.judging.judges.parameter_refusals import REFUSED, named_parameter, refused_meaning
from harness.judging.judges.prompt_tokens import estimated_prompt_tokens
from harness.judging.judges.requested_waits import requested_wait_s
from harness.judging.strategies.strategy import TOKEN_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.files.json_values import JsonObject
    from harness.judging.prompts.requests import Request

OK, BAD_REQUEST, TOO_LARGE, TOO_MANY, SERVER_ERROR = 200, 400, 413, 429, 500
FORBIDDEN = 403
REFUSALS = frozenset({BAD_REQUEST, 416, 422, 501})  # statuses whose message is read
MAX_MESSAGE_CHARS = 4000
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
    {
        "content_filter",
        "content_policy_violation",
        "data_inspection_failed",
        "datainspectionfailed",
        "responsibleaipolicyviolation",
    }
)
KEY_CODES = frozenset({"invalid_api_key", "api_key_invalid"})
CONTEXT_MESSAGE = re.compile(
    r"(?:prompt|input|request) is too long|maximum context length"
    r"|context[ _](?:length|window|size|limit)|too many (?:input )?tokens"
    r"|token count .{0,40}exceeds|tokens \+ `?max_new_tokens|got -\d"
    r"|\b(?:prompt|input|sequence|model) (?:length|len)\b"
    r"|\b(?:prompt|inputs?|messages?|conversation|tokens)\b.{0,80}\b(?:too long"
    r"|(?:longer|larger|greater|more|less|fewer) than\b.{0,60}(?:max|limit|tokens|length)"
    r"|exceed(?:s|ed|ing)?\b.{0,60}(?:max|limit|tokens|length))"
)
UNSUPPORTED = re.compile(  # some gateways reject a parameter with status 500
    r"\b(?:unsupported|unrecognized|unknown|unexpected"
    r"|(?:not|n't) (?:support|permit|allow)(?:ted|ed)?)\b"
)
UNREADABLE = "unreadable_replies"
UNANSWERED = "batch_"  # prefix of the reasons for requests that a batch didn't answer
NOT_BILLED = frozenset(  # nothing was sent, or it was rejected before the model read it
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
NUMBER = re.compile(r"\d+")
VARYING = re.compile(
    r"[0-9a-f]*\d[0-9a-f-]*"
)  # parts that vary between messages for the same rejection
STOPS = {
    402: "quota_spent",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "not_found",
    410: "not_found",
}
MESSAGE_MEMBERS = (
    "message",
    "detail",
    "error_message",
    "error_msg",
)  # of a document that is an error
MEANINGS = {
    "bad_body": "the response is not a chat completion. Check base_url",
    "bad_request": "the server rejects the request. Check model and params",
    "cap_refused": "the server rejects the token limit of replies. If the limit is too large, pass "
    "a lower --max-tokens. If its name is wrong, set the judge's `params: {max_completion_tokens: "
    "32}`, which replaces max_tokens. `params: {max_tokens: null}` sends none, and then --max-cost "
    "needs --max-cost-soft",
    "connection_lost": "the server closed the connection",
    "context_length": "the prompt is longer than the model can read",
    "error_body": "the server reported an error with status 200",
    "forbidden": "the key has no access to this model",
    "awaits_second_turn": "the first reply is stored, and the second question was not sent. Resume "
    "to send it",
    "cluster_lost": "the cluster ended before the run",
    "in_a_batch": "the remaining requests are in a different run's batch",
    "no_choices": "the responses contain no choices",
    "no_embedding": "the responses contain no vector. Check model and base_url",
    "no_key": "the key's variable is no longer set",
    "not_found": "no such model or address (or, for --batch, no batches). Check model and base_url",
    "over_cap": "a reply cost more than its request allows, so --max-cost cannot be enforced. "
    "Pass --max-cost-soft to continue anyway",
    "quota_spent": "the account's quota or credit is used up",
    "rate_limited": "the server rejects more requests for now. Resume later, or set rpm",
    "redirect_refused": "the server redirects. Set the final address as base_url",
    "store_lost": "the shared store could not be reached for longer than the lease. Resume later",
    "timeout": "no reply within deadline_s",
    "tls_failed": "the server's certificate is invalid",
    "too_many_files": "this process can't open any more files. Raise `ulimit -n` or lower "
    "concurrency",
    "unauthorized": "the server rejects the key, or none was sent. Name the variable that contains "
    "it with --key-env, or with `key_env` in judges.yaml",
    "unfinished": "the model reached the token limit before it answered. Raise max_tokens",
    UNREADABLE: "at most 5 of its first 20 replies can be read, so no more were requested. Look at "
    "the examples, or pass --keep-going to continue anyway",
    "unreachable": "no server answers at that address. Check base_url and the network",
}


LASTING = frozenset({"bad_request", "cap_refused", "context_length", UNREADABLE})


def is_lasting(reason: str) -> bool:
    """Return whether a reason stops a judge until the user changes something."""
    return reason in LASTING or reason.startswith(REFUSED)


def explain(reason: str, *, address: str | None = None, key_env: str | None = None) -> str:
    """Return a failure's slug with its meaning and remedy, if they are known.

    Parameters
    ----------
    reason : str
        Slug of the failure.
    address : str, optional
        Address of the requests, to include in the message.
    key_env : str, optional
        Environment variable of the key, to include in the message.
    """
    meaning = MEANINGS.get(reason)
    if reason == "unreachable" and address:
        meaning = f"no server answers at {address}. Check base_url and the network"
    elif reason == "unauthorized" and key_env:
        meaning = f"the server rejects the key in {key_env}"
    if reason.startswith(REFUSED):
        meaning = refused_meaning(reason)
    elif reason.startswith("http_5"):
        meaning = "the server failed. Resume later"
    elif reason.startswith(UNANSWERED):
        meaning = "a batch came back without some replies. Resume to request them again"
    return f"{reason}: {meaning}" if meaning else reason


class ServerError(NamedTuple):
    """Error reported by a server: its codes and its lower-case texts, the message first.

    ``parameter`` is the cause, if the server names one in a separate field.
    """

    codes: frozenset[str] = frozenset()
    message: str = ""
    parameter: str = ""


def failure_of(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    request: Request | None = None,
    n: int = 1,
) -> CallFailed:
    """Classify an error response by its status, headers (in any case) and body.

    Parameters
    ----------
    request : Request, optional
        The request, sent for ``n`` samples. A rejection that names one of its parameters is
        attributed to that parameter.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    error = error_in(document)
    if failure := _failure_by_code(status, error):
        return failure
    if status in REFUSALS:
        return _refusal(status, error, request, n)
    may_refuse = status == FORBIDDEN or (
        status >= SERVER_ERROR and UNSUPPORTED.search(error.message)
    )
    if may_refuse and request and (name := _named(error, request, n)):
        return _refused(name)
    return _failure_by_status(status, headers, body)


def failure_within(
    document: JsonObject, headers: Mapping[str, str], body: bytes, request: Request | None = None
) -> CallFailed | None:
    """Return the failure that a response with status 200 reports, or None if it reports none.

    The error's own code classifies it.
    """
    if not is_error(document.get("error")):
        return None
    return failure_of(code_in(document), headers, body, request)


def failure_without_choices(document: JsonObject, request: Request | None) -> CallFailed:
    """Classify the failure of a response that has no choices."""
    if any(document.get(name) for name in MESSAGE_MEMBERS):
        return failure_of(code_in(document), {}, json.dumps(document).encode(), request)
    return CallFailed("no_choices", retry=True, paid=True)


def is_error(error: object) -> bool:
    """Return whether ``error`` reports a problem. Some servers always send this field."""
    return any(error.values()) if isinstance(error, dict) else bool(error)


def _failure_by_code(status: int, error: ServerError) -> CallFailed | None:
    codes, message = error.codes, error.message
    is_refusal = status in REFUSALS
    if codes & QUOTA_CODES or (is_refusal and message.startswith("your credit balance is too low")):
        return CallFailed("quota_spent", stops_judge=True, hint=MEANINGS["quota_spent"])
    if codes & FILTER_CODES and (is_refusal or status == OK):
        return CallFailed("content_filter")
    if codes & KEY_CODES or (is_refusal and message.startswith("api key not valid")):
        return CallFailed("unauthorized", stops_judge=True, hint=MEANINGS["unauthorized"])
    if codes & CONTEXT_CODES and not is_refusal:
        return CallFailed("context_length", hint=MEANINGS["context_length"])
    return None


def _refusal(status: int, error: ServerError, request: Request | None, n: int) -> CallFailed:
    """Classify a rejection by its cause, such as the request's length or a parameter."""
    name = _named(error, request, n)
    is_long = bool(error.codes & CONTEXT_CODES or CONTEXT_MESSAGE.search(error.message))
    if name in TOKEN_LIMITS and "could not finish" in error.message:
        return CallFailed("unfinished", hint=MEANINGS["unfinished"])
    if is_long and not _is_cap_too_large(error.message, request, name):
        return CallFailed("context_length", hint=MEANINGS["context_length"])
    if is_long or name in TOKEN_LIMITS:
        return CallFailed("cap_refused", stops_judge=True, hint=MEANINGS["cap_refused"])
    if name:
        return _refused(name)
    text = f"{status} {VARYING.sub('', error.message)}"
    alike = sha256(text.encode("utf-8", "replace")).hexdigest()
    return CallFailed("bad_request", hint=f"HTTP {status}", alike=alike)


def _refused(name: str) -> CallFailed:
    reason = REFUSED + name
    return CallFailed(reason, hint=refused_meaning(reason), alike=reason)


def _named(error: ServerError, request: Request | None, n: int) -> str:
    """Return the sent parameter that an error names. Without a request, try token limits."""
    sent = TOKEN_LIMITS if request is None else sent_names(request, n)
    return named_parameter(error.parameter, error.message, sent)


def sent_names(request: Request, n: int) -> tuple[str, ...]:
    """Return the names of the parameters sent for ``n`` samples of a request."""
    return (*request.params, "n") if n > 1 else tuple(request.params)


def _is_cap_too_large(message: str, request: Request | None, name: str) -> bool:
    """Return whether the reply's token limit, rather than the prompt, is too long.

    This is true if the rejection names the limit or its value, and the limit exceeds the prompt.
    """
    if request is None:
        return False
    caps = [cap for key in TOKEN_LIMITS if isinstance(cap := request.params.get(key), int)]
    is_named = name in TOKEN_LIMITS or bool(set(map(str, caps)) & set(NUMBER.findall(message)))
    return is_named and max(caps, default=0) > estimated_prompt_tokens(request.messages)


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


def error_in(document: object) -> ServerError:
    """Extract the error from a JSON document in any of the common formats."""
    if isinstance(document, list) and document:
        document = document[0]
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return ServerError(message=str(error)[:MAX_MESSAGE_CHARS].lower())
    sources = [error, *_mappings(error.get("details")), *_mappings([error.get("innererror")])]
    values = [source.get(key) for source in sources for key in ("code", "type", "status", "reason")]
    codes = frozenset(value.lower() for value in values if isinstance(value, str))
    message, parameter = error.get("message", ""), error.get("param")
    texts = [message if isinstance(message, str) else "", *_texts(error)]
    return ServerError(
        codes,
        "\n".join(dict.fromkeys(texts))[:MAX_MESSAGE_CHARS].lower(),
        parameter.lower() if isinstance(parameter, str) else "",
    )


def _texts(value: object, depth: int = 6) -> Iterator[str]:
    """Yield the texts in a JSON value, outermost first."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part, depth - 1)


def code_in(document: JsonObject) -> int:
    """Return the HTTP status in the body of a response with status 200, by default 200."""
    error = document.get("error", document)
    code = error.get("code") if isinstance(error, dict) else None
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() else OK
    return status if BAD_REQUEST <= status < 600 else OK  # noqa: PLR2004 -- HTTP's last


def _mappings(values: object) -> list[JsonObject]:
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def limit_wait(error: CallFailed, max_wait_s: float) -> CallFailed:
    """Stop the judge if the server requests a wait that is too long."""
    if (error.retry_after_s or 0) <= max_wait_s:
        return error
    return CallFailed(
        error.reason, stops_judge=True, hint=f"asked to wait {error.retry_after_s:.0f} s"
    )


def is_refusal_of(failure: CallFailed, parameter: str) -> bool:
    """Return whether a call failed because the server rejected the given parameter."""
    return failure.reason == REFUSED + parameter


def may_be_billed(error: BaseException) -> bool:
    """Return whether a failed call may have been billed, because the model read its prompt.

    Azure bills prompts that its filter rejected, and calls that timed out.
    """
    if not isinstance(error, CallFailed):
        return True
    if error.unsent:
        return False
    if error.paid:
        return True
    free = error.reason in NOT_BILLED or error.reason.startswith((UNANSWERED, REFUSED))
    return not free


def is_retryable(error: BaseException) -> bool:
    """Return whether a failed request can be sent again."""
    return isinstance(error, CallFailed) and error.retry and not error.stops_judge
