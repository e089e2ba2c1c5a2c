"""The OpenAI-compatible judge, asked over loopback: good replies, and the fault matrix."""

from __future__ import annotations

import gc
import json
import socket
import time
import traceback
from pathlib import Path

import msgspec
import pytest
from pydantic import ValidationError
from support.doc_pages import blocks
from support.judge_calls import (
    FAULTS,
    KEY,
    MESSAGES,
    ODD_REPLIES,
    TEXT,
    ask,
    assert_no_secrets,
    judge_at,
)
from support.judge_runs import run_judge
from support.memory import forget_peak, peak_kib
from support.processes import start_server
from support.task_folders import make_task_folder

from harness.errors import CallFailed
from harness.judging.judge_spec import JudgeSpec, Price
from harness.judging.judges.config import load_judges, new_judge
from harness.judging.judges.endpoint import REST_S, ServerList
from harness.tasks import load_task


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)


def test_a_reply_carries_what_the_server_counted(stub):
    """Text, model, tokens, cached tokens, cost and latency are those of the answer."""
    price = Price(input=2, output=8, cached=1)
    reply = ask(judge_at(stub.url(say="B"), price=price))
    assert (reply.text, reply.finish_reason, reply.model) == ("B", "stop", "stub-2026-01-01")
    n_prompt = sum(len(m.content) for m in MESSAGES) // 4
    assert (reply.prompt_tokens, reply.completion_tokens) == (n_prompt, 1)
    assert reply.cached_tokens == n_prompt // 2
    fresh = n_prompt - n_prompt // 2
    assert reply.cost_usd == pytest.approx((2 * fresh + n_prompt // 2 + 8) / 1e6)
    assert 0 < reply.latency_s < 10


def test_the_request_holds_params_and_messages_and_no_more(stub):
    """What is sent is what is hashed; the key is in the header alone."""
    stub.reset()
    ask(judge_at(stub.url(), params={"max_tokens": 8, "top_p": 0.9}))
    (sent,) = stub.requests()
    assert json.loads(sent["body"]) == {
        "model": "stub",
        "temperature": 1.0,
        "max_tokens": 8,
        "top_p": 0.9,
        "messages": [{"role": m.role, "content": m.content} for m in MESSAGES],
    }
    assert sent["headers"]["Authorization"] == f"Bearer {KEY}"


def test_no_key_named_no_key_sent(stub, monkeypatch):
    """A server of one's own gets no key of somebody else's."""
    stub.reset()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    judge = judge_at(stub.url())
    judge.spec = judge.spec.model_copy(update={"key_env": None})
    ask(judge)
    assert KEY not in json.dumps(stub.requests())


def test_the_key_is_read_when_it_is_needed(stub, monkeypatch):
    """A key that goes away stops the judge; it was held nowhere."""
    judge = judge_at(stub.url())
    assert KEY not in repr(vars(judge))
    monkeypatch.delenv("STUB_KEY")
    failure = ask(judge)
    assert (failure.reason, failure.stops_judge) == ("no_key", True)
    assert "STUB_KEY" in str(failure)


def test_connections_are_kept_and_as_many_as_calls_in_flight(stub):
    """No more than ``concurrency`` requests are under way at once."""
    stub.reset()
    replies = ask(judge_at(stub.url(ms=20), concurrency=3), times=12)
    assert all(reply.text in {"A", "B"} for reply in replies)
    assert stub.stats()["max_in_flight"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "reason", "facts"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults_are_told_apart(stub, fault, reason, facts):
    """Each line of the matrix: one request, one reason, retried or not, nothing told."""
    stub.reset()
    failure = ask(judge_at(stub.url(fault=fault)))
    assert isinstance(failure, CallFailed)
    assert failure.reason == reason
    for name, value in facts.items():
        assert getattr(failure, name) == value, name
    assert stub.stats()["requests"] == 1
    assert_no_secrets(failure)


@pytest.mark.parametrize(("fault", "text", "finish"), ODD_REPLIES, ids=[r[0] for r in ODD_REPLIES])
def test_odd_replies_are_kept_as_they_are(stub, fault, text, finish):
    """Silence, a filter, an early end, strange characters: replies, for the parser to judge."""
    reply = ask(judge_at(stub.url(fault=fault)))
    assert (reply.text, reply.finish_reason) == (text, finish)
    msgspec.json.encode(reply)


def test_a_refusal_field_counts_as_one(stub):
    """A message without content but with a refusal is refused."""
    reply = ask(judge_at(stub.url(fault="refusal")))
    assert (reply.text, reply.finish_reason) == ("I cannot help with that.", "content_filter")


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
def test_redirects_carry_neither_key_nor_text(stub, elsewhere, status):
    """Redirects followed with the API key in the header: the second origin sees nothing at all."""
    elsewhere.reset()
    to = f"{elsewhere.origin}/v1/chat/completions"
    failure = ask(judge_at(stub.url(fault=f"{status};to={to}")))
    assert (failure.reason, failure.stops_judge) == ("redirect_refused", True)
    assert elsewhere.stats()["requests"] == 0


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_a_slow_drip_is_ended_by_the_wall_deadline(stub, fault):
    """No timeout per read is needed: who waits outside can cancel, and the judge goes on."""
    judge = judge_at(stub.url(fault=f"{fault}*1"))
    start = time.monotonic()
    assert isinstance(ask(judge, deadline_s=0.3), TimeoutError)
    assert time.monotonic() - start < 3
    assert ask(judge).text in {"A", "B"}


def test_a_refused_connection_is_tried_again(stub):
    """Nobody listens: the server may be back soon."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        failure = ask(judge_at(f"http://127.0.0.1:{taken.getsockname()[1]}/v1"))
    assert (failure.reason, failure.retry) == ("unreachable", True)
    assert_no_secrets(failure)


@pytest.mark.slow
def test_a_reply_that_unpacks_to_gigabytes_costs_little_memory(stub):
    """240 MB out of a gzip bomb are never held."""
    before = forget_peak()
    assert ask(judge_at(stub.url(fault="bomb"))).reason == "reply_too_large"
    gc.collect()
    assert peak_kib() - before < 80_000  # KiB


def test_a_large_prompt_is_sent_whole(stub):
    """Two megabytes of text arrive as they are."""
    stub.reset()
    judge = judge_at(stub.url(), params={"stop": "x" * (2 << 20)})
    assert ask(judge).text in {"A", "B"}
    assert len(stub.requests()[0]["body"]) > 2 << 20


def test_tracebacks_hold_neither_key_nor_text(stub):
    """A failure printed with all its frames' lines tells nothing."""
    for fault in ("401", "reset", "trunc"):
        failure = ask(judge_at(stub.url(fault=fault)))
        shown = "".join(traceback.format_exception(failure))
        assert KEY not in shown
        assert TEXT not in shown


def spec(*urls, **fields):
    options = {"name": "m", "model": "stub", "base_url": list(urls), "samples": 1} | fields
    return new_judge(**options)


def test_servers_are_called_in_turn():
    """Each gets every third call of three."""
    servers = ServerList(["a", "b", "c"])
    assert [servers.next() for _ in range(6)] == ["a", "b", "c", "a", "b", "c"]


def test_server_that_cannot_be_reached_is_skipped():
    """It gets no call for a while; where none can be reached, the one that failed first does."""
    now = 0.0
    servers = ServerList(["a", "b"], lambda: now)
    servers.skip("a")
    assert [servers.next() for _ in range(3)] == ["b", "b", "b"]
    now = 1.0
    servers.skip("b")
    assert servers.next() == "a"
    now = REST_S + 1
    assert {servers.next(), servers.next()} == {"a", "b"}


def test_list_of_addresses_is_checked():
    """Each is checked as one alone; only endpoints take a list; requests name the first."""
    several = spec("http://127.0.0.1:1/v1/", "http://127.0.0.1:2/v1/")
    assert several.base_url == "http://127.0.0.1:1/v1"
    assert several.other_urls == ("http://127.0.0.1:2/v1",)
    assert JudgeSpec.model_validate(several.model_dump()) == several
    with pytest.raises(ValidationError, match="http://host:port"):
        spec("http://127.0.0.1:1/v1", "ftp://127.0.0.1")
    with pytest.raises(ValidationError, match="not a list"):
        spec("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1", kind="litellm")


def test_example_of_the_docs_can_be_read(tmp_path):
    """The page on judges has a file that names two servers."""
    page = Path(__file__).resolve().parents[3] / "docs/how-to/judges.md"
    [block] = [b for b in blocks(page.read_text(encoding="utf-8")) if b.title == "servers.yaml"]
    (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    assert len(load_judges(tmp_path / block.title)["llama"].other_urls) == 1


def test_one_of_three_servers_is_dead(stub, tmp_path):
    """Every unit is answered by the other two, about evenly, and nothing is sent twice."""
    make_task_folder(tmp_path / "task", 40)
    task = load_task(tmp_path / "task")
    stub.reset()
    with start_server() as second:
        judge = spec("http://127.0.0.1:9/v1", stub.url(ms=5), second.url(ms=5), concurrency=4)
        log, end, _ = run_judge(
            judge, task, tmp_path / "log.jsonl", elicitations=("forced_choice",), samples=1
        )
        requests = [server.stats()["requests"] for server in (stub, second)]
    assert end == ""
    assert all(verdict.outcome == "answered" for verdict in log.final.values())
    assert sum(requests) == len(log.final) == 40
    assert min(requests) >= 10
