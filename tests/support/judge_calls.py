"""Calls of a single judge, without the runner: a reply or its failure, and the fault matrix."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from harness.errors import CallFailed
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request

KEY = "sk-canary-0123456789abcdef"
TEXT = "the-item-canary-e1f7"
MESSAGES = (
    Message(role="system", content="You rate texts."),
    Message(role="user", content=f"Options:\nA: Toxic\nB: Fine\n{TEXT}\nAnswer:"),
)
NO_TASK = SimpleNamespace(items=(), by_id={})
RETRY = {"retry": True, "stops_judge": False}
GIVE_UP = {"retry": False, "stops_judge": False}
STOP = {"retry": False, "stops_judge": True}

# The fault matrix: fault of the server, reason of the failure, and what follows from it.
FAULTS = [
    ("429", "rate_limited", RETRY),
    ("429;retry-after=2", "rate_limited", RETRY | {"retry_after_s": 2.0}),
    ("429;retry-after-ms=1500;retry-after=9", "rate_limited", RETRY | {"retry_after_s": 1.5}),
    ("429;retry-after=soon", "rate_limited", RETRY | {"retry_after_s": None}),
    ("503;retry-after=3", "http_503", RETRY | {"retry_after_s": 3.0}),
    ("code200", "rate_limited", RETRY),
    ("quota", "quota_spent", STOP),
    ("credit", "quota_spent", STOP),
    ("payment", "quota_spent", STOP),
    ("401", "unauthorized", STOP),
    ("badkey400", "unauthorized", STOP),
    ("403", "forbidden", STOP),
    ("404", "not_found", STOP),
    ("400", "bad_request", GIVE_UP),
    ("422", "bad_request", GIVE_UP),
    ("context", "context_length", GIVE_UP),
    ("toolong", "context_length", GIVE_UP),
    *((str(code), f"http_{code}", RETRY) for code in (408, 409, 500, 502, 503, 504, 529)),
    ("error200", "error_body", RETRY),
    ("reset", "connection_lost", RETRY),
    ("cut", "connection_lost", RETRY),
    ("resetbody", "connection_lost", RETRY),
    ("trunc", "bad_body", RETRY),
    ("html", "bad_body", RETRY),
    ("utf8", "bad_body", RETRY),
    ("empty", "bad_body", RETRY),
    ("list", "bad_body", RETRY),
    ("deep", "bad_body", RETRY),
    ("nochoices", "no_choices", RETRY),
    ("big", "reply_too_large", GIVE_UP),
    ("bomb", "reply_too_large", GIVE_UP),
]

# Unusual replies in valid form: fault of the server, text of the reply and why it ended.
ODD_REPLIES = [
    ("null", "", "stop"),
    ("filter", "", "content_filter"),
    ("filter400", "", "content_filter"),
    ("length", "The answer to this", "length"),
    ("nul", "A\0", "stop"),
    ("surrogate", "A\ufffd", "stop"),
    ("bidi", "\u202eA\u202c", "stop"),
    ("gzip", "A", "stop"),
]


def judge_at(url: str | None, *, model: str = "stub", name: str = "judge", **settings):
    """Make a judge of a server's model; ``settings`` go to its specification."""
    spec = new_judge(name=name, model=model, base_url=url, key_env="STUB_KEY", **settings)
    return build(spec, NO_TASK, None)


def request_for(judge, *, sample: int = 0) -> Request:
    """Make the request that all tests send."""
    spec = judge.spec
    return Request(
        provider=spec.kind,
        base_url=spec.base_url,
        model=spec.model,
        params=judge._params,
        messages=MESSAGES,
        sample=sample,
    )


def ask(judge, *, times: int = 1, deadline_s: float = 60):
    """Send ``times`` requests at once; return the reply or failure, or a list of them."""

    async def ask_all():
        async def ask_once(sample):
            async with asyncio.timeout(deadline_s):
                return await judge.ask(request_for(judge, sample=sample))

        try:
            calls = [ask_once(sample) for sample in range(times)]
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            await judge.aclose()

    results = asyncio.run(ask_all())
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, CallFailed | TimeoutError):
            raise result
    return results[0] if times == 1 else results


def assert_no_secrets(failure: BaseException) -> None:
    """Check that neither the key nor the text is in a failure, its causes or its contexts."""
    visited = set()
    while failure is not None and id(failure) not in visited:
        visited.add(id(failure))
        shown = f"{failure} {failure!r} {vars(failure)}"
        assert KEY not in shown
        assert TEXT not in shown
        failure = failure.__cause__ or failure.__context__
