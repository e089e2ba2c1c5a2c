"""Plan a run, ask its judges, and write its results: plan -> run -> finish."""

from __future__ import annotations

import hashlib
import json
import secrets
import signal
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from harness.analysis import validate
from harness.command_options import ALL_ITEMS, HERE, NO_CHOICES, check_place
from harness.edges import edge
from harness.embeddings import embed, embedded, run_cost_usd
from harness.errors import (
    ExitCode,
    HarnessError,
    OptionError,
    RunError,
)
from harness.judging.fingerprints import fingerprints_of
from harness.judging.judges.judge_registry import (
    announcement_of,
)
from harness.judging.judges.response_errors import explain
from harness.judging.running.budget import CostBudget
from harness.judging.running.services import NoObserver, NoStore
from harness.judging.running.session import Session, SessionLimits
from harness.judging.storage.response_cache import ResponseCache
from harness.ledger import (
    count_run,
    count_verdicts,
    fix_holdout,
    spend_holdout,
    unspent_holdout,
)
from harness.report import write_report
from harness.run_plans import Plan, check_judges, overshoots
from harness.runs import RunConfig, RunFolder, default_out, model_change
from harness.sources import source_of, source_of_verdicts
from harness.stopping import StopRequests, run_until_stopped
from harness.user_folders import cache_folder, resume_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from harness.analysis import Validation
    from harness.command_options import Choices, Place, Validating
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.running.services import Job, Observer, Store
    from harness.judging.storage.verdict_log import LogReading
    from harness.tasks import Task


@dataclass(frozen=True, slots=True)
class Asked:
    """How asking ended, and what the run has cost so far."""

    exit_code: ExitCode
    budget: CostBudget


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended.

    Attributes
    ----------
    cost_usd : float
        Cost of all replies that have a price.
    assumed_usd : float
        Under a cost limit, the most that calls may have cost which were perhaps billed, and whose
        reply has no price.
    """

    folder: RunFolder
    validation: Validation
    cost_usd: float
    exit_code: int
    assumed_usd: float = 0.0


class LineObserver(NoObserver):
    """Says why judges are incomplete, and nothing of their progress."""

    def ended(self, judge: str, reason: str) -> None:
        """Say why a judge is incomplete."""
        if reason:
            self.say(f"{judge} is incomplete ({explain(reason)})")


def start(plan: Plan, out: Path, name: str | None = None) -> RunFolder:
    """Create the run folder; see `RunFolder.create`."""
    folder = RunFolder.create(
        out,
        plan.task,
        plan.config,
        (*plan.specs, *plan.ensembles),
        skipped=plan.skipped,
        prompts=plan.prompts,
        embedder=plan.embedder,
        fingerprints=fingerprints_of(
            (*plan.specs, *plan.ensembles),
            plan.task,
            plan.prompts,
            {job.judge.spec.name for job in plan.jobs if job.judge.reads_prompts},
        ),
        name=name,
    )
    fix_holdout(folder, plan.task)
    return folder


def ask_part(
    plan: Plan, out: Path, *, observer: Observer, place: Place = HERE
) -> tuple[RunFolder, Asked]:
    """Ask about a part of many items, in a folder named by what is asked; nothing is validated.

    Parameters
    ----------
    plan : Plan
        The part, see `harness.run_plans.plan_other_items`.
    out : Path
        Where its folder is created, or goes on.
    observer, place
        As of `run_plan`.

    Raises
    ------
    RunError
        If the folder cannot be used.
    """
    check_place(place)
    check_judges(plan)
    asked_for = [plan.task.content_hash, plan.prompts.hash, *map(repr, plan.specs)]
    path = out / hashlib.sha256("\0".join(asked_for).encode()).hexdigest()[:16]
    has_begun = (path / "manifest.json").exists()
    folder = RunFolder.open(path) if has_begun else start(plan, out, path.name)
    if folder.manifest.state == "asked":
        return folder, Asked(ExitCode.DONE, CostBudget(None, run_cost_usd(folder)))
    store = _opener(plan, folder, observer, place)()
    return folder, ask_open_units(plan, folder, store, observer=observer)


def run_plan(
    plan: Plan,
    *,
    observer: Observer,
    out: Path | None = None,
    place: Place = HERE,
    verb: str = "run",
    retry: RetryPolicy | None = None,
    stop: StopRequests | None = None,
) -> RunResult:
    """Run a plan to its end: check its judges, create or reopen its folder, ask, write results.

    Both ``harness.run`` and the command line end here.

    Parameters
    ----------
    plan : Plan
        See `plan_run` and `plan_resumed_run`.
    observer : Observer
        Is informed of progress.
    out : Path, optional
        Folder of a new run's folder; see `harness.runs.default_out`.
    place : Place
        Where judges are asked, and replies kept.
    verb : str
        The command that resumes such a run with ``--resume``.
    retry : RetryPolicy, optional
        How calls are retried.
    stop : StopRequests, optional
        Stops the run from another thread.

    Raises
    ------
    HarnessError
        If a judge is not available, or the run folder or the cache cannot be used.
    """
    check_place(place)
    if plan.folder is not None and plan.folder.manifest.state == "asked" and not plan.embedder:
        return _complete(plan, plan.folder)
    check_judges(plan)
    for judge, reason in plan.skipped.items():
        observer.say(f"{judge} skipped: {reason}")
    for overshoot in overshoots(plan):
        observer.say(str(overshoot))
    for line in dict.fromkeys(filter(None, map(announcement_of, plan.specs))):
        observer.say(line)
    folder = plan.folder or start(plan, out or default_out())
    try:
        return execute(
            plan, folder, observer=observer, place=place, verb=verb, retry=retry, stop=stop
        )
    except HarnessError:
        if plan.folder is None and folder.manifest.state == "planned":  # nothing was asked
            folder.remove()
        raise


def execute(
    plan: Plan,
    folder: RunFolder,
    *,
    observer: Observer,
    place: Place = HERE,
    verb: str = "run",
    retry: RetryPolicy | None = None,
    stop: StopRequests | None = None,
) -> RunResult:
    """Ask all open units, then validate the verdicts and write the results; see `run_plan`."""
    follow = _launched(plan, folder, place, retry)
    open_cache = _opener(plan, folder, observer, place)
    asked = ask_open_units(
        plan,
        folder,
        open_cache(),
        observer=observer,
        retry=retry,
        stop=stop,
        follow=follow,
    )
    if asked.exit_code != ExitCode.DONE:
        command = resume_command(folder.path, place.cache, verb, place.store)
        observer.say(how_to_resume(command, asked.exit_code, plan.config.max_cost))
    budget = asked.budget
    if plan.embedder:
        try:
            embed(
                source_of(folder, plan.task),
                plan.embedder,
                folder.embeddings,
                open_cache(),
                observer=observer,
                budget=budget,
                retry=retry,
                stop=stop,
            )
        finally:
            _note_paid(folder, budget)
    try:
        validation = finish(folder, task=plan.task if plan.config.item_text else None)
    except KeyboardInterrupt:
        observer.say(
            "interrupted; the replies are kept. Compute the results with: "
            f"harness validate {folder.path}"
        )
        raise
    if line := model_change(folder, validation):
        observer.say(line)
    cost_usd = budget.spent_usd - budget.assumed_usd
    return RunResult(folder, validation, cost_usd, asked.exit_code, budget.assumed_usd)


def _opener(plan: Plan, folder: RunFolder, observer: Observer, place: Place) -> Callable[[], Store]:
    """Return what opens the cache, or the store in its place."""
    if place.store is not None:
        name = folder.manifest.run_id
        return partial(shared_store, place.store, plan, name, observer, budget=place.budget_name)
    if place.use_cache:
        return partial(ResponseCache, place.cache or cache_folder(), observer.say)
    return NoStore


def ask_open_units(
    plan: Plan,
    folder: RunFolder,
    store: Store,
    *,
    observer: Observer,
    retry: RetryPolicy | None = None,
    stop: StopRequests | None = None,
    follow: Callable[[Store, Observer, StopRequests], str] | None = None,
) -> Asked:
    """Ask what the log of a run folder does not answer; the store is closed at the end.

    Parameters
    ----------
    plan, folder, observer, retry, stop
        See `run_plan`.
    store : Store
        Where replies are looked up and stored.
    follow : callable, optional
        Starts other processes of the run and returns when they have ended, with the reason if they
        did not end well. Their replies are then taken from the store.

    Raises
    ------
    RunError
        If the run folder or the store cannot be used.
    """
    stop = stop or StopRequests()
    with folder.open_log() as log:
        logged = folder.read_verdicts()
        _quarantine(folder, logged, observer)
        folder.update(state="running", ended={}, exit_code=None, config=plan.config)
        limits = _limits(store, plan.config, folder, logged)
        budget = limits.budget
        lost = follow(store, observer, stop) if follow else ""
        session = Session(
            plan.task,
            _jobs(plan, folder, store, observer),
            log=log,
            store=store,
            done=logged.final,
            observer=observer,
            retry=retry,
            limits=limits,
        )
        if lost:
            observer.say(lost)
            session.stop("cluster_lost")
        ends, asking_s = _ask(session, folder, store, observer, stop)
        if budget.refused_usd:
            observer.say(f"the next request may cost up to ${budget.refused_usd:.4f}")
        _note_paid(folder, budget)
    exit_code = _exit_code(ends, budget, stop)
    folder.update(
        state="asked" if exit_code == ExitCode.DONE else "stopped",
        ended={judge: reason for judge, reason in ends.items() if reason},
        exit_code=None if exit_code == ExitCode.DONE else int(exit_code),
        asking_s=round((folder.manifest.asking_s or 0.0) + asking_s, 3),
    )
    return Asked(exit_code, _unshared(budget, plan.config, folder))


def _jobs(plan: Plan, folder: RunFolder, store: Store, observer: Observer) -> Sequence[Job]:
    """Return what is asked, in batches if the run uses them.

    Where processes share the run each begins at an item of its own, so that they do not all wait
    for the same replies.
    """
    jobs: Sequence[Job] = plan.jobs
    if plan.config.batch:
        jobs = edge("batch").batched_jobs(plan, folder, store, observer)
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
) -> Store:
    """Return the store at an address for a run of some name; see `open_store` of the cluster.

    Raises
    ------
    RunError
        If it cannot be used.
    """
    if plan.config.batch:
        raise RunError("--batch cannot be used with --store; leave one of the two out.")
    longest_call_s = max(spec.deadline_s for spec in plan.specs)
    store: Store = edge("cluster").open_store(
        address, run, longest_call_s, observer.say, budget=budget, is_private=is_private
    )
    return store


def _launched(
    plan: Plan, folder: RunFolder, place: Place, retry: RetryPolicy | None
) -> Callable[[Store, Observer, StopRequests], str] | None:
    """Return what starts and follows processes of this run elsewhere; None for none."""
    if place.executor == "local":
        return None
    if place.store is None:
        raise RunError("processes on a cluster need a shared store; name one, postgresql://...")
    follow: Callable[[Store, Observer, StopRequests], str] = edge("cluster").launcher(
        plan, folder, place, retry
    )
    return follow


def _limits(
    store: Store, config: RunConfig, folder: RunFolder, logged: LogReading
) -> SessionLimits:
    """Return the budget of a session and what makes its rate limits."""
    budget = _budget(config, folder, run_cost_usd(folder, logged))
    if store.shared_progress() is None:
        return SessionLimits(budget)
    limits: SessionLimits = edge("cluster").session_limits(
        store, config.max_cost, budget.spent_usd, is_soft=config.max_cost_soft
    )
    limits.budget.assumed_usd = budget.assumed_usd
    return limits


def _budget(config: RunConfig, folder: RunFolder, logged_usd: float) -> CostBudget:
    """Return the budget of a run whose logged replies cost so much.

    What was recorded before a call counts even if the run was killed before its reply was logged;
    what is reserved for batches is reserved anew.
    """
    most_usd = folder.manifest.paid_at_most_usd or 0.0
    if config.batch:
        most_usd -= edge("batch").reserved_usd(folder)
    budget = CostBudget(
        config.max_cost,
        max(logged_usd, most_usd) if config.max_cost is not None else logged_usd,
        is_soft=config.max_cost_soft,
        record=lambda usd: folder.update(paid_at_most_usd=usd),
    )
    budget.assumed_usd = budget.spent_usd - logged_usd
    return budget


def _unshared(budget: CostBudget, config: RunConfig, folder: RunFolder) -> CostBudget:
    """Return a budget of this process alone: the store of a shared one is closed."""
    logged_usd = budget.spent_usd - budget.assumed_usd
    return _budget(config, folder, logged_usd)


def _note_paid(folder: RunFolder, budget: CostBudget) -> None:
    """Record the most that a run under a limit may have cost; batches may still be billed."""
    if budget.limit_usd is not None:
        folder.update(paid_at_most_usd=budget.spent_usd + budget.reserved_usd)


def _complete(plan: Plan, folder: RunFolder) -> RunResult:
    """Write the results of a run that was asked everything and then killed."""
    validation = finish(folder, task=plan.task if plan.config.item_text else None)
    return RunResult(folder, validation, run_cost_usd(folder), ExitCode.DONE)


def finish(folder: RunFolder, *, task: Task | None = None, new_ledger: bool = False) -> Validation:
    """Validate the verdicts of a run folder and write the results into it.

    Its judges are counted in the ledger of the ratings, unless they were; see `count_run`.

    Parameters
    ----------
    folder : RunFolder
        The run.
    task : Task, optional
        The folder's copy of the task, where it is loaded already.
    new_ledger : bool
        Whether judges that were tried on these ratings before count no more.

    Raises
    ------
    HarnessError
        If the folder cannot be read or written.
    """
    source = source_of(folder, task)
    source = replace(source, tried=count_run(folder, source, new_ledger=new_ledger))
    validation = validate(source)
    write_report(folder, validation, source)
    if folder.manifest.state == "asked":
        folder.update(state="done", exit_code=int(ExitCode.DONE))
    return validation


def validate_run(
    folder: RunFolder, choices: Choices = NO_CHOICES, *, new_ledger: bool = False
) -> Validation:
    """Validate the verdicts of a run folder again, and write the results into it.

    Nothing is written with other choices than the run's own, or where another version of the
    schema wrote ``metrics.json``: that folder stays as it is, and so does the ledger.

    Raises
    ------
    HarnessError
        If the folder cannot be read or written, or a new ledger is asked for where nothing is.
    """
    chosen = choices.explicit()
    if not chosen and not folder.kept_metrics:
        return finish(folder, new_ledger=new_ledger)
    if new_ledger:
        raise RunError(
            f"{folder.path}: with other choices, or beside metrics of another version, nothing is "
            "written; start a new ledger without them."
        )
    return validate(replace(source_of(folder), **chosen))


def validate_verdicts(
    task: str | Task,
    verdicts: Path | None,
    options: Validating = ALL_ITEMS,
    choices: Choices = NO_CHOICES,
) -> Validation:
    """Validate verdicts from another tool; without verdicts, describe the human ratings.

    The judges are counted in the ledger of the ratings; see `source_of_verdicts`.
    """
    if options.holdout is not None and verdicts is None:
        raise OptionError("holdout", "without verdicts, no judge is tried", "leave {holdout} out")
    source = embedded(source_of_verdicts(task, verdicts, options, choices))
    tried = count_verdicts(
        source, options.criterion, holdout=options.holdout, new_ledger=options.new_ledger
    )
    return validate(replace(source, tried=tried))


def confirm_verdicts(
    task: str | Task,
    verdicts: Path,
    judge: str,
    options: Validating = ALL_ITEMS,
    choices: Choices = NO_CHOICES,
) -> Validation:
    """Validate one judge of verdicts from another tool on the items that are held out, once.

    It is tested as the only judge. The items are used when it has a result.

    Raises
    ------
    RunError
        If nothing is held out, it has no verdicts there, or the items were used.
    """
    source = source_of_verdicts(task, verdicts, options, choices, confirmed=judge)
    tried = unspent_holdout(source.task, options.criterion)
    validation = validate(replace(embedded(source), tried=tried))
    spend_holdout(source, options.criterion)
    return validation


def _quarantine(folder: RunFolder, logged: LogReading, observer: Observer) -> None:
    """Move the damaged lines of a log into a file beside it."""
    if logged.damaged:
        file = folder.write("verdicts.damaged", b"".join(logged.damaged))
        observer.say(
            f"{len(logged.damaged)} damaged lines of verdicts.jsonl were moved to {file}; their "
            "replies are read from the cache, or asked for again"
        )


def _ask(
    session: Session,
    folder: RunFolder,
    store: Store,
    observer: Observer,
    stop: StopRequests,
) -> tuple[dict[str, str], float]:
    """Run to the end or to a stop; return why each judge is incomplete, and the seconds it took."""
    import uvloop  # noqa: PLC0415 -- takes 10 ms, and most commands ask nothing

    started_s = time.monotonic()
    try:
        ends = uvloop.run(run_until_stopped(session, observer, stop))
        return ends, time.monotonic() - started_s
    finally:
        _log_rates(folder, session)
        store.close()


def _log_rates(folder: RunFolder, session: Session) -> None:
    """Append to ``rate.jsonl`` how fast each remote judge was asked, and why that changed."""
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


def _exit_code(ends: Mapping[str, str], budget: CostBudget, stop: StopRequests) -> ExitCode:
    codes = [ExitCode.INCOMPLETE] if any(ends.values()) else []
    if budget.exhausted:
        codes.append(ExitCode.COST_LIMIT)
    if stop.signals:
        interrupted = stop.signals[0] == signal.SIGINT
        codes.append(ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED)
    return ExitCode.most_important(codes)


def how_to_resume(command: str, exit_code: ExitCode, max_cost: float | None) -> str:
    """Return why asking ended early, and the command that asks the rest."""
    if exit_code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}:
        return f"interrupted; the replies are kept. Resume with: {command}"
    if exit_code == ExitCode.COST_LIMIT:
        more = f"{2 * max_cost:g}" if max_cost else "1"
        return (
            f"--max-cost {max_cost:g} is reached. Raise it and resume: {command} --max-cost {more}"
        )
    return f"some units could not be asked. Resume with: {command}"
