"""Disks that are full, damaged, locked or shared: what was written stays, and somebody says so.

Full disks are real: the kernel's limit on file sizes (RLIMIT_FSIZE) makes the very write fail.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace

import pytest
from support.judge_runs import RecordingObserver, scripted
from support.processes import locked
from support.task_folders import make_task_folder

from harness.app.plan import plan_run
from harness.app.run import execute, start
from harness.errors import RunError
from harness.extras.cluster import copy_replies
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget
from harness.judging.running.session import Session
from harness.judging.running.session_state import SessionLimits, SessionState
from harness.judging.running.units import Job
from harness.judging.storage import response_cache
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.response_cache import (
    BulkCache,
    CacheUnusable,
    CacheUnwritable,
    FileLocks,
    ResponseCache,
)
from harness.judging.storage.verdict_log import VerdictLog, read_log
from harness.options.concerns import Place, RunOptions, Server
from harness.runs.run_folder import NewJudges, RunConfig, RunFolder
from harness.tasks import load_task

N = 6
KEYS = [f"{n:064x}" for n in range(200)]


def look_up(store, keys):
    """Replies that were stored under the hash of their own request."""
    return store.get([(key, key) for key in keys])


class Counting:
    """A remote judge that always says A and counts how often it was asked."""

    def __init__(self, task):
        self.spec = new_judge(name="j", model="m", base_url="http://127.0.0.1:9", concurrency=1)
        self.inner = build(scripted({"*": "A"}), task, Prompts.load(task))
        self.n_asked = 0

    def request(self, unit):
        return self.inner.request(unit)

    async def ask_many(self, requests):
        return [await self.ask(requests[0])]

    async def ask(self, request):
        self.n_asked += 1
        return Reply(request=request.hash, text="A", cost_usd=0.01)

    n_connections = 0
    tried_first = True

    def recorded(self, replies):
        pass

    def leave(self):
        pass

    async def prepare(self):
        pass

    async def aclose(self):
        pass


@pytest.fixture
def task(tmp_path):
    return load_task(str(make_task_folder(tmp_path / "task", N)))


def run(task, path, store):
    """Ask what the log does not answer; return the number of calls and what was said."""
    judge, hearing = Counting(task), RecordingObserver()
    with VerdictLog.open(path) as log:
        runner = Session(
            [Job(judge, task.items, ("forced_choice",), 1)],
            SessionState(
                task,
                log=log,
                store=store,
                done=read_log(path).final,
                observer=hearing,
                limits=SessionLimits(CostBudget(None)),
            ),
        )
        asyncio.run(runner.run())
    return judge.n_asked, hearing.lines


class Failing(Counting):
    """Fails in its first call, as a full disk under the log does."""

    async def ask(self, request):
        raise RunError("the disk is full")


def test_error_of_a_task_reaches_the_user_as_itself(tmp_path, task):
    """A full disk ended one run of hundreds with a group of errors, which nobody caught."""
    with VerdictLog.open(tmp_path / "v.jsonl") as log:
        session = Session(
            [Job(Failing(task), task.items, ("forced_choice",), 1)],
            SessionState(
                task,
                log=log,
                store=NoStore(),
                done={},
                observer=RecordingObserver(),
                limits=SessionLimits(CostBudget(None)),
            ),
        )
        with pytest.raises(RunError, match="the disk is full"):
            asyncio.run(session.run())


@contextmanager
def file_size_limit(n_bytes):
    """No file of this process can grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_whichever_write_fails_what_stood_before_is_kept(tmp_path, task, monkeypatch):
    """The disk is full at the n-th verdict, for every n and in the middle of a line: one line says
    what to do, the earlier verdicts are read, and a resume asks only for the others."""
    monkeypatch.setattr(time, "time", lambda: 1796000000.125)  # lines as long in each run
    whole = tmp_path / "whole.jsonl"
    run(task, whole, NoStore())
    ends = [i + 1 for i, byte in enumerate(whole.read_bytes()) if byte == 10]
    for n_fit, limit in [(n - 1, end - 1) for n, end in enumerate(ends)] + [
        (n, end + 7) for n, end in enumerate(ends[:-1])
    ]:
        path = tmp_path / f"{limit}.jsonl"
        with file_size_limit(limit), pytest.raises(RunError, match="cannot be written"):
            run(task, path, NoStore())
        if n_fit >= 0:  # else, not even the header could be written
            assert len(read_log(path).final) == n_fit
        asked, _ = run(task, path, NoStore())
        assert asked == N - max(n_fit, 0)
        assert len(read_log(path).final) == N


def test_a_full_disk_under_the_cache_costs_nothing(tmp_path, task):
    """The replies stand in the log; the run ends well and says where they are."""
    store = ResponseCache(tmp_path / "cache")
    path = tmp_path / "log.jsonl"
    with file_size_limit((tmp_path / "cache" / "cache.db").stat().st_size):
        asked, lines = run(task, path, store)
    store.close()
    assert asked == N == len(read_log(path).final)
    assert len(lines) <= 1
    assert all(str(path) in line for line in lines)


def test_a_reply_that_cannot_be_stored_is_kept_for_another_time(tmp_path):
    """A transaction that fails leaves nothing half done and can be repeated."""
    store = ResponseCache(tmp_path / "cache")
    replies = [Reply(request=key, text="A" * 10_000) for key in KEYS]
    with file_size_limit(100_000), pytest.raises(CacheUnwritable, match="cannot be written"):
        store.add_many(replies)
    assert look_up(store, KEYS) == {}
    store.add_many(replies)
    assert len(look_up(store, KEYS)) == len(KEYS)
    store.close()


def test_flipped_bytes_in_a_middle_line_are_taken_from_the_cache_or_asked_again(tmp_path, task):
    """A damaged line is set aside and counted; its unit is never silently short."""
    path = tmp_path / "log.jsonl"
    store = ResponseCache(tmp_path / "cache")
    run(task, path, store)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    for again, calls in ((store, 0), (NoStore(), 1)):
        path.write_bytes(bytes(raw))
        assert len(read_log(path).damaged) == 1
        assert len(read_log(path).final) == N - 1
        asked, _ = run(task, path, again)
        assert asked == calls
        assert len(read_log(path).final) == N
    store.close()


def test_damaged_lines_are_kept_beside_the_log_and_said(tmp_path, task):
    """Byte for byte as they were found, in ``verdicts.damaged``; one line says where."""
    (tmp_path / "judges.yaml").write_text(
        'judges: {j: {kind: scripted, replies: {"*": "A"}}}', encoding="utf-8"
    )
    options = RunOptions(elicitations=("forced_choice",))
    server = Server(judges_file=tmp_path / "judges.yaml")
    plan = plan_run(str(task.folder), ["j"], options, server=server)
    folder = start(plan, tmp_path / "runs")
    execute(plan, folder, observer=RecordingObserver(), place=Place(no_store=True))
    lines = folder.verdicts.read_bytes().splitlines(keepends=True)
    lines[2:4] = damaged = [lines[2].replace(b"answered", b"answ\xffred"), b"\0\n"]
    folder.verdicts.write_bytes(b"".join(lines))
    hearing = RecordingObserver()
    execute(plan, folder, observer=hearing, place=Place(no_store=True))
    assert (folder.path / "verdicts.damaged").read_bytes() == b"".join(damaged)
    assert len(hearing.lines) == 1
    assert "2 damaged lines" in hearing.lines[0]
    assert "verdicts.damaged" in hearing.lines[0]
    assert len(folder.read_verdicts().final) == N


def test_a_cache_damaged_while_in_use_is_moved_aside_and_said(tmp_path, task):
    """Pages that are overwritten under a run become a line on the screen, not a crash."""
    folder, said = tmp_path / "cache", []
    ResponseCache(folder).close()
    store = ResponseCache(folder, said.append)
    store.add_many([Reply(request=key, text="A" * 2000) for key in KEYS])
    store._database._sql("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    store = ResponseCache(folder, said.append)
    raw = bytearray((folder / "cache.db").read_bytes())
    raw[4096:] = b"\xa5" * (len(raw) - 4096)
    (folder / "cache.db").write_bytes(bytes(raw))
    assert look_up(store, KEYS) == {}
    store.add_many([Reply(request=KEYS[0], text="B")])
    assert look_up(store, KEYS)[KEYS[0]].text == "B"
    store.close()
    assert len(said) == 1
    assert "damaged" in said[0]
    assert len(list(tmp_path.glob("cache.damaged-*"))) == 1


def filled_cache(folder):
    """A cache of all `KEYS`."""
    store = ResponseCache(folder)
    store.add_many([Reply(request=key, text="A") for key in KEYS])
    store.close()
    return folder


@pytest.fixture
def soon(monkeypatch):
    """A lock is waited for half a moment."""
    monkeypatch.setattr(response_cache, "BUSY_TIMEOUT_S", 0.05)


def test_a_locked_cache_is_refused(tmp_path, soon):
    """It stays where it is, and one line says what to do."""
    with sqlite3.connect(tmp_path / "cache.db") as connection:
        connection.execute("CREATE TABLE Other(x)")
    connection.close()
    with (
        locked(tmp_path / "cache.db"),
        pytest.raises(RunError, match=r"locked.*--cache DIR.*--no-store"),
    ):
        ResponseCache(tmp_path, lambda line: None)
    assert (tmp_path / "cache.db").exists()


@pytest.mark.parametrize("table", ["Cache(x)", "Other(x)"])
def test_a_database_of_another_program_is_not_called_a_locked_cache(tmp_path, table):
    """A run says what `harness doctor` says, and leaves the file as it is."""
    with sqlite3.connect(tmp_path / "cache.db") as connection:
        connection.execute(f"CREATE TABLE {table}")
    connection.close()
    before = (tmp_path / "cache.db").read_bytes()
    with pytest.raises(
        RunError,
        match=r"the database belongs to a different program. Choose a different one with --cache",
    ):
        ResponseCache(tmp_path, lambda line: None)
    assert (tmp_path / "cache.db").read_bytes() == before


def test_a_cache_whose_creation_ended_early_was_of_another_program(tmp_path, monkeypatch):
    """After whichever statement a full disk ended it, the next run uses the folder."""

    def created(folder, n_statements: int) -> bool:
        class EndedCache(BulkCache):
            @property
            def _sql(self):
                if next(statements) >= n_statements:
                    raise sqlite3.OperationalError("database or disk is full")
                return super()._sql

        statements = count()
        with monkeypatch.context() as patch:
            patch.setattr(response_cache, "BulkCache", EndedCache)
            try:
                ResponseCache(folder).close()
            except CacheUnusable:
                return False
        return True

    for n_statements in count(step=2):
        folder = tmp_path / f"{n_statements}"
        is_whole = created(folder, n_statements)
        filled_cache(folder)
        if is_whole:
            break
    assert n_statements > 20


def test_a_clock_that_jumps_changes_nothing(tmp_path, task, monkeypatch):
    """Years forth or back: what is in the cache stays known and nothing is asked again."""
    now = time.time
    for jump_s in (0, 3e8, -9e8):
        monkeypatch.setattr(time, "time", lambda jump_s=jump_s: now() + jump_s)
        store = ResponseCache(tmp_path / "cache")
        asked, _ = run(task, tmp_path / f"{jump_s}.jsonl", store)
        store.close()
        assert asked == (0 if jump_s else N)
        assert len(read_log(tmp_path / f"{jump_s}.jsonl").final) == N


@pytest.mark.parametrize("name", ["manifest.json", "metrics.json", "ranking.csv", "report.html"])
def test_whichever_rename_fails_the_verdicts_are_safe_and_it_is_said(tmp_path, task, name):
    """A file that cannot be put in its place is one line; what stood there stays."""
    config = RunConfig(task=str(task.folder), elicitations=("forced_choice",))
    folder = RunFolder.create(
        tmp_path / "runs", task, config, NewJudges(specs=()), prompts=Prompts.load(task)
    )
    (folder.path / name).unlink(missing_ok=True)
    (folder.path / name / "in the way").mkdir(parents=True)
    with pytest.raises(RunError, match=r"cannot be written.*The verdicts are safe"):
        folder.write(name, "new")
    assert (folder.path / name / "in the way").is_dir()


FAILING = SimpleNamespace(below="", at=0)  # which change on disk is to fail


def _failing(event: str, arguments: tuple[object, ...]) -> None:
    """Fail the n-th time that something below a folder is opened to be written, made or moved."""
    if not FAILING.at or event not in {"open", "os.mkdir", "os.rename"}:
        return
    writes = event != "open" or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    if writes and str(arguments[0]).startswith(FAILING.below):
        FAILING.at -= 1
        if not FAILING.at:
            raise OSError(28, "No space left on device")


def test_whichever_change_on_disk_fails_a_run_is_not_begun_and_says_so_in_one_line(tmp_path, task):
    """Every file and folder that a run begins with, one after the other; what to do is said, and
    nobody is told that verdicts are safe which were never asked for."""
    sys.addaudithook(_failing)
    plan = plan_run(str(task.folder), ["random"], RunOptions(elicitations=("forced_choice",)))
    FAILING.below = str(tmp_path / "new")
    for n in count(1):
        FAILING.at = n
        try:
            folder = start(plan, tmp_path / "new" / "runs")
            with folder.open_log():
                store = ResponseCache(tmp_path / "new" / "cache", print)
        except RunError as error:
            message = str(error)
            assert "cannot be" in message
            assert "verdicts are safe" not in message
            assert "\n" not in message
        else:
            break
        finally:
            FAILING.at = 0
    store.close()
    assert n > 12


def test_a_cache_that_is_deleted_under_a_run_ends_nothing(tmp_path, task):
    """`rm -r` of the cache's folder costs the cache; the run goes on and its replies are kept."""
    store = ResponseCache(tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    asked, _ = run(task, tmp_path / "log.jsonl", store)
    store.close()
    assert asked == N == len(read_log(tmp_path / "log.jsonl").final)


def test_a_cache_whose_folder_is_replaced_by_a_file_ends_nothing(tmp_path):
    """The open database is used to the end of the run."""
    folder = tmp_path / "cache"
    store = ResponseCache(folder)
    folder.rename(tmp_path / "elsewhere")
    folder.write_text("no folder", encoding="utf-8")
    store.add_many([Reply(request=KEYS[0], text="A")])
    assert len(look_up(store, KEYS)) == 1
    assert store.held.find(KEYS) == {}
    store.close()


HOLD = """
import sys
from pathlib import Path
from harness.judging.storage.response_cache import FileLocks
leases = FileLocks(Path(sys.argv[1]))
print(leases.claim(sys.argv[2]), flush=True)
sys.stdin.read()
"""


def test_a_lease_ends_with_its_holder_however_that_ends(tmp_path):
    """Nobody else may ask while the holder lives; after kill -9 anybody may."""
    path = tmp_path / "leases"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), KEYS[7]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "True\n"
        leases = FileLocks(path)
        assert not leases.claim(KEYS[7])
        assert leases.claim("f" * 64)
        holder.kill()
    assert leases.claim(KEYS[7])
    leases.close()


def test_a_lease_is_one_callers_until_it_is_given_back(tmp_path):
    """Within a process, too, only one may ask."""
    leases = FileLocks(tmp_path / "leases")
    assert leases.claim(KEYS[1])
    assert not leases.claim(KEYS[1])
    leases.release(KEYS[1])
    assert leases.claim(KEYS[1])
    leases.close()


def test_a_lock_in_the_middle_of_a_run_costs_no_reply(tmp_path, task, soon):
    """What is received under the lock stands in the log, from which the cache can be filled."""
    path = tmp_path / "log.jsonl"
    VerdictLog.open(path).close()
    store = ResponseCache(filled_cache(tmp_path / "cache"))
    with locked(tmp_path / "cache" / "cache.db"):
        n_asked, lines = run(task, path, store)
    store.close()
    assert (n_asked, len(lines)) == (N, 1)
    assert "The replies are safe in" in lines[0]
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    path.rename(run_folder / "verdicts.jsonl")
    copy_replies(str(run_folder), str(tmp_path / "cache"))
    store = ResponseCache(tmp_path / "cache")
    assert run(task, tmp_path / "second.jsonl", store)[0] == 0
    store.close()


def test_a_cache_that_another_run_has_replaced_is_not_moved_aside(tmp_path):
    """Of two runs on a damaged database the first puts a new one in place, the second uses it."""
    lines = []
    filled_cache(tmp_path / "cache")
    stores = [ResponseCache(tmp_path / "cache", lines.append) for _ in range(2)]
    stores[0]._database._sql("PRAGMA wal_checkpoint(TRUNCATE)")
    raw = (tmp_path / "cache" / "cache.db").read_bytes()
    (tmp_path / "cache" / "cache.db").write_bytes(raw[:100] + b"\xa5" * (len(raw) - 100))
    for store in stores:
        store.add_many([Reply(request="e" * 64, text="A")])
        assert look_up(store, ["e" * 64])
    assert len(lines) == len(list(tmp_path.glob("cache.damaged-*"))) == 1
    for store in stores:
        store.close()
