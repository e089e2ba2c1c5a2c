"""Looks at a run whose replies are kept in a shared store: fresh on every occasion."""

from __future__ import annotations

import pytest
from support.machines import Machine, ended, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

N, CONCURRENCY = 40, 8


@pytest.fixture
def machines(tmp_path, stub):
    """Two machines with a run over the same task."""
    stub.reset()
    made = [Machine(tmp_path / name, stub.url(), n=N, deadline_s=10) for name in "ab"]
    yield made
    for machine in made:
        machine.kill_all()


def test_no_look_reads_the_replies_of_another(machines, stub, database):
    """Runs share replies; looks with the same number at two runs, and later ones, do not."""
    for machine in machines:
        ended(machine.run(database))
    assert stub.stats()["requests"] == N
    for n_looks, machine in enumerate((*machines, machines[0]), 1):
        ended(machine.start("revalidate", "--store", database))
        assert stub.stats()["requests"] == (1 + n_looks) * N


def test_killed_look_is_resumed_and_pays_for_nothing_received(machines, stub, database):
    """What it had received is in its log or in the store."""
    machine = machines[0]
    ended(machine.run(database))
    stub.reset()
    stub.hold_after(N // 2)
    look = machine.start("revalidate", "--store", database, "--quiet")
    wait_until(lambda: stub.stats()["requests"] > N // 2, 120)
    look.kill()
    look.wait()
    stub.release()
    output = ended(machine.start("revalidate", "--store", database))
    assert f"{N} items" in output
    assert N < stub.stats()["requests"] <= N + CONCURRENCY
