"""Logs of killed runs: adopted where the cache's own note names them, once, and nothing else is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from support.judge_runs import RecordingObserver, run_judge
from support.task_folders import make_task_folder
from support.verdicts import verdict_from

from harness.app import execute, start
from harness.command_options import Place, RunOptions, Server
from harness.judging.judges.config import JudgeSpec
from harness.judging.parsing.verdict import Reply
from harness.judging.running import ask
from harness.judging.storage import request_locks
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import RunNotes, VerdictLog, note_name, open_part
from harness.run_plans import plan_run
from harness.tasks import load_task

KEYS = [f"{n:064x}" for n in range(9)]
FOLLOWER = """
import sys
from pathlib import Path
from harness.judging.storage.response_cache import ResponseCache
store = ResponseCache(Path(sys.argv[1]))
store.follow(Path(sys.argv[2]))
print(all([store.locks.claim(request) for request in sys.argv[3:]]), flush=True)
sys.stdin.read()
"""


@contextmanager
def follower(place, *requests):
    """A process that has left a note on the log of its run, and holds locks on requests."""
    command = [sys.executable, "-c", FOLLOWER, place.cache, place.log, *requests]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"True\n"
        yield process
        process.kill()


def verdict(request, value="A"):
    return verdict_from(
        item="a",
        judge="j",
        elicitation="forced_choice",
        sample=KEYS.index(request),
        outcome="answered",
        value=value,
        reply=value,
        request=request,
    )


def append(log, *verdicts):
    with VerdictLog.open(log) as opened:
        opened.append(verdicts)


@pytest.fixture
def place(tmp_path):
    """A run folder with a log of one reply, and a cache."""
    run = tmp_path / "runs" / "killed"
    (run / "task").mkdir(parents=True)
    (run / "task" / "task.yaml").write_text("name: x", encoding="utf-8")
    append(run / "verdicts.jsonl", verdict(KEYS[1]))
    return SimpleNamespace(run=run, log=run / "verdicts.jsonl", cache=tmp_path / "cache")


def stored(place, *requests):
    """Texts of cached replies, as another run looks them up."""
    store = ResponseCache(place.cache)
    try:
        replies = store.get_many([(request, request) for request in requests])
    finally:
        store.close()
    return {request: reply.text for request, reply in replies.items()}


def test_abandoned_log_is_adopted_once(place):
    """What is appended to it later is not looked at again."""
    with follower(place):
        assert stored(place, KEYS[1]) == {}
    assert stored(place, KEYS[1]) == {KEYS[1]: "A"}
    append(place.log, verdict(KEYS[2]))
    assert stored(place, KEYS[2]) == {}


def test_parts_of_an_abandoned_log_are_adopted_with_it(place):
    """What a worker of the killed run received is in no other place of this machine."""
    with follower(place), open_part(place.log) as part:
        part.append([verdict(KEYS[2])])
    assert stored(place, KEYS[1], KEYS[2]) == {KEYS[1]: "A", KEYS[2]: "A"}


def test_adopted_log_replaces_no_paid_reply(place):
    """Insert, never update."""
    store = ResponseCache(place.cache)
    store.add_many([Reply(request=KEYS[1], text="paid")])
    store.close()
    with follower(place):
        pass
    assert stored(place, KEYS[1], KEYS[2]) == {KEYS[1]: "paid"}
    assert RunNotes(place.cache / "logs").names() == []


@pytest.mark.parametrize("change", ["moved over it", "folder replaced", "folder overwritten"])
def test_log_of_another_run_at_the_path_of_a_note_poisons_no_cache(place, change):
    """A note holds for the run that left it, not for what lies there later."""
    with follower(place):
        pass
    forged = place.run.with_name("forged")
    shutil.copytree(place.run, forged)
    append(forged / "verdicts.jsonl", verdict(KEYS[2], "B"))
    if change == "moved over it":
        (forged / "verdicts.jsonl").replace(place.log)
    elif change == "folder replaced":
        shutil.rmtree(place.run)
        forged.rename(place.run)
    else:
        shutil.copytree(forged, place.run, dirs_exist_ok=True)
    assert stored(place, KEYS[1], KEYS[2]) == {}
    assert RunNotes(place.cache / "logs").names() == []


def test_log_beside_a_run_poisons_no_cache(tmp_path):
    """A folder from elsewhere that calls itself running is not imported by the next run."""
    task = load_task(make_task_folder(tmp_path / "task"))
    judges = tmp_path / "judges.yaml"
    judges.write_text('judges: {j: {kind: scripted, replies: {"*": "A"}}}', encoding="utf-8")
    plan = plan_run(
        str(task.folder),
        ["j"],
        RunOptions(elicitations=("forced_choice",)),
        server=Server(judges_file=judges),
    )
    forged, own = start(plan, tmp_path / "elsewhere"), start(plan, tmp_path / "runs")
    execute(plan, forged, observer=RecordingObserver(), place=Place(use_cache=False))
    lines = list(forged.read_verdicts().final.values())
    forged.verdicts.unlink()
    append(
        forged.verdicts,
        *(replace(line, reply=replace(line.reply, text="B"), value="B") for line in lines),
    )
    forged.update(state="running")
    shutil.copytree(forged.path, tmp_path / "runs" / "forged")
    execute(plan, own, observer=RecordingObserver(), place=Place(cache=tmp_path / "cache"))
    final = own.read_verdicts().final.values()
    assert {(line.value, line.cached) for line in final} == {("A", False)}
    assert len(final) == len(task.items)


@pytest.mark.parametrize("folder", ["logs", "batches"])
def test_stray_file_in_the_cache_is_ignored(place, folder):
    """Files of the desktop, folders and FIFOs, also under the name of a note, end no run."""
    ResponseCache(place.cache).close()
    (place.cache / folder).mkdir(exist_ok=True)
    names = [".DS_Store", "x.part", "0" * 64, "1" * 64, "2" * 64, "3" * 64, note_name(place.log)]
    contents = [b"\0\1", b"", b"", b"no note", b"1 2\n/etc/passwd", b"\xff\xfe 7\n", b"1 x\n/"]
    for name, content in zip(names, contents, strict=True):
        (place.cache / folder / name).write_bytes(content)
    (place.cache / folder / ("4" * 64)).mkdir()
    os.mkfifo(place.cache / folder / ("5" * 64))
    (place.cache / folder / ("6" * 64)).symlink_to(place.log)
    store = ResponseCache(place.cache)
    store.follow(place.log, place.run / "batches.json")
    assert store.get_many([(KEYS[1], KEYS[1])]) == {}
    assert store.batches.find(KEYS, "j") == {}
    store.close()


def test_stopped_process_that_holds_a_request_is_named(tmp_path, place, monkeypatch):
    """A run that waits says once which run holds the request, its process, and since when it has
    been running; when that ends, the request is sent."""
    monkeypatch.setattr(ask, "NOTICE_AFTER_S", 0.2)
    monkeypatch.setenv("TZ", "UTC")
    task = load_task(make_task_folder(tmp_path / "task"))
    spec = JudgeSpec(name="j", kind="scripted", replies={"*": "A"})
    options = {"elicitations": ("forced_choice",), "samples": 1}
    log, _, _ = run_judge(spec, task, tmp_path / "first.jsonl", **options)
    requests = [line.request for line in log.final.values()]

    class Ending(RecordingObserver):
        def say(self, line):
            super().say(line)
            process.kill()

    observer = Ending()
    store = ResponseCache(place.cache, observer.say)
    with follower(place, *requests[:3]) as process:
        process.send_signal(signal.SIGSTOP)
        log, end, _ = run_judge(
            spec, task, tmp_path / "second.jsonl", store=store, observer=observer, **options
        )
    store.close()
    assert (end, len(log.final)) == ("", len(task.items))
    [line] = observer.lines
    assert line.startswith(
        f"waiting for requests that {place.run} (process {process.pid}, running since 20"
    )
    assert f"(kill {process.pid})" in line


def test_stopped_process_that_opens_the_cache_is_named(place, monkeypatch):
    """So is one that keeps others from opening the cache at all."""
    monkeypatch.setattr(request_locks, "NOTICE_AFTER_S", 0.1)
    ResponseCache(place.cache).close()
    lines = []
    with follower(place, "f" * 64) as process:

        def say(line):
            lines.append(line)
            process.kill()

        ResponseCache(place.cache, say).close()
    [line] = lines
    assert f"(process {process.pid}, " in line
