"""Runs judges on a task's items, with a log but no statistics after it."""

from __future__ import annotations

import uvloop

from harness.judging.judges.registry import build
from harness.judging.prompts.requests import Prompts
from harness.judging.running.budget import Budget
from harness.judging.running.jobs import Job, Settings
from harness.judging.running.services import NoCache
from harness.judging.running.worker_pool import Runner
from harness.judging.storage.verdict_log import VerdictLog, read_log

SOON = Settings(attempts=4, backoff_s=0.001, backoff_max_s=0.002)


class Hearing:
    """Keeps what is said, and nothing else."""

    def __init__(self):
        self.lines = []

    def advanced(self, judge, verdicts):
        pass

    def ended(self, judge, reason):
        pass

    def say(self, line):
        self.lines.append(line)


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
    runner=Runner,
    **more,
):
    """Ask a judge all of a task; give the log as read, why the judge stopped, and the runner."""
    judge = build(spec, task, Prompts.load(task))
    with VerdictLog.open(log) as open_log:
        running = runner(
            task,
            [Job(judge, task.items, elicitations, samples)],
            log=open_log,
            store=NoCache() if store is None else store,
            done=read_log(log).final,
            observer=Hearing() if observer is None else observer,
            budget=Budget(None) if budget is None else budget,
            settings=SOON,
            **more,
        )
        ends = uvloop.run(running.run())
    return read_log(log), ends[spec.name], running
