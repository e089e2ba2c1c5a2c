"""The reply cache: bytes of JSON, never a pickle, never a surprise."""

from __future__ import annotations

import os
import pickle
import sqlite3

import msgspec
import pytest

from harness.judging.cache_folder import cache_folder, trouble
from harness.judging.parsing.verdict import Reply
from harness.judging.storage.response_cache import DiskStore, open_store


def reply(number: int, text: str = "A") -> Reply:
    return Reply(
        request=f"{number:064x}", text=text, model="m", cost_usd=0.25, logprobs=[{"A": -0.1}]
    )


def test_what_is_put_is_got(tmp_path):
    """A reply comes back whole, also after the store was closed and opened again."""
    store = DiskStore(tmp_path / "cache")
    store.put_many([reply(1), reply(2)])
    store.put_many([reply(2, "B é")])
    store.close()
    again = DiskStore(tmp_path / "cache")
    wanted = [f"{n:064x}" for n in (1, 2, 3)]
    assert again.get_many(wanted) == {wanted[0]: reply(1), wanted[1]: reply(2, "B é")}
    again.close()


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.environ["BOMB"],))


def test_cache_never_unpickles_what_it_reads(tmp_path, monkeypatch):
    """A planted pickle is not run; nor is one that an earlier version's table held."""
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    DiskStore(tmp_path / "cache").close()
    key = f"{7:064x}"
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("INSERT INTO replies VALUES (?, ?)", (key, pickle.dumps(Bomb())))
    database.close()
    store = DiskStore(tmp_path / "cache")
    assert store.get_many([key]) == {}
    store.close()
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("odd", ["text", 7, 0.5])
def test_what_is_no_bytes_is_no_reply(tmp_path, odd):
    """A planted row of another type reads as nothing."""
    DiskStore(tmp_path / "cache").close()
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute("INSERT INTO replies VALUES (?, ?)", (f"{7:064x}", odd))
    database.close()
    store = DiskStore(tmp_path / "cache")
    assert store.get_many([f"{7:064x}"]) == {}
    store.close()


def earlier_cache(folder):
    """A cache as an earlier version kept it: bytes of JSON (mode 1), and what was planted."""
    folder.mkdir()
    rows = [
        (f"{1:064x}", 1, 1, msgspec.json.encode(reply(1))),
        (f"{2:064x}", 1, 4, pickle.dumps(Bomb())),
        (f"{3:064x}", 1, 1, None),
    ]
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute("CREATE TABLE Settings (key TEXT NOT NULL UNIQUE, value)")
        database.execute(
            "CREATE TABLE Cache (rowid INTEGER PRIMARY KEY, key BLOB, raw INTEGER, mode INTEGER,"
            " value BLOB)"
        )
        database.execute("CREATE UNIQUE INDEX Cache_key_raw ON Cache(key, raw)")
        insert = "INSERT INTO Cache (key, raw, mode, value) VALUES (?, ?, ?, ?)"
        database.executemany(insert, rows)
    database.close()
    return folder


def test_replies_of_an_earlier_version_are_brought_over(tmp_path, monkeypatch):
    """What was paid for stays known; the earlier tables are gone, and no pickle was read."""
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    folder, said = earlier_cache(tmp_path / "cache"), []
    for _ in range(2):
        store = open_store(folder, said.append)
        assert store.get_many([f"{n:064x}" for n in (1, 2, 3)]) == {f"{1:064x}": reply(1)}
        assert len(store) == 1
        store.close()
    with sqlite3.connect(folder / "cache.db") as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    database.close()
    assert tables == [("replies",)]
    assert said == []
    assert not (tmp_path / "exploded").exists()


def test_what_another_run_stores_is_seen_after_a_look_in_vain(tmp_path):
    """A second look for what was not there is spared only while nobody has written, we included."""
    ours, theirs = DiskStore(tmp_path / "cache"), DiskStore(tmp_path / "cache")
    keys = [f"{n:064x}" for n in (1, 2)]
    assert ours.get_many(keys) == {}
    assert ours.get_many(keys[:1]) == {}
    theirs.put_many([reply(1)])
    assert ours.get_many(keys) == {keys[0]: reply(1)}
    ours.put_many([reply(2)])
    assert ours.get_many(keys[1:]) == {keys[1]: reply(2)}
    ours.close()
    theirs.close()


def test_reply_under_a_foreign_key_is_not_believed(tmp_path):
    """A reply counts only under the hash of its own request."""
    store = DiskStore(tmp_path / "cache")
    store.put_many([reply(1)])
    store._database.keep([(f"{2:064x}", msgspec.json.encode(reply(1)))])
    assert list(store.get_many([f"{2:064x}"])) == []
    store.close()


def test_damaged_cache_is_moved_aside_and_said(tmp_path):
    """Rubbish where the database should be is kept, named, and replaced by an empty cache."""
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "cache.db").write_bytes(b"rubbish " * 500)
    said = []
    store = open_store(folder, said.append)
    assert store.get_many(["0" * 64]) == {}
    store.close()
    [aside] = tmp_path.glob("cache.damaged-*")
    assert (aside / "cache.db").read_bytes().startswith(b"rubbish")
    assert str(aside) in said[0]


@pytest.mark.parametrize("name", ["full", "locked", "no such"])
def test_a_folders_name_is_not_what_is_wrong_with_it(name):
    """What the system says counts, not the path in its message."""
    told, _ = trouble(PermissionError(13, "Permission denied", f"/home/{name}/cache.db"))
    assert told == "it cannot be opened"


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    """$HARNESS_CACHE comes before the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "judge-harness"
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
