"""Re-validate a run: set its baseline, re-run its judges, compare, and report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from harness.analysis.reply_dates import reply_dates
from harness.app.run import how_to_resume
from harness.errors import ExitCode, HarnessError, RunError
from harness.files.plain_text import counted
from harness.files.regular_files import read_file, write_file, writing_to
from harness.judging.judges.config import explained
from harness.judging.storage.verdict_log import VerdictLog
from harness.revalidation.asking import Sitting
from harness.revalidation.assessment import assess, without_look
from harness.revalidation.baselines import (
    accepted_baseline,
    check_acceptable,
    check_comparable,
    completed,
    ensure_baseline,
    fill,
    first_baseline,
    looks_to_accept,
    n_missing,
    n_to_ask,
    seeded_judges,
)
from harness.revalidation.causes import ratings_hash
from harness.revalidation.ending import LookEnding
from harness.revalidation.fail_on import check_conditions, read_fail_on, watched_quantities
from harness.revalidation.history import FILE, HistoryReading, read_history
from harness.revalidation.next_occasion import FOLDER, MAX_SPAN
from harness.revalidation.notification import check_notify_url, notify
from harness.revalidation.occasion import (
    STOPPED,
    OccasionAnswers,
    close_occasion,
    date_of,
    providers_of,
    with_ensembles,
)
from harness.revalidation.records import JudgeLook, Look, ProviderReport
from harness.revalidation.schedule import is_ahead, time_until_due
from harness.revalidation.watched_judges import watched_judges
from harness.runs.run_folder import RunFolder
from harness.tasks import write_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from harness.analysis.completeness import Completeness
    from harness.analysis.conditions import Condition
    from harness.app.plan import Plan
    from harness.judging.running.recorder import Observer
    from harness.judging.running.stopping import StopRequests
    from harness.revalidation import Period
    from harness.revalidation.asking import LeftOutJudges
    from harness.revalidation.causes import Comparable
    from harness.revalidation.look_options import LookOptions

Watching: TypeAlias = "Callable[[Mapping[str, int]], AbstractContextManager[Observer]]"
ADVISED_REPLIES = 5  # advised replies per item of a baseline


def revalidate(
    run: RunFolder,
    options: LookOptions,
    watching: Watching,
    *,
    stop: StopRequests | None = None,
) -> LookEnding:
    """Re-run a finished run's judges and compare them with the baseline.

    The options can instead accept or exclude a round. If an address is set, results with an exit
    code other than 0 are posted to it, and so are errors.

    Parameters
    ----------
    run : RunFolder
        The run, or an exported baseline.
    options : LookOptions
        What to do.
    watching : callable
        Returns a context with the observer of progress, for the planned units by judge.
    stop : StopRequests, optional
        Stop requests from other threads; signals stop the round too.

    Raises
    ------
    HarnessError
        If another process is re-validating the run, an option doesn't suit it, or it can't be read,
        run or written.
    """
    check_notify_url(options.notify)
    conditions = read_fail_on(options.fail_on)
    try:
        ending = _done(run, options, conditions, watching, stop)
    except HarnessError as error:
        _post(options, LookEnding(run.path, int(error.exit_code), (("", str(error)),)), watching)
        raise
    if ending.exit_code and ending.due_in_s is None:
        _post(options, ending, watching)
    return ending


def _post(options: LookOptions, ending: LookEnding, watching: Watching) -> None:
    """Post an outcome to the notification address, if there is one. Report a failed post."""
    problem = notify(options.notify, ending.sentence, ending.facts(), str(ending.run))
    if problem:
        with watching({}) as observer:
            observer.say(f"--notify: {problem}. Only the alert wasn't sent.")


def _done(
    run: RunFolder,
    options: LookOptions,
    conditions: tuple[Condition, ...],
    watching: Watching,
    stop: StopRequests | None,
) -> LookEnding:
    """Do what the options request: a round, or accepting or excluding one."""
    if options.if_due and (ending := _not_due(run, options, conditions, options.if_due)):
        return ending
    with Sitting.at(run, options, stop) as sitting:
        if options.exclude is not None:
            return _exclude(sitting, options.exclude, options.because or "")
        if options.accept is not None:
            return _accept(sitting, options.accept, watching)
        check_conditions(conditions, sitting)
        return _look(sitting, watching, conditions)


def _not_due(
    run: RunFolder, options: LookOptions, conditions: tuple[Condition, ...], every: Period
) -> LookEnding | None:
    """Return the last round's outcome if no round is due, so that an alarm stays open."""
    judges = [spec.name for spec in watched_judges(run, options.judges or ())]
    history = read_history(run.path / FILE)
    last, baseline = history.last_look_at(judges), history.baseline
    due_in_s = time_until_due(last, every).total_seconds()
    if last is None or due_in_s <= 0:
        return None
    if baseline is None or last.baseline != baseline.number:
        return LookEnding(run.path, 0, (("", "No round is due."),), due_in_s=due_in_s)
    return LookEnding.after(run.path, last, baseline, conditions, due_in_s=due_in_s)


def _look(sitting: Sitting, watching: Watching, conditions: tuple[Condition, ...]) -> LookEnding:
    """Set the baseline if needed, then do a round and record it."""
    history, warnings = sitting.history, tuple(_warnings(sitting))
    with watching(next_plan(sitting).n_planned) as observer:
        for line in warnings:
            observer.say(line)
        for line in seeded_judges(sitting) if history.baseline is None else ():
            observer.say(line)
        stopped = ensure_baseline(sitting, observer) or _ask_today(sitting, observer)
        if stopped:
            return _stopped(sitting, stopped, observer)
    ending = LookEnding.after(sitting.run.path, history.looks[-1], sitting.baseline, conditions)
    return replace(ending, warnings=warnings)


def _warnings(sitting: Sitting) -> Iterator[str]:
    """Yield problems with the history and with earlier rounds' replies."""
    history = sitting.history
    if history.n_damaged > history.n_damaged_last:
        file = sitting.run.path / FILE
        yield f"Damaged lines in {file}, which are left out: {history.n_damaged}."
    if history.looks and is_ahead(history.looks[-1]):
        yield (
            f"Round {history.looks[-1].number} is dated {history.looks[-1].at}, which is ahead of "
            "the clock of this machine. One of the two clocks is wrong."
        )
    yield from sitting.occasion.passed_over
    yield from filter(None, [_lost(sitting)])


def _lost(sitting: Sitting) -> str:
    """Return a sentence on rounds that the history lost, or "" if none. They can include alarms."""
    if sitting.occasion.lost:
        return sitting.occasion.lost
    if not (n := sitting.history.n_damaged_last):
        return ""
    lines = "line is" if n == 1 else f"{n} lines are"
    return (
        f"Warning: the last {lines} damaged in {sitting.run.path / FILE}, so an earlier alarm may "
        "be forgotten. Restore the file if you can."
    )


def _stopped(sitting: Sitting, code: ExitCode, observer: Observer) -> LookEnding:
    """Return the outcome after a stop, and print how to continue."""
    options = sitting.options
    command = options.look_command(sitting.run, with_limit=code != ExitCode.COST_LIMIT)
    observer.say(how_to_resume(command, code, options.max_cost, sitting.assumed_usd))
    what = "The round was stopped." if options.accept is None else "No baseline was made."
    return LookEnding(sitting.run.path, int(code), (("", what),))


def _ask_today(sitting: Sitting, observer: Observer) -> ExitCode | None:
    """Do a round. If it only completed an earlier day's replies, do a second round.

    Return why requests were stopped.
    """
    is_late = sitting.occasion.is_late
    stopped = _ask(sitting, observer)
    if stopped or not is_late:
        return stopped
    look = sitting.history.looks[-1]
    observer.say(
        f"Round {look.number} is recorded with the date of its replies, {look.at[:10]}. The next "
        "round starts now."
    )
    return _ask(sitting, observer)


def _ask(sitting: Sitting, observer: Observer) -> ExitCode | None:
    """Do a round, assess it and record it. Return why requests were stopped, if so."""
    baseline, earlier = sitting.baseline, sitting.history.looks_since_baseline
    content = sitting.comparable(baseline)
    left_out = sitting.judges_left_out(baseline, content)
    specs = tuple(spec for spec in sitting.asked_judges if spec.name not in left_out)
    answers = OccasionAnswers([], {}, ExitCode.DONE)
    if specs:
        plan = sitting.plan(specs, sitting.options.replies_per_item, without=content.left_out)
        answers = sitting.ask(plan, observer)
        if answers.exit_code in STOPPED:
            return answers.exit_code
    dates = reply_dates([answers.verdicts])
    if dates.is_longer_than(MAX_SPAN):
        observer.say(f"The replies of this round were received {dates.dates}.")
    look = _replies_of(sitting, answers, content, left_out)
    kept = [item for item in baseline.items if item not in content.left_out]
    watched = watched_quantities(read_fail_on(sitting.options.fail_on))
    yardstick = replace(sitting.yardstick(kept), watched=watched)
    sitting.append(assess(baseline, earlier, look, yardstick))
    close_occasion(sitting.run, look.occasion)
    return None


def _replies_of(
    sitting: Sitting, answers: OccasionAnswers, content: Comparable, left_out: LeftOutJudges
) -> Look:
    """Return a round without results, including the reason for each judge without replies."""
    baseline, earlier = sitting.baseline, sitting.history.looks_since_baseline
    streams = sitting.asked_streams(baseline, answers)
    replied = {stream.judge for stream in streams if stream.n_replies}
    specs = {spec.name: spec for spec in sitting.run.manifest.judges}
    ended = {
        j: explained(specs[j], reason) if reason else "" for j, reason in answers.ended.items()
    }
    whys = with_ensembles(sitting.run.manifest.judges, ended)
    skipped = with_ensembles(sitting.run.manifest.judges, answers.skipped)
    complete = sitting.completeness(answers, content.left_out)
    reported = providers_of(answers.verdicts)
    judges = []
    for name in (spec.name for spec in sitting.watched):
        provider = reported.get(name, ProviderReport())
        row = JudgeLook(judge=name, provider=provider)
        if name in left_out:
            verdict, reason = left_out[name]
            row = structs.replace(row, verdict=verdict, reason=reason)
        elif name in skipped:
            row = structs.replace(row, reason=skipped[name])
        else:
            row = with_counts(row, complete[name], whys.get(name, ""))
        judges.append(row)
    return Look(
        number=1 + max((look.number for look in sitting.history.looks), default=0),
        occasion=sitting.occasion.number,
        baseline=baseline.number,
        at=date_of(answers.verdicts, sitting.occasion.began),
        causes=content.causes,
        left_out=content.left_out,
        excluded=earlier[-1].excluded if earlier else {},
        margin=sitting.options.margin,
        every=sitting.options.if_due,
        lost=_lost(sitting),
        other_ratings=any(
            baseline.ratings_hash != ratings_hash(task, baseline.items)
            for task in sitting.setup.tasks
        ),
        judges=tuple(judges),
        ended=answers.ended,
        streams=tuple(stream for stream in streams if stream.judge in replied),
    )


def with_counts(row: JudgeLook, judge: Completeness, why: str) -> JudgeLook:
    """Add a judge's reply counts to its row, and the shortfall if there are too few replies."""
    reason = "" if judge.is_complete else ". ".join(filter(None, (str(judge), why)))
    return structs.replace(row, outcomes=judge.counts, shortfall=judge.shortfall, reason=reason)


def _accept(sitting: Sitting, number: int, watching: Watching) -> LookEnding:
    """Start a new baseline from the replies of a round and all later ones.

    Replies up to the round that raised an alarm are left out, and the baseline is then completed to
    the old one's number of replies per item. Judges that the last round did not watch keep their
    replies.
    """
    run, options = sitting.run, sitting.options
    check_acceptable(sitting, number)
    since = sitting.history.looks_since_baseline
    looks, had_alarm = looks_to_accept(since, number)
    n_asked = n_to_ask(sitting, looks, had_alarm=had_alarm)
    numbers = [str(look.number) for look in looks if look.streams]
    parts = [f"the replies of round {', '.join(numbers)}"] if numbers else []
    parts += [f"{counted([n_asked], 'reply')} per item requested again"] if n_asked else []
    held = " and ".join(parts)
    baseline = accepted_baseline(sitting, looks)
    if n_asked:
        check_comparable(sitting, sitting.baseline)
        specs = [spec for spec in sitting.asked_judges if since[-1].judge(spec.name)]
        plan = sitting.plan(specs, n_asked)
    if options.dry_run:
        text = f"A new baseline would contain {held}. Nothing was written."
        return LookEnding(run.path, 0, (("", text),))
    if n_asked:
        with watching(plan.n_planned) as observer:
            if stopped := fill(sitting, baseline, plan, observer):
                return _stopped(sitting, stopped, observer)
    else:
        sitting.append(completed(sitting, baseline))
    baseline = sitting.baseline
    text = (
        f"Baseline {baseline.number} of this run contains {held}: "
        f"{counted([baseline.n_replies], 'reply')} per item. The chance of a false alarm is "
        f"{baseline.alpha:.0%} for each baseline."
    )
    lines = [text]
    if baseline.n_replies < ADVISED_REPLIES:
        lines.append(f"Request more in the next round: --baseline-replies {ADVISED_REPLIES}")
    return LookEnding(run.path, 0, tuple(("", line) for line in lines))


def _exclude(sitting: Sitting, number: int, because: str) -> LookEnding:
    """Drop a round's replies. Assess this round and all later ones again without them."""
    sitting.check_look("exclude", number)
    baseline = sitting.baseline
    looks = sitting.history.looks_since_baseline
    again = [look for look in looks if look.number < number]
    n_kept = len(again)
    for look in without_look(looks[n_kept:], number, because):
        left_out = () if look.causes else look.left_out
        items = [item for item in baseline.items if item not in left_out]
        again.append(assess(baseline, again, look, sitting.yardstick(items)))
    sitting.append(*again[n_kept:])
    last, dry_run = again[-1], sitting.options.dry_run
    verdicts = ", ".join(f"{judge.judge} {judge.verdict}" for judge in last.judges)
    text = (
        f"The replies of round {number} {'would be' if dry_run else 'are'} excluded. Round "
        f"{last.number} is then: {verdicts}."
    )
    lines = [text, *(["Nothing was written."] if dry_run else [])]
    return LookEnding(sitting.run.path, 0, tuple(("", line) for line in lines), look=last)


def next_plan(sitting: Sitting) -> Plan:
    """Plan the next round and the baseline's missing replies, without sending requests."""
    n_samples = sitting.options.replies_per_item + n_missing(sitting)
    if (baseline := sitting.history.baseline) is None:
        return sitting.plan(sitting.asked_judges, n_samples)
    content = sitting.comparable(baseline)
    left_out = sitting.judges_left_out(baseline, content)
    specs = [spec for spec in sitting.asked_judges if spec.name not in left_out]
    return sitting.plan(specs, n_samples, without=content.left_out)


def plan_look(run: RunFolder, options: LookOptions) -> Plan:
    """Plan the next round without sending requests or writing anything.

    Raises
    ------
    HarnessError
        As for `revalidate`.
    """
    with Sitting.at(run, options.model_copy(update={"dry_run": True})) as sitting:
        check_conditions(read_fail_on(options.fail_on), sitting)
        return next_plan(sitting)


def export_baseline(
    run: RunFolder,
    target: Path,
    options: LookOptions,
    *,
    item_text: bool = False,
    keep_replies: bool = False,
) -> None:
    """Write a run's manifest, prompts, history, and anchor with its ratings to a new folder.

    If the run has no baseline, it is first created from ``options``. Without the items' texts, a
    round reads them from the task. With ``keep_replies``, the folder contains the texts of the
    run's replies, and rounds keep theirs. Raises `HarnessError` if the run can't be read, or the
    folder exists or can't be written.
    """
    if target.exists():
        raise RunError(
            f"{target}: this folder already exists. Choose a different folder, or remove it."
        )
    with Sitting.at(run, options) as sitting:
        if sitting.history.baseline is None:
            sitting.append(completed(sitting, first_baseline(sitting)))
        history = read_file(run.path / FILE)
    task, anchor = sitting.setup.task, set(sitting.baseline.items)
    small = task.model_copy(
        update={
            "items": tuple(item for item in task.items if item.id in anchor),
            "ratings": tuple(rating for rating in task.ratings if rating.item in anchor),
            "ignored": tuple(rating for rating in task.ignored if rating.item in anchor),
        }
    )
    config = run.manifest.config.model_copy(update={"item_text": item_text, "judges_from": None})
    with writing_to(target, RunError):
        target.mkdir(parents=True)
        write_task(small, target / "task", item_text=item_text)
        sitting.setup.prompts.save(target / "prompts", item_text=item_text)
        write_file(target / FILE, history)
        write_file(target / ".gitignore", f"{FOLDER}/\n".encode())
        if keep_replies:
            with VerdictLog.open(target / run.verdicts.name) as log:
                final = run.read_verdicts().final.values()
                log.append(v for v in final if v.item in anchor or v.item not in task.by_id)
        RunFolder(target, run.manifest).update(config=config)


def history_of(run: RunFolder) -> HistoryReading:
    """Read a run's history.

    Raises
    ------
    RunError
        If the run was never re-validated.
    """
    history = read_history(run.path / FILE)
    if not history.baselines:
        raise RunError(
            f"{run.path}: this run was never re-validated. Start with: "
            f"{run.location.command_to_watch()}"
        )
    return history
