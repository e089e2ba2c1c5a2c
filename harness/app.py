"""Plan a run, ask its judges, and write its results: plan -> run -> finish."""

from __future__ import annotations

import json
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from harness.analysis import Choices, check_choices, validate
from harness.elicitation_items import elicitations_of, items_by_elicitation, items_of, orders_of
from harness.embeddings import embed, embedded, embedder_of, run_cost_usd
from harness.errors import (
    ExitCode,
    HarnessError,
    JudgeError,
    JudgeUnavailable,
    RunError,
    TaskError,
)
from harness.judging.fingerprints import fingerprints_of
from harness.judging.judges.config import (
    ENSEMBLE,
    judges_folder,
    load_judges,
    user_file,
    with_max_tokens,
)
from harness.judging.judges.cost_limit import (
    Overshoot,
    check_limited,
    overshoot_of,
    with_reply_cap,
)
from harness.judging.judges.judge_registry import (
    announcement_of,
    asks_in_both_orders,
    build,
    check,
    own_judges,
    resolve,
    shuffles,
)
from harness.judging.judges.pricing import price_of
from harness.judging.judges.response_errors import explain
from harness.judging.prompts.demonstrations import draw_demonstrations
from harness.judging.prompts.requests import Prompts, Unit, answer_kind
from harness.judging.running.batch_api import batch_api_of
from harness.judging.running.batch_executor import BatchExecutor
from harness.judging.running.budget import CostBudget
from harness.judging.running.cost_estimate import (
    quote_of,
    quote_of_embedding,
    quote_of_ensemble,
)
from harness.judging.running.local_executor import LocalExecutor
from harness.judging.running.retry import RetryPolicy
from harness.judging.running.services import Job, NoCache, NoObserver
from harness.judging.running.session import Session
from harness.judging.storage.batch_ledger import BatchLedger
from harness.judging.storage.response_cache import ResponseCache
from harness.judging.storage.verdict_log import merge_parts
from harness.ledger import (
    check_unspent,
    count_run,
    count_verdicts,
    fix_holdout,
    holdout_of,
)
from harness.ratings import is_held_out
from harness.report import write_report
from harness.runs import CONFIRMATION, RunConfig, RunFolder, default_out, list_runs, model_change
from harness.sources import source_of, source_of_verdicts
from harness.stats.selection.replies import MIN_SAMPLES
from harness.stopping import StopRequests, run_until_stopped
from harness.tasks import Item, Task, load_task
from harness.tasks.options import DEFAULT_PROPERTY
from harness.user_folders import cache_folder, resume_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.analysis import Validation
    from harness.elicitation_items import ItemsByElicitation
    from harness.judging.cluster.shared_store import SharedStore
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.prompts.demonstrations import Demonstrations
    from harness.judging.prompts.requests import Request
    from harness.judging.running.cost_estimate import JudgeQuote
    from harness.judging.running.services import Cache, Executor, Observer
    from harness.judging.storage.verdict_log import LogReading
    from harness.judging.strategies.strategy import Strategy
    from harness.tasks.schema import AnswerKind


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that has been checked and not started.

    Attributes
    ----------
    jobs : tuple of Job
        One per judge.
    skipped : dict of str to str
        Judges that do not apply, with the reason.
    folder : RunFolder or None
        The run to resume; None for a new one.
    ensembles : tuple of JudgeSpec
        Judges whose verdicts are computed from those of others.
    embedder : JudgeSpec or None
        Model whose vectors are compared, where the task asks for that.
    """

    task: Task
    config: RunConfig
    prompts: Prompts
    jobs: tuple[Job, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    folder: RunFolder | None = None
    ensembles: tuple[JudgeSpec, ...] = ()
    embedder: JudgeSpec | None = None

    @property
    def specs(self) -> tuple[JudgeSpec, ...]:
        """Specifications of the judges that are asked."""
        return tuple(job.judge.spec for job in self.jobs)

    @property
    def n_planned(self) -> dict[str, int]:
        """Number of units per judge."""
        return {job.judge.spec.name: sum(job.planned.values()) for job in self.jobs}


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


class Asking(TypedDict, total=False):
    """Where judges are asked; see `run_plan`."""

    cache: Path | None
    use_cache: bool
    store: str | None
    executor: str
    verb: str
    retry: RetryPolicy | None
    stop: StopRequests | None


def plan_run(
    task: str | Task,
    judges: Sequence[str] | None = None,
    *,
    choices: Choices | None = None,
    judges_file: Path | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    pool: Task | None = None,
    both_orders: bool = True,
    max_tokens: int | None = None,
    **settings: Any,  # noqa: ANN401 -- checked by RunConfig
) -> Plan:
    """Check everything that a new run needs; nothing is asked and nothing is written.

    Parameters
    ----------
    task : str or Task
        Name or path of a task, or a task that was loaded.
    judges : sequence of str, optional
        Aliases and model strings; every embedded judge that applies by default.
    choices : Choices, optional
        How the verdicts are validated.
    judges_file, base_url, key_env
        See `harness.judging.judges.judge_registry.resolve`.
    pool : Task, optional
        Where demonstrations of few-shot judges are drawn from, by default the task.
    both_orders : bool
        Whether the answers of pairwise items are shown in both orders.
    max_tokens : int, optional
        Tokens that a reply may have, in place of the judges' own limits.
    **settings
        Fields of `RunConfig`.

    Raises
    ------
    TaskError, PromptError, JudgeError
        If the task, a template or a judge is wrong.
    pydantic.ValidationError
        If a field of `RunConfig` is wrong.
    """
    loaded = load_task(task) if isinstance(task, str) else task
    config = RunConfig(
        task=task if isinstance(task, str) else str(task.folder),
        choices=choices or Choices(),
        **settings,
    )
    file = judges_file or user_file()
    holdout = holdout_of(loaded, config.criterion, config.holdout, new_ledger=config.new_ledger)
    config = config.model_copy(
        update={
            "holdout": holdout,
            "reply_cap": config.added_cap,
            "max_tokens": max_tokens,
            "judges_from": str(file.absolute()) if file else None,
        }
    )
    registry = load_judges(judges_file)
    resolved = resolve(
        judges,
        loaded,
        registry,
        base_url=base_url,
        key_env=key_env,
    )
    asked = resolved.specs
    if max_tokens is not None:
        asked = [with_max_tokens(spec, max_tokens) for spec in asked]
    specs = tuple(_configured(spec, config, loaded, both_orders) for spec in asked)
    _check_property(loaded, specs)
    strategies = [spec.asking for spec in specs]
    shown = _shown(pool or loaded, holdout)
    drawn = _drawn(shown, items_by_elicitation(loaded, config), strategies, config.seed)
    prompts = Prompts.load(
        loaded,
        strategies=strategies,
        own=[spec.prompts for spec in specs],
        own_folder=judges_folder(judges_file),
        demonstrations=drawn,
        orders=orders_of(loaded, config),
    )
    return _plan(
        loaded,
        config,
        specs,
        prompts,
        skipped=dict(resolved.skipped),
        embedder=embedder_of(loaded, registry),
    )


def plan_resumed_run(
    folder: RunFolder,
    *,
    max_cost: float | None = None,
    max_cost_soft: bool = False,
    task: str | None = None,
    judges_file: Path | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
) -> Plan:
    """Plan the rest of a run from its own folder: same task, same judges, same prompts.

    Parameters
    ----------
    folder : RunFolder
        The run.
    max_cost : float, optional
        USD; replaces the run's own limit.
    max_cost_soft : bool
        Whether the limit is soft from now on; see `RunConfig`.
    task, judges_file, base_url, key_env
        For a run that was made elsewhere: the task where its folder keeps no texts, and the user's
        own judges, by whose definitions its judges are asked.

    Raises
    ------
    RunError
        If the task or the prompts have changed since the run was started, or options are given
        for a run of this user's own.
    JudgeError
        If the user does not have a judge of a run that was made elsewhere.
    """
    loaded = _task_and_own_judges(folder, task, judges_file, base_url, key_env)
    folder.sealed = True
    changes: dict[str, object] = {} if max_cost is None else {"max_cost": max_cost}
    if max_cost_soft:
        changes["max_cost_soft"] = True
    return _plan_rest(folder, loaded, changes)


def _task_and_own_judges(
    folder: RunFolder,
    task: str | None = None,
    judges_file: Path | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    **_: object,
) -> Task:
    """Return the task of a run; judges of one made elsewhere become the user's own ones."""
    manifest = folder.manifest
    if not folder.sealed:
        registry, server = load_judges(judges_file), {"base_url": base_url, "key_env": key_env}
        judges = own_judges(manifest.judges, registry, **server)
        embedders = own_judges(filter(None, [manifest.embedder]), registry, **server)
        embedder = next(iter(embedders), None)
        folder.manifest = manifest.model_copy(update={"judges": judges, "embedder": embedder})
    elif task or judges_file or base_url or key_env:
        raise RunError(
            f"{folder.path}: a resumed run keeps its options; leave --task, --judges-file, "
            "--base-url and --key-env out, or start a new run."
        )
    return folder.load_task(task)


def _plan_rest(folder: RunFolder, task: Task, changes: Mapping[str, object]) -> Plan:
    manifest = folder.manifest
    prompts = prompts_of(folder, task)
    if prompts.hash != manifest.hashes["prompts"]:
        raise RunError(
            f"{folder.prompts}: the prompts have changed since this run was started; "
            "restore them, or start a new run."
        )
    return _plan(
        task,
        manifest.config.model_copy(update=changes),
        manifest.judges,
        prompts,
        skipped=manifest.skipped,
        folder=folder,
        embedder=manifest.embedder,
    )


def plan_confirmation(
    folder: RunFolder,
    judge: str,
    **settings: Any,  # noqa: ANN401 -- of `plan_resumed_run`
) -> Plan:
    """Plan to ask a judge of a run about the items that were held out, or the rest of that.

    Its run folder is ``confirmation`` in that of the run. Parameters are those of
    `plan_resumed_run`.

    Raises
    ------
    RunError
        If the run holds nothing out, has no such judge, or the items were used; else as
        `plan_resumed_run`.
    """
    manifest = folder.manifest
    if manifest.config.holdout is None or manifest.config.confirms:
        raise RunError(f"{folder.path}: holds no items out; start a run with --holdout 0.3.")
    specs = tuple(spec for spec in manifest.asked_judges if spec.name == judge)
    if not specs:
        names = ", ".join(spec.name for spec in manifest.asked_judges)
        raise RunError(f"{folder.path}: no judge {judge!r} to confirm; name one of {names}.")
    if (folder.path / CONFIRMATION / "manifest.json").exists():
        begun = RunFolder.open(folder.path / CONFIRMATION)
        if begun.manifest.state != "done" and begun.manifest.judges[0].name == judge:
            return plan_resumed_run(begun, **settings)
    loaded = _task_and_own_judges(folder, **settings)
    check_unspent(folder, loaded)
    changes = {name: settings.get(name) for name in ("max_cost", "max_cost_soft")}
    config = manifest.config.model_copy(
        update={"confirms": folder.path.name, "limit": None, "new_ledger": False}
        | {name: value for name, value in changes.items() if value}
    )
    prompts = prompts_of(folder, loaded, specs)
    return _plan(loaded, config, specs, prompts, embedder=manifest.embedder)


def _shown(pool: Task, holdout: float | None) -> Task:
    """Return where demonstrations are drawn from: a task without the items that are held out."""
    if holdout is None:
        return pool
    items = tuple(item for item in pool.items if not is_held_out(item, holdout))
    ids = {item.id for item in items}
    kept = {
        name: tuple(rating for rating in getattr(pool, name) if rating.item in ids)
        for name in ("ratings", "ignored")
    }
    return pool.model_copy(update={"items": items, **kept})


def prompts_of(folder: RunFolder, task: Task, judges: Sequence[JudgeSpec] | None = None) -> Prompts:
    """Read the templates of a run, or those of some of its judges, bound to its task.

    Raises
    ------
    PromptError
        If a template is missing or wrong.
    """
    judges = folder.manifest.judges if judges is None else judges
    return Prompts.load(
        task,
        folder.prompts,
        strategies=[spec.asking for spec in judges],
        own=[spec.prompts for spec in judges],
        orders=orders_of(task, folder.manifest.config),
    )


def estimate_costs(plan: Plan) -> list[JudgeQuote]:
    """Return calls, tokens and cost per judge if no reply were cached; nothing is asked."""
    quotes = [quote_of(job, plan.task) for job in plan.jobs]
    of_ensembles = [quote_of_ensemble(spec, quotes) for spec in plan.ensembles]
    if plan.embedder is None:
        return [*quotes, *of_ensembles]
    return [*quotes, *of_ensembles, quote_of_embedding(plan.embedder, plan.jobs, plan.task)]


def request_for(plan: Plan, item: str, sample: int = 0) -> Request:
    """Return the request of the plan's first judge for a sample, in its first elicitation.

    Raises
    ------
    TaskError
        If the plan has no such item, or it has no text.
    """
    job = plan.jobs[0]
    if plan.ensembles:
        raise JudgeError(f"{plan.ensembles[0].name} is sent nothing; name one of its members")
    if item not in plan.task.by_id:
        raise TaskError(f"task {plan.task.name}: no item has id {item!r}; name one of its items.")
    if item not in {planned.id for planned in job.items}:
        raise TaskError(
            f"task {plan.task.name}: item {item!r} is not among those asked with this --limit and "
            "--criterion; choose others."
        )
    return job.judge.request(Unit(item, job.elicitations[0], sample))


def check_judges(plan: Plan) -> None:
    """Check that every judge can be asked and, under a cost limit, what it costs at most.

    Raises
    ------
    JudgeUnavailable
        If a key is missing, or the limit cannot be kept; all judges that cannot be asked are named.
        Nothing was spent.
    """
    reasons: list[str] = []
    for spec in _remote_and_own(plan):
        try:
            check(spec, plan.task)
        except JudgeUnavailable as reason:
            reasons.append(str(reason))
    if reasons:
        raise JudgeUnavailable("; ".join(reasons))
    check_limits(plan)


def check_limits(plan: Plan) -> None:
    """Check that the cost limit of a plan can be kept; see `check_limited`."""
    if plan.config.max_cost is not None:
        for spec in _remote_and_own(plan):
            check_limited(spec, is_soft=plan.config.max_cost_soft)


def overshoots(plan: Plan) -> list[Overshoot]:
    """Return how far a soft limit may be exceeded, for each judge that is asked over a network."""
    if plan.config.max_cost is None or not plan.config.max_cost_soft:
        return []
    return [
        overshoot_of(
            job.judge.spec,
            sum(job.planned.values())
            if plan.config.batch and batch_api_of(job.judge.spec)
            else job.judge.spec.concurrency,
        )
        for job in plan.jobs
        if (price := price_of(job.judge.spec)) is None or price.output
    ]


def _remote_and_own(plan: Plan) -> tuple[JudgeSpec, ...]:
    """Return the specifications of all that is asked: the judges, and what embeds texts."""
    return (*plan.specs, *([plan.embedder] if plan.embedder else []))


def start(plan: Plan, out: Path) -> RunFolder:
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
    )
    fix_holdout(folder, plan.task)
    return folder


def run_plan(
    plan: Plan,
    *,
    observer: Observer,
    out: Path | None = None,
    **asking: Unpack[Asking],
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
    **asking
        cache : Path
            Folder of the response cache.
        use_cache : bool
            Whether replies are looked up and stored (True).
        store : str
            Address of a PostgreSQL database that takes the place of the cache and is shared with
            runs on other machines.
        executor : str
            ``local``, or ``ray`` or ``ray://HOST:PORT`` to ask on a Ray cluster, with a store.
        verb : str
            The command that resumes such a run with ``--resume``.
        retry : RetryPolicy
            How calls are retried.
        stop : StopRequests
            Stops the run from another thread.

    Raises
    ------
    HarnessError
        If a judge is not available, or the run folder or the cache cannot be used.
    """
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
        return execute(plan, folder, observer=observer, **asking)
    except HarnessError:
        if plan.folder is None and folder.manifest.state == "planned":  # nothing was asked
            folder.remove()
        raise


def execute(
    plan: Plan, folder: RunFolder, *, observer: Observer, **asking: Unpack[Asking]
) -> RunResult:
    """Ask all open units, then validate the verdicts and write the results; see `run_plan`."""
    cache, store = asking.get("cache"), asking.get("store")
    retry, stop = asking.get("retry"), asking.get("stop")
    make_executor = _executor(plan, folder, asking)
    open_cache = _opener(plan, folder, observer, asking)
    asked = ask_open_units(
        plan,
        folder,
        open_cache(),
        observer=observer,
        retry=retry,
        stop=stop,
        make_executor=make_executor,
    )
    if asked.exit_code != ExitCode.DONE:
        command = resume_command(folder.path, cache, asking.get("verb", "run"), store)
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


def _opener(
    plan: Plan, folder: RunFolder, observer: Observer, asking: Asking
) -> Callable[[], Cache]:
    """Return what opens the cache, or the store in its place."""
    if (store := asking.get("store")) is not None:
        return partial(shared_store, store, plan, folder.path.name, observer)
    if asking.get("use_cache", True):
        return partial(ResponseCache, asking.get("cache") or cache_folder(), observer.say)
    return NoCache


def ask_open_units(
    plan: Plan,
    folder: RunFolder,
    store: Cache,
    *,
    observer: Observer,
    retry: RetryPolicy | None = None,
    stop: StopRequests | None = None,
    make_executor: Callable[[Cache], Callable[[Session], Executor]] | None = None,
) -> Asked:
    """Ask what the log of a run folder does not answer; the store is closed at the end.

    ``make_executor`` returns for the store what makes the executor; by default units are asked in
    this process. Raises `RunError` if the run folder or the cache cannot be used.
    """
    stop = stop or StopRequests()
    with folder.open_log() as log:
        logged = folder.read_verdicts()
        _quarantine(folder, logged, observer)
        store.follow(folder.verdicts, folder.batches if plan.config.batch else None)
        folder.update(state="running", ended={}, exit_code=None, config=plan.config)
        limits = _limits(store, plan.config, folder, logged)
        budget = limits["budget"]
        _warn_of_open_batches(folder, observer)
        session = Session(
            plan.task,
            plan.jobs,
            log=log,
            cache=store,
            done=logged.final,
            observer=observer,
            retry=retry,
            executor=make_executor(store)
            if make_executor
            else _executor_here(plan, folder, observer),
            **limits,
        )
        ends, asking_s = _ask(session, folder, store, observer, stop)
        if budget.refused_usd:
            observer.say(f"the next request may cost up to ${budget.refused_usd:.4f}")
        merge_parts(log)
        _note_paid(folder, budget)
    exit_code = _exit_code(ends, budget, stop)
    folder.update(
        state="asked" if exit_code == ExitCode.DONE else "stopped",
        ended={judge: reason for judge, reason in ends.items() if reason},
        exit_code=None if exit_code == ExitCode.DONE else int(exit_code),
        asking_s=round((folder.manifest.asking_s or 0.0) + asking_s, 3),
    )
    return Asked(exit_code, _unshared(budget, plan.config, folder))


def shared_store(
    address: str, plan: Plan, run: str, observer: Observer, *, is_private: bool = False
) -> Cache:
    """Return the store at an address for a run of some name; see `open_store`.

    Raises
    ------
    RunError
        If it cannot be used.
    """
    from harness.judging.cluster import open_store  # noqa: PLC0415 -- psycopg is an extra

    longest_call_s = max(spec.deadline_s for spec in plan.specs)
    return open_store(address, run, longest_call_s, observer.say, is_private=is_private)


def _executor(
    plan: Plan, folder: RunFolder, asking: Asking
) -> Callable[[Cache], Callable[[Session], Executor]] | None:
    """Return what makes the executor for a store; None where units are asked in this process."""
    executor, store = asking.get("executor", "local"), asking.get("store")
    if executor == "local":
        return None
    if plan.config.batch:
        raise RunError("workers on a cluster use no batch interfaces; ask without --batch")
    if store is None:
        raise RunError("workers on a cluster need a shared store; name one, postgresql://...")
    retry = asking.get("retry") or RetryPolicy()
    return partial(_ray_executor, plan, folder, store, executor, retry)


def _ray_executor(  # noqa: PLR0917 -- bound by position
    plan: Plan, folder: RunFolder, address: str, executor: str, retry: RetryPolicy, store: Cache
) -> Callable[[Session], Executor]:
    """Return what makes the executor of a session on a Ray cluster."""
    from harness.judging.cluster.ray_cluster import cluster_address  # noqa: PLC0415 -- an extra
    from harness.judging.cluster.ray_executor import RayExecutor  # noqa: PLC0415 -- the same
    from harness.judging.cluster.ray_worker import (  # noqa: PLC0415 -- the same
        WorkerDescription,
        without_items,
    )

    description = WorkerDescription(
        task=without_items(plan.task),
        specs=plan.specs,
        templates=plan.prompts.templates,
        demonstrations=plan.prompts.demonstrations,
        orders=plan.prompts.orders,
        seed=plan.config.seed,
        retry=retry,
        store=address,
        run=folder.path.name,
        driver=str(cast("SharedStore", store).lease.id),
        max_cost=plan.config.max_cost,
        max_cost_soft=plan.config.max_cost_soft,
        log=folder.verdicts.absolute(),
    )
    return partial(RayExecutor, description=description, address=cluster_address(executor))


def _limits(
    store: Cache, config: RunConfig, folder: RunFolder, logged: LogReading
) -> dict[str, Any]:
    """Return the budget of a session and what makes its rate limits."""
    budget = _budget(config, folder, run_cost_usd(folder, logged))
    if not store.write_through:
        return {"budget": budget}
    from harness.judging.cluster import session_limits  # noqa: PLC0415 -- psycopg is an extra

    limits = session_limits(
        cast("SharedStore", store), config.max_cost, budget.spent_usd, is_soft=config.max_cost_soft
    )
    limits["budget"].assumed_usd = budget.assumed_usd
    return limits


def _budget(config: RunConfig, folder: RunFolder, logged_usd: float) -> CostBudget:
    """Return the budget of a run whose logged replies cost so much.

    What was recorded before a call counts even if the run was killed before its reply was logged;
    what is reserved for batches is reserved anew.
    """
    most_usd = folder.manifest.paid_at_most_usd or 0.0
    if config.batch:
        most_usd -= sum(batch.reserved_usd for batch in BatchLedger(folder.batches).batches)
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
    folder: RunFolder, choices: Choices | None = None, *, new_ledger: bool = False
) -> Validation:
    """Validate the verdicts of a run folder again, and write the results into it.

    Nothing is written with other choices than the run's own, or where another version of the
    schema wrote ``metrics.json``: that folder stays as it is, and so does the ledger.

    Raises
    ------
    HarnessError
        If the folder cannot be read or written, or a new ledger is asked for where nothing is.
    """
    chosen = choices.explicit() if choices else {}
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
    *,
    criterion: str | None = None,
    new_ledger: bool = False,
    **settings: Any,  # noqa: ANN401 -- of `source_of_verdicts`
) -> Validation:
    """Validate verdicts from another tool; without verdicts, describe the human ratings.

    The judges are counted in the ledger of the ratings. Other parameters are those of
    `source_of_verdicts`.
    """
    settings |= {"criterion": criterion, "new_ledger": new_ledger}
    source = embedded(source_of_verdicts(task, verdicts, **settings))
    tried = count_verdicts(source, criterion, new_ledger=new_ledger)
    return validate(replace(source, tried=tried))


def _configured(
    spec: JudgeSpec,
    config: RunConfig,
    task: Task,
    both_orders: bool,  # noqa: FBT001 -- a value, not an option
) -> JudgeSpec:
    """Apply the run's options to a judge; in a batch it has the batch's price."""
    changes: dict[str, object] = {
        "allow_redirects": spec.allow_redirects or config.allow_redirects,
        "both_orders": both_orders and asks_in_both_orders(spec, task),
    }
    if config.batch and batch_api_of(spec) is not None:
        price = price_of(spec)
        changes |= {"price": price and price.in_batch(), "n_per_request": 1}
    return with_reply_cap(spec, config.reply_cap).model_copy(update=changes)


def _drawn(
    pool: Task, items: ItemsByElicitation, strategies: Iterable[Strategy], seed: int
) -> Demonstrations | None:
    """Draw demonstrations where a judge is few-shot."""
    if not (n := max((strategy.n_demonstrations for strategy in strategies), default=0)):
        return None
    judged: dict[AnswerKind, list[Item]] = {}
    for elicitation, of_elicitation in items.items():
        judged.setdefault(answer_kind(elicitation), []).extend(of_elicitation)
    return draw_demonstrations(pool, judged, n, seed=seed)


def _check_property(task: Task, specs: Sequence[JudgeSpec]) -> None:
    remote = next((spec.name for spec in specs if spec.remote), "")
    if remote and task.property == DEFAULT_PROPERTY:
        raise TaskError(
            f"{task.folder}: 'property' in task.yaml is still {DEFAULT_PROPERTY!r}, and {remote} "
            "would be asked for that; describe there what was rated, as a phrase."
        )


def _plan(
    task: Task,
    config: RunConfig,
    specs: tuple[JudgeSpec, ...],
    prompts: Prompts,
    **fields: Any,  # noqa: ANN401 -- the other ones of the plan
) -> Plan:
    items = items_of(task, config)
    if not any(task.has_text(item) for item in items):
        raise TaskError(
            f"{task.folder}: the task has labels but no texts, so no judge can be asked; "
            f"`harness validate --task {config.task}` describes its ratings."
        )
    check_choices(task, items, config.choices)
    planned = items_by_elicitation(task, config)
    if not planned:
        task.require_options(", ".join(config.elicitations or ()))
        raise TaskError(
            f"{task.folder}: {', '.join(config.elicitations or ())} is not possible with "
            f"{len(task.options)} options; use --elicitation forced_choice."
        )
    jobs = tuple(
        make_job(
            spec,
            _asked_items(task, spec, items),
            planned,
            task=task,
            prompts=prompts,
            config=config,
        )
        for spec in specs
        if spec.kind != ENSEMBLE
    )
    _check_strategies(specs, jobs, task, prompts)
    _check_replies(config.choices.replies, jobs, len(task.options))
    ensembles = tuple(spec for spec in specs if spec.kind == ENSEMBLE)
    return Plan(task, config, prompts, jobs, ensembles=ensembles, **fields)


def _check_strategies(
    specs: Sequence[JudgeSpec], jobs: Sequence[Job], task: Task, prompts: Prompts
) -> None:
    """Refuse strategies that do not fit the options, their order or the elicitations."""
    for spec in specs:
        if spec.asking.needs_options:
            task.require_options(spec.name)
    in_order = [spec.strategy for spec in specs if spec.asking.keeps_order]
    if prompts.orders and in_order:
        raise JudgeError(f"{min(in_order)} is for one order of the options; drop --shuffle-options")
    for spec in (job.judge.spec for job in jobs if not job.elicitations):
        raise JudgeError(
            f"{spec.name} endorses options one by one; add --elicitation response_set"
            if spec.asking.asks_each_option
            else f"{spec.name} gives probabilities of single options; add --elicitation "
            "forced_choice"
        )


def make_job(
    spec: JudgeSpec,
    items: tuple[Item, ...],
    planned: ItemsByElicitation,
    *,
    task: Task,
    prompts: Prompts,
    config: RunConfig,
    look: int = 0,
) -> Job:
    """Return all that a judge is asked about items, in a run or in a later look at it."""
    return Job(
        judge=build(spec, task, prompts, seed=config.seed),
        items=items,
        elicitations=elicitations_of(spec, planned),
        samples=spec.n_samples(config.samples) * spec.asking.replies_per_verdict(len(task.options)),
        pairs=frozenset(item.id for item in planned.get("paired", ())),
        look=look,
        orders=prompts.orders if shuffles(spec) else None,
    )


def _asked_items(task: Task, spec: JudgeSpec, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return the items that a judge is asked about, first those that its strategy adds."""
    added = spec.asking.extra_items(task, items)
    if taken := [item.id for item in added if item.id in task.by_id]:
        raise TaskError(
            f"task {task.name}: {spec.name} needs the id {taken[0]!r}; rename the item."
        )
    return (*added, *items)


def _check_replies(replies: int | str | None, jobs: Sequence[Job], n_options: int) -> None:
    """Refuse a number of replies per item that no judge is asked for."""
    specs = [job.judge.spec for job in jobs]
    samples = [
        job.samples // spec.asking.replies_per_verdict(n_options)
        for job, spec in zip(jobs, specs, strict=True)
        if not spec.asking.gives_distribution
    ]
    most = max(samples, default=inf)
    needed = MIN_SAMPLES if replies == "inf" else int(replies or 1)
    if needed > most:
        raise JudgeError(
            f"--replies {replies} needs {needed} samples per item, but no judge is asked more than "
            f"{most}; ask for more with --samples {needed}."
        )


def _quarantine(folder: RunFolder, logged: LogReading, observer: Observer) -> None:
    """Move the damaged lines of a log into a file beside it."""
    if logged.damaged:
        file = folder.write("verdicts.damaged", b"".join(logged.damaged))
        observer.say(
            f"{len(logged.damaged)} damaged lines of verdicts.jsonl were moved to {file}; their "
            "replies are read from the cache, or asked for again"
        )


def _executor_here(
    plan: Plan, folder: RunFolder, observer: Observer
) -> Callable[[Session], Executor]:
    """Return what makes the executor of a session in this process."""
    if not plan.config.batch:
        return LocalExecutor
    for spec in plan.specs:
        if spec.remote and batch_api_of(spec) is None:
            observer.say(f"{spec.name}: no batch interface; asked one request at a time")
    return partial(BatchExecutor, ledger=BatchLedger(folder.batches))


def _warn_of_open_batches(folder: RunFolder, observer: Observer) -> None:
    """Name other runs over the same task that wait for batches: this run would ask the same."""
    for run in list_runs(folder.path.parent).readable:
        same_task = run.manifest.hashes["task"] == folder.manifest.hashes["task"]
        with suppress(RunError):
            if same_task and run.path != folder.path and BatchLedger(run.batches).batches:
                observer.say(
                    f"{run.path.name} waits for batches; resume it first. Their requests are not "
                    "sent again on the same cache, but are paid for twice on another"
                )


def _ask(
    session: Session,
    folder: RunFolder,
    store: Cache,
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
