"""Replies that give no verdict: how many, why, what to try, and where their texts may stand."""

from __future__ import annotations

import json

import pytest
from support.analysis_inputs import source_of, task_of
from support.task_folders import make_task_folder
from support.verdicts import verdict_from

import harness
from harness.analysis import JudgeFacts, validate
from harness.analysis.completeness import UnreadableReplies, unreadable_replies
from harness.app.run import finish
from harness.judging.judge_spec import easier_strategies
from harness.judging.judges.config import new_judge, with_max_tokens
from harness.judging.model_names import REASONING_MAX_TOKENS
from harness.report import page
from harness.report.next_steps import next_steps
from harness.report.rebuild import report_run
from harness.report.recommendation import sentences
from harness.report.text import render
from harness.report.unreadable_text import LOOSER, REWORD, attempts, sentence
from harness.runs.run_folder import RunFolder
from harness.tasks import load_task

CUT_OFF = "The answer to this"  # of the stub's fault "length"


@pytest.fixture
def cut_off(stub, tmp_path):
    """Run a judge whose replies all end at the token limit, with texts kept or not."""

    def run(*, item_text=True, fault="length"):
        folder = make_task_folder(tmp_path / f"small-{item_text}", 20)
        url = stub.url(fault=fault)
        out = tmp_path / f"runs-{item_text}"
        options = {"samples": 1, "item_text": item_text, "no_store": True, "out": out}
        return harness.run(str(folder), ["stub"], base_url=url, keep_going=True, **options)

    return run


def verdicts(judge, **outcomes):
    """Make a verdict for each reply: its text, outcome, reason and finish reason."""
    return [
        verdict_from(
            item=f"i{i}",
            judge=judge,
            elicitation="forced_choice",
            outcome=outcome,
            value="A" if outcome == "answered" else None,
            reply=reply,
            reason=reason,
            finish_reason=finish,
        )
        for i, (reply, outcome, reason, finish) in enumerate(outcomes["replies"])
    ]


def source_with(replies, **facts):
    """Make a source of a judge with some replies, and of raters who agree."""
    names = [f"i{i}" for i in range(len(replies))]
    ratings = {f"r{j}": {n: "AB"[i % 2] for i, n in enumerate(names)} for j in range(3)}
    source = source_of(task_of(ratings), {"m": dict.fromkeys(names, "A")})
    object.__setattr__(source, "judges", (JudgeFacts(name="m", kind="endpoint", **facts),))
    object.__setattr__(source, "verdicts", {"m": verdicts("m", replies=replies)})
    return source


def test_the_cause_of_unreadable_replies_was_hidden_while_the_page_talked_about_sample_sizes(
    cut_off,
):
    """Terminal and page say how many, why, three examples and what to try; nothing of samples."""
    run = cut_off()
    text, html = render(run.validation), page(run.validation)
    for shown in (" ".join(text.split()), html):
        parts = "20 of 20 forced choices and 20 of 20 response sets"
        assert (
            f"stub: 40 of 40 replies are unreadable ({parts}). Causes: cut off at 32 tokens"
            in shown
        )
        assert "--max-tokens 512" in shown
        assert "stub@json" in shown
        assert "stub@logprob" in shown
    assert f"\n    - {CUT_OFF}\n" in text
    assert f"<pre>{CUT_OFF}</pre>" in html
    [step] = next_steps(run.validation)
    assert step.startswith("Make the replies of stub readable (100.0% are not): try")
    said = " ".join([*sentences(run.validation), step])
    assert not any(word in said for word in ("more items", "raters each", "power", "would show"))


def test_share_of_all_replies_stood_beside_usable_replies_of_one_kind():
    """Of 120 response sets 115 were usable (95.8%), and "11.7% are unreadable" of 240 replies."""
    parts = {"forced_choice": (23, 120), "response_set": (5, 120)}
    replies = UnreadableReplies(
        judge="m", n=28, n_replies=240, causes={"cut off": 28}, by_elicitation=parts
    )
    assert sentence(replies) == (
        "m: 28 of 240 replies are unreadable (23 of 120 forced choices and 5 of 120 response "
        "sets). Causes: cut off (28)."
    )


def test_unreadable_replies_are_counted_by_elicitation():
    """A judge that was asked in one way has one pair of numbers."""
    [replies] = unreadable_replies(
        source_with([("A", "answered", "", "stop"), ("", "invalid", "empty", "stop")])
    )
    assert replies.by_elicitation == {"forced_choice": (1, 2)}
    assert "1 of 2 replies are unreadable (50.0%)" in sentence(replies)


@pytest.mark.slow
def test_texts_of_replies_are_in_no_log_and_no_json_and_nowhere_without_item_texts(cut_off, caplog):
    """`metrics.json` has counts and causes; a run without texts shows no examples."""
    kept, bare = cut_off(), cut_off(item_text=False)
    metrics = json.loads((kept.path / "metrics.json").read_text())
    assert metrics["unreadable"][0]["causes"] == {"cut off at 32 tokens": 40}
    assert CUT_OFF not in (kept.path / "metrics.json").read_text() + caplog.text
    assert CUT_OFF in report_run(RunFolder.open(kept.path)).files[0].read_text()
    assert CUT_OFF not in render(finish(RunFolder.open(bare.path)))
    assert "cut off at 32 tokens" in render(finish(RunFolder.open(bare.path)))


def test_replies_of_a_judge_that_stops_are_in_no_log(stub, tmp_path, caplog):
    """The API says why it stopped, and shows examples only with the result."""
    folder = make_task_folder(tmp_path / "task", 30)
    options = {"samples": 1, "no_store": True, "out": tmp_path / "runs"}
    run = harness.run(str(folder), ["stub"], base_url=stub.url(fault="length"), **options)
    assert run.exit_code == 3
    assert "0 of the first 20 replies can be read" in caplog.text
    assert CUT_OFF not in caplog.text
    assert f"\n    - {CUT_OFF}\n" in render(run.validation)


def test_a_reply_cannot_write_to_the_terminal_or_the_page():
    """Control characters are pictures, markup is escaped, and 80 characters are shown."""
    hostile = "\x1b[2J```\n<script>alert(1)</script>" + "x" * 100
    rows = [(hostile, "invalid", "no_option", "stop")] * 2 + [("A", "answered", "", "stop")] * 18
    validation = validate(source_with(rows))
    text, html = render(validation), page(validation)
    assert "- \u241b[2J```\u240a<script>alert(1)</script>" in text
    assert "x" * 50 not in text
    assert "\x1b" not in text + html
    assert "<script>alert(1)" not in html


def test_causes_are_named_and_different_ones_are_shown_first():
    """Cut off, no option named and refused each have an example; up to 5 % nothing is said."""
    rows = [
        *[("I think", "invalid", "cut_off", "length")] * 5,
        ("It depends", "invalid", "no_option", "stop"),
        ("I cannot help with that", "refused", "refusal", "stop"),
        *[("A", "answered", "", "stop")] * 13,
    ]
    [replies] = unreadable_replies(source_with(rows, max_tokens=64, other_strategies=("json",)))
    assert (replies.n, replies.n_replies) == (7, 20)
    causes = {"cut off at 64 tokens": 5, "no option named": 1, "refused": 1}
    assert replies.causes == causes
    assert replies.examples == ("I think", "It depends", "I cannot help with that")
    assert replies.options == ("--max-tokens 512",)
    assert (replies.strategies, replies.reword) == (("json",), True)
    assert not unreadable_replies(source_with([*rows[5:6], *rows[7:], *rows[7:13]]))


def test_refusals_of_a_content_filter_were_called_unreadable():
    """No wording makes them readable: the provider stopped them."""
    stopped = [("", "refused", "content_filter", "content_filter")] * 6
    [replies] = unreadable_replies(source_with([*stopped, ("A", "answered", "", "stop")]))
    assert sentence(replies) == (
        "m: 6 of 7 replies are refusals (85.7%). Causes: stopped by a content filter (6)."
    )
    assert attempts(replies) == f"try {LOOSER} or {REWORD}"
    rows = [*stopped, ("It depends", "invalid", "no_option", "stop")]
    [both] = unreadable_replies(source_with(rows))
    assert "7 of 7 replies are refusals or unreadable" in sentence(both)


@pytest.mark.parametrize(
    ("text", "strategies"),
    [("<think>Hm, A or B", ("json",)), ("It depends", ("json", "logprob"))],
)
def test_judge_that_turns_out_to_think_is_not_sent_to_its_first_token(text, strategies):
    """Its replies say so, whatever the model is called."""
    rows = [(text, "invalid", "cut_off", "length")] * 5
    source = source_with(rows, max_tokens=64, other_strategies=("json", "logprob"))
    [replies] = unreadable_replies(source)
    assert replies.strategies == strategies


def test_a_reasoning_model_was_cut_off_at_32_tokens_before_its_answer():
    """Models known to reason have room to finish; a limit of the user's own stays."""

    def limit(model, **params):
        return new_judge(name="m", model=model, params=params).params["max_tokens"]

    reasoning = ("openai/o3", "openai/gpt-5", "deepseek/deepseek-reasoner", "groq/qwen/qwen3-32b")
    assert {limit(model) for model in reasoning} == {REASONING_MAX_TOKENS}
    served = new_judge(name="m", model="deepseek-r1:8b", base_url="http://127.0.0.1:1/v1")
    assert served.params["max_tokens"] == REASONING_MAX_TOKENS
    assert limit("openai/gpt-4o") == limit("anthropic/claude-haiku-4-5") == 32
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert limit("anthropic/claude-haiku-4-5", thinking=thinking) == REASONING_MAX_TOKENS
    assert limit("openai/gpt-5", max_tokens=64) == 64
    assert limit("openai/gpt-5", reasoning_effort="none") == 32


def test_max_tokens_replaces_the_limits_of_judges_that_send_one():
    """The first token alone is asked for where its probabilities are read."""
    plain = new_judge(name="m", model="openai/gpt-4o")
    assert with_max_tokens(plain, 512).params["max_tokens"] == 512
    other = new_judge(name="m", model="openai/o3", params={"max_tokens": None})
    assert with_max_tokens(other, 512).sent_params["max_tokens"] == 512
    soft = new_judge(name="m", model="openai/gpt-4o", strategy="logprob")
    assert with_max_tokens(soft, 512) == soft
    drawn = new_judge(name="random", kind="random")
    assert with_max_tokens(drawn, 512) == drawn


def test_only_strategies_that_the_judge_has_are_advised():
    """Log-probabilities are not advised to Claude or to a model that reasons first."""
    task = task_of({"r": {"i": "A"}})
    finishing = load_task("toxicity")  # has a sentence to finish

    def advised(of=task, **fields):
        return easier_strategies(new_judge(name="m", **fields), of)

    assert advised(model="openai/gpt-4o") == ("json", "logprob")
    assert advised(model="anthropic/claude-haiku-4-5") == advised(model="openai/o3") == ("json",)
    assert advised(model="openai/gpt-4o", strategy="json") == ()
    assert advised(model="m", kind="scripted", replies={"*": "A"}) == ()
    assert advised(kind="smollm2") == ()
    assert advised(finishing, kind="smollm2") == ("verbalised",)
    assert advised(finishing, kind="smollm2", strategy="verbalised") == ()


def test_a_stopped_run_of_cut_off_replies_is_not_to_be_resumed():
    """Most replies were cut off, so the missing ones would be, too."""
    cut_off = [("You choose", "invalid", "cut_off", "length")] * 9
    source = source_with(
        [*cut_off, ("A", "answered", "", "stop"), *[("", "failed", "timeout", "")] * 10],
        max_tokens=12,
        other_strategies=("json",),
    )
    [step] = next_steps(validate(source))
    assert step == (
        "Make the replies of m readable (90.0% are not): try `--max-tokens 512` or `m@json`."
    )
