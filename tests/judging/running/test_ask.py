"""The runner: bounded, resumable, retried in one layer, and nothing paid for twice."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import replace

import pytest
from support.judge_runs import n_lines, scripted
from support.task_folders import make_task_folder

from harness.errors import CallFailed
from harness.judging.judge_spec import Price
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build
from harness.judging.parsing.external_verdicts import read_external
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget, logged_cost_usd
from harness.judging.running.retry import RetryPolicy
from harness.judging.running.session import Session
from harness.judging.running.session_state import SessionLimits, SessionState
from harness.judging.running.units import Job
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import VerdictLog, read_log, unit_key
from harness.tasks import load_task

BOTH = ("forced_choice", "response_set")
FAST = RetryPolicy(attempts=4, backoff_s=0.001, backoff_max_s=0.002)


class Watching:
    """Counts what a run tells its observer."""

    def __init__(self):
        self.verdicts = []
        self.ends = {}
        self.lines = []

    def advanced(self, judge, verdicts):
        self.verdicts += verdicts

    def resumed(self, judge, verdicts):
        self.verdicts += verdicts

    def ended(self, judge, reason):
        self.ends[judge] = reason

    def say(self, line):
        self.lines.append(line)


class Acting:
    """A judge that does what a function says; the requests are those of a scripted judge."""

    def __init__(self, spec, task, act):
        self.spec = spec
        self.inner = build(scripted({"*": "A"}), task, Prompts.load(task))
        self.act = act
        self.asked = Counter()
        self.in_flight = self.most_in_flight = 0

    def request(self, unit):
        return self.inner.request(unit)

    def follow_up(self, request, reply):
        return self.inner.follow_up(request, reply)

    async def ask_many(self, requests):
        return [await self.ask(requests[0])]

    async def ask(self, request):
        self.asked[request.hash] += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return Reply(request=request.hash, **await self.act(self, request))
        finally:
            self.in_flight -= 1

    tried_first = True

    @property
    def n_connections(self):
        return self.spec.concurrency if self.spec.remote else 0

    def recorded(self, replies):
        pass

    def leave(self):
        pass

    async def prepare(self):
        pass

    async def aclose(self):
        pass


async def answer(judge, request):
    await asyncio.sleep(0)
    return {"text": "A", "cost_usd": 0.01}


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "task")))


@pytest.fixture
def run(tmp_path, task):
    """Run jobs on one log and one store; returns the runner's ends, the log and the observer."""

    def go(
        *judges,
        elicitations=BOTH,
        samples=1,
        store=None,
        budget=None,
        retry=FAST,
        log="log.jsonl",
    ):
        jobs = [Job(judge, task.items, elicitations, samples) for judge in judges]
        watching = Watching()
        with VerdictLog.open(tmp_path / log) as open_log:
            runner = Session(
                jobs,
                SessionState(
                    task,
                    log=open_log,
                    store=NoStore() if store is None else store,
                    done=read_log(tmp_path / log).final,
                    observer=watching,
                    limits=SessionLimits(
                        CostBudget(None) if budget is None else budget, retry=retry
                    ),
                ),
            )
            go.runner = runner
            ends = asyncio.run(runner.run())
        return ends, read_log(tmp_path / log), watching

    return go


def spec(name="j", **fields):
    return new_judge(name=name, kind="scripted", replies={"*": "A"}, **fields)


def test_every_unit_has_exactly_one_final_record(run, task, tmp_path):
    """A run that ends by itself has one verdict per item, judge, elicitation and sample."""
    judges = [Acting(spec(name), task, answer) for name in ("one", "two")]
    ends, log, watching = run(*judges, samples=3)
    assert ends == {"one": "", "two": ""} == watching.ends
    assert len(log.final) == n_lines(tmp_path / "log.jsonl") == 2 * len(task.items) * 2 * 3


def test_calls_in_flight_never_exceed_the_judges_concurrency(run, task):
    """A judge is asked no more at once than it allows, and the run does use what it allows."""

    async def slow(judge, request):
        await asyncio.sleep(0.005)
        return {"text": "A"}

    judge = Acting(spec(concurrency=3), task, slow)
    run(judge, samples=4)
    assert judge.most_in_flight == 3


def test_one_task_per_unit_is_not_created_up_front(run, task):
    """However many units there are, no more are in hand than the lane's window."""
    most = 0

    async def slow(judge, request):
        nonlocal most
        most = max(most, len(asyncio.all_tasks()))
        return {"text": "A"}

    run(Acting(spec(concurrency=2), task, slow), samples=200)
    assert most < 20


def test_backoff_holds_no_slot(run, task):
    """While one call backs off, the only slot serves the others."""
    failing = []

    async def first_fails(judge, request):
        if judge.asked[request.hash] == 1 and not failing:
            failing.append(request.hash)
            raise CallFailed("http_503", retry=True, retry_after_s=0.2)
        order.append(request.hash)
        return {"text": "A"}

    order = []
    run(Acting(spec(concurrency=1), task, first_fails))
    assert order[-1] == failing[0]
    assert len(order) == 12


def test_retry_after_is_waited_for(run, task):
    """A server that says how long to wait is not asked again sooner."""
    times = {}

    async def once(judge, request):
        now = asyncio.get_running_loop().time()
        if judge.asked[request.hash] == 1:
            times[request.hash] = now
            raise CallFailed("rate_limited", retry=True, retry_after_s=0.1)
        assert now - times[request.hash] >= 0.1
        return {"text": "A"}

    _, log, _ = run(Acting(spec(), task, once))
    assert {v.outcome for v in log.final.values()} == {"answered"}


def test_no_call_is_sent_while_a_server_asks_to_wait(run, task):
    """Of its other units none either: 62 requests were sent for 12 items, one judge's limit."""
    refused_s, sent_s = [], []

    async def closed_at_first(judge, request):
        now = asyncio.get_running_loop().time()
        sent_s.append(now)
        await asyncio.sleep(0.01)
        if not refused_s or now < refused_s[0] + 0.2:
            refused_s.append(now)
            raise CallFailed("rate_limited", retry=True, retry_after_s=refused_s[0] + 0.2 - now)
        return {"text": "A"}

    ends, log, _ = run(Acting(spec(concurrency=2), task, closed_at_first))
    assert ends == {"j": ""}
    assert {v.outcome for v in log.final.values()} == {"answered"}
    assert len(refused_s) == 2, "those in flight when the server first refused one"
    assert len(sent_s) == 12 + 2


def test_too_long_a_retry_after_stops_the_judge(run, task):
    """A wait beyond the limit is a spent quota: that judge stops, the other goes on."""

    async def later(judge, request):
        raise CallFailed("rate_limited", retry=True, retry_after_s=3600.0)

    stuck, fine = (
        Acting(spec("stuck", concurrency=1), task, later),
        Acting(spec("fine"), task, answer),
    )
    ends, log, _ = run(stuck, fine)
    assert ends == {"stuck": "rate_limited", "fine": ""}
    assert sum(stuck.asked.values()) == 1
    assert Counter(v.judge for v in log.final.values()) == {"fine": 12, "stuck": 1}


@pytest.mark.parametrize(("asked_s", "ends"), [(60.0, ""), (60.1, "rate_limited")])
def test_a_server_may_ask_to_wait_a_minute_unless_told_otherwise(run, task, asked_s, ends):
    """Sixty seconds are waited for (the run is ended meanwhile), more stop the judge."""

    async def busy(judge, request):
        asyncio.get_running_loop().call_later(0.05, run.runner.state.drain)
        raise CallFailed("rate_limited", retry=True, retry_after_s=asked_s)

    ended, log, _ = run(Acting(spec(concurrency=1), task, busy))
    assert ended == {"j": ends}
    assert len(log.final) == (1 if ends else 0)


def test_a_judge_that_stops_waits_for_none_of_its_calls(run, task):
    """Those who were told to come back in a minute are woken; their units stay unasked."""

    async def busy_then_locked(judge, request):
        number = sum(judge.asked.values())
        await asyncio.sleep(0.01)
        if number < 4:
            raise CallFailed("rate_limited", retry=True, retry_after_s=50.0)
        raise CallFailed("unauthorized", stops_judge=True)

    begin = time.monotonic()
    ends, log, _ = run(Acting(spec(concurrency=4), task, busy_then_locked))
    assert time.monotonic() - begin < 20
    assert ends == {"j": "unauthorized"}
    assert {v.reason for v in log.final.values()} == {"unauthorized"}


def test_retries_are_decided_in_one_layer(run, task):
    """A call that keeps failing is sent exactly as often as the settings say."""

    async def broken(judge, request):
        raise CallFailed("server_error", retry=True)

    judge = Acting(spec(), task, broken)
    _, log, _ = run(judge)
    assert set(judge.asked.values()) == {FAST.attempts}
    assert {(v.outcome, v.reason) for v in log.final.values()} == {("failed", "server_error")}


def test_wrong_requests_are_not_retried(run, task):
    """A request that is wrong is recorded and not retried."""

    async def wrong(judge, request):
        raise CallFailed("context_length")

    judge = Acting(spec(), task, wrong)
    run(judge)
    assert set(judge.asked.values()) == {1}


def test_slow_drip_is_ended_by_the_wall_deadline(run, task):
    """A call that never ends is ended by the clock, however much it trickles."""

    async def drip(judge, request):
        while True:  # noqa: ASYNC110 -- bytes that trickle in, not an event to wait for
            await asyncio.sleep(0.001)

    _, log, _ = run(Acting(spec(deadline_s=0.02), task, drip), elicitations=("forced_choice",))
    assert {v.reason for v in log.final.values()} == {"timeout"}


def test_a_judges_bug_is_its_own_trouble(run, task):
    """An unexpected error becomes a failure of that unit; its text is not kept."""

    async def bug(judge, request):
        raise KeyError("sk-secret and the item's text")

    ends, log, _ = run(Acting(spec("bug"), task, bug), Acting(spec("fine"), task, answer))
    reasons = Counter((v.judge, v.reason) for v in log.final.values())
    assert reasons == {("bug", "unexpected_KeyError"): 12, ("fine", ""): 12}
    assert ends == {"bug": "", "fine": ""}


def test_failed_units_are_asked_again_and_answered_ones_are_not(run, task):
    """Resuming asks what failed and nothing else; the attempt is counted."""

    async def odd_fails(judge, request):
        if len(judge.asked) % 2:
            raise CallFailed("bad_request")
        return {"text": "A"}

    run(Acting(spec(), task, odd_fails))
    judge = Acting(spec(), task, answer)
    _, log, watching = run(judge)
    assert sum(judge.asked.values()) == 6
    assert len(watching.verdicts) == len(log.final) == 12
    assert sorted(v.attempt for v in log.final.values()) == [1] * 6 + [2] * 6


def test_resume_compares_requests_not_names(run, task, tmp_path):
    """A verdict on an edited item is not reused: the unit is asked anew."""
    run(Acting(spec(), task, answer))
    edited = load_task(str(make_task_folder(tmp_path / "edited")))
    first, *others = edited.items
    changed = replace(first, fields={"text": "Edited."})
    edited = edited.model_copy(update={"items": (changed, *others)})
    judge = Acting(spec(), edited, answer)
    _, log, _ = run(judge)
    assert sum(judge.asked.values()) == 2
    assert len(log.final) == 12


def test_received_reply_is_not_paid_for_again(run, task, tmp_path):
    """A second run takes every reply from the store, per sample, and asks nothing."""
    store = ResponseCache(tmp_path / "cache")
    first = Acting(spec(), task, answer)
    run(first, samples=3, store=store)
    second = Acting(spec(), task, answer)
    _, log, _ = run(second, samples=3, store=store, log="second.jsonl")
    assert set(first.asked.values()) == {1}
    assert len(first.asked) == 36
    assert not second.asked
    assert all(v.from_store for v in log.final.values())
    store.close()


def test_samples_are_cached_apart(run, task, tmp_path):
    """More samples later ask only for the new ones: one reply is never copied n times."""
    store = ResponseCache(tmp_path / "cache")
    run(Acting(spec(), task, answer), samples=1, store=store)
    judge = Acting(spec(), task, answer)
    run(judge, samples=3, store=store, log="second.jsonl")
    assert len(judge.asked) == 24
    store.close()


def test_pair_is_one_line_and_its_second_turn_holds_the_first_reply(run, task, tmp_path):
    """A pair asks twice in one conversation and is written as one verdict."""
    store = ResponseCache(tmp_path / "cache")

    async def two_turns(judge, request):
        return {
            "text": "A, B"
            if request.messages[-1].role == "user" and len(request.messages) == 2
            else "A"
        }

    judge = Acting(spec(), task, two_turns)
    _, log, _ = run(judge, elicitations=("paired",), store=store)
    assert len(log.final) == 6
    assert sum(judge.asked.values()) == 12
    verdict = next(iter(log.final.values()))
    assert (verdict.value.set, verdict.value.choice) == (("A", "B"), "A")
    assert verdict.first.request != verdict.request
    again = Acting(spec(), task, two_turns)
    _, log, _ = run(again, elicitations=("paired",), store=store, log="second.jsonl")
    assert not again.asked
    assert all(v.from_store for v in log.final.values())
    store.close()


def test_first_turn_of_a_broken_pair_is_not_paid_for_again(run, task, tmp_path):
    """If only the second turn fails, its retry keeps the first reply."""
    store = ResponseCache(tmp_path / "cache")

    async def second_fails(judge, request):
        if len(request.messages) > 2:
            raise CallFailed("bad_request")
        return {"text": "A, B"}

    _, log, _ = run(Acting(spec(), task, second_fails), elicitations=("paired",), store=store)
    assert {v.outcome for v in log.final.values()} == {"failed"}
    judge = Acting(spec(), task, answer)
    _, log, _ = run(judge, elicitations=("paired",), store=store)
    assert sum(judge.asked.values()) == 6
    assert {v.outcome for v in log.final.values()} == {"answered"}
    store.close()


def test_first_turn_of_a_pair_is_not_kept_back_until_the_second(run, task, tmp_path):
    """Whenever a second turn is sent, the first reply stands in the log, whole, with its cost."""

    async def look_into_log(judge, request):
        if len(request.messages) > 2:
            final = read_log(tmp_path / "log.jsonl").final.values()
            [logged] = [v for v in final if v.first and follows(judge, v, request)]
            assert (logged.outcome, logged.reason) == ("failed", "awaits_second_turn")
            assert (logged.first.text, logged.first.cost_usd) == ("A, B", 0.01)
        return {"text": "A, B", "cost_usd": 0.01}

    def follows(judge, verdict, request):
        begins = judge.request(Unit(verdict.item, "paired", verdict.sample))
        return judge.follow_up(begins, verdict.first).hash == request.hash

    _, log, watching = run(Acting(spec(), task, look_into_log), elicitations=("paired",), samples=2)
    assert {v.reason for v in log.final.values()} == {"choice:several"}
    n_written = n_lines(tmp_path / "log.jsonl")
    assert n_written == 2 * len(log.final) == 2 * len(watching.verdicts)


@pytest.mark.parametrize("cached", [True, False])
def test_first_turn_is_not_bought_again_by_a_run_that_ended_between_the_turns(
    run, task, tmp_path, cached
):
    """The log alone is enough: resumed, also without a cache, only second turns are sent, and the
    pairs cost what both turns cost."""
    store = ResponseCache(tmp_path / "cache") if cached else None

    async def end_at_second(judge, request):
        if len(request.messages) > 2:
            run.runner.state.drain()
            raise CallFailed("rate_limited", retry=True, retry_after_s=50.0)
        return {"text": "A, B", "cost_usd": 0.25}

    _, log, _ = run(Acting(spec(), task, end_at_second), elicitations=("paired",), store=store)
    n_first = len(log.final)
    assert n_first > 0
    assert {v.reason for v in log.final.values()} == {"awaits_second_turn"}
    judge = Acting(spec(), task, answer)
    _, log, _ = run(judge, elicitations=("paired",), store=store)
    assert {v.outcome for v in log.final.values()} == {"answered"}
    assert sum(judge.asked.values()) == 2 * len(task.items) - n_first
    firsts = [v.first.cost_usd for v in log.final.values()]
    assert firsts.count(0.25) == n_first
    assert logged_cost_usd(log) == pytest.approx(sum(firsts) + 0.01 * len(log.final))
    if store:
        store.close()


def test_log_with_a_lone_first_turn_is_validated(run, task, tmp_path):
    """It counts as failed until the second turn is there; both readers agree."""

    async def second_fails(judge, request):
        if len(request.messages) > 2 and judge.asked[request.hash] == 1 and len(judge.asked) < 9:
            raise CallFailed("bad_request")
        return {"text": "A, B" if len(request.messages) == 2 else "B"}

    _, log, _ = run(Acting(spec(), task, second_fails), elicitations=("paired",))
    read = read_external(tmp_path / "log.jsonl", task)
    assert Counter(v.outcome for v in read) == Counter(v.outcome for v in log.final.values())
    assert {unit_key(v): v for v in read} == log.final


def test_blank_first_turn_of_a_pair_is_not_followed_up(run, task, tmp_path):
    """Some providers refuse an empty assistant turn: the pair is invalid, nothing more is sent."""
    store = ResponseCache(tmp_path / "cache")

    async def blank(judge, request):
        return {"text": " \n"}

    judge = Acting(spec(), task, blank)
    _, log, _ = run(judge, elicitations=("paired",), store=store)
    assert sum(judge.asked.values()) == 6
    assert {(v.outcome, v.reason, v.value) for v in log.final.values()} == {
        ("invalid", "set:empty", None)
    }
    again = Acting(spec(), task, blank)
    run(again, elicitations=("paired",), store=store, log="second.jsonl")
    run(again, elicitations=("paired",), store=store)
    assert not again.asked
    store.close()


def test_max_cost_stops_before_it_is_exceeded(run, task):
    """No request is sent that could take the run over its limit; what was answered stays."""
    price = Price(input=0, output=1000)

    async def costly(judge, request):
        return {"text": "A", "cost_usd": 0.01}

    judge = Acting(spec(price=price, params={"max_tokens": 10}, concurrency=1), task, costly)
    budget = CostBudget(0.055)
    _, log, _ = run(judge, budget=budget)
    assert budget.exhausted
    assert sum(judge.asked.values()) == 5 == len(log.final)
    assert budget.spent_usd == pytest.approx(0.05)


def test_costs_are_counted_without_a_limit(run, task):
    """A budget without a limit holds up no call, and says afterwards what replies have cost."""

    async def costly(judge, request):
        return {"text": "A", "cost_usd": 0.01}

    judge = Acting(spec(price=Price(input=0, output=1000)), task, costly)
    budget = CostBudget(None, 1.0)
    _, log, _ = run(judge, budget=budget)
    assert len(log.final) == sum(judge.asked.values()) > 0
    assert budget.spent_usd == pytest.approx(1.0 + 0.01 * len(log.final))
    assert not budget.exhausted


def test_max_cost_cuts_items_and_not_response_sets(run, task):
    """Asked by elicitation, a limited run had every forced choice and no response set at all."""

    async def costly(judge, request):
        return {"text": "A", "cost_usd": 0.01}

    price = Price(input=0, output=1000)
    judge = Acting(spec(price=price, params={"max_tokens": 10}, concurrency=1), task, costly)
    both = ("forced_choice", "response_set")
    _, log, _ = run(judge, elicitations=both, samples=1, budget=CostBudget(0.065))
    received = Counter(verdict.item for verdict in log.final.values())
    assert sorted(received.values()) == [2, 2, 2]


def test_pairs_follow_the_response_sets_that_they_begin_with(task):
    """Each pair is asked once, after its set; without sets, together with its item."""
    judge = build(spec(), task, Prompts.load(task))
    items = tuple(replace(task.items[0], id=f"i{n}") for n in range(250))
    every = ("forced_choice", "response_set", "paired")
    order = [
        (item.id, elicitation) for item, elicitation in Job(judge, items, every, 1).questions()
    ]
    assert len(set(order)) == len(order) == 750
    for item in items:
        apart = order.index((item.id, "paired")) - order.index((item.id, "response_set"))
        assert apart > 50
    two = Job(judge, items, ("forced_choice", "paired"), 1).questions()
    assert [item.id for item, _ in two] == [item.id for item in items for _ in range(2)]


def test_drain_receives_what_is_in_flight_and_sends_nothing_more(run, task):
    """After the first signal, replies under way are kept and no request leaves."""

    async def stop_then_answer(judge, request):
        run.runner.state.drain()
        await asyncio.sleep(0.02)
        return {"text": "A"}

    judge = Acting(spec(concurrency=2), task, stop_then_answer)
    _, log, _ = run(judge, samples=5)
    assert 1 <= sum(judge.asked.values()) <= 2
    assert len(log.final) == sum(judge.asked.values())


def test_drain_ends_backing_off(run, task):
    """A call that is waiting to be sent again is left for the resume, not recorded as failed."""

    async def busy(judge, request):
        run.runner.state.drain()
        raise CallFailed("rate_limited", retry=True, retry_after_s=0.4)

    _, log, _ = run(Acting(spec(concurrency=1), task, busy))
    assert not log.final
