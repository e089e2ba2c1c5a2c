"""The pace of a judge on a simulated clock: low start, addition, cuts, limits held."""

from __future__ import annotations

import heapq

from hypothesis import given
from hypothesis import strategies as st

from harness.judging.running.rate_limit import CUT, Rate


def play(rate: Rate, *, n: int, latency_s: float, capacity=None, tokens=0.0) -> list[float]:
    """Ask a server that answers 429 beyond ``capacity`` in flight; give the times of sending."""
    now, waiting, flying, sent = 0.0, n, [], []
    while waiting or flying:
        while waiting and rate.in_flight < int(rate.limit):
            waiting -= 1
            ticket, wait_s = rate.enter(now, tokens)
            sent.append(now + wait_s)
            at_work = sum(start <= now + wait_s < end for end, _, start, _ in flying)
            refused = capacity is not None and at_work >= capacity
            heapq.heappush(flying, (now + wait_s + latency_s, ticket, now + wait_s, refused))
        now, ticket, _, refused = heapq.heappop(flying)
        if refused:
            rate.limited(now, ticket)
            waiting += 1
        else:
            rate.succeeded(now)
        rate.leave()
    return sorted(sent)


def test_pace_starts_low_and_reaches_the_ceiling_within_as_many_replies():
    """From a quarter to all of 64 in 48 replies."""
    rate = Rate(64, start=16)
    assert int(rate.limit) == 16
    for _ in range(47):
        rate.succeeded(1.0)
    assert int(rate.limit) == 63
    rate.succeeded(1.0)
    assert rate.limit == 64
    assert [event.reason for event in rate.history] == ["start", "ceiling"]


def test_judge_with_a_setting_of_its_own_starts_there():
    """Without a start the ceiling holds from the first call."""
    assert int(Rate(256).limit) == 256


def test_one_episode_cuts_once():
    """Thirty-two 429 of one moment halve the limit once; the next afterwards halves it again."""
    rate = Rate(32)
    tickets = [rate.enter(0.0)[0] for _ in range(32)]
    for ticket in tickets:
        rate.limited(1.0, ticket)
        rate.leave()
    assert rate.limit == 32 * CUT
    rate.limited(2.0, rate.enter(2.0)[0])
    assert rate.limit == 32 * CUT * CUT
    assert [event.reason for event in rate.history] == ["start", "cut", "cut"]


def test_longest_wait_that_a_server_asked_for_holds_for_every_call():
    """Also for a call that begins to wait in between; afterwards calls are sent as before."""
    rate = Rate(4)
    ticket, wait_s = rate.enter(0.0)
    assert wait_s <= 0
    rate.limited(1.0, ticket, 6.0)
    rate.limited(2.0, ticket, 1.0)
    assert rate.enter(3.0)[1] == 4.0
    assert rate.enter(7.5)[1] <= 0


def test_after_a_cut_growth_is_one_per_round():
    """As many replies as may be in flight allow about one more call."""
    rate = Rate(100)
    rate.limited(0.0, rate.enter(0.0)[0])
    before = rate.limit
    for _ in range(int(before)):
        rate.succeeded(1.0)
    assert before + 0.9 < rate.limit <= before + 1


def test_pace_finds_what_a_server_can_take():
    """Of a server that refuses beyond 20 in flight, few calls are refused and it is kept busy."""
    rate = Rate(256, start=64)
    sent = play(rate, n=5000, latency_s=1.0, capacity=20)
    assert len(sent) - 5000 < 0.15 * 5000, "refused calls"
    assert 5000 / sent[-1] > 0.6 * 20, "calls per second of 20 possible"


@given(
    rpm=st.integers(1, 6000),
    n=st.integers(2, 300),
    latency_s=st.floats(0.001, 5),
    ceiling=st.integers(1, 64),
)
def test_no_minute_has_more_requests_than_allowed(rpm, n, latency_s, ceiling):
    """In every half-open minute at most rpm requests are sent."""
    sent = play(Rate(ceiling, rpm=rpm), n=n, latency_s=latency_s)
    assert all(late - early >= 60 - 1e-6 for early, late in zip(sent, sent[rpm:], strict=False))


@given(tpm=st.integers(100, 100_000), tokens=st.integers(1, 500), n=st.integers(2, 200))
def test_no_minute_has_more_tokens_than_allowed_but_for_the_last_request(tpm, tokens, n):
    """Tokens of a minute, without those of its last request, stay below tpm."""
    sent = play(Rate(16, tpm=tpm), n=n, latency_s=0.01, tokens=tokens)
    within = int(tpm // tokens) + 1  # so many requests and one more cannot start within a minute
    assert all(late - early >= 60 - 1e-6 for early, late in zip(sent, sent[within:], strict=False))


def test_limit_per_minute_is_used_to_nearly_all_of_it():
    """600 requests per minute are sent at 98 % of that."""
    sent = play(Rate(64, rpm=600), n=3000, latency_s=0.1)
    assert 3000 / sent[-1] * 60 > 0.95 * 600


@given(
    st.lists(st.sampled_from(["enter", "ok", "429", "lost"]), max_size=200),
    st.integers(1, 64),
    st.integers(1, 64),
)
def test_limit_stays_between_one_and_the_ceiling(steps, ceiling, start):
    """Whatever happens, at least one call may be sent and never more than the ceiling."""
    rate, flying = Rate(ceiling, start=start), []
    for now, step in enumerate(steps):
        if step == "enter" and rate.in_flight < int(rate.limit):
            flying.append(rate.enter(float(now))[0])
        elif step != "enter" and flying:
            ticket = flying.pop(0)
            if step == "ok":
                rate.succeeded(float(now))
            elif step == "429":
                rate.limited(float(now), ticket)
            rate.leave()
        assert 1 <= rate.limit <= ceiling
        assert rate.in_flight == len(flying) <= ceiling
