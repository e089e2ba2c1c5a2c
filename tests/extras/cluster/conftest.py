"""A database per test, on a PostgreSQL server of the session, and a Ray cluster."""

from __future__ import annotations

from itertools import count

import pytest
from support.machines import Machine
from support.packages import need
from support.postgres import postgres_running
from support.ray_running import ray_running

_numbers = count()


@pytest.fixture(scope="session")
def postgres():
    """A running PostgreSQL server; every test leaves it running."""
    with postgres_running() as server:
        yield server


@pytest.fixture
def database(postgres):
    """Address of an empty database."""
    return postgres.create_database(f"store{next(_numbers)}")


@pytest.fixture(scope="session")
def cluster():
    """A running Ray cluster with a worker per processor."""
    need("ray")
    with ray_running() as cluster:
        yield cluster


@pytest.fixture
def machine(tmp_path, stub):
    """Make machines, each by its name and the server's URL; what still runs there is killed."""
    machines = []

    def make(name, url, **options):
        machines.append(Machine(tmp_path / name, url, **options))
        return machines[-1]

    stub.reset()
    yield make
    for made in machines:
        made.kill_all()
