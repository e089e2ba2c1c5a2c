"""A reply that can't be read is followed by one more question in the same conversation."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from itertools import pairwise

import pytest
from support.judge_runs import RecordingObserver, run_judge
from support.processes import BATCH_SERVER, start_server
from support.task_folders import make_task_folder

from harness.app.plan import estimate_costs, plan_run
from harness.app.run import ask_open_units, start
from harness.errors import ExitCode, JudgeError, JudgeUnavailable
from harness.judging.fingerprints import fingerprints_of
from harness.judging.judges.config import load_judges, new_judge
from harness.judging.judges.judge_registry import kept_answers, look_up, own_judges, resolve
from harness.judging.parsing.verdict import AWAITS_SECOND_TURN
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget
from harness.judging.running.session_state import N_FIRST
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import unit_key
from harness.options.concerns import RunOptions, Server
from harness.tasks import load_task

N_ITEMS = 4
MUMBLE = "It depends on how you look at it."
URL = "http://127.0.0.1:1/v1"
FORCED, SETS, PAIRS = ("forced_choice",), ("response_set",), ("paired",)
PRICE = {"input": 1.0, "output": 2.0}
NOT_ASKED_AGAIN = {
    "cut off": ("length", {"say": MUMBLE, "patch": '{"choice": {"finish_reason": "length"}}'}),
    "blank": ("empty", {"say": " "}),
    "abstained": ("abstained", {"say": "CANNOT_ASSESS"}),
    "refused": ("refused", {"say": "I'm sorry, but I can't help with that."}),
    "filtered": ("filtered", {"say": MUMBLE, "fault": "filter"}),
    "read": ("answered", {"say": "A"}),
}


@pytest.fixture
def task(tmp_path):
    return load_task(make_task_folder(tmp_path / "task", N_ITEMS))


@pytest.fixture
def asked(task, tmp_path, stub):
    """Ask a judge that mumbles at first; return its verdicts and what the server was sent."""

    def go(*, elicitations=FORCED, samples=1, log="log.jsonl", reask=1, n=N_ITEMS, **how):
        for name, table in how.pop("tables", {}).items():
            stub.post(f"/tables/{name}", table)
        parts = {name: how.pop(name) for name in ("say", "patch", "fault", "table") if name in how}
        parts = parts or {"unread": MUMBLE, "say": "B"}
        fields = {name: how.pop(name) for name in ("n_per_request", "answer") if name in how}
        spec = new_judge(
            name="far",
            model="stub",
            base_url=stub.url(**parts),
            reask=reask,
            price=PRICE,
            params={"max_tokens": 100},
            **fields,
        )
        stub.reset()
        read, go.end, go.session = run_judge(
            spec,
            task.model_copy(update={"items": task.items[:n]}),
            tmp_path / log,
            elicitations=elicitations,
            samples=samples,
            **how,
        )
        bodies = [json.loads(request["body"]) for request in stub.requests()]
        return list(read.final.values()), [body["messages"] for body in bodies]

    go.log = tmp_path / "log.jsonl"
    return go


def kill_before_second_questions(log):
    """Leave in a log what it held before any second question was sent."""
    header, *lines = log.read_bytes().splitlines(keepends=True)
    begun = [line for line in lines if AWAITS_SECOND_TURN.encode() in line]
    assert len(begun) == N_ITEMS
    log.write_bytes(header + b"".join(begun))


def n_turns(messages):
    return sum(message["role"] == "user" for message in messages)


def test_unreadable_reply_is_followed_by_one_question_in_its_conversation(asked):
    """With the options once more; the verdict is that in the second reply, and keeps both."""
    [verdict], sent = asked(n=1)
    assert (verdict.outcome, verdict.value) == ("answered", "B")
    assert [reply.text for reply in verdict.replies] == [MUMBLE, "B"]
    assert verdict.unread.text == MUMBLE
    first, second = sent
    assert second[: len(first)] == first
    said, question = second[len(first) :]
    assert said == {"role": "assistant", "content": MUMBLE}
    assert "Reply with the key only." in question["content"]
    assert "A: Toxic" in question["content"]
    assert question["content"].endswith("A\nB\nCANNOT_ASSESS")


def test_judge_is_asked_again_once(asked):
    """A second reply that can't be read either stays unreadable."""
    [verdict], sent = asked(n=1, say=MUMBLE)
    assert verdict.outcome == "invalid"
    assert len(sent) == len(verdict.replies) == 2


def test_judge_with_reask_0_is_not_asked_again(asked):
    [verdict], sent = asked(n=1, reask=0)
    assert (verdict.outcome, verdict.is_reasked, len(sent)) == ("invalid", False, 1)


@pytest.mark.parametrize("case", NOT_ASKED_AGAIN)
def test_other_replies_are_not_followed_by_a_question(asked, case):
    _, parts = NOT_ASKED_AGAIN[case]
    verdicts, sent = asked(**parts)
    assert len(sent) == len(verdicts) == N_ITEMS
    assert not any(verdict.is_reasked for verdict in verdicts)


def test_set_is_asked_for_again_as_a_set(asked):
    [verdict], sent = asked(n=1, elicitations=SETS)
    assert (verdict.outcome, verdict.value) == ("answered", ("B",))
    assert "Reply with the keys only, separated by commas." in sent[-1][-1]["content"]


def test_each_turn_of_a_pair_is_asked_for_again(asked):
    """In one conversation of four requests."""
    [verdict], sent = asked(n=1, elicitations=PAIRS)
    assert (verdict.value.set, verdict.value.choice) == (("B",), "B")
    texts = [verdict.first_unread, verdict.first, verdict.unread, verdict.reply]
    assert [reply.text for reply in texts] == [MUMBLE, "B", MUMBLE, "B"]
    assert [n_turns(messages) for messages in sent] == [1, 2, 3, 4]
    assert all(later[: len(early)] == early for early, later in pairwise(sent))


def test_set_and_pair_share_both_replies(asked, tmp_path):
    """The set of a pair is the stored reply to the response set, after the second question too."""
    store = ResponseCache(tmp_path / "cache")
    verdicts, sent = asked(elicitations=SETS + PAIRS, store=store)
    store.close()
    assert {verdict.outcome for verdict in verdicts} == {"answered"}
    assert Counter(map(n_turns, sent)) == dict.fromkeys([1, 2, 3, 4], N_ITEMS)


def test_samples_of_one_request_are_asked_again_one_by_one(asked):
    verdicts, sent = asked(n=1, samples=3, n_per_request=3)
    assert [verdict.value for verdict in verdicts] == ["B", "B", "B"]
    assert [n_turns(messages) for messages in sent] == [1, 2, 2, 2]


def test_second_question_about_one_option_shows_that_option(task, stub, tmp_path):
    stub.reset()
    url = stub.url(unread=MUMBLE, say="yes")
    plan = plan_run(
        str(task.folder),
        ["stub@endorse"],
        RunOptions(elicitations=SETS, samples=1),
        server=Server(base_url=url),
    )
    folder = start(plan, tmp_path / "runs")
    ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())
    verdicts = folder.read_verdicts().final.values()
    assert {verdict.value for verdict in verdicts} == {("A",), ("B",)}
    questions = {json.loads(r["body"])["messages"][-1]["content"] for r in stub.requests()}
    [of_a, of_b] = sorted(q for q in questions if q.startswith("That reply"))
    assert "Option:\nA: Toxic\n" in of_a
    assert "Option:\nB: " in of_b
    assert of_b.endswith("yes\nno\nCANNOT_ASSESS")


# Cached, resumed, paid for once


def test_replay_asks_nothing(asked, tmp_path):
    """Both replies are in the cache."""
    store = ResponseCache(tmp_path / "cache")
    before, _ = asked(elicitations=FORCED + SETS + PAIRS, store=store)
    replayed, sent = asked(elicitations=FORCED + SETS + PAIRS, store=store, log="again.jsonl")
    store.close()
    assert sent == []
    assert all(verdict.from_store for verdict in replayed)
    assert {unit_key(v): v.replies for v in replayed} == {unit_key(v): v.replies for v in before}


def test_cached_reply_that_could_not_be_read_is_asked_for_again(asked, tmp_path):
    """As of a run that didn't ask again: only the second questions are sent."""
    store = ResponseCache(tmp_path / "cache")
    asked(reask=0, store=store)
    verdicts, sent = asked(store=store, log="again.jsonl")
    store.close()
    assert {verdict.value for verdict in verdicts} == {"B"}
    assert [n_turns(messages) for messages in sent] == [2] * N_ITEMS


def test_run_that_ended_before_the_second_question_goes_on_there(asked, stub, tmp_path):
    """From the log alone; the first reply is not paid for again."""
    asked()
    kill_before_second_questions(asked.log)
    verdicts, sent = asked()
    assert [n_turns(messages) for messages in sent] == [2] * N_ITEMS
    assert [(v.value, v.attempt, v.from_store) for v in verdicts] == [("B", 2, False)] * N_ITEMS


def test_second_question_that_fails_keeps_the_first_reply(asked):
    """It's a failed call, and asked again when the run is resumed."""
    second = "That reply can't be read as an answer. Reply with the key only."
    table = {"replies": {"Answer:": [MUMBLE], second: ["B"]}}
    asked(table="t", tables={"t": table})
    kill_before_second_questions(asked.log)
    verdicts, _ = asked(table="t", tables={"t": table | {"fault": "400"}})
    assert {(v.outcome, v.unread.text, v.reply) for v in verdicts} == {("failed", MUMBLE, None)}
    verdicts, sent = asked(table="t", tables={"t": table})
    assert {v.value for v in verdicts} == {"B"}
    assert len(sent) == N_ITEMS


def test_both_replies_are_paid_for(asked, task):
    verdicts, sent = asked(budget=CostBudget(10.0))
    spent_usd = asked.session.state.budget.spent_usd
    assert len(sent) == 2 * N_ITEMS
    assert spent_usd == pytest.approx(sum(r.cost_usd for v in verdicts for r in v.replies))
    assert spent_usd > sum(v.reply.cost_usd for v in verdicts)


def test_limit_ends_a_run_before_a_second_question(asked):
    """The reply that can't be read is kept for the next start."""
    verdicts, sent = asked(n=1, budget=CostBudget(0.0012))
    assert asked.session.state.budget.exhausted
    [verdict] = verdicts
    assert (verdict.outcome, verdict.unread.text, len(sent)) == ("failed", MUMBLE, 1)


def test_quote_includes_a_second_question_after_every_reply(task, stub, tmp_path):
    """At most that is billed, and no more than half of it without a second question."""
    quotes = {}
    for reask in (0, 1):
        file = tmp_path / f"j{reask}.yaml"
        judge = {"model": "stub", "base_url": stub.url(bill="90", unread=MUMBLE, say="A")}
        judge |= {"price": PRICE, "reask": reask, "params": {"max_tokens": 100}}
        file.write_text(json.dumps({"judges": {"far": judge}}))
        options = RunOptions(elicitations=FORCED + SETS + PAIRS, samples=2)
        plan = plan_run(str(task.folder), ["far"], options, server=Server(judges_file=file))
        [quotes[reask]] = estimate_costs(plan)
        stub.reset()
        folder = start(plan, tmp_path / f"runs{reask}")
        with closing(ResponseCache(tmp_path / f"cache{reask}")) as store:
            ask_open_units(plan, folder, store, observer=RecordingObserver())
        [billed] = stub.stats()["billed"].values()
        cost_usd = (billed["prompt"] * PRICE["input"] + billed["reply"] * PRICE["output"]) / 1e6
        assert cost_usd <= quotes[reask].cost_usd
        assert cost_usd > quotes[reask].cost_usd / 4
    assert quotes[0].expected_usd == quotes[1].expected_usd
    assert quotes[1].cost_usd > 2 * quotes[0].cost_usd


# Judges that stop, batches


def test_first_replies_are_counted_after_the_second_question(tmp_path, stub):
    """A judge whose second replies can be read isn't stopped, however many come in a request."""
    task = load_task(make_task_folder(tmp_path / "many", 2 * N_FIRST))
    for number, fields in enumerate(({"samples": 1}, {"samples": 3, "n_per_request": 3})):
        for say, stops in (("B", False), (MUMBLE, True)):
            url = stub.url(unread=MUMBLE, say=say)
            far = {"name": "far", "model": "stub", "base_url": url, "concurrency": 1}
            spec = new_judge(**far, reask=1, **fields)
            log = tmp_path / f"{number}-{say[0]}.jsonl"
            ask = {"elicitations": FORCED, "samples": fields["samples"], "keep_going": False}
            read, end, _ = run_judge(spec, task, log, **ask)
            assert bool(end) == stops
            n_asked = N_FIRST // 2 if stops else 2 * N_FIRST  # an unread second reply counts, too
            assert len(read.final) == n_asked * fields["samples"]
            assert {verdict.is_reasked for verdict in read.final.values()} == {True}


def test_second_questions_of_a_batch_are_the_next_batch(task, tmp_path):
    with start_server(BATCH_SERVER) as provider:
        provider.post("/mumble")
        file = tmp_path / "j.yaml"
        judge = {"model": "stub", "base_url": provider.url(), "batch_poll_s": 0.02, "price": PRICE}
        file.write_text(json.dumps({"judges": {"far": judge}}))
        options = RunOptions(elicitations=FORCED, samples=1, batch=True)
        plan = plan_run(str(task.folder), ["far"], options, server=Server(judges_file=file))
        folder = start(plan, tmp_path / "runs")
        run = ask_open_units(plan, folder, NoStore(), observer=RecordingObserver())
        assert run.exit_code == ExitCode.DONE
        verdicts = folder.read_verdicts().final.values()
        assert {(v.outcome, v.is_reasked) for v in verdicts} == {("answered", True)}
        assert (provider.stats()["batches"], provider.stats()["requests"]) == (2, 2 * N_ITEMS)


# A property of the way of asking


def judges_with(tmp_path, **fields):
    """Return the user's judges: one that is named ``m``."""
    path = tmp_path / "judges.yaml"
    path.write_text(json.dumps({"judges": {"m": {"model": "stub", "base_url": URL} | fields}}))
    return load_judges(path)


def test_judges_behind_an_api_are_asked_again_unless_their_entry_says_otherwise(tmp_path):
    """Strategies that read probabilities are not, nor are the judges of this package."""
    judges = judges_with(tmp_path)
    for name in ("m", "m@cot", "m@self-consistency:3", "m@endorse", "gpt", "claude@json"):
        assert look_up(name, judges).reask == 1
    assert look_up("openai/gpt-4o", judges).reask == 1
    for name in ("m@logprob", "m@endorse-logprob", "m@verbalised", "random", "smollm2"):
        assert look_up(name, judges).reask == 0
    off = judges_with(tmp_path, reask=0)
    assert (off["m"].reask, look_up("m@cot", off).reask) == (0, 0)


def test_reask_is_part_of_the_fingerprint(task, tmp_path):
    """That of a judge that isn't asked again stays as it was in earlier versions."""
    prompts = Prompts.load(task)
    specs = [judges_with(tmp_path, reask=reask)["m"] for reask in (0, 1)]
    prints = [fingerprints_of([spec], task, prompts, ["m"])["m"] for spec in specs]
    earlier = new_judge(name="m", model="stub", base_url=URL)
    assert prints[0] == fingerprints_of([earlier], task, prompts, ["m"])["m"]
    assert prints[0] != prints[1]


def test_resumed_run_keeps_its_way_of_asking(tmp_path):
    """A run of an earlier version isn't asked again, and says so."""
    judges = judges_with(tmp_path)
    earlier = new_judge(name="m", model="stub", base_url=URL)
    [own] = own_judges([earlier], judges, Server())
    assert own.reask == 0
    assert kept_answers([earlier], judges) == [
        "m: runs with `reask: 0`, as before. A new run would use `reask: 1`."
    ]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"reask": 2}, "reask"),
        ({"reask": 1, "strategy": "logprob"}, "isn't compatible with strategy logprob"),
    ],
)
def test_wrong_reask_is_an_error(tmp_path, fields, problem):
    with pytest.raises(JudgeError, match=problem):
        judges_with(tmp_path, **fields)


def test_judge_that_reads_no_prompts_cannot_be_asked_again(task, tmp_path):
    path = tmp_path / "j.yaml"
    path.write_text("judges: {w: {kind: random, model: uniform, reask: 1}}")
    with pytest.raises(JudgeUnavailable, match="w: a judge of kind random can't be asked again"):
        resolve(["w"], task, load_judges(path))
