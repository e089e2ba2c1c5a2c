"""A judge that cannot be read, or whose requests are refused, stops before much is paid for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.judge_runs import RecordingObserver, run_judge
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.judging.judges.config import new_judge
from harness.judging.judges.response_errors import UNREADABLE
from harness.judging.parsing.verdict import Verdict
from harness.judging.running.session_state import MOST_READ, MOST_REFUSALS, N_FIRST, FirstReplies
from harness.judging.storage.response_cache import ResponseCache
from harness.runs.run_folder import RunFolder
from harness.tasks import load_task

N_ITEMS = 100
CHATTER = "I would rather talk about the weather."
CONCURRENCY = 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_task_folder(tmp_path_factory.mktemp("first") / "task", N_ITEMS, response_sets=False)


@pytest.fixture
def asked(folder, tmp_path, stub):
    """Ask a judge about a task; return the log, how it ended, requests and messages."""
    task = load_task(str(folder))

    def go(*, elicitations=("forced_choice",), samples=1, log="log.jsonl", n=N_ITEMS, **fields):
        stub.reset()
        parts = {name: fields.pop(name) for name in ("store", "keep_going") if name in fields}
        url = {
            key: fields.pop(key) for key in ("say", "obey", "refuse", "ms", "tail") if key in fields
        }
        spec = new_judge(
            **{
                "name": "far",
                "model": "stub",
                "base_url": stub.url(**url),
                "concurrency": CONCURRENCY,
                "samples": samples,
                **fields,
            }
        )
        observer = RecordingObserver()
        read, end, _ = run_judge(
            spec,
            task.model_copy(update={"items": task.items[:n]}),
            tmp_path / log,
            elicitations=elicitations,
            samples=samples,
            observer=observer,
            **({"keep_going": False} | parts),
        )
        outcomes = Counter(verdict.outcome for verdict in read.final.values())
        return outcomes, end, stub.stats()["requests"], observer.lines

    return go


def refusal(message, *, when="", status=400):
    """Make a server refuse a member of requests, or all of them."""
    body = {"error": {"message": message, "type": "invalid_request_error"}}
    return json.dumps({"if": when, "status": status, "body": body})


# Unreadable replies


def test_judge_that_cannot_be_read_stops_after_its_first_replies(asked):
    """However many calls may be in flight; the first lines show what came back."""
    outcomes, end, n_requests, lines = asked(say=CHATTER)
    assert (outcomes, end, n_requests) == ({"invalid": N_FIRST}, UNREADABLE, N_FIRST)
    assert lines[:2] == [
        f"far: 0 of the first {N_FIRST} replies can be read",
        CHATTER,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "ollama", "ollama_chat"])
def test_judge_of_any_protocol_stops_after_its_first_replies(asked, stub, monkeypatch, provider):
    """The rule is about verdicts, whoever wrote the replies."""
    monkeypatch.setenv("STUB_KEY", "sk-none-12345")
    model = {"kind": "litellm", "model": f"{provider}/stub", "key_env": "STUB_KEY"}
    tail = {"ollama": "", "ollama_chat": "", "gemini": "/v1beta"}.get(provider, "/v1")
    outcomes, end, _, lines = asked(say=CHATTER, tail=tail, **model)
    assert (outcomes, end, lines[1]) == ({"invalid": N_FIRST}, UNREADABLE, CHATTER)
    sent = [request for request in stub.requests() if "comment number" in request["body"]]
    assert len(sent) == N_FIRST  # litellm asks Ollama for facts about the model, too
    assert asked(tail=tail, log="2.jsonl", **model)[:2] == ({"answered": N_ITEMS}, "")


def test_readable_judge_is_asked_everything(asked):
    """The first replies decide nothing else."""
    assert asked()[:3] == ({"answered": N_ITEMS}, "", N_ITEMS)


def test_refusals_and_abstentions_can_be_read(asked):
    """They are outcomes of a judge, not of the parser."""
    assert asked(say="CANNOT_ASSESS")[:2] == ({"abstained": N_ITEMS}, "")
    assert asked(say="I cannot help with that.", log="2.jsonl")[1] == ""


def test_keep_going_asks_everything(asked):
    """With as many first calls at once as otherwise."""
    assert asked(say=CHATTER, keep_going=True)[:3] == ({"invalid": N_ITEMS}, "", N_ITEMS)


@pytest.mark.parametrize("n", [1, N_FIRST - 1, N_FIRST])
def test_small_task_ends_by_itself(asked, n):
    """There is nothing left to stop."""
    assert asked(say=CHATTER, n=n)[:3] == ({"invalid": n}, "", n)


def test_first_replies_are_about_different_items(asked, stub):
    """Ten samples of two items would say little about a judge."""
    outcomes, end, n_requests, _ = asked(say=CHATTER, samples=10)
    assert (outcomes["invalid"], end, n_requests) == (N_FIRST, UNREADABLE, N_FIRST)
    prompts = {seen["body"] for seen in stub.requests()}
    assert len(prompts) == N_FIRST


def test_shared_samples_count_as_one_reply(asked):
    """A request for ten samples is one of the first twenty."""
    outcomes, end, n_requests, _ = asked(say=CHATTER, samples=10, n_per_request=10)
    assert (outcomes["invalid"], end, n_requests) == (10 * N_FIRST, UNREADABLE, N_FIRST)


def test_pairs_stop_too(asked):
    """A pair counts once, when its first turn can't be read, or both turns were answered."""
    outcomes, end, n_requests, _ = asked(say=CHATTER, elicitations=("paired",))
    assert end == UNREADABLE
    assert N_FIRST <= n_requests < 2 * N_FIRST
    assert outcomes["invalid"] == n_requests - N_FIRST
    assert asked(elicitations=("paired",), log="2.jsonl")[1] == ""


def test_resumed_judge_that_cannot_be_read_is_asked_nothing(asked):
    """What the log holds was received; to continue all the same is the user's decision."""
    asked(say=CHATTER)
    assert asked(say=CHATTER)[:3] == ({"invalid": N_FIRST}, UNREADABLE, 0)
    assert asked(say=CHATTER, keep_going=True)[2] == N_ITEMS - N_FIRST


def test_stored_replies_count_and_cost_nothing(asked, tmp_path):
    """A new run with the cache of a stopped one buys nothing; stored replies are all used."""
    with_cache = {"say": CHATTER}
    for name, keep_going, n_new, end in (
        ("1", False, N_FIRST, UNREADABLE),
        ("2", False, 0, UNREADABLE),
        ("3", True, N_ITEMS - N_FIRST, ""),
        ("4", False, 0, ""),
    ):
        store = ResponseCache(tmp_path / "cache")
        seen = asked(**with_cache, store=store, log=f"{name}.jsonl", keep_going=keep_going)
        store.close()
        assert (seen[1], seen[2]) == (end, n_new)


verdicts = st.lists(st.sampled_from(["answered", "abstained", "refused", "invalid", "failed"]))


@given(outcomes=verdicts.filter(lambda outcomes: len(outcomes) <= 3 * N_FIRST))
def test_decision_is_the_count_of_the_first_received(outcomes):
    """Failed calls are no replies; later ones change nothing."""
    first = FirstReplies()
    for i, outcome in enumerate(outcomes):
        verdict = Verdict(item=f"{i}", judge="j", elicitation="forced_choice", outcome=outcome)
        first.count([verdict])
    received = [outcome for outcome in outcomes if outcome != "failed"][:N_FIRST]
    n_read = sum(outcome != "invalid" for outcome in received)
    assert first.are_unreadable == (len(received) == N_FIRST and n_read <= MOST_READ)


def test_at_most_the_first_are_under_way():
    """A call that ends without a reply makes room for another."""

    async def go():
        first = FirstReplies()
        for _ in range(N_FIRST):
            await first.enter()
        waiting = asyncio.create_task(first.enter())
        await asyncio.sleep(0)
        assert not waiting.done()
        first.leave()
        await asyncio.wait_for(waiting, 5)

    asyncio.run(go())


# Refused parameters

REFUSED_TEMPERATURE = refusal("temperature is not supported with this model", when="temperature")


def test_refused_parameter_stops_the_judge_after_five_refusals(asked):
    """Its name ends the reason; nothing is left out in silence."""
    outcomes, end, n_requests, _ = asked(refuse=REFUSED_TEMPERATURE, concurrency=1)
    assert (outcomes, n_requests) == ({"failed": MOST_REFUSALS}, MOST_REFUSALS)
    assert end == "refused_parameter:temperature"


def test_many_calls_in_flight_send_no_hundreds(asked):
    """Before the first reply, few requests are sent at once."""
    for message in ("temperature is not supported", "Something else is wrong"):
        outcomes, end, n_requests, _ = asked(
            refuse=refusal(message), concurrency=256, ms=20, log=f"{len(message)}.jsonl"
        )
        assert end in {"refused_parameter:temperature", "bad_request"}
        assert outcomes["failed"] == n_requests <= N_FIRST + MOST_REFUSALS


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        ("temperature is not supported", {}, "zero-shot", {"temperature": None}),
        ("response_format is unavailable now", {}, "json", {"answer": "plain"}),
        ("seed: extra inputs are not permitted", {"seed": 1}, "zero-shot", {"seed": None}),
        ("Use 'max_completion_tokens', not 'max_tokens'", {}, "cot", {"max_completion_tokens": 99}),
        ("Unsupported: max_tokens", {}, "zero-shot", {"max_tokens": None}),
    ],
)
def test_advice_for_a_refused_parameter_helps(stub, folder, tmp_path, case):
    """As printed, put into judges.yaml, it makes the judge answer."""
    message, params, strategy, fixed = case
    [name] = {n for n in ("temperature", "response_format", "seed", "max_tokens") if n in message}
    judge = {
        "model": "stub",
        "base_url": stub.url(refuse=refusal(message, when=name)),
        "strategy": strategy,
        "samples": 1,
        "params": params,
    }
    words = ("run", "--task", folder, "--judges", "far", "--elicitation", "forced_choice")
    place = ("--judges-file", tmp_path / "j.yaml", "--out", tmp_path / "runs", "--no-store")
    (tmp_path / "j.yaml").write_text(json.dumps({"judges": {"far": judge}}))
    refused = invoke(*words, *place)
    assert refused.exit_code == 3
    [[key, value]] = fixed.items()
    advised = f"{key}: {'null' if value is None else value if key == 'answer' else '32'}"
    assert advised in " ".join(refused.output.split())
    judge |= fixed if key == "answer" else {"params": params | fixed}
    (tmp_path / "j.yaml").write_text(json.dumps({"judges": {"far": judge}}))
    answered = invoke(*words, *place, "--limit", 30)
    assert answered.exit_code == 0, answered.output


@pytest.mark.slow
def test_judge_without_an_entry_is_given_one(stub, folder, tmp_path):
    """A model that is named on the command line has no entry in judges.yaml yet."""
    url = stub.url(refuse=REFUSED_TEMPERATURE)
    words = ("run", "--task", folder, "--judges", "stub", "--base-url", url)
    place = ("--out", tmp_path / "runs", "--no-store", "--elicitation", "forced_choice")
    refused = invoke(*words, *place)
    entry = f'`"stub": {{model: "stub", base_url: "{url}", params: {{temperature: null}}}}`'
    assert entry in refused.output
    (tmp_path / "j.yaml").write_text(f"judges:\n  {entry.strip('`')}\n")
    answered = invoke(
        *("run", "--task", folder, "--judges", "stub", "--judges-file", tmp_path / "j.yaml"),
        *(*place, "--limit", 30, "--samples", 1),
    )
    assert answered.exit_code == 0, answered.output


# Front doors


@pytest.fixture
def two_judges(stub, folder, tmp_path):
    """One judge that can be read and one that cannot; return words for them and the place."""
    judge = {"model": "stub", "samples": 1, "price": {"input": 1, "output": 1}}
    judges = {
        "fine": judge | {"base_url": stub.url()},
        "chatty": judge | {"base_url": stub.url(say=CHATTER)},
    }
    (tmp_path / "j.yaml").write_text(json.dumps({"judges": judges}))
    stub.reset()
    return ("--judges-file", tmp_path / "j.yaml"), ("--cache", tmp_path / "cache")


def n_chatty(stub):
    """How many requests the judge got that cannot be read."""
    return sum(n for path, n in stub.stats()["by_path"].items() if path.startswith("/say/"))


@pytest.mark.slow
def test_run_stops_that_judge_alone(stub, folder, tmp_path, two_judges):
    """With exit code 3 and an example; the printed command continues all the same."""
    judges, cache = two_judges
    out = tmp_path / "runs"
    done = invoke(
        *("run", "--task", folder, "--judges", "fine,chatty", "--elicitation", "forced_choice"),
        *(*judges, *cache, "--out", out, "--details"),
    )
    assert done.exit_code == 3
    n_bought = n_chatty(stub)
    assert N_FIRST <= n_bought <= 2 * N_FIRST, "the others were under way"
    assert stub.stats()["requests"] == N_ITEMS + n_bought
    assert "--keep-going" in done.stdout
    assert f"- {CHATTER}" in done.stdout
    [line] = [line for line in done.output.splitlines() if "Resume with: " in line]
    assert "--keep-going" in line
    again = invoke(*line.partition("Resume with: harness ")[2].split())
    assert again.exit_code == 3, again.output  # it has no usable reply
    assert n_chatty(stub) == 2 * N_ITEMS
    [run] = out.iterdir()
    assert RunFolder.open(run).manifest.config.keep_going


def test_race_stops_that_judge(stub, folder, tmp_path, two_judges):
    """It is asked about no more items than it takes to see that."""
    judges, cache = two_judges
    done = invoke(
        *("run", "--race", "--task", folder, "--judges", "fine,chatty"),
        *("--elicitation", "forced_choice", *judges, *cache, "--out", tmp_path / "runs"),
    )
    assert done.exit_code in {0, 3}, done.output
    assert n_chatty(stub) <= 4 * N_FIRST
