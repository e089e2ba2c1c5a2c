"""Plans for runs: each judge's requests, checked before anything is sent or written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from random import Random
from typing import TYPE_CHECKING, Literal, Protocol

from harness.analysis import check_choices
from harness.analysis.ratings import is_held_out
from harness.app.embeddings import embedder_of
from harness.errors import (
    JudgeError,
    JudgeUnavailable,
    OptionError,
    TaskError,
    in_sentences,
)
from harness.files.user_folders import user_file
from harness.judging.judge_spec import ENSEMBLE
from harness.judging.judges.config import judges_folder, load_judges, with_max_tokens
from harness.judging.judges.judge_registry import (
    asks_in_both_orders,
    build,
    check,
    orders_for,
    resolve,
)
from harness.judging.judges.pricing import (
    Overshoot,
    check_limited,
    overshoot_of,
    price_of,
    with_reply_cap,
)
from harness.judging.prompts.demonstrations import FILE as DEMONSTRATIONS
from harness.judging.prompts.demonstrations import draw_demonstrations
from harness.judging.prompts.question import Unit
from harness.judging.prompts.requests import Prompts, answer_kind
from harness.judging.running.cost_estimate import (
    quote_of,
    quote_of_embedding,
    quote_of_ensemble,
)
from harness.judging.running.recorder import Observer
from harness.judging.running.units import Job
from harness.loading import edge
from harness.options.concerns import (
    HERE,
    NO_CHOICES,
    NO_SERVER,
    RunOptions,
    check_limit,
)
from harness.runs.asked_items import (
    elicitations_of,
    items_by_elicitation,
    items_of,
    orders_of,
    without_blank,
)
from harness.runs.ledger import (
    holdout_of,
)
from harness.runs.run_folder import RunConfig
from harness.runs.sources import RacedSources
from harness.stats.selection.replies import MIN_SAMPLES
from harness.tasks import Item, Task, load_task
from harness.tasks.options import DEFAULT_PROPERTY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.analysis.check_result import JudgeCheck
    from harness.judging.judge_spec import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.demonstrations import Demonstrations
    from harness.judging.prompts.requests import Request
    from harness.judging.running.cost_estimate import JudgeQuote
    from harness.judging.running.retry import RetryPolicy
    from harness.judging.storage.reply_store import Store
    from harness.judging.storage.verdict_log import UnitKey
    from harness.judging.strategies.strategy import Strategy
    from harness.options.concerns import Choices, Items, Limit, Place, RunPlace, Server
    from harness.runs.asked_items import ItemsByElicitation
    from harness.runs.run_folder import RunFolder
    from harness.tasks import Task
    from harness.tasks.item import AnswerKind


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that has been checked but not started.

    Attributes
    ----------
    jobs : tuple of Job
        One job per judge.
    skipped : dict of str to str
        Judges that can't be used for the task, with reasons.
    folder : RunFolder or None
        The run to resume, or None for a new run.
    ensembles : tuple of JudgeSpec
        Judges whose verdicts are computed from other judges' verdicts.
    embedder : JudgeSpec or None
        Embedding model, if the task compares vectors.
    resume_options : tuple of str
        Options needed to resume the run, because its folder doesn't record the judges' servers.
    is_part : bool
        Whether the run is part of another command, which explains how to resume it.
    is_closed : bool
        Whether no more requests are sent, and only submitted batches are collected.
    kept_answers : tuple of str
        Messages about judges in a resumed run for which a new run would use a different form of
        answer.
    retry : RetryPolicy or None
        Policy for retrying calls, or None for the default.
    """

    task: Task
    config: RunConfig
    prompts: Prompts
    jobs: tuple[Job, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    folder: RunFolder | None = None
    ensembles: tuple[JudgeSpec, ...] = ()
    embedder: JudgeSpec | None = None
    resume_options: tuple[str, ...] = ()
    is_part: bool = False
    is_closed: bool = False
    kept_answers: tuple[str, ...] = ()
    retry: RetryPolicy | None = None

    @property
    def specs(self) -> tuple[JudgeSpec, ...]:
        """Specifications of the judges that receive requests."""
        return tuple(job.judge.spec for job in self.jobs)

    @property
    def n_planned(self) -> dict[str, int]:
        """Number of planned units per judge."""
        return {job.judge.spec.name: sum(job.planned.values()) for job in self.jobs}


NO_OPTIONS = RunOptions()
NO_RACE = {"race": False, "within": None, "complete_winner": False}


def plan_run(
    task: str | Task,
    judges: Sequence[str] | None = None,
    options: RunOptions = NO_OPTIONS,
    *,
    choices: Choices = NO_CHOICES,
    server: Server = NO_SERVER,
    pool: Task | None = None,
    changed_by: str = "",
    purpose: Literal["run", "trial", "search"] = "run",
) -> Plan:
    """Check everything that a new run needs, without sending or writing anything.

    Parameters
    ----------
    task : str or Task
        Name or path of a task, or a loaded task.
    judges : sequence of str, optional
        Aliases and model strings; by default every embedded judge that applies.
    options : RunOptions
        How to run the judges, and on which items.
    choices : Choices
        Choices for validating the verdicts.
    server : Server
        Server of judges that aren't aliases.
    pool : Task, optional
        Source of demonstrations for few-shot judges; by default the task.
    changed_by : str
        Name of the probe that changed the items, which are then shown in one order of the answers;
        "" for none.
    purpose : str
        Purpose of the plan. A trial sends nothing, so that the task may still lack the rated
        property. A search has judges with templates of their own beside ``options.prompts``, which
        is an error in a run.

    Raises
    ------
    TaskError, PromptError, JudgeError, OptionError
        If the task, a template, a judge or an option is wrong.
    """
    check_limit(options)
    check_race(options)
    loaded = load_task(task) if isinstance(task, str) else task
    if options.race:
        options = edge("racing", RaceEdge).race_options(loaded, options, choices)
    file = server.judges_file or user_file()
    holdout = holdout_of(loaded, options.criterion, options.holdout, new_ledger=options.new_ledger)
    config = RunConfig(
        task=task if isinstance(task, str) else str(task.folder),
        choices=choices,
        base_url=server.base_url,
        key_env=server.key_env,
        judges_from=str(file.absolute()) if file else None,
        changed_by=changed_by,
        **dict(options) | {"holdout": holdout, "reply_cap": options.added_cap},
    )
    config = without_blank(config, loaded)
    registry = load_judges(server.judges_file)
    resolved = resolve(judges, loaded, registry, server)
    asked = resolved.specs
    if options.max_tokens is not None:
        asked = [with_max_tokens(spec, options.max_tokens) for spec in asked]
    specs = tuple(_configured(spec, config, loaded, server) for spec in asked)
    if purpose != "trial":
        check_property(loaded, specs)
    strategies = [spec.asking for spec in specs]
    _check_prompts(config.prompts, () if purpose == "search" else specs)
    drawn = None
    if not (config.prompts and (config.prompts / DEMONSTRATIONS).exists()):
        shown = without_held_out(pool or loaded, holdout)
        drawn = _drawn(shown, items_by_elicitation(loaded, config), strategies, config.seed)
    prompts = Prompts.load(
        loaded,
        strategies=strategies,
        own=[spec.prompts for spec in specs],
        own_folder=judges_folder(server.judges_file),
        demonstrations=drawn,
        orders=orders_of(loaded, config),
        first=config.prompts,
    )
    if config.prompts and not prompts.uses(config.prompts):
        problem = "the folder contains no template or demonstrations that these judges need"
        raise OptionError("prompts", problem, "Pass a different folder", found=str(config.prompts))
    return replace(
        checked_plan(loaded, config, specs, prompts),
        skipped=dict(resolved.skipped),
        embedder=embedder_of(loaded, lambda: registry),
        resume_options=tuple(server.words()),
    )


def _check_prompts(folder: Path | None, specs: Iterable[JudgeSpec]) -> None:
    """Reject a path to prompts that isn't a folder, and judges with custom templates."""
    if folder is None:
        return
    if not folder.is_dir():
        problem = "not a folder"
        raise OptionError("prompts", problem, "Pass a folder of templates", found=str(folder))
    if own := next((spec.name for spec in specs if spec.prompts), ""):
        problem = f"{own} has its own templates"
        raise OptionError("", problem, "Remove these templates from judges.yaml, or drop {prompts}")


def without_held_out(pool: Task, holdout: float | None) -> Task:
    """Return a task without its held-out items, for drawing few-shot examples."""
    if holdout is None:
        return pool
    items = tuple(item for item in pool.items if not is_held_out(item, holdout))
    ids = {item.id for item in items}
    kept = {
        name: tuple(rating for rating in getattr(pool, name) if rating.item in ids)
        for name in ("ratings", "ignored")
    }
    return pool.model_copy(update={"items": items, **kept})


def estimate_costs(plan: Plan) -> list[JudgeQuote]:
    """Estimate calls, tokens and cost per judge if no reply is cached. No requests are sent."""
    asked = [quote_of(job, plan.task) for job in plan.jobs]
    quotes = asked + [quote_of_ensemble(spec, asked) for spec in plan.ensembles]
    if plan.embedder is not None:
        quotes.append(quote_of_embedding(plan.embedder, plan.jobs, plan.task))
    return quotes


def request_for(plan: Plan, item: str, sample: int = 0) -> Request:
    """Return the first judge's request for an item's sample, in the judge's first elicitation.

    Raises
    ------
    TaskError
        If the plan doesn't contain the item, or the item has no text.
    """
    job = plan.jobs[0]
    if plan.ensembles:
        raise JudgeError(
            f"{plan.ensembles[0].name} is an ensemble, which gets no requests itself. Pass one "
            "of its members"
        )
    if item not in plan.task.by_id:
        raise TaskError(f"task {plan.task.name}: no item has id {item!r}. Pass one of its ids.")
    if item not in {planned.id for planned in job.items}:
        raise TaskError(
            f"task {plan.task.name}: item {item!r} is left out by --limit or --criterion. Choose "
            "other items."
        )
    return job.judge.request(Unit(item, job.elicitations[0], sample))


def _configured(spec: JudgeSpec, config: RunConfig, task: Task, server: Server) -> JudgeSpec:
    """Apply the run's options to a judge."""
    changes = {
        "allow_redirects": spec.allow_redirects or server.allow_redirects,
        "both_orders": not config.changed_by and asks_in_both_orders(spec, task),
    }
    return priced_in_batch(
        with_reply_cap(spec, config.reply_cap).model_copy(update=changes),
        config,
    )


def priced_in_batch(spec: JudgeSpec, config: RunConfig) -> JudgeSpec:
    """Return a judge's specification, with batch prices if its requests are sent in batches."""
    if not in_batches(config, spec):
        return spec
    price = price_of(spec)
    return spec.model_copy(update={"price": price and price.in_batch(), "n_per_request": 1})


def _drawn(
    pool: Task, items: ItemsByElicitation, strategies: Iterable[Strategy], seed: int
) -> Demonstrations | None:
    """Draw few-shot examples if a judge needs them, else return None."""
    if not (n := max((strategy.n_demonstrations for strategy in strategies), default=0)):
        return None
    judged: dict[AnswerKind, list[Item]] = {}
    for elicitation, of_elicitation in items.items():
        judged.setdefault(answer_kind(elicitation), []).extend(of_elicitation)
    return draw_demonstrations(pool, judged, n, seed=seed)


def checked_plan(
    task: Task,
    config: RunConfig,
    specs: tuple[JudgeSpec, ...],
    prompts: Prompts,
) -> Plan:
    """Create a plan from a task and judges, and reject incompatible options."""
    config = without_blank(config, task)
    items = items_of(task, config)
    check_choices(task, items, config.choices)
    planned = items_by_elicitation(task, config)
    if not planned:
        task.require_options(", ".join(config.elicitations or ()))
        raise TaskError(
            f"{task.folder}: {', '.join(config.elicitations or ())} is not possible with "
            f"{len(task.options)} options. Use --elicitation forced_choice."
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
    check_strategies(specs, jobs, task, prompts)
    check_replies(config.choices.replies, jobs, len(task.options))
    ensembles = tuple(spec for spec in specs if spec.kind == ENSEMBLE)
    plan = Plan(task, config, prompts, jobs, ensembles=ensembles)
    if config.race:
        races = edge("racing", RaceEdge)
        races.pool_of(task, (*plan.specs, *ensembles), config)  # rejects those that can't race
    return plan


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
    """Return a judge's job: all of its requests for some items, in a run or a later round."""
    return Job(
        judge=build(spec, task, prompts, seed=config.seed),
        items=in_random_order(items, task, config.seed),
        elicitations=elicitations_of(spec, planned),
        samples=spec.n_samples(config.samples) * spec.asking.replies_per_verdict(len(task.options)),
        pairs=frozenset(item.id for item in planned.get("paired", ())),
        look=look,
        orders=orders_for(spec, task, prompts.orders),
    )


def in_random_order(items: tuple[Item, ...], task: Task, seed: int) -> tuple[Item, ...]:
    """Return items in a seeded random order, after the items that a strategy added.

    The first replies are then for typical items, however the table is sorted.
    """
    own = [item for item in items if item.id in task.by_id]
    added = [item for item in items if item.id not in task.by_id]
    return (*added, *Random(seed).sample(own, len(own)))  # noqa: S311 -- no secret


def _asked_items(task: Task, spec: JudgeSpec, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return the items for a judge, after the items that its strategy adds."""
    added = spec.asking.extra_items(task, items)
    if taken := [item.id for item in added if item.id in task.by_id]:
        raise TaskError(
            f"task {task.name}: {spec.name} reserves the id {taken[0]!r}. Rename the item."
        )
    return (*added, *items)


def check_race(options: RunOptions, place: Place = HERE) -> None:
    """Reject options that require a race, and options that races don't support.

    Raises
    ------
    OptionError
        If options are incompatible.
    """
    if not options.race:
        given = {"within": options.within is not None, "complete_winner": options.complete_winner}
        for name, is_given in given.items():
            if is_given:
                raise OptionError(
                    "", f"{{{name}}} works only with a race", "Add {race}, or drop it"
                )
        return
    if options.batch:
        problem = "a race selects requests after every few items, but batches take hours"
        raise OptionError("", problem, "Drop {batch} or {race}")
    if place.store is not None:
        raise OptionError("", "a race runs in one process", "Drop {store} or {race}")


def check_property(task: Task, specs: Sequence[JudgeSpec]) -> None:
    """Reject a task with a placeholder property if a remote judge would see it."""
    if problem := missing_property(task, specs):
        raise TaskError(problem)


def missing_property(task: Task, specs: Iterable[JudgeSpec]) -> str:
    """Return a message if a remote judge would see a placeholder property, else ""."""
    remote = next((spec.name for spec in specs if spec.remote), "")
    if not remote or task.property != DEFAULT_PROPERTY:
        return ""
    if not task.is_in_folder:
        return (
            f"{task.name}: the mapping has no property, so {remote} would rate a placeholder. Pass "
            "mapping['property'] with a phrase for the property that the raters rated."
        )
    return (
        f"{task.folder}: 'property' in task.yaml is still {DEFAULT_PROPERTY!r}, so {remote} "
        "would rate this placeholder. Replace it with a phrase for the property that the raters "
        "rated."
    )


def check_strategies(
    specs: Sequence[JudgeSpec], jobs: Sequence[Job], task: Task, prompts: Prompts
) -> None:
    """Reject strategies that don't support the task's options, their order or the elicitations."""
    for spec in specs:
        if spec.asking.needs_options:
            task.require_options(spec.name)
    in_order = [spec.strategy for spec in specs if spec.asking.keeps_order]
    if prompts.orders and in_order:
        raise JudgeError(
            f"{min(in_order)} needs a fixed order of the options. Drop --shuffle-options"
        )
    for spec in (job.judge.spec for job in jobs if not job.elicitations):
        raise JudgeError(
            f"{spec.name} asks about options one by one. Add --elicitation response_set"
            if spec.asking.asks_each_option
            else f"{spec.name} returns probabilities for individual options. Add --elicitation "
            "forced_choice"
        )


def check_replies(replies: int | str | None, jobs: Sequence[Job], n_options: int) -> None:
    """Reject a number of replies per item that no judge reaches."""
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
            f"--replies {replies} needs {needed} samples per item, but no judge has more than "
            f"{most}. Collect more with --samples {needed}."
        )


def check_judges(plan: Plan) -> None:
    """Check that every judge can run and, with a cost limit, has a known maximum cost.

    Raises
    ------
    JudgeUnavailable
        If a key is missing, or the limit can't be enforced. The message lists all judges that can't
        run. No cost was incurred.
    """
    reasons: list[str] = []
    for spec in _remote_and_own(plan):
        try:
            check(spec, plan.task)
        except JudgeUnavailable as reason:
            reasons.append(str(reason))
    if reasons:
        raise JudgeUnavailable(in_sentences(*reasons))
    check_limits(plan)


def check_limits(plan: Plan) -> None:
    """Check that a plan's cost limit can be enforced. See `check_limited`."""
    if plan.config.max_cost is not None:
        for spec in _remote_and_own(plan):
            check_limited(spec, is_soft=plan.config.max_cost_soft)


def overshoots(plan: Plan) -> list[Overshoot]:
    """Return by how much each remote judge can exceed a soft limit."""
    if plan.config.max_cost is None or not plan.config.max_cost_soft:
        return []
    return [
        overshoot_of(
            job.judge.spec,
            sum(job.planned.values())
            if in_batches(plan.config, job.judge.spec)
            else job.judge.spec.concurrency,
        )
        for job in plan.jobs
        if (price := price_of(job.judge.spec)) is None or price.output
    ]


def _remote_and_own(plan: Plan) -> tuple[JudgeSpec, ...]:
    """Return the specifications that receive requests: the judges and any embedding model."""
    return (*plan.specs, *([plan.embedder] if plan.embedder else []))


def in_batches(config: RunConfig, spec: JudgeSpec) -> bool:
    """Return whether a run sends a judge's requests in batches."""
    return config.batch and edge("batch", BatchEdge).takes_batches(spec)


class Race(Observer, Protocol):
    """Rounds of requests, each of which depends on earlier replies."""

    @property
    def has_ended(self) -> bool:
        """Whether no requests remain."""

    def next_jobs(self, stopped: Mapping[str, str]) -> Sequence[Job]:
        """Return the judges' next jobs. Empty if no requests remain."""

    def asked_jobs(self) -> list[Job]:
        """Return the judges' jobs from all rounds so far."""


class RaceEdge(RacedSources, Protocol):
    """Interface to races."""

    def race_options(self, task: Task, options: RunOptions, choices: Choices) -> RunOptions:
        """Complete a race's options with the options that its loss implies."""

    def pool_of(self, task: Task, specs: tuple[JudgeSpec, ...], config: RunConfig) -> object:
        """Return a race's pool of items. Reject judges and tasks that can't race."""

    def rounds(self, plan: Plan, logged: Mapping[UnitKey, Verdict], observer: Observer) -> Race:
        """Return a race's rounds, continuing from its log."""


class CheckEdge(Protocol):
    """Interface to checks of a judge without labels."""

    def plans_of_judge(
        self, judge: str, task: Task, which: Items, limit: Limit, server: Server
    ) -> dict[str, Plan]:
        """Plan a judge's check on a task's first items."""

    def plans_in_run(
        self, folder: RunFolder, judge: str, which: Items, limit: Limit, server: Server
    ) -> dict[str, Plan]:
        """Plan a check of a run's judge on the run's first items."""

    def check_judge(
        self,
        plans: Mapping[str, Plan],
        *,
        observer: Observer,
        below: Path,
        place: RunPlace,
        limit: Limit,
    ) -> JudgeCheck:
        """Run all plans of a check, and measure flip rates."""


class BatchEdge(Protocol):
    """Interface to batches."""

    def takes_batches(self, spec: JudgeSpec) -> bool:
        """Return whether a judge's provider accepts its requests in batches."""

    def reserved_usd(self, folder: RunFolder) -> float:
        """Return the maximum cost in USD of batches that aren't collected yet."""

    def batched_jobs(
        self, plan: Plan, folder: RunFolder, store: Store, observer: Observer
    ) -> list[Job]:
        """Return a plan's jobs, in batches if the judge's provider accepts them."""
