"""A table turned into a task folder: nothing is dropped without its line and the reason."""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from harness.curation.label_counts import answers_in
from harness.curation.table_cells import id_of, labels_of, rows_of, text_of
from harness.curation.task_comments import describe_task
from harness.errors import TaskError
from harness.tasks.cells import MAX_ID_CHARS
from harness.tasks.load import load_task
from harness.tasks.options import CANNOT_ASSESS
from harness.tasks.task_yaml import TASK_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from harness.curation.import_plan import Plan
    from harness.tasks.tables import Row

SHOWN = 10
RATING = ("item", "rater", "elicitation", "value")
VERDICT = ("item", "judge", "elicitation", "value")


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row, or one cell of it, that could not be used."""

    line: int
    column: str
    reason: str


@dataclass(slots=True)
class Made:
    """What a task folder was made of.

    Attributes
    ----------
    raters : dict of str to int
        Ratings per rater.
    judges : dict of str to int
        Verdicts per judge.
    n_rejected : int
        Rows and cells that were not used; all of them stand in ``rejected.csv``.
    rejected : list of Rejected
        The first of them.
    textless : list of str
        The first items that lack a text; a run needs one for every item, `validate` does not.
    """

    folder: Path
    n_items: int = 0
    textless: list[str] = field(default_factory=list)
    raters: dict[str, int] = field(default_factory=dict)
    judges: dict[str, int] = field(default_factory=dict)
    n_rejected: int = 0
    rejected: list[Rejected] = field(default_factory=list)


def make_task(plan: Plan, folder: Path) -> Made:
    """Write a task folder from a table, whole or not at all.

    Parameters
    ----------
    plan : Plan
        Which column is what, and what the labels mean.
    folder : Path
        Must not exist yet. Gets ``task.yaml``, ``items.jsonl`` and ``ratings.csv``; where the table
        holds verdicts, ``verdicts.csv``; where rows were rejected, ``rejected.csv``.

    Raises
    ------
    TaskError
        If the folder exists or cannot be written, or no row could be used.
    """
    check_new(folder)
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        made = _write(plan, part)
        (part / TASK_FILE).write_text(describe_task(plan, made.raters), encoding="utf-8")
        _check(part, folder)
        part.replace(folder)
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written ({error.strerror}).") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    made.folder = folder
    return made


def _check(part: Path, folder: Path) -> None:
    """Load what was written; a fault names the folder that it would have become."""
    try:
        load_task(part)
    except TaskError as error:
        raise TaskError(str(error).replace(str(part), str(folder)), reason=error.reason) from None


def check_new(folder: Path) -> None:
    """Refuse a folder that exists.

    Raises
    ------
    TaskError
        If there is anything of that name.
    """
    if folder.exists():
        raise TaskError(f"{folder}: exists already; choose another name, or remove it yourself.")


def _write(plan: Plan, part: Path) -> Made:
    with ExitStack() as stack:
        writer = _Writer(plan, part, stack)
        for line, row in rows_of(plan.table.path):
            writer.add_ratings(line, row)
        if not writer.items:
            first = writer.made.rejected[:1]
            why = f"; line {first[0].line}: {first[0].reason}" if first else ""
            raise TaskError(f"{plan.table.path}: no row could be used{why}.")
        for line, row in rows_of(plan.table.path) if plan.mapping.judges else ():
            writer.add_verdicts(line, row)
    made = writer.made
    made.n_items = len(writer.items)
    if not made.judges:
        (part / "verdicts.csv").unlink()
    if not made.n_rejected:
        (part / "rejected.csv").unlink()
    return made


class _Writer:
    """Writes the files of a task row by row and remembers what it must to refuse repeats."""

    def __init__(self, plan: Plan, part: Path, stack: ExitStack) -> None:
        self.plan = plan
        self.made = Made(part)
        self.items: dict[str, bytes] = {}  # id to a digest of what judges see
        self._seen: set[tuple[str, ...]] = set()
        self._said: dict[tuple[str, str, str], str] = {}  # verdicts

        def table(name: str, columns: Sequence[str]) -> Any:  # noqa: ANN401 -- csv names no type
            file = (part / name).open("w", encoding="utf-8", newline="")
            writer = csv.writer(stack.enter_context(file), lineterminator="\n")
            writer.writerow(columns)
            return writer

        items = (part / "items.jsonl").open("w", encoding="utf-8", newline="\n")
        self._items = stack.enter_context(items)
        self._ratings = table("ratings.csv", RATING)
        self._verdicts = table("verdicts.csv", VERDICT)
        self._rejected = table("rejected.csv", ("line", "column", "reason"))

    def reject(self, line: int, column: str, reason: str) -> None:
        """List a row or cell that cannot be used."""
        self.made.n_rejected += 1
        if len(self.made.rejected) < SHOWN:
            self.made.rejected.append(Rejected(line, column, reason))
        self._rejected.writerow((line, column, reason))

    def add_ratings(self, line: int, row: Row) -> None:
        """Write a row's item, if it is new, and the human ratings in it."""
        mapping = self.plan.mapping
        people = [cell for cell in answers_in(row, mapping, self.plan.table) if not cell[0]]
        if not people:  # a judge's row of a long table
            return
        item = self._item(line, row)
        if not item:
            return
        read = list(self._read(line, row, people, item))
        if read and self._add_item(line, row, item):
            for rater, elicitation, value in read:
                self._seen.add((item, rater, elicitation))
                self._ratings.writerow((item, rater, elicitation, value))
                self.made.raters[rater] = self.made.raters.get(rater, 0) + 1
        elif not read and not mapping.rater:
            self.reject(line, "", "no rater rated it")

    def add_verdicts(self, line: int, row: Row) -> None:
        """Write the verdicts in a row whose item has human ratings."""
        mapping = self.plan.mapping
        item = id_of(row, mapping.id) or ("" if mapping.id else f"row-{line}")
        for judged, judge, column in answers_in(row, mapping, self.plan.table):
            labels, is_set = labels_of(row.get(column))
            if not judged or not labels:
                continue
            if item not in self.items:
                if mapping.rater:
                    self.reject(
                        line, column, "no rater rated this item, so its verdict is not used"
                    )
                continue
            elicitation = self._elicitation(row, is_set=is_set)
            value = self._verdict(labels, elicitation)
            before = self._said.setdefault((item, judge, elicitation), value)
            if before is not value:  # a judge's column may repeat its verdict on an item's rows
                if column == mapping.label or before != value:
                    self.reject(line, column, f"judge {judge!r} has rated this item before")
                continue
            self._verdicts.writerow((item, judge, elicitation, value))
            self.made.judges[judge] = self.made.judges.get(judge, 0) + 1

    def _item(self, line: int, row: Row) -> str:
        mapping = self.plan.mapping
        if not mapping.id:
            return f"row-{line}"
        item = id_of(row, mapping.id)
        if not item:
            self.reject(line, ", ".join(mapping.id), "the item is not named")
        elif not mapping.rater and item in self.items:
            self.reject(line, ", ".join(mapping.id), f"item {item!r} stands on an earlier line")
            return ""
        return item

    def _read(
        self, line: int, row: Row, cells: Sequence[tuple[bool, str, str]], item: str
    ) -> Iterator[tuple[str, str, str]]:
        """Yield rater, elicitation and value of the answers in a row, as they are written."""
        for _, rater, column in cells:
            labels, is_set = labels_of(row.get(column))
            if not labels:
                if self.plan.mapping.rater:
                    self.reject(line, column, "the label is empty")
                continue
            elicitation = self._elicitation(row, is_set=is_set)
            keys = [self.plan.answers.key(label) for label in labels]
            fault = self._fault(rater, item, elicitation, labels, keys)
            if fault:
                self.reject(line, column, fault)
            else:
                yield rater, elicitation, _value([key for key in keys if key], elicitation)

    def _fault(
        self,
        rater: str,
        item: str,
        elicitation: str,
        labels: Sequence[str],
        keys: Sequence[str | None],
    ) -> str:
        """Why a rating cannot be used; "" if it can."""
        unknown = [label for label, key in zip(labels, keys, strict=True) if key is None]
        if unknown:
            return f"label {unknown[0][:80]!r} is no option"
        if not rater or len(rater) > MAX_ID_CHARS:
            return "the rater's name is too long" if rater else "the rater is not named"
        if (item, rater, elicitation) in self._seen:
            return f"rater {rater!r} has rated this item before"
        if CANNOT_ASSESS in labels and len(labels) > 1:
            return f"{CANNOT_ASSESS} stands beside other labels"
        if elicitation == "forced_choice" and len(labels) > 1:
            return "several labels where one was asked for"
        return ""

    def _elicitation(self, row: Row, *, is_set: bool) -> str:
        said = (
            text_of(row.get(self.plan.mapping.elicitation)) if self.plan.mapping.elicitation else ""
        )
        return said or ("response_set" if is_set else "forced_choice")

    def _verdict(self, labels: Sequence[str], elicitation: str) -> str:
        """Write a judge's answer; a label that is no option stays, and will count as invalid."""
        return _value([self.plan.answers.key(label) or label for label in labels], elicitation)

    def _add_item(self, line: int, row: Row, item: str) -> bool:
        """Write an item the first time; False where a later row shows it otherwise."""
        fields = {
            self.plan.fields[name]: text
            for name in self.plan.fields
            if (text := text_of(row.get(name)))
        }
        mark = sha256(json.dumps(fields, sort_keys=True).encode()).digest()
        if item in self.items:
            if same := self.items[item] == mark:
                return same
            self.reject(line, ", ".join(self.plan.fields), f"item {item!r} reads otherwise before")
            return False
        entry = {"id": item}
        for role in ("group", "criterion"):
            column = getattr(self.plan.mapping, role)
            if column and (name := id_of(row, (column,))):
                entry[role] = name
        self._items.write(json.dumps(entry | fields, ensure_ascii=False) + "\n")
        self.items[item] = mark
        shown = [self.plan.fields[name] for name in self.plan.mapping.text]
        if len(self.made.textless) < SHOWN and any(name not in fields for name in shown):
            self.made.textless.append(item)
        return True


def _value(keys: Sequence[str], elicitation: str) -> str:
    if elicitation == "forced_choice" or CANNOT_ASSESS in keys:
        return keys[0]
    return json.dumps(list(keys), ensure_ascii=False)
