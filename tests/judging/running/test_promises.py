"""The six promises of the runner, held by a machine that starts, kills, cuts and resumes runs.

Every run is a process of its own (a fork), and a kill is SIGKILL. What was sent is written to a
file by the judge as it is asked.

1. A verdict once written survives.
2. After a finished run every unit has exactly one final record.
3. A received reply is never paid for again.
4. A crash repeats at most the calls in flight; each turn of a conversation is a call.
5. planned = answered + abstained + refused + invalid + failed + not_asked.
6. One judge's trouble never changes another's results.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from support.judge_runs import scripted
from support.task_folders import make_task_folder

from harness.analysis.ratings import count_outcomes
from harness.errors import CallFailed, VerdictError
from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build
from harness.judging.parsing.verdict import Reply, decode
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget
from harness.judging.running.retry import RetryPolicy
from harness.judging.running.session import Session
from harness.judging.running.session_state import SessionLimits, SessionState
from harness.judging.running.units import Job
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import VerdictLog, read_log
from harness.tasks import load_task

N_ITEMS, SAMPLES, CONCURRENCY = 3, 2, 3
ELICITATIONS = (
    ("forced_choice", "response_set"),
    ("forced_choice", "paired"),
    ("response_set", "paired"),  # whose first turns are the response sets' replies
)
PLANNED = N_ITEMS * SAMPLES * 2
FAST = RetryPolicy(attempts=2, backoff_s=0.0001, backoff_max_s=0.0002)
FATES = ("answer", "answer", "answer", "busy", "wrong")
OBSERVER = SimpleNamespace(
    advanced=lambda judge, verdicts: None,
    resumed=lambda judge, verdicts: None,
    ended=lambda judge, why: None,
    say=lambda line: None,
)


class Judge:
    """Writes down what it is asked, then meets its fate; may take the whole process with it."""

    def __init__(self, name, task, place, fates, *, last_call=None, drain_at=None):
        self.spec = new_judge(
            name=name, model=name, base_url="http://127.0.0.1:9", concurrency=CONCURRENCY, reask=1
        )
        self.inner = build(scripted({"*": name}), task, Prompts.load(task))
        self.place = place
        self.fates = fates
        self.last_call = last_call
        self.drain_at = drain_at
        self.runner = None
        self.n = 0

    def request(self, unit):
        return self.inner.request(unit)

    def follow_up(self, request, reply):
        return self.inner.follow_up(request, reply)

    def ask_again(self, request, reply, unit, kind):
        return self.inner.ask_again(request, reply, unit, kind)

    async def ask_many(self, requests):
        return [await self.ask(requests[0])]

    async def ask(self, request):
        self.n += 1
        with (self.place / "sent").open("a") as sent:
            sent.write(f"{request.hash}\n")
        n, fate = self.n, self.fates[self.n % len(self.fates)] if self.fates else "answer"
        await asyncio.sleep(0)
        if n == self.last_call:
            os.kill(os.getpid(), signal.SIGKILL)
        if n == self.drain_at:
            self.runner.state.drain()
        if fate == "busy":
            raise CallFailed("rate_limited", retry=True)
        if fate == "wrong":
            raise CallFailed("bad_request")
        with (self.place / "replied").open("a") as replied:
            replied.write(f"{request.hash}\n")
        is_reasked = request.messages[-1].content.startswith("That reply can't be read")
        mumbles = not is_reasked and int(request.hash, 16) % 3 == 0
        return Reply(request=request.hash, text="Hm." if mumbles else "A", cost_usd=0.01)

    n_connections = CONCURRENCY
    tried_first = True

    def recorded(self, replies):
        pass

    def leave(self):
        pass

    async def prepare(self):
        pass

    async def aclose(self):
        pass


def run(place, log_path, task, judges, elicitations):
    """Ask what is open, in this process."""
    store = ResponseCache(place / "cache")
    with VerdictLog.open(log_path) as log:
        done = read_log(log_path).final
        runner = Session(
            [Job(judge, task.items, elicitations, SAMPLES) for judge in judges],
            SessionState(
                task,
                log=log,
                store=store,
                done=done,
                observer=OBSERVER,
                limits=SessionLimits(CostBudget(None), retry=FAST),
            ),
        )
        for judge in judges:
            judge.runner = runner
        asyncio.run(runner.run())
    store.close()


def in_a_process(function):
    """Run a function in a fork; say whether it came to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child uses no other thread
        child = os.fork()
    if not child:
        try:
            function()
        except BaseException:  # noqa: BLE001 -- a fork must never return into the test
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the run raised"
    return not os.WIFSIGNALED(status)


def whole_lines(path):
    return path.read_bytes().split(b"\n")[1:-1] if path.exists() else []


class Promises(RuleBasedStateMachine):
    """Runs of two judges over one task, in one place."""

    @initialize(elicitations=st.sampled_from(ELICITATIONS))
    def begin(self, elicitations):
        self.elicitations = elicitations
        self.folder = tempfile.TemporaryDirectory()
        self.place = Path(self.folder.name)
        self.task = load_task(str(make_task_folder(self.place / "task", N_ITEMS)))
        self.log = self.place / "first.jsonl"
        self.written = []  # lines that must stand
        self.excused = 0  # requests that may have been sent once more
        self.finished = False

    def go(self, fates=(), **how):
        judges = [
            Judge("A", self.task, self.place, fates, **how),
            Judge("B", self.task, self.place, ()),
        ]
        before = len(self.replied())
        ended = in_a_process(
            lambda: run(self.place, self.log, self.task, judges, self.elicitations)
        )
        lines = whole_lines(self.log)
        assert lines[: len(self.written)] == self.written  # promise 1
        self.written = lines
        if not ended:
            logged = {r.request for v in read_log(self.log).final.values() for r in v.replies}
            lost = [request for request in self.replied()[before:] if request not in logged]
            assert len(lost) <= len(judges) * CONCURRENCY  # promise 4
            self.excused += len(lost)

    @rule(fates=st.lists(st.sampled_from(FATES), max_size=7))
    def run_to_the_end(self, fates):
        """Start or resume; some calls are refused for a while, some for good."""
        self.go(fates)
        self.holds_for_judge("B")

    @rule(last_call=st.integers(1, PLANNED), fates=st.lists(st.sampled_from(FATES), max_size=7))
    def kill(self, last_call, fates):
        """The process dies in the middle of a call."""
        self.go(fates, last_call=last_call)

    @rule(drain_at=st.integers(1, PLANNED))
    def drain(self, drain_at):
        """Ctrl-C: what is in flight is received."""
        self.go(drain_at=drain_at)

    @rule()
    def finish(self):
        """Without any trouble a run ends, and every unit has its one record."""
        self.go()
        for name in "AB":
            self.holds_for_judge(name)

    @rule(n=st.integers(1, 3))
    def second_run(self, n):
        """Another run folder, the same cache."""
        self.log = self.place / f"run{n}.jsonl"
        self.written = whole_lines(self.log)
        self.finish()

    @rule(n=st.integers(1, 30))
    def truncate(self, n):
        """The last line was torn."""
        if self.written:
            os.truncate(self.log, self.log.stat().st_size - min(n, len(self.written[-1])))
            self.written.pop()
            self.excused += 1

    @rule(where=st.floats(0, 0.999), bit=st.integers(0, 6))
    def flip(self, where, bit):
        """A byte of some line was damaged."""
        if self.written:
            raw = bytearray(self.log.read_bytes())
            start = raw.index(b"\n") + 1
            place = start + int(where * (len(raw) - start - 1))
            if raw[place] != 10 and raw[place] ^ (1 << bit) != 10:
                raw[place] ^= 1 << bit
                self.log.write_bytes(bytes(raw))
                self.written = whole_lines(self.log)
                self.excused += 1

    def holds_for_judge(self, name):
        """Promises 2, 5 and 6, for a judge without trouble in a run that has ended."""
        final = [v for key, v in read_log(self.log).final.items() if key.judge == name]
        assert len(final) == PLANNED
        assert Counter(v.outcome for v in final) == {"answered": PLANNED}

    @invariant()
    def counts_add_up(self):
        """Promise 5, at any time."""
        if hasattr(self, "log") and self.log.exists():
            per_elicitation = dict.fromkeys(self.elicitations, N_ITEMS * SAMPLES)
            for name in "AB":
                final = [v for key, v in read_log(self.log).final.items() if key.judge == name]
                for row in count_outcomes(final, per_elicitation):
                    parts = row.answered + row.abstained + row.refused + row.invalid + row.failed
                    assert row.not_asked >= 0
                    assert row.planned == parts + row.not_asked

    @invariant()
    def nothing_received_was_paid_for_again(self):
        """Promises 3 and 4: replies beyond one per request are excused by what crashed alone."""
        if hasattr(self, "place"):
            replied = self.replied()
            assert len(replied) - len(set(replied)) <= self.excused

    def replied(self):
        """Hashes of all requests that were ever replied to, in order."""
        path = self.place / "replied"
        return path.read_text().split() if path.exists() else []

    def teardown(self):
        if hasattr(self, "folder"):
            for line in self.written:
                try:
                    decode(line + b"\n")
                except VerdictError:
                    assert self.excused
            self.folder.cleanup()


TestPromises = Promises.TestCase
TestPromises.settings = settings(  # several runs each: a quarter of the profile's examples
    max_examples=settings.default.max_examples // 4, stateful_step_count=7, deadline=None
)
