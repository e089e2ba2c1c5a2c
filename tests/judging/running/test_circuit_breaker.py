"""A server that does not reply is probed at growing intervals, and given up after a minute."""

from __future__ import annotations

import pytest

from harness.errors import CallFailed
from harness.judging.running.circuit_breaker import (
    OPENS_AFTER,
    PROBES,
    CircuitBreaker,
    is_unanswered,
)


def open_at(now: float, n_started: int) -> CircuitBreaker:
    """A breaker that opened just now, with ``n_started`` calls under way or ended."""
    breaker = CircuitBreaker()
    given_up = [breaker.failed(now, n + 1, n_started) for n in range(OPENS_AFTER)]
    assert not any(given_up)
    assert breaker.is_open
    return breaker


def test_failures_in_a_row_open_it_and_a_reply_starts_the_count_again():
    """Nine failures and a reply, as often as you like, leave it closed."""
    breaker = CircuitBreaker()
    for _ in range(5):
        for ticket in range(OPENS_AFTER - 1):
            breaker.failed(0.0, ticket, 100)
        assert not breaker.is_open
        assert breaker.next_probe_s == float("-inf")
        breaker.succeeded()


def test_probes_are_spread_over_a_minute_and_the_last_gives_the_server_up():
    """The waits are 1, 2, 4, 8, 16 and 30 seconds."""
    breaker, now, waits = open_at(0.0, 64), 0.0, []
    for probe in range(PROBES):
        waits.append(breaker.next_probe_s - now)
        now += waits[-1]
        given_up = breaker.failed(now, 65 + probe, 65 + probe)
        assert given_up == (probe == PROBES - 1)
    assert waits == [1, 2, 4, 8, 16, 30]


def test_calls_from_before_it_opened_are_no_probes():
    """Sixty-four calls that fail at one moment count as one outage."""
    breaker = open_at(0.0, 64)
    for ticket in range(OPENS_AFTER, 65):
        assert not breaker.failed(0.5, ticket, 64)
    assert breaker.next_probe_s == 1.0


def test_reply_closes_it():
    """Also a late reply to a call from before it opened: the server lives."""
    breaker = open_at(5.0, 20)
    breaker.succeeded()
    assert not breaker.is_open
    assert breaker.next_probe_s == float("-inf")


@pytest.mark.parametrize(
    ("failure", "counts"),
    [
        (CallFailed("unreachable", retry=True), True),
        (CallFailed("connection_lost", retry=True), True),
        (CallFailed("timeout", retry=True), True),
        (CallFailed("http_502", retry=True), True),
        (CallFailed("bad_body", retry=True, paid=True), True),
        (CallFailed("rate_limited", retry=True), False),
        (CallFailed("bad_request"), False),
        (CallFailed("content_filter"), False),
    ],
)
def test_only_calls_without_a_usable_reply_count(failure, counts):
    """A server that refuses a request, or asks to wait, does reply."""
    assert is_unanswered(failure) is counts
