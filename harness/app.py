"""The main job: a task and some judges in, a run folder with a decision out."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from harness.analysis import Choices, JudgeFacts, Source, check_choices, validate
from harness.errors import JudgeUnavailable, RunError, TaskError, VerdictError
from harness.judging.cache_folder import cache_folder, resume_command
from harness.judging.judges.config import load_judges
from harness.judging.judges.pricing import price_of
from harness.judging.judges.registry import build, check, resolve
from harness.judging.parsing.external_verdicts import read_external
from harness.judging.prompts.requests import Prompts
from harness.judging.running.batch_api import style_of
from harness.judging.running.batches import BatchRunner
from harness.judging.running.budget import Budget
from harness.judging.running.cost_estimate import quote_of
from harness.judging.running.jobs import Job
from harness.judging.running.paid_replies import receipts_of
from harness.judging.running.services import NoCache
from harness.judging.running.worker_pool import Runner
from harness.judging.storage.batch_ledger import BatchLedger
from harness.judging.storage.response_cache import ResponseCache, recover_replies
from harness.judging.storage.verdict_log import LogReading, read_log
from harness.ratings import select_items
from harness.report import write_report
from harness.runs import RunConfig, RunFolder, list_runs, source_of
from harness.tasks import load_task
from harness.tasks.options import DEFAULT_PROPERTY

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from pathlib import Path

    from harness.analysis import Validation
    from harness.judging.judges.config import JudgeSpec
    from harness.judging.parsing.verdict import Verdict
    from harness.judging.prompts.requests import Elicitation
    from harness.judging.running.cost_estimate import JudgeQuote
    from harness.judging.running.jobs import Observer, Settings
    from harness.judging.running.services import CacheService
    from harness.tasks import Task

EXIT_DONE, EXIT_BUDGET, EXIT_INCOMPLETE, EXIT_SIGINT, EXIT_SIGTERM = 0, 1, 3, 130, 143


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that has been checked and not yet begun.

    Attributes
    ----------
    jobs : tuple of Job
        One per judge, named judges first, baselines last.
    skipped : dict of str to str
        Judges that do not apply, with the reason.
    """

    task: Task
    config: RunConfig
    prompts: Prompts
    jobs: tuple[Job, ...]
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def specs(self) -> tuple[JudgeSpec, ...]:
        """The judges' specifications."""
        return tuple(job.judge.spec for job in self.jobs)


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    folder: RunFolder
    validation: Validation
    spent_usd: float
    exit_code: int


def make_plan(
    config: RunConfig,
    *,
    judges: Sequence[str] | None,
    judges_file: Path | None = None,
    base_url: str | None = None,
    key_env: str | None = None,
    baselines: bool = True,
    prepare: Callable[[Task], Task] | None = None,
) -> Plan:
    """Load and check everything a run needs; nothing is asked and nothing is written.

    ``prepare`` may make another task of the one that was loaded; that is then the run's.

    Raises
    ------
    TaskError, PromptError, JudgeError
        If anything is wrong with the task, the templates or a judge.
    """
    task = load_task(config.task)
    if prepare is not None:
        task = prepare(task)
    chosen = resolve(
        judges,
        task,
        load_judges(judges_file),
        baselines=baselines,
        base_url=base_url,
        key_env=key_env,
    )
    specs = tuple(_as_asked(spec, config) for spec in chosen.specs)
    _check_property(task, specs)
    return _plan(task, config, specs, dict(chosen.skipped), Prompts.load(task))


def _check_property(task: Task, specs: Sequence[JudgeSpec]) -> None:
    asked = next((spec.name for spec in specs if spec.remote), "")
    if asked and task.property == DEFAULT_PROPERTY:
        raise TaskError(
            f"{task.folder}: 'property' in task.yaml still is {DEFAULT_PROPERTY!r}, and {asked} would be "
            "asked for that; say there what was rated, as a phrase."
        )


def _as_asked(spec: JudgeSpec, config: RunConfig) -> JudgeSpec:
    """Change a judge as the command line wants it; in a batch it has the batch's price."""
    changes: dict[str, object] = {"allow_redirects": spec.allow_redirects or config.allow_redirects}
    if config.batch and style_of(spec) is not None:
        price = price_of(spec)
        changes |= {"price": price and price.in_batch(), "n_per_request": 1}
    return spec.model_copy(update=changes)


def resume_plan(folder: RunFolder, *, max_cost: float | None = None) -> Plan:
    """Plan the rest of a run from its own folder: same task, same judges, same prompts.

    ``max_cost`` replaces the run's own limit.

    Raises
    ------
    RunError
        If the task or the prompts have changed since.
    """
    manifest = folder.manifest
    task = folder.load_task()
    prompts = Prompts.load(task, folder.prompts)
    if prompts.hash != manifest.hashes["prompts"]:
        raise RunError(
            f"{folder.prompts}: the prompts are not those that this run was begun with; "
            "put them back, or start a new run."
        )
    config = manifest.config
    if max_cost is not None:
        config = config.model_copy(update={"max_cost": max_cost})
    return _plan(task, config, manifest.judges, manifest.skipped, prompts)


def _plan(
    task: Task,
    config: RunConfig,
    specs: tuple[JudgeSpec, ...],
    skipped: dict[str, str],
    prompts: Prompts,
) -> Plan:
    items = select_items(task, criterion=config.criterion, limit=config.limit)
    if not any(task.has_text(item) for item in items):
        raise TaskError(
            f"{task.folder}: the task has labels but no texts, so no judge can be asked; "
            f"`harness validate --task {config.task}` shows what its ratings say."
        )
    asked = tuple(e for e in config.elicitations if e in task.elicitations)
    if not asked:
        raise TaskError(
            f"{task.folder}: {', '.join(config.elicitations)} cannot be asked with "
            f"{len(task.options)} options; use --elicitation forced_choice."
        )
    check_choices(task, items, config.choices)
    jobs = tuple(
        Job(
            judge=build(spec, task, prompts, seed=config.seed),
            items=items,
            elicitations=asked,
            samples=config.samples or spec.samples,
        )
        for spec in specs
    )
    return Plan(task, config, prompts, jobs, skipped)


def quote(plan: Plan) -> list[JudgeQuote]:
    """Say what every judge would cost if nothing were cached; nothing is asked."""
    return [quote_of(job, plan.task) for job in plan.jobs]


def check_judges(plan: Plan) -> None:
    """Check that every judge can be asked and, under a limit, that its price is known.

    Raises
    ------
    JudgeUnavailable
        If a key is missing, or a price is unknown that ``--max-cost`` needs. Nothing was spent.
    """
    for spec in plan.specs:
        check(spec, plan.task)
        if plan.config.max_cost is not None and price_of(spec) is None:
            raise JudgeUnavailable(
                f"{spec.name}: its price is unknown, so --max-cost cannot hold; "
                "give `price: {input: .., output: ..}` in your judges.yaml."
            )


def begin(plan: Plan, out: Path) -> RunFolder:
    """Make the run folder.

    Raises
    ------
    RunError
        If it cannot be written.
    """
    return RunFolder.create(
        out,
        plan.task,
        plan.config,
        plan.specs,
        skipped=plan.skipped,
        prompts=plan.prompts,
    )


def execute(
    plan: Plan,
    folder: RunFolder,
    *,
    observer: Observer,
    cache: Path | None = None,
    use_cache: bool = True,
    settings: Settings | None = None,
    verb: str = "run --resume",
) -> RunResult:
    """Ask what is open, then validate and write the results; ``verb`` goes on with such a run.

    Raises
    ------
    RunError
        If the run folder or the cache cannot be used.
    """
    store: CacheService = (
        ResponseCache(cache or cache_folder(), observer.say) if use_cache else NoCache()
    )
    with folder.open_log() as log:
        before = folder.read_verdicts()
        _set_aside(folder, before, observer)
        store.follow(folder.verdicts, folder.batches if plan.config.batch else None)
        _recover(folder, before, store)
        folder.update(state="running", ended={}, config=plan.config)
        budget = Budget(plan.config.max_cost, spent(before))
        parts = {
            "log": log,
            "store": store,
            "done": before.final,
            "observer": observer,
            "budget": budget,
            "settings": settings,
        }
        import uvloop  # noqa: PLC0415 -- only when something is asked

        runner = _runner(plan, folder, parts)
        began = time.monotonic()
        try:
            ends, signalled = uvloop.run(_until_signalled(runner, observer))
        finally:
            asking_s = (folder.manifest.asking_s or 0.0) + time.monotonic() - began
            _log_paces(folder, runner)
            store.close()
    stopped = bool(signalled or budget.exhausted or any(ends.values()))
    if stopped:
        observer.say(_how_to_go_on(resume_command(folder.path, cache, verb), signalled, budget))
    folder.update(
        state="stopped" if stopped else "done",
        ended={k: v for k, v in ends.items() if v},
        asking_s=round(asking_s, 3),
    )
    try:
        validation = finish(folder, task=plan.task if plan.config.item_text else None)
    except KeyboardInterrupt:
        observer.say(
            f"interrupted; what was received is kept. Go on: harness validate {folder.path}"
        )
        raise
    return RunResult(folder, validation, budget.spent_usd, _exit_code(ends, budget, signalled))


def _how_to_go_on(command: str, signalled: int, budget: Budget) -> str:
    if signalled:
        return f"interrupted; what was received is kept. Resume with: {command}"
    if budget.exhausted:
        return f"--max-cost {budget.limit_usd:g} is reached. Raise it: {command} --max-cost USD"
    return f"not all could be asked. Resume with: {command}"


def finish(
    folder: RunFolder, choices: Choices | None = None, *, task: Task | None = None
) -> Validation:
    """Compute everything a run folder's verdicts say and write it beside them.

    With other choices than the run's own, nothing is written. ``task`` is what the folder's copy of
    it reads as, where it is at hand.
    """
    source = source_of(folder, task)
    if choices is not None and choices.given():
        return validate(replace(source, **choices.given()))
    validation = validate(source)
    write_report(folder, validation, source)
    return validation


def validate_verdicts(
    task_name: str,
    verdicts: Path | None,
    *,
    criterion: str | None = None,
    limit: int | None = None,
    choices: Choices | None = None,
    seed: int = 0,
) -> Validation:
    """Validate verdicts that were made elsewhere; without any, describe the human ratings.

    Raises
    ------
    TaskError, VerdictError
        If the task or the file is wrong.
    """
    source = source_of_verdicts(
        task_name, verdicts, criterion=criterion, limit=limit, choices=choices, seed=seed
    )
    return validate(source)


def source_of_verdicts(
    task_name: str,
    verdicts: Path | None,
    *,
    criterion: str | None = None,
    limit: int | None = None,
    choices: Choices | None = None,
    seed: int = 0,
) -> Source:
    """Read a task and verdicts that were made elsewhere.

    Raises
    ------
    TaskError, VerdictError
        If the task or the file is wrong.
    """
    task = load_task(task_name)
    items = select_items(task, criterion=criterion, limit=limit)
    here = {item.id for item in items}
    by_judge: dict[str, list[Verdict]] = {}
    elsewhere: Counter[str] = Counter()
    for verdict in read_external(verdicts, task) if verdicts else ():
        if verdict.item in here:
            by_judge.setdefault(verdict.judge, []).append(verdict)
        else:
            elsewhere[verdict.judge] += 1
    return Source(
        task=task,
        items=items,
        judges=tuple(JudgeFacts(name=judge) for judge in by_judge),
        verdicts=by_judge,
        planned={judge: planned_at_least(given, len(items)) for judge, given in by_judge.items()},
        seed=seed,
        notes=_left_out(elsewhere, by_judge),
        **(choices or Choices()).given(),
    )


def _left_out(elsewhere: Mapping[str, int], kept: Container[str]) -> tuple[str, ...]:
    """Say which verdicts are about items that were not chosen."""
    if not elsewhere:
        return ()
    each = ", ".join(
        f"{judge} {n}" + ("" if judge in kept else " (all it has)")
        for judge, n in elsewhere.items()
    )
    total = sum(elsewhere.values())
    return (f"{total} verdicts are left out, as their items were not chosen: {each}",)


def planned_at_least(verdicts: Sequence[Verdict], n_items: int) -> dict[Elicitation, int]:
    """Say what a judge must have been asked: every item as often as the item asked most."""
    asked: dict[Elicitation, set[int]] = {}
    for verdict in verdicts:
        asked.setdefault(verdict.elicitation, set()).add(verdict.sample)
    return {elicitation: len(samples) * n_items for elicitation, samples in asked.items()}


def spent(reading: LogReading) -> float:
    """USD that the replies in a log cost, each once; those from the cache cost nothing again."""
    replies = receipts_of(reading.final.values())
    return sum(one.cost_usd or 0.0 for v, new in replies if not v.cached for one in new)


def _set_aside(folder: RunFolder, before: LogReading, observer: Observer) -> None:
    """Keep the damaged lines of a log beside it, and say so."""
    if before.damaged:
        kept = folder.quarantine(before.damaged)
        observer.say(
            f"{len(before.damaged)} damaged lines of verdicts.jsonl are kept in {kept}; what they "
            "said is taken from the cache, or else asked again"
        )


def _recover(folder: RunFolder, before: LogReading, store: CacheService) -> None:
    """Bring replies into the cache that were received by runs that did not get to it."""
    recover_replies(before, store.add_many)
    for run in list_runs(folder.path.parent).readable:
        if run.manifest.state == "running" and run.path != folder.path:
            with suppress(VerdictError):
                recover_replies(read_log(run.verdicts), store.add_many)


async def _until_signalled(runner: Runner, observer: Observer) -> tuple[dict[str, str], int]:
    """Run; the first SIGINT or SIGTERM drains, the second ends at once."""
    loop = asyncio.get_running_loop()
    job = asyncio.ensure_future(runner.run())
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        if len(received) == 1:
            runner.drain()
            observer.say("receiving what is in flight; interrupt once more to stop at once")
        else:
            job.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal, number)
    try:
        return await job, (received or [0])[0]
    except asyncio.CancelledError:
        return {}, received[0]
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _runner(plan: Plan, folder: RunFolder, parts: dict[str, Any]) -> Runner:
    _name_waiting(folder, parts["observer"])
    if not plan.config.batch:
        return Runner(plan.task, plan.jobs, **parts)
    for spec in plan.specs:
        if spec.remote and style_of(spec) is None:
            parts["observer"].say(f"{spec.name}: no batches are known for it; asked one by one")
    book = BatchLedger(folder.batches)
    return BatchRunner(plan.task, plan.jobs, book=book, **parts)


def _name_waiting(folder: RunFolder, observer: Observer) -> None:
    """Name other runs over the same task that wait for batches: this one would ask the same."""
    for run in list_runs(folder.path.parent).readable:
        same = run.manifest.hashes["task"] == folder.manifest.hashes["task"]
        with suppress(RunError):
            if same and run.path != folder.path and BatchLedger(run.batches).batches:
                observer.say(
                    f"{run.path.name} waits for batches; resume it first: what they hold is not "
                    "asked for on the same cache, and paid for twice on another"
                )


def _log_paces(folder: RunFolder, runner: Runner) -> None:
    """Append to ``rate.jsonl`` how fast each remote judge was asked, and why that changed."""
    began = time.time() - time.monotonic()
    lines = [
        {
            "judge": judge,
            "at": datetime.fromtimestamp(began + event.at_s, UTC).isoformat(),
            "limit": event.limit,
            "reason": event.reason,
        }
        for judge, events in runner.paces.items()
        for event in events
    ]
    if lines:
        with suppress(OSError), (folder.path / "rate.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)


def _exit_code(ends: dict[str, str], budget: Budget, signalled: int) -> int:
    if signalled:
        return EXIT_SIGINT if signalled == signal.SIGINT else EXIT_SIGTERM
    if budget.exhausted:
        return EXIT_BUDGET
    return EXIT_INCOMPLETE if any(ends.values()) else EXIT_DONE
