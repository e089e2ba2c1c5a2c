"""The ledger of judges that were tried on the same ratings: a plain file, a line per validation.

It is ``ledger.jsonl`` in the task's folder where there is one, else a file per hash of ratings in
the user's data folder. A run folder holds a copy, as it was when the run was validated.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from harness.analysis.inputs import TriedJudges
from harness.checksummed_log import ChecksummedLog
from harness.errors import HarnessError, RunError
from harness.files import bounded_lines, reader
from harness.judging.storage.verdict_columns import columns_of
from harness.ratings import select_items
from harness.runs import CONFIRMATION
from harness.stats.inference.multiple_testing import share_in_series
from harness.tasks import load_task
from harness.tasks.folders import find_task
from harness.user_folders import data_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from harness.analysis import Source
    from harness.runs import RunFolder
    from harness.tasks import Task

LEDGER = "ledger.jsonl"
N_DIGITS = 16
LOCK_S = 30.0  # longest wait for another process that appends
POLL_S = 0.02


class LedgerLine(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A line of a ledger.

    Attributes
    ----------
    ratings : str
        Hash of the ratings, see `ratings_hash`.
    at : str
        UTC time.
    run : str
        Name of the run folder; "" for verdicts that were made elsewhere.
    judges : dict of str to str
        The judges that were first tried then: names by fingerprint.
    new_ledger : bool
        Whether the lines before it count no more.
    holdout : float or None
        Share of the items that is held out from then on.
    confirmed : dict of str to str
        The judge that was confirmed on the held-out items, of ``run`` or of verdicts that were made
        elsewhere: name by fingerprint.
    """

    ratings: str
    at: str
    run: str = ""
    judges: dict[str, str] = {}
    new_ledger: bool = False
    holdout: float | None = None
    confirmed: dict[str, str] = {}


_DECODE = msgspec.json.Decoder(LedgerLine).decode


def ratings_hash(task: Task, criterion: str | None = None) -> str:
    """Return the hash of the ratings of a task: 16 hex digits.

    The same for any order of them, and however many items are selected; with a criterion, of the
    items with it alone.
    """
    ids = {item.id for item in task.items if criterion in {None, item.criterion}}
    rows = ([r.item, r.rater, r.elicitation, r.value] for r in task.ratings if r.item in ids)
    text = "\n".join(sorted(map(json.JSONEncoder(default=sorted).encode, rows)))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:N_DIGITS]


def ledger_file(ratings: str, task_folder: Path | None) -> Path:
    """Return where the judges that are tried on some ratings are counted."""
    if task_folder is not None and (shared := task_folder / LEDGER).exists():
        return shared
    return data_folder() / "ledgers" / f"{ratings}.jsonl"


def tried_in_run(folder: RunFolder) -> TriedJudges | None:
    """Return how many judges had been tried when a run was validated; None before that.

    Raises
    ------
    RunError
        If the copy of the ledger cannot be read.
    """
    lines, manifest = read_ledger(folder.path / LEDGER), folder.manifest
    if manifest.config.confirms:
        return _confirming(lines)
    return tried_judges(lines, manifest.fingerprints.values())


def count_run(folder: RunFolder, source: Source, *, new_ledger: bool = False) -> TriedJudges | None:
    """Count the judges of a run in the ledger, and copy the ledger into its folder.

    A run whose copy holds all its judges is not counted again: it gives the same result anywhere.

    Raises
    ------
    RunError
        If a ledger cannot be read or written.
    """
    config, names = folder.manifest.config, _answering(source)
    judges = {folder.manifest.fingerprints.get(name, ""): name for name in names}
    judges.pop("", None)
    copied = read_ledger(folder.path / LEDGER)
    if config.confirms:
        return _confirming(copied)
    counted = {print_ for line in since_reset(copied) for print_ in line.judges}
    if not judges or (copied and not new_ledger and counted.issuperset(judges)):
        return tried_judges(copied, judges)
    file, ratings = _ledger_of(folder, source.task)
    lines = record(
        file,
        ratings,
        judges,
        run=folder.path.name,
        new_ledger=new_ledger or (config.new_ledger and not copied),
    )
    folder.write(LEDGER, b"".join(map(_encoded, lines)))
    return tried_judges(lines, judges)


def _ledger_of(folder: RunFolder, task: Task) -> tuple[Path, str]:
    """Return the ledger of a run, and the hash of its ratings."""
    config = folder.manifest.config
    ratings = ratings_hash(task, config.criterion)
    with suppress(HarnessError):
        folder_of_task = find_task(config.task)
        shared = folder_of_task / LEDGER
        if shared.exists() and _has_ratings(folder_of_task, config.criterion, ratings):
            return shared, ratings
    return ledger_file(ratings, None), ratings


def _has_ratings(folder: Path, criterion: str | None, ratings: str) -> bool:
    """Whether the task in a folder, which a run folder names, has ratings of a hash."""
    return ratings_hash(load_task(str(folder)), criterion) == ratings


def _confirming(lines: Sequence[LedgerLine]) -> TriedJudges:
    """Return the standing of the judge that is confirmed: the only one on its items."""
    n_forgotten = len({p for line in lines for p in line.confirmed}) - 1
    return TriedJudges(n=1, share=1.0, n_forgotten=max(n_forgotten, 0), held_out=True)


def check_unspent(folder: RunFolder, task: Task) -> None:
    """Check, before anything is asked, that no judge was confirmed on the held-out items of a run.

    Raises
    ------
    RunError
        If one was, or a ledger cannot be read.
    """
    file, ratings = _ledger_of(folder, task)
    own = read_ledger(folder.path / CONFIRMATION / LEDGER)
    _check_unspent(since_reset(_about(file, ratings)) or own)


def _check_unspent(lines: Sequence[LedgerLine]) -> None:
    for line in lines:
        if line.confirmed:
            names = ", ".join(line.confirmed.values())
            run = f" of {line.run}" if line.run else ""
            raise RunError(
                f"the held-out items were used at {line.at}, to confirm {names}{run}, and "
                "cannot be used again. To confirm another judge, have more items rated."
            )


def recorded_holdout(task: Task, criterion: str | None) -> float | None:
    """Return the share of the items that the ledger of some ratings holds out; None for none."""
    ratings = ratings_hash(task, criterion)
    current = since_reset(_about(ledger_file(ratings, task.folder), ratings))
    return next((line.holdout for line in current if line.holdout is not None), None)


def holdout_of(
    task: Task, criterion: str | None, wanted: float | None, *, new_ledger: bool
) -> float | None:
    """Return the share of the items that a new run holds out.

    Raises
    ------
    RunError
        If another share is fixed, or judges were tried on the items that are to be held out.
    TaskError
        If the share has no item.
    """
    ratings = ratings_hash(task, criterion)
    file = ledger_file(ratings, task.folder)
    current = () if new_ledger else since_reset(_about(file, ratings))
    recorded = next((line.holdout for line in current if line.holdout is not None), None)
    if wanted is None or wanted == recorded:
        return recorded
    if recorded is not None:
        raise RunError(
            f"{file}: a holdout of {recorded:g} is fixed for these ratings. Leave --holdout out."
        )
    if tried := [name for line in current for name in line.judges.values()]:
        n_tried = "1 judge was" if len(tried) == 1 else f"{len(tried)} judges were"
        raise RunError(
            f"{file}: {n_tried} tried on all of these items, e.g. {tried[0]}. Hold items out "
            "before the first judge is tried, or have more items rated."
        )
    select_items(task, criterion=criterion, limit=None, holdout=wanted, held_out=True)
    return wanted


def fix_holdout(folder: RunFolder, task: Task) -> None:
    """Record which share of the items a new run holds out, or that it uses them.

    Raises
    ------
    RunError
        If the held-out items were used, or the ledger cannot be read or written.
    """
    config = folder.manifest.config
    if config.holdout is None:
        return
    file, ratings = _ledger_of(folder, task)
    with _locked(file) as log:
        lines = _about(file, ratings)
        added = (_confirmed if config.confirms else _fixed)(folder, ratings, lines)
        log.write(b"".join(map(_encoded, added)))
    folder.write(LEDGER, b"".join(map(_encoded, [*lines, *added])))


def _confirmed(folder: RunFolder, ratings: str, lines: Sequence[LedgerLine]) -> list[LedgerLine]:
    """Return the line by which the held-out items are used."""
    _check_unspent(since_reset(lines))
    judges = {p: name for name, p in folder.manifest.fingerprints.items()}
    run = folder.manifest.config.confirms
    return [LedgerLine(ratings=ratings, at=_now(), run=run, confirmed=judges)]


def _fixed(folder: RunFolder, ratings: str, lines: Sequence[LedgerLine]) -> list[LedgerLine]:
    """Return the lines by which items are held out, unless they are already."""
    config, now = folder.manifest.config, _now()
    added = (
        [LedgerLine(ratings=ratings, at=now, new_ledger=True)]
        if config.new_ledger and lines
        else []
    )
    if all(line.holdout is None for line in since_reset([*lines, *added])):
        added.append(
            LedgerLine(ratings=ratings, at=now, run=folder.path.name, holdout=config.holdout)
        )
    return added


def _about(file: Path, ratings: str) -> tuple[LedgerLine, ...]:
    return tuple(line for line in read_ledger(file) if line.ratings == ratings)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def count_verdicts(
    source: Source,
    criterion: str | None,
    *,
    holdout: float | None = None,
    new_ledger: bool = False,
) -> TriedJudges | None:
    """Count the judges of verdicts that were made elsewhere, and hold items out; see `count_run`.

    A ``holdout`` is recorded with the first judge.
    """
    names = set(_answering(source))
    judges = {judge.fingerprint: judge.name for judge in source.judges if judge.name in names}
    if not judges:
        return None
    ratings = ratings_hash(source.task, criterion)
    file = ledger_file(ratings, source.task.folder)
    lines = record(file, ratings, judges, holdout=holdout, new_ledger=new_ledger)
    return tried_judges(lines, judges)


def unspent_holdout(task: Task, criterion: str | None) -> TriedJudges:
    """Return the standing of a judge that is confirmed on the held-out items of some ratings.

    Raises
    ------
    RunError
        If they were used, or the ledger cannot be read.
    """
    ratings = ratings_hash(task, criterion)
    lines = _about(ledger_file(ratings, task.folder), ratings)
    _check_unspent(since_reset(lines))
    return _confirming([*lines, LedgerLine(ratings=ratings, at="", confirmed={"": ""})])


def spend_holdout(source: Source, criterion: str | None) -> None:
    """Record that the held-out items are used for the one judge of a source.

    Raises
    ------
    RunError
        If they were used already, or the ledger cannot be read or written.
    """
    ratings = ratings_hash(source.task, criterion)
    file = ledger_file(ratings, source.task.folder)
    judges = {judge.fingerprint: judge.name for judge in source.judges}
    with _locked(file) as log:
        _check_unspent(since_reset(_about(file, ratings)))
        log.write(_encoded(LedgerLine(ratings=ratings, at=_now(), confirmed=judges)))


def _answering(source: Source) -> list[str]:
    """Return the judges that raced or gave an answer: of the others, nothing was tried."""
    if source.race is not None:
        return [row.judge for row in source.race.judges]
    return [
        name
        for name, verdicts in source.verdicts.items()
        if any(kind.outcome == "answered" for kind in columns_of(verdicts).kinds)
    ]


def record(
    file: Path,
    ratings: str,
    judges: Mapping[str, str],
    *,
    run: str = "",
    holdout: float | None = None,
    new_ledger: bool = False,
) -> tuple[LedgerLine, ...]:
    """Append the judges and the holdout that a ledger does not hold; return what it then holds.

    Raises
    ------
    RunError
        If it cannot be read or written.
    """
    now = _now()
    with _locked(file) as log:
        lines = _about(file, ratings)
        added = (
            [LedgerLine(ratings=ratings, at=now, new_ledger=True)] if new_ledger and lines else []
        )
        current = since_reset([*lines, *added])
        if holdout is not None and all(line.holdout is None for line in current):
            added.append(LedgerLine(ratings=ratings, at=now, run=run, holdout=holdout))
        counted = {p for line in current for p in line.judges}
        if new := {p: name for p, name in judges.items() if p not in counted}:
            added.append(LedgerLine(ratings=ratings, at=now, run=run, judges=new))
        try:
            log.write(b"".join(map(_encoded, added)))
        except OSError as error:
            raise _unusable(file, error) from None
    return (*lines, *added)


def read_ledger(file: Path) -> tuple[LedgerLine, ...]:
    """Return the lines of a ledger; none where there is no file.

    Raises
    ------
    RunError
        If it cannot be read, or a line is none of a ledger.
    """
    lines = []
    try:
        with reader(file) as opened:
            for number, line in enumerate(bounded_lines(opened), start=1):
                try:
                    lines.append(_DECODE(line))
                except (ValueError, RecursionError):
                    raise RunError(
                        f"{file}: line {number} is not a line of a ledger. Restore it, or remove "
                        "the file to count from the next validation on."
                    ) from None
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise RunError(f"{file}: cannot be read ({error.strerror}).") from None
    return tuple(lines)


def since_reset(lines: Sequence[LedgerLine]) -> Sequence[LedgerLine]:
    """Return the lines after the newest that begins a new ledger."""
    starts = [i for i, line in enumerate(lines) if line.new_ledger]
    return lines[starts[-1] + 1 :] if starts else lines


def tried_judges(lines: Sequence[LedgerLine], fingerprints: Collection[str]) -> TriedJudges | None:
    """Return where judges stand among all tried on some ratings; None where they are not counted.

    A judge that the ledger has twice counts where it is first.
    """
    counted, own = set[str](), []
    current = since_reset(lines)
    for line in current:
        new = line.judges.keys() - counted
        counted |= new
        if new & set(fingerprints):
            own.append((len(counted), len(new)))
    if not own:
        return None
    n_tried, n_own = max(n for n, _ in own), len(counted & set(fingerprints))
    return TriedJudges(
        n=n_tried,
        n_before=n_tried - n_own,
        share=min(share_in_series(n, n_new) for n, n_new in own),
        n_forgotten=len({p for line in lines for p in line.judges} - counted),
    )


def _encoded(line: LedgerLine) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _locked(file: Path) -> ChecksummedLog:
    """Open a ledger for appending, once no other process has it open."""
    give_up_s = time.monotonic() + LOCK_S
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            try:
                return ChecksummedLog(file, durable=True)
            except BlockingIOError:
                if time.monotonic() > give_up_s:
                    raise
                time.sleep(POLL_S)
    except OSError as error:
        raise _unusable(file, error) from None


def _unusable(file: Path, error: OSError) -> RunError:
    return RunError(
        f"{file}: the judges tried on these ratings cannot be counted ({error.strerror}). Name "
        "another folder with $XDG_DATA_HOME, or create ledger.jsonl in the task's folder."
    )
