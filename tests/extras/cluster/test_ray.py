"""Asking on a Ray cluster: the same verdicts as in one process, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from ipaddress import ip_address

import pytest
from support.machines import ended, wait_until
from support.processes import run_harness

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

N, CONCURRENCY, N_BEFORE = 500, 8, 60  # calls in flight: of each process
N_PROCESSES = 2  # on a cluster with two processors
SHORT_LEASE = {"deadline_s": 10}  # it is 10 s longer
ON_RAY = ("--executor", "ray")
FAULTS = "429*1,409*1"  # 500 might have the server given up
PROVENANCE = {"verdicts_hash"}  # the order of its lines


@pytest.fixture
def machine(machine, cluster):
    """Make machines of the cluster."""
    return partial(machine, env=cluster.env)


def contents(machine):
    return {(*key, v.outcome, str(v.value)) for key, v in machine.verdicts().items()}


def metrics(machine):
    values = json.loads(machine.log.with_name("metrics.json").read_text())
    return {name: value for name, value in values.items() if name not in PROVENANCE}


def test_cluster_on_this_machine_listens_on_loopback_alone(cluster):
    """No process of it can be reached from elsewhere."""
    addresses = {ip_address(text) for text in cluster.listens_at()}
    assert addresses
    assert all((getattr(a, "ipv4_mapped", None) or a).is_loopback for a in addresses)


def test_same_verdicts_and_metrics_as_in_one_process(machine, stub, postgres, database):
    """500 units on a server with faults: verdicts and all that is computed from them are equal."""
    other = postgres.create_database(f"{database.rpartition('/')[2]}_other")
    local, on_ray = (machine(name, stub.url(fault=FAULTS), n=N) for name in "ab")
    ended(local.run(other))
    stub.reset()
    ended(on_ray.run(database, *ON_RAY))
    assert stub.stats()["requests"] == 3 * N
    assert len(contents(local)) == N
    assert contents(on_ray) == contents(local)
    assert metrics(on_ray) == metrics(local)  # what it cost, too: its processes paid


def test_pairs_and_samples_are_asked_as_in_one_process(machine, stub, postgres, database):
    """Response sets, pairs that continue them, and two samples in shuffled orders."""
    other = postgres.create_database(f"{database.rpartition('/')[2]}_other")
    options = ("--elicitation", "forced_choice,response_set,paired", "--samples", "2")
    options += ("--shuffle-options",)
    local, on_ray = (machine(name, stub.url(), n=20) for name in "ab")
    ended(local.run(other, *options))
    n_requests = stub.stats()["requests"]
    stub.reset()
    ended(on_ray.run(database, *ON_RAY, *options))
    assert stub.stats()["requests"] == n_requests
    assert contents(on_ray) == contents(local)
    costs = [[judge["cost"] for judge in metrics(m)["judges"]] for m in (local, on_ray)]
    assert [cost["n_paid"] for cost in costs[1]] == [cost["n_paid"] for cost in costs[0]]
    assert sum(cost["n_paid"] for cost in costs[0]) == n_requests


def test_killed_worker_loses_nothing(machine, stub, cluster, database):
    """What it held is asked by others, or by its successor, when its lease is over."""
    on_ray = machine("a", stub.url(), n=N, **SHORT_LEASE)
    stub.hold_after(N_BEFORE)
    run = on_ray.run(database, *ON_RAY)
    wait_until(lambda: stub.stats()["requests"] > N_BEFORE, 120)
    os.kill(cluster.workers()[0], signal.SIGKILL)
    stub.release()
    ended(run)
    assert len(contents(on_ray)) == N
    assert all(v.outcome == "answered" for v in on_ray.verdicts().values())
    assert N <= stub.stats()["requests"] <= N + CONCURRENCY


def test_killed_driver_stops_its_workers(machine, stub, database):
    """Five seconds later nothing is sent; resumed on one machine, nothing stored is paid again."""
    on_ray = machine("a", stub.url(ms=300), n=N, **SHORT_LEASE)
    stub.hold_after(N_BEFORE)
    run = on_ray.run(database, *ON_RAY)
    wait_until(lambda: stub.stats()["requests"] > N_BEFORE, 120)
    run.kill()
    run.wait()
    time.sleep(5)
    stub.release()
    n_requests = stub.stats()["requests"]
    assert n_requests < N
    time.sleep(3)
    assert stub.stats()["requests"] == n_requests
    ended(on_ray.run(database, resume=True))
    assert len(contents(on_ray)) == N
    assert stub.stats()["requests"] <= N + N_PROCESSES * CONCURRENCY  # what was in flight


def test_stopped_run_goes_on_there_and_back(machine, stub, database):
    """Begun on one machine and stopped, resumed on Ray and stopped, resumed on one machine."""
    alone = machine("a", stub.url(ms=50), n=N)
    for executor in ((), ON_RAY):
        n_before = stub.stats()["requests"]
        stub.hold_after(n_before + N_BEFORE)
        run = alone.run(database, *executor, resume=bool(executor))
        wait_until(lambda n=n_before: stub.stats()["requests"] > n + N_BEFORE, 120)
        run.send_signal(signal.SIGINT)
        stub.release()
        ended(run, code=130)
        assert stub.stats()["requests"] < N
    ended(alone.run(database, resume=True))
    assert len(contents(alone)) == N
    assert stub.stats()["requests"] == N


def test_budget_holds_for_all_workers(machine, stub, database):
    """Both workers stop when it is spent; their replies cost no more than it allows.

    What they paid is what the run prints and what its folder says; it was $0, all from the store.
    """
    more = "price: {input: 0, output: 100000}, "
    on_ray = machine("a", stub.url(ms=5), n=100, more=more)
    printed = ended(on_ray.run(database, *ON_RAY, "--max-cost", "8"), code=4)
    costs = [v.reply.cost_usd for v in on_ray.verdicts().values()]
    assert 0 < len(costs) < 100
    assert stub.stats()["requests"] == len(costs)
    assert sum(costs) <= 8
    assert f"${sum(costs):.4f} for {len(costs)} replies" in printed
    [judge] = metrics(on_ray)["judges"]
    assert (judge["cost"]["n_paid"], judge["cost"]["n_from_store"]) == (len(costs), 0)
    assert judge["cost"]["usd"] == pytest.approx(sum(costs))


def test_doctor_describes_the_cluster(cluster, tmp_path):
    """It names Ray's version and what the cluster has; an address that is refused is advised on."""
    env = os.environ | cluster.env
    result = run_harness("doctor", *ON_RAY, "--judges", "lexicon", cwd=tmp_path, env=env)
    assert "cluster --executor: Ray 2." in result.stdout
    assert "processors on 1 nodes" in result.stdout
    assert result.returncode == 0
    result = run_harness("doctor", "--executor", "ray://8.8.8.8:10001", cwd=tmp_path, env=env)
    assert "8.8.8.8 is a public address" in result.stdout
    assert result.returncode == 1
