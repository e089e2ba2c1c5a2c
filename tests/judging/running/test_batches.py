"""Requests in batches: handed in once, read as if asked one by one, resumed after any end."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from urllib.parse import quote

import pytest
from support.judge_runs import QUICK_RETRIES, RecordingObserver, n_lines, run_judge
from support.processes import BATCH_SERVER, start_harness, start_server
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.plan_of_run import plan_resumed_run
from harness.app.run import execute, start
from harness.errors import RunError
from harness.extras.batch.batch_apis import batch_api_of
from harness.extras.batch.batch_ledger import BatchLedger, PendingBatch
from harness.extras.batch.batched_judge import BatchedJudge, Batching
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build
from harness.judging.judges.response_errors import UNREADABLE
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget
from harness.judging.running.session import Session
from harness.judging.running.session_state import N_FIRST, SessionLimits, SessionState
from harness.judging.running.units import Job
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import VerdictLog, read_log
from harness.options.concerns import Place, RunOptions, Server
from harness.runs.run_folder import RunFolder
from harness.tasks import load_task

PRICE = {"input": 100.0, "output": 400.0, "batch": 0.5}
N_ITEMS = 5
EVERY = ("forced_choice", "response_set", "paired")
CHATTER = "I would rather talk about the weather."


@pytest.fixture(scope="module")
def provider():
    with start_server(BATCH_SERVER) as running:
        yield running


@pytest.fixture
def place(tmp_path, provider):
    """A folder, a task, and a way to ask about it in batches or one by one."""
    provider.reset()
    make_task_folder(tmp_path / "task", N_ITEMS)

    def go(
        stub,
        *,
        batch=True,
        elicitations=EVERY,
        log="log.jsonl",
        book="batches.json",
        store=None,
        limit=None,
        sleep=asyncio.sleep,
        hold=None,
        task="task",
        asking=None,
        **more,
    ):
        style = {"name": "far", "model": "stub", "price": PRICE, "base_url": stub.url()}
        style |= {"batch_poll_s": 0.02} | more
        spec = new_judge(**style)
        go.budget = CostBudget(limit)
        asking = {"elicitations": elicitations, "samples": 2, "store": store} | (asking or {})
        if batch:
            spec = spec.model_copy(update={"price": spec.price.in_batch()})
            ledger = BatchLedger(tmp_path / book, hold)
            batching = Batching(ledger, lambda line: None, is_limited=bool(limit), sleep=sleep)

            def wrap(judge):
                leaving.judges = [BatchedJudge(judge, batching)]
                return leaving.judges[0]

            asking["wrap"] = wrap
        read = load_task(tmp_path / task)
        done, end, _ = run_judge(spec, read, tmp_path / log, budget=go.budget, **asking)
        return done, end

    go.folder = tmp_path
    return go


def values(log):
    return {key: (verdict.outcome, verdict.value) for key, verdict in log.final.items()}


def cost(log):
    bought = {r.request: r for v in log.final.values() for r in v.replies}
    return sum(reply.cost_usd for reply in bought.values())


def test_batch_gives_what_single_requests_give_at_half_the_price(place, provider, stub):
    """The same verdicts, pairs included; second turns go into a second batch."""
    batched, end = place(provider)
    single, _ = place(stub, batch=False, log="single.jsonl")
    assert end == ""
    assert values(batched) == values(single)
    assert cost(batched) == pytest.approx(cost(single) / 2)
    assert place.budget.limit_usd is None
    stats = provider.stats()
    assert stats["batches"] == 2
    assert stats["requests"] == N_ITEMS * 2 * 3, "first turns are the response sets' requests"
    assert json.loads((place.folder / "batches.json").read_text()) == []


@pytest.mark.slow
@pytest.mark.parametrize("model", ["openai/stub", "anthropic/stub"])
def test_hosted_judges_hand_in_what_litellm_would_send(place, provider, stub, model, monkeypatch):
    """Both providers' forms, written and read by the code that asks one by one."""
    monkeypatch.setenv("STUB_KEY", "sk-canary-1")
    style = {"kind": "litellm", "model": model, "key_env": "STUB_KEY", "elicitations": EVERY[:1]}
    batched, end = place(provider, **style)
    assert end == ""
    single, _ = place(stub, batch=False, log="single.jsonl", **style)
    assert values(batched) == values(single)
    assert cost(batched) == pytest.approx(cost(single) / 2)
    assert "sk-canary" not in (place.folder / "batches.json").read_text()


def test_unreadable_first_turns_buy_no_second_batch(place, provider):
    """What was handed in is paid for and recorded; nothing else is handed in.

    Resumed with --keep-going, only the second turns are asked for.
    """
    make_task_folder(place.folder / "more", 24)
    provider.post(f"/say/{quote(CHATTER)}")
    observer = RecordingObserver()
    pairs = {"elicitations": ("paired",), "task": "more"}
    batched, end = place(provider, asking={"keep_going": False, "observer": observer}, **pairs)
    assert (end, provider.stats()["batches"]) == (UNREADABLE, 1)
    assert observer.lines[:2] == [f"far: 0 of the first {N_FIRST} replies can be read", CHATTER]
    assert len(batched.final) == 2 * 24
    assert json.loads((place.folder / "batches.json").read_text()) == []
    batched, end = place(provider, **pairs)
    assert (end, provider.stats()["requests"]) == ("", 2 * 2 * 24)


def test_replies_of_a_batch_reach_the_cache(place, provider, tmp_path):
    """A second run finds them there and hands nothing in."""
    store = ResponseCache(tmp_path / "cache")
    place(provider, store=store)
    before = provider.stats()["requests"]
    log, _ = place(provider, store=store, log="second.jsonl")
    store.close()
    assert provider.stats()["requests"] == before
    assert all(verdict.from_store for verdict in log.final.values())
    assert len(log.final) == N_ITEMS * 2 * 3, "pairs too, whose turns are both known"


def together(place, task, specs, *, elicitations, sleep=asyncio.sleep):
    """Ask several judges in one run; return why each stopped."""
    store = ResponseCache(place / "cache")
    prompts = Prompts.load(task)
    ledger = BatchLedger(place / "batches.json", partial(store.held.hold, place))
    batching = Batching(ledger, lambda line: None, sleep=sleep)
    jobs = [
        Job(BatchedJudge(build(s, task, prompts), batching), task.items, elicitations, 2)
        for s in specs
    ]
    with VerdictLog.open(place / "log.jsonl") as log:
        running = Session(
            jobs,
            SessionState(
                task,
                log=log,
                store=store,
                done=read_log(place / "log.jsonl").final,
                observer=RecordingObserver(),
                limits=SessionLimits(CostBudget(None), retry=QUICK_RETRIES),
            ),
        )
        if sleep is leaving:
            leaving.judges = [job.judge for job in jobs]
        ends = asyncio.run(running.run())
    store.close()
    return ends


async def leaving(seconds):
    """End the session before the results of its batch are there."""
    for judge in leaving.judges:
        judge.leave()
    await asyncio.sleep(3600)


@pytest.fixture
def one_cache(place, tmp_path):
    """A way to begin or to resume runs on one cache, each in a folder of its own."""

    def go(run, stub, said=None, **more):
        (tmp_path / run).mkdir(exist_ok=True)
        store = ResponseCache(tmp_path / "cache", ([] if said is None else said).append)
        more = {"elicitations": ("forced_choice",), "store": store} | more
        more["hold"] = partial(store.held.hold, tmp_path / run)
        log, end = place(stub, log=f"{run}/log.jsonl", book=f"{run}/batches.json", **more)
        store.close()
        return log, end

    return go


@pytest.mark.slow
@pytest.mark.parametrize("ended", ["left", "killed"])
def test_requests_in_a_batch_of_another_run_are_not_asked_again(
    one_cache, provider, tmp_path, ended
):
    """What one run has handed in another leaves out, in batches or not, and goes on with the rest;
    both end with every reply, each paid for once. So also if the one was killed too soon to write
    down what its batch is called."""
    each = N_ITEMS * 2
    one_cache("first", provider, sleep=leaving)
    if ended == "killed":
        book = BatchLedger(tmp_path / "first" / "batches.json")
        book.put(book.batches[0]._replace(id=""))
    assert provider.stats()["requests"] == each
    for run, batch in (("second", True), ("third", False)):
        both = {"batch": batch, "elicitations": EVERY[:2]}
        log, end = one_cache(run, provider, **both)
        assert (end, len(log.final)) == ("in_a_batch", each), "response sets alone"
        assert provider.stats()["requests"] == each * 2
    one_cache("first", provider)
    for run, batch in (("second", True), ("third", False)):
        log, end = one_cache(run, provider, batch=batch, elicitations=EVERY[:2])
        assert (end, len(log.final)) == ("", each * 2)
    assert provider.stats()["requests"] == each * 2


def test_second_turn_in_a_batch_of_another_run_is_not_asked_again(one_cache, provider):
    """A pair whose first turn is known waits for its second with the run that handed that in."""
    one_cache("first", provider, elicitations=EVERY[1:2])
    one_cache("first", provider, elicitations=EVERY[2:], sleep=leaving)
    before = provider.stats()["requests"]
    assert before == N_ITEMS * 4
    log, end = one_cache("second", provider, batch=False, elicitations=EVERY[2:])
    assert (end, len(log.final), provider.stats()["requests"]) == ("in_a_batch", 0, before)


def test_replies_of_a_batch_are_as_old_as_the_batch(one_cache, provider, tmp_path):
    """One that is collected weeks later doesn't bring today's replies."""
    one_cache("first", provider, sleep=leaving)
    handed_in = round(time.time() - 25 * 86400, 3)
    book = BatchLedger(tmp_path / "first" / "batches.json")
    book.put(book.batches[0]._replace(created=handed_in))
    log, end = one_cache("first", provider)
    assert (end, len(log.final)) == ("", N_ITEMS * 2)
    assert {verdict.reply.received_at for verdict in log.final.values()} == {handed_in}


@pytest.mark.slow
@pytest.mark.parametrize("why", ["gone", "old"])
def test_batches_that_nobody_can_get_any_more_are_asked_again(one_cache, provider, tmp_path, why):
    """Their run was deleted, or the provider no longer keeps their results: one line says so."""
    one_cache("first", provider, sleep=leaving)
    if why == "gone":
        shutil.rmtree(tmp_path / "first")
    else:
        store = ResponseCache(tmp_path / "cache")
        hold = partial(store.held.hold, tmp_path / "first")
        book = BatchLedger(tmp_path / "first" / "batches.json", hold)
        book.put(book.batches[0]._replace(created=time.time() - 30 * 86400))
        store.close()
    for run in ("second", "third"):
        said = []
        log, end = one_cache(run, provider, said)
        assert (end, len(log.final)) == ("", N_ITEMS * 2)
        assert provider.stats()["requests"] == N_ITEMS * 4
        if run == "second":
            [line] = said
            assert str(tmp_path / "first") in line
            assert "sent again" in line


def test_batches_that_another_run_submits_later_are_awaited(tmp_path):
    """What it holds is read again when it has changed, for as long as anything is outstanding."""
    theirs, ours = ResponseCache(tmp_path / "cache"), ResponseCache(tmp_path / "cache")
    book = BatchLedger(tmp_path / "batches.json", partial(theirs.held.hold, tmp_path))
    keys = [("", "1" * 64), ("", "2" * 64)]
    tickets = [PendingBatch("j", key, time.time(), [key]) for _, key in keys]
    for ticket in tickets:
        book.put(ticket)
        assert ticket.requests[0] in ours.claim(keys).held
    for ticket in tickets:
        book.drop(ticket)
        assert ticket.requests[0] not in ours.claim(keys).held
    ours.close()
    theirs.close()


@pytest.mark.parametrize("damage", ["link", "text"])
def test_an_unreadable_batch_file_of_another_run_is_one_line(tmp_path, damage):
    """It might hold what we would ask for."""
    theirs, ours = ResponseCache(tmp_path / "cache"), ResponseCache(tmp_path / "cache")
    book = BatchLedger(tmp_path / "batches.json", partial(theirs.held.hold, tmp_path))
    book.put(PendingBatch("j", "token", time.time(), ["1" * 64]))
    [file] = (tmp_path / "cache" / "held").iterdir()
    file.unlink()
    if damage == "link":
        file.symlink_to(tmp_path / "batches.json")
    else:
        file.write_text("[]")
    with pytest.raises(RunError, match=r"cannot be read \(.*--cache DIR"):
        ours.claim([("", "0" * 64)])
    ours.close()
    theirs.close()


def test_stray_files_beside_what_runs_hold_are_ignored(tmp_path):
    """Files of the desktop end no run."""
    store = ResponseCache(tmp_path / "cache")
    (tmp_path / "cache" / "held").mkdir()
    for name in (".DS_Store", "x.part", "0" * 64):
        (tmp_path / "cache" / "held" / name).write_bytes(b"\0")
    assert store.claim([("", "0" * 64)]).granted == {"0" * 64}
    store.close()


def test_a_run_that_waits_for_nothing_holds_nothing(one_cache, provider, tmp_path):
    """Others do not look for its batches."""
    one_cache("first", provider)
    assert list((tmp_path / "cache" / "held").iterdir()) == []


def test_judge_does_not_wait_for_a_batch_that_its_run_cannot_get(tmp_path, provider):
    """Of two judges of one model the first handed in; its batch is lost, and the second neither
    waits for ever nor pays again."""
    provider.reset()
    fields = {"model": "stub", "price": PRICE, "base_url": provider.url(), "batch_poll_s": 0.02}
    specs = [new_judge(name=name, **fields) for name in ("near", "far")]
    task = load_task(make_task_folder(tmp_path / "task", N_ITEMS))
    together(tmp_path, task, specs[1:], elicitations=EVERY[:1], sleep=leaving)
    [ticket] = BatchLedger(tmp_path / "batches.json").batches
    BatchLedger(tmp_path / "batches.json").put(ticket._replace(id="lost"))
    ends = together(tmp_path, task, specs, elicitations=EVERY[:1])
    assert ends == {"near": "not_found", "far": "not_found"}
    assert provider.stats()["requests"] == N_ITEMS * 2


def test_two_judges_of_one_model_hand_each_request_in_once(tmp_path, provider):
    """A lease on each request lets one of them ask; the other takes the replies from the cache."""
    provider.reset()
    fields = {"model": "stub", "price": PRICE, "base_url": provider.url(), "batch_poll_s": 0.02}
    specs = [new_judge(name=name, **fields) for name in ("far", "near")]
    task = load_task(make_task_folder(tmp_path / "task", N_ITEMS))
    ends = together(tmp_path, task, specs, elicitations=EVERY)
    assert ends == {"far": "", "near": ""}
    final = read_log(tmp_path / "log.jsonl").final
    assert Counter(verdict.outcome for verdict in final.values()) == {"answered": N_ITEMS * 12}
    assert provider.stats()["requests"] == N_ITEMS * 2 * 3
    assert sum(not verdict.from_store for verdict in final.values()) == N_ITEMS * 2 * 3


def test_looks_at_a_batch_grow_rarer(place, provider):
    """From the judge's own first wait to ten times that."""
    waits = []

    async def wait(seconds):
        waits.append(seconds)
        if len(waits) == 8:
            provider.post("/go")

    provider.post("/hold")
    place(provider, sleep=wait, elicitations=("forced_choice",), batch_poll_s=2.0)
    assert waits == pytest.approx([2, 3, 4.5, 6.75, 10.125, 15.1875, 20, 20])


def test_requests_without_an_answer_are_handed_in_again(place, provider):
    """One refused, one expired: the second is in the next batch, the first on resume."""
    provider.post("/spoil")
    log, end = place(provider, elicitations=("forced_choice",))
    assert end == ""
    assert [v.reason for v in log.final.values() if v.outcome == "failed"] == ["bad_request"]
    assert provider.stats()["batches"] == 2
    log, end = place(provider, elicitations=("forced_choice",))
    assert end == ""
    assert {verdict.outcome for verdict in log.final.values()} == {"answered"}
    assert provider.stats()["requests"] == N_ITEMS * 2 + 2


def test_lost_answer_to_a_batch_does_not_hand_it_in_twice(place, provider):
    """The provider took the batch in and the connection broke: it is found by our token."""
    provider.post("/lose")
    log, end = place(provider, elicitations=("forced_choice",))
    assert (end, len(log.final)) == ("", N_ITEMS * 2)
    assert provider.stats()["batches"] == 1


def test_ticket_without_an_id_is_looked_for_on_resume(place, provider):
    """Killed between handing in and writing the id down: found if it arrived, else handed in."""
    place(provider, elicitations=("forced_choice",))
    book = BatchLedger(place.folder / "batches.json")
    book.put(PendingBatch("far", "never-received", time.time(), [f"{n:064}" for n in range(10)]))
    log, _ = place(provider, elicitations=("response_set",))
    assert len(log.final) == N_ITEMS * 4
    assert provider.stats()["batches"] == 2
    assert BatchLedger(place.folder / "batches.json").batches == []


@pytest.mark.slow
def test_limit_bounds_what_is_handed_in(place, provider):
    """A batch holds only what the limit surely covers; the rest waits for a resume, which comes
    when the limit has no room for the most that one more request may cost."""
    whole, _ = place(provider, elicitations=("forced_choice",))
    limit = cost(whole) * 1.2
    (place.folder / "log.jsonl").unlink()
    log, _ = place(provider, elicitations=("forced_choice",), limit=limit)
    assert limit - place.budget.refused_usd < cost(log) <= limit
    assert place.budget.exhausted
    assert 0 < len(log.final) < N_ITEMS * 2


def test_refused_key_stops_the_judge_before_anything_is_handed_in(place, stub):
    """A server without batches says 404: the judge stops, nothing stays outstanding."""
    log, end = place(stub)
    assert end == "not_found"
    assert {verdict.reason for verdict in log.final.values()} == {"not_found"}
    assert BatchLedger(place.folder / "batches.json").batches == []


def test_damaged_list_of_batches_is_refused(tmp_path):
    """Going on without it could hand everything in twice."""
    (tmp_path / "batches.json").write_text("[{]")
    with pytest.raises(RunError, match="submitted twice"):
        BatchLedger(tmp_path / "batches.json")


def test_only_known_providers_take_batches():
    """OpenAI's and Anthropic's own models, and servers that speak OpenAI's language."""
    taken = {"openai/gpt-4o": True, "claude-haiku-4-5": True, "gemini/gemini-2.5-flash": False}
    for model, expected in taken.items():
        assert (batch_api_of(new_judge(name="j", model=model)) is not None) is expected
    assert batch_api_of(new_judge(name="j", kind="random")) is None


@pytest.mark.slow
def test_killed_run_goes_on_waiting_and_hands_nothing_in_twice(tmp_path, provider):
    """kill -9 while a batch is being worked on: another run names the one to resume and asks for
    nothing of it; the resumed run collects that very batch, and the other takes its replies."""
    provider.reset()
    provider.post("/hold")
    make_task_folder(tmp_path / "task", N_ITEMS)
    judge = {"model": "stub", "base_url": provider.url(), "samples": 2, "price": PRICE}
    judge |= {"batch_poll_s": 0.02}
    (tmp_path / "judges.yaml").write_text(json.dumps({"judges": {"far": judge}}))
    options = ["--task", "task", "--judges", "far", "--judges-file", "judges.yaml"]
    options += ["--batch", "--elicitation", "forced_choice", "--quiet"]
    options += ["--cache", "cache"]
    run = start_harness("run", *options, cwd=tmp_path)
    ends = time.monotonic() + 60
    while not provider.stats()["polls"] and time.monotonic() < ends:
        time.sleep(0.05)
    run.kill()
    run.communicate()
    assert run.returncode == -signal.SIGKILL
    [folder] = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "batches.json").read_text())[0]["id"] == "batch_1"
    provider.post("/go")
    options = RunOptions(elicitations=("forced_choice",))
    server = Server(judges_file=tmp_path / "judges.yaml")
    plan = plan_run(str(tmp_path / "task"), ["far"], options, server=server)
    other, hearing = start(plan, tmp_path / "others"), RecordingObserver()
    cache = tmp_path / "cache"
    quick = replace(plan, retry=QUICK_RETRIES)
    result = execute(quick, other, observer=hearing, place=Place(cache=cache))
    assert (result.exit_code, other.manifest.ended) == (3, {"far": "in_a_batch"})
    line, last = hearing.lines
    named = f"--judges-file {tmp_path / 'judges.yaml'}"
    assert last.endswith(f"Resume with: harness resume {other.path} {named} --cache {cache}")
    assert line.startswith(f"far: {N_ITEMS * 2} units are in another run's batches")
    assert f"`harness resume {folder} {named} --cache {cache}`" in line
    for opened in (RunFolder.open(folder), other):
        plan = plan_resumed_run(opened, server=server)
        result = execute(
            replace(plan, retry=QUICK_RETRIES),
            opened,
            observer=RecordingObserver(),
            place=Place(cache=cache),
        )
        assert result.exit_code == 0
        assert len(opened.read_verdicts().final) == N_ITEMS * 2
    assert provider.stats()["batches"] == 1
    assert provider.stats()["requests"] == N_ITEMS * 2
    log = read_log(folder / "verdicts.jsonl")
    assert len(log.final) == n_lines(folder / "verdicts.jsonl") == N_ITEMS * 2


@pytest.mark.slow
def test_a_batch_that_cannot_be_uploaded_costs_nothing(place, provider):
    """It was counted at its maximum each time, until --max-cost was "reached": the server's failure
    is the cause that is shown, and the whole limit is left for when it's back."""
    provider.post("/full")
    log, end = place(provider, elicitations=("forced_choice",), limit=1.5)
    assert end == "http_502"
    assert (place.budget.spent_usd, place.budget.assumed_usd, place.budget.exhausted) == (
        0,
        0,
        False,
    )
    assert json.loads((place.folder / "batches.json").read_text()) == []
    assert provider.stats()["batches"] == 0
    provider.post("/go")
    log, end = place(provider, elicitations=("forced_choice",), limit=1.5)
    assert end == ""
    assert {verdict.outcome for verdict in log.final.values()} == {"answered"}
