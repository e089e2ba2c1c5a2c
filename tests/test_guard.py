"""The guard of the tests: no connection beyond loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

CONNECT = "import socket; socket.create_connection(('{}', 9), 1)"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record for this test alone, so that a blocked connection does not fail it."""
    path = tmp_path / "blocked"
    monkeypatch.setenv("HARNESS_TEST_BLOCKED", str(path))
    yield path
    monkeypatch.undo()


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "example.invalid", "::ffff:192.0.2.1", "127.example.invalid"]
)
def test_a_connection_beyond_loopback_is_blocked_and_recorded(record, host):
    """By address or by name."""
    with pytest.raises(AssertionError, match="tried to reach"):
        socket.create_connection((host, 9), 1)
    assert host in Path(record).read_text(encoding="utf-8")


def test_processes_that_a_test_starts_are_guarded(record):
    """A Python child finds the guard as its sitecustomize."""
    child = subprocess.run(
        [sys.executable, "-c", CONNECT.format("192.0.2.1")],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert child.returncode == 1
    assert "tried to reach 192.0.2.1" in child.stderr
    assert record.exists()


@pytest.mark.parametrize("method", ["getaddrinfo", "create_connection"])
def test_connections_of_uvloop_are_guarded(record, method):
    """It resolves names and connects without Python's audit events."""

    async def reach():
        loop = asyncio.get_running_loop()
        if method == "getaddrinfo":
            await loop.getaddrinfo("example.invalid", 9)
        else:
            await loop.create_connection(asyncio.Protocol, "192.0.2.1", 9)

    with pytest.raises(AssertionError, match="tried to reach"):
        uvloop.run(reach())
    assert record.exists()


def test_loopback_is_open(record):
    """A server on this machine can be asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 1).close()
    assert not record.exists()
