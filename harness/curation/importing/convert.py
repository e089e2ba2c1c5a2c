"""Writing a task folder from a table, with a list of rejected rows."""

from __future__ import annotations

import csv
import json
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from harness.curation.importing.new_folder import new_folder
from harness.curation.importing.picture_columns import write_pictures
from harness.curation.importing.reading_facts import is_ignored
from harness.curation.importing.task_description import commented
from harness.errors import TaskError
from harness.files.tables import LIMITS
from harness.files.tables.reader import csv_cells
from harness.tasks.changelog import record_change
from harness.tasks.columns.table_reader import Rejected, TableAnswer, TableItem
from harness.tasks.images import read_images
from harness.tasks.item import TASK_FILE, Item
from harness.tasks.load import MAX_REJECTED
from harness.tasks.model import digest_of
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import TaskFile, read_task_file
from harness.tasks.write import write_task_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from harness.curation.importing.import_plan import ImportPlan

N_LISTED = 10  # rejected rows, and items without text, that are kept in memory
RATING = ("item", "rater", "elicitation", "value")
VERDICT = ("item", "judge", "elicitation", "value")
VERDICTS = "verdicts.csv"
ITEMS = "items.jsonl"
REJECTED_FILE = "rejected.csv"


def imported_hash(folder: Path) -> str:
    """Compute the `Task.content_hash` of a folder with ``items.jsonl`` and ``ratings.csv``.

    Loading a million rows as a task takes gigabytes, so this reads one row at a time. It expects
    files from `make_task`, in which every value is an option, a list of options or an ignored
    label.
    """
    file = read_task_file(folder / TASK_FILE)
    content: dict[str, object] = {
        "task": file.described(),
        "items": ((i.id, i.group, i.criterion, i.fields) for i in _items(folder)),
        "ratings": _ratings(folder, file, ignored=False),
        "ignored": _ratings(folder, file, ignored=True) if file.ignore_labels else iter(()),
    }
    if file.image:
        images = read_images(folder, file.image, list(_items(folder)))
        content["images"] = {item: image.digest for item, image in images.items()}
    return digest_of(content)


def _items(folder: Path) -> Iterator[Item]:
    decode = msgspec.json.Decoder(dict[str, str]).decode
    with (folder / ITEMS).open("rb") as lines:
        for line in lines:
            row = decode(line)
            yield Item(row.pop("id"), row, row.pop("group", None), row.pop("criterion", None))


def _ratings(folder: Path, file: TaskFile, *, ignored: bool) -> Iterator[tuple[object, ...]]:
    """Yield item, rater, elicitation and value of the ratings, or of those with ignored labels."""
    values: dict[tuple[str, str], tuple[bool, object]] = {}  # whether the task ignores it, and it
    for item, rater, elicitation, text in _rating_cells(folder / "ratings.csv"):
        key = (elicitation, text)
        if key not in values:
            values[key] = _value(file, elicitation, text)
        is_foreign, value = values[key]
        if is_foreign is ignored:
            yield item, rater, elicitation, value


def _rating_cells(path: Path) -> Iterator[list[str]]:
    """Yield the cells of each written rating. Times are left out."""
    with closing(csv_cells(path, LIMITS, ",")) as rows:
        next(rows)
        for _, cells, _ in rows:
            yield cells[: len(RATING)]


def _value(file: TaskFile, elicitation: str, text: str) -> tuple[bool, object]:
    foreign = set(file.ignore_labels)
    if elicitation == "forced_choice" or text == CANNOT_ASSESS:
        return text in foreign, text
    named: Sequence[str] = json.loads(text)
    if foreign.intersection(named):
        return True, named
    return False, [option.key for option in file.options if option.key in named]


class RejectedLine(NamedTuple):
    """A row or cell that can't be used."""

    line: int
    column: str
    reason: str


@dataclass(slots=True)
class ImportSummary:
    """Counts from writing a table as a task folder.

    Attributes
    ----------
    ignored : frozenset of str
        Labels that the task ignores.
    raters : dict of str to int
        Number of ratings per rater. Ratings with an ignored label are left out.
    n_ignored : int
        Number of ratings with an ignored label. These are written, but the task leaves them out.
    judges : dict of str to int
        Number of verdicts per judge.
    answered : set of (str, str)
        Item and elicitation of each rating that isn't CANNOT_ASSESS.
    sets : set of tuple of str
        Distinct response sets in ratings and verdicts, in the given order of options.
    n_rejected : int
        Number of rejected rows and cells. ``rejected.csv`` lists all of them.
    rejected : list of RejectedLine
        The first rejected rows and cells.
    n_repeated : int
        Number of rejected rows that only repeat a rating.
    n_outside : int
        Number of set-then-choice pairs with the choice outside the set. They are kept as two
        ratings, which don't count for F.
    fields : set of str
        Fields that at least one item has.
    n_textless : int
        Number of items without a text or image for judges. A run skips these items, but `validate`
        doesn't.
    textless : list of str
        The first items without text.
    n_part_blank : int
        Number of items with a blank text among several, such as one of two compared answers. Judges
        see it as empty.
    """

    folder: Path
    ignored: frozenset[str] = frozenset()
    n_items: int = 0
    n_ignored: int = 0
    n_repeated: int = 0
    n_outside: int = 0
    fields: set[str] = field(default_factory=set)
    n_textless: int = 0
    textless: list[str] = field(default_factory=list)
    n_part_blank: int = 0
    raters: dict[str, int] = field(default_factory=dict)
    judges: dict[str, int] = field(default_factory=dict)
    answered: set[tuple[str, str]] = field(default_factory=set)
    sets: set[tuple[str, ...]] = field(default_factory=set)
    n_rejected: int = 0
    rejected: list[RejectedLine] = field(default_factory=list)

    @property
    def n_answers(self) -> int:
        """Number of ratings and verdicts that were written."""
        return sum(self.raters.values()) + self.n_ignored + sum(self.judges.values())

    @property
    def has_sets(self) -> bool:
        """Whether any rating is a response set."""
        return any(elicitation == "response_set" for _, elicitation in self.answered)

    def add_item(self, item: Item, shown: Sequence[str]) -> None:
        """Count an item, given the fields that judges see."""
        self.n_items += 1
        self.fields.update(item.fields)
        n_blank = sum(name not in item.fields for name in shown)
        if n_blank and n_blank == len(shown):
            self.n_textless += 1
            self.textless += [item.id] if len(self.textless) < N_LISTED else []
        elif n_blank:
            self.n_part_blank += 1

    def add_answer(self, answer: TableAnswer) -> None:
        """Count a rating, a verdict, or a label that the task ignores."""
        if is_ignored(answer, self.ignored):
            self.n_ignored += 1
            return
        counts = self.judges if answer.is_judge else self.raters
        counts[answer.name] = counts.get(answer.name, 0) + 1
        if isinstance(answer.value, tuple):
            self.sets.add(answer.value)
        if not answer.is_judge and answer.value != CANNOT_ASSESS:
            self.answered.add((answer.item, answer.elicitation))

    def reject(self, line: RejectedLine) -> RejectedLine:
        """Count a row or cell that can't be used, and return it."""
        self.n_rejected += 1
        if len(self.rejected) < N_LISTED:
            self.rejected.append(line)
        return line


@dataclass(frozen=True, slots=True)
class MaxRejected:
    """Limit on rejected rows and cells, as a number or as a share of all answers."""

    number: int | None = None
    share: float = MAX_REJECTED

    def allows(self, n_rejected: int, n_answers: int) -> bool:
        """Return whether the number of rejected rows and cells is within the limit."""
        if self.number is not None:
            return n_rejected <= self.number
        return n_rejected <= self.share * (n_rejected + n_answers)

    def __str__(self) -> str:
        return f"{self.share:.0%} of the answers" if self.number is None else str(self.number)


def make_task(
    plan: ImportPlan, folder: Path, *, max_rejected: MaxRejected | None = None
) -> ImportSummary:
    """Write a task folder from a table, atomically.

    Parameters
    ----------
    plan : ImportPlan
        Column roles and meaning of the labels.
    folder : Path
        Must not exist yet. Gets ``task.yaml``, ``items.jsonl``, ``ratings.csv`` and
        ``changelog.jsonl``; where the table holds verdicts, ``verdicts.csv``; where rows were
        rejected, ``rejected.csv``.
    max_rejected : MaxRejected, optional
        Maximum number of rejected rows and cells. Default: any number. Above it, only
        ``FOLDER.rejected.csv`` is written; an earlier import's file is removed.

    Raises
    ------
    TaskError
        If a question of the plan is open, the folder exists or cannot be written, no row could be
        used, or too many were rejected.
    """
    plan.check()
    summary = ImportSummary(folder, frozenset(plan.answers.ignore))
    with new_folder(folder) as part:
        _write(plan, part, summary)
        n_lost = summary.n_rejected - summary.n_repeated
        if max_rejected and not max_rejected.allows(n_lost, summary.n_answers):
            _keep_rejected(part, summary, max_rejected)
        described = plan.described(summary.fields, summary.answered, summary.sets)
        write_task_file(part, commented(described, summary.raters, plan.table.path.name))
        _record(plan, part, folder)
        _rejected_beside(folder).unlink(missing_ok=True)
    return summary


def _keep_rejected(part: Path, summary: ImportSummary, max_rejected: MaxRejected) -> None:
    """Write the list of rejected rows next to a task folder that isn't written."""
    listed = _rejected_beside(summary.folder)
    (part / REJECTED_FILE).replace(listed)
    first = summary.rejected[0]
    n_lost = summary.n_rejected - summary.n_repeated
    raise TaskError(
        f"{summary.folder}: {n_lost} rows or cells can't be used, more than "
        f"{max_rejected}, so nothing was written. {listed} lists them (line {first.line}: "
        f"{first.reason}). Correct them, or raise --max-rejected."
    )


def _rejected_beside(folder: Path) -> Path:
    """Return the path for the list of rejected rows if the task folder isn't written."""
    return folder.with_name(f"{folder.name}.{REJECTED_FILE}")


def _record(plan: ImportPlan, part: Path, folder: Path) -> None:
    """Read the written task and begin its changelog. An error names the final folder."""
    try:
        record_change(part, f"import of {plan.table.path.name}", after=imported_hash(part))
    except TaskError as error:
        raise TaskError(str(error).replace(str(part), str(folder)), reason=error.reason) from None


def _write(plan: ImportPlan, part: Path, summary: ImportSummary) -> None:
    columns = (*RATING, "rated_at") if plan.mapping.rated_at else RATING
    with ExitStack() as stack:

        def file(name: str, columns: Sequence[str]) -> Callable[[Sequence[object]], object]:
            opened = (part / name).open("x", encoding="utf-8", newline="")
            writer = csv.writer(stack.enter_context(opened), lineterminator="\n")
            writer.writerow(columns)
            return writer.writerow

        items = stack.enter_context((part / ITEMS).open("x", encoding="utf-8", newline="\n"))
        ratings, verdicts = file("ratings.csv", columns), file(VERDICTS, VERDICT)
        rejected = file(REJECTED_FILE, RejectedLine._fields)
        for entry in _entries(plan, summary):
            if isinstance(entry, RejectedLine):
                rejected(entry)
            elif isinstance(entry, TableItem):
                items.write(_item_line(entry.item))
            else:
                cells = (entry.item, entry.name, entry.elicitation, entry.cell, entry.rated_at)
                (verdicts if entry.is_judge else ratings)(
                    cells[: len(VERDICT if entry.is_judge else columns)]
                )
    if not summary.n_items:
        first = summary.rejected[:1]
        reason = f"; line {first[0].line}: {first[0].reason}" if first else ""
        raise TaskError(f"{plan.table.path}: no row could be used{reason}.")
    write_pictures(plan.pictures, part)
    if summary.has_sets:
        summary.n_outside = _pairs_outside(part / "ratings.csv")
    if not summary.judges:
        (part / VERDICTS).unlink()
    if not summary.n_rejected:
        (part / REJECTED_FILE).unlink()


def _entries(
    plan: ImportPlan, summary: ImportSummary
) -> Iterator[TableItem | TableAnswer | RejectedLine]:
    """Yield and count a table's items, answers, and rejected rows and cells with their lines."""
    reader = plan.reader()
    columns = (*plan.mapping.text, *filter(None, [plan.mapping.image]))
    shown = [plan.columns.fields[name] for name in columns]
    ragged = (
        RejectedLine(line, "", problem.rstrip(".")) for line, problem in plan.table.reading.ragged
    )
    for entry in chain(ragged, reader.rated()):
        if isinstance(entry, TableItem):
            summary.add_item(entry.item, shown)
            yield entry
        elif isinstance(entry, TableAnswer):
            summary.add_answer(entry)
            yield entry
        elif isinstance(entry, Rejected):
            line = reader.line(entry.row)
            summary.n_repeated += entry.is_repeat
            yield summary.reject(RejectedLine(line, entry.column, entry.reason))
        else:
            yield summary.reject(entry)


def _item_line(item: Item) -> str:
    place = {"group": item.group, "criterion": item.criterion}
    entry = {"id": item.id} | {role: name for role, name in place.items() if name}
    return json.dumps(entry | item.fields, ensure_ascii=False) + "\n"


def _pairs_outside(ratings: Path) -> int:
    """Count the choices that aren't in the same rater's set for the item."""
    choices: dict[tuple[str, str], str] = {}
    sets: dict[tuple[str, str], str] = {}
    for item, rater, elicitation, value in _rating_cells(ratings):
        if value != CANNOT_ASSESS:
            (sets if elicitation == "response_set" else choices)[item, rater] = value
    pairs = choices.keys() & sets.keys()
    return sum(choices[pair] not in json.loads(sets[pair]) for pair in pairs)
