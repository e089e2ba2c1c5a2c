"""A look in batches is of one moment, however late its batch is in."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from support.look_schedules import aged
from support.processes import BATCH_SERVER, call_harness, start_harness, start_server
from support.task_folders import make_task_folder

N = 12
LATE_DAYS = 3


@pytest.fixture
def provider():
    with start_server(BATCH_SERVER) as running:
        yield running


@pytest.fixture
def run(tmp_path, provider):
    """A run in batches, of pairs of answers, whose second turns are a batch of their own."""
    make_task_folder(tmp_path / "task", N)
    judge = {"model": "stub", "base_url": provider.url(), "samples": 2, "batch_poll_s": 0.02}
    (tmp_path / "judges.yaml").write_text(json.dumps({"judges": {"far": judge}}))
    words = ("--task", "task", "--judges", "far", "--judges-file", "judges.yaml", "--batch")
    asked = call_harness("run", *words, "--elicitation", "paired", cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    [path] = (tmp_path / "runs").iterdir()
    return path


def wait_for_batch(folder):
    """Wait until a round has handed in a batch, and return its list of batches."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        file = folder / "batches.json"
        if file.exists() and any(batch["id"] for batch in json.loads(file.read_text())):
            return file
        time.sleep(0.05)
    raise AssertionError("no batch was handed in")


@pytest.mark.slow
def test_late_batch_sends_no_request_for_its_look(run, provider, tmp_path):
    """Second turns of today would continue conversations of days ago: the next one has its own."""
    provider.post("/hold")
    words = ("revalidate", run, "--judges-file", "judges.yaml")
    look = start_harness(*words, cwd=tmp_path)
    folder = run / "looks" / "0001"
    batches = wait_for_batch(folder)
    look.kill()
    look.communicate()
    aged(folder, LATE_DAYS)
    entries = json.loads(batches.read_text())
    older = [entry | {"created": entry["created"] - 86_400 * LATE_DAYS} for entry in entries]
    batches.write_text(json.dumps(older))
    provider.post("/go")
    n_before = provider.stats()["requests"]
    ended = call_harness(*words, "--json", cwd=tmp_path)
    n_sent = provider.stats()["requests"] - n_before
    history = call_harness("history", run, "--json", cwd=tmp_path)
    late, today = json.loads(history.stdout)["looks"]
    assert late["at"][:10] == (datetime.now(UTC) - timedelta(days=LATE_DAYS)).isoformat()[:10]
    assert late["judges"][0]["shortfall"] == "not assessed"
    assert "shortfall" not in today["judges"][0]
    assert n_sent == 2 * N, "both turns of the round of today"
    assert ended.returncode in {0, 1}, ended.stderr
