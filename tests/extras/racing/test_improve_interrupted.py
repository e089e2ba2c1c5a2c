"""A search that is killed or runs out of money goes on, loses nothing and pays nothing twice."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter

import pytest
from support.processes import call_harness, start_harness
from support.task_folders import make_task_folder, write_jsonl

from harness.judging.storage.verdict_log import read_log

N_ITEMS, CONCURRENCY, N_KILLS = 60, 4, 10
N_AT_ONCE = 3  # judges that a round asks, each with so many requests in flight
PRICE = {"input": 1.0, "output": 1.0}
WORDING = json.dumps({"instructions": "Answer B.", "options": {"A": "bad", "B": "good"}})


@pytest.fixture
def place(tmp_path, stub, monkeypatch):
    """A task whose raters mostly say B, a judge that says A, and a writer that helps."""
    stub.reset()
    make_task_folder(tmp_path / "task", N_ITEMS, response_sets=False)
    rng = random.Random(7)
    items = [{"id": f"i{i}", "text": f"This is comment number {i}."} for i in range(N_ITEMS)]
    write_jsonl(tmp_path / "task" / "items.jsonl", items)
    ratings = [
        {"item": f"i{i}", "rater": f"r{j}", "value": rng.choices("AB", [0.2, 0.8])[0]}
        for i in range(N_ITEMS)
        for j in range(3)
    ]
    write_jsonl(tmp_path / "task" / "ratings.jsonl", ratings)
    stub.set_table("pen", {"Reply with the JSON alone:": [WORDING]})
    urls = {"far": stub.url(ms=30, obey="A"), "pen": stub.url(ms=30, table="pen")}
    shared = {"kind": "endpoint", "samples": 1, "price": PRICE, "concurrency": CONCURRENCY}
    judges = {name: shared | {"model": name, "base_url": url} for name, url in urls.items()}
    (tmp_path / "judges.yaml").write_text(json.dumps({"judges": judges}), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_JUDGES", str(tmp_path / "judges.yaml"))
    return tmp_path


def words(place, name):
    own = ("--out", place / name, "--cache", place / f"{name}-cache", "--json", "--quiet")
    search = ("--judge", "far", "--writer", "pen", "--rounds", 2, "--candidates", 2)
    return ("improve", "--task", "task", *search, *own)


def result_of(done):
    result = json.loads(done.stdout)
    return {name: result[name] for name in ("best", "ending", "gain", "changes", "n_calls")}


def paid(folder):
    """Return how often each request was paid for by a run, and what that cost."""
    logs = [read_log(file) for file in folder.rglob("verdicts.jsonl")]
    bought = [v for log in logs for v in log.final.values() if v.reply and not v.from_store]
    return Counter(v.request for v in bought), sum(v.reply.cost_usd for v in bought)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_kills_lose_nothing_and_pay_nothing_twice(place, stub, monkeypatch):
    """The end is that of a search that nobody killed; only calls in flight are repeated."""
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "first"))
    whole = call_harness(*words(place, "whole"), cwd=place)
    assert whole.returncode == 0, whole.stderr
    n_requests = stub.stats()["requests"]
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "second"))
    rng, n_killed = random.Random(11), 0
    for _ in range(N_KILLS):
        with start_harness(*words(place, "killed"), cwd=place) as process:
            time.sleep(rng.uniform(0.2, 2.5))
            n_killed += process.poll() is None
            process.send_signal(signal.SIGKILL)
    assert n_killed > N_KILLS // 2
    ended = call_harness(*words(place, "killed"), cwd=place)
    assert ended.returncode == 0, ended.stderr
    assert result_of(ended) == result_of(whole)
    in_flight = CONCURRENCY * N_AT_ONCE
    assert stub.stats()["requests"] - n_requests <= n_requests + in_flight * n_killed
    times, _ = paid(place / "killed")
    assert max(times.values()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0.004, 0.02])
def test_a_search_stays_within_its_limit(place, limit):
    """All rounds, the writer and the confirmation share it; more money goes on with the rest."""
    stopped = call_harness(*words(place, "limited"), "--max-cost", limit, cwd=place)
    assert stopped.returncode == 4, stopped.stderr
    result = json.loads(stopped.stdout)
    assert result["ending"] == "stopped"
    times, cost = paid(place / "limited")
    assert cost <= limit
    assert result["cost_usd"] == pytest.approx(cost)
    on = call_harness(*words(place, "limited"), "--max-cost", 10, cwd=place)
    assert json.loads(on.stdout)["ending"] == "improved", on.stderr
    more, _ = paid(place / "limited")
    assert max(more.values()) == 1
    assert times.keys() <= more.keys()
