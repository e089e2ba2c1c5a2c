"""The weights of the language model are unpacked once for all tests."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def _weights(tmp_path_factory, worker_id):
    """One folder for the unpacked weights of a language model, shared by all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "weights"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def _unpacked_once(own_home, _weights):
    """The cache folder of each test leads to the shared weights."""
    cache = own_home / "cache" / "judge-harness"
    cache.mkdir(parents=True)
    (cache / "weights").symlink_to(_weights)
