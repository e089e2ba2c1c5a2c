"""`harness estimate` in several processes on one store, and under a limit of cost."""

from __future__ import annotations

import json
from functools import partial

import pytest
from support.machines import ended
from support.task_folders import write_jsonl

from harness.judging.storage.verdict_log import read_log

pytestmark = pytest.mark.timeout(400)

N, N_NEW = 20, 150
PRICE = "price: {input: 0, output: 100000}, "  # USD for a million tokens


@pytest.fixture
def machine(machine, tmp_path):
    """Make machines with a task of N items, beside N_NEW unlabelled ones."""
    items = [{"id": f"u{i}", "text": f"This is another comment, {i}."} for i in range(N_NEW)]
    write_jsonl(tmp_path / "new.jsonl", items)
    return partial(machine, n=N)


def estimate_on(machine, tmp_path, *arguments):
    items = ("--judge", "local", "--items", tmp_path / "new.jsonl")
    return machine.start("estimate", *items, "--json", "-q", *arguments)


def replies_of(machine):
    """Replies about unlabelled items that a machine has."""
    logs = machine.runs.glob("*/estimates/*/verdicts.jsonl")
    return [verdict for log in logs for verdict in read_log(log).final.values()]


def printed(output):
    return json.loads(output[output.index("{") : output.rindex("}") + 1])


@pytest.mark.cluster
def test_two_machines_ask_about_each_item_once(machine, stub, tmp_path, database):
    """Two estimates at the same time on one store: as many requests as items, one result."""
    machines = [machine(name, stub.url(ms=30)) for name in "ab"]
    for one in machines:
        ended(one.run(database))
    stub.reset()
    running = [estimate_on(one, tmp_path, "--store", database) for one in machines]
    first, second = (printed(ended(process)) for process in running)
    assert stub.stats()["requests"] == N_NEW
    assert first["mean"] == second["mean"]
    assert first["mean"]["n_unlabelled"] == N_NEW
    paid = [sum(not verdict.from_store for verdict in replies_of(one)) for one in machines]
    assert sum(paid) == N_NEW
    assert min(paid) > 0  # both asked


def run_on(machine, *arguments):
    """Run the judge without a store."""
    command = ["--task", machine._task, "--judges", "local"]
    command += ["--judges-file", machine._home / "judges.yaml"]
    return machine.start("run", *command, "--elicitation", "forced_choice", *arguments)


@pytest.mark.slow
def test_two_processes_share_a_cache_of_replies(machine, stub, tmp_path):
    """Two runs on one computer, estimated at the same time: each item is asked about once."""
    alone = machine("a", stub.url(ms=30))
    outs = [alone.runs / name for name in "ab"]
    for out in outs:
        ended(run_on(alone, "--out", out))
    assert stub.stats()["requests"] == N
    stub.reset()
    running = [estimate_on(alone, tmp_path, "--out", out) for out in outs]
    first, second = (printed(ended(process)) for process in running)
    assert stub.stats()["requests"] == N_NEW
    assert first["mean"] == second["mean"]


@pytest.mark.slow
def test_limit_of_cost_stops_and_what_was_paid_is_not_paid_again(machine, stub, tmp_path):
    """Stopped at the limit with 4; the same command with more asks about the rest alone."""
    alone = machine("a", stub.url(ms=5), more=PRICE)
    ended(run_on(alone))
    stub.reset()
    stopped = printed(ended(estimate_on(alone, tmp_path, "--max-cost", 8), code=4))
    n_paid = stub.stats()["requests"]
    assert 0 < n_paid < N_NEW
    assert 0 < stopped["cost_usd"] <= 8
    assert stopped["mean"] is None
    ended(estimate_on(alone, tmp_path, "--max-cost", 8), code=4)
    assert stub.stats()["requests"] == n_paid
    done = printed(ended(estimate_on(alone, tmp_path, "--max-cost", 1000)))
    assert stub.stats()["requests"] == N_NEW
    assert done["mean"]["n_unlabelled"] == N_NEW
    assert done["cost_usd"] > 8
