"""Matching other tools' verdicts to a task, and writing them for `harness validate`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple

from harness.curation.importing.convert import MaxRejected
from harness.curation.verdicts.inspect_logs import inspect_entries
from harness.curation.verdicts.openai_batches import batch_entries
from harness.curation.verdicts.promptfoo_results import promptfoo_entries
from harness.curation.verdicts.verdict_entries import Selection, listed
from harness.curation.verdicts.verdict_tables import label_entries, table_entries
from harness.errors import VerdictError
from harness.files.regular_files import reader, write_file, writing_to
from harness.files.tables.checks import reading, short
from harness.files.tables.writer import csv_text, jsonl_text, neutralized
from harness.judging.parsing.external_verdicts import (
    NOT_AN_OPTION,
    ValueReader,
    is_empty,
    is_number,
    number_or_none,
    score_judges,
)
from harness.judging.parsing.verdict import PairValue, Verdict
from harness.tasks.item import ELICITATIONS, Elicitation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.curation.verdicts.verdict_entries import Entry
    from harness.judging.parsing.external_verdicts import UnitOfJudge
    from harness.judging.parsing.verdict import Value
    from harness.tasks import Task

    EntryReader = Callable[[Path, Selection], Iterator[Entry]]

COLUMNS = ("item", "judge", "elicitation", "sample", "value", "outcome")
ENDINGS = (".csv", ".jsonl")
REJECTED_ENDING = ".rejected.csv"
OPENING_BYTES = 4096
BY_NAME: dict[str, Elicitation] = {name: name for name in ELICITATIONS}


@dataclass(frozen=True, slots=True)
class RejectedVerdict:
    """An entry with an unknown item, a repeated verdict or an unknown value."""

    file: str
    line: int
    item: str
    judge: str
    reason: str


@dataclass(slots=True)
class JudgeCounts:
    """A judge's items with a verdict, and its verdicts by outcome."""

    items: set[str] = field(default_factory=set)
    outcomes: Counter[str] = field(default_factory=Counter)
    n_empty: int = 0  # empty cells, for which no verdict is written
    gives_scores: bool = False  # numbers that aren't options, which `harness validate` maps to them


@dataclass(slots=True)
class VerdictSummary:
    """Counts of imported and rejected entries.

    Attributes
    ----------
    judges : dict of str to JudgeCounts
        Counts by judge.
    rejected : list of RejectedVerdict
        Rejected entries. Entries with an unknown value are written as invalid. The others are not
        written.
    rejected_file : Path or None
        File that lists these entries.
    left_out : Counter of str
        Number of entries from sources that the user didn't name, by source.
    """

    judges: dict[str, JudgeCounts] = field(default_factory=dict)
    rejected: list[RejectedVerdict] = field(default_factory=list)
    rejected_file: Path | None = None
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def n_verdicts(self) -> int:
        """Number of written verdicts."""
        return sum(counts.outcomes.total() for counts in self.judges.values())


def import_verdicts(
    sources: Sequence[Path],
    task: Task,
    output: Path,
    selection: Selection,
    max_rejected: MaxRejected | None = None,
) -> VerdictSummary:
    """Convert other tools' files to a file of verdicts for `read_external`.

    Parameters
    ----------
    sources : sequence of Path
        Tables, logs of inspect_ai, results of promptfoo, output files of OpenAI batches, or labels
        by item (AltTest).
    task : Task
        The task. Items are matched by id, and options by key or label, both exactly.
    output : Path
        A csv or jsonl file that does not exist yet. ``OUTPUT.rejected.csv`` next to it lists items
        and values without a match.
    selection : Selection
        Judges to read, and the item's column.
    max_rejected : MaxRejected, optional
        Maximum number or share of listed entries. Default: 5 %. Above it, only the list is written.

    Raises
    ------
    VerdictError
        If a file can't be read, a source doesn't occur, no verdict is on an item of the task,
        too many are listed, or the output exists or can't be written.
    """
    _check_output(output)
    matcher = _Matcher(task, selection)
    for path in sources:
        matcher.add(path.name, _selected(path, matcher.summary, selection))
    matcher.take_scores()
    summary = matcher.summary
    _check_sources(matcher.sources | summary.left_out.keys(), selection)
    allowed = (max_rejected or MaxRejected()).allows(len(summary.rejected), summary.n_verdicts)
    with writing_to(output, VerdictError):
        rejected_file = output.with_suffix(REJECTED_ENDING)
        if summary.rejected:
            summary.rejected_file = rejected_file
            write_file(rejected_file, _rejected_csv(summary.rejected).encode())
        else:
            rejected_file.unlink(missing_ok=True)
        if allowed and matcher.rows:
            write_file(output, _written(matcher.rows, output).encode())
    if not allowed or not matcher.rows:
        raise VerdictError(_refusal(summary, output))
    return summary


def _check_output(output: Path) -> None:
    if output.suffix.lower() not in ENDINGS:
        raise VerdictError(
            f"{output}: verdicts are written as .csv or .jsonl. Choose a name with one of "
            "these endings."
        )
    if output.exists():
        raise VerdictError(f"{output}: exists already. Choose another name, or remove it yourself.")


def _refusal(summary: VerdictSummary, output: Path) -> str:
    """Explain why no verdicts were written."""
    if not summary.rejected:
        return f"{output}: the files contain no verdicts, so nothing was written."
    first = summary.rejected[0]
    return (
        f"{output}: not written. Items or values of {len(summary.rejected)} of the entries don't "
        f"match. {summary.rejected_file} lists them ({first.file}: line {first.line}: "
        f"{first.reason}). Correct them, pass --id, --map or --rename, or raise --max-rejected."
    )


def _selected(path: Path, summary: VerdictSummary, selection: Selection) -> Iterator[Entry]:
    """Yield the entries from selected sources, and count the others."""
    with reading(path, VerdictError):
        for entry in _reader(path)(path, selection):
            wanted = entry.source in selection.judges if selection.judges else not entry.optional
            if wanted or not entry.source:
                yield entry
            else:
                summary.left_out[entry.source] += 1


def _reader(path: Path) -> EntryReader:
    """Choose the reader for a file from its ending and first bytes."""
    suffix = path.suffix.lower()
    if suffix == ".eval":
        return inspect_entries
    if suffix not in {".json", ".jsonl"} or not path.is_file():
        return table_entries
    with reader(path) as file:
        opening = file.read(OPENING_BYTES)
    if suffix == ".jsonl":
        return batch_entries if b'"custom_id"' in opening.split(b"\n")[0] else table_entries
    if not opening.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return table_entries
    if b'"results"' in opening.split(b'"eval"')[0]:
        return promptfoo_entries
    return inspect_entries if b'"eval"' in opening else label_entries


def _check_sources(sources: set[str], selection: Selection) -> None:
    """Reject sources in the selection that no file contains."""
    for source in selection.judges:
        if source not in sources:
            raise VerdictError(
                f"--map: the files contain no verdicts from {short(source)} "
                f"({listed(sorted(sources))})."
            )


class _Number(NamedTuple):
    """A number that isn't an option ("" if not finite), its written row, and its rejected entry."""

    text: str
    row: dict[str, object]
    rejected: RejectedVerdict


class _Matcher:
    """Matcher of entries to a task's items and options."""

    def __init__(self, task: Task, selection: Selection) -> None:
        self._task = task
        self._items = task.by_id
        self._values = ValueReader(task, _names(task, selection.rename))
        self._selection = selection
        self._verdicts: dict[UnitOfJudge, Verdict] = {}
        self._numbers: dict[UnitOfJudge, _Number] = {}
        self.sources: set[str] = set()
        self.rows: list[dict[str, object]] = []
        self.summary = VerdictSummary()

    @property
    def _noun(self) -> str:
        """Phrase for a valid value, for messages."""
        return {"continuous": "a number on the scale", "text": "an answer"}.get(
            self._task.scale, "an option"
        )

    def add(self, file: str, entries: Iterable[Entry]) -> None:
        """Add a file's entries.

        Entries without a source belong to the only judge that the user named or the file contains.
        """
        unnamed = []
        judges = set()
        for entry in entries:
            if entry.source:
                self.sources.add(entry.source)
                judge = self._selection.judges.get(entry.source) or entry.judge or entry.source
                judges.add(judge)
                self._add(file, entry, judge)
            else:
                unnamed.append(entry)
        named = self._selection.judges
        if unnamed and len(named) == 1:
            self.sources.update(named)
            judges = {judge or source for source, judge in named.items()}
        judge = judges.pop() if len(judges) == 1 else ""
        for entry in unnamed:
            self._add(file, entry, judge)

    def _add(self, file: str, entry: Entry, judge: str) -> None:
        counts = self.summary.judges.setdefault(judge, JudgeCounts()) if judge else JudgeCounts()
        if is_empty(entry.value) and not entry.outcome:
            counts.n_empty += 1
            return
        named = entry.elicitation or self._selection.elicitation
        elicitation = BY_NAME.get(named)
        if elicitation is None:
            reason = f"elicitation {short(named)} isn't one of {', '.join(BY_NAME)}"
            self._reject(file, entry, judge, reason)
            return
        unit = (entry.item, judge, elicitation, entry.sample)
        if reason := self._problem(entry, judge, unit):
            self._reject(file, entry, judge, reason)
            return
        outcome, value = entry.outcome, None
        if outcome is None:
            parsed, value = self._values.read(entry.value, elicitation)
            outcome = parsed.outcome
        reason = ""
        row = dict(zip(COLUMNS, (*unit, _plain(value), outcome), strict=True))
        if outcome == "invalid" and not entry.outcome:
            text = f"value {short(entry.value)} is not {self._noun}, so it was written as invalid"
            rejected = self._reject(file, entry, judge, text)
            reason = parsed.reason
            if reason == NOT_AN_OPTION.reason and is_number(entry.value):
                number = number_or_none(entry.value) or ""
                self._numbers[unit] = _Number(number, row, rejected)
        self._verdicts[unit] = Verdict(
            item=entry.item,
            judge=judge,
            elicitation=elicitation,
            outcome=outcome,
            sample=entry.sample,
            value=value,
            reason=reason,
        )
        counts.items.add(entry.item)
        counts.outcomes[outcome] += 1
        self.rows.append(row)

    def take_scores(self) -> None:
        """Mark the numbers of judges that give scores as answered, not invalid."""
        texts = {unit: number.text for unit, number in self._numbers.items()}
        found = score_judges(self._task, self._verdicts.values(), texts)
        written = ((judge, number) for (_, judge, _, _), number in self._numbers.items())
        scores = [number for judge, number in written if judge in found and number.text]
        for number in scores:
            number.row.update(value=number.text, outcome="answered")
        for judge in found:
            counts = self.summary.judges[judge]
            n = sum(number.row["judge"] == judge for number in scores)
            counts.gives_scores = True
            counts.outcomes["answered"] += n
            counts.outcomes = counts.outcomes - Counter(invalid=n)
        taken = {id(number.rejected) for number in scores}
        self.summary.rejected = [r for r in self.summary.rejected if id(r) not in taken]

    def _problem(self, entry: Entry, judge: str, unit: UnitOfJudge) -> str:
        """Return why an entry's verdict can't be written, or "" if it can."""
        if not entry.item:
            return "the item is not named"
        if entry.item not in self._items:
            return f"item {short(entry.item)} is not in the task"
        if not judge:
            return "the request failed, and its model is not named"
        if unit in self._verdicts:
            return f"the judge has rated this item before (sample {entry.sample})"
        return ""

    def _reject(self, file: str, entry: Entry, judge: str, reason: str) -> RejectedVerdict:
        rejected = RejectedVerdict(file, entry.line, entry.item, judge, reason)
        self.summary.rejected.append(rejected)
        return rejected


def _names(task: Task, rename: Mapping[str, str]) -> dict[str, str]:
    """Map labels, and the user's other names for options, to option keys."""
    keys = {option.key for option in task.options}
    labels = {o.label: o.key for o in task.options if o.label not in keys}
    return labels | {value: labels.get(option, option) for value, option in rename.items()}


def _plain(value: Value) -> object:
    """Convert a value to lists and dicts."""
    if isinstance(value, PairValue):
        return {"set": list(value.set), "choice": value.choice}
    return list(value) if isinstance(value, tuple) else value


def _written(rows: Sequence[dict[str, object]], output: Path) -> str:
    return jsonl_text(rows) if output.suffix.lower() == ".jsonl" else csv_text(rows, COLUMNS)


def _rejected_csv(rejected: Sequence[RejectedVerdict]) -> str:
    rows = (
        asdict(entry) | {"item": neutralized(entry.item), "judge": neutralized(entry.judge)}
        for entry in rejected
    )
    return csv_text(rows, [field.name for field in fields(RejectedVerdict)])
