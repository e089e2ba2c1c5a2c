"""Batch interfaces of providers, imported only if a run uses them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from harness.extras.batch.batch_apis import batch_api_of
from harness.extras.batch.batch_ledger import BatchLedger
from harness.extras.batch.batched_judge import BatchedJudge, Batching
from harness.judging.judges.endpoint import HttpJudge
from harness.judging.storage.response_cache import ResponseCache
from harness.runs.run_folder import server_of

if TYPE_CHECKING:
    from harness.app.plan import BatchEdge, Plan
    from harness.extras import batch
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.running.recorder import Observer
    from harness.judging.running.units import Job
    from harness.judging.storage.reply_store import Store
    from harness.runs.run_folder import RunFolder

    OFFERED: BatchEdge = batch


def takes_batches(spec: JudgeSpec) -> bool:
    """Return whether a judge's provider accepts its requests in batches."""
    return batch_api_of(spec) is not None


def reserved_usd(folder: RunFolder) -> float:
    """Return the maximum cost of the run's batches that were submitted but not collected."""
    return sum(batch.reserved_usd for batch in BatchLedger(folder.batches).batches)


def batched_jobs(plan: Plan, folder: RunFolder, store: Store, observer: Observer) -> list[Job]:
    """Return a plan's jobs, which use batches if the judge's provider accepts them.

    If the plan is closed, the jobs only collect submitted batches, and judges without batches have
    no job.

    Raises
    ------
    RunError
        If the list of the run's batches cannot be read.
    """
    hold = None
    if isinstance(store, ResponseCache):
        hold = partial(
            store.held.hold, folder.path, server=tuple(server_of(folder.manifest).words())
        )
    batching = Batching(
        BatchLedger(folder.batches, hold),
        observer.say,
        is_limited=plan.config.max_cost is not None,
        is_closed=plan.is_closed,
    )
    jobs = []
    for job in plan.jobs:
        judge, spec = job.judge, job.judge.spec
        if takes_batches(spec) and isinstance(judge, HttpJudge):
            jobs.append(replace(job, judge=BatchedJudge(judge, batching)))
            continue
        if plan.is_closed:
            continue
        if spec.remote:
            observer.say(
                f"{spec.name} has no batch interface, so the harness sends one request at a time"
            )
        jobs.append(job)
    return jobs
