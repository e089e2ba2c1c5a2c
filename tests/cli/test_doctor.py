"""`harness doctor` finds what a run would trip over, contacts nobody unasked and shows no key."""

from __future__ import annotations

import json
import os
import sqlite3

import pytest
from support.processes import AGAINST_READING, AGAINST_WRITING, invoke, locked

from harness.app import doctor
from harness.judging.parsing.verdict import Reply
from harness.judging.storage.response_cache import ResponseCache
from harness.options.concerns import Place, Server

CANARY = "sk-canary-51d0c"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_API_BASE", "_BASE_URL", "_PROXY", "_proxy")):
            monkeypatch.delenv(name)


def judges_file(folder, **judges):
    path = folder / "judges.yaml"
    path.write_text(json.dumps({"judges": judges}), encoding="utf-8")
    return path


def findings_of(findings, area, subject=""):
    return [f for f in findings if f.area == area and subject in f.subject]


def test_key_is_present_or_not_and_never_shown(monkeypatch):
    """A missing key is a note that names its variable; a present one is only said to be there."""
    [missing] = findings_of(doctor.examine(), "judge", "claude")
    assert (missing.state, "ANTHROPIC_API_KEY is not set" in missing.message) == ("note", True)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    findings = doctor.examine()
    [there] = findings_of(findings, "judge", "claude")
    assert (there.state, there.advice) == ("ok", "")
    assert "ANTHROPIC_API_KEY is set" in there.message
    assert not any(CANARY[:8] in str(finding) for finding in findings)


def test_an_unusable_judge_that_the_user_named_exits_1():
    """The same missing key is exit 0 among all aliases and exit 1 for a judge that was named."""
    every = invoke("doctor", "--json")
    assert every.exit_code == 0, every.output
    assert {f["state"] for f in json.loads(every.stdout)} <= {"ok", "note"}
    named = invoke("doctor", "--judges", "gpt")
    assert named.exit_code == 1
    [line] = [line for line in named.stdout.splitlines() if "judge gpt" in line]
    assert line.startswith("NO")
    assert "OPENAI_API_KEY" in named.stdout
    unknown = invoke("doctor", "--judges", "gtp")
    assert "gtp" in str(unknown.exception)
    assert unknown.exception.exit_code == 2


def test_effective_address_is_said_and_who_decided_it(tmp_path):
    """A judge's own base_url, else the provider's."""
    file = judges_file(
        tmp_path, near={"model": "m", "base_url": "http://127.0.0.1:9/v1"}, far={"model": "gpt-4o"}
    )
    findings = doctor.examine(judges=["near", "far"], server=Server(judges_file=file))
    assert (
        "http://127.0.0.1:9/v1 (its own base_url)"
        in findings_of(findings, "judge", "near")[0].message
    )
    assert (
        "https://api.openai.com/v1 (the provider's)"
        in findings_of(findings, "judge", "far")[0].message
    )


def test_variable_that_would_redirect_a_judge_is_named_without_its_value(tmp_path, monkeypatch):
    """With OPENAI_BASE_URL a judge is refused, unless it has an address of its own."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://user:{CANARY}@elsewhere:1/v1")
    file = judges_file(
        tmp_path,
        gpt={"model": "openai/gpt-4o"},
        own={"model": "openai/x", "kind": "litellm", "base_url": "http://127.0.0.1:9/v1"},
    )
    findings = doctor.examine(judges=["gpt", "own"], server=Server(judges_file=file))
    [refused] = [f for f in findings_of(findings, "judge", "gpt") if "OPENAI_BASE_URL" in f.message]
    assert (refused.state, "names a different server" in refused.message) == ("unusable", True)
    assert not [f for f in findings_of(findings, "judge", "own") if "OPENAI_BASE_URL" in f.message]
    assert CANARY not in str(findings)


def test_nobody_is_contacted_unasked(tmp_path, stub):
    """Without --contact no request leaves; with it, one GET /models to the judge's own address."""
    stub.reset()
    file = judges_file(
        tmp_path, near={"model": "stub", "base_url": stub.url()}, far={"model": "gpt-4o"}
    )
    doctor.examine(judges=["near", "far"], server=Server(judges_file=file))
    assert stub.stats()["requests"] == 0
    findings = doctor.examine(judges=["near", "far"], contact=True, server=Server(judges_file=file))
    assert [seen["path"] for seen in stub.requests()] == ["/v1/models"]
    assert any("answers" in f.message for f in findings_of(findings, "judge", "near"))
    assert len(findings_of(findings, "judge", "far")) == 1


def test_dead_server_is_unusable_when_named(tmp_path, monkeypatch):
    """A refused connection says what to do and holds no key."""
    monkeypatch.setenv("MY_KEY", CANARY)
    file = judges_file(
        tmp_path, dead={"model": "m", "base_url": "http://127.0.0.1:9/v1", "key_env": "MY_KEY"}
    )
    findings = doctor.examine(judges=["dead"], contact=True, server=Server(judges_file=file))
    assert [f.state for f in findings_of(findings, "judge", "dead")] == ["ok", "unusable"]
    assert CANARY not in str(findings)


@pytest.mark.parametrize(
    ("fault", "state", "word"),
    [
        ("", "ok", "answers"),
        ("html", "ok", "answers"),
        ("401", "unusable", "HTTP 401"),
        ("403", "unusable", "HTTP 403"),
        ("404", "ok", "(HTTP 404)"),
        ("reset", "unusable", "no response"),
    ],
)
def test_answer_of_a_server_is_read_for_what_it_means(tmp_path, stub, fault, state, word):
    """What a refused key or a plain 404 means for the judge."""
    file = judges_file(tmp_path, near={"model": "m", "base_url": stub.url(fault=fault)})
    findings = doctor.examine(judges=["near"], contact=True, server=Server(judges_file=file))
    contacted = findings_of(findings, "judge", "near")[1]
    assert (contacted.state, word in contacted.message) == (state, True), contacted


def test_redirect_of_the_list_of_models_takes_the_key_nowhere(
    tmp_path, stub, elsewhere, monkeypatch
):
    """The key reaches the judge's own address and no other."""
    monkeypatch.setenv("MY_KEY", CANARY)
    address = stub.url(fault=f"307;to={elsewhere.origin}/v1/models")
    file = judges_file(tmp_path, near={"model": "m", "base_url": address, "key_env": "MY_KEY"})
    findings = doctor.examine(judges=["near"], contact=True, server=Server(judges_file=file))
    assert elsewhere.stats()["requests"] == 0
    contacted = findings_of(findings, "judge", "near")[1]
    assert (contacted.state, "final address" in contacted.advice) == ("unusable", True)


def test_broken_judges_file_is_exit_2_as_in_a_run(tmp_path):
    """One line with file and field."""
    path = tmp_path / "judges.yaml"
    path.write_text("judges:\n  mine: {model: m, colour: x}\n", encoding="utf-8")
    result = invoke("doctor", "--judges-file", str(path))
    assert result.exception.exit_code == 2
    assert str(path) in str(result.exception)
    assert "colour" in str(result.exception)


def filled_cache(folder):
    store = ResponseCache(folder)
    store.add_many(Reply(request=f"{i:064x}", text="A") for i in range(300))
    store.close()
    return folder


def test_sound_cache_is_counted(tmp_path):
    """Number of replies and size of a cache in order; an absent one is in order too."""
    [absent] = findings_of(doctor.examine(place=Place(cache=tmp_path / "none")), "cache")
    assert (absent.state, (tmp_path / "none").exists()) == ("ok", False)
    [sound] = findings_of(
        doctor.examine(place=Place(cache=filled_cache(tmp_path / "cache"))), "cache"
    )
    assert sound.state == "ok"
    assert "300 replies" in sound.message


@pytest.mark.parametrize("damage", ["rubbish", "page", "truncated"])
def test_a_damaged_cache_is_reported_and_not_touched(tmp_path, damage):
    """A damaged database is reported with what will happen to it, and not touched."""
    file = filled_cache(tmp_path / "cache") / "cache.db"
    for log in file.parent.glob("cache.db-*"):
        log.unlink()
    data = file.read_bytes()
    if damage == "rubbish":
        data = b"no database at all" * 100
    elif damage == "page":
        data = data[:8192] + b"\xff" * 8192 + data[16384:]
    else:
        data = data[: len(data) // 2]
    file.write_bytes(data)
    [finding] = findings_of(doctor.examine(place=Place(cache=tmp_path / "cache")), "cache")
    assert (finding.state, "damaged" in finding.message) == ("unusable", True)
    assert "moves the damaged cache aside" in finding.advice
    assert file.read_bytes() == data


def test_planted_pickle_row_is_not_read(tmp_path):
    """A row that is no JSON array of replies holds none."""
    folder = filled_cache(tmp_path / "cache")
    with sqlite3.connect(folder / "cache.db") as connection:
        connection.execute("UPDATE Cache SET value = x'8004' WHERE key = ?", (f"{7:064x}",))
    connection.close()
    [finding] = findings_of(doctor.examine(place=Place(cache=folder)), "cache")
    assert (finding.state, finding.message) == ("ok", "no damage, 299 replies")


@pytest.mark.parametrize("how", [AGAINST_WRITING, AGAINST_READING])
def test_locked_cache_is_not_called_damaged(tmp_path, monkeypatch, how):
    """A cache that another program holds is unusable until that program ends."""
    monkeypatch.setattr(doctor, "LOCK_TIMEOUT_S", 0.05)
    folder = filled_cache(tmp_path / "cache")
    with locked(folder / "cache.db", how):
        [finding] = findings_of(doctor.examine(place=Place(cache=folder)), "cache")
    assert (finding.state, "database is locked" in finding.message) == ("unusable", True)
    assert "Choose a different one" in finding.advice
    [sound] = findings_of(doctor.examine(place=Place(cache=folder)), "cache")
    assert sound.state == "ok"


@pytest.mark.parametrize(
    ("table", "state", "words"),
    [
        (None, "ok", "0 replies"),
        ("Other(x)", "unusable", "the database belongs to a different program"),
        ("Cache(x)", "unusable", "the database belongs to a different program"),
    ],
)
def test_cache_without_its_table_is_not_called_unreadable(tmp_path, table, state, words):
    """A database that a run has not filled yet is in order; one of another program is named so."""
    with sqlite3.connect(tmp_path / "cache.db") as connection:
        if table:
            connection.execute(f"CREATE TABLE {table}")
        else:
            connection.execute("PRAGMA user_version = 1")  # so that it is written at all
    connection.close()
    [finding] = findings_of(doctor.examine(place=Place(cache=tmp_path)), "cache")
    assert (finding.state, words in finding.message) == (state, True)
