"""The weights of the language model are unpacked once for all tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _shared_weights(own_home, tmp_path_factory, worker_id):
    """The cache folder of each test links to one folder of unpacked weights."""
    base = tmp_path_factory.getbasetemp()
    weights = (base if worker_id == "master" else base.parent) / "weights"
    weights.mkdir(exist_ok=True)
    cache = own_home / "cache" / "judge-harness"
    cache.mkdir(parents=True)
    (cache / "weights").symlink_to(weights)
