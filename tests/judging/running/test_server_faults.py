"""Judges under fire: runner, cache and log on, against a server that plays the fault matrix.

Every line is played for the aiohttp judge and for litellm's OpenAI and Anthropic styles, by a judge
of its own, all judges of a style in one run; what reached the server is counted there.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack
from email.utils import formatdate
from types import SimpleNamespace

import pytest
from support.judge_calls import KEY, TEXT
from support.processes import start_server
from support.task_folders import make_task_folder

from harness.judging.judges.config import new_judge
from harness.judging.judges.hosted import load_litellm
from harness.judging.judges.judge_registry import build
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget
from harness.judging.running.rate_limit import OPENS_AFTER, PROBES
from harness.judging.running.retry import RetryPolicy
from harness.judging.running.session import Session
from harness.judging.running.session_state import SessionLimits, SessionState
from harness.judging.running.units import Job
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import VerdictLog, read_log
from harness.tasks import load_task

N, ATTEMPTS, MAX_WAIT_S = 2, 3, 2.0
FAST = RetryPolicy(attempts=ATTEMPTS, backoff_s=0.001, backoff_max_s=0.002)
STYLES = {
    "aiohttp": {"kind": "endpoint", "model": "stub"},
    "openai": {"kind": "litellm", "model": "openai/stub"},
    "anthropic": {"kind": "litellm", "model": "anthropic/stub"},
}
EACH_STYLE = [  # a run of all lines through litellm takes seconds; `test_hosted.py` has its faults
    style if style == "aiohttp" else pytest.param(style, marks=pytest.mark.slow) for style in STYLES
]
PASSING = ("408", "409", "429", "500", "502", "503", "504", "529", "reset", "error200")
UNREADABLE = ("resetbody", "cut", "trunc", "html", "utf8", "nochoices")  # with status 200
LASTING = ("400", "422", "context", "toolong")
STOPPING = {
    "401": "unauthorized",
    "403": "forbidden",
    "404": "not_found",
    "quota": "quota_spent",
    "payment": "quota_spent",
    f"429;retry-after={MAX_WAIT_S + 1}": "rate_limited",
    f"503;retry-after-ms={1e3 * MAX_WAIT_S + 1}": "http_503",
    "307;to=http://127.0.0.1:9/elsewhere": "redirect_refused",
}
WAITS = {  # what a first 429 says, and how many seconds must pass
    "retry-after-ms=200;retry-after=9": 0.2,
    "retry-after=0.3": 0.3,
    "retry-after=0": 0,
    "retry-after=-5": 0,
    "retry-after=soon": 0,
    "retry-after=Sun Nov  6 08:49:37 1994": 0,
}
STRANGE = {
    "null": "invalid",
    "filter": "refused",
    "filter400": "refused",
    "length": "invalid",
    "nul": "invalid",
    "surrogate": "invalid",
    "bidi": "invalid",
}
ENDLESS_S = 2  # the deadline of a call
ENDLESS = ("drip*1", "hang*1")


class Clock:
    """An observer that notes when each judge came to its end."""

    def __init__(self):
        self.start = time.monotonic()
        self.ended_s = {}
        self.lines = []

    def advanced(self, judge, verdicts):
        pass

    def resumed(self, judge, verdicts):
        pass

    def ended(self, judge, reason):
        self.ended_s[judge] = time.monotonic() - self.start

    def say(self, line):
        self.lines.append(line)


def play(place, task, specs, retry=FAST):
    """Ask the judges about every item, with the cache at hand."""
    prompts = Prompts.load(task)
    jobs = [Job(build(spec, task, prompts), task.items, ("forced_choice",), 1) for spec in specs]
    clock = Clock()
    store = ResponseCache(place / "cache")
    path = place / f"{time.monotonic_ns()}.jsonl"
    with VerdictLog.open(path) as log:
        runner = Session(
            jobs,
            SessionState(
                task,
                log=log,
                store=store,
                done={},
                observer=clock,
                limits=SessionLimits(CostBudget(None), retry=retry),
            ),
        )
        ends = asyncio.run(runner.run())
    store.close()
    outcomes = {spec.name: Counter() for spec in specs}
    for verdict in read_log(path).final.values():
        outcomes[verdict.judge][verdict.outcome] += 1
    return SimpleNamespace(
        ends=ends, outcomes=outcomes, ended_s=clock.ended_s, lines=clock.lines, path=path
    )


def specify(stub, style, plan, **options):
    usual = {"concurrency": 1, "key_env": "STUB_KEY", "deadline_s": 30}
    options = usual | {"retry_after_max_s": MAX_WAIT_S} | STYLES[style] | options
    return new_judge(name=options.pop("name", plan), base_url=stub.url(fault=plan), **options)


def make(place):
    """A small task whose texts hold a canary."""
    folder = make_task_folder(place / "task", N)
    items = folder / "items.jsonl"
    items.write_text(items.read_text(encoding="utf-8").replace("comment", TEXT), encoding="utf-8")
    return load_task(str(folder))


@pytest.fixture(scope="module", params=EACH_STYLE)
def played(request, tmp_path_factory, stub):
    """One run per style with a judge for every line of the matrix."""
    place = tmp_path_factory.mktemp(request.param)
    task = make(place)
    plans = [f"{fault}*{ATTEMPTS - 1}" for fault in PASSING] + [*PASSING, *LASTING, *STOPPING]
    plans += [*UNREADABLE, *(f"{fault}*1" for fault in UNREADABLE)]
    plans += [f"429*1;{wait}" for wait in WAITS] + [*STRANGE]
    stub.reset()
    if request.param != "aiohttp":
        load_litellm()  # seconds that are no call's
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUB_KEY", KEY)
        specs = [specify(stub, request.param, plan) for plan in plans]
        specs.append(specify(stub, request.param, "", name="fine"))
        result = play(place, task, specs)
        endless = [
            specify(stub, request.param, plan, deadline_s=ENDLESS_S, concurrency=N)
            for plan in ENDLESS
        ]
        result.endless = play(place, task, endless)
        by_path = stub.stats()["by_path"]
        result.requests = Counter()
        for spec in specs + endless:
            result.requests[spec.name] = sum(
                n for path, n in by_path.items() if path.startswith(f"/fault/{spec.name}/")
            )
        total = stub.stats()["requests"]
        strange = [spec for spec in specs if spec.name in STRANGE]
        result.again = play(place, task, strange)
        result.asked_again = stub.stats()["requests"] - total
    return result


@pytest.mark.parametrize("fault", PASSING)
def test_temporary_faults_are_retried_by_one_layer(played, fault):
    """A unit that meets a fault twice is answered by its third request; three are all it gets.

    What they did not bring may come when the run is resumed, so it is not done.
    """
    twice = f"{fault}*{ATTEMPTS - 1}"
    assert played.outcomes[twice] == {"answered": N}
    assert played.requests[twice] == N * ATTEMPTS
    assert played.outcomes[fault] == {"failed": N}
    assert played.requests[fault] == N * ATTEMPTS
    assert played.ends[fault]
    assert not played.ends[twice]


@pytest.mark.parametrize("fault", UNREADABLE)
def test_reply_that_cannot_be_read_is_paid_for_twice_at_most(played, fault):
    """It is asked for once more, however many attempts there are; the run says how many there
    were."""
    once = f"{fault}*1"
    assert played.outcomes[once] == {"answered": N}
    assert played.outcomes[fault] == {"failed": N}
    assert played.requests[once] == played.requests[fault] == 2 * N
    assert played.ends[fault]
    for plan, n in ((once, N), (fault, 2 * N)):
        [line] = [line for line in played.lines if line.startswith(f"{plan}: ")]
        assert f"{n} responses could not be read and were probably paid for" in line


@pytest.mark.parametrize("fault", LASTING)
def test_permanent_faults_are_recorded_without_a_retry(played, fault):
    """One request per unit, and the judge goes on to the next."""
    assert played.outcomes[fault] == {"failed": N}
    assert played.requests[fault] == N
    assert not played.ends[fault]


@pytest.mark.parametrize("fault", STOPPING, ids=lambda fault: fault.partition("=")[0])
def test_a_judge_that_cannot_go_on_stops_at_its_first_reply(played, fault):
    """A wrong key, a spent quota, a wait beyond the setting, a redirect: one request in all."""
    assert played.ends[fault] == STOPPING[fault]
    assert played.requests[fault] == 1
    assert played.outcomes[fault] == {"failed": 1}


def test_one_judges_trouble_is_no_others(played):
    """Beside all those in trouble, the one judge without any has all its answers."""
    assert played.outcomes["fine"] == {"answered": N}
    assert not played.ends["fine"]


@pytest.mark.parametrize("wait", WAITS)
def test_retry_after_is_waited_for_where_it_says_anything(played, wait):
    """Milliseconds go before seconds (nine would have stopped the judge); what is past, zero or
    unreadable leaves the wait to us."""
    plan = f"429*1;{wait}"
    assert played.outcomes[plan] == {"answered": N}
    assert played.requests[plan] == 2 * N
    assert played.ended_s[plan] >= WAITS[wait]  # the units may wait side by side


@pytest.mark.parametrize("plan", ENDLESS)
def test_only_the_wall_deadline_ends_what_never_ends(played, plan):
    """A slow drip trips no read timeout; the deadline around the call does."""
    assert played.endless.outcomes[plan] == {"answered": N}
    assert played.requests[plan] == 2 * N
    assert played.endless.ended_s[plan] >= ENDLESS_S


@pytest.mark.parametrize("fault", STRANGE)
def test_strange_replies_are_received_and_paid_for_once(played, fault):
    """What a server says in good form is a reply: logged, cached and never asked for again."""
    assert played.outcomes[fault] == played.again.outcomes[fault] == {STRANGE[fault]: N}
    assert played.requests[fault] == N
    assert played.asked_again == 0


def test_the_log_holds_no_key_and_no_prompt(played):
    """Whatever went wrong, neither the key nor an item's text is in the record."""
    for line in played.path.read_text(encoding="ascii").splitlines():
        assert KEY not in line
        row = json.loads(line)
        row.get("reply", {}).pop("text", None)
        assert TEXT not in json.dumps(row)


@pytest.fixture
def _key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)


@pytest.mark.usefixtures("_key")
def test_retry_after_may_be_a_date(tmp_path, stub):
    """A date further off than the setting stops the judge; a nearer one is waited for."""
    far, near = (
        f"429*1;retry-after={formatdate(time.time() + s, usegmt=True).replace(',', '')}"
        for s in (30, MAX_WAIT_S)
    )
    specs = [specify(stub, "aiohttp", plan, concurrency=N) for plan in (far, near)]
    result = play(tmp_path, make(tmp_path), specs)
    assert result.ends == {far: "rate_limited", near: ""}
    assert result.outcomes[near] == {"answered": N}


@pytest.mark.usefixtures("_key")
def test_two_aliases_of_one_model_are_asked_once(tmp_path, stub):
    """They share their requests, also those that are under way: a lease lets one of them ask."""
    stub.reset()
    specs = [specify(stub, "aiohttp", "", name=name, concurrency=2) for name in ("one", "two")]
    result = play(tmp_path, make(tmp_path), specs)
    assert result.outcomes == {"one": {"answered": N}, "two": {"answered": N}}
    assert stub.stats()["requests"] == N


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("fault", ["reset", "502", "html"])
def test_dead_server_is_not_asked_for_every_unit(tmp_path, stub, fault):
    """Its judge stops after the calls in flight and a few probes, and what was not sent is not
    failed; another judge gets all its answers."""
    stub.reset()
    task = load_task(str(make_task_folder(tmp_path / "task", 100)))
    patient = RetryPolicy(attempts=6, backoff_s=0.001, backoff_max_s=0.002)
    specs = [
        specify(stub, "aiohttp", plan, name=plan or "fine", concurrency=8) for plan in ("", fault)
    ]
    result = play(tmp_path, task, specs, patient)
    by_path = stub.stats()["by_path"]
    n_dead = sum(n for path, n in by_path.items() if path.startswith("/fault/"))
    assert OPENS_AFTER < n_dead <= OPENS_AFTER + 8 + PROBES
    assert result.ends[fault] in {"connection_lost", "http_502", "bad_body"}
    assert result.outcomes[fault]["failed"] <= n_dead
    assert (result.ends["fine"], result.outcomes["fine"]) == ("", {"answered": 100})


@pytest.mark.usefixtures("_key")
def test_server_that_comes_back_costs_no_unit(tmp_path):
    """Nothing listens at first; the units wait, and all are answered."""
    task = load_task(str(make_task_folder(tmp_path / "task", 20)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    retry = RetryPolicy(attempts=6, backoff_s=0.1, backoff_max_s=2.0)
    spec = new_judge(name="late", model="stub", base_url=f"http://127.0.0.1:{port}/v1")
    with ExitStack() as server:
        timer = threading.Timer(0.5, lambda: server.enter_context(start_server(port=port)))
        timer.start()
        result = play(tmp_path, task, [spec], retry)
        timer.join()
    assert (result.ends, result.outcomes) == ({"late": ""}, {"late": {"answered": 20}})
