"""The wait that a server asks for, in a header or in the body of its error."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judging.judges.requested_waits import requested_wait_s
from harness.judging.judges.response_errors import failure_of

OPENAI = (
    "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
)
GOOGLE = "You exceeded your current quota, please check your plan and billing details."


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
        ({"retry-after-ms": "rubbish", "Retry-After": "9"}, 9.0),
        ({"retry-after-ms": "0", "Retry-After": "9"}, 9.0),
        ({"Retry-After": "3s"}, 3.0),
        ({"Retry-After": "1m2.5s"}, 62.5),
        ({"Retry-After": "1 minute"}, 60.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6.2s"}, 6.2),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "8"}, 8.0),
        ({"X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "8"}, None),
        ({"X-RateLimit-Reset": "8"}, None),
        (
            {
                "x-ratelimit-remaining-requests": "7",
                "x-ratelimit-reset-requests": "1h",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "2s",
            },
            2.0,
        ),
        ({"Retry-After": "5", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "90"}, 5.0),
        ({"Retry-After": "0"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({"Retry-After": "Wed, 99 Oct 2015 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers, wait):
    """Milliseconds first, then seconds; what is past, zero or unreadable leaves the wait to us."""
    assert requested_wait_s(headers, b"") == wait


def test_retry_after_may_be_a_date():
    """An HTTP date is counted from now."""
    wait = requested_wait_s({"Retry-After": formatdate(time.time() + 30, usegmt=True)}, b"")
    assert wait == pytest.approx(30, abs=2)


@pytest.mark.parametrize(
    ("message", "wait"),
    [
        (f"{OPENAI}Used 29937, Requested 385. Please try again in 644ms. Visit https://x.y", 0.644),
        (f"{OPENAI}Used 200, Requested 9000. Please try again in 6.2s.", 6.2),
        ("Limit 7000, Used 0, Requested ~12903. Please try again in 50.597142857s.", 50.597142857),
        ("requests per day (RPD): Limit 200, Used 200. Please try again in 7m12s.", 432.0),
        ("try again in 1h2m3.5s", 3723.5),
        ("exceeded call rate limit of your S0 pricing tier. Please retry after 6 seconds.", 6.0),
        ("Rate limit is exceeded. Try again in 2 seconds.", 2.0),
        (f"{GOOGLE}\n* Quota exceeded for metric: x, limit: 4000000\nPlease retry in 47.5s.", 47.5),
        ("Rate limit of 10 per 60s exceeded. Please wait 34 seconds before retrying.", 34.0),
        ("Request was throttled. Expected available in 9 seconds.", 9.0),
        ("Request was throttled. Your rate limit resets in ~8s.", 8.0),
        ("Too many requests, wait 2 minutes and 5 seconds", 125.0),
        ("Please try your request again in 1 minute", 60.0),
        ("please retry after 25s, resets at Wed Oct 23 2024 23:13:13 GMT+0000", 25.0),
        ("would exceed the rate limit of 20,000 input tokens per minute; try again later", None),
        ("You are using a Trial key, which is limited to 40 API calls / minute.", None),
        ("Your rate limits are 600 RPM (10 QPS) and 180000 TPM (3000 TPS).", None),
        ("Too many requests, please wait before trying again. The window is 60s.", None),
        ("Please try again in a few moments", None),
        ("Failed after retry 3 times", None),
        ("Please retry after 3 more models are loaded", None),
        (f"{GOOGLE} Please retry in 0s.", None),
    ],
)
def test_wait_in_the_words_of_an_error_is_read(message, wait):
    """OpenAI, Groq, Azure, Google, GitHub, Replicate and Django's throttles name one; Anthropic's,
    Cohere's and Together's limits per minute aren't waits."""
    body = json.dumps({"error": {"message": message, "code": "rate_limit_exceeded"}})
    assert requested_wait_s({}, body.encode()) == pytest.approx(wait)
    assert failure_of(429, {}, body.encode()).retry_after_s == pytest.approx(wait)


GOOGLE_ERROR = {
    "error": {
        "code": 429,
        "message": GOOGLE,
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38s"}],
    }
}


@pytest.mark.parametrize(
    ("document", "wait"),
    [
        (GOOGLE_ERROR, 38.0),
        ([GOOGLE_ERROR], 38.0),
        ({"error": {"code": 429, "message": json.dumps(GOOGLE_ERROR)}}, 38.0),
        ({"message": "You are being rate limited.", "retry_after": 1.5}, 1.5),
        ({"error": {"metadata": {"retry_after_seconds": 30}}}, 30.0),
        ({"error": {"metadata": {"headers": {"Retry-After": "7"}}}}, 7.0),
        ({"error": {"retry_after_ms": 350}}, 0.35),
        ({"error": {"retryAfter": None, "limit": 60}}, None),
        ({"error": {"retries": 6}}, None),
    ],
)
def test_wait_in_a_member_of_an_error_is_read(document, wait):
    """Google's RetryInfo, also as a gateway repeats it, and ``retry_after`` in its spellings."""
    assert requested_wait_s({}, json.dumps(document).encode()) == pytest.approx(wait)


def test_header_goes_before_the_body():
    """And an error inside a response with status 200 names its wait likewise."""
    body = json.dumps(GOOGLE_ERROR).encode()
    assert requested_wait_s({"retry-after": "2"}, body) == 2.0
    assert requested_wait_s({"retry-after": "soon"}, body) == 38.0
    assert failure_of(429, {}, body).reason == "rate_limited"


@given(st.integers(1, 99_999), st.sampled_from(["in", "after"]), st.booleans())
def test_every_duration_is_read_as_it_is_written(milliseconds, word, is_long):
    """Of minutes, seconds and their fractions, in letters or in words."""
    minutes, rest = divmod(milliseconds, 60_000)
    units = (" minutes, ", " seconds") if is_long else ("m", "s")
    parts = [f"{minutes}{units[0]}"] * bool(minutes) + [f"{rest / 1000}{units[1]}"]
    body = f"Please try again {word} {''.join(parts)}.".encode()
    assert requested_wait_s({}, body) == pytest.approx(milliseconds / 1000)


@given(st.binary(max_size=2000))
def test_any_body_is_read_without_an_error(body):
    """What names no wait leaves it to the caller."""
    wait = requested_wait_s({}, body)
    assert wait is None or wait > 0


@pytest.mark.parametrize("unit", [1, 1000])
def test_time_of_a_reset_is_read_in_seconds_or_milliseconds(unit):
    """OpenRouter writes milliseconds since 1970, GitHub seconds."""
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{(time.time() + 9) * unit:.0f}"}
    assert 7 < requested_wait_s(headers, b"") <= 10


def test_iso_time_of_a_reset_is_read():
    """As Anthropic writes it."""
    at = datetime.fromtimestamp(time.time() + 9, UTC).isoformat(timespec="seconds")
    headers = {
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": at.replace("+00:00", "Z"),
    }
    assert 7 < requested_wait_s(headers, b"") <= 10
