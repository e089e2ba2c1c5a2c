"""The shared store by itself: tables, replies, locks, rates and budgets of several workers."""

from __future__ import annotations

import asyncio
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from threading import Event

import psycopg
import pytest
from msgspec.structs import replace
from support.machines import linked, wait_until
from support.processes import invoke
from support.task_folders import make_task_folder

import harness
from harness.errors import BudgetSpent, OptionError, RunError
from harness.extras.cluster import open_store
from harness.extras.cluster.database import EXCHANGE_S, SCHEMA, StoreAway
from harness.extras.cluster.shared_limits import SharedBudget, SharedRate
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build
from harness.judging.judges.pricing import price_of, worst_cost
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts
from harness.judging.storage.response_cache import ResponseCache
from harness.tasks import load_task

pytestmark = pytest.mark.cluster
OPEN_TRANSACTIONS = (  # that wait for their client
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'judge-harness' "
    "AND xact_start < clock_timestamp() - interval '30 ms' AND wait_event = 'ClientRead'"
)


def request_hash(i):
    return f"{i:064x}"


def reply_to(i, text="A"):
    return Reply(request=request_hash(i), text=text, cache_key=request_hash(i), cost_usd=0.5)


@contextmanager
def opened(address, n=1, longest_call_s=1.0):
    """Open stores as ``n`` workers would."""
    with ExitStack() as stack:
        stores = [open_store(address, f"run {i}", longest_call_s) for i in range(n)]
        for store in stores:
            stack.callback(store.close)
        yield stores


def claim(store, *numbers):
    """Claim requests that have no reply; return whether any was granted."""
    return bool(store.claim([(request_hash(i), request_hash(i)) for i in numbers]).granted)


def release(store, number):
    store.release([request_hash(number)])


def stored(store, *numbers):
    return store.get([(request_hash(i), request_hash(i)) for i in numbers])


def claim_and_store_until(stop, store):
    """Claim and store five replies at a time."""
    for first in range(0, 1_000_000, 5):
        numbers = range(first, first + 5)
        if stop.is_set():
            return
        with suppress(StoreAway):
            claim(store, *numbers)
            store.add_many([reply_to(i) for i in numbers])


def test_tables_are_created_once_by_processes_that_start_at_once(database):
    """Sixteen workers start on an empty database; all can use it, and a second start changes it."""
    with ThreadPoolExecutor(16) as pool:
        stores = list(pool.map(lambda i: open_store(database, f"run {i}"), range(16)))
    try:
        stores[0].add_many([reply_to(1)])
        assert all(stored(store, 1) for store in stores)
    finally:
        for store in stores:
            store.close()


def test_tables_of_a_newer_version_are_refused(database):
    """Nothing is written by a program that does not know them."""
    with opened(database):
        pass
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE harness_schema SET version = %s", [len(SCHEMA) + 1])
    with pytest.raises(RunError, match="Update judge-harness"):
        open_store(database, "run")


def test_a_stored_reply_is_never_replaced(database):
    """Of two replies to one request the first is kept."""
    with opened(database, 2) as (store, other):
        store.add_many([reply_to(1), reply_to(2)])
        other.add_many([reply_to(2, "B"), reply_to(3)])
        assert [r.text for r in stored(store, 1, 2, 3).values()] == ["A", "A", "A"]


def test_stored_replies_and_locks_survive_a_crash_of_the_database(postgres, database):
    """They are on the disk when storing or claiming returns; lost connections are replaced."""
    with opened(database, 2, longest_call_s=300) as (store, other):
        store.add_many([reply_to(1)])
        assert claim(store, 2)
        postgres.stop(signal.SIGQUIT)
        postgres.start()
        wait_until(lambda: stored(other, 1))
        wait_until(lambda: claim(other, 3))
        assert not claim(other, 2)


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{", b'{"request": 7}', b"\xff" * 100, b'{"text":"B","request":"other"}'],
)
def test_rows_that_hold_no_reply_are_not_believed(database, data):
    """What another client wrote is no reply unless it is a reply to that request.

    The reply that is asked for in its place takes its place.
    """
    with opened(database) as [store]:
        with psycopg.connect(database, autocommit=True) as connection:
            key = bytes.fromhex(request_hash(1))
            connection.execute("INSERT INTO harness_reply VALUES (%s, %s)", (key, data))
        assert stored(store, 1) == {}
        assert claim(store, 1)
        assert stored(store, 1) == {}
        assert list(store.replies()) == []
        store.add_many([reply_to(1)])
        assert stored(store, 1) == {request_hash(1): reply_to(1)}


def test_rows_that_are_too_large_are_not_fetched(database):
    """A row beyond the size of any reply is not transferred, and holds none."""
    with opened(database) as [store]:
        with psycopg.connect(database, autocommit=True) as connection:
            key = bytes.fromhex(request_hash(1))
            connection.execute(
                "INSERT INTO harness_reply VALUES (%s, convert_to(repeat('x', 9000000), 'UTF8'))",
                [key],
            )
        assert stored(store, 1) == {}
        assert claim(store, 1)
        assert stored(store, 1) == {}
        store.add_many([reply_to(1)])
        assert stored(store, 1) == {request_hash(1): reply_to(1)}


def test_a_lock_is_held_by_one_worker(database):
    """Fifty requests claimed by four workers at once: each is granted once."""
    names = [request_hash(i) for i in range(50)]
    keys = [(name, name) for name in names]
    with opened(database, 4) as stores, ThreadPoolExecutor(4) as pool:
        granted = list(pool.map(lambda store: store.claim(keys).granted, stores))
    assert sorted(name for names in granted for name in names) == names


def test_a_claim_brings_the_reply_that_was_stored_meanwhile(database):
    """Who waits gets the lock after the reply is stored, and with it the reply."""
    with opened(database, 2) as (store, other):
        assert claim(store, 1)
        assert not claim(store, 1)
        assert not claim(other, 1)
        store.add_many([reply_to(1)])
        release(store, 1)
        request = (request_hash(1), request_hash(1))
        wait_until(lambda: other.claim([request]).stored)
        assert stored(other, 1)[request_hash(1)].text == "A"


def test_a_released_lock_is_free(database):
    """A request that got no reply can be sent by another worker, and by the same one."""
    with opened(database, 2) as (store, other):
        assert claim(store, 1)
        release(store, 1)
        wait_until(lambda: claim(other, 1))
        release(other, 1)
        wait_until(lambda: claim(other, 1))


def test_the_lock_of_a_dead_worker_is_free_after_its_lease_and_not_before(database):
    """The clock of the database decides; the lease is longer than the longest call."""
    with opened(database, 2, longest_call_s=1.0) as (store, other):
        assert claim(store, 1)
        store.lease._ended.set()  # renews no more, as if killed
        store.lease._renewal.join()
        wait_until(lambda: claim(other, 1), 60)
        assert time.monotonic() - store.lease._renewed_s > store.lease.lease_s


def test_a_worker_whose_lease_was_removed_sends_nothing_more(database):
    """It notices at its next renewal."""
    with opened(database) as [store]:
        assert store.lease.may_send
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("DELETE FROM harness_worker")
        wait_until(lambda: store.lease.has_lapsed)


def test_requests_per_minute_hold_for_all_workers(database):
    """Of three workers that share 600 requests per minute, one begins each tenth of a second."""

    async def take(store, n):
        rate = SharedRate(store, "r", 600)
        return await asyncio.gather(*(rate.take(1) for _ in range(n)))  # as time.monotonic

    with opened(database, 3) as stores, ThreadPoolExecutor(3) as pool:
        start_s = time.monotonic()
        taken = pool.map(lambda store: asyncio.run(take(store, 10)), stores)
        begins = sorted(begin for worker in taken for begin in worker)
    assert len(begins) == 30
    assert all(begin - start_s >= 0.1 * i for i, begin in enumerate(begins))


def test_a_budget_is_never_exceeded_by_all_workers_together(database):
    """Workers that take allowances at once take no more than there is, and can return them."""
    with ExitStack() as stack:
        stores = [open_store(database, "run") for _ in range(4)]
        for store in stores:
            stack.callback(store.close)
        stores[0].open_budget(1.0, 0.2)
        with ThreadPoolExecutor(4) as pool:
            taken = list(pool.map(lambda i: stores[i % 4].exchange_budget(0.0, 0.05), range(40)))
        total = sum(allowance for allowance, _ in taken)
        assert 0.75 < total <= 0.8 + 1e-9
        assert stores[0].exchange_budget(0.5, float("inf"))[0] == 0
        assert stores[1].exchange_budget(0.0, 0.4)[0] == pytest.approx(0.4)


def test_replies_are_copied_from_a_cache_to_a_store_and_back(database, tmp_path):
    """`harness cache copy` keeps what the target holds."""
    cache = ResponseCache(tmp_path / "cache")
    cache.add_many([reply_to(i) for i in range(1, 2500)])
    cache.close()
    with opened(database) as [store]:
        store.add_many([reply_to(1, "B")])
    result = invoke("cache", "copy", tmp_path / "cache", database)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Copied 2499 replies")
    assert invoke("cache", "copy", database, tmp_path / "back").exit_code == 0
    back = ResponseCache(tmp_path / "back")
    try:
        replies = stored(back, *range(1, 2500))
    finally:
        back.close()
    assert len(replies) == 2499
    assert replies[request_hash(1)].text == "B"
    assert replies[request_hash(2)] == reply_to(2)


def test_doctor_checks_a_store(database, postgres):
    """It says what answers there, or why nothing can be used."""
    result = invoke("doctor", "--store", database)
    assert "PostgreSQL" in result.output
    absent = postgres.address("absent")
    result = invoke("doctor", "--store", absent)
    assert result.exit_code == 1
    assert "cannot be reached" in result.output


def test_limit_of_a_budget_is_one_for_all_processes(database):
    """Who has none or a lower one is refused; a higher one raises it; other names are apart."""
    with ExitStack() as stack:
        first, second = (open_store(database, "run") for _ in range(2))
        other = open_store(database, "run", budget="another")
        for store in (first, second, other):
            stack.callback(store.close)
        first.open_budget(1.0, 0.0)
        for limit_usd in (None, 0.5):
            with pytest.raises(RunError, match=r"share the limit of \$1.*--max-cost 1"):
                second.open_budget(limit_usd, 0.0)
        second.open_budget(2.0, 0.0)
        assert second.exchange_budget(0.0, 1.5)[0] == pytest.approx(1.5)
        other.open_budget(None, 0.0)


def test_progress_counts_the_replies_of_all_processes_of_a_run(database):
    """Those that have ended are counted, too; other runs are not."""
    with ExitStack() as stack:
        first, second = (open_store(database, "run") for _ in range(2))
        other = open_store(database, "another run")
        for store in (second, other):
            stack.callback(store.close)
        first.add_many([reply_to(1), reply_to(2)])
        first.close()
        second.add_many([reply_to(3)])
        wait_until(lambda: second.shared_progress() == (1, 3))
        wait_until(lambda: other.shared_progress() == (1, 0))


def test_spent_budget_stops_all_workers_within_one_call_each(database, tmp_path):
    """Four workers of a run call until they are refused: the limit is nearly used, never exceeded.

    After the first worker was refused for good, no other begins more than one call.
    """
    task = load_task(str(make_task_folder(tmp_path / "task", 2)))
    spec = new_judge(
        name="j",
        model="m",
        base_url="http://127.0.0.1:9",
        price={"input": 0, "output": 1000},
        params={"max_tokens": 10},
    )
    judge = build(spec, task, Prompts.load(task))
    request = judge.request(Unit("i0", "forced_choice"))
    worst_usd, limit_usd = worst_cost(request, price_of(spec), 10), 0.5
    n_calls_after: list[int] = []
    refused = Event()

    async def call(store):
        budget = SharedBudget(limit_usd, 0.0, store)
        total_usd, n_after = 0.0, 0
        while True:
            was_refused = refused.is_set()
            await budget.wait_for_room(request.hash, worst_usd)
            try:
                with budget.reserve("j", request.hash, worst_usd) as bill:
                    n_after += was_refused
                    await asyncio.sleep(0.002)
                    bill.settle([replace(reply_to(1), cost_usd=worst_usd / 2)])
            except BudgetSpent:
                refused.set()
                n_calls_after.append(n_after)
                return total_usd
            total_usd += worst_usd / 2

    with ExitStack() as stack:
        stores = [open_store(database, "run") for _ in range(4)]
        for store in stores:
            stack.callback(store.close)
        stores[0].open_budget(limit_usd, 0.0)
        with ThreadPoolExecutor(4) as pool:
            spent_usd = sum(pool.map(lambda store: asyncio.run(call(store)), stores))
    assert limit_usd - 4 * worst_usd < spent_usd <= limit_usd
    assert max(n_calls_after) <= 1


def test_silent_database_does_not_hold_up_the_event_loop(postgres, database):
    """Claims give up soon while nothing comes back, so that calls in flight keep their deadline."""
    with linked(postgres.port) as link:
        address = postgres.address(database.rpartition("/")[2], link.port)
        with opened(address) as [store]:
            assert claim(store, 1)
            link.cut()
            start_s = time.monotonic()
            assert not claim(store, 2)
            assert time.monotonic() - start_s < EXCHANGE_S / 2
            link.mend()
            wait_until(lambda: claim(store, 2))


def test_python_interface_takes_a_store(database, tmp_path):
    """A second run reads what the first stored; a cluster without a store is refused."""
    folder = make_task_folder(tmp_path / "task", 5)
    options = {"judges": "random", "store": database, "out": tmp_path / "runs"}
    runs = [harness.run(folder, **options) for _ in range(2)]
    verdicts = [run.path.joinpath("verdicts.jsonl").read_text() for run in runs]
    assert ['"from_store":true' in text for text in verdicts] == [False, True]
    with pytest.raises(OptionError, match="shared store"):
        harness.run(folder, judges="random", executor="ray", out=tmp_path / "runs")


def test_cut_link_leaves_no_transaction_open(postgres, database):
    """Whenever a link is cut, the server waits for no more of a transaction, which held locks."""
    with linked(postgres.port) as link, ExitStack() as stack:
        address = postgres.address(database.rpartition("/")[2], link.port)
        [store] = stack.enter_context(opened(address))
        stop = Event()
        pool = stack.enter_context(ThreadPoolExecutor(1))
        stack.callback(stop.set)
        pool.submit(claim_and_store_until, stop, store)
        direct = stack.enter_context(psycopg.connect(database, autocommit=True))
        for i in range(40):
            time.sleep(0.01 + 0.001 * i)
            link.cut()
            time.sleep(0.05)
            assert direct.execute(OPEN_TRANSACTIONS).fetchone() == (0,)
            link.mend()


def test_store_is_closed_while_the_database_is_silent(postgres, database):
    """The exchange that waits when the link is cut ends like any other."""
    with linked(postgres.port) as link:
        address = postgres.address(database.rpartition("/")[2], link.port)
        store = open_store(address, "run", 1.0)
        link.cut()
        start_s = time.monotonic()
        store.close()
        assert time.monotonic() - start_s < 2 * EXCHANGE_S


def test_worker_without_lease_waits_for_nobody(database):
    """What it has waited for is handed to the rate limit, which ends the run."""
    with opened(database, n=2) as [holder, waiting], psycopg.connect(database) as direct:
        assert claim(holder, 1)
        assert not claim(waiting, 1)
        direct.execute("DELETE FROM harness_worker WHERE worker = %s", [waiting.lease.id])
        direct.commit()
        wait_until(lambda: claim(waiting, 1))
        assert waiting.lease.has_lapsed
