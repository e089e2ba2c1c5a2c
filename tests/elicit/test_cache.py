"""The reply cache: bytes of JSON, never a pickle, never a surprise."""

from __future__ import annotations

import os
import pickle
import sqlite3

import msgspec
import pytest

from harness.elicit.cache import DiskStore, open_store
from harness.elicit.folders import cache_folder
from harness.elicit.verdicts import Reply


def reply(number: int, text: str = "A") -> Reply:
    return Reply(
        request=f"{number:064x}", text=text, model="m", cost_usd=0.25, logprobs=[{"A": -0.1}]
    )


def test_what_is_put_is_got(tmp_path):
    """A reply comes back whole, also after the store was closed and opened again."""
    store = DiskStore(tmp_path / "cache")
    store.put_many([reply(1), reply(2, "B é")])
    store.close()
    again = DiskStore(tmp_path / "cache")
    wanted = [f"{n:064x}" for n in (1, 2, 3)]
    assert again.get_many(wanted) == {wanted[0]: reply(1), wanted[1]: reply(2, "B é")}
    again.close()


class Bomb:
    def __reduce__(self):
        return (os.mkdir, (os.environ["BOMB"],))


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
def test_cache_never_unpickles_what_it_reads(tmp_path, monkeypatch, mode):
    """A planted pickle is not run, whatever its row says that it is."""
    monkeypatch.setenv("BOMB", str(tmp_path / "exploded"))
    DiskStore(tmp_path / "cache").close()
    key = f"{7:064x}"
    with sqlite3.connect(tmp_path / "cache" / "cache.db") as database:
        database.execute(
            "INSERT INTO Cache (key, raw, store_time, access_time, mode, value) "
            "VALUES (?, ?, 0, 0, ?, ?)",
            (key, 1, mode, pickle.dumps(Bomb())),
        )
    database.close()
    store = DiskStore(tmp_path / "cache")
    assert store.get_many([key]) == {}
    store.close()
    assert not (tmp_path / "exploded").exists()


def test_reply_under_a_foreign_key_is_not_believed(tmp_path):
    """A reply counts only under the hash of its own request."""
    store = DiskStore(tmp_path / "cache")
    store.put_many([reply(1)])
    raw = msgspec.json.encode(reply(1))
    store._database._cache.set(f"{2:064x}", raw)
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


def test_eviction_is_off(tmp_path):
    """A paid reply is never evicted, however full the cache is."""
    store = DiskStore(tmp_path / "cache")
    assert store._database._cache.eviction_policy == "none"
    assert store._database._cache.cull_limit == 0
    store.close()


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    """$HARNESS_CACHE comes before the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "judge-harness"
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
