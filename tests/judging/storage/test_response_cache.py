"""Response cache: bytes of JSON in a diskcache, never a pickle, never a file that a row names."""

from __future__ import annotations

import os
import pickle
import sqlite3

import diskcache
import msgspec
import pytest

from harness.errors import RunError
from harness.files.user_folders import cache_folder
from harness.judging.parsing.verdict import Reply
from harness.judging.prompts.question import Message
from harness.judging.prompts.requests import Request
from harness.judging.storage.response_cache import (
    BulkCache,
    CacheStats,
    CacheUnusable,
    ReplyDisk,
    ResponseCache,
    measure_cache,
)

REQUEST = Request(provider="p", model="m", messages=(Message("user", "text"),))


def reply(sample: int, text: str = "A", cache_key: str = REQUEST.cache_key) -> Reply:
    return Reply(
        request=REQUEST.for_sample(sample).hash,
        text=text,
        model="m",
        cost_usd=0.25,
        logprobs=[{"A": -0.1}],
        cache_key=cache_key,
    )


def look_up(store, *samples):
    """Cached replies of `REQUEST` by sample."""
    replies = store.get([(REQUEST.cache_key, REQUEST.for_sample(n).hash) for n in samples])
    return {n: replies[h] for n in samples if (h := REQUEST.for_sample(n).hash) in replies}


@pytest.fixture
def store(tmp_path):
    opened = ResponseCache(tmp_path / "cache")
    yield opened
    opened.close()


def test_stored_replies_are_returned_whole(store, tmp_path):
    """Also after the cache was closed and opened again; a stored reply is never replaced."""
    store.add_many([reply(1), reply(2, "B é")])
    store.add_many([reply(2)])
    again = ResponseCache(tmp_path / "cache")
    assert look_up(again, 1, 2, 3) == {1: reply(1), 2: reply(2, "B é")}
    again.close()


def test_samples_of_a_request_share_one_entry(store, tmp_path):
    """Nine samples received at three times are one row, a JSON array that any reader can read."""
    for samples in ((0, 1, 2), (3, 4, 5), (6, 7, 8)):
        store.add_many([reply(n) for n in samples])
    [(key, value)] = store._database._sql("SELECT key, value FROM Cache").fetchall()
    assert key == REQUEST.cache_key
    assert [row["request"] for row in msgspec.json.decode(value)] == list(REQUEST.hashes(9))
    assert len(look_up(store, *range(9))) == 9
    assert measure_cache(tmp_path / "cache")[:3] == (1, 9, 0)


def test_two_runs_extend_one_entry(store, tmp_path):
    """Neither overwrites what the other has stored of the same request."""
    other = ResponseCache(tmp_path / "cache")
    for n, cache in enumerate((store, other, store, other)):
        cache.add_many([reply(n)])
    assert len(look_up(store, *range(4))) == len(look_up(other, *range(4))) == 4
    other.close()


def test_nothing_is_ever_evicted(store):
    """However large the cache is: replies were paid for."""
    database = store._database
    assert (database.eviction_policy, database.cull_limit) == ("none", 0)


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.environ["BOMB"],))


@pytest.mark.parametrize(
    ("mode", "filename", "value"),
    [
        (diskcache.core.MODE_PICKLE, None, "pickle"),
        (diskcache.core.MODE_RAW, None, "pickle"),
        (diskcache.core.MODE_PICKLE, "{outside}", None),
        (diskcache.core.MODE_BINARY, "{outside}", None),
        (diskcache.core.MODE_TEXT, "{outside}", None),
        (diskcache.core.MODE_RAW, "{outside}", "reply"),
        (diskcache.core.MODE_RAW, None, "text"),
        (diskcache.core.MODE_RAW, None, 7),
    ],
)
def test_planted_row_is_neither_unpickled_nor_followed(
    tmp_path, monkeypatch, mode, filename, value
):
    """CVE-2025-69872: a row with a pickle mode, or one that names a file outside the cache, holds
    nothing; it is not run, opened or removed, when it is read, extended or cleared."""
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    outside = tmp_path / "outside.json"
    outside.write_bytes(msgspec.json.encode([reply(7)]))
    values = {"pickle": pickle.dumps(Bomb()), "reply": msgspec.json.encode([reply(7)])}
    planted = (mode, filename and str(outside), values.get(value, value))
    ResponseCache(tmp_path / "cache").close()
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        for key in (REQUEST.cache_key, "other"):
            database.execute(
                "INSERT INTO Cache (key, raw, mode, filename, value) VALUES (?, 1, ?, ?, ?)",
                (key, *planted),
            )
    database.close()
    store = ResponseCache(tmp_path / "cache")
    assert look_up(store, 7) == {}
    assert measure_cache(tmp_path / "cache").n_unreadable == 2
    store.add_many([reply(1)])
    assert look_up(store, 1, 7) == {1: reply(1)}
    store.clear()
    assert look_up(store, 1) == {}
    store.close()
    assert not (tmp_path / "exploded").exists()
    assert outside.exists()


def test_single_entry_interface_of_diskcache_follows_no_row_either(tmp_path, monkeypatch):
    """`ReplyDisk` holds for all of diskcache: get, pop, delete and iteration."""
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    outside = tmp_path / "outside"
    outside.write_bytes(b"[]")
    with BulkCache(str(tmp_path / "cache"), disk=ReplyDisk) as cache:
        insert = "INSERT INTO Cache (key, raw, mode, filename, value) VALUES (?, ?, 4, ?, ?)"
        cache._sql(insert, ("key", 1, str(outside), None))
        cache._sql(insert, (pickle.dumps(Bomb()), 0, None, None))
        assert cache.get("key") == []
        assert len(list(cache)) == 2
        assert cache.pop("key") == []
    assert outside.exists()
    assert not (tmp_path / "exploded").exists()


def test_planted_settings_are_not_applied(tmp_path):
    """diskcache sets attributes and pragmas from rows; those of a stranger are removed."""
    ResponseCache(tmp_path / "cache").close()
    planted = {"get": "x", "disk_unknown": 1, "sqlite_journal_mode": "off; x", "eviction_policy": 7}
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        rows = planted.items()
        database.executemany("INSERT OR REPLACE INTO Settings VALUES (?, ?)", rows)
    database.close()
    store = ResponseCache(tmp_path / "cache")
    store.add_many([reply(1)])
    assert look_up(store, 1) == {1: reply(1)}
    assert store._database.eviction_policy == "none"
    store.close()


def test_view_in_the_place_of_the_table_is_refused(tmp_path):
    """It could forge replies, or never end."""
    ResponseCache(tmp_path / "cache").close()
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("ALTER TABLE Cache RENAME TO Real")
        database.execute("CREATE VIEW Cache AS SELECT * FROM Real")
    database.close()
    with pytest.raises(RunError, match="the database belongs to a different program"):
        ResponseCache(tmp_path / "cache")


def test_replies_of_another_run_are_seen(store, tmp_path):
    """A second look-up returns what another run has stored since the first."""
    other = ResponseCache(tmp_path / "cache")
    assert look_up(store, 1, 2) == look_up(store, 1) == {}
    other.add_many([reply(1)])
    assert look_up(store, 1, 2) == {1: reply(1)}
    store.add_many([reply(2)])
    assert look_up(store, 2) == {2: reply(2)}
    other.close()


def test_reply_to_another_request_is_not_returned(store):
    """A reply counts under the hash of its own request alone, wherever it lies."""
    store.add_many([reply(1, cache_key="elsewhere")])
    assert look_up(store, 1) == {}
    assert store.get([("elsewhere", REQUEST.for_sample(2).hash)]) == {}


def test_damaged_cache_is_moved_aside_and_reported(tmp_path):
    """A file that is no database is kept, named, and replaced by an empty cache."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "cache.db").write_bytes(b"rubbish " * 500)
    lines = []
    store = ResponseCache(folder, lines.append)
    assert look_up(store, 0) == {}
    store.close()
    [aside] = tmp_path.glob("cache.damaged-*")
    assert (aside / "cache.db").read_bytes().startswith(b"rubbish")
    assert str(aside) in lines[0]


def test_path_that_names_a_variable_is_refused(tmp_path, monkeypatch):
    """diskcache would put the database into another folder than the one that was named."""
    monkeypatch.setenv("ELSEWHERE", "other")
    with pytest.raises(RunError, match="names an environment variable"):
        ResponseCache(tmp_path / "$ELSEWHERE")
    assert not list(tmp_path.iterdir())


def test_clearing_gives_the_space_back(store, tmp_path):
    """Afterwards the cache is empty, small, and can be used."""
    store.add_many([reply(n, "A" * 1000) for n in range(1000)])
    before = measure_cache(tmp_path / "cache")
    store.clear()
    after = measure_cache(tmp_path / "cache")
    assert after == CacheStats(0, 0, 0, after.n_bytes)
    assert after.n_bytes < before.n_bytes / 4
    store.add_many([reply(1)])
    assert len(look_up(store, 1)) == 1


def test_problem_of_a_cache_does_not_repeat_a_path(tmp_path):
    """The system's message counts, not the path in it."""
    error = CacheUnusable(tmp_path, PermissionError(13, "Permission denied", "/home/cache.db"))
    assert error.cause == "Permission denied"
    assert str(error).count("/home/cache.db") == 0


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    """$HARNESS_CACHE comes before the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "judge-harness"
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


@pytest.mark.parametrize(
    ("forged", "readable"), [(b"1e308", {2, 3}), (b"-1", {2, 3}), (b"NaN", set())]
)
def test_forged_cost_in_a_row_counted_as_money(tmp_path, forged, readable):
    """Such a reply is not found; the others of its entry are, and stay when more are stored, unless
    the entry is no JSON."""
    store = ResponseCache(tmp_path / "cache")
    store.add_many([reply(1), reply(2), reply(3)])
    store.close()
    entry = msgspec.json.encode([reply(1), reply(2), reply(3)])
    planted = entry.replace(b"0.25", forged, 1)
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("UPDATE Cache SET value = ?", [planted])
    again = ResponseCache(tmp_path / "cache")
    assert set(look_up(again, 1, 2, 3)) == readable
    again.add_many([reply(4)])
    assert set(look_up(again, 1, 2, 3, 4)) == {*readable, 4}
    again.close()


def test_forged_cost_in_a_shared_row_counted_as_money():
    """As in a cache of one machine."""
    from harness.extras.cluster.request_keys import _decode_reply

    honest = msgspec.json.encode(reply(1))
    assert _decode_reply(reply(1).request, honest) == reply(1)
    for forged in (b"1e308", b"-1", b"NaN"):
        assert _decode_reply(reply(1).request, honest.replace(b"0.25", forged)) is None
