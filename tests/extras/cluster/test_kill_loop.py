"""One run by processes, actors, a driver and a database, each of which is killed, with receipts.

The receipts: the server's log of what it received, the replies in the store at each kill, and what
every folder says it paid.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter

import pytest
from support.machines import Machine, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

N, CONCURRENCY, BETWEEN = 500, 8, 30  # requests between two kills
NO_STORE = 2  # the exit code
DEADLINE_S = 5.0  # a lease is 10 s longer
N_ACTORS = 2
KILLED = ("process", "actor", "database", "driver", "crash", "process", "actor")
MOST_REPEATED = {"process": 1, "actor": 1, "driver": N_ACTORS, "database": 0, "crash": 0}
NUMBER = re.compile(r"comment number (\d+)\.")


def items_asked(stub):
    """Return how often the server received a request about each item."""
    return Counter(f"i{NUMBER.search(r['body'])[1]}" for r in stub.requests())


class Run:
    """One command that is killed, and resumed until it ends."""

    def __init__(self, machine, database, *options):
        self.machine = machine
        self._command = (database, *options)
        self._start()

    def _start(self):
        begun = any(self.machine.runs.glob("*/manifest.json"))
        self._process = self.machine.run(*self._command, resume=begun)

    def kill(self):
        """Kill it and start it again, unless it has ended."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()
            self._start()

    def end(self):
        """Wait until it has ended well; one that found no database when it began starts again."""
        out, err = self._process.communicate(timeout=200)
        if self._process.returncode == NO_STORE and "the store cannot be reached" in err:
            self._start()
            self.end()
        else:
            assert self._process.returncode == 0, (out, err)


def test_nothing_received_is_paid_for_twice_whatever_is_killed(
    tmp_path, stub, cluster, postgres, database
):
    """Two processes and a driver with two actors are one run; all folders are whole at the end."""
    stub.reset()
    stub.hold_after(BETWEEN)
    options = {"n": N, "concurrency": CONCURRENCY, "deadline_s": DEADLINE_S, "env": cluster.env}
    machines = [Machine(tmp_path / name, stub.url(ms=50), **options) for name in "abc"]
    name = database.rpartition("/")[2]
    n_sent = 0
    stored_at = []  # per kill: the requests in the store, and how often each item was asked about
    try:
        driver = Run(machines[2], database, "--executor", "ray")
        wait_until(lambda: len(cluster.workers()) == N_ACTORS, 120)
        processes = [Run(machine, database) for machine in machines[:2]]
        for position, killed in enumerate(KILLED, 1):
            wait_until(lambda n=n_sent: stub.stats()["requests"] >= n + BETWEEN, 120)
            with postgres.connect(name) as direct:
                rows = direct.execute("SELECT encode(request, 'hex') FROM harness_reply").fetchall()
            stored_at.append(({request for (request,) in rows}, items_asked(stub)))
            if killed == "process":
                processes[position % 2].kill()
            elif killed == "driver":
                driver.kill()
            elif killed == "actor":
                for pid in cluster.workers()[:1]:
                    os.kill(pid, signal.SIGKILL)
            else:
                postgres.stop(signal.SIGQUIT if killed == "crash" else signal.SIGINT)
                postgres.start()
            n_sent = stub.stats()["requests"]
            stub.release()
            stub.hold_after(BETWEEN)
        stub.release()
        for run in (*processes, driver):
            run.end()
        n_received = stub.stats()["requests"]
        asked = items_asked(stub)
    finally:
        for machine in machines:
            machine.kill_all()

    folders = [machine.verdicts() for machine in machines]
    for machine, verdicts in zip(machines, folders, strict=True):
        assert Counter(v.outcome for v in verdicts.values()) == {"answered": N}
        manifest = json.loads(machine.log.with_name("manifest.json").read_text())
        assert manifest["state"] == "done"
        assert (machine.log.parent / "metrics.json").exists()
    n_stored = [len(stored) for stored, _ in stored_at]
    assert 0 < n_stored[0] < n_stored[-1] < N  # the run was under way at every kill
    item_of = {v.request: v.item for v in folders[0].values()}
    for stored, asked_then in stored_at:
        assert {item_of[request] for request in stored} <= set(asked)
        assert all(asked[item_of[r]] == asked_then[item_of[r]] for r in stored)
    n_paid = Counter(v.item for verdicts in folders for v in verdicts.values() if not v.from_store)
    assert set(n_paid) == set(item_of.values())  # each was paid for somewhere
    n_repeated = n_received - N
    assert n_repeated <= CONCURRENCY * sum(MOST_REPEATED[killed] for killed in KILLED)
    assert n_paid.total() <= n_received
