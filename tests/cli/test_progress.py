"""Progress of a run: what counts as a call, and how fast calls are answered."""

from __future__ import annotations

from harness.cli import progress
from harness.cli.progress import CallRate, Lines
from harness.judging.parsing.verdict import Verdict
from harness.judging.storage.reply_store import SharedProgress


def verdict(item: str, *, from_store: bool = False) -> Verdict:
    return Verdict(
        item=item, judge="j", elicitation="forced_choice", outcome="answered", from_store=from_store
    )


def test_rate_is_that_of_calls_and_not_of_cached_replies(monkeypatch):
    """A resumed run showed thousands of replies per second, and a time left of none."""
    now = iter([0.0, 1.0, 1.0, 2.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now, 2.0))
    lines = Lines({"j": 1000})
    tally = lines._tallies["j"]
    tally.add([verdict(f"logged{n}") for n in range(500)], resumed=True)
    tally.add([verdict("a")])
    tally.add([verdict(f"cached{n}", from_store=True) for n in range(100)])
    tally.add([verdict("b"), verdict("c")])
    assert (tally.n_done, tally.n_from_store) == (603, 100)
    assert tally.rate.per_second() == 2
    assert tally.speed == "2.0/s, 0:03:18 left"


def test_progress_of_all_processes_is_said_now_and_then(monkeypatch, capsys):
    """Those that ask for the same run on one store; not more often than every ten seconds."""
    now_s = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s[0])
    lines = Lines({"j": 10})
    for second in range(25):
        now_s[0] = float(second)
        lines.progressed(SharedProgress(8, 100 + second))
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        f"all processes: 8 processes running, {n} replies in the store" for n in (110, 120)
    ]


def test_rate_forgets_what_was_long_ago():
    """A burst at the start does not promise an early end."""
    rate = CallRate()
    assert rate.per_second() is None
    rate.add(1000, 0.0)
    assert rate.per_second() is None
    for second in range(1, 61):
        rate.add(2, float(second))
    assert rate.per_second() == 2
