"""`harness cache`: what it shows, and what it removes."""

from __future__ import annotations

import json
import time

import pytest
from support.processes import invoke
from support.task_folders import make_task_folder

from harness.judging.parsing.verdict import Reply
from harness.judging.storage.response_cache import ResponseCache


def fill(folder):
    """Two requests, three replies."""
    store = ResponseCache(folder)
    pairs = (("1", "a"), ("1", "b"), ("2", "c"))
    store.add_many([Reply(request=r * 64, text="A", cache_key=key) for key, r in pairs])
    store.close()


def test_size_is_shown(tmp_path):
    """Folder, requests, replies and bytes, as a table or as JSON; nothing is created."""
    folder = tmp_path / "cache"
    assert "0" in invoke("cache", "--cache", folder).output
    assert not folder.exists()
    fill(folder)
    [row] = json.loads(invoke("cache", "--cache", folder, "--json").output)
    assert row.pop("n_bytes") > 0
    assert row == {"folder": str(folder), "n_requests": 2, "n_replies": 3, "n_unreadable": 0}
    assert "3" in invoke("cache", "--cache", folder).output


def test_clearing_asks_first(tmp_path):
    """Anything but yes removes nothing; `--yes` asks nothing."""
    folder = tmp_path / "cache"
    fill(folder)
    refused = invoke("cache", "clear", "--cache", folder)
    assert refused.exit_code != 0
    [row] = json.loads(invoke("cache", "--cache", folder, "--json").output)
    assert row["n_replies"] == 3
    assert "Removed 3 of 3 replies" in invoke("cache", "clear", "--cache", folder, "--yes").output
    assert "contains no replies" in invoke("cache", "clear", "--cache", folder, "--yes").output


def fill_dated(folder) -> None:
    """Five replies under three keys: of two tasks, two judges, three ages, and one without any."""
    store, now = ResponseCache(folder), time.time()
    facts = [
        ("1", "a", "jokes", "gpt", 1),
        ("1", "b", "jokes", "gpt", 50),
        ("2", "c", "jokes", "claude", 50),
        ("3", "d", "toxicity", "gpt", 100),
    ]
    store.add_many(
        Reply(
            request=request * 64,
            text="A",
            cache_key=key,
            task=task,
            judge=judge,
            received_at=now - 86400 * age_days,
        )
        for key, request, task, judge, age_days in facts
    )
    store.add_many([Reply(request="e" * 64, text="A", cache_key="3")])
    store.close()


def requests_in(folder) -> str:
    store = ResponseCache(folder)
    try:
        return "".join(sorted(reply.request[0] for reply in store.replies()))
    finally:
        store.close()


@pytest.mark.parametrize(
    ("filters", "left", "n_unknown"),
    [
        (("--task", "jokes"), "de", 1),
        (("--judge", "gpt"), "ce", 1),
        (("--older-than", "30d"), "ae", 1),
        (("--older-than", "8 weeks"), "abce", 1),
        (("--task", "jokes", "--judge", "gpt"), "cde", 1),
        (("--task", "jokes", "--judge", "gpt", "--older-than", "720h"), "acde", 1),
        (("--task", "poems"), "abcde", 1),
        ((), "", 0),
    ],
)
def test_filters_choose_what_is_cleared(tmp_path, filters, left, n_unknown):
    """All of them must apply; a reply that lacks what is asked for stays, and is counted."""
    fill_dated(tmp_path)
    words = ("cache", "clear", "--cache", tmp_path, *filters)
    n_removed = 5 - len(left)
    counted = invoke(*words, "--dry-run").output
    assert f"{n_removed} of 5 replies would be removed" in counted
    assert (f"{n_unknown} of 5 replies have no task" in counted) is bool(n_unknown)
    assert requests_in(tmp_path) == "abcde"
    cleared = invoke(*words, "--yes")
    assert cleared.exit_code == 0, cleared.output
    assert (f"Removed {n_removed} of 5 replies" in cleared.output) is bool(n_removed)
    assert requests_in(tmp_path) == left


@pytest.mark.parametrize("age", ["", "soon", "30", "-1d", "d", "1y"])
def test_an_age_that_cannot_be_read_removes_nothing(tmp_path, age):
    """The error names the option and shows how an age is written."""
    fill_dated(tmp_path)
    refused = invoke("cache", "clear", "--cache", tmp_path, "--older-than", age, "--yes")
    assert refused.exit_code == 2
    assert "Pass an age such as 30d, 12h or 4w" in refused.output + refused.stderr
    assert requests_in(tmp_path) == "abcde"


def test_replies_of_runs_know_their_task_and_judge(tmp_path, stub):
    """What one judge was asked is cleared, and only that judge is asked again."""
    make_task_folder(tmp_path / "jokes", 4, response_sets=False)
    judges = "".join(f"  {n}: {{model: {n}, base_url: '{stub.url()}'}}\n" for n in ("one", "two"))
    (tmp_path / "judges.yaml").write_text(f"judges:\n{judges}", "utf-8")
    run = ("run", "--task", tmp_path / "jokes", "--judges", "one,two", "--samples", 1, "--quiet")
    run += ("--judges-file", tmp_path / "judges.yaml", "--elicitation", "forced_choice")
    run += ("--out", tmp_path / "runs")
    assert invoke(*run).exit_code == 0
    before = stub.stats()["requests"]
    cleared = invoke("cache", "clear", "--task", tmp_path / "jokes", "--judge", "one", "--yes")
    assert "Removed 4 of 8 replies" in cleared.output
    assert invoke(*run).exit_code == 0
    assert stub.stats()["requests"] == before + 4


def test_replies_are_copied_from_cache_to_cache(tmp_path):
    """All of them, and again without a copy of what is there."""
    source, target = tmp_path / "from", tmp_path / "to"
    fill(source)
    for _ in range(2):
        assert "Copied 3 replies" in invoke("cache", "copy", source, target).output
        [row] = json.loads(invoke("cache", "--cache", target, "--json").output)
        assert (row["n_requests"], row["n_replies"]) == (2, 3)


def test_a_foreign_database_is_rejected_in_one_line(tmp_path):
    """Another program's database is neither shown nor cleared."""
    (tmp_path / "cache.db").write_bytes(b"no database" * 100)
    for arguments in (["cache"], ["cache", "clear", "--yes"]):
        result = invoke(*arguments, "--cache", tmp_path)
        assert "cannot be used as a cache" in str(result.exception)
    assert (tmp_path / "cache.db").read_bytes().startswith(b"no database")
