"""What ends or begins badly on a Ray cluster: Ray dies, cannot be reached, or meets no database."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from support.machines import Machine, ended, wait_until

from harness.extras.cluster.ray_cluster import FOLDER, FOLDERS
from harness.extras.cluster.ray_launcher import CONNECT_S

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

N, CONCURRENCY, N_BEFORE = 300, 8, 40
N_PROCESSES = 2  # on a cluster with two processors
ON_RAY = ("--executor", "ray")
SHORT_LEASE = {"deadline_s": 10}  # it is 10 s longer


@pytest.fixture
def machine(machine):
    """Make machines with a task of N items."""
    return partial(machine, n=N)


def answered(machine):
    return sum(verdict.outcome == "answered" for verdict in machine.verdicts().values())


def processes():
    """Yield each process that can be read: its number, command and environment."""
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError):
                yield (
                    int(path.name),
                    (path / "cmdline").read_bytes(),
                    (path / "environ").read_bytes(),
                )


def servers_in(folder):
    """Return the servers of a cluster whose files lie in a folder."""
    return [
        pid
        for pid, command, _ in processes()
        if str(folder).encode() in command
        and command.split(b"\0")[0].rpartition(b"/")[2] in {b"gcs_server", b"raylet"}
    ]


def actors_of(machine):
    """Return the processes on Ray that ask for a run of a machine."""
    runs = f"HARNESS_RUNS={machine.runs}".encode()
    return [
        pid
        for pid, command, environment in processes()
        if b"ray::RunProcess" in command and runs in environment
    ]


def test_run_whose_ray_dies_ends_with_3_and_one_line(machine, stub, database, monkeypatch):
    """It ended with 1 in silence. Ray's files lie in a folder that nobody else can enter."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    on_ray = machine("a", stub.url(), **SHORT_LEASE)
    # Without this file in its home, the head of a cluster asks the cloud's metadata server
    on_ray.runs.with_name("ray_bootstrap_config.yaml").write_text("{}\n", encoding="utf-8")
    stub.hold_after(N_BEFORE)
    run = on_ray.run(database, *ON_RAY)
    wait_until(lambda: stub.stats()["requests"] > N_BEFORE, 120)
    [folder] = FOLDERS.glob(f"{FOLDER}-{run.pid}-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / "ray").is_dir()
    servers = servers_in(folder)
    assert len(servers) == 2  # of the cluster, and of this machine
    assert len(actors_of(on_ray)) == N_PROCESSES
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    output = ended(run, code=3)
    assert output.count("Ray on this machine has ended") == 1
    assert "Traceback" not in output
    assert "Resume with" in output
    assert not folder.exists()
    manifest = json.loads(on_ray.log.with_name("manifest.json").read_text())
    assert manifest["exit_code"] == 3
    wait_until(lambda: not actors_of(on_ray))  # else they store replies that are released now
    n_received, n_before = answered(on_ray), stub.stats()["requests"]
    assert n_received > 0
    stub.release()
    ended(on_ray.run(database, resume=True))
    assert answered(on_ray) == N
    assert stub.stats()["requests"] - n_before == N - n_received


def test_cluster_of_a_killed_run_ends_and_its_folder_is_removed(
    machine, stub, database, monkeypatch
):
    """It was started for the run alone, and nobody else would remove it."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    on_ray = machine("a", stub.url(), **SHORT_LEASE)
    on_ray.runs.with_name("ray_bootstrap_config.yaml").write_text("{}\n", encoding="utf-8")
    stub.hold_after(N_BEFORE)
    run = on_ray.run(database, *ON_RAY)
    wait_until(lambda: stub.stats()["requests"] > N_BEFORE, 120)
    [folder] = FOLDERS.glob(f"{FOLDER}-{run.pid}-*")
    assert servers_in(folder)
    run.kill()
    run.wait()
    wait_until(lambda: not (folder.exists() or servers_in(folder)), 20)
    time.sleep(5)  # until its actors have seen that
    n_requests = stub.stats()["requests"]
    stub.release()
    time.sleep(3)
    assert stub.stats()["requests"] == n_requests


def test_connecting_ends_after_15_seconds_in_run_and_doctor(machine, stub, database):
    """An address that accepts connections and says nothing: 300 s, and `doctor` hung."""
    assert CONNECT_S == 15
    with socket.create_server(("127.0.0.1", 0), backlog=50) as silent:
        on_ray = ("--executor", f"ray://127.0.0.1:{silent.getsockname()[1]}")
        one = machine("a", stub.url())
        start_s = time.monotonic()
        run = one.run(database, *on_ray)
        doctor = one.start("doctor", *on_ray, "--judges", "lexicon")
        outputs = [ended(run, code=2), ended(doctor, code=1)]
        assert CONNECT_S <= time.monotonic() - start_s < CONNECT_S + 20
    for output in outputs:
        assert "no reply within 15 s" in output
    assert stub.stats()["requests"] == 0
    assert not list(one.runs.glob("*"))  # nothing was asked


def test_process_that_starts_again_while_the_database_is_away_waits(
    tmp_path, stub, cluster, postgres, database
):
    """Ray starts it anew, it finds no database, and goes on when that is back."""
    stub.reset()
    on_ray = Machine(tmp_path / "a", stub.url(), n=N, env=cluster.env, **SHORT_LEASE)
    try:
        stub.hold_after(N_BEFORE)
        run = on_ray.run(database, *ON_RAY)
        wait_until(lambda: stub.stats()["requests"] > N_BEFORE, 120)
        before = set(cluster.workers())
        postgres.stop()
        try:
            os.kill(min(before), signal.SIGKILL)
            stub.release()
            wait_until(lambda: set(cluster.workers()) - before, 60)
            time.sleep(5)
            assert len(cluster.workers()) == N_PROCESSES  # it waits
            assert run.poll() is None
        finally:
            postgres.start()
        ended(run)
    finally:
        on_ray.kill_all()
    assert answered(on_ray) == N
    assert stub.stats()["requests"] <= N + CONCURRENCY
