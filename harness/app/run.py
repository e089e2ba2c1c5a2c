"""Running a plan: create its folder, send requests, validate verdicts and write results."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING

from harness.analysis import validate
from harness.app.ask import (
    Asked,
    ClusterEdge,
    ask_open_units,
    note_paid,
    shared_store,
)
from harness.app.embeddings import embed, embedded, run_cost_usd
from harness.app.plan import Plan, check_judges, check_race, overshoots
from harness.errors import (
    ExitCode,
    HarnessError,
    OptionError,
    RunError,
)
from harness.files.user_folders import cache_folder, resume_command
from harness.judging.fingerprints import fingerprints_of
from harness.judging.judges.judge_registry import (
    announcement_of,
    notice_of,
)
from harness.judging.judges.response_errors import UNREADABLE, explain
from harness.judging.running.budget import CostBudget
from harness.judging.running.recorder import NoObserver
from harness.judging.storage.reply_store import NoStore
from harness.judging.storage.response_cache import ResponseCache
from harness.loading import edge
from harness.options.concerns import ALL_ITEMS, HERE, NO_CHOICES, check_place
from harness.report.export import PAGES
from harness.report.html.details import details_of
from harness.runs.asked_items import blank_lines
from harness.runs.ledger import (
    count_run,
    count_verdicts,
    fix_holdout,
    settle,
    spend_holdout,
    task_folder_of,
    unspent_holdout,
)
from harness.runs.run_folder import NewJudges, RunFolder, default_out, model_change
from harness.runs.sources import source_of, source_of_verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from harness.analysis import Source, Validation
    from harness.judging.prompts.requests import Prompts
    from harness.judging.running.recorder import Observer
    from harness.judging.running.stopping import StopRequests
    from harness.judging.storage.reply_store import Store
    from harness.options.concerns import Choices, Place, Validating
    from harness.tasks import Task


@dataclass(frozen=True, slots=True)
class RunResult:
    """Result of a run.

    Attributes
    ----------
    cost_usd : float
        Cost of all replies with a price.
    assumed_usd : float
        With a cost limit, the maximum cost of calls that were possibly billed but whose reply has
        no known price.
    """

    folder: RunFolder
    validation: Validation
    cost_usd: float
    exit_code: int
    assumed_usd: float = 0.0


class LineObserver(NoObserver):
    """Observer that reports why judges are incomplete, but not their progress."""

    def ended(self, judge: str, reason: str) -> None:
        """Report why a judge is incomplete."""
        if reason:
            self.say(f"{judge} is incomplete ({explain(reason)})")


def start(plan: Plan, out: Path, name: str | None = None) -> RunFolder:
    """Create a plan's run folder. See `RunFolder.create`."""
    specs = (*plan.specs, *plan.ensembles)
    reading = {job.judge.spec.name for job in plan.jobs if job.judge.reads_prompts}
    judges = NewJudges(
        specs=specs,
        skipped=plan.skipped,
        notices={spec.name: notice for spec in specs if (notice := notice_of(spec))},
        fingerprints=fingerprints_of(specs, plan.task, plan.prompts, reading),
        embedder=plan.embedder,
    )
    folder = RunFolder.create(out, plan.task, plan.config, judges, prompts=plan.prompts, name=name)
    fix_holdout(folder, plan.task)
    return folder


def part_name(task: Task, prompts: Prompts, judge: str) -> str:
    """Return the folder name for a chunk of items, which is determined by the judge's requests."""
    asked_for = [task.content_hash, prompts.hash, judge]
    return hashlib.sha256("\0".join(asked_for).encode()).hexdigest()[:16]


def ask_part(
    plan: Plan, out: Path, *, observer: Observer, place: Place = HERE, shows_text: bool = False
) -> tuple[RunFolder, Asked]:
    """Run a judge on a chunk of items, in a folder named by `part_name`, without validation.

    Parameters
    ----------
    plan : Plan
        The part, see `harness.app.plan_of_run.plan_other_items`.
    out : Path
        Folder in which its folder is created or continued.
    observer, place
        As for `run_plan`.
    shows_text : bool
        Whether the observer may see replies, which the folder doesn't keep.

    Raises
    ------
    RunError
        If the folder can't be used.
    """
    check_place(place)
    check_judges(plan)
    [judge] = plan.specs
    path = out / part_name(plan.task, plan.prompts, judge.name)
    has_begun = (path / "manifest.json").exists()
    folder = RunFolder.open(path) if has_begun else start(plan, out, path.name)
    if place.refresh and folder.manifest.state == "asked":
        path.rename(path.with_name(f"{path.name}-until-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"))
        folder = start(plan, out, path.name)
    if folder.manifest.state == "asked":
        exit_code = ExitCode(folder.manifest.exit_code or 0)
        return folder, Asked(exit_code, CostBudget(None, run_cost_usd(folder)))
    store = _Session(plan, folder, observer, place).open_store()
    return folder, ask_open_units(plan, folder, store, observer=observer, shows_text=shows_text)


def run_plan(
    plan: Plan,
    *,
    observer: Observer,
    out: Path | None = None,
    place: Place = HERE,
    stop: StopRequests | None = None,
) -> RunResult:
    """Run a plan: check its judges, create or reopen its folder, send requests and write results.

    Both ``harness.run`` and the command line call this.

    Parameters
    ----------
    plan : Plan
        See `plan_run` and `plan_resumed_run`.
    observer : Observer
        Receives progress.
    out : Path, optional
        Folder in which a new run's folder is created; see `harness.runs.run_folder.default_out`.
    place : Place
        Where to run judges, and to keep replies.
    stop : StopRequests, optional
        Stop requests from another thread.

    Raises
    ------
    HarnessError
        If a judge isn't available, or the run folder or the cache can't be used.
    """
    check_place(place)
    is_asked = plan.folder is not None and plan.folder.manifest.state == "asked"
    if plan.folder is not None and is_asked and not plan.embedder:
        return _complete(plan, plan.folder)
    with _folder_of(plan, out, place, observer) as folder:
        return execute(plan, folder, observer=observer, place=place, stop=stop)


def ask_plan(
    plan: Plan,
    *,
    observer: Observer,
    out: Path | None = None,
    place: Place = HERE,
) -> tuple[RunFolder, Asked]:
    """Send a plan's open requests in its run folder, without validation.

    Parameters and errors are as for `run_plan`.
    """
    with _folder_of(plan, out, place, observer) as folder:
        return folder, _Session(plan, folder, observer, place).ask()


@contextmanager
def _folder_of(
    plan: Plan, out: Path | None, place: Place, observer: Observer
) -> Iterator[RunFolder]:
    """Check a plan's judges and yield its run folder.

    A new folder is removed if nothing is sent.
    """
    check_place(place)
    check_race(plan.config, place)
    check_judges(plan)
    for line in (*plan.kept_answers, *blank_lines(plan.task, plan.config)):
        observer.say(line)
    for judge, reason in plan.skipped.items():
        observer.say(f"{judge} skipped: {reason}")
    for overshoot in overshoots(plan):
        observer.say(str(overshoot))
    for line in dict.fromkeys(filter(None, map(announcement_of, plan.specs))):
        observer.say(line)
    folder = plan.folder or start(plan, out or default_out())
    try:
        yield folder
    except HarnessError:
        if plan.folder is None and folder.manifest.state == "planned":  # nothing was sent
            folder.remove()
        raise


def execute(
    plan: Plan,
    folder: RunFolder,
    *,
    observer: Observer,
    place: Place = HERE,
    stop: StopRequests | None = None,
) -> RunResult:
    """Send all open requests, then validate the verdicts and write results. See `run_plan`."""
    session = _Session(plan, folder, observer, place, stop)
    asked = session.ask()
    budget = asked.budget
    session.embed(budget)
    try:
        validation = finish(folder, task=plan.task if plan.config.item_text else None)
    except KeyboardInterrupt:
        observer.say(
            "the run was interrupted. Its replies are kept. Compute the results with: "
            f"harness validate {quote(str(folder.path))}"
        )
        raise
    if line := model_change(folder, validation):
        observer.say(line)
    cost_usd = budget.spent_usd - budget.assumed_usd
    return RunResult(folder, validation, cost_usd, asked.exit_code, budget.assumed_usd)


@dataclass(frozen=True, slots=True)
class _Session:
    """A plan, its run folder, and settings for sending its requests. See `run_plan`."""

    plan: Plan
    folder: RunFolder
    observer: Observer
    place: Place
    stop: StopRequests | None = None

    def ask(self) -> Asked:
        """Send all open requests. If some remain, report how to resume."""
        plan, folder, place = self.plan, self.folder, self.place
        follow, store = self._launched(), self.open_store()
        asked = ask_open_units(
            plan, folder, store, observer=self.observer, stop=self.stop, follow=follow
        )
        if folder.manifest.state == "stopped" and not plan.is_part:
            is_unreadable = UNREADABLE in folder.manifest.ended.values()
            options = [*plan.resume_options, *(["--keep-going"] if is_unreadable else [])]
            options += place.resume_words
            command = resume_command(folder.path, place.cache, place.store, options)
            limit = (plan.config.max_cost, asked.budget.assumed_usd)
            self.observer.say(how_to_resume(command, asked.exit_code, *limit))
        return asked

    def embed(self, budget: CostBudget) -> None:
        """Request vectors for the run's texts, if its task compares texts by vectors."""
        if self.plan.embedder is None:
            return
        try:
            embed(
                source_of(self.folder, self.plan.task),
                self.plan.embedder,
                self.folder.embeddings,
                self.open_store(),
                observer=self.observer,
                budget=budget,
                retry=self.plan.retry,
                stop=self.stop,
            )
        finally:
            note_paid(self.folder, budget)

    def open_store(self) -> Store:
        """Open the shared store if one is set, or else the cache, unless replies aren't stored."""
        place, say = self.place, self.observer.say
        if place.store is not None:
            return shared_store(
                place.store,
                self.plan,
                self.folder.manifest.run_id,
                self.observer,
                budget=place.budget_name,
                folder=self.folder.path.name,
            )
        if place.no_store:
            return NoStore()
        return ResponseCache(place.cache or cache_folder(), say, is_refreshed=place.refresh)

    def _launched(self) -> Callable[[Store, Observer, StopRequests], str] | None:
        """Return a function that starts and follows the run's other processes, or None."""
        if self.place.executor == "local":
            return None
        if self.place.store is None:
            raise RunError(
                "processes on a cluster need a shared store. Pass --store postgresql://..."
            )
        return edge("cluster", ClusterEdge).launcher(self.plan, self.folder, self.place)


def _complete(plan: Plan, folder: RunFolder) -> RunResult:
    """Write the results of a run that was killed after its last reply."""
    validation = finish(folder, task=plan.task if plan.config.item_text else None)
    exit_code = folder.manifest.exit_code or ExitCode.DONE
    return RunResult(folder, validation, run_cost_usd(folder), exit_code)


def finish(folder: RunFolder, *, task: Task | None = None, new_ledger: bool = False) -> Validation:
    """Validate the verdicts of a run folder and write the results to it.

    The ratings' ledger counts the run's judges, unless it already did. See `count_run`.

    Parameters
    ----------
    folder : RunFolder
        The run.
    task : Task, optional
        The folder's copy of the task, if it is loaded already.
    new_ledger : bool
        Whether to forget the judges that were tried on these items before.

    Raises
    ------
    HarnessError
        If the folder cannot be read or written.
    """
    source = source_of(folder, task)
    tried = count_run(folder, source, new_ledger=new_ledger)
    validation = validate(replace(source, tried=tried))
    settle(tried, validation, task_folder_of(folder))
    write_report(folder, validation, source)
    if folder.manifest.state == "asked":
        folder.update(state="done", exit_code=folder.manifest.exit_code or int(ExitCode.DONE))
    return validation


def write_report(folder: RunFolder, validation: Validation, source: Source) -> None:
    """Write ``metrics.json`` and the `PAGES` into a run folder.

    Raises
    ------
    RunError
        If a file cannot be written. Files that come after it are unchanged.
    """
    folder.write_metrics(validation.to_json() + "\n")
    details = details_of(source, folder, certainty=validation.certainty)
    for name, draw in PAGES.items():
        folder.write(name, draw(validation, details))


def validate_run(
    folder: RunFolder, choices: Choices = NO_CHOICES, *, new_ledger: bool = False
) -> Validation:
    """Validate a run folder's verdicts again, and write the results to the folder.

    Neither the folder nor the ledger is written if choices differ from the run's own, or if a
    different schema version wrote ``metrics.json``.

    Raises
    ------
    HarnessError
        If the folder can't be read or written, or a new ledger is requested but nothing would be
        written.
    """
    chosen = choices.explicit()
    if not chosen and not folder.kept_metrics:
        return finish(folder, new_ledger=new_ledger)
    if new_ledger:
        raise RunError(
            f"{folder.path}: this command writes nothing, because your options differ from the "
            "run's or its metrics.json has a different version. So it can't start a new ledger. "
            "Drop --new-ledger."
        )
    return validate(source_of(folder).with_settings(**chosen))


def validate_verdicts(
    task: str | Task,
    verdicts: Path | None,
    options: Validating = ALL_ITEMS,
    choices: Choices = NO_CHOICES,
) -> Validation:
    """Validate another tool's verdicts. Without verdicts, summarise the human ratings.

    The ratings' ledger counts the judges. See `source_of_verdicts`.
    """
    if options.holdout is not None and verdicts is None:
        raise OptionError("holdout", "without verdicts, no judge is tried", "Drop {holdout}")
    source = embedded(source_of_verdicts(task, verdicts, options, choices))
    tried = count_verdicts(
        source,
        limit=options.limit,
        holdout=options.holdout,
        new_ledger=options.new_ledger,
    )
    validation = validate(replace(source, tried=tried))
    settle(tried, validation, source.task.folder)
    return validation


def confirm_verdicts(
    task: str | Task,
    verdicts: Path,
    judge: str,
    options: Validating = ALL_ITEMS,
    choices: Choices = NO_CHOICES,
) -> Validation:
    """Validate one of another tool's judges on the held-out items, which can be used only once.

    The judge is tested as the only judge. The items count as used once the judge has a result.

    Raises
    ------
    RunError
        If no items are held out, the judge has no verdicts on them, or they were used before.
    """
    source = source_of_verdicts(task, verdicts, options, choices, confirmed=judge)
    tried = unspent_holdout(source.task, options.criterion)
    validation = validate(replace(embedded(source), tried=tried))
    spend_holdout(source, options.criterion)
    return validation


def _possibly_spent(assumed_usd: float) -> str:
    """Return a sentence about possible spending that wasn't reported, or "" if none is possible."""
    if not assumed_usd:
        return ""
    return (
        f" ${assumed_usd:.4f} of it could have been spent on calls without a reported cost, such "
        f"as calls in flight when a run was killed."
    )


def how_to_resume(
    command: str, exit_code: ExitCode, max_cost: float | None, assumed_usd: float = 0.0
) -> str:
    """Explain why the session ended early, and give the command that continues it.

    ``assumed_usd`` of the limit ``max_cost`` was possibly spent.
    """
    if exit_code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}:
        return f"the run was interrupted. Its replies are kept. Resume with: {command}"
    if exit_code == ExitCode.COST_LIMIT and max_cost is not None:
        return (
            f"--max-cost {max_cost:g} is reached.{_possibly_spent(assumed_usd)} Raise it and "
            f"resume: {command} --max-cost {2 * max_cost or 1:g}"
        )
    return f"some requests couldn't be sent. Resume with: {command}"
