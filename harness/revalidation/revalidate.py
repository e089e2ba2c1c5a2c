"""Re-validate a run: fix its baseline, ask its judges again, and compare."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from harness.app import Plan, how_to_resume
from harness.errors import ExitCode, RunError
from harness.files import read_file, write_file, writing_to
from harness.judging.judges.config import load_judges
from harness.judging.judges.judge_registry import check_destinations
from harness.judging.storage.verdict_log import VerdictLog
from harness.revalidation.asking import LookOptions, Sitting, command_of
from harness.revalidation.baselines import (
    Accepted,
    accept,
    ensure_baseline,
    first_baseline,
    n_missing,
    seeded_judges,
)
from harness.revalidation.causes import setup_of
from harness.revalidation.history import FILE, HistoryFile, HistoryReading, Look, read_history
from harness.revalidation.looks import ask_look, without
from harness.revalidation.occasion import FOLDER, close_occasion
from harness.runs import RunFolder
from harness.tasks import write_task

if TYPE_CHECKING:
    from pathlib import Path

    from harness.judging.running.services import Observer
    from harness.stopping import StopRequests


class Revalidation(NamedTuple):
    """How a re-validation ended.

    Attributes
    ----------
    look : Look or None
        None where it was stopped and can be resumed.
    exit_code : ExitCode
        Without what ``--fail-on`` demands.
    """

    history: HistoryReading
    look: Look | None
    exit_code: ExitCode


def revalidate(
    run: RunFolder,
    options: LookOptions,
    observer: Observer,
    *,
    stop: StopRequests | None = None,
) -> Revalidation:
    """Ask the judges of a finished run again and compare with the baseline.

    Parameters
    ----------
    run : RunFolder
        The run, or an exported baseline.
    options : LookOptions
        Options.
    observer : Observer
        Is informed of progress.
    stop : StopRequests, optional
        Of other threads; signals stop the look, too.

    Raises
    ------
    HarnessError
        If another process re-validates the run, or it cannot be read, asked or written.
    """
    _check_destinations(run, options)
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file, stop)
        if sitting.history.n_damaged:
            observer.say(f"{sitting.history.n_damaged} damaged lines of {file.path} are left out")
        for line in seeded_judges(sitting) if sitting.history.baseline is None else ():
            observer.say(line)
        stopped = ensure_baseline(sitting, observer) or ask_look(sitting, observer)
    if stopped:
        command = command_of(run, options)
        if stopped != ExitCode.COST_LIMIT and options.max_cost is not None:
            command += f" --max-cost {options.max_cost:g}"
        observer.say(how_to_resume(command, stopped, options.max_cost))
        return Revalidation(sitting.history, None, stopped)
    look = sitting.history.looks[-1]
    code = ExitCode.INCOMPLETE if look.ended else ExitCode.DONE
    return Revalidation(sitting.history, look, code)


def export_baseline(
    run: RunFolder,
    target: Path,
    options: LookOptions,
    *,
    item_text: bool = False,
    keep_replies: bool = False,
) -> None:
    """Write manifest, prompts, history, and the anchor's items and ratings into a new folder.

    A run without a baseline gets that of ``options`` first. Without the items' texts, a look reads
    them from the task. With ``keep_replies`` the folder gets the texts of the run's replies, and
    looks keep theirs. Raises `HarnessError` if the run cannot be read, or the folder exists or
    cannot be written.
    """
    if target.exists():
        raise RunError(f"{target}: it exists already; choose another folder, or remove it.")
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file)
        if sitting.history.baseline is None:
            sitting.append(first_baseline(sitting))
        history = read_file(file.path)
    task, anchor = sitting.setup.task, set(sitting.history.baselines[-1].items)
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
        RunFolder(target, run.manifest, sealed=run.sealed).update(config=config)


def accept_look(
    run: RunFolder,
    number: int,
    options: LookOptions,
    observer: Observer,
    *,
    confirmed: bool = False,
) -> Accepted:
    """Start a new baseline with the replies of a look and of all looks after it.

    Those up to the look that raised an alarm are left out, and the baseline is then completed to as
    many replies per item as the old one has. Judges that the last look did not watch keep theirs.

    Raises
    ------
    HarnessError
        If there is no such look since the last baseline, a judge has not replied since then or
        cannot be asked, or is worse and that is not ``confirmed``.
    """
    _check_destinations(run, options)
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file)
        accepted = accept(sitting, number, observer, confirmed=confirmed)
        if accepted.baseline is not None:
            sitting.append(accepted.baseline)
            if accepted.n_asked:
                close_occasion(run, accepted.baseline.occasion)
    if accepted.exit_code:
        command = command_of(run, options, "--accept", str(number), *["--yes"] * confirmed)
        observer.say(how_to_resume(command, accepted.exit_code, options.max_cost))
    return accepted


def plan_acceptance(run: RunFolder, number: int, options: LookOptions) -> Accepted:
    """Return what accepting a look would do; nothing is asked or written.

    Raises
    ------
    HarnessError
        As `accept_look`, but for a judge that is worse.
    """
    _check_destinations(run, options)
    return accept(_without_writing(run, options), number, None, confirmed=True)


def exclude_look(
    run: RunFolder, number: int, because: str, options: LookOptions, *, dry_run: bool = False
) -> Look:
    """Drop the replies of a look, and return the last look as it is without them.

    Its weight stays spent. With ``dry_run`` nothing is written.

    Raises
    ------
    HarnessError
        If there is no such look since the last baseline, the task cannot be read, or the history
        cannot be written.
    """
    if dry_run:
        return without(_without_writing(run, options), number, because)[-1]
    with HistoryFile.open(run.path) as file:
        sitting = Sitting.begin(run, options, file)
        looks = without(sitting, number, because)
        sitting.append(*looks)
    return looks[-1]


def _without_writing(run: RunFolder, options: LookOptions) -> Sitting:
    """Return a re-validation that asks and writes nothing."""
    return Sitting(run, setup_of(run, options.task), options, None, read_history(run.path / FILE))


def plan_look(run: RunFolder, options: LookOptions) -> Plan:
    """Plan the next look, and replies that the baseline still needs, without asking.

    Raises
    ------
    HarnessError
        If the run cannot be read, or was made elsewhere and its judges are not confirmed.
    """
    _check_destinations(run, options)
    sitting = _without_writing(run, options)
    baseline = sitting.history.baseline
    without = sitting.comparable(baseline).left_out if baseline else {}
    n_samples = options.samples + n_missing(sitting)
    return sitting.plan(sitting.asked_judges, n_samples, without=without)


def _check_destinations(run: RunFolder, options: LookOptions) -> None:
    """Refuse judges of a run that was made elsewhere, unless the user has or confirms them."""
    if not run.sealed:
        check_destinations(
            run.manifest.judges,
            load_judges(options.judges_file),
            base_url=options.base_url,
            key_env=options.key_env,
        )


def history_of(run: RunFolder) -> HistoryReading:
    """Read the history of a run.

    Raises
    ------
    RunError
        If the run was never re-validated.
    """
    history = read_history(run.path / FILE)
    if not history.baselines:
        raise RunError(
            f"{run.path}: it was never re-validated; start with: harness revalidate "
            f"{quote(str(run.path))}"
        )
    return history
