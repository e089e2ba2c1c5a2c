"""Requests that another process holds: who holds them is said, and they are asked when it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from support.judge_runs import RecordingObserver, run_judge
from support.task_folders import make_task_folder

from harness.judging.judges.config import new_judge
from harness.judging.running import asker
from harness.judging.storage import response_cache
from harness.judging.storage.response_cache import ResponseCache
from harness.tasks import load_task

HOLDER = """
import sys
from pathlib import Path
from harness.judging.storage.response_cache import ResponseCache
store = ResponseCache(Path(sys.argv[1]))
print(all([store.locks.claim(request) for request in sys.argv[2:]]), flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(cache, *requests):
    """A process that holds the locks on requests."""
    command = [sys.executable, "-c", HOLDER, cache, *requests]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"True\n"
        yield process
        process.kill()


def test_stopped_process_that_holds_a_request_is_named(tmp_path, monkeypatch):
    """A run that waits says once which process holds the request; when that ends, it is sent."""
    monkeypatch.setattr(asker, "NOTICE_AFTER_S", 0.2)
    task = load_task(make_task_folder(tmp_path / "task"))
    spec = new_judge(name="j", kind="scripted", replies={"*": "A"})
    options = {"elicitations": ("forced_choice",), "samples": 1}
    log, _, _ = run_judge(spec, task, tmp_path / "first.jsonl", **options)
    requests = [line.request for line in log.final.values()]

    class Ending(RecordingObserver):
        def say(self, line):
            super().say(line)
            process.kill()

    observer = Ending()
    store = ResponseCache(tmp_path / "cache", observer.say)
    with holder(tmp_path / "cache", *requests[:3]) as process:
        process.send_signal(signal.SIGSTOP)
        log, end, _ = run_judge(
            spec, task, tmp_path / "second.jsonl", store=store, observer=observer, **options
        )
    store.close()
    assert (end, len(log.final)) == ("", len(task.items))
    [line] = observer.lines
    assert line.startswith(f"waiting for requests that process {process.pid} has started")
    assert f"(kill {process.pid})" in line


@pytest.mark.slow
def test_stopped_process_that_opens_the_cache_is_named(tmp_path, monkeypatch):
    """So is one that keeps others from opening the cache at all."""
    monkeypatch.setattr(response_cache, "NOTICE_AFTER_S", 0.1)
    ResponseCache(tmp_path / "cache").close()
    lines = []
    with holder(tmp_path / "cache", "f" * 64) as process:

        def say(line):
            lines.append(line)
            process.kill()

        ResponseCache(tmp_path / "cache", say).close()
    [line] = lines
    assert f"process {process.pid} has started" in line
