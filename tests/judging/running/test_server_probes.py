"""A server that does not reply is probed at growing intervals, and given up after a minute."""

from __future__ import annotations

import pytest

from harness.errors import CallFailed
from harness.judging.running.rate_limit import OPENS_AFTER, PROBES, Rate, is_unanswered


def probing_at(now: float, n_started: int) -> Rate:
    """The rate of a server that just stopped replying, with ``n_started`` calls started."""
    rate = Rate(n_started)
    tickets = [rate.enter(now)[0] for _ in range(n_started)]
    given_up = [rate.unanswered(now, ticket) for ticket in tickets[:OPENS_AFTER]]
    assert not any(given_up)
    assert rate.is_probing
    assert rate.n_places == 1
    return rate


def test_failures_in_a_row_open_it_and_a_reply_starts_the_count_again():
    """Nine failures and a reply, as often as you like, leave it closed."""
    rate = Rate(8)
    for _ in range(5):
        for ticket in range(OPENS_AFTER - 1):
            rate.unanswered(0.0, ticket)
        assert not rate.is_probing
        assert not rate.is_settled
        assert rate.next_call_s == float("-inf")
        rate.succeeded(0.0)
        assert rate.is_settled


def test_probes_are_spread_over_a_minute_and_the_last_gives_the_server_up():
    """The waits are 1, 2, 4, 8, 16 and 30 seconds."""
    rate, now, waits = probing_at(0.0, 64), 0.0, []
    for probe in range(PROBES):
        ticket, wait_s = rate.enter(now)
        waits.append(wait_s)
        now += wait_s
        assert rate.unanswered(now, ticket) == (probe == PROBES - 1)
    assert waits == [1, 2, 4, 8, 16, 30]


def test_calls_from_before_it_opened_are_no_probes():
    """Sixty-four calls that fail at one moment count as one outage."""
    rate = probing_at(0.0, 64)
    for ticket in range(OPENS_AFTER, 65):
        assert not rate.unanswered(0.5, ticket)
    assert rate.next_call_s == 1.0


def test_reply_closes_it():
    """Also a late reply to a call from before it opened: the server lives."""
    rate = probing_at(5.0, 20)
    rate.succeeded(5.0)
    assert not rate.is_probing
    assert rate.n_places == 20
    assert rate.next_call_s == float("-inf")


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
