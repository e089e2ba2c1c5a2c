"""The tests' own guard: nothing but this machine can be reached."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

REACH = "import socket; socket.create_connection(('{}', 9), 1)"


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record of this test alone, so that reaching out does not fail it."""
    path = tmp_path / "reached"
    monkeypatch.setenv("HARNESS_TEST_BLOCKED", str(path))
    yield path
    monkeypatch.undo()


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "example.invalid", "::ffff:192.0.2.1", "127.example.invalid"]
)
def test_a_connection_beyond_loopback_is_stopped_and_written_down(record, host):
    """By address or by name, whoever swallows the error."""
    with pytest.raises(AssertionError, match="reached for"):
        socket.create_connection((host, 9), 1)
    assert host in Path(record).read_text(encoding="utf-8")


def test_processes_that_a_test_starts_are_watched_too(record):
    """A Python child finds the guard as its sitecustomize."""
    done = subprocess.run(
        [sys.executable, "-c", REACH.format("192.0.2.1")],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 1
    assert "reached for 192.0.2.1" in done.stderr
    assert record.exists()


@pytest.mark.parametrize("what", ["getaddrinfo", "create_connection"])
def test_what_uvloop_does_in_c_is_watched_too(record, what):
    """It looks names up and connects past Python's own audit events."""

    async def reach():
        loop = asyncio.get_running_loop()
        if what == "getaddrinfo":
            await loop.getaddrinfo("example.invalid", 9)
        else:
            await loop.create_connection(asyncio.Protocol, "192.0.2.1", 9)

    with pytest.raises(AssertionError, match="reached for"):
        uvloop.run(reach())
    assert record.exists()


def test_loopback_is_open(record):
    """A server on this machine can be asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), 1).close()
    assert not record.exists()
