"""The way of verdicts into the log: together, each once, and counted only afterwards."""

from __future__ import annotations

import asyncio
import resource

import pytest

from harness.errors import RunError
from harness.judging.parsing.verdict import Reply, Verdict
from harness.judging.running.recorder import Recorder
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import VerdictLog, read_log

ITEMS = ("a", "b", "c")


def key(item):
    return f"{ord(item):064x}"


def verdict(item):
    return Verdict(
        item=item,
        judge="j",
        elicitation="forced_choice",
        outcome="answered",
        failed_request=key(item),
    )


class Desk:
    """A recorder over a real log and a real store; says what was written and counted."""

    def __init__(self, folder):
        self.log = VerdictLog.open(folder / "verdicts.jsonl")
        self.store = ResponseCache(folder / "cache")
        self.recorder = Recorder(self.log, self.store, self, lambda: self.stops.append("stopped"))
        self.counted, self.stops, self.writes = [], [], 0

    def append(self, verdicts):
        self.writes += 1
        VerdictLog.append(self.log, verdicts)

    def advanced(self, judge, verdicts):
        assert judge == "j"
        assert {verdict.item for verdict in verdicts} <= set(self.written)
        self.counted += [verdict.item for verdict in verdicts]

    @property
    def written(self):
        lines = self.log.path.read_bytes().splitlines()[1:]
        return [item for line in lines for item in ITEMS if key(item).encode() in line]

    async def receive(self, item):
        reply = Reply(request=key(item), text="A")
        await self.recorder.record_soon([verdict(item)], [reply])
        return item in self.written

    async def receive_all(self):
        return await asyncio.gather(*map(self.receive, ITEMS), return_exceptions=True)


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path)
    yield desk
    desk.store.close()
    desk.log.close()


def test_simultaneous_replies_are_written_together(desk, monkeypatch):
    """Each worker goes on only when its own line is in the log; all are, once and in order."""
    monkeypatch.setattr(desk.log, "append", desk.append)
    assert asyncio.run(desk.receive_all()) == [True] * len(ITEMS)
    assert desk.writes == 1
    assert desk.written == desk.counted == list(ITEMS)


def test_a_worker_that_is_cancelled_while_others_come_back_drops_no_verdict(desk):
    """What was received stands in the log and counts, whichever of them the second Ctrl-C meets."""

    async def cancelled():
        workers = [asyncio.ensure_future(desk.receive(item)) for item in ITEMS]
        await asyncio.sleep(0)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await desk.recorder.close()

    asyncio.run(cancelled())
    assert desk.written == desk.counted == list(ITEMS)
    assert len(desk.store.get([(key(item), key(item)) for item in ITEMS])) == len(ITEMS)


def test_a_full_disk_stops_all_who_came_back_together_and_nothing_is_written_twice(desk):
    """The line that fits is kept, none is counted, and later records do not bring them back."""
    room = len(desk.log.path.read_bytes()) + 300
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        ends = asyncio.run(desk.receive_all())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [type(end) for end in ends] == [RunError] * 3
    assert desk.stops == ["stopped"]
    assert desk.counted == []
    kept = desk.written
    assert 0 < len(kept) < len(ITEMS)
    asyncio.run(desk.recorder.close())
    assert desk.written == kept
    assert [unit.item for unit in read_log(desk.log.path).final] == kept
    assert len(desk.store.get([(key(item), key(item)) for item in ITEMS])) == len(ITEMS), (
        "all were paid"
    )
