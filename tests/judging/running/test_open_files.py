"""Few file descriptors: fewer calls in flight, no reply lost, nothing paid for twice."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import pytest
from support.judge_calls import ask, judge_at
from support.judge_runs import RecordingObserver, run_judge
from support.task_folders import make_task_folder

from harness.judging.judges.config import new_judge
from harness.judging.running import session
from harness.judging.running.session import SPARE, share_connections
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import read_log
from harness.tasks import load_task

LIMITED = """
import resource, runpy, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
sys.argv = sys.argv[1:]
runpy.run_module("harness", run_name="__main__")
"""
N_ITEMS, N_JUDGES = 40, 2


@contextmanager
def files_left(n: int):
    """This process may open ``n`` more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = {int(path.name) for path in Path("/dev/fd").iterdir()}
    limit = next(islice((fd for fd in count() if fd not in opened), n, None))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def harness(place, limit: int, *arguments: str):
    """Run ``harness`` as a process that may open ``limit`` files, and no more."""
    command = [sys.executable, "-c", LIMITED, str(limit), *arguments, "--cache", "cache"]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_few_descriptors_lose_no_reply(tmp_path, stub):
    """Two judges of 400 calls in flight each, in a process that may open 96 files: every request
    that reached the server stands in the log, and a second run sends none."""
    stub.reset()
    make_task_folder(tmp_path / "task", N_ITEMS)
    judge = {"model": "stub", "samples": 3, "concurrency": 400}
    judges = {f"j{n}": judge | {"base_url": stub.url(ms=20 + n)} for n in range(N_JUDGES)}
    (tmp_path / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    options = ("run", "--task", "task", "--judges", ",".join(judges))
    options += ("--judges-file", "judges.yaml", "--elicitation", "forced_choice")
    done = harness(tmp_path, 96, *options)
    assert done.returncode == 0, done.stderr
    assert (
        "of the 800 calls can be in flight simultaneously, because this process can open 96 files"
        in done.stderr
    )
    n_units = N_ITEMS * N_JUDGES * 3
    stats = stub.stats()
    assert stats["requests"] == n_units
    assert stats["max_in_flight"] < 96
    [log] = tmp_path.glob("runs/*/verdicts.jsonl")
    assert Counter(v.outcome for v in read_log(log).final.values()) == {"answered": n_units}
    assert harness(tmp_path, 96, *options).returncode == 0
    assert stub.stats()["requests"] == n_units


def test_descriptors_that_run_out_during_a_run_are_waited_for(tmp_path, stub, monkeypatch):
    """Nobody has counted them: calls that find none are sent later, fewer at once, and each unit
    is paid for once."""
    stub.reset()
    monkeypatch.setattr(session, "share_connections", list)
    task = load_task(make_task_folder(tmp_path / "task", N_ITEMS))
    spec = new_judge(name="j", model="stub", base_url=stub.url(ms=5), concurrency=300)
    store, observer = ResponseCache(tmp_path / "cache"), RecordingObserver()
    with files_left(40):
        log, end, asked = run_judge(
            spec,
            task,
            tmp_path / "log.jsonl",
            elicitations=("forced_choice",),
            samples=5,
            store=store,
            observer=observer,
        )
    store.close()
    assert (end, observer.lines) == ("", [])
    assert Counter(v.outcome for v in log.final.values()) == {"answered": N_ITEMS * 5}
    assert stub.stats()["requests"] == N_ITEMS * 5
    assert "cut" in {event.reason for event in asked.rate_history["j"]}


def test_call_without_a_descriptor_may_be_sent_again(stub, monkeypatch):
    """It was not sent; the server is not called unreachable."""
    monkeypatch.setenv("STUB_KEY", "sk-x")
    with files_left(20):
        results = ask(judge_at(stub.url(ms=50), concurrency=60), times=60)
    reasons = {getattr(result, "reason", "") for result in results}
    assert reasons == {"", "too_many_files"}
    assert all(result.retry for result in results if getattr(result, "reason", ""))


def test_soft_limit_is_raised_as_far_as_calls_in_flight_need_it():
    """A limit of the shell that the system does not insist on halves nobody's calls."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with files_left(0):
        assert share_connections([200, 56]) == [200, 56]
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 256 + SPARE
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)


@pytest.mark.parametrize("wanted", [[], [1], [10**9, 10**9], [10**9, 1]])
def test_every_judge_has_at_least_one_call(wanted):
    """However many the others want; together they stay below the hard limit."""
    shares = share_connections(wanted)
    assert all(1 <= share <= n for share, n in zip(shares, wanted, strict=True))
    assert sum(shares) < resource.getrlimit(resource.RLIMIT_NOFILE)[1]
