"""A run that is killed or interrupted loses nothing that was received and buys nothing twice."""

from __future__ import annotations

import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from support.judge_runs import n_lines
from support.machines import wait_until
from support.processes import call_harness, start_harness
from support.task_folders import make_task_folder

from harness.files.user_folders import cache_folder
from harness.judging.parsing.verdict import decode
from harness.judging.storage.response_cache import measure_cache
from harness.judging.storage.verdict_log import read_log

N_ITEMS, SAMPLES, CONCURRENCY = 40, 5, 8
BOTH = ("forced_choice", "response_set")
PLANNED = N_ITEMS * SAMPLES * len(BOTH)
JUDGES = """\
judges:
  local:
    kind: endpoint
    model: stub
    base_url: {url}
    samples: {samples}
    concurrency: {concurrency}
"""


@pytest.fixture(autouse=True)
def _hang_up_is_not_ignored():
    """Processes that a test starts see SIGHUP, also where the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A working folder with a task and a judges file that points at the stub, 20 ms away."""
    stub.reset()
    monkeypatch.setenv("HARNESS_JUDGES", "judges.yaml")
    make_task_folder(tmp_path / "task", N_ITEMS)
    text = JUDGES.format(url=stub.url(ms=20), samples=SAMPLES, concurrency=CONCURRENCY)
    (tmp_path / "judges.yaml").write_text(text, encoding="utf-8")
    return tmp_path


IN_TERMINAL = """
import fcntl, runpy, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
runpy.run_module("harness", run_name="__main__")
"""
ARGUMENTS = (
    "run",
    "--task",
    "task",
    "--judges",
    "local",
    "--judges-file",
    "judges.yaml",
)


def kill(process) -> None:
    """Send SIGKILL and wait for the end."""
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


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


def n_purchases(log) -> Counter[str]:
    """Count how often the replies that a log holds were bought, by the hash of their request."""
    lines = log.read_bytes().split(b"\n")[1:-1]
    replies = [reply for line in lines for reply in decode(line + b"\n").replies]
    purchases = {(reply.request, reply.latency_s) for reply in replies}
    return Counter(request for request, _ in purchases)


def kill_and_resume(place, stub, *, kills: int, seed: int, elicitations=BOTH) -> str:
    """Kill a run again and again, then let it end; nothing may be lost or bought twice."""
    rng = random.Random(seed)
    written: list[bytes] = []
    asked = ("--elicitation", ",".join(elicitations))
    pairs_alone = "paired" in elicitations and "response_set" not in elicitations
    n_units = N_ITEMS * SAMPLES * len(elicitations)
    n_turns = n_units + N_ITEMS * SAMPLES * pairs_alone  # else first turns are response sets
    process = start_harness(*ARGUMENTS, *asked, cwd=place)
    for kill_number in range(kills):
        low, high = (k * n_turns // (kills + 2) for k in (kill_number, kill_number + 1))
        wait_for_lines(place, rng.randrange(low, max(high, low + 1)))
        time.sleep(rng.random() * 0.03)
        kill(process)
        lines = log_of(place).read_bytes().split(b"\n")[:-1]
        assert lines[: len(written)] == written
        written = lines
        process = start_harness("resume", cwd=place)
    out, err = process.communicate()
    assert process.returncode == 0, err
    reading = read_log(log_of(place))
    assert log_of(place).read_bytes().split(b"\n")[: len(written)] == written
    assert len(reading.final) == n_units
    assert n_lines(log_of(place)) == n_turns
    assert Counter(v.outcome for v in reading.final.values()) == {"answered": n_units}
    purchases = n_purchases(log_of(place))
    assert len(purchases) == n_turns
    assert set(purchases.values()) == {1}
    assert n_turns <= stub.stats()["requests"] <= n_turns + kills * CONCURRENCY
    return out


@pytest.mark.slow
def test_kill_at_ten_random_moments_loses_nothing_and_repeats_only_what_was_in_flight(place, stub):
    """After ten kill -9, every unit has one verdict, every line once written still stands, and the
    server saw at most the calls in flight once more per kill."""
    out = kill_and_resume(place, stub, kills=10, seed=20260101)
    assert "on all 40 rated items" in " ".join(out.split())


def test_kill_between_the_turns_of_pairs_loses_no_first_turn(place, stub):
    """Each turn is a reply: written when it is received, and not bought again."""
    kill_and_resume(place, stub, kills=1, seed=1, elicitations=("paired",))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(5))
def test_kill_at_fifty_random_moments_over_seeds(place, stub, seed):
    """Five runs, each killed ten times at moments of its own."""
    kill_and_resume(place, stub, kills=10, seed=seed)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(5))
def test_fifty_kills_with_pairs_in_the_mix_lose_nothing_received_and_buy_nothing_twice(
    place, stub, seed
):
    """Five runs, each killed ten times: some buy the first turns of their pairs, and some begin
    pairs with the response sets."""
    mix = (("forced_choice", "paired"), (*BOTH, "paired"))[seed % 2]
    kill_and_resume(place, stub, kills=10, seed=seed, elicitations=mix)


@pytest.mark.slow
def test_two_runs_on_one_cache_pay_for_no_unit_twice(place, stub):
    """They run at once over the same units; the server sees each request once, and both end with
    all their verdicts."""
    runs = [start_harness(*ARGUMENTS, "--out", f"out{i}", "--quiet", cwd=place) for i in range(2)]
    for process in runs:
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert stub.stats()["requests"] == PLANNED
    for log in place.glob("out*/*/verdicts.jsonl"):
        assert len(read_log(log).final) == PLANNED


@pytest.mark.slow
def test_a_run_takes_over_what_a_killed_one_was_asking(place, stub):
    """A lease ends with its holder: the other run asks what the killed one had not received."""
    first = start_harness(*ARGUMENTS, "--out", "out1", cwd=place)
    second = start_harness(*ARGUMENTS, "--out", "out2", cwd=place)
    while stub.stats()["requests"] < PLANNED // 4:
        time.sleep(0.01)
    kill(first)
    _, err = second.communicate()
    assert second.returncode == 0, err
    [log] = place.glob("out2/*/verdicts.jsonl")
    assert len(read_log(log).final) == PLANNED
    assert stub.stats()["requests"] <= PLANNED + CONCURRENCY


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_first_signal_drains_and_the_run_can_be_resumed(place, stub, number, code):
    """What was in flight is received, the exit code says why, and resuming asks only the rest."""
    process = start_harness(*ARGUMENTS, cwd=place)
    wait_for_lines(place, 50)
    process.send_signal(number)
    _, err = process.communicate()
    assert process.returncode == code, err
    assert "Resume with: harness resume" in err
    waiting = r"(Waiting for \d+ repl(y|ies) already requested|Stopping)\. Press Ctrl-C again"
    assert re.search(waiting, err)
    before = len(read_log(log_of(place)).final)
    assert stub.stats()["requests"] == before < PLANNED
    done = call_harness("resume", cwd=place)
    assert done.returncode == 0, done.stderr
    assert stub.stats()["requests"] == PLANNED == len(read_log(log_of(place)).final)


@pytest.mark.slow
def test_closed_terminal_drains_the_run(place, stub):
    """Its window is closed: the run cannot print any more, and still receives what is in flight."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", IN_TERMINAL, *ARGUMENTS],
        cwd=place,
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    wait_for_lines(place, 50)
    os.close(master)
    assert process.wait(30) == 143
    before = len(read_log(log_of(place)).final)
    assert stub.stats()["requests"] == before < PLANNED
    assert call_harness("resume", cwd=place).returncode == 0
    assert stub.stats()["requests"] == PLANNED


@pytest.mark.slow
def test_run_that_ignores_hang_ups_goes_on(place, stub):
    """`nohup` works."""
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "harness", *ARGUMENTS],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_lines(place, 50)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 0
    assert stub.stats()["requests"] == PLANNED


def test_second_signal_stops_at_once(place, stub):
    """Two Ctrl-C end a run whose calls hang; it can be resumed."""
    text = (place / "judges.yaml").read_text(encoding="utf-8")
    hanging = text.replace("/ms/20", "/ms/60000")
    (place / "judges.yaml").write_text(hanging, encoding="utf-8")
    process = start_harness(*ARGUMENTS, cwd=place)
    while not list(place.glob("runs/*/verdicts.jsonl")) or stub.stats()["in_flight"] < CONCURRENCY:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "Press Ctrl-C again to stop now" in err


@pytest.mark.slow
def test_finished_run_asks_nothing_when_run_again(place, stub):
    """A second run of the same job takes everything from the cache."""
    assert call_harness(*ARGUMENTS, cwd=place).returncode == 0
    assert stub.stats()["requests"] == PLANNED
    again = call_harness(*ARGUMENTS, cwd=place)
    assert again.returncode == 0, again.stderr
    assert stub.stats()["requests"] == PLANNED
    assert f"{PLANNED} from the store" in again.stderr


@pytest.mark.slow
def test_replies_of_a_killed_run_are_not_bought_again_by_a_new_one(place, stub):
    """What a killed run had received, while calls hang, is in the cache of the next run."""
    stub.hold_after(100)
    process = start_harness(*ARGUMENTS, cwd=place)
    wait_for_lines(place, 99)
    wait_until(lambda: measure_cache(cache_folder()).n_replies == 100)
    wait_until(lambda: stub.stats()["in_flight"] == CONCURRENCY)
    kill(process)
    assert len(read_log(log_of(place)).final) == 100
    asked = stub.stats()["requests"]
    stub.release()
    assert call_harness(*ARGUMENTS, cwd=place).returncode == 0
    assert stub.stats()["requests"] == asked + PLANNED - 100


@pytest.mark.slow
def test_pairs_begin_with_the_sets_of_the_log_when_a_killed_run_stored_none(place, stub):
    """Replies are in the log before the cache: what is in the log alone is not bought again."""
    mix = ("--elicitation", "response_set,paired")
    n_sets = N_ITEMS * SAMPLES
    stub.hold_after(n_sets)
    process = start_harness(*ARGUMENTS, *mix, cwd=place)
    wait_for_lines(place, n_sets - 1)
    wait_until(lambda: stub.stats()["in_flight"] == CONCURRENCY)
    kill(process)
    shutil.rmtree(cache_folder())
    asked = stub.stats()["requests"]
    stub.release()
    resumed = call_harness("resume", cwd=place)
    assert resumed.returncode == 0, resumed.stderr
    assert stub.stats()["requests"] == asked + n_sets
    assert len(read_log(log_of(place)).final) == n_lines(log_of(place)) == 2 * n_sets
    assert set(n_purchases(log_of(place)).values()) == {1}


@pytest.mark.slow
def test_run_killed_at_any_moment_leaves_at_most_its_calls_in_flight_to_buy(place, stub):
    """A new run takes all that is stored: all that was received but for the last few ms.

    Replies are in the log before they are in the cache, so that those of calls that ended when
    the run was killed may be in the log alone, from which the killed run itself is resumed.
    """
    process = start_harness(*ARGUMENTS, cwd=place)
    wait_for_lines(place, 100)
    kill(process)
    received = len(read_log(log_of(place)).final)
    stored = measure_cache(cache_folder()).n_replies
    assert 0 <= received - stored <= CONCURRENCY
    asked = stub.stats()["requests"]
    assert call_harness(*ARGUMENTS, cwd=place).returncode == 0
    assert stub.stats()["requests"] == asked + PLANNED - stored


def test_edited_task_is_not_resumed_with_old_verdicts(place):
    """Resume compares contents: the run keeps its own copy of the task and goes on with that."""
    process = start_harness(*ARGUMENTS, "--no-item-text", cwd=place)
    wait_for_lines(place, 20)
    kill(process)
    items = place / "task" / "items.jsonl"
    items.write_text(
        items.read_text(encoding="utf-8").replace("number 3.", "three."), encoding="utf-8"
    )
    resumed = call_harness("resume", cwd=place)
    assert resumed.returncode == 2
    assert "has changed since" in resumed.stderr


def test_read_only_folder_is_one_clear_line(place):
    """A folder that cannot be written to costs nothing and says what to do."""
    if os.geteuid() == 0:
        target = "/proc/nowhere"
    else:
        (place / "closed").mkdir(mode=0o555)
        target = place / "closed"
    result = call_harness(*ARGUMENTS, "--out", target, cwd=place)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "--out" in result.stderr
