"""What is refused: addresses of Ray clusters, and machines with another version."""

from __future__ import annotations

import pytest

from harness.errors import RunError
from harness.extras.cluster.ray_cluster import cluster_address
from harness.extras.cluster.ray_processes import VERSION, RunProcess


def test_public_address_is_refused_unless_forced(monkeypatch):
    """Whoever reaches a cluster may run programs on it."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(RunError, match=r"8\.8\.8\.8 is a public .*HARNESS_RAY_PUBLIC"):
        cluster_address("ray://8.8.8.8:10001")
    monkeypatch.setenv("RAY_ADDRESS", "8.8.8.8:6379")
    with pytest.raises(RunError, match="public"):
        cluster_address("ray")
    monkeypatch.setenv("HARNESS_RAY_PUBLIC", "1")
    assert cluster_address("ray") == "8.8.8.8:6379"


def test_private_addresses_and_none_are_accepted(monkeypatch):
    """Without an address Ray is started on this machine."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert cluster_address("ray") is None
    assert cluster_address("ray://10.0.0.1:10001") == "ray://10.0.0.1:10001"
    assert cluster_address("ray://localhost:10001") == "ray://localhost:10001"
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    assert cluster_address("ray") == "auto"


@pytest.mark.parametrize("executor", ["spark", "ray:x", "ray://"])
def test_other_executors_are_refused(executor, monkeypatch):
    """The message says what may be written."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(RunError, match=r"[Ww]rite .*ray://HOST:PORT"):
        cluster_address(executor)


def test_machine_with_another_version_asks_nothing():
    """The message names both; what was sent is not read."""
    problem = RunProcess().run("0.0.1", b"")
    assert problem == f"the cluster has judge-harness {VERSION}, but this machine has 0.0.1"
