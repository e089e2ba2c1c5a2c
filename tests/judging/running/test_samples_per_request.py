"""Several samples in one request: its prompt is paid for once, each sample has its own verdict."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support.judge_runs import n_lines, run_judge
from support.task_folders import make_task_folder

from harness.judging.judges.config import new_judge
from harness.judging.running.budget import CostBudget
from harness.judging.storage.response_cache import ResponseCache
from harness.tasks import load_task

PRICE = {"input": 100.0, "output": 400.0}
N_ITEMS = 6


@pytest.fixture
def asked(tmp_path, stub):
    """Ask a judge of the stub's about a task; give the log, how it ended and the session."""
    stub.reset()
    task = load_task(make_task_folder(tmp_path / "task", N_ITEMS))

    def go(*, fault="", samples=10, elicitations=("forced_choice",), log="log.jsonl", **fields):
        parts = {name: fields.pop(name) for name in ("store", "budget") if name in fields}
        options = {"n_per_request": 10, "samples": samples, "base_url": stub.url(fault=fault)}
        spec = new_judge(**({"name": "far", "model": "stub", "price": PRICE} | options | fields))
        asking = {"elicitations": elicitations, "samples": samples} | parts
        return run_judge(spec, task, tmp_path / log, **asking)

    return go


def sizes(stub) -> Counter:
    """How many samples the stub was asked for at once, and how often."""
    return Counter(json.loads(seen["body"]).get("n", 1) for seen in stub.requests())


def test_samples_of_an_item_share_one_request(asked, stub, tmp_path):
    """Ten samples of six items are six requests, and sixty verdicts with their own numbers."""
    log, end, _ = asked()
    assert end == ""
    assert sizes(stub) == {10: N_ITEMS}
    assert {key.sample for key in log.final} == set(range(10))
    assert len(log.final) == n_lines(tmp_path / "log.jsonl") == 10 * N_ITEMS
    assert len({verdict.request for verdict in log.final.values()}) == 10 * N_ITEMS


def test_prompt_of_shared_samples_is_paid_for_once(asked, stub):
    """Tokens and cost of all verdicts are those of six prompts, not of sixty."""
    log, _, _ = asked()
    replies = [reply for verdict in log.final.values() for reply in verdict.replies]
    together = sum(reply.prompt_tokens for reply in replies)
    cost = sum(reply.cost_usd for reply in replies)
    alone, _, _ = asked(n_per_request=1, log="alone.jsonl")
    singly = [reply for verdict in alone.final.values() for reply in verdict.replies]
    assert together * 10 == sum(reply.prompt_tokens for reply in singly)
    completion = sum(reply.completion_tokens for reply in replies)
    assert cost == pytest.approx((together * 100 + completion * 400) / 1e6)


@pytest.mark.parametrize(("fault", "n_more"), [("n1", 0), ("n400", 1)])
def test_server_that_gives_fewer_is_asked_singly_from_then_on(asked, stub, fault, n_more):
    """One sample of ten came, or `n` was refused: the rest is asked alone, nothing is lost."""
    log, end, _ = asked(fault=fault, concurrency=1)
    assert (end, len(log.final)) == ("", 10 * N_ITEMS)
    assert {verdict.outcome for verdict in log.final.values()} == {"answered"}
    assert sizes(stub)[1] + sizes(stub)[10] == 10 * N_ITEMS + n_more
    assert sizes(stub)[10] < N_ITEMS + 1


def test_request_for_several_is_retried_as_one(asked, stub):
    """A 429 costs one more request for the ten, not ten."""
    log, _, _ = asked(fault="429*1")
    assert len(log.final) == 10 * N_ITEMS
    assert sizes(stub) == {10: 2 * N_ITEMS}


def test_request_for_several_that_fails_for_good_fails_each(asked, stub):
    """A prompt that is too long is so for every sample; each has its record."""
    log, _, _ = asked(fault="context")
    assert Counter(v.reason for v in log.final.values()) == {"context_length": 10 * N_ITEMS}
    assert sizes(stub) == {10: N_ITEMS}


def test_refused_key_stops_the_judge_at_the_first_reply(asked, stub):
    """Nothing is asked singly after a key was refused."""
    log, end, _ = asked(fault="401", concurrency=1)
    assert end == "unauthorized"
    assert stub.stats()["requests"] == 1
    assert [verdict.reason for verdict in log.final.values()] == ["unauthorized"]


@pytest.mark.parametrize("fault", ["401", "403", "404", "quota"])
def test_reply_that_stops_a_judge_is_followed_by_no_request(asked, stub, fault):
    """Of sixty calls, eight at once, none leaves after the first reply; those in flight count."""
    log, end, _ = asked(fault=fault, n_per_request=1, concurrency=8)
    assert end
    assert 1 <= stub.stats()["requests"] <= 8
    assert len(log.final) == stub.stats()["requests"]
    assert {verdict.reason for verdict in log.final.values()} == {end}


def test_cache_stays_per_sample(asked, stub, tmp_path):
    """Of six samples wanted, four are in the cache and only two are asked for."""
    store = ResponseCache(tmp_path / "cache")
    asked(samples=4, store=store)
    stub.reset()
    log, _, _ = asked(samples=6, store=store, log="second.jsonl")
    store.close()
    assert sizes(stub) == {2: N_ITEMS}
    assert sum(verdict.from_store for verdict in log.final.values()) == 4 * N_ITEMS


def test_turns_of_a_pair_are_never_shared(asked, stub):
    """Each pair is a conversation of its own."""
    log, _, _ = asked(elicitations=("paired",), samples=3)
    assert sizes(stub) == {1: 2 * 3 * N_ITEMS}
    assert len(log.final) == 3 * N_ITEMS


@pytest.mark.slow
def test_samples_are_shared_through_litellm_too(asked, stub):
    """OpenAI's own models are asked for ten at once unless told otherwise."""
    own = new_judge(name="gpt", model="openai/gpt-5.4-mini")
    assert (own.n_per_request, new_judge(name="c", model="claude-haiku-4-5").n_per_request) == (
        10,
        1,
    )
    log, end, _ = asked(kind="litellm", model="openai/stub", samples=5)
    assert (end, len(log.final)) == ("", 5 * N_ITEMS)
    assert sizes(stub) == {5: N_ITEMS}


def test_limit_is_nearly_used_up_and_never_exceeded(asked):
    """A run stops within the most that one call may cost of --max-cost, although many are in
    flight."""
    whole, _, _ = asked(n_per_request=1, log="whole.jsonl")
    total = sum(r.cost_usd for v in whole.final.values() for r in v.replies)
    budget = CostBudget(total / 2)
    log, _, _ = asked(n_per_request=1, budget=budget, log="half.jsonl", concurrency=64)
    spent = sum(r.cost_usd for v in log.final.values() for r in v.replies)
    assert spent == pytest.approx(budget.spent_usd)
    assert budget.limit_usd - budget.refused_usd < spent <= budget.limit_usd
    assert budget.exhausted


def test_pace_starts_low_only_without_a_setting_and_halves_at_429(asked, stub):
    """An endpoint's 64 begin with 16; a concurrency of one's own holds from the first call."""
    _, _, session = asked(n_per_request=1)
    assert session.rate_history["far"][0][1:] == (16, "start")
    assert stub.stats()["max_in_flight"] <= 64
    stub.reset()
    _, _, session = asked(n_per_request=1, concurrency=8, fault="429*1", log="cut.jsonl")
    reasons = [event.reason for event in session.rate_history["far"]]
    assert session.rate_history["far"][0][1:] == (8, "start")
    assert "cut" in reasons


@pytest.mark.slow
def test_requests_per_minute_hold_on_the_wire(asked):
    """At 1,200 a minute sixty calls take two seconds: one second's worth is free."""
    import time

    begin = time.monotonic()
    asked(n_per_request=1, rpm=1200)
    assert time.monotonic() - begin > (60 - 20) / 20 * 0.9
