"""Writing a task folder from a table; rejected rows are listed with line and reason."""

from __future__ import annotations

import csv
import json
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any

import msgspec

from harness.curation.new_folder import new_folder
from harness.curation.task_description import describe_task
from harness.errors import TaskError
from harness.tasks.changelog import record_change
from harness.tasks.columns.cell_values import labels_of, name_of, readable
from harness.tasks.columns.table_columns import JOINT, item_names
from harness.tasks.model import SETS_RANK_FROM, share_with_sets
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.schema import MAX_POWERSET_OPTIONS, TASK_FILE, read_task_file
from harness.tasks.tables.checks import MAX_ID_CHARS
from harness.tasks.write import write_task_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from harness.command_options import RanksBy
    from harness.curation.import_plan import Plan
    from harness.tasks import TaskFile
    from harness.tasks.columns.answer_cells import Answer


CHUNK = 10_000  # rows whose JSON is hashed at once
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
N_LISTED = 10  # rejected rows, and items without text, that are kept in memory
RATING = ("item", "rater", "elicitation", "value")
VERDICT = ("item", "judge", "elicitation", "value")
VERDICTS = "verdicts.csv"
REJECTED_FILE = "rejected.csv"
MAX_REJECTED = 0.05  # share of the answers that may be rejected by default


def imported_hash(folder: Path) -> str:
    """Return the `Task.content_hash` of a folder with ``items.jsonl`` and ``ratings.csv``.

    Loading a table of a million rows as a task takes gigabytes; this reads a row at a time, as
    `make_task` writes it: every value is an option, a list of options or a label that is ignored.
    """
    file = read_task_file(folder / TASK_FILE)
    digest = sha256(b"{")
    ignored = _ratings(folder, file, ignored=True) if file.ignore_labels else iter(())
    for name, rows in (
        ("ignored", ignored),
        ("items", _items(folder)),
        ("ratings", _ratings(folder, file, ignored=False)),
    ):
        digest.update(f'"{name}":['.encode())
        for i, part in enumerate(_joined(rows)):
            digest.update(("," + part if i else part).encode())
        digest.update(b"],")
    digest.update(f'"task":{_encode(file.described())}}}'.encode())
    return digest.hexdigest()


def _joined(rows: Iterator[str]) -> Iterator[str]:
    while chunk := list(islice(rows, CHUNK)):
        yield ",".join(chunk)


def _items(folder: Path) -> Iterator[str]:
    decode = msgspec.json.Decoder(dict[str, str]).decode
    with (folder / "items.jsonl").open("rb") as lines:
        for line in lines:
            row = decode(line)
            yield _encode([row.pop("id"), row.pop("group", None), row.pop("criterion", None), row])


def _ratings(folder: Path, file: TaskFile, *, ignored: bool) -> Iterator[str]:
    """Yield ratings, or those that the task ignores, as JSON arrays."""
    values: dict[str, tuple[bool, str]] = {}  # whether it is ignored, and its JSON
    with (folder / "ratings.csv").open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        next(rows)
        for item, rater, elicitation, text, *_ in rows:
            key = elicitation + text
            if key not in values:
                values[key] = _value(file, elicitation, text)
            is_foreign, value = values[key]
            if is_foreign is ignored:
                names = f"{encode_basestring_ascii(item)},{encode_basestring_ascii(rater)}"
                yield f'[{names},"{elicitation}",{value}]'


def _value(file: TaskFile, elicitation: str, text: str) -> tuple[bool, str]:
    foreign = set(file.ignore_labels)
    if elicitation == "forced_choice" or text == CANNOT_ASSESS:
        return text in foreign, _encode(text)
    named: Iterable[Any] = json.loads(text)
    if foreign.intersection(named):
        return True, _encode(named)
    return False, _encode([option.key for option in file.options if option.key in named])


USED, REFUSED = 1, 2  # marks of a row


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row, or a cell of it, that could not be used."""

    line: int
    column: str
    reason: str


@dataclass(slots=True)
class ImportSummary:
    """Counts of a task folder made from a table.

    Attributes
    ----------
    raters : dict of str to int
        Ratings per rater.
    judges : dict of str to int
        Verdicts per judge.
    share_with_sets : float or None
        Share of the rated items that have response sets; see `harness.tasks.model.share_with_sets`.
    n_rejected : int
        Number of rows and cells that were not used; ``rejected.csv`` lists all of them.
    rejected : list of Rejected
        The first rejected rows and cells.
    n_outside : int
        Pairs of a rater's set and choice whose choice lies outside the set: kept as two ratings, of
        which F says nothing.
    fields : set of str
        Fields that some item has.
    textless : list of str
        The first items that lack a text; a run needs one for every item, `validate` does not.
    """

    folder: Path
    n_items: int = 0
    n_outside: int = 0
    fields: set[str] = field(default_factory=set)
    textless: list[str] = field(default_factory=list)
    raters: dict[str, int] = field(default_factory=dict)
    judges: dict[str, int] = field(default_factory=dict)
    share_with_sets: float | None = None
    n_rejected: int = 0
    rejected: list[Rejected] = field(default_factory=list)

    @property
    def n_answers(self) -> int:
        """Number of ratings and verdicts that were written."""
        return sum(self.raters.values()) + sum(self.judges.values())


@dataclass(frozen=True, slots=True)
class MaxRejected:
    """Most of a table that may be rejected: a number of rows and cells, or a share of answers."""

    number: int | None = None
    share: float = MAX_REJECTED

    def allows(self, n_rejected: int, n_answers: int) -> bool:
        """Whether a file may be written although some rows were rejected."""
        if self.number is not None:
            return n_rejected <= self.number
        return n_rejected <= self.share * (n_rejected + n_answers)

    def __str__(self) -> str:
        return f"{self.share:.0%} of the answers" if self.number is None else str(self.number)


def make_task(
    plan: Plan, folder: Path, *, max_rejected: MaxRejected | None = None
) -> ImportSummary:
    """Write a task folder from a table, atomically.

    Parameters
    ----------
    plan : Plan
        Column roles and meaning of the labels.
    folder : Path
        Must not exist yet. Gets ``task.yaml``, ``items.jsonl``, ``ratings.csv`` and
        ``changelog.jsonl``; where the table holds verdicts, ``verdicts.csv``; where rows were
        rejected, ``rejected.csv``.
    max_rejected : MaxRejected, optional
        Most rows and cells that may be rejected, by default any number; above it,
        ``FOLDER.rejected.csv`` alone is written; that of an earlier import is removed.

    Raises
    ------
    TaskError
        If a question of the plan is open, the folder exists or cannot be written, no row could be
        used, or too many were rejected.
    """
    if plan.questions():
        raise TaskError(f"{plan.table.path}: {'; '.join(plan.questions())}.")
    summary = ImportSummary(folder)
    with new_folder(folder) as part:
        _write(plan, part, summary)
        if max_rejected and not max_rejected.allows(summary.n_rejected, summary.n_answers):
            _keep_rejected(part, summary, max_rejected)
        ranks_by = _ranks_by(plan, summary)
        fields = describe_task(plan, summary.raters, summary.fields, ranks_by=ranks_by)
        write_task_file(part, fields)
        _record(plan, part, folder)
        _rejected_beside(folder).unlink(missing_ok=True)
    return summary


def _ranks_by(plan: Plan, summary: ImportSummary) -> RanksBy:
    """Return what judges are ranked by: response sets where nearly all rated items have them."""
    share, n_options = summary.share_with_sets, len(plan.answers.labels)
    nearly_all = share is not None and share >= SETS_RANK_FROM
    return "response_set" if nearly_all and n_options <= MAX_POWERSET_OPTIONS else "forced_choice"


def _keep_rejected(part: Path, summary: ImportSummary, max_rejected: MaxRejected) -> None:
    """Keep the list of rejected rows beside the folder that is not written."""
    listed = _rejected_beside(summary.folder)
    (part / REJECTED_FILE).replace(listed)
    first = summary.rejected[0]
    raise TaskError(
        f"{summary.folder}: {summary.n_rejected} rows or cells cannot be used, more than "
        f"{max_rejected}, so nothing was written; {listed} lists them (line {first.line}: "
        f"{first.reason}). Correct them, or raise --max-rejected."
    )


def _rejected_beside(folder: Path) -> Path:
    """Return where the rejected rows of a folder that is not written are listed."""
    return folder.with_name(f"{folder.name}.{REJECTED_FILE}")


def _record(plan: Plan, part: Path, folder: Path) -> None:
    """Read the written task and begin its changelog; an error names the final folder."""
    try:
        record_change(part, f"import of {plan.table.path.name}", after=imported_hash(part))
    except TaskError as error:
        raise TaskError(str(error).replace(str(part), str(folder)), reason=error.reason) from None


def _write(plan: Plan, part: Path, summary: ImportSummary) -> None:
    with ExitStack() as stack:
        writer = _Writer(plan, part, summary, stack)
        for line, problem in plan.table.ragged:
            writer.reject_line(line, "", problem.rstrip("."))
        for answer in plan.reader.answers():
            if plan.criterion is None or answer.criterion == plan.criterion:
                writer.add(answer)
        writer.end()
        if not writer.items:
            first = summary.rejected[:1]
            reason = f"; line {first[0].line}: {first[0].reason}" if first else ""
            raise TaskError(f"{plan.table.path}: no row could be used{reason}.")
    summary.n_items = len(writer.items)
    summary.n_outside = _pairs_outside(part / "ratings.csv") if writer.has_sets else 0
    summary.share_with_sets = share_with_sets(writer.answered)
    if not summary.judges:
        (part / VERDICTS).unlink()
    if not summary.n_rejected:
        (part / REJECTED_FILE).unlink()


def _pairs_outside(ratings: Path) -> int:
    """Count the pairs whose choice is not in the set that the same rater gave the item."""
    choices: dict[tuple[str, str], str] = {}
    sets: dict[tuple[str, str], str] = {}
    with ratings.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        next(rows)
        for item, rater, elicitation, value, *_ in rows:
            if value != CANNOT_ASSESS:
                (sets if elicitation == "response_set" else choices)[item, rater] = value
    pairs = choices.keys() & sets.keys()
    return sum(choices[pair] not in json.loads(sets[pair]) for pair in pairs)


class _Writer:
    """Writes the files of a task answer by answer and refuses repeated ratings."""

    def __init__(self, plan: Plan, part: Path, summary: ImportSummary, stack: ExitStack) -> None:
        self.plan = plan
        self.summary = summary
        self.items: dict[str, int] = {}  # number of the item's fields, by id
        self.answered: set[tuple[str, str]] = set()  # items by elicitation
        self._rated: set[tuple[str, str, str]] = set()
        self._judged: dict[tuple[str, str, str], str] = {}  # verdict by item, judge, elicitation
        self._late_verdicts: list[Answer] = []
        self._values: dict[tuple[str, str], tuple[str, str, str]] = {}
        table, mapping = plan.table, plan.mapping
        self._lines = table.lines.tolist()
        self._names = item_names(table, mapping.id)
        self._fields = table.keys(plan.fields).tolist()
        self._groups = self._cells_of(mapping.group)
        self._criteria = self._cells_of(mapping.criterion)
        self._elicitations = self._cells_of(mapping.elicitation)
        self._times = self._cells_of(mapping.rated_at)
        self._first_row: dict[str, int] = {}
        self._used_rows = bytearray(table.n_rows)
        self.has_sets = False

        def file(name: str, columns: Sequence[str]) -> Any:  # noqa: ANN401 -- csv names no type
            opened = (part / name).open("x", encoding="utf-8", newline="")
            writer = csv.writer(stack.enter_context(opened), lineterminator="\n")
            writer.writerow(columns)
            return writer

        items = (part / "items.jsonl").open("x", encoding="utf-8", newline="\n")
        self._items = stack.enter_context(items)
        self._ratings = file("ratings.csv", (*RATING, *(["rated_at"] if self._times else [])))
        self._verdicts = file(VERDICTS, VERDICT)
        self._rejected = file(REJECTED_FILE, ("line", "column", "reason"))

    def _cells_of(self, column: str) -> list[str]:
        """Return the cells of a column as names; nothing where there is no column."""
        return item_names(self.plan.table, (column,)) if column else []

    def reject(self, row: int, column: str, reason: str) -> None:
        """Record a row or cell that cannot be used."""
        self.reject_line(self._lines[row], column, reason)

    def reject_line(self, line: int, column: str, reason: str) -> None:
        """Record a line of the table that cannot be used."""
        self.summary.n_rejected += 1
        if len(self.summary.rejected) < N_LISTED:
            self.summary.rejected.append(Rejected(line, column, reason))
        self._rejected.writerow((line, column, reason))

    def add(self, answer: Answer) -> None:
        """Write an answer; verdicts wait until all items are known."""
        if answer.is_judge:
            self._late_verdicts.append(answer)
            return
        self._used_rows[answer.row] = self._used_rows[answer.row] or USED
        item = self._item(answer)
        if not item:
            return
        if answer.problem:
            self.reject(answer.row, answer.column, answer.problem)
            return
        elicitation, value, problem = self._value(answer)
        key = (item, answer.name, elicitation)
        problem = problem or self._problem(answer, key)
        if problem:
            self.reject(answer.row, answer.column, problem)
        elif self._add_item(answer, item):
            self._rated.add(key)
            self.has_sets |= elicitation == "response_set"
            if value != CANNOT_ASSESS:
                self.answered.add((item, elicitation))
            time = (self._times[answer.row],) if self._times else ()
            self._ratings.writerow((*key, value, *time))
            self.summary.raters[answer.name] = self.summary.raters.get(answer.name, 0) + 1

    def end(self) -> None:
        """Write the verdicts, and name the rows that hold no rating."""
        criterion = self.plan.criterion if self._criteria else None
        if self.plan.mapping.one_row_per_item:
            for row, used in enumerate(self._used_rows):
                is_own = criterion is None or self._criteria[row] == criterion
                if not used and is_own:
                    self.reject(row, "", "no rater rated it")
        for answer in self._late_verdicts:
            self._add_verdict(answer)

    def _item(self, answer: Answer) -> str:
        """Return the id of an answer's item; "" where it has none, or it is another row's."""
        name = self._names[answer.row]
        if not name:
            self._reject_row(answer.row, "the item is not named")
            return ""
        if self.plan.mapping.one_row_per_item:
            first = self._first_row.setdefault(name, answer.row)
            if first != answer.row:
                line = self._lines[first]
                self._reject_row(answer.row, f"item {name!r} stands on line {line}, too")
                return ""
        return self._item_id(answer)

    def _item_id(self, answer: Answer) -> str:
        name = self._names[answer.row]
        return f"{name}{JOINT}{answer.criterion}" if self.plan.joint else name

    def _reject_row(self, row: int, reason: str) -> None:
        """Reject a row once, whatever the number of its answers."""
        if self._used_rows[row] != REFUSED:
            self._used_rows[row] = REFUSED
            self.reject(row, ", ".join(self.plan.mapping.id), reason)

    def _value(self, answer: Answer) -> tuple[str, str, str]:
        """Return elicitation and value of an answer, and why it cannot be used."""
        key = (answer.text, self._elicitations[answer.row] if self._elicitations else "")
        if key not in self._values:
            self._values[key] = self._read_value(*key)
        return self._values[key]

    def _read_value(self, text: str, elicitation: str) -> tuple[str, str, str]:
        labels, is_list = labels_of(text)
        elicitation = elicitation or ("response_set" if is_list else "forced_choice")
        if not labels:
            return elicitation, "", "the label is empty"
        keys = [self.plan.answers.key(label) for label in labels]
        unknown = [label for label, key in zip(labels, keys, strict=True) if key is None]
        if unknown:
            return elicitation, "", f"label {unknown[0][:80]!r} is no option"
        named = [key for key in keys if key]
        if len(set(named)) < len(named):
            return elicitation, "", "a label is named twice"
        if CANNOT_ASSESS in named and len(named) > 1:
            return elicitation, "", f"{CANNOT_ASSESS} stands beside other labels"
        if elicitation == "forced_choice" and len(named) > 1:
            return elicitation, "", "several labels where one was asked for"
        return elicitation, _written(named, elicitation), ""

    def _problem(self, answer: Answer, key: tuple[str, str, str]) -> str:
        """Return why a rating cannot be used; "" if it can."""
        rater = answer.name
        if not rater or len(rater) > MAX_ID_CHARS:
            return "the rater's name is too long" if rater else "the rater is not named"
        return f"rater {rater!r} has rated this item before" if key in self._rated else ""

    def _add_verdict(self, answer: Answer) -> None:
        """Write a verdict on an item that has human ratings."""
        mapping = self.plan.mapping
        item = self._item_id(answer)
        if item not in self.items or self._used_rows[answer.row] == REFUSED:
            if mapping.rater:
                reason = "no rater rated this item, so its verdict is not used"
                self.reject(answer.row, answer.column, reason)
            return
        elicitation, value = self._verdict(answer)
        if not value:
            return
        key = (item, answer.name, elicitation)
        if key in self._judged:  # a judge's column may repeat its verdict on an item's rows
            if (
                answer.column in {mapping.label, mapping.set, *mapping.criteria}
                or self._judged[key] != value
            ):
                reason = f"judge {answer.name!r} has rated this item before"
                self.reject(answer.row, answer.column, reason)
            return
        self._judged[key] = value
        self._verdicts.writerow((*key, value))
        self.summary.judges[answer.name] = self.summary.judges.get(answer.name, 0) + 1

    def _verdict(self, answer: Answer) -> tuple[str, str]:
        """Write the answer of a judge; a label that is no option will count as invalid."""
        labels, is_list = labels_of(answer.text)
        elicitation = self._elicitations[answer.row] if self._elicitations else ""
        elicitation = elicitation or ("response_set" if is_list else "forced_choice")
        keys = [self.plan.answers.key(label) or label for label in labels]
        return elicitation, _written(list(dict.fromkeys(keys)), elicitation) if keys else ""

    def _add_item(self, answer: Answer, item: str) -> bool:
        """Write an item the first time; False where its fields differ from an earlier row."""
        row = answer.row
        if item in self.items:
            if self.items[item] == self._fields[row]:
                return True
            columns = ", ".join(self.plan.fields)
            self.reject(row, columns, f"item {item!r} differs from an earlier row")
            return False
        entry = {"id": item} | self._place(answer)
        fields = self._fields_of(row)
        self._items.write(json.dumps(entry | fields, ensure_ascii=False) + "\n")
        self.items[item] = self._fields[row]
        self.summary.fields.update(fields)
        shown = [self.plan.fields[name] for name in self.plan.mapping.text]
        if len(self.summary.textless) < N_LISTED and any(name not in fields for name in shown):
            self.summary.textless.append(item)
        return True

    def _place(self, answer: Answer) -> dict[str, str]:
        """Return the group and the criterion of an answer's item."""
        group = self._groups[answer.row] if self._groups else ""
        if self.plan.joint:
            group = group or self._names[answer.row]
        criterion = self._criteria[answer.row] if self._criteria else name_of(answer.criterion)
        place = {"group": group, "criterion": criterion}
        return {role: name for role, name in place.items() if name}

    def _fields_of(self, row: int) -> dict[str, str]:
        """Return the texts of an item by the name of their field; conversations as text."""
        fields = {}
        for name, field_name in self.plan.fields.items():
            column = self.plan.table.columns[name]
            if text := column.texts[column.codes[row]]:
                fields[field_name] = readable(text)
        return fields


def _written(keys: Sequence[str], elicitation: str) -> str:
    if elicitation == "forced_choice" or CANNOT_ASSESS in keys:
        return keys[0]
    return json.dumps(list(keys), ensure_ascii=False)
