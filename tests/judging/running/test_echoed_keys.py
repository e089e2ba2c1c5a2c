"""A server that repeats the key that it got: the key is stored nowhere."""

from __future__ import annotations

from typing import get_type_hints

import pytest
from support.judge_runs import run_judge
from support.task_folders import make_task_folder

from harness.judging.judges.base import MASK, without_key
from harness.judging.judges.config import new_judge
from harness.judging.parsing.verdict import Reply
from harness.judging.storage.response_cache import ResponseCache
from harness.tasks import load_task

KEY = "sk-canary-5f3a91e77c0d"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)


def spec_at(url):
    return new_judge(name="j", model="stub", base_url=url, key_env="STUB_KEY", samples=1)


def test_a_key_that_a_server_repeats_is_masked_in_log_and_cache(tmp_path, stub):
    """The reply around it is kept and parsed."""
    task = load_task(str(make_task_folder(tmp_path / "task", 2)))
    store = ResponseCache(tmp_path / "cache")
    log = tmp_path / "verdicts.jsonl"
    reading, end, _ = run_judge(
        spec_at(stub.url(say=f"A (asked with {KEY})")),
        task,
        log,
        elicitations=("forced_choice",),
        samples=1,
        store=store,
    )
    store.close()
    assert end == ""
    assert [v.text for v in reading.final.values()] == [f"A (asked with {MASK})"] * 2
    assert any(KEY in str(request["headers"]) for request in stub.requests())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(MASK.encode() in path.read_bytes() for path in files if path.name == "cache.db")
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_key_is_masked_in_every_member_of_a_reply():
    """Log probabilities are dropped: their tokens are parts of the key."""
    reply = Reply(request="r", text=KEY, model=f"m-{KEY}", finish_reason=KEY, logprobs=[KEY[:4]])
    masked = without_key(reply, "STUB_KEY")
    assert (masked.text, masked.model, masked.finish_reason) == (MASK, f"m-{MASK}", MASK)
    assert masked.logprobs is None
    only = without_key(Reply(request="r", text="A", logprobs=[{"token": KEY}]), "STUB_KEY")
    assert (only.text, only.logprobs) == ("A", None)


def test_a_key_that_a_server_repeats_as_its_fingerprint_is_masked():
    """So is any other text of a reply, but hashes of its request and names of the user's own."""
    names = {name for name, kind in get_type_hints(Reply).items() if kind in {str, str | None}}
    texts = names - {"request", "cache_key", "task", "judge"}  # no server writes these
    assert "fingerprint" in texts
    reply = Reply(request="r", **dict.fromkeys(texts, f"fp-{KEY}"))
    masked = without_key(reply, "STUB_KEY")
    assert {name: getattr(masked, name) for name in texts} == dict.fromkeys(texts, f"fp-{MASK}")


def test_placeholders_of_local_servers_are_no_keys(monkeypatch):
    """A server without keys is given a word such as none, which a reply may hold."""
    monkeypatch.setenv("STUB_KEY", "none")
    reply = Reply(request="r", text="none of these", logprobs=["none"])
    assert without_key(reply, "STUB_KEY") is reply
