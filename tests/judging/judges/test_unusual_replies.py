"""Replies with status 200 that hold no answer, or an unusual one: errors, cuts, reasoning."""

from __future__ import annotations

import json

import pytest
from support.judge_calls import KEY, ask, judge_at
from support.task_folders import make_task_folder

from harness.errors import CallFailed
from harness.judging.judges.config import new_judge, with_strategy
from harness.judging.judges.judge_registry import build
from harness.judging.judges.prompt_tokens import cut_prompt_tokens
from harness.judging.judges.response_errors import may_be_billed
from harness.judging.parsing.reply_reader import ReplyReader
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Message, Unit
from harness.judging.prompts.requests import Prompts, Request
from harness.judging.strategies.strategy_registry import named
from harness.tasks import load_task

STYLES = {"direct": "stub", "litellm": "openai/stub"}


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)


@pytest.fixture(params=STYLES)
def reply_to(request, stub):
    """Return the reply of a server, or its failure, to a patch of an ordinary one."""

    def go(text="A", params=None, **patch):
        kind = {"kind": "litellm"} if request.param == "litellm" else {}
        message = {"content": text} | patch.pop("message", {})
        url = stub.url(patch=json.dumps({"message": message, **patch}))
        return ask(judge_at(url, model=STYLES[request.param], params=params or {}, **kind))

    return go


def verdict_on(reply, task, strategy="zero-shot", elicitation="forced_choice"):
    """Read a reply to the first item."""
    reader = ReplyReader(task, named(strategy))
    return reader.verdict(reply, Unit("i0", elicitation), "j")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(make_task_folder(tmp_path_factory.mktemp("unusual") / "task", 2))


UPSTREAM = {"code": 502, "message": "upstream went away"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ({"choice": {"finish_reason": "error", "error": UPSTREAM}}, "http_502"),
        ({"choice": {"error": UPSTREAM}}, "http_502"),
        ({"choice": {"error": {"code": "429", "message": "slow down"}}}, "rate_limited"),
        ({"choice": {"error": "connection reset"}}, "error_body"),
        ({"message": {"error": UPSTREAM}}, "http_502"),
        ({"choice": {"finish_reason": "error"}}, "error_body"),
        ({"choice": {"native_finish_reason": "network_error"}}, "error_body"),
        ({"choice": {"finish_reason": "insufficient_system_resource"}}, "error_body"),
        ({"top": {"error": UPSTREAM}}, "http_502"),
        ({"top": {"error": {"message": "no code"}}}, "error_body"),
        ({"top": {"choices": []}}, "no_choices"),
        ({"top": {"choices": None, "object": "error", "message": "out of memory"}}, "error_body"),
        ({"top": {"choices": None, "code": 429, "message": "slow down"}}, "rate_limited"),
        ({"top": {"choices": [{"index": 0, "finish_reason": "stop"}]}}, "no_choices"),
    ],
)
def test_error_in_a_good_response_is_a_failed_call(reply_to, patch, reason):
    """Its partial text is no answer, it can pass, and it was perhaps billed."""
    failure = reply_to("A", **patch)
    assert isinstance(failure, CallFailed)
    assert (failure.reason, failure.retry, failure.stops_judge) == (reason, True, False)
    assert may_be_billed(failure) or reason == "rate_limited"


@pytest.mark.parametrize("empty", [None, {}, "", {"code": None, "message": ""}])
def test_empty_error_is_no_error(reply_to, empty):
    """Some servers always send the member."""
    reply = reply_to("A", choice={"error": empty}, top={"error": empty})
    assert (reply.text, reply.ending) == ("A", "complete")


def test_one_failed_choice_costs_no_other(stub):
    """Of several samples those that came are kept."""
    document = {"choices": [{"error": UPSTREAM}, {"message": {"content": "B"}}], "usage": {}}
    judge = judge_at(stub.url())
    request = Request(provider="endpoint", model="stub", messages=(Message("user", "x"),))
    replies = judge._replies_in(document, [request, request.for_sample(1)], 0.1)
    assert [reply.text for reply in replies] == ["B"]


@pytest.mark.parametrize("word", ["MAX_TOKENS", "max_output_tokens", "model_length", "incomplete"])
def test_cut_off_reply_is_no_answer_however_its_provider_spells_that(reply_to, task, word):
    """The word is kept; what it means decides."""
    reply = reply_to("It could be a joke, but\nA", choice={"finish_reason": word})
    assert reply.finish_reason in {word, "length"}  # which litellm makes of some
    assert reply.ending == "cut_off"
    read = verdict_on(reply, task, "cot")
    assert (read.outcome, read.reason) == ("invalid", "cut_off")


def test_word_that_a_gateway_passes_on_counts(reply_to, task):
    """Its own is ``stop`` for whatever happened."""
    reply = reply_to("It is rude\nA", choice={"native_finish_reason": "MAX_TOKENS"})
    assert verdict_on(reply, task, "cot").reason == "cut_off"
    complete = reply_to("A", choice={"native_finish_reason": "end_turn"})
    assert (complete.finish_reason, complete.ending) == ("stop", "complete")


def test_unknown_word_is_kept(reply_to, task):
    """litellm takes it for the end of a complete reply."""
    reply = reply_to("A", choice={"finish_reason": "OTHER"})
    assert (reply.finish_reason, reply.ending) == ("OTHER", "unknown")
    assert verdict_on(reply, task).value == "A"


def test_reply_that_used_every_token_is_cut_off(reply_to, task):
    """Whatever its word; a server that ignores the limit did not cut it off there."""
    for name in ("max_tokens", "max_completion_tokens"):
        counts = {"completion_tokens": 40, "total_tokens": 90, "prompt_tokens": 50}
        reply = reply_to("It is rude\nA", {name: 40}, usage=counts)
        assert (reply.finish_reason, reply.ending) == ("stop", "cut_off")
        assert verdict_on(reply, task, "cot").reason == "cut_off"
    beyond = {"completion_tokens": 41, "total_tokens": 91, "prompt_tokens": 50}
    assert reply_to("It is rude\nA", {"max_tokens": 40}, usage=beyond).ending == "complete"


@pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
def test_reasoning_without_an_answer_is_kept_and_named(reply_to, task, member):
    """It is no empty reply; cut off, the cause is the limit of tokens."""
    reply = reply_to("", message={member: "The note is calm.\nB"})
    assert (reply.text, reply.reasoning) == ("", "The note is calm.\nB")
    read = verdict_on(reply, task)
    assert (read.outcome, read.reason) == ("invalid", "reasoning_only")
    cut = reply_to("", message={member: "The note is"}, choice={"finish_reason": "length"})
    assert verdict_on(cut, task).reason == "cut_off"


def test_reasoning_beside_an_answer_is_not_kept(reply_to):
    """The answer is what counts."""
    reply = reply_to("B", message={"reasoning_content": "A calm note"})
    assert (reply.text, reply.reasoning) == ("B", "")


@pytest.mark.parametrize("words", [300, 5000])
def test_prompt_that_the_server_cut_is_noted(words):
    """Fewer than half as many tokens as words were counted; a full count is no cut."""
    request = Request(provider="x", model="m", messages=(Message("user", "and so on " * words),))
    assert cut_prompt_tokens(request, 64) == 3 * words
    for full in (3 * words, 4 * words, 2 * words):
        assert cut_prompt_tokens(request, full) is None


@pytest.mark.parametrize("text", ["=" * 4000, "a b " * 40, " " * 4000, "你好世界" * 30])
def test_texts_with_few_tokens_are_not_cut(text):
    """Rules, blanks and short texts have few tokens."""
    request = Request(provider="x", model="m", messages=(Message("user", text),))
    assert cut_prompt_tokens(request, 64) is None


def tokens(*texts):
    """List tokens as servers do, with A and B beside each."""
    return {
        "content": [
            {
                "token": text,
                "logprob": -0.1,
                "top_logprobs": [
                    {"token": text, "logprob": -0.1},
                    {"token": "B" if "A" in text else "A", "logprob": -3.0},
                ],
            }
            for text in texts
        ]
    }


HIDDEN = ("A", " calm", " note", "</think>")


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("B", ("B",)),
        (" B\n", (" B", "\n")),
        ("B", (*HIDDEN, "B")),
        ("B", (*HIDDEN, "\n\n", "B", "<|im_end|>")),
        ("<think>A calm note</think>\nB", ("<think>", *HIDDEN, "\nB", "</s>")),
        (
            "B",
            ("<|channel|>", "analysis", "A", " note", "<|end|>", "<|message|>", "B", "<|return|>"),
        ),
    ],
)
def test_log_probabilities_are_those_of_the_answer(task, text, listed):
    """Tokens of hidden reasoning before it, and those that end it, are not read."""
    reply = Reply(request="0" * 64, text=text, logprobs=tokens(*listed))
    read = verdict_on(reply, task, "logprob")
    assert (read.outcome, read.value) == ("answered", "B")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"text": "B", "logprobs": tokens("A", " calm", " note")}, "not_aligned"),
        ({"text": "B", "logprobs": tokens("token_id:33")}, "not_aligned"),
        ({"text": "", "logprobs": tokens("A", " calm")}, "not_aligned"),
        ({"text": "", "reasoning": "A calm", "logprobs": tokens("A", " calm")}, "reasoning_only"),
        ({"text": "B", "logprobs": None}, "no_logprobs"),
        ({"text": "B", "logprobs": {"content": []}}, "no_logprobs"),
        ({"text": "A calm note", "logprobs": tokens("A", " calm", " note")}, "unreadable"),
    ],
)
def test_log_probabilities_of_another_text_are_unreadable(task, reply, reason):
    """The first token of reasoning ("A calm note") is no verdict."""
    read = verdict_on(Reply(request="0" * 64, **reply), task, "logprob")
    assert (read.outcome, read.reason) == ("invalid", reason)


LIMITS = {"max_tokens", "max_completion_tokens"}


@pytest.mark.parametrize("strategy", ["", "@cot", "@json", "@logprob"])
def test_params_as_advised_are_sent(stub, task, strategy):
    """The advice for a refused parameter: null leaves it out, one limit replaces the other."""
    base = new_judge(name="j", model="stub", base_url=stub.url())
    for name in ("temperature", "response_format", "max_tokens"):
        assert name not in sent_params(base, {name: None}, strategy, task)
    limited = sent_params(base, {"max_completion_tokens": 32}, strategy, task)
    assert LIMITS & limited.keys() == {"max_completion_tokens"}
    if strategy == "@logprob":
        assert sent_params(base, {"top_logprobs": 5}, strategy, task)["top_logprobs"] == 5


def sent_params(base, params, strategy, task):
    """Return the parameters of a request of a judge with some of its own."""
    spec = new_judge(name="j", model="stub", base_url=base.base_url, params=params)
    spec = with_strategy(spec, strategy[1:]) if strategy else spec
    return (
        build(spec, task, Prompts.load(task, strategies=[spec.asking]))
        .request(Unit("i0", "forced_choice"))
        .params
    )


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 200, "output_tokens": 2},
        {"prompt_tokens": 200.0, "completion_tokens": 2.0, "total_tokens": 202.0},
    ],
)
def test_tokens_are_counted_under_other_names_and_as_other_numbers(stub, usage):
    """A reply of unknown cost counts at its maximum, so that a cost limit is reached early."""
    patch = json.dumps({"top": {"usage": usage}})
    reply = ask(judge_at(stub.url(patch=patch), price={"input": 1, "output": 4}))
    assert (reply.prompt_tokens, reply.completion_tokens) == (200, 2)
    assert reply.cost_usd == pytest.approx(208e-6)
