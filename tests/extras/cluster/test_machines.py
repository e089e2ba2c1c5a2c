"""Runs on several machines that share a store, while workers, the database and the network fail.

Every machine is a process with a home of its own; what was paid is what the stub received.
"""

from __future__ import annotations

import json
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest
from support.machines import ended, linked, wait_until
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.run import run_plan
from harness.extras.cluster import open_store
from harness.judging.running.recorder import NoObserver
from harness.options.concerns import Place, RunOptions, Server

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

N, CONCURRENCY, N_BEFORE = 300, 8, 60
SHORT_LEASE = {"deadline_s": 10}  # it is 10 s longer
LEASE_S = 20


def answered(machine):
    return sum(verdict.outcome == "answered" for verdict in machine.verdicts().values())


def test_two_machines_pay_for_every_request_once(machine, stub, database):
    """Two runs over the same task at the same time: as many requests as units."""
    machines = [machine(name, stub.url(ms=30), n=N) for name in "ab"]
    outputs = [ended(run) for run in [m.run(database) for m in machines]]
    assert stub.stats()["requests"] == N
    assert [answered(m) for m in machines] == [N, N]
    assert not any("harness@" in output for output in outputs)


def test_a_third_run_later_pays_for_nothing(machine, stub, database):
    """What one machine received, another one reads."""
    first, later = (machine(name, stub.url(), n=50) for name in "ab")
    ended(first.run(database))
    stub.reset()
    ended(later.run(database))
    assert stub.stats()["requests"] == 0
    assert all(verdict.from_store for verdict in later.verdicts().values())


def test_killed_worker_repeats_at_most_its_calls_in_flight(machine, stub, database):
    """One of two is killed; the other takes over when its lease is over, and it can be resumed."""
    killed, other = (machine(name, stub.url(), n=N, **SHORT_LEASE) for name in "ab")
    stub.hold_after(N_BEFORE)
    first = killed.run(database)
    killed.wait_for_verdicts(40)
    first.kill()
    first.wait()
    stub.release()
    ended(other.run(database))
    assert answered(other) == N
    assert N <= stub.stats()["requests"] <= N + CONCURRENCY
    n_requests = stub.stats()["requests"]
    ended(killed.run(database, resume=True))
    assert answered(killed) == N
    assert stub.stats()["requests"] == n_requests


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["restart", "crash"])
def test_restart_of_the_database_costs_no_reply(machine, stub, postgres, database, how):
    """Two runs go on after the database was restarted, and nothing is paid for twice."""
    machines = [machine(name, stub.url(ms=50), n=N) for name in "ab"]
    stub.hold_after(2 * N_BEFORE)
    runs = [m.run(database) for m in machines]
    wait_until(lambda: stub.stats()["requests"] > 2 * N_BEFORE, 120)
    postgres.stop(how)
    stub.release()
    postgres.start()
    for run in runs:
        ended(run)
    assert [answered(m) for m in machines] == [N, N]
    assert stub.stats()["requests"] == N


def test_nothing_is_sent_while_the_database_is_gone(machine, stub, postgres, database):
    """Without a lease that was just renewed no call begins; when it is back the run goes on."""
    alone = machine("a", stub.url(ms=50), n=N)
    stub.hold_after(N_BEFORE)
    run = alone.run(database)
    alone.wait_for_verdicts(50)
    postgres.stop()
    stub.release()
    try:
        time.sleep(6)
        n_requests = stub.stats()["requests"]
        assert n_requests < N
        time.sleep(4)
        assert stub.stats()["requests"] == n_requests
    finally:
        postgres.start()
    ended(run)
    assert answered(alone) == N
    assert stub.stats()["requests"] == N


def n_workers(database):
    with psycopg.connect(database) as connection:
        return connection.execute("SELECT count(*) FROM harness_worker").fetchone()[0]


def test_partitioned_worker_stops_and_another_takes_over(machine, stub, postgres, database):
    """Its link to the database is cut for longer than its lease: it ends, and can be resumed.

    Each begins at another item, and the other leaves more alone than the first has asked; what it
    has asked needs no lease, only to be read. What was in flight at the cut alone is sent again. A
    third process finds that the lease has expired, where the other did not have to wait for it.
    """
    n_taken_over = N - N_BEFORE - 2 * CONCURRENCY
    with linked(postgres.port) as link:
        cut_off, other = (machine(name, stub.url(), n=N, **SHORT_LEASE) for name in "ab")
        name = database.rpartition("/")[2]
        stub.hold_after(N_BEFORE)
        run = cut_off.run(postgres.address(name, link.port))
        cut_off.wait_for_verdicts(50)
        link.cut()
        stub.release()
        ended(other.run(database, "--limit", n_taken_over))
        assert answered(other) == n_taken_over
        with closing(open_store(database, "third")):
            wait_until(lambda: n_workers(database) == 1, LEASE_S + 20)
        link.mend()
        output = ended(run, code=3)
        assert "store_lost" in output
        assert answered(cut_off) < N
        counts = stub.stats()
        assert counts["requests"] - counts["prompts"] <= CONCURRENCY
        ended(cut_off.run(database, resume=True))
    assert answered(cut_off) == N
    counts = stub.stats()
    assert counts["prompts"] == N
    assert counts["requests"] - N <= CONCURRENCY


def test_short_partition_costs_nothing(machine, stub, postgres, database):
    """Cut off for less than its lease, a worker goes on, and no other asks what it holds."""
    with linked(postgres.port) as link:
        cut_off, other = (machine(name, stub.url(), n=N) for name in "ab")
        name = database.rpartition("/")[2]
        stub.hold_after(N_BEFORE)
        run = cut_off.run(postgres.address(name, link.port))
        cut_off.wait_for_verdicts(50)
        link.cut()
        stub.release()
        second = other.run(database)
        time.sleep(6)
        link.mend()
        ended(run)
        ended(second)
    assert [answered(cut_off), answered(other)] == [N, N]
    assert stub.stats()["requests"] == N


def test_no_more_calls_than_allowed_are_sent_and_not_stored(machine, stub, postgres, database):
    """While nothing can be stored, replies keep their places, also those of calls that backed off.

    What a killed worker would have others repeat is bounded so.
    """
    name = database.rpartition("/")[2]
    with linked(postgres.port) as link:
        alone = machine("a", stub.url(ms=20, fault="429*1"), n=N)
        run = alone.run(postgres.address(name, link.port))
        alone.wait_for_verdicts(50)
        link.cut()
        time.sleep(4)
        with postgres.connect(name) as direct:
            [n_stored] = direct.execute("SELECT count(*) FROM harness_reply").fetchone()
        n_received = answered(alone)
        link.mend()
        ended(run)
    assert n_received - n_stored <= CONCURRENCY
    assert answered(alone) == N


def test_spent_budget_stops_a_run_and_can_be_raised(machine, stub, database):
    """The store counts what the run may cost, also after it is resumed with more."""
    stub.reset()
    more = "price: {input: 0, output: 100000}, "
    alone = machine("a", stub.url(ms=5), n=100, more=more)
    ended(alone.run(database, "--max-cost", "8"), code=4)
    n_paid = answered(alone)
    assert 0 < n_paid < 100
    assert sum(verdict.reply.cost_usd for verdict in alone.verdicts().values()) <= 8
    ended(alone.run(database, "--max-cost", "1000", resume=True))
    assert answered(alone) == 100
    assert stub.stats()["requests"] == 100


def test_eight_processes_with_one_command_are_one_run_with_one_limit(machine, stub, database):
    """Together they pay at most $1; each folder has the same run id and every reply paid for."""
    more = "price: {input: 0, output: 12500}, "
    machines = [machine(name, stub.url(ms=20), n=200, more=more) for name in "abcdefgh"]
    runs = [m.run(database, "--max-cost", "1") for m in machines]
    for run in runs:
        ended(run, code=4)
    paid = [
        v.reply for m in machines for v in m.verdicts().values() if v.reply and not v.from_store
    ]
    assert 0.8 < sum(reply.cost_usd for reply in paid) <= 1
    assert stub.stats()["requests"] == len(paid)
    assert [answered(m) for m in machines] == [len(paid)] * 8
    manifests = [json.loads(m.log.with_name("manifest.json").read_text()) for m in machines]
    assert len({manifest["run_id"] for manifest in manifests}) == 1


def test_pairs_that_others_paid_for_are_taken_when_the_limit_ends_a_run(machine, stub, database):
    """They were left out: one process bought pairs that the folder of another did not hold."""
    more = "price: {input: 0, output: 12500}, "
    machines = [machine(name, stub.url(ms=20), n=200, more=more) for name in "abc"]
    for run in [m.run(database, "--max-cost", "4", "--elicitation", "paired") for m in machines]:
        ended(run, code=4)
    pairs = [{u for u, v in m.verdicts().items() if v.outcome == "answered"} for m in machines]
    assert pairs[0]
    assert pairs == [pairs[0]] * 3
    bought = [{u for u, v in m.verdicts().items() if not v.from_store} for m in machines]
    assert len(bought[0] | bought[1] | bought[2]) > max(map(len, bought))
    assert stub.stats()["requests"] == stub.stats()["prompts"]


def test_processes_of_one_run_end_with_the_whole_folder_each(machine, stub, database):
    """Four processes: every request is sent once, and each folder has every verdict."""
    machines = [machine(name, stub.url(ms=20), n=N) for name in "abcd"]
    for run in [m.run(database) for m in machines]:
        ended(run)
    assert stub.stats()["requests"] == N
    assert [answered(m) for m in machines] == [N] * 4
    paid = [sum(not v.from_store for v in m.verdicts().values()) for m in machines]
    assert sum(paid) == N
    metrics = [json.loads(m.log.with_name("metrics.json").read_text()) for m in machines]
    costs = [judge["cost"] for run in metrics for judge in run["judges"]]
    assert [(c["n_paid"], c["n_from_store"]) for c in costs] == [(n, N - n) for n in paid]
    manifests = [json.loads(m.log.with_name("manifest.json").read_text()) for m in machines]
    assert {manifest["state"] for manifest in manifests} == {"done"}
    assert len({manifest["run_id"] for manifest in manifests}) == 1


def test_process_without_the_limit_of_its_run_is_refused(machine, stub, database):
    """It could spend what the others may not; nothing is sent, and its folder is removed."""
    more = "price: {input: 0, output: 100000}, "
    limited, unlimited = (machine(name, stub.url(), n=20, more=more) for name in "ab")
    ended(limited.run(database, "--max-cost", "1000"))
    output = ended(unlimited.run(database), code=2)
    assert "share the limit of $1000, but this process has none" in output
    assert stub.stats()["requests"] == 20
    assert not list(unlimited.runs.glob("*"))


def test_runs_with_one_budget_name_share_the_limit(machine, stub, database):
    """Another command has a limit of its own, unless it names the same budget."""
    more = "price: {input: 0, output: 12500}, "
    first, second, third = (machine(name, stub.url(), n=200, more=more) for name in "abc")
    shared = ("--max-cost", "1", "--budget-name", "team")
    ended(first.run(database, *shared), code=4)
    n_paid = stub.stats()["requests"]
    assert answered(first) == n_paid > 0
    ended(second.run(database, "--seed", "7", *shared), code=4)
    assert stub.stats()["requests"] == n_paid
    assert answered(second) == n_paid  # from the store
    ended(third.run(database, "--seed", "7", "--max-cost", "1"), code=4)
    assert stub.stats()["requests"] > n_paid
    run_ids = [
        json.loads(m.log.with_name("manifest.json").read_text())["run_id"]
        for m in (first, second, third)
    ]
    assert run_ids[0] != run_ids[1] == run_ids[2]


def test_processes_of_one_run_start_at_different_items(machine, stub, postgres, database):
    """Without that they wait for the same replies; each goes round to the items before its own."""
    other = postgres.create_database(f"{database.rpartition('/')[2]}_other")
    machines = [machine(name, stub.url(), n=N, concurrency=1) for name in "ab"]
    for run in [machines[0].run(database), machines[1].run(other)]:
        ended(run)
    first = [next(iter(m.verdicts().values())).item for m in machines]
    assert first != ["i0", "i0"]  # once in 90,000 runs by chance
    assert [answered(m) for m in machines] == [N, N]


class Watching(NoObserver):
    """Keeps what all processes have stored beside what this one has received so far."""

    def __init__(self):
        self.n_paid, self.seen = 0, []

    def advanced(self, judge, verdicts):
        del judge
        self.n_paid += sum(not verdict.from_store for verdict in verdicts)

    def progressed(self, progress):
        self.seen.append((*progress, self.n_paid))


def test_progress_is_that_of_all_processes(stub, database, tmp_path):
    """Each sees that two are asking, and more replies in the store than it received itself."""
    stub.reset()
    task = make_task_folder(tmp_path / "task", N)
    server = Server(base_url=stub.url(ms=50))
    options = RunOptions(elicitations=("forced_choice",), samples=1)

    def ask(observer, name):
        plan = plan_run(str(task), ["stub"], options, server=server)
        run_plan(plan, observer=observer, out=tmp_path / name, place=Place(store=database))

    observers = [Watching(), Watching()]
    stub.hold_after(N // 2)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(ask, *arguments) for arguments in zip(observers, "ab", strict=True)]
        try:
            for observer in observers:
                wait_until(lambda o=observer: (2, N // 2) in [seen[:2] for seen in o.seen])
        finally:
            stub.release()
        for run in runs:
            run.result()
    assert sum(observer.n_paid for observer in observers) == N == stub.stats()["requests"]
    for observer in observers:
        assert all(n_paid < N // 2 for *seen, n_paid in observer.seen if seen == [2, N // 2])
