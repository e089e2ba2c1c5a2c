"""Hosted judges through litellm, asked over loopback in their providers' own languages."""

from __future__ import annotations

import asyncio
import json
import math
import os
import socket
import subprocess
import sys
import traceback
import warnings

import msgspec
import pytest
from support.judge_calls import (
    FAULTS,
    KEY,
    MESSAGES,
    NO_TASK,
    ODD_REPLIES,
    TEXT,
    ask,
    assert_no_secrets,
    judge_at,
)
from support.stub_server import letter_counts

from harness.errors import CallFailed, JudgeUnavailable
from harness.judging.judge_spec import Price
from harness.judging.judges.config import bundled_judges, load_judges, new_judge
from harness.judging.judges.embedding import HostedEmbedding
from harness.judging.judges.judge_registry import build, check, notice_of
from harness.judging.judges.pricing import price_of
from harness.judging.judges.providers import PROVIDERS
from harness.judging.parsing.text_vectors import decode_vector
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.tasks import Item, Task

STYLES = ("openai", "anthropic")
TAILS = {"ollama": "", "ollama_chat": "", "gemini": "/v1beta"}
PATHS = {
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/stub:generateContent",
    "ollama": "/api/generate",
    "ollama_chat": "/api/chat",
}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_API_BASE"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/nobody")


def hosted(stub, provider, *, fault="", say="", **fields):
    url = stub.url(fault=fault, say=say, tail=TAILS.get(provider, "/v1"))
    return judge_at(url, kind="litellm", model=f"{provider}/stub", **fields)


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_listed_provider_is_asked_through_our_connection(stub, provider):
    """The key is put in on the wire: it would be missing were another client used."""
    stub.reset()
    reply = ask(hosted(stub, provider, say="B"))
    assert (reply.text, reply.finish_reason) == ("B", "stop")
    assert reply.prompt_tokens > 0
    assert reply.completion_tokens == 1
    requests = [s for s in stub.requests() if TEXT in s["body"]]
    assert len(requests) == 1
    assert requests[0]["path"].endswith(PATHS.get(provider, "/v1/chat/completions"))
    keys = [value for value in requests[0]["headers"].values() if KEY in value]
    assert keys in ([KEY], [f"Bearer {KEY}"])
    assert KEY not in requests[0]["path"] + requests[0]["body"]


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", ["302", "307", "308"])
def test_redirects_carry_neither_key_nor_text(stub, elsewhere, provider, status):
    """Redirects followed with the API key in the header: the second origin sees nothing at all."""
    stub.reset()
    elsewhere.reset()
    to = f"{elsewhere.origin}{PATHS.get(provider, '/v1/chat/completions')}"
    failure = ask(hosted(stub, provider, fault=f"{status};to={to}"))
    assert (failure.reason, failure.stops_judge) == ("redirect_refused", True)
    assert (stub.stats()["requests"], elsewhere.stats()["requests"]) == (1, 0)
    assert_no_secrets(failure)


@pytest.mark.parametrize("style", ["openai", pytest.param("anthropic", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("fault", "reason", "facts"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults_are_told_apart_whatever_litellm_makes_of_them(stub, style, fault, reason, facts):
    """A retry layer under the retry layer: one request each; the reason is read from the wire."""
    stub.reset()
    failure = ask(hosted(stub, style, fault=fault))
    assert isinstance(failure, CallFailed)
    assert failure.reason == reason
    for name, value in facts.items():
        assert getattr(failure, name) == value, name
    assert stub.stats()["requests"] == 1
    assert_no_secrets(failure)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_provider_is_asked_again_below_the_retry_layer(stub, provider):
    """litellm once set two retries of its client for those of which it knows no such parameter."""
    stub.reset()
    failure = ask(hosted(stub, provider, fault="500"))
    assert (failure.reason, failure.retry) == ("http_500", True)
    assert stub.stats()["requests"] == 1


@pytest.mark.parametrize("style", STYLES)
def test_a_refused_connection_is_tried_again(style):
    """Nobody listens: the server may be back soon."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        failure = ask(judge_at(url, kind="litellm", model=f"{style}/stub"))
    assert (failure.reason, failure.retry) == ("unreachable", True)
    assert_no_secrets(failure)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(("fault", "text", "finish"), ODD_REPLIES, ids=[r[0] for r in ODD_REPLIES])
def test_odd_replies_are_kept_as_they_are(stub, style, fault, text, finish):
    """Silence, a filter, an early end, strange characters: replies, for the parser to judge."""
    reply = ask(hosted(stub, style, fault=fault))
    assert (reply.text, reply.finish_reason) == (text, finish)
    msgspec.json.encode(reply)


def test_a_refusal_field_counts_as_one(stub):
    """A message without content but with a refusal is refused."""
    reply = ask(hosted(stub, "openai", fault="refusal"))
    assert (reply.text, reply.finish_reason) == ("I cannot help with that.", "content_filter")


@pytest.mark.parametrize("style", STYLES)
def test_params_are_sent_and_none_is_dropped(stub, style):
    """What is in the cache key is in the request; the item's text comes last."""
    stub.reset()
    ask(hosted(stub, style, params={"max_tokens": 9, "top_p": 0.5, "temperature": 0.25}))
    body = json.loads(stub.requests()[0]["body"])
    assert (body["max_tokens"], body["top_p"], body["temperature"]) == (9, 0.5, 0.25)
    last = body["messages"][-1]["content"]
    assert MESSAGES[1].content in (last if isinstance(last, str) else last[0]["text"])


def test_a_param_that_the_model_does_not_take_stops_the_judge(stub):
    """It would fail every time; nothing is sent and nothing is dropped in silence."""
    stub.reset()
    failure = ask(hosted(stub, "anthropic", params={"frequency_penalty": 1.5}))
    assert (failure.reason, failure.stops_judge) == (
        "refused_parameter:frequency_penalty",
        True,
    )
    assert stub.stats()["requests"] == 0


def test_calls_in_flight_do_not_mix_up_their_fates(stub):
    """Two judges asked at once: one always fails, the other never does."""
    import asyncio

    from support.judge_calls import request_for

    good, bad = hosted(stub, "openai"), hosted(stub, "openai", fault="500")

    async def both():
        calls = [j.ask(request_for(j, sample=i)) for i in range(12) for j in (good, bad)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        await good.aclose()
        await bad.aclose()
        return results

    results = asyncio.run(both())
    assert {reply.text for reply in results[0::2]} <= {"A", "B"}
    assert {failure.reason for failure in results[1::2]} == {"http_500"}


def test_only_the_judges_own_server_gets_requests(stub, monkeypatch):
    """A base URL in the environment does not move a judge, nor its key."""
    stub.reset()
    monkeypatch.setenv("GEMINI_API_BASE", stub.origin)
    failure = ask(judge_at(None, kind="litellm", model="gemini/stub"))
    assert (failure.reason, failure.stops_judge) == ("wrong_address", True)
    assert stub.stats()["requests"] == 0


def test_nothing_is_printed_or_logged(stub, capfd, caplog):
    """litellm's banners and its loggers, which quote prompts, are silent."""
    for fault in ("", "400", "500", "trunc"):
        for style in STYLES:
            ask(hosted(stub, style, fault=fault))
    out, err = capfd.readouterr()
    assert TEXT not in out + err + caplog.text
    assert KEY not in out + err + caplog.text
    assert "Feedback" not in out + err


def test_no_warning_quotes_a_reply(stub):
    """A content that is no text makes pydantic warn, within litellm, of what it says."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        failure = ask(hosted(stub, "openai", fault="number"))
    assert (failure.reason, failure.retry) == ("bad_body", True)
    assert [str(warning.message) for warning in caught if "7" in str(warning.message)] == []


def test_reply_whose_tokens_nobody_counted_has_no_price(stub):
    """It is not free: what it cost is unknown."""
    reply = ask(hosted(stub, "openai", fault="nousage", price=Price(input=1, output=1)))
    assert (reply.text, reply.prompt_tokens, reply.cost_usd) == ("A", None, None)


def test_tracebacks_hold_neither_key_nor_text(stub):
    """A failure printed with all its frames' lines tells nothing."""
    for style in STYLES:
        for fault in ("401", "reset", "trunc"):
            shown = "".join(traceback.format_exception(ask(hosted(stub, style, fault=fault))))
            assert KEY not in shown
            assert TEXT not in shown


@pytest.mark.slow
def test_a_dot_env_file_is_left_alone(tmp_path):
    """litellm would read `.env` from the folder it is started in."""
    (tmp_path / ".env").write_text("FROM_DOT_ENV=yes\n")
    code = (
        "import os; from harness.judging.judges.hosted import load_litellm; m = load_litellm();"
        "assert 'FROM_DOT_ENV' not in os.environ; assert m.cache is None; assert not m.drop_params"
    )
    env = {k: v for k, v in os.environ.items() if k != "LITELLM_MODE"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=env)


def test_an_unguarded_provider_runs_only_with_permission(stub):
    """Cohere goes through a client of litellm's own: refused, or followed with eyes open."""
    stub.reset()
    fields = {"kind": "litellm", "model": "cohere_chat/stub"}
    careful = judge_at(stub.url(), **fields)
    with pytest.raises(JudgeUnavailable, match=r"'cohere_chat'.*--allow-redirects"):
        check(careful.spec)
    failure = ask(careful)
    assert (failure.reason, failure.stops_judge) == ("unguarded", True)
    assert stub.stats()["requests"] == 0
    failure = ask(judge_at(stub.url(), **fields, allow_redirects=True))
    assert (failure.reason, failure.stops_judge) == ("not_found", True)  # the stub speaks no Cohere
    assert_no_secrets(failure)


def test_a_server_without_an_address_is_asked_for_one():
    """vLLM runs where the user runs it."""
    with pytest.raises(JudgeUnavailable, match="base_url"):
        check(new_judge(name="v", model="hosted_vllm/qwen"))


def test_an_embedding_model_is_asked_through_our_connection(stub):
    """litellm makes the request; the key is put in on the wire, and the list has the price."""
    stub.reset()
    name = "openai/text-embedding-3-small"
    spec = new_judge(
        name="hosted", kind="embedding", model=name, base_url=stub.url(), key_env="STUB_KEY"
    )
    item = Item("i1", {"text": "one"})
    task = Task(name="x", property="what it is", scale="text", items=(item,), ratings=())
    judge = HostedEmbedding(spec, task, Prompts(task, {}))

    async def vector():
        await judge.prepare()
        reply = await judge.ask(judge.request(Unit("i1", "forced_choice")))
        await judge.aclose()
        return decode_vector(reply.text)

    counts = letter_counts("one")
    expected = [n / math.hypot(*counts) for n in counts]
    assert asyncio.run(vector()).tolist() == pytest.approx(expected)
    assert stub.requests()[0]["headers"]["Authorization"] == f"Bearer {KEY}"
    assert price_of(new_judge(name="x", kind="embedding", model=name)).input == 0.02


@pytest.mark.parametrize(
    ("fields", "sent", "protocol"),
    [
        ("", "claude-haiku-4-5", "Anthropic's"),
        ("model: anthropic/stub", "stub", "Anthropic's"),
        ("model: team/stub", "team/stub", "Anthropic's"),
        (
            "model: anthropic/stub, kind: endpoint",
            "anthropic/stub",
            "OpenAI's",
        ),
        ("model: openai/stub", "openai/stub", "OpenAI's"),
    ],
)
def test_claude_at_a_gateway_was_asked_in_another_protocol(stub, tmp_path, fields, sent, protocol):
    """The address made it an OpenAI server's judge, and nothing said for which model."""
    stub.reset()
    spec = moved(tmp_path, "claude", stub.url(say="B"), fields)
    assert ask(build(spec, NO_TASK, None)).text == "B"
    [request] = [s for s in stub.requests() if TEXT in s["body"]]
    is_own = protocol == "Anthropic's"
    assert request["path"].endswith("/v1/messages" if is_own else "/v1/chat/completions")
    assert json.loads(request["body"])["model"] == sent
    assert [value for value in request["headers"].values() if KEY in value] == [
        KEY if is_own else f"Bearer {KEY}"
    ]
    assert (
        notice_of(spec)
        == f"claude: requests to {spec.base_url} use {protocol} protocol and model {sent!r}"
    )


@pytest.mark.parametrize(
    ("fields", "sent"), [("", None), ("model: openai/stub", "openai/stub"), ("model: stub", "stub")]
)
def test_gpt_at_a_gateway_says_for_which_model_it_asks(stub, tmp_path, fields, sent):
    """Names are sent as they stand in the file; without one, by the provider's own name."""
    stub.reset()
    spec = moved(tmp_path, "gpt", stub.url(say="B"), fields)
    sent = sent or bundled_judges()["gpt"].model.removeprefix("openai/")
    assert ask(build(spec, NO_TASK, None)).text == "B"
    [request] = [s for s in stub.requests() if TEXT in s["body"]]
    assert request["path"].endswith("/v1/chat/completions")
    assert json.loads(request["body"])["model"] == sent
    assert (
        notice_of(spec)
        == f"gpt: requests to {spec.base_url} use OpenAI's protocol and model {sent!r}"
    )


def test_a_moved_judge_takes_its_providers_key_along_only_if_named(stub, tmp_path, monkeypatch):
    """The gateway gets the key that the entry names, and no other."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-provider")
    stub.reset()
    spec = moved(tmp_path, "claude", stub.url(say="B"), "key_env: null")
    ask(build(spec, NO_TASK, None))
    [request] = [s for s in stub.requests() if TEXT in s["body"]]
    assert "sk-of-the-provider" not in json.dumps(request)


def moved(folder, name, url, fields):
    """Return the judge of an alias that a user's file moves to an address."""
    file = folder / "judges.yaml"
    key = "" if "key_env" in fields else "key_env: STUB_KEY, "
    file.write_text(f"judges: {{{name}: {{{key}base_url: '{url}', {fields}}}}}", encoding="utf-8")
    return load_judges(file)[name]
