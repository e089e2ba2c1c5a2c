"""Runs of judges on a task's items, with a log but no statistics."""

from __future__ import annotations

import uvloop

from harness.judging.judges.config import new_judge
from harness.judging.judges.judge_registry import build
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import CostBudget
from harness.judging.running.recorder import NoObserver
from harness.judging.running.retry import RetryPolicy
from harness.judging.running.session import Session
from harness.judging.running.session_state import SessionLimits, SessionState
from harness.judging.running.units import Job
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.verdict_log import VerdictLog, read_log

QUICK_RETRIES = RetryPolicy(attempts=4, backoff_s=0.001, backoff_max_s=0.002)


def scripted(replies, *, name="scripted", samples=1):
    """Specify a judge that replays a script."""
    return new_judge(name=name, kind="scripted", model="script", samples=samples, replies=replies)


class RecordingObserver(NoObserver):
    """Keeps the messages of a run in ``lines``, and nothing else."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)

    def show(self, text):
        self.lines.append(text)


def n_lines(log):
    """How many verdicts a log holds, those that later ones replace among them."""
    return len(log.read_bytes().splitlines()) - 1


def run_judge(
    spec,
    task,
    log,
    *,
    elicitations,
    samples,
    store=None,
    budget=None,
    observer=None,
    wrap=lambda judge: judge,
    keep_going=True,
):
    """Ask a judge about all items; return the log, why the judge stopped, and the session."""
    judge = wrap(build(spec, task, Prompts.load(task)))
    with VerdictLog.open(log) as open_log:
        session = Session(
            [Job(judge, task.items, elicitations, samples)],
            SessionState(
                task,
                log=open_log,
                store=NoStore() if store is None else store,
                done=read_log(log).final,
                observer=RecordingObserver() if observer is None else observer,
                limits=SessionLimits(
                    CostBudget(None) if budget is None else budget,
                    retry=QUICK_RETRIES,
                    keep_going=keep_going,
                    shows_text=True,
                ),
            ),
        )
        ends = uvloop.run(session.run())
    return read_log(log), ends[spec.name], session
