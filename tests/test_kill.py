"""A run that is killed or interrupted loses nothing that was received and buys nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from making import harness, make_task
from stubbing import start_stub

from harness.elicit.log import read_log

N_ITEMS, SAMPLES, CONCURRENCY = 40, 5, 8
PLANNED = N_ITEMS * SAMPLES * 2
JUDGES = """\
judges:
  local:
    kind: endpoint
    model: stub
    base_url: {url}
    samples: {samples}
    concurrency: {concurrency}
"""


@pytest.fixture(scope="module")
def stub():
    with start_stub() as running:
        yield running


@pytest.fixture
def place(tmp_path, stub):
    """A working folder with a task and a judges file that points at the stub, 20 ms away."""
    stub.reset()
    make_task(tmp_path / "task", N_ITEMS)
    text = JUDGES.format(url=stub.url(ms=20), samples=SAMPLES, concurrency=CONCURRENCY)
    (tmp_path / "judges.yaml").write_text(text, encoding="utf-8")
    return tmp_path


ARGUMENTS = (
    "run",
    "--task",
    "task",
    "--judges",
    "local",
    "--judges-file",
    "judges.yaml",
    "--no-baselines",
)


def started(place, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "harness", *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed(process: subprocess.Popen) -> None:
    """kill -9, and give the pipes back."""
    process.kill()
    process.communicate()


def log_of(place):
    [path] = place.glob("runs/*/verdicts.jsonl")
    return path


def wait_for_lines(place, n: int) -> None:
    """Wait until the run has written at least ``n`` verdicts."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        logs = list(place.glob("runs/*/verdicts.jsonl"))
        if logs and logs[0].read_bytes().count(b"\n") > n:
            return
        time.sleep(0.005)
    raise AssertionError(f"no {n} verdicts within 30 s")


def test_kill_at_ten_random_moments_loses_nothing_and_repeats_only_what_was_in_flight(place, stub):
    """After ten kill -9, every unit has one verdict, every line once written still stands, and the
    server saw at most the calls in flight once more per kill."""
    rng = random.Random(20260101)
    written: list[bytes] = []
    process = started(place, *ARGUMENTS)
    for kill in range(10):
        wait_for_lines(place, rng.randrange(kill * PLANNED // 12, (kill + 1) * PLANNED // 12))
        time.sleep(rng.random() * 0.03)
        killed(process)
        lines = log_of(place).read_bytes().split(b"\n")[:-1]
        assert lines[: len(written)] == written
        written = lines
        process = started(place, "run", "--resume")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    reading = read_log(log_of(place))
    assert log_of(place).read_bytes().split(b"\n")[: len(written)] == written
    assert len(reading.final) == reading.n_lines == PLANNED
    assert Counter(v.outcome for v in reading.final.values()) == {"answered": PLANNED}
    assert PLANNED <= stub.stats()["requests"] <= PLANNED + 10 * CONCURRENCY
    assert "Use local" in out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_first_signal_drains_and_the_run_can_be_resumed(place, stub, number, code):
    """What was in flight is received, the exit code says why, and resuming asks only the rest."""
    process = started(place, *ARGUMENTS)
    wait_for_lines(place, 50)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    before = len(read_log(log_of(place)).final)
    assert stub.stats()["requests"] == before < PLANNED
    done = harness("run", "--resume", cwd=place)
    assert done.returncode == 0, done.stderr
    assert stub.stats()["requests"] == PLANNED == len(read_log(log_of(place)).final)


def test_second_signal_stops_at_once(place, stub):
    """Two Ctrl-C end a run whose calls hang; it can be resumed."""
    text = (place / "judges.yaml").read_text(encoding="utf-8")
    hanging = text.replace("/ms/20", "/ms/60000")
    (place / "judges.yaml").write_text(hanging, encoding="utf-8")
    process = started(place, *ARGUMENTS)
    while not list(place.glob("runs/*/verdicts.jsonl")) or stub.stats()["in_flight"] < CONCURRENCY:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


def test_finished_run_asks_nothing_when_run_again(place, stub):
    """A second run of the same job takes everything from the cache."""
    assert harness(*ARGUMENTS, cwd=place).returncode == 0
    assert stub.stats()["requests"] == PLANNED
    again = harness(*ARGUMENTS, cwd=place)
    assert again.returncode == 0, again.stderr
    assert stub.stats()["requests"] == PLANNED
    assert f"{PLANNED} from the cache" in again.stderr


def test_replies_of_a_killed_run_are_not_bought_again_by_a_new_one(place, stub):
    """What a killed run had received reaches the cache of the next run, resumed or not."""
    process = started(place, *ARGUMENTS)
    wait_for_lines(place, 100)
    killed(process)
    received = len(read_log(log_of(place)).final)
    asked = stub.stats()["requests"]
    assert harness(*ARGUMENTS, cwd=place).returncode == 0
    assert stub.stats()["requests"] == asked + PLANNED - received


def test_edited_task_is_not_resumed_with_old_verdicts(place):
    """Resume compares contents: the run keeps its own copy of the task and goes on with that."""
    process = started(place, *ARGUMENTS, "--no-item-text")
    wait_for_lines(place, 20)
    killed(process)
    items = place / "task" / "items.jsonl"
    items.write_text(
        items.read_text(encoding="utf-8").replace("number 3.", "three."), encoding="utf-8"
    )
    resumed = harness("run", "--resume", cwd=place)
    assert resumed.returncode == 2
    assert "has changed since" in resumed.stderr


def test_read_only_folder_is_one_clear_line(place):
    """A folder that cannot be written to costs nothing and says what to do."""
    if os.geteuid() == 0:
        target = "/proc/nowhere"
    else:
        (place / "closed").mkdir(mode=0o555)
        target = place / "closed"
    result = harness(*ARGUMENTS, "--out", target, cwd=place)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "--out" in result.stderr
