"""The verdict log: what was written can be read, and nothing is read that was not written."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.judge_runs import n_lines
from support.verdicts import verdict_from

from harness.errors import RunError, VerdictError
from harness.files.checksummed_log import encode, with_checksum, without_checksum
from harness.judging.parsing.verdict import HEADER, Reply, Verdict
from harness.judging.running.budget import logged_cost_usd
from harness.judging.storage.verdict_log import VerdictLog, read_log, unit_key


def verdict(item: str, outcome: str = "answered", **fields) -> Verdict:
    value = "A" if outcome == "answered" else None
    reply = None if outcome == "failed" else "A"
    options = {"request": f"hash-{item}", "reply": reply, "value": value} | fields
    return verdict_from(
        item=item, judge="j", elicitation="forced_choice", outcome=outcome, **options
    )


def written(path, *verdicts) -> None:
    with VerdictLog.open(path) as log:
        log.append(verdicts)


def test_log_begins_with_its_version_and_grows(tmp_path):
    """Opening twice adds one header and keeps every line."""
    path = tmp_path / "verdicts.jsonl"
    written(path, verdict("a"))
    written(path, verdict("b"))
    assert path.read_bytes().startswith(HEADER)
    assert path.read_bytes().count(HEADER) == 1
    assert [key.item for key in read_log(path).final] == ["a", "b"]


def test_newest_success_wins(tmp_path):
    """A success replaces failures; a later failure does not replace a success."""
    path = tmp_path / "verdicts.jsonl"
    written(path, verdict("a", "failed", reason="timeout"), verdict("a"), verdict("a", "failed"))
    [final] = read_log(path).final.values()
    assert final.outcome == "answered"
    assert n_lines(path) == 3


def test_torn_last_line_is_cut_at_every_byte(tmp_path):
    """Wherever a write was torn, earlier lines are read, and the next line starts on its own."""
    whole = tmp_path / "whole.jsonl"
    written(whole, verdict("a"), verdict("b"))
    data = whole.read_bytes()
    second = data.rindex(b"\n", 0, -1) + 1
    for cut in range(second, len(data)):
        path = tmp_path / "torn.jsonl"
        path.write_bytes(data[:cut])
        written(path, verdict("c"))
        reading = read_log(path)
        assert [key.item for key in reading.final] == ["a", "c"]
        assert reading.damaged == []


def test_torn_header_is_written_again(tmp_path):
    """A crash within the very first write leaves a log that can be used."""
    for cut in range(len(HEADER)):
        path = tmp_path / f"{cut}.jsonl"
        path.write_bytes(HEADER[:cut])
        written(path, verdict("a"))
        assert len(read_log(path).final) == 1


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_flipped_byte_is_set_aside_and_counted(tmp_path, data):
    """A changed byte in a line never becomes another verdict, and never hides one that is whole."""
    path = tmp_path / "flip.jsonl"
    path.unlink(missing_ok=True)
    written(path, verdict("a"), verdict("b"), verdict("c"))
    raw = bytearray(path.read_bytes())
    lines = bytes(raw).split(b"\n")
    start = len(lines[0]) + 1 + len(lines[1]) + 1
    position = start + data.draw(st.integers(0, len(lines[2]) - 1))
    raw[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(raw))
    reading = read_log(path)
    assert {"a", "c"} <= {key.item for key in reading.final}
    assert "b" not in {key.item for key in reading.final}
    assert reading.damaged


def test_second_writer_is_refused(tmp_path):
    """One run folder has one writer, also across processes."""
    path = tmp_path / "verdicts.jsonl"
    code = (
        "import sys; from pathlib import Path\n"
        "from harness.judging.storage.verdict_log import VerdictLog\n"
        "from harness.errors import RunError\n"
        "try:\n    VerdictLog.open(Path(sys.argv[1]))\n"
        "except RunError as error:\n    print(error)\n"
    )
    with VerdictLog.open(path):
        with pytest.raises(RunError, match="another process"):
            VerdictLog.open(path)
        other = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
        )
    assert "another process is writing to this run" in other.stdout
    VerdictLog.open(path).close()


def test_full_disk_keeps_what_stood_before(tmp_path, monkeypatch):
    """A write that fails half way leaves the log as it was, and says what to do."""
    path = tmp_path / "verdicts.jsonl"
    log = VerdictLog.open(path)
    log.append([verdict("a")])
    before = path.read_bytes()
    real = __import__("os").write

    def half(descriptor, data):
        if len(data) > 40:
            return real(descriptor, data[:40])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("harness.files.checksummed_log.os.write", half)
    with pytest.raises(RunError, match="Free some space"):
        log.append([verdict("b", reason="x" * 60)])
    monkeypatch.undo()
    assert path.read_bytes()[: len(before)] == before
    log.close()
    written(path, verdict("c"))
    assert [key.item for key in read_log(path).final] == ["a", "c"]


def test_disk_that_can_be_neither_written_nor_cut_is_one_line(tmp_path, monkeypatch):
    """The torn line stays until the log is opened again; nothing else is lost."""
    path = tmp_path / "verdicts.jsonl"
    log = VerdictLog.open(path)
    log.append([verdict("a")])

    def dead(*_):
        raise OSError(5, "Input/output error")

    def half(descriptor, data):
        monkeypatch.setattr("harness.files.checksummed_log.os.write", dead)
        return os.pwrite(descriptor, data[:40], 0)  # at the end all the same: O_APPEND

    monkeypatch.setattr("harness.files.checksummed_log.os.write", half)
    monkeypatch.setattr("harness.files.checksummed_log.os.ftruncate", dead)
    with pytest.raises(RunError, match="Input/output error"):
        log.append([verdict("b")])
    monkeypatch.undo()
    log.close()
    written(path, verdict("c"))
    reading = read_log(path)
    assert [key.item for key in reading.final] == ["a", "c"]
    assert reading.damaged == []


def test_newer_log_is_refused(tmp_path):
    """A log of a later format is an error, not an empty run."""
    path = tmp_path / "verdicts.jsonl"
    path.write_bytes(b'{"schema_version": 99}\n')
    with pytest.raises(VerdictError, match="99"):
        read_log(path)


def test_shared_first_turn_of_a_pair_is_not_paid_for_twice(tmp_path):
    """On resume, the set's reply that opens the pair counts once; bought anew, it counts again; out
    of the cache, not at all; whichever of the two was written first."""
    path = tmp_path / "verdicts.jsonl"
    took = {"item": "a", "judge": "j", "outcome": "invalid", "reply": "A, B"}
    for latency_s, from_store, usd in ((0.5, False, 0.75), (0.25, False, 1.25), (0.5, True, 0.25)):
        first = Reply(request="1", text="A, B", cost_usd=0.5, latency_s=0.5)
        own = {"request": "1", "cost_usd": 0.5, "latency_s": latency_s, "from_store": from_store}
        verdicts = [
            verdict_from(elicitation="response_set", **took, **own),
            verdict_from(elicitation="paired", **took, request="2", first=first, cost_usd=0.25),
        ]
        for order in (verdicts, verdicts[::-1]):
            path.unlink(missing_ok=True)
            written(path, *order)
            assert logged_cost_usd(read_log(path)) == usd


def test_replies_come_back_from_a_line():
    """The cache can be filled from the log: every reply that a line holds, under its own hash."""
    first = Reply(request="1", text="A, B", cost_usd=0.5)
    paired = verdict_from(
        item="a",
        judge="j",
        elicitation="paired",
        outcome="invalid",
        request="2",
        reply="B",
        first=first,
        cost_usd=0.25,
    )
    assert list(paired.replies) == [first, Reply(request="2", text="B", cost_usd=0.25)]
    assert verdict("a", "failed").replies == ()
    assert unit_key(paired).elicitation == "paired"


@pytest.mark.parametrize("forged", ["1e308", "-1", "-0.001", "NaN", "Infinity", "-Infinity"])
def test_forged_cost_in_a_line_counted_as_money(tmp_path, forged):
    """A cost that no reply can have makes the line unreadable, also in the first turn of a pair: it
    once stopped a run at its limit, or raised the limit."""
    facts = {"item": "a", "judge": "j", "outcome": "invalid", "request": "2", "reply": "B"}
    first = Reply(request="1", text="A", cost_usd=0.125)
    honest = [
        verdict_from(elicitation="forced_choice", **facts, cost_usd=0.125),
        verdict_from(elicitation="paired", **facts, first=first),
    ]
    path = tmp_path / "verdicts.jsonl"
    lines = [without_checksum(encode(verdict)) for verdict in honest]
    forgeries = [line.replace(b"0.125", forged.encode()) for line in lines]
    path.write_bytes(HEADER + b"".join(map(with_checksum, forgeries)))
    log = read_log(path)
    assert (len(log.final), len(log.damaged)) == (0, 2)
    assert logged_cost_usd(log) == 0
