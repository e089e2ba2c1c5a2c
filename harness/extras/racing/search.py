"""Search for a better way to query a judge, using races and a test on held-out items.

Every round is a separate run in the search's folder, and the last one contains the confirmation.
The search reads its state from these folders, so the same command continues an interrupted search.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from harness.analysis import validate
from harness.analysis.improvement import Candidate, Improvement
from harness.analysis.ratings import select_items
from harness.app.embeddings import run_cost_usd
from harness.app.plan import check_judges, checked_plan, plan_run
from harness.app.plan_of_run import plan_confirmation, plan_resumed_run
from harness.app.run import run_plan, start
from harness.errors import ExitCode, JudgeError, OptionError, RunError, TaskError
from harness.extras.racing.compared_pair import pair_of
from harness.extras.racing.search_biases import biased_names
from harness.extras.racing.search_moves import (
    example_items,
    names_to_try,
    shows_examples,
    with_strategy_of,
)
from harness.extras.racing.search_output import (
    DIFF,
    run_command,
    wording_diff,
    write_prompts,
    write_report,
)
from harness.extras.racing.search_writer import (
    WRITING,
    plan_writing,
    write_judges,
    written,
)
from harness.files.regular_files import write_file
from harness.judging.judges.config import explained, load_judges
from harness.judging.judges.judge_registry import check, look_up
from harness.judging.judges.response_errors import is_lasting
from harness.options.concerns import WITHIN, Choices, Limit, RunOptions
from harness.runs.ledger import check_unspent, holdout_of, judges_tried, recorded_holdout
from harness.runs.run_folder import CONFIRMATION, RunFolder
from harness.runs.sources import source_of
from harness.stats.selection.paired_gain import items_for_gain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness.analysis.improvement import NoClaim, SearchEnding
    from harness.analysis.race_result import RaceResult
    from harness.app.judge_search import JudgeSearch, Watch
    from harness.app.plan import Plan
    from harness.judging.running.stopping import StopRequests
    from harness.tasks import Task

RESULT = "improvement.json"  # in a search's folder
HOLDOUT = 0.3  # share of the items, if none is held out yet
CHOICES = Choices(ranks_by="forced_choice")  # unit of a gain: agreement with a rater's answer


class Paid(NamedTuple):
    """Cost of a search, and the maximum cost of calls without a reported cost."""

    usd: float
    at_most_usd: float


def plan_round(
    search: JudgeSearch, number: int, best: str, limit: Limit, first: Sequence[str] = ()
) -> Plan | None:
    """Plan a round with the original judge, the best one so far, and new candidates.

    Returns None if no candidates are left. Judges made for the round (with a wording, or with
    biases) come ``first``.

    Raises
    ------
    HarnessError
        If the judge, the task or an option is wrong.
    """
    search.task.require_options("a search for a better way to query a judge")
    folders = search.folders()
    tried = {spec.name for folder in folders for spec in folder.manifest.judges}
    names = [name for name in first if name not in tried]
    names += names_to_try(
        search.judge, best, tried, search.task, search.asked_server, shows_examples=number > 1
    )
    if not names and number == 1:
        raise JudgeError(
            f"{search.judge}: there's no other way to query this judge. Choose a judge that reads "
            "prompts"
        )
    holdout = folders[0].manifest.config.holdout if folders else _holdout(search)
    pool = _examples(search, folders[0], holdout) if folders else None
    own = search.settings
    options = own.model_copy(
        update={
            "race": True,
            "within": search.within,
            "holdout": holdout,
            **{name: getattr(limit, name) for name in Limit.model_fields},
        }
    )
    return _plan_of(search, best, names[: search.options.candidates], options, pool)


def _plan_of(
    search: JudgeSearch, best: str, names: Sequence[str], options: RunOptions, pool: Task | None
) -> Plan | None:
    """Plan a race of candidates, dropping those with too few examples to show."""
    while names:
        asked = list(dict.fromkeys((search.judge, best, *names)))
        try:
            plan = plan_run(
                *(search.task, asked, options),
                choices=CHOICES,
                server=search.asked_server,
                pool=pool,
                purpose="search",
            )
            return _without_examples(plan)
        except TaskError:
            few = [name for name in names if not shows_examples(name)]
            if len(few) == len(names):
                raise
            names = few
    return None


def _without_examples(plan: Plan) -> Plan:
    """Remove from a plan the items that any judge's prompts show as examples."""
    if (shown := plan.prompts.demonstrations) is None:
        return plan
    ids = {demonstration.item for drawn in shown.drawn.values() for demonstration in drawn}
    config = plan.config.model_copy(update={"left_out": tuple(sorted(ids))})
    return replace(
        checked_plan(plan.task, config, (*plan.specs, *plan.ensembles), plan.prompts),
        skipped=plan.skipped,
        embedder=plan.embedder,
        resume_options=plan.resume_options,
    )


def _holdout(search: JudgeSearch) -> float | None:
    """Return the share of items to hold out, or None if judges were tried on all items."""
    criterion = search.settings.criterion
    if search.settings.holdout is not None:
        return holdout_of(search.task, criterion, search.settings.holdout, new_ledger=False)
    recorded = recorded_holdout(search.task, criterion)
    if recorded is not None:
        return recorded
    return None if judges_tried(search.task, criterion) else HOLDOUT


def _examples(search: JudgeSearch, first: RunFolder, holdout: float | None) -> Task | None:
    """Return few-shot examples, or None if the original judge already shows examples."""
    own = next(spec for spec in first.manifest.judges if spec.name == search.judge)
    if own.asking.n_demonstrations:
        return None
    verdicts = [v for v in first.read_verdicts().final.values() if v.judge == search.judge]
    return example_items(search.task, search.settings.criterion, holdout, verdicts)


def plan_first_round(search: JudgeSearch) -> Plan | None:
    """Plan the first round of a search. See `plan_round`."""
    own = search.settings
    limit = Limit(**{name: getattr(own, name) for name in Limit.model_fields})
    return plan_round(replace(search, writer=""), 1, search.judge, limit)


def improve(search: JudgeSearch, watch: Watch, stop: StopRequests | None = None) -> Improvement:
    """Search for a better way to query a judge, and test its gain on held-out items.

    Parameters
    ----------
    search : JudgeSearch
        Search with the judge to improve.
    watch : callable
        Returns the observer of a plan.
    stop : StopRequests, optional
        Stops the search from a different thread.

    Raises
    ------
    HarnessError
        If the judge, the task or an option is wrong, or a folder cannot be used.
    """
    best = search.judge
    if search.writer:
        _check_writer(search)
        write_judges(search)
    for number in range(1, search.options.rounds + 1):
        folder, code = _raced(search, number, best, watch, stop)
        if folder is None and code:
            return _improvement(search, best, "stopped", exit_code=code)
        if folder is None:
            break
        race = _race_of(folder)
        if race.ending is None:
            return _improvement(search, best, "stopped", exit_code=code or ExitCode.INCOMPLETE)
        best = race.leader or best
    return _ended(search, best, watch, stop)


def _check_writer(search: JudgeSearch) -> None:
    """Reject a writer that cannot run, or that the number of rounds leaves unused."""
    if search.options.rounds == 1:
        problem = "a writer first needs a round that shows what the judge gets wrong"
        raise OptionError("", problem, "Set {rounds} to 2 or more, or leave out {writer}")
    check(look_up(search.writer, load_judges(search.server.judges_file), search.server))


def _written(search: JudgeSearch, number: int, best: str, watch: Watch) -> tuple[list[str], int]:
    """Run the writer for a round. Return the names of new candidates and the exit code."""
    if not search.writer or number == 1:
        return [], ExitCode.DONE
    last = search.folders()[-1]
    verdicts = [v for v in last.read_verdicts().final.values() if v.judge == best]
    n = max(1, search.options.candidates // 2)
    plan = plan_writing(search, verdicts, n, _left(search, search.path / WRITING))
    check_judges(plan)
    with watch(plan) as observer:
        wordings, code = written(search, plan, observer)
    names = write_judges(search, wordings)
    registry = load_judges(search.asked_server.judges_file)
    return with_strategy_of(best, names, registry), code


def _biased(search: JudgeSearch) -> list[str]:
    """Return names of the last round's judges with biases that lower the loss."""
    folders = search.folders()
    return biased_names(folders[-1], folders[-1].load_task()) if folders else []


def _raced(
    search: JudgeSearch, number: int, best: str, watch: Watch, stop: StopRequests | None
) -> tuple[RunFolder | None, int]:
    """Run or resume a round. Return its folder, or None if no candidates are left."""
    path = search.path / f"round-{number}"
    _discard_unasked(path)
    if not (path / "manifest.json").exists():
        written_now, code = _written(search, number, best, watch)
        if code:
            return None, code
        made = [*_biased(search), *written_now]
        plan = plan_round(search, number, best, _left(search, path), made)
        if plan is None:
            return None, ExitCode.DONE
        check_judges(plan)
        folder = start(plan, search.path, path.name)
        plan = replace(plan, folder=folder)
    else:
        folder = RunFolder.open(path)
        if folder.manifest.state == "done":
            return folder, ExitCode.DONE
        plan = plan_resumed_run(folder, limit=_left(search, path), server=search.asked_server)
    return folder, _run(search, plan, watch, stop)


def _discard_unasked(path: Path) -> None:
    """Remove a run folder that has not sent requests, because its holdout can still change."""
    if not path.is_dir():
        return
    has_begun = (path / "manifest.json").exists()
    if not has_begun or RunFolder.open(path).manifest.state == "planned":
        shutil.rmtree(path)


def _run(search: JudgeSearch, plan: Plan, watch: Watch, stop: StopRequests | None) -> int:
    with watch(plan) as observer:
        part = replace(plan, is_part=True)
        place = search.place.model_copy(update={"out": search.path})
        return run_plan(part, observer=observer, out=search.path, place=place, stop=stop).exit_code


def _left(search: JudgeSearch, path: Path) -> Limit:
    """Return the cost limit for one run folder, reduced by the cost of all others."""
    own = search.settings
    limit = Limit(**{name: getattr(own, name) for name in Limit.model_fields})
    others = [
        folder for folder in _all_folders(search) if path not in {folder.path, folder.path.parent}
    ]
    return limit.after(_paid(others).at_most_usd)


def _all_folders(search: JudgeSearch) -> Iterator[RunFolder]:
    """Yield the run folders of all rounds, of their confirmations, and of the writer."""
    for manifest in sorted((search.path / WRITING).glob("*/manifest.json")):
        yield RunFolder.open(manifest.parent)
    for folder in search.folders():
        yield folder
        if (folder.path / CONFIRMATION / "manifest.json").exists():
            yield RunFolder.open(folder.path / CONFIRMATION)


def _paid(folders: Sequence[RunFolder]) -> Paid:
    usd = [run_cost_usd(folder) for folder in folders]
    most = [
        max(cost, folder.manifest.paid_at_most_usd or 0.0)
        for cost, folder in zip(usd, folders, strict=True)
    ]
    return Paid(sum(usd), sum(most))


def _race_of(folder: RunFolder) -> RaceResult:
    race = source_of(folder).race
    assert race is not None, "each round is a race"
    return race


def _ended(search: JudgeSearch, best: str, watch: Watch, stop: StopRequests | None) -> Improvement:
    """Test the best candidate once on the held-out items, if there are any."""
    last = search.folders()[-1]
    if best == search.judge:
        return _improvement(search, best, "not_improved")
    begun = last.path / CONFIRMATION
    if last.manifest.config.holdout is None:
        return _without_claim(search, best, last, "seen")
    state = RunFolder.open(begun).manifest.state if (begun / "manifest.json").exists() else None
    if state == "done":
        return _tested(search, best, RunFolder.open(begun), ExitCode.DONE)
    if state in {None, "planned"}:
        try:
            check_unspent(last, search.task)
            _discard_unasked(begun)  # the ledger does not have it
        except RunError as error:
            if state is None:
                return _without_claim(search, best, last, "spent", error.problem)
    plan = plan_confirmation(
        last,
        best,
        limit=_left(search, begun),
        server=search.asked_server,
        compared_with=search.judge,
    )
    if plan.folder is None:
        config = plan.config.model_copy(update={"confirms": search.path.name})
        plan = replace(plan, config=config)
        check_judges(plan)
        plan = replace(plan, folder=start(plan, last.path))
    code = _run(search, plan, watch, stop)
    return _tested(search, best, RunFolder.open(begun), code)


def _tested(search: JudgeSearch, best: str, folder: RunFolder, code: int) -> Improvement:
    pair = pair_of(folder, search.judge, best)
    if folder.manifest.state != "done" or pair is None:
        return _improvement(search, best, "stopped", exit_code=code or ExitCode.INCOMPLETE)
    gain = pair.gain()
    return _improvement(
        search,
        best,
        "improved" if gain.is_shown else "not_improved",
        gain=gain,
        validation=validate(source_of(folder)),
        cost_ratio=pair.cost_ratio,
    )


def _without_claim(
    search: JudgeSearch, best: str, folder: RunFolder, why: NoClaim, spent_by: str = ""
) -> Improvement:
    pair = pair_of(folder, search.judge, best)
    if pair is None:
        return _improvement(search, best, "no_claim", no_claim=why, spent_by=spent_by)
    n_needed = items_for_gain(pair.before - pair.after, search.within or WITHIN)
    gain = replace(pair.gain(), low=None, high=None, reason="")
    return _improvement(
        search,
        best,
        "no_claim",
        no_claim=why,
        spent_by=spent_by,
        gain=gain,
        n_needed=n_needed,
        cost_ratio=pair.cost_ratio,
    )


def _improvement(
    search: JudgeSearch, best: str, ending: SearchEnding, **facts: object
) -> Improvement:
    """Compute the search's result, including its rounds' costs, and write it to its folder."""
    folders = search.folders()
    rows = [row for folder in folders for row in _race_of(folder).judges]
    most = {name: max(r.n_calls for r in rows if r.judge == name) for name in _names(rows)}
    full = {row.judge: row.n_calls_full for row in rows}
    paid = _paid(list(_all_folders(search)))
    exit_code = int(str(facts.pop("exit_code", 0)))
    config = folders[0].manifest.config
    items = select_items(search.task, criterion=config.criterion, limit=None)
    development = select_items(
        search.task, criterion=config.criterion, limit=None, holdout=config.holdout
    )
    improvement = Improvement(
        task=search.task.name,
        judge=search.judge,
        best=best,
        ending=ending,
        path=str(search.path),
        candidates=tuple(_candidates(folders)),
        n_development=len(development),
        n_held_out=len(items) - len(development),
        n_calls=sum(most.values()),
        n_calls_full=sum(full.values()),
        worth=search.within or WITHIN,
        cost_usd=paid.usd,
        assumed_usd=paid.at_most_usd - paid.usd,
        exit_code=exit_code,
        resume=_resume(search, exit_code) if ending == "stopped" else "",
        stopped_by=tuple(_stopped_by(search)) if ending == "stopped" else (),
        **facts,  # type: ignore[arg-type]  # the other fields, by name
    )
    if ending != "stopped":
        improvement = _with_output(search, folders[-1], improvement)
    write_file(search.path / RESULT, improvement.to_json().encode())
    return improvement


def _stopped_by(search: JudgeSearch) -> Iterator[str]:
    """Yield why judges of the last started folder are incomplete."""
    *_, last = _all_folders(search)
    specs = {spec.name: spec for spec in last.manifest.judges}
    for name, reason in last.manifest.ended.items():
        if not is_lasting(reason):
            yield f"{name} is incomplete ({explained(specs[name], reason)})"


def _with_output(search: JudgeSearch, last: RunFolder, improvement: Improvement) -> Improvement:
    """Write the winning prompt, its diff and the report, and return their paths."""
    best = improvement.best
    if best != search.judge:
        write_prompts(search, last, best)
        changes = wording_diff(search, last, best)
        write_file(search.path / DIFF, "\n".join([*changes, ""]).encode(errors="replace"))
        run = run_command(search, last, best)
        improvement = replace(improvement, changes=changes, run=run)
    is_tested = improvement.validation is not None
    folder = RunFolder.open(last.path / CONFIRMATION) if is_tested else last
    return replace(improvement, report=str(write_report(folder, improvement)))


def _names(rows: Sequence[object]) -> list[str]:
    return list(dict.fromkeys(str(getattr(row, "judge", "")) for row in rows))


def _candidates(folders: Sequence[RunFolder]) -> Iterator[Candidate]:
    """Yield each round's new candidates."""
    seen: set[str] = set()
    for number, folder in enumerate(folders, 1):
        race = _race_of(folder)
        for row in race.judges:
            if row.judge not in seen:
                yield Candidate(
                    round=number,
                    judge=row.judge,
                    fingerprint=folder.manifest.fingerprints.get(row.judge, ""),
                    n_items=row.n_items,
                    n_calls=row.n_calls,
                    usd=row.usd,
                    left_at_items=row.left_at_items,
                    is_best=bool(race.ending) and row.judge == race.leader,
                )
        seen.update(row.judge for row in race.judges)


def _resume(search: JudgeSearch, exit_code: int) -> str:
    """Return the command that resumes a search, with a higher limit if the search hit its limit."""
    words = list(search.command)
    limit = search.settings.max_cost
    if limit is not None:
        words += [
            "--max-cost",
            f"{2 * limit or 1:g}" if exit_code == ExitCode.COST_LIMIT else f"{limit:g}",
        ]
    return shlex.join(words)
