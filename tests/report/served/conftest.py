"""Runs that the tests of `harness view` read."""

from __future__ import annotations

import fcntl
import json
import shutil

import pytest
from support.viewed_runs import make_runs


@pytest.fixture(scope="session")
def viewed(tmp_path_factory, worker_id):
    """A folder with runs, and their names; all workers share it."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "viewed"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        names = place.with_suffix(".names")
        if not names.exists():
            shutil.rmtree(place, ignore_errors=True)  # of a worker that failed to make them
            place.mkdir()
            names.write_text(json.dumps(make_runs(place)), encoding="utf-8")
        return place, json.loads(names.read_text(encoding="utf-8"))
