"""`harness cache`: what it shows, and what it removes."""

from __future__ import annotations

import json

from support.processes import invoke

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
    assert "Removed 3 replies" in invoke("cache", "clear", "--cache", folder, "--yes").output
    assert "holds no replies" in invoke("cache", "clear", "--cache", folder, "--yes").output


def test_replies_are_copied_from_cache_to_cache(tmp_path):
    """All of them, and again without a copy of what is there."""
    source, target = tmp_path / "from", tmp_path / "to"
    fill(source)
    for _ in range(2):
        assert "Copied 3 replies" in invoke("cache", "copy", source, target).output
        [row] = json.loads(invoke("cache", "--cache", target, "--json").output)
        assert (row["n_requests"], row["n_replies"]) == (2, 3)


def test_what_is_no_cache_is_one_line(tmp_path):
    """Another program's database is neither shown nor cleared."""
    (tmp_path / "cache.db").write_bytes(b"no database" * 100)
    for arguments in (["cache"], ["cache", "clear", "--yes"]):
        result = invoke(*arguments, "--cache", tmp_path)
        assert "cannot be used as a cache" in str(result.exception)
    assert (tmp_path / "cache.db").read_bytes().startswith(b"no database")
