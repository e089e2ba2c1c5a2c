"""`--refresh`, `--no-store`, and what a result says about the age of its replies."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from support.judge_runs import n_lines
from support.look_schedules import Schedule, majority, replies
from support.processes import call_harness, invoke, start_harness
from support.task_folders import make_task_folder

from harness.files.user_folders import cache_folder
from harness.judging.storage.response_cache import ResponseCache

N = 12
JUDGE = (
    "judges:\n  m: {{kind: endpoint, model: m, base_url: '{url}', samples: 1, concurrency: 4}}\n"
)


def day(n_ago: int) -> str:
    return (datetime.now(UTC) - timedelta(days=n_ago)).isoformat()[:10]


def age_cache(days: int, *, undated: bool = False) -> None:
    """Rewrite the cache as if its replies had been received so many days earlier."""
    store = ResponseCache(cache_folder())
    at = None if undated else time.time() - days * 86400
    stored = [replace(reply, received_at=at) for reply in store.replies()]
    store.clear()
    store.add_many(stored)
    store.close()


@pytest.fixture
def ask(tmp_path, stub):
    """Run a judge; return the output, the metrics, and the number of requests."""
    make_task_folder(tmp_path / "task", N, response_sets=False)
    (tmp_path / "judges.yaml").write_text(JUDGE.format(url=stub.url()), "utf-8")
    words = ("run", "--task", "task", "--judges", "m", "--judges-file", "judges.yaml")

    def go(*more, code=0):
        before = stub.stats()["requests"]
        command = (*words, "--elicitation", "forced_choice", "--out", "runs", *more)
        ended = call_harness(*command, cwd=tmp_path)
        assert ended.returncode == code, ended.stderr
        n_requests = stub.stats()["requests"] - before
        metrics = None
        if not code:
            newest = max((tmp_path / "runs").iterdir(), key=lambda run: run.stat().st_mtime_ns)
            metrics = json.loads((newest / "metrics.json").read_bytes())
        return " ".join((ended.stdout + ended.stderr).split()), metrics, n_requests

    return go


def test_a_result_without_new_replies_gives_their_dates(ask):
    """In the output, the metrics and the page; a result with only new replies has no such line."""
    said, metrics, _ = ask()
    assert "replies are new" not in said
    assert "No new replies" not in said
    assert metrics["reply_dates"]["n_new"] == N
    age_cache(40)
    said, metrics, n_requests = ask()
    line = f"No new replies: all {N} were collected on {day(40)}."
    assert line in said
    assert line in metrics["notes"]
    expected = {"n": N, "n_new": 0, "n_undated": 0, "oldest": day(40), "newest": day(40)}
    assert metrics["reply_dates"] == expected
    assert n_requests == 0


def test_a_partly_stored_result_counts_its_new_replies(ask):
    """The others have the date of the oldest."""
    ask("--limit", N - 2)
    age_cache(40)
    said, _, n_requests = ask()
    assert n_requests == 2
    assert (
        f"2 of {N} replies are new, and {N - 2} are shared with other judges or earlier runs."
        in said
    )
    assert f"The oldest was collected on {day(40)}." in said


def test_replies_of_an_earlier_version_have_no_date(ask):
    """The line says so, and gives none."""
    ask()
    age_cache(0, undated=True)
    said, _, _ = ask()
    assert f"No new replies: all {N} are from earlier runs. {N} have no date." in said


@pytest.mark.slow
def test_refresh_sends_every_request_again_and_replaces_what_is_stored(ask):
    """The next run uses the new replies."""
    ask()
    age_cache(40)
    said, metrics, n_requests = ask("--refresh")
    assert (n_requests, metrics["reply_dates"]["n_new"]) == (N, N)
    assert "No new replies" not in said
    said, _, n_requests = ask()
    assert n_requests == 0
    assert f"No new replies: all {N} were collected on {day(0)}." in said


@pytest.mark.slow
def test_no_store_neither_uses_nor_stores_replies(ask):
    """Neither before nor after a run that does."""
    for n_requests, words in ((N, ("--no-store",)), (N, ()), (N, ("--no-store",)), (0, ())):
        assert ask(*words)[2] == n_requests


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--refresh", "--no-store"), "Leave out one of the two"),
        (("--refresh", "--store", "postgresql://localhost/x"), "Leave out --refresh"),
        (("--no-store", "--store", "postgresql://localhost/x"), "Leave out --no-store"),
        (("--no-cache",), "No such option: --no-cache"),
    ],
)
def test_options_that_contradict_are_refused(ask, words, said):
    """Before anything is sent."""
    output, _, n_requests = ask(*words, code=2)
    assert said in output
    assert n_requests == 0


@pytest.mark.slow
def test_a_killed_refresh_is_resumed_and_pays_for_no_received_reply_again(ask, tmp_path, stub):
    """The printed command continues the refresh."""
    ask()
    stub.hold_after(5)
    before = stub.stats()["requests"]
    words = ("run", "--task", "task", "--judges", "m", "--judges-file", "judges.yaml", "--refresh")
    place = ("--elicitation", "forced_choice", "--out", "killed")
    process = start_harness(*words, *place, cwd=tmp_path)
    log = None
    while log is None or n_lines(log) < 5:
        assert process.poll() is None
        log = next((tmp_path / "killed").glob("*/verdicts.jsonl"), None)
        time.sleep(0.02)
    process.kill()
    process.communicate()
    stub.release()
    n_in_flight = stub.stats()["requests"] - before - 5
    more = ("resume", log.parent, "--judges-file", "judges.yaml", "--refresh")
    ended = call_harness(*more, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert stub.stats()["requests"] - before == N + n_in_flight
    assert json.loads((log.parent / "metrics.json").read_bytes())["reply_dates"]["n_new"] == N


def test_an_interrupted_refresh_prints_a_command_that_refreshes_the_rest(ask, tmp_path):
    """Otherwise the rest would come from the cache."""
    file = tmp_path / "judges.yaml"
    priced = "samples: 1, price: {input: 1, output: 1}, params: {max_tokens: 4}"
    file.write_text(file.read_text("utf-8").replace("samples: 1", priced), "utf-8")
    said, _, _ = ask("--refresh", "--max-cost", 0.0008, code=4)
    assert "--refresh --max-cost" in said


@pytest.mark.slow
def test_a_baseline_gives_the_dates_of_stored_replies(tmp_path, stub):
    """A run whose replies came from the cache makes a baseline of their date."""
    schedule = Schedule(tmp_path, stub, {"judge": replies(N, majority)}, n=N)
    age_cache(40)
    words = ("run", "--task", tmp_path / "task", "--judges", "judge", "--out", tmp_path / "second")
    words += ("--judges-file", tmp_path / "judges.yaml", "--elicitation", "forced_choice")
    assert invoke(*words, "--quiet").exit_code == 0
    [schedule.run] = (tmp_path / "second").iterdir()
    file = ("--judges-file", tmp_path / "judges.yaml")
    looked = " ".join(invoke("revalidate", schedule.run, *file).stdout.split())
    assert f"on 1 occasion, collected on {day(40)}." in looked
    assert f"the run, collected on {day(40)}," in invoke("history", schedule.run).stdout
