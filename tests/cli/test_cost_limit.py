"""A cost limit is a limit: what `--max-cost` once let through, each under its own name."""

from __future__ import annotations

import json
import signal
import time

import pytest
from support.processes import BATCH_SERVER, invoke, start_harness, start_server
from support.task_folders import make_task_folder

from harness.errors import JudgeUnavailable
from harness.judging.judge_spec import Price
from harness.judging.judges.config import new_judge
from harness.judging.judges.endpoint import token_counts
from harness.judging.judges.pricing import most_prompt_tokens, overshoot_of
from harness.judging.judges.response_errors import failure_of, may_be_billed
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request
from harness.runs.run_folder import RunFolder

PRICE = {"input": 1.0, "output": 100.0}
ROUNDING_USD = 1e-9


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A folder with a task of eight items, from which commands are run in this process."""
    stub.reset()
    make_task_folder(tmp_path / "task", 8)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_JUDGES", "judges.yaml")
    return tmp_path


def words(place, *, task="task", **judges: dict) -> tuple[str, ...]:
    """The command that asks judges for forced choices."""
    (place / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    named = ("--judges", ",".join(judges), "--judges-file", "judges.yaml")
    return ("run", "--task", task, *named, "--elicitation", "forced_choice")


def local(stub, *, bill="5000", base_url=None, **fields) -> dict:
    address = base_url or stub.url(bill=bill, **fields.pop("at", {}))
    own = {"model": "stub", "base_url": address, "samples": 3, "price": PRICE}
    return own | {"params": {"max_tokens": None}} | fields


def paid_usd(stub) -> float:
    billed = stub.stats()["billed"].values()
    return sum(t["prompt"] * PRICE["input"] + t["reply"] * PRICE["output"] for t in billed) / 1e6


def run_of(place) -> RunFolder:
    [folder] = (place / "runs").iterdir()
    return RunFolder.open(folder)


def test_null_max_tokens_reserved_sixteen_tokens(place, stub):
    """`max_tokens: null` once spent 25 times --max-cost; now every request carries a cap."""
    done = invoke(*words(place, far=local(stub)), "--max-cost", 2)
    assert done.exit_code == 4, done.output
    assert 0 < paid_usd(stub) <= 2
    assert {json.loads(seen["body"])["max_tokens"] for seen in stub.requests()} == {4096}
    [spec] = run_of(place).manifest.judges
    assert spec.params["max_tokens"] == run_of(place).manifest.config.reply_cap == 4096


@pytest.mark.slow
def test_reply_cap_is_part_of_the_request_and_of_its_key(place, stub):
    """--reply-cap replaces 4,096 where the judge sets no limit, and only there; another cap asks
    anew."""
    command = words(place, far=local(stub, bill="7"), near=local(stub, bill="7", params={}))
    for cap, n_new in ((50, 48), (50, 0), (60, 24)):
        before = stub.stats()["requests"]
        done = invoke(*command, "--max-cost", 2, "--reply-cap", cap)
        assert done.exit_code == 0, done.output
        assert stub.stats()["requests"] - before == n_new
    sent = {json.loads(seen["body"])["max_tokens"] for seen in stub.requests()}
    assert sent == {32, 50, 60}


def test_dry_run_says_the_cap(place, stub):
    """With the most that it may cost; without a limit a judge without max_tokens has no most."""
    command = (*words(place, far=local(stub)), "--dry-run")
    [free] = json.loads(invoke(*command, "--json").stdout)
    assert (free["reply_cap"], free["completion_tokens"], free["cost_usd"]) == (None, None, None)
    assert "no limit" in invoke(*command).stdout
    [capped] = json.loads(invoke(*command, "--max-cost", 1, "--json").stdout)
    assert (capped["reply_cap"], capped["completion_tokens"]) == (4096, 2 * 24 * 4096)
    assert capped["cost_usd"] > 24 * 4096 * 100 / 1e6
    assert "4096" in invoke(*command, "--max-cost", 1).stdout
    assert stub.stats()["requests"] == 0


def test_server_that_ignores_the_cap_stops_after_its_first_reply(place, stub):
    """The first request goes alone; its reply shows that the limit cannot be kept, and says what
    to do."""
    far = local(stub, at={"nocap": "1"}, params={"max_tokens": 40}, concurrency=16)
    done = invoke(*words(place, far=far), "--max-cost", 5)
    assert done.exit_code == 3, done.output
    assert stub.stats()["requests"] == 1
    assert "over_cap" in done.output
    assert "--max-cost-soft" in done.output
    alone = local(stub, at={"nocap": "1"}, params={"max_tokens": 40}, concurrency=1)
    soft = invoke(*words(place, far=alone), "--max-cost", 5, "--max-cost-soft", "--no-store")
    assert soft.exit_code == 4, soft.output
    assert "unknown, because their maximum length isn't listed anywhere" in soft.output


def test_server_that_refuses_the_cap_stops_the_judge():
    """At its first request, with what to set; a context that is too long is about one item."""
    for message in (
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'",
        "Unrecognized request argument supplied: max_tokens",
    ):
        body = json.dumps({"error": {"message": message, "type": "invalid_request_error"}})
        failure = failure_of(400, {}, body.encode())
        assert (failure.reason, failure.stops_judge) == ("cap_refused", True)
        assert not may_be_billed(failure)
    long = b'{"error": {"message": "maximum context length is 8; max_tokens is too large: 9"}}'
    assert failure_of(400, {}, long).reason == "context_length"
    cut = b'{"error": {"message": "Could not finish the message because max_tokens was reached"}}'
    assert (failure_of(400, {}, cut).reason, may_be_billed(failure_of(400, {}, cut))) == (
        "unfinished",
        True,
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"price": None}, "its price is unknown"),
        ({"params": {"best_of": 5}}, "best_of in its params can add costs beyond its tokens"),
    ],
)
def test_limit_that_cannot_be_kept_is_refused_before_anything_is_sent(place, stub, fields, reason):
    """With the reason and exit code 2, by --dry-run too."""
    command = (*words(place, far=local(stub, **fields)), "--max-cost", 1)
    for more in ((), ("--dry-run",)):
        refused = invoke(*command, *more).exception
        assert isinstance(refused, JudgeUnavailable)
        assert (refused.exit_code, reason in str(refused)) == (2, True)
    assert stub.stats()["requests"] == 0
    assert not (place / "runs").exists()


def test_limit_given_later_is_refused_for_requests_without_a_cap(place, stub):
    """A cap would make other requests, and pay for all anew; a soft limit goes on."""
    assert invoke(*words(place, far=local(stub, at={"fault": "400"}))).exit_code == 3
    run_of(place).update(state="stopped", exit_code=3)
    refused = invoke("resume", "--max-cost", 1).exception
    assert isinstance(refused, JudgeUnavailable)
    assert "its requests were made without a token limit" in str(refused)
    assert invoke("resume", "--max-cost", 1, "--max-cost-soft").exit_code == 3


def test_soft_limit_needs_a_limit(place, stub):
    """And is said to be one."""
    assert "--max-cost" in invoke(*words(place, far=local(stub)), "--max-cost-soft").output


def test_overshoot_is_that_of_the_replies_in_flight():
    """16 calls of up to 64,000 tokens, of which 4,096 are reserved, at $5 a million."""
    spec = new_judge(name="c", model="anthropic/claude-haiku-4-5", params={"max_tokens": None})
    shown = str(overshoot_of(spec, 16))
    assert overshoot_of(spec, 16).usd == pytest.approx(16 * (64_000 - 4096) * 5 / 1e6)
    assert shown == (
        "c: its replies can exceed --max-cost by up to $4.79 (16 in flight, each of up to 64,000 "
        "tokens)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_judges", [4, 8])
def test_judges_in_batches_share_one_budget(place, n_judges):
    """Four once spent $0.51 and eight $1.02 of $0.38, and ended with 0: there is one budget, it is
    reserved before a batch is handed in, and the run ends with 4."""
    with start_server(BATCH_SERVER) as provider:
        provider.post("/bill/30")
        limit_usd = 0.38
        judges = {
            f"j{n}": local(None, base_url=provider.url(), model=f"m{n}", params={})
            | {"batch_poll_s": 0.02, "samples": 10}
            for n in range(n_judges)
        }
        done = invoke(*words(place, **judges), "--batch", "--max-cost", limit_usd)
        assert done.exit_code == 4, done.output
        assert limit_usd / 2 < paid_usd(provider) <= limit_usd
        paid = paid_usd(provider)
        assert invoke("resume").exit_code == 4
        assert paid <= paid_usd(provider) <= limit_usd
        assert invoke("resume", "--max-cost", 50).exit_code == 0


@pytest.mark.slow
def test_calls_without_a_count_of_tokens_were_free_after_a_resume(place, stub):
    """A reply without usage counts as the most that it may cost, in this run and in the next."""
    far = local(stub, bill="90", at={"fault": "nousage"}, params={"max_tokens": 100})
    assert invoke(*words(place, far=far), "--max-cost", 0.1).exit_code == 4
    n_first, paid = stub.stats()["requests"], paid_usd(stub)
    assert 0 < paid <= 0.1
    assert invoke("resume").exit_code == 4
    assert stub.stats()["requests"] == n_first
    most_usd = run_of(place).manifest.paid_at_most_usd
    assert paid <= most_usd <= 0.1


@pytest.mark.slow
def test_calls_in_flight_of_a_killed_run_were_free(place, stub):
    """What may be spent is recorded before it is sent: a run that is killed and resumed, over and
    over, is billed no more than its limit."""
    far = local(stub, bill="90", params={"max_tokens": 100}, concurrency=4)
    command = words(place, far=far)
    first = ("--max-cost", "0.15", "--no-store")
    for n_calls in (3, 5):
        stub.hold_after(stub.stats()["requests"] + n_calls - 2)
        process = start_harness(*command, *first, cwd=place)
        deadline = time.monotonic() + 60
        while stub.stats()["in_flight"] < 1 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        stub.release()
        command, first = ("resume", "--no-store"), ()
    done = invoke("resume", "--no-store")
    assert done.exit_code == 4
    assert 0 < paid_usd(stub) <= 0.15 + ROUNDING_USD
    reported_usd = sum(
        reply.cost_usd for v in run_of(place).read_verdicts().final.values() for reply in v.replies
    )
    possibly_usd = run_of(place).manifest.paid_at_most_usd - reported_usd
    assert possibly_usd > 0.005, "calls were in flight when it was killed"
    shown = " ".join(done.output.split())
    assert (
        f"--max-cost 0.15 is reached. ${possibly_usd:.4f} of it could have been spent on calls"
        in shown
    )


@pytest.mark.parametrize(
    ("usage", "billed"),
    [
        ({"completion_tokens": 31, "total_tokens": 3108}, 767),
        ({"completion_tokens": 31, "total_tokens": 3108, "reasoning_tokens": 736}, 767),
        ({"completion_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 386}}, 387),
        ({"completion_tokens": 9, "total_tokens": 2350, "reasoning_tokens": 500}, 509),
        ({"completion_tokens": 9, "output_tokens_details": {"thinking_tokens": 500}}, 509),
        ({"completion_tokens": 767, "completion_tokens_details": {"reasoning_tokens": 736}}, 767),
        ({"completion_tokens": 40, "completion_tokens_details": {"reasoning_tokens": 40}}, 40),
        ({"completion_tokens": 0, "completion_tokens_details": {"reasoning_tokens": 736}}, 736),
        ({"completion_tokens": 31, "completion_tokens_details": {"reasoning_tokens": None}}, 31),
        ({"completion_tokens_details": {"reasoning_tokens": 736}}, None),
    ],
    ids=[
        "in the total only",
        "in the total, as xAI",
        "in the details only",
        "left out of the total, as Perplexity",
        "in the details, as Anthropic",
        "in the reply, as OpenAI",
        "nothing but reasoning",
        "no reply",
        "unknown",
        "reply unknown",
    ],
)
def test_reasoning_is_paid_for_wherever_a_server_counts_it(usage, billed):
    """Once: it's added if the tokens of the reply or the total can't contain it."""
    assert token_counts({"prompt_tokens": 2341} | usage).completion == billed


@pytest.mark.parametrize("text", ["a" * 1000, "\N{SNOWMAN}" * 300, "\ufdfa" * 100, "é" * 77])
def test_the_token_bound_counts_a_byte_per_token(text):
    """A byte per token is: of the text, or of its compatibility form, which may be longer."""
    request = Request(provider="p", model="m", messages=(Message("user", text),))
    assert most_prompt_tokens(request) >= 256 + len(text.encode())
    schema = Request(
        provider="p", model="m", params={"response_format": {"a": "b" * 500}}, messages=()
    )
    assert most_prompt_tokens(schema) > 1500


def test_highest_price_of_a_prompt_token_is_reserved():
    """A token that is written to the provider's cache may cost more than a fresh one."""
    assert Price(input=1, output=5, cached=0.1, cache_write=1.25).most_input == 1.25
    assert Price(input=1, output=5, cached=3).most_input == 3


@pytest.mark.parametrize("limit", [0, -1, "32", 32.0, True])
def test_token_limit_that_is_none_is_refused(limit):
    """-1 means no limit to some servers, and would have passed for one."""
    with pytest.raises(ValueError, match="max_tokens must be a whole number from 1"):
        new_judge(name="a", model="openai/a", params={"max_tokens": limit})
