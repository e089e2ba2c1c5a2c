"""Ledger of the judges tried on the same items, a text file with a line per event.

Validations that share an item, directly or through others, form one series. Items are identified by
content (`harness.runs.used_items`), so neither names nor changed ratings begin a new series. The
files are in the user's data folder. A task folder can contain one too, to share it with the task. A
run folder contains a copy of its series, as of the run's validation.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from harness.analysis.inputs import TriedJudges
from harness.analysis.ratings import select_items
from harness.analysis.recommendation_checks import ANSWERED, USABLE_REPLIES
from harness.errors import HarnessError, RunError
from harness.files.checksummed_log import ChecksummedLog
from harness.files.regular_files import bounded_lines, reader
from harness.files.user_folders import data_folder
from harness.judging.storage.verdict_columns import columns_of
from harness.runs.run_folder import CONFIRMATION
from harness.runs.used_items import (
    ALIKE,
    KEY,
    ItemDigests,
    contents_of,
    correlation,
    decoded,
    encoded,
    overlap,
    rated_alike,
)
from harness.tasks import load_task
from harness.tasks.folders import find_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.analysis import Source, Validation
    from harness.runs.run_folder import RunFolder
    from harness.runs.used_items import Contents, Keys
    from harness.tasks import Item, Task

LEDGER, LEDGERS, LOCK = "ledger.jsonl", "ledgers", "ledgers.lock"
LOCK_S = 30.0  # longest wait for another process that appends
POLL_S = 0.02
COMPLETE = (ANSWERED.kind, USABLE_REPLIES.kind)  # independent of the answers' content
MOST_EARLIER = 5  # most similar earlier tests of a judge that determine its next level


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Line of a ledger.

    Attributes
    ----------
    at : str
        UTC time.
    what : str
        Digest of the rated property, see `Contents`.
    items : str
        Keys of the items that the file did not have before.
    sample : ItemDigests or None
        Sample of the items, for the line of a validation.
    validation : str
        Digest of the validation; "" if there was none.
    standing : TriedJudges or None
        State of its judges.
    levels : dict of str to float, or None
        Level at which each judge of ``validation`` was tested, by name, in a separate line that is
        written once it is known. Empty if no judge could be recommended, whatever its replies.
    run : str
        Name of the run folder; "" for verdicts from another tool.
    judges : dict of str to str
        The judges of the validation: names by fingerprint.
    new_ledger : bool
        Whether earlier lines no longer count.
    holdout : float or None
        Share of the items held out from then on.
    confirmed : dict of str to str
        The judge that was confirmed on the held-out items, of ``run`` or of verdicts from another
        tool: name by fingerprint.
    """

    at: str
    what: str = ""
    items: str = ""
    sample: ItemDigests | None = None
    validation: str = ""
    standing: TriedJudges | None = None
    levels: dict[str, float] | None = None
    run: str = ""
    judges: dict[str, str] = {}
    new_ledger: bool = False
    holdout: float | None = None
    confirmed: dict[str, str] = {}

    @property
    def is_test(self) -> bool:
        """Whether this is a full validation or a confirmation, which uses up error rate."""
        limited = self.standing is not None and self.standing.limited
        return bool(self.confirmed) or (bool(self.judges) and not limited)


_DECODE = msgspec.json.Decoder(LedgerLine).decode


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """Ledger file with its lines and the keys of all its items."""

    file: Path
    lines: tuple[LedgerLine, ...]
    keys: Keys

    def is_about(self, contents: Contents) -> bool:
        """Return whether the file is about the same property, or has mostly the same ratings."""
        samples = [line.sample for line in self.lines if line.sample]
        return any(line.what == contents.what for line in self.lines) or any(
            rated_alike(sample, contents.sample) for sample in samples
        )


@dataclass(frozen=True, slots=True)
class ItemSeries:
    """Ledger files that share items with a validation, directly or through other files.

    Attributes
    ----------
    ledgers : tuple of LedgerFile
        One or more files, which can be new and empty.
    lines : tuple of LedgerLine
        Lines of all files, in the order of their times.
    """

    ledgers: tuple[LedgerFile, ...]
    lines: tuple[LedgerLine, ...] = field(init=False)

    def __post_init__(self) -> None:
        merged = {
            msgspec.json.encode(msgspec.structs.replace(line, items="")): line
            for line in chain.from_iterable(ledger.lines for ledger in self.ledgers)
        }
        in_order = tuple(sorted(merged.values(), key=lambda line: line.at))
        object.__setattr__(self, "lines", in_order)

    @property
    def current(self) -> Sequence[LedgerLine]:
        """Lines after the last line that begins a new ledger."""
        return since_reset(self.lines)

    @property
    def confirmed(self) -> LedgerLine | None:
        """Line that records the use of the held-out items, or None if they are unused."""
        return next((line for line in self.current if line.confirmed), None)

    @property
    def holdout(self) -> float | None:
        """Share of the items that is held out, or None if none are held out."""
        return next((line.holdout for line in self.current if line.holdout is not None), None)


def tried_in_run(folder: RunFolder) -> TriedJudges | None:
    """Return how a run's judges count as tried at its validation, or None before that.

    Raises
    ------
    RunError
        If the copy of the ledger cannot be read.
    """
    lines = read_ledger(folder.path / LEDGER)
    if folder.manifest.config.confirms:
        return _confirming(lines)
    return next((line.standing for line in reversed(lines) if line.standing), None)


def count_run(folder: RunFolder, source: Source, *, new_ledger: bool = False) -> TriedJudges | None:
    """Count a run's validation in the ledger, and copy related ledger lines to its folder.

    A validation with the same replies and ratings is not counted again, because it has the same
    result anywhere.

    Raises
    ------
    RunError
        If a ledger cannot be read or written.
    """
    config, names = folder.manifest.config, _answering(source)
    judges = {folder.manifest.fingerprints.get(name, ""): name for name in names}
    judges.pop("", None)
    if config.confirms:
        return source.tried
    copied = read_ledger(folder.path / LEDGER)
    contents = _contents(source, _original(folder, source.task), judges)
    if not judges or not contents.keys.size:
        return None
    before = next((line for line in reversed(copied) if line.standing), None)
    if before is not None and not new_ledger and before.validation == contents.digest:
        return before.standing
    with _locked(contents, _folder_of(folder, contents)) as writer:
        line = writer.record(
            judges,
            run=folder.path.name,
            limited=_is_limited(source, config.limit),
            new_ledger=new_ledger or (config.new_ledger and not copied),
        )
    _copy(folder, writer.series)
    return line.standing


def count_verdicts(
    source: Source,
    *,
    limit: int | None = None,
    holdout: float | None = None,
    new_ledger: bool = False,
) -> TriedJudges | None:
    """Count a validation of another tool's verdicts, and hold out items. See `count_run`.

    A ``holdout`` is recorded with the first judge.
    """
    names = set(_answering(source))
    judges = {judge.fingerprint: judge.name for judge in source.judges if judge.name in names}
    contents = _contents(source, source.task, judges)
    if not judges or not contents.keys.size:
        return None
    with _locked(contents, source.task.folder) as writer:
        limited = _is_limited(source, limit)
        return writer.record(
            judges, limited=limited, holdout=holdout, new_ledger=new_ledger
        ).standing


def settle(
    tried: TriedJudges | None, validation: Validation, task_folder: Path | None = None
) -> None:
    """Record the confidence level at which each judge in a validation was tested.

    If the program is killed before this, the judges are later tested as if they were new.

    Raises
    ------
    RunError
        If a ledger cannot be read or written.
    """
    if tried is None or tried.limited or not tried.validation:
        return
    line = LedgerLine(at=_now(), validation=tried.validation, levels=_levels(validation))
    for file in _files(task_folder):
        lines = read_ledger(file)
        of_it = [row for row in lines if row.validation == tried.validation]
        if of_it and all(row.levels is None for row in of_it):
            _append(file, [line])


def _levels(validation: Validation) -> dict[str, float]:
    """Return the level of each judge's test, or {} if the first judge had too few answers."""
    evidence, checks = validation.evidence, validation.decision.checks
    if evidence is None or not all(kind in checks and checks[kind].passed for kind in COMPLETE):
        return {}
    return {row.judge: row.level for row in evidence.judges if row.level is not None}


def fix_holdout(folder: RunFolder, task: Task) -> None:
    """Record a new run's holdout, or record that a confirmation uses the held-out items.

    Raises
    ------
    RunError
        If the held-out items were used before, or the ledger cannot be read or written.
    """
    config = folder.manifest.config
    if config.holdout is None:
        return
    contents = _scope(task, config.criterion)
    with _locked(contents, _folder_of(folder, contents)) as writer:
        if config.confirms:
            _check_unspent(writer.series)
            items = _select(task, config.criterion, config.holdout, held_out=True)
            prints = folder.manifest.fingerprints.items()
            judges = {p: name for name, p in prints if name != config.compared_with}
            confirmed = LedgerLine(at=_now(), run=config.confirms, confirmed=judges)
            writer.write(confirmed, contents_of(task, items, {}))
        else:
            if config.new_ledger:
                writer.reset()
            if writer.series.holdout is None:
                items = _select(task, config.criterion, config.holdout)
                fixed = LedgerLine(at=_now(), run=folder.path.name, holdout=config.holdout)
                writer.write(fixed, contents_of(task, items, {}))
    _copy(folder, writer.series)


def holdout_of(
    task: Task, criterion: str | None, wanted: float | None, *, new_ledger: bool
) -> float | None:
    """Return the share of items that a new run holds out, or None if it holds out none.

    Raises
    ------
    RunError
        If a different share is fixed, or judges were already tried on the items to hold out.
    TaskError
        If the share has no item.
    """
    recorded = None if new_ledger else recorded_holdout(task, criterion)
    if wanted is None or wanted == recorded:
        return recorded
    where = f"task {task.name}"
    if recorded is not None:
        raise RunError(
            f"{where}: these ratings already have a fixed holdout of {recorded:g}. Drop --holdout."
        )
    if tried := [] if new_ledger else judges_tried(task, criterion):
        n_tried = "1 judge was" if len(tried) == 1 else f"{len(tried)} judges were"
        raise RunError(
            f"{where}: {n_tried} tried on all of these items, e.g. {tried[0]}. Hold items out "
            "before you try the first judge, or get ratings for new items."
        )
    select_items(task, criterion=criterion, limit=None, holdout=wanted, held_out=True)
    return wanted


def judges_tried(task: Task, criterion: str | None) -> list[str]:
    """Return the names of judges tried on a task's items since the ledger began.

    Raises
    ------
    RunError
        If the ledger cannot be read.
    """
    current = _series_of_task(task, criterion).current
    return [name for line in current for name in line.judges.values()]


def recorded_holdout(task: Task, criterion: str | None) -> float | None:
    """Return the share of a task's items that is held out, or None if none are held out."""
    lines = chain.from_iterable(map(read_ledger, _files(task.folder)))
    if all(line.holdout is None for line in lines):  # the usual case, and a quick check
        return None
    return _series_of_task(task, criterion).holdout


def check_unspent(folder: RunFolder, task: Task) -> None:
    """Check, before any request, that no judge was confirmed on the run's held-out items.

    Raises
    ------
    RunError
        If a judge was confirmed, or a ledger cannot be read.
    """
    contents = _scope(task, folder.manifest.config.criterion)
    series = _series(contents, _folder_of(folder, contents))
    own = _read(folder.path / CONFIRMATION / LEDGER)
    _check_unspent(series if series.lines else ItemSeries((own,)))


def unspent_holdout(task: Task, criterion: str | None) -> TriedJudges:
    """Check that a task's held-out items are unused. Return the state of a confirmed judge.

    Raises
    ------
    RunError
        If the items were used before, or the ledger cannot be read.
    """
    series = _series_of_task(task, criterion)
    _check_unspent(series)
    return _confirming([*series.lines, LedgerLine(at="", confirmed={"": ""})])


def spend_holdout(source: Source, criterion: str | None) -> None:
    """Record that a source's only judge uses the held-out items.

    Raises
    ------
    RunError
        If the items were used before, or the ledger cannot be read or written.
    """
    judges = {judge.fingerprint: judge.name for judge in source.judges}
    with _locked(_scope(source.task, criterion), source.task.folder) as writer:
        _check_unspent(writer.series)
        line = LedgerLine(at=_now(), confirmed=judges)
        writer.write(line, contents_of(source.task, source.items, {}))


def read_ledger(file: Path) -> tuple[LedgerLine, ...]:
    """Return the lines of a ledger, or an empty tuple if the file does not exist.

    Raises
    ------
    RunError
        If the file cannot be read, or a line is not a ledger line.
    """
    lines = []
    try:
        with reader(file) as opened:
            for number, line in enumerate(bounded_lines(opened), start=1):
                try:
                    lines.append(_DECODE(line))
                except (ValueError, RecursionError):
                    raise RunError(
                        f"{file}: line {number} is not a line of a ledger. Restore the file, or "
                        "remove it to start counting with the next validation."
                    ) from None
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise RunError(f"{file}: cannot be read ({error.strerror}). Check the file.") from None
    return tuple(lines)


def since_reset(lines: Sequence[LedgerLine]) -> Sequence[LedgerLine]:
    """Return the lines after the last line that begins a new ledger."""
    starts = [i for i, line in enumerate(lines) if line.new_ledger]
    return lines[starts[-1] + 1 :] if starts else lines


def standing_of(
    lines: Sequence[LedgerLine],
    contents: Contents,
    judges: Mapping[str, str],
    *,
    limited: bool = False,
) -> TriedJudges:
    """Return how a new validation's judges count as tried, given all earlier lines.

    ``judges`` are their names by fingerprint. A judge with the same replies as an earlier one has
    that one's fingerprint; see `as_before`.
    """
    current = since_reset(lines)
    untested = {line.validation for line in current if line.levels == {}}
    tests = {line.validation or line.at for line in current if line.is_test} - untested
    before = {p for line in current for p in (*line.judges, *line.confirmed)}
    others = before - judges.keys()
    forgotten = lines[: len(lines) - len(current)]
    is_seen = not before.isdisjoint(judges)
    return TriedJudges(
        number=1 + len(tests),
        n=len(before | judges.keys()),
        n_before=len(others),
        n_now=len(judges),
        n_contending=len(others) if is_seen else 0,
        earlier={
            name: tests_before
            for name in judges.values()
            if (tests_before := _earlier(current, contents.sample, name))
        },
        n_forgotten=len({p for line in forgotten for p in line.judges} - before - judges.keys()),
        forgets=any(line.is_test for line in forgotten),
        limited=limited,
        validation=contents.digest,
    )


def _earlier(
    lines: Sequence[LedgerLine], sample: ItemDigests, judge: str
) -> tuple[tuple[float, float], ...]:
    """Return the levels of earlier tests, and their correlations with a judge's next test."""
    levels = {line.validation: line.levels for line in lines if line.levels}
    tests = [
        (levels[line.validation].get(name, 0.0), correlation((line.sample, name), (sample, judge)))
        for line in lines
        if line.sample is not None and line.validation in levels
        for name in line.sample.replies
    ]
    alike = {test for test in tests if min(test) > 0.0}
    return tuple(sorted(alike, key=lambda test: -test[1])[:MOST_EARLIER])


def as_before(
    lines: Sequence[LedgerLine], sample: ItemDigests, judges: Mapping[str, str]
) -> dict[str, str]:
    """Return judges by fingerprint. A judge with known replies gets the earlier fingerprint."""
    counted = {p for line in lines for p in line.judges}
    renamed = {}
    for own, name in judges.items():
        renamed[own if own in counted else _replied_alike(lines, sample, name) or own] = name
    return renamed


def _replied_alike(lines: Iterable[LedgerLine], sample: ItemDigests, judge: str) -> str:
    """Return the fingerprint of an earlier judge with the same replies, or "" if none has."""
    for line in lines:
        for fingerprint, name in line.judges.items():
            if line.sample and correlation((line.sample, name), (sample, judge)) >= ALIKE:
                return fingerprint
    return ""


def _confirming(lines: Sequence[LedgerLine]) -> TriedJudges:
    """Return how the only judge in a confirmation counts as tried."""
    n_forgotten = len({p for line in lines for p in line.confirmed}) - 1
    return TriedJudges(n_forgotten=max(n_forgotten, 0), held_out=True)


def _check_unspent(series: ItemSeries) -> None:
    if (line := series.confirmed) is not None:
        names = ", ".join(line.confirmed.values())
        run = f" of {line.run}" if line.run else ""
        raise RunError(
            f"the held-out items were used at {line.at}, to confirm {names}{run}, and can't be "
            "used again. To confirm a different judge, get ratings for new items."
        )


def _answering(source: Source) -> list[str]:
    """Return the judges that count as tried, because they raced or gave an answer."""
    if source.race is not None:
        return [row.judge for row in source.race.judges]
    return [
        name
        for name, verdicts in source.verdicts.items()
        if any(kind.outcome == "answered" for kind in columns_of(verdicts).kinds)
    ]


def _contents(source: Source, task: Task, judges: Mapping[str, str]) -> Contents:
    """Return the contents of a source's validation, with the replies of the given judges."""
    verdicts = {name: source.verdicts.get(name, ()) for name in judges.values()}
    return contents_of(task, [task.by_id[item.id] for item in source.items], verdicts)


def _original(folder: RunFolder, copied: Task) -> Task:
    """Return a run's task with its items' texts, if they are available."""
    if not folder.manifest.config.item_text:
        with suppress(HarnessError):
            return folder.load_task()
    return copied


def _is_of(line: LedgerLine, *, limited: bool) -> bool:
    """Return whether a line is from a validation of this kind: limited, or of all items."""
    return line.standing is not None and line.standing.limited == limited


def _is_limited(source: Source, limit: int | None) -> bool:
    """Return whether a limit excluded items."""
    return limit is not None and limit == len(source.items) < len(source.task.items)


def _select(
    task: Task, criterion: str | None, holdout: float | None, *, held_out: bool = False
) -> tuple[Item, ...]:
    return select_items(task, criterion=criterion, limit=None, holdout=holdout, held_out=held_out)


def _scope(task: Task, criterion: str | None) -> Contents:
    return contents_of(task, _select(task, criterion, None), {})


def _series_of_task(task: Task, criterion: str | None) -> ItemSeries:
    return _series(_scope(task, criterion), task.folder)


def _folder_of(folder: RunFolder, contents: Contents) -> Path | None:
    """Return the folder of a run's task if it has a ledger and the run's items, or else None.

    A run folder can come from someone else, so only a ledger with the same items is written.
    """
    with suppress(HarnessError):
        path = find_task(folder.manifest.config.task)
        if (path / LEDGER).exists():
            task = load_task(str(path))
            if overlap(contents.keys, contents_of(task, task.items, {}).keys):
                return path
    return None


def task_folder_of(folder: RunFolder) -> Path | None:
    """Return the folder of a run's task, or None if the folder does not exist."""
    with suppress(HarnessError):
        return find_task(folder.manifest.config.task)
    return None


def _files(task_folder: Path | None) -> list[Path]:
    """Return the user's ledger files, and the task folder's ledger if it exists."""
    own = sorted((data_folder() / LEDGERS).glob("*.jsonl"))
    shared = [] if task_folder is None else [task_folder / LEDGER]
    return [*own, *(file for file in shared if file.exists())]


def _series(contents: Contents, task_folder: Path | None) -> ItemSeries:
    """Read the ledgers that share items with a validation, directly or through other ledgers."""
    shared = None if task_folder is None else task_folder / LEDGER
    left, linked, keys = list(map(_read, _files(task_folder))), [], contents.keys
    while near := [
        ledger
        for ledger in left
        if ledger.file == shared or (overlap(keys, ledger.keys) and ledger.is_about(contents))
    ]:
        linked += near
        left = [ledger for ledger in left if ledger not in near]
        keys = np.unique(np.concatenate([keys, *(ledger.keys for ledger in near)]))
    return ItemSeries(tuple(linked))


def _read(file: Path) -> LedgerFile:
    lines = read_ledger(file)
    try:
        keys = [decoded(line.items, KEY) for line in lines if line.items]
    except ValueError:
        raise RunError(f"{file}: the items of a line can't be read. Restore the file.") from None
    return LedgerFile(file, lines, np.sort(np.concatenate([np.zeros(0, np.uint64), *keys])))


class _Writer:
    """Writer for the files of a series. Only one process can write at a time."""

    def __init__(self, contents: Contents, task_folder: Path | None) -> None:
        self._contents = contents
        self.series = _series(contents, task_folder)
        own = [ledger for ledger in self.series.ledgers if ledger.file.parent.name == LEDGERS]
        if not own:
            file = data_folder() / LEDGERS / f"{contents.digest}.jsonl"
            new = LedgerFile(file, (), np.zeros(0, np.uint64))
            self.series = ItemSeries((new, *self.series.ledgers))

    def record(
        self,
        judges: Mapping[str, str],
        *,
        limited: bool,
        run: str = "",
        holdout: float | None = None,
        new_ledger: bool = False,
    ) -> LedgerLine:
        """Return a validation's line. Append the line if the series does not contain it."""
        contents = self._contents
        if new_ledger:
            self.reset()
        if holdout is not None and self.series.holdout is None:
            self.write(LedgerLine(at=_now(), run=run, holdout=holdout), contents)
        current = self.series.current
        for line in current:
            if line.validation == contents.digest and _is_of(line, limited=limited):
                return line
        named = as_before(current, contents.sample, judges)
        standing = standing_of(self.series.lines, contents, named, limited=limited)
        line = LedgerLine(
            at=_now(),
            sample=contents.sample,
            validation=contents.digest,
            standing=standing,
            run=run,
            judges=named,
        )
        self.write(line, contents)
        return line

    def reset(self) -> None:
        """Begin a new ledger, if the series has lines."""
        if self.series.lines:
            self.write(LedgerLine(at=_now(), new_ledger=True), None)

    def write(self, line: LedgerLine, contents: Contents | None) -> None:
        """Append a line to each file, with the keys of items that the file lacks."""
        ledgers = []
        for ledger in self.series.ledgers:
            added, keys = line, ledger.keys
            if contents is not None:
                new = np.setdiff1d(contents.keys, keys, assume_unique=True)
                keys = np.union1d(keys, new)
                items = encoded(new, KEY)
                added = msgspec.structs.replace(line, what=contents.what, items=items)
            _append(ledger.file, [added])
            ledgers.append(LedgerFile(ledger.file, (*ledger.lines, added), keys))
        self.series = ItemSeries(tuple(ledgers))


@contextmanager
def _locked(contents: Contents, task_folder: Path | None) -> Iterator[_Writer]:
    """Read the series for a validation, and block other writers until the block ends."""
    with ExitStack() as stack:
        stack.callback(_opened(data_folder() / LOCK).close)
        yield _Writer(contents, task_folder)


def _append(file: Path, lines: Sequence[LedgerLine]) -> None:
    log = _opened(file)
    try:
        log.write(b"".join(map(_encoded, lines)))
    except OSError as error:
        raise _unusable(file, error) from None
    finally:
        log.close()


def _copy(folder: RunFolder, series: ItemSeries) -> None:
    """Copy the lines of a series to a run folder, without the items' keys."""
    lines = (msgspec.structs.replace(line, items="", sample=None) for line in series.lines)
    folder.write(LEDGER, b"".join(map(_encoded, lines)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _encoded(line: LedgerLine) -> bytes:
    return msgspec.json.encode(line) + b"\n"


def _opened(file: Path) -> ChecksummedLog:
    """Open a file for appending, after waiting until no other process has it open."""
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
        f"{file}: the judges tried on these items can't be counted ({error.strerror}). Set "
        "$XDG_DATA_HOME to a different folder."
    )
