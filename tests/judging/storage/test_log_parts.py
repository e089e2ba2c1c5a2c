"""Parts of a verdict log: read with it in any order, merged into it once nobody writes to them."""

from __future__ import annotations

import os
from itertools import permutations, product

import pytest
from support.task_folders import make_task_folder
from support.verdicts import verdict_from

from harness.checksummed_log import create_part, parts_of
from harness.errors import RunError, VerdictError
from harness.judging.parsing.external_verdicts import read_external
from harness.judging.parsing.verdict import (
    AWAITS_SECOND_TURN,
    HEADER,
    Reply,
    decode,
    encode,
)
from harness.judging.storage.verdict_log import VerdictLog, merge_parts, open_part, read_log
from harness.tasks import load_task

FIRST = Reply(request="first", text="A")


def verdict(item="a", outcome="answered", **fields):
    value = "A" if outcome == "answered" else None
    members = {"reply": value, "value": value, "request": f"hash-{item}"} | fields
    return verdict_from(
        item=item, judge="j", elicitation="forced_choice", outcome=outcome, **members
    )


@pytest.fixture
def path(tmp_path):
    """Path of a log that holds nothing yet."""
    VerdictLog.open(tmp_path / "verdicts.jsonl").close()
    return tmp_path / "verdicts.jsonl"


def write_part(path, *verdicts):
    with open_part(path) as part:
        part.append(verdicts)
    return part.path


def merge(path):
    with VerdictLog.open(path) as log:
        merge_parts(log)


OF_ONE_UNIT = (  # the last one counts
    verdict(outcome="failed", reason="timeout"),
    verdict(outcome="failed", attempt=2, reason=AWAITS_SECOND_TURN, first=FIRST),
    verdict(outcome="failed", attempt=2, reason="timeout", first=FIRST),
    verdict(attempt=2, cached=True),
    verdict(attempt=2),
)


def test_newest_success_wins_wherever_it_stands(tmp_path):
    """The result is the same however the lines are divided among files and ordered in them."""
    for number, order in enumerate(permutations(OF_ONE_UNIT[1:])):
        log = tmp_path / f"{number}" / "verdicts.jsonl"
        log.parent.mkdir()
        with VerdictLog.open(log) as opened:
            opened.append([*order[:2], OF_ONE_UNIT[0]])
        write_part(log, order[2])
        write_part(log, order[3])
        assert list(read_log(log).final.values()) == [OF_ONE_UNIT[-1]]
        merge(log)
        assert list(read_log(log).final.values()) == [OF_ONE_UNIT[-1]]


def test_verdicts_that_were_both_paid_for_are_chosen_between_in_one_way(path):
    """A call was repeated after its worker died, and the server replied otherwise."""
    both = (verdict(value="A"), verdict(value="B"))
    chosen = set()
    for first, second in product(both, both):
        if first != second:
            parts = [write_part(path, first), write_part(path, second)]
            [final] = read_log(path).final.values()
            chosen.add(final.value)
            for part in parts:
                part.unlink()
    assert len(chosen) == 1


def test_merged_parts_are_gone_and_the_log_holds_what_counts(path):
    """Lines that the log has are not repeated; other files in the folder stay."""
    with VerdictLog.open(path) as log:
        log.append([verdict("a"), verdict("b", "failed")])
    other = path.with_name("verdicts.part-1.jsonl")
    other.write_bytes(b"mine")
    write_part(path, verdict("a", cached=True), verdict("b", attempt=2))
    write_part(path, verdict("c"))
    before = read_log(path).final
    merge(path)
    assert parts_of(path) == []
    assert other.read_bytes() == b"mine"
    assert read_log(path).final == before
    lines = path.read_bytes().splitlines(keepends=True)[1:]
    assert [decode(line).item for line in lines] == ["a", "b", "b", "c"]


def test_merging_that_was_killed_half_way_is_done_again(path):
    """The log held the lines already, and the part still lay there."""
    part = write_part(path, verdict("a"), verdict("b"))
    kept = part.read_bytes()
    merge(path)
    merged = path.read_bytes()
    part.write_bytes(kept)
    assert len(read_log(path).final) == 2
    merge(path)
    assert path.read_bytes() == merged
    assert not part.exists()


def test_part_that_is_being_written_is_read_and_stays(path):
    """Its worker may be alive though the process that started it is not."""
    with open_part(path) as part:
        part.append([verdict("a")])
        merge(path)
        part.append([verdict("b")])
        assert [key.item for key in read_log(path).final] == ["a", "b"]
    merge(path)
    assert parts_of(path) == []
    assert {key.item for key in read_log(path).final} == {"a", "b"}


def test_part_is_torn_at_every_byte(path):
    """A worker was killed while it wrote: what was written before counts, and the rest is cut."""
    whole = HEADER + encode(verdict("a"))
    for cut in range(len(whole) + 1):
        part = write_part(path)
        part.write_bytes(whole[:cut])
        merge(path)
        reading = read_log(path)
        assert [key.item for key in reading.final] == ["a"] * (cut == len(whole))
        assert reading.damaged == parts_of(path) == []


def test_part_with_a_damaged_line_stays(path):
    """Its other lines count, and the damaged one is reported as long as it lies there."""
    part = write_part(path, verdict("a"), verdict("b"))
    part.write_bytes(part.read_bytes().replace(b'"item":"a"', b'"item":"x"'))
    for _ in range(2):
        merge(path)
        reading = read_log(path)
        assert [key.item for key in reading.final] == ["b"]
        assert len(reading.damaged) == 1
        assert parts_of(path) == [part]


def test_no_two_workers_write_to_one_part(path):
    """A worker that was started again opens a new one, and follows no link."""
    path.with_name("verdicts.part-0002.jsonl").symlink_to(path.with_name("elsewhere"))
    names = [create_part(path).name for _ in range(2)]
    assert names == ["verdicts.part-0001.jsonl", "verdicts.part-0003.jsonl"]
    assert not path.with_name("elsewhere").exists()
    with open_part(path) as part, pytest.raises(RunError, match="another process"):
        VerdictLog.open(part.path)


@pytest.mark.parametrize("planted", ["link", "fifo", "folder", "other format"])
def test_planted_part_is_refused_in_one_line(path, planted):
    """Nothing is read through a link, nothing hangs, and nothing is removed."""
    part = path.with_name("verdicts.part-0001.jsonl")
    if planted == "link":
        part.symlink_to(path)
    elif planted == "fifo":
        os.mkfifo(part)
    elif planted == "folder":
        part.mkdir()
    else:
        part.write_bytes(b'{"schema_version": 2}\n')
    message = "format 2" if planted == "other format" else "not a regular file"
    with pytest.raises(VerdictError, match=f"part-0001.jsonl: .*{message}"):
        read_log(path)
    with VerdictLog.open(path) as log:
        if planted == "other format":
            with pytest.raises(VerdictError, match=message):
                merge_parts(log)
        else:
            merge_parts(log)
    assert os.path.lexists(part)


def test_log_that_is_named_is_read_with_its_parts(path, tmp_path):
    """`harness validate --verdicts` on the log of a run that was killed."""
    task = load_task(str(make_task_folder(tmp_path / "task", 3)))
    write_part(path, verdict("i0", cached=True), verdict("i1"))
    write_part(path, verdict("i0"))
    read = {v.item: v.cached for v in read_external(path, task)}
    assert read == {"i0": False, "i1": False}
    write_part(path, verdict("unknown"))
    with pytest.raises(VerdictError, match=r"part-0003.jsonl: line 2: item 'unknown'"):
        read_external(path, task)
