"""Sending the requests that a run folder's log doesn't answer yet."""

from __future__ import annotations

import json
import secrets
import signal
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from harness.analysis.completeness import completeness_of, exit_code_of, failure_reason
from harness.app.embeddings import run_cost_usd
from harness.app.plan import BatchEdge, RaceEdge
from harness.errors import ExitCode, RunError
from harness.judging.running.budget import CostBudget
from harness.judging.running.session import Session
from harness.judging.running.session_state import SessionLimits, SessionState
from harness.judging.running.stopping import StopRequests, run_until_stopped
from harness.loading import edge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from harness.analysis.completeness import Completeness
    from harness.app.plan import Plan
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.running.recorder import Observer
    from harness.judging.running.units import Job
    from harness.judging.storage.reply_store import Store
    from harness.judging.storage.verdict_log import LogReading
    from harness.options.concerns import Place
    from harness.runs.run_folder import RunConfig, RunFolder

OVER = (ExitCode.DONE, ExitCode.INCOMPLETE)  # sending the requests again would change nothing


@dataclass(frozen=True, slots=True)
class Asked:
    """Outcome of a session, with the run's cost so far and each judge's completeness."""

    exit_code: ExitCode
    budget: CostBudget
    judges: Mapping[str, Completeness] = field(default_factory=dict)


def ask_open_units(
    plan: Plan,
    folder: RunFolder,
    store: Store,
    *,
    observer: Observer,
    stop: StopRequests | None = None,
    follow: Callable[[Store, Observer, StopRequests], str] | None = None,
    shows_text: bool | None = None,
) -> Asked:
    """Send the requests that a run folder's log doesn't answer, then close the store.

    Parameters
    ----------
    plan, folder, observer, stop
        See `run_plan`.
    store : Store
        Store for replies.
    follow : callable, optional
        Starts other processes of the run, waits for them to end, and returns the reason if they
        failed. Their replies are then read from the store.
    shows_text : bool, optional
        Whether the observer may see replies; by default if the folder keeps them.

    Raises
    ------
    RunError
        If the run folder or the store can't be used.
    """
    stop = stop or StopRequests()
    with folder.open_log() as log:
        logged = folder.read_verdicts()
        _quarantine(folder, logged, observer)
        before = folder.manifest
        try:
            limits = _limits(store, plan.config, folder, logged)
            folder.update(state="running", ended={}, exit_code=None, config=plan.config)
            lost = follow(store, observer, stop) if follow else ""
        except RunError:  # nothing was sent
            store.close()
            fields = ("state", "ended", "exit_code", "config")
            folder.update(**{name: getattr(before, name) for name in fields})
            raise
        budget = limits.budget
        race = None
        if plan.config.race:
            race = edge("racing", RaceEdge).rounds(plan, logged.final, observer)
        session = Session(
            race.next_jobs({}) if race else _jobs(plan, folder, store, observer),
            SessionState(
                plan.task,
                log=log,
                store=store,
                done=logged.final,
                observer=race or observer,
                limits=limits._replace(
                    retry=plan.retry,
                    keep_going=plan.config.keep_going,
                    shows_text=plan.config.item_text if shows_text is None else shows_text,
                ),
            ),
            next_jobs=race.next_jobs if race else None,
        )
        if lost:
            observer.say(lost)
            session.stop("cluster_lost")
        ends, asking_s = _ask(session, folder, store, observer, stop)
        if budget.refused_usd:
            observer.say(f"the next request can cost up to ${budget.refused_usd:.4f}")
        note_paid(folder, budget)
    verdicts = folder.count_verdicts(plan.task.by_id).by_judge
    judges = _completeness(race.asked_jobs() if race else plan.jobs, verdicts, plan.config)
    has_ended = race is None or race.has_ended
    exit_code = _exit_code(judges, budget, stop, has_ended=has_ended)
    may_bring_more = any(j.n_missing for j in judges.values() if not j.is_complete)
    is_over = has_ended and (race is not None or not may_bring_more) and exit_code in OVER
    folder.update(
        state="asked" if is_over else "stopped",
        ended={
            name: ends.get(name) or failure_reason(verdicts.get(name, ()))
            for name, judge in judges.items()
            if not judge.is_complete or (ends.get(name) and not has_ended)
        },
        exit_code=None if exit_code == ExitCode.DONE else int(exit_code),
        asking_s=round((folder.manifest.asking_s or 0.0) + asking_s, 3),
    )
    own = _unshared(budget, plan.config, folder) if follow is None else total_budget(plan, folder)
    return Asked(exit_code, own, judges)


def _completeness(
    jobs: Iterable[Job], verdicts: Mapping[str, Sequence[Verdict]], config: RunConfig
) -> dict[str, Completeness]:
    """Return each judge's completeness relative to its planned requests."""
    least = config.choices.min_answered
    return {
        job.judge.spec.name: completeness_of(
            verdicts.get(job.judge.spec.name, ()),
            job.planned,
            {item.id for item in job.items},
            least,
        )
        for job in jobs
    }


def _jobs(plan: Plan, folder: RunFolder, store: Store, observer: Observer) -> Sequence[Job]:
    """Return a plan's jobs, which use batches if the run does.

    If several processes share the run, each starts at a different item, so that they don't all wait
    for the same replies.
    """
    jobs: Sequence[Job] = plan.jobs
    if plan.config.batch:
        jobs = edge("batch", BatchEdge).batched_jobs(plan, folder, store, observer)
    if store.shared_progress() is not None:
        jobs = [replace(job, begins_at=secrets.randbelow(len(job.items))) for job in jobs]
    return jobs


def shared_store(
    address: str,
    plan: Plan,
    run: str,
    observer: Observer,
    *,
    budget: str = "",
    is_private: bool = False,
    folder: str = "",
    is_started: bool = False,
) -> Store:
    """Open the shared store at an address for a run. See `ClusterEdge.open_store`.

    Raises
    ------
    RunError
        If the store can't be used.
    """
    if plan.config.batch:
        raise RunError("--batch cannot be used with --store. Drop one of them.")
    longest_call_s = max(spec.deadline_s for spec in plan.specs)
    return edge("cluster", ClusterEdge).open_store(
        address,
        run,
        longest_call_s,
        observer.say,
        budget=budget,
        is_private=is_private,
        folder=folder,
        is_started=is_started,
    )


class ClusterEdge(Protocol):
    """Interface to clusters: a store and a budget that all processes of a run share."""

    def describe_cluster(self, executor: str) -> str:
        """Describe a cluster. A cluster on this machine is started first."""

    def describe_store(self, address: str) -> str:
        """Describe a shared store and its contents."""

    def check_address(self, address: str) -> None:
        """Reject an unusable store address, without connecting."""

    def copy_replies(self, source: str, target: str) -> int:
        """Copy all replies from a cache, run folder or shared store.

        Return the number of replies.
        """

    def launcher(
        self, plan: Plan, folder: RunFolder, place: Place
    ) -> Callable[[Store, Observer, StopRequests], str]:
        """Return a function that starts processes on a cluster and follows them to their end."""

    def open_store(
        self,
        address: str,
        run: str,
        longest_call_s: float = ...,
        say: Callable[[str], None] = ...,
        *,
        budget: str = ...,
        is_private: bool = ...,
        folder: str = ...,
        is_started: bool = ...,
    ) -> Store:
        """Open the shared store at an address."""

    def session_limits(
        self, store: Store, limit_usd: float | None, spent_usd: float, *, is_soft: bool = ...
    ) -> SessionLimits:
        """Return limits on cost and rate that all processes of a run share."""


def _limits(
    store: Store, config: RunConfig, folder: RunFolder, logged: LogReading
) -> SessionLimits:
    """Return a session's limits on cost and rate."""
    budget = _budget(config, folder, run_cost_usd(folder, logged))
    if config.max_cost is not None:
        budget.dearest_usd = _dearest_usd(logged)
    if store.shared_progress() is None:
        return SessionLimits(budget)
    limits = edge("cluster", ClusterEdge).session_limits(
        store, config.max_cost, budget.spent_usd, is_soft=config.max_cost_soft
    )
    limits.budget.assumed_usd, limits.budget.dearest_usd = budget.assumed_usd, budget.dearest_usd
    return limits


def _budget(config: RunConfig, folder: RunFolder, logged_usd: float) -> CostBudget:
    """Return a run's budget, given the cost of its logged replies.

    Spending recorded before a call counts, even if the run was killed before it logged the reply.
    Reservations for batches are left out, because the session makes them again.
    """
    most_usd = folder.manifest.paid_at_most_usd or 0.0
    if config.batch:
        most_usd -= edge("batch", BatchEdge).reserved_usd(folder)
    budget = CostBudget(
        config.max_cost,
        max(logged_usd, most_usd) if config.max_cost is not None else logged_usd,
        is_soft=config.max_cost_soft,
        record=lambda usd: folder.update(paid_at_most_usd=usd),
    )
    budget.assumed_usd = budget.spent_usd - logged_usd
    return budget


def _dearest_usd(logged: LogReading) -> float:
    """Return the cost in USD of the most expensive reply in a log, or 0."""
    replies = (reply for verdict in logged.final.values() for reply in verdict.replies)
    return max((reply.cost_usd or 0.0 for reply in replies), default=0.0)


def total_budget(plan: Plan, folder: RunFolder) -> CostBudget:
    """Compute a run's budget from its folder."""
    return _budget(plan.config, folder, run_cost_usd(folder))


def _unshared(budget: CostBudget, config: RunConfig, folder: RunFolder) -> CostBudget:
    """Return a budget for this process only, in place of a shared budget."""
    logged_usd = budget.spent_usd - budget.assumed_usd
    return _budget(config, folder, logged_usd)


def note_paid(folder: RunFolder, budget: CostBudget) -> None:
    """Record the maximum cost so far of a run with a limit, including unbilled batches."""
    if budget.limit_usd is not None:
        folder.update(paid_at_most_usd=budget.spent_usd + budget.reserved_usd)


def _quarantine(folder: RunFolder, logged: LogReading, observer: Observer) -> None:
    """Move the damaged lines of a log to a separate file in the same folder."""
    if logged.damaged:
        file = folder.write("verdicts.damaged", b"".join(logged.damaged))
        observer.say(
            f"{len(logged.damaged)} damaged lines of verdicts.jsonl were moved to {file}. Their "
            "replies are read from the store or requested again"
        )


def _ask(
    session: Session,
    folder: RunFolder,
    store: Store,
    observer: Observer,
    stop: StopRequests,
) -> tuple[dict[str, str], float]:
    """Run a session. Return why each incomplete judge stopped, and the duration in seconds."""
    import uvloop  # noqa: PLC0415 -- takes 10 ms, and most commands send nothing

    started_s = time.monotonic()
    try:
        ends = uvloop.run(run_until_stopped(session, observer, stop))
        return ends, time.monotonic() - started_s
    finally:
        _log_rates(folder, session)
        store.close()


def _log_rates(folder: RunFolder, session: Session) -> None:
    """Append each change in a remote judge's request rate to ``rate.jsonl``, with its reason."""
    monotonic_zero = time.time() - time.monotonic()
    lines = [
        {
            "judge": judge,
            "at": datetime.fromtimestamp(monotonic_zero + event.at_s, UTC).isoformat(),
            "limit": event.limit,
            "reason": event.reason,
        }
        for judge, events in session.rate_history.items()
        for event in events
    ]
    if lines:
        folder.append("rate.jsonl", "".join(json.dumps(line) + "\n" for line in lines))


def _exit_code(
    judges: Mapping[str, Completeness],
    budget: CostBudget,
    stop: StopRequests,
    *,
    has_ended: bool,
) -> ExitCode:
    codes = [exit_code_of(judges.values())]
    if not has_ended:
        codes.append(ExitCode.INCOMPLETE)
    if budget.exhausted:
        codes.append(ExitCode.COST_LIMIT)
    if stop.signals:
        interrupted = stop.signals[0] == signal.SIGINT
        codes.append(ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED)
    return ExitCode.most_important(codes)
