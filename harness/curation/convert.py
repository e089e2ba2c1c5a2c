"""Writing a task folder from a table; rejected rows are listed with line and reason."""

from __future__ import annotations

import csv
import json
import re
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from harness.curation.column_profile import id_of, labels_of, rows_of, text_of
from harness.curation.option_guess import answers_in
from harness.errors import TaskError
from harness.files import write_file
from harness.tasks.load import load_task
from harness.tasks.options import CANNOT_ASSESS, DEFAULT_PROPERTY
from harness.tasks.schema import TASK_FILE
from harness.tasks.tables.checks import MAX_ID_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.curation.import_plan import Plan
    from harness.tasks.tables import Row

N_LISTED = 10  # rejected rows, and items without text, that are kept in memory
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _./()'-]*")
WORDS = frozenset({"yes", "no", "true", "false", "null", "on", "off", "y", "n", "none"})
RATING = ("item", "rater", "elicitation", "value")
VERDICT = ("item", "judge", "elicitation", "value")


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
    n_rejected : int
        Number of rows and cells that were not used; ``rejected.csv`` lists all of them.
    rejected : list of Rejected
        The first rejected rows and cells.
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


def make_task(plan: Plan, folder: Path) -> ImportSummary:
    """Write a task folder from a table, atomically.

    Parameters
    ----------
    plan : Plan
        Column roles and meaning of the labels.
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
        summary = _write(plan, part)
        write_file(part / TASK_FILE, describe_task(plan, summary.raters).encode())
        _check(part, folder)
        part.replace(folder)
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written ({error.strerror}).") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    summary.folder = folder
    return summary


def _check(part: Path, folder: Path) -> None:
    """Load the written task; an error names the final folder."""
    try:
        load_task(part)
    except TaskError as error:
        raise TaskError(str(error).replace(str(part), str(folder)), reason=error.reason) from None


def check_new(folder: Path) -> None:
    """Refuse a folder that exists already.

    Raises
    ------
    TaskError
        If the path exists.
    """
    if folder.exists():
        raise TaskError(f"{folder}: exists already; choose another name, or remove it yourself.")


def _write(plan: Plan, part: Path) -> ImportSummary:
    with ExitStack() as stack:
        writer = _Writer(plan, part, stack)
        for line, row in rows_of(plan.table.path):
            writer.add_ratings(line, row)
        if not writer.items:
            first = writer.summary.rejected[:1]
            reason = f"; line {first[0].line}: {first[0].reason}" if first else ""
            raise TaskError(f"{plan.table.path}: no row could be used{reason}.")
        for line, row in rows_of(plan.table.path) if plan.mapping.judges else ():
            writer.add_verdicts(line, row)
    summary = writer.summary
    summary.n_items = len(writer.items)
    if not summary.judges:
        (part / "verdicts.csv").unlink()
    if not summary.n_rejected:
        (part / "rejected.csv").unlink()
    return summary


class _Writer:
    """Writes the files of a task row by row and refuses repeated ratings."""

    def __init__(self, plan: Plan, part: Path, stack: ExitStack) -> None:
        self.plan = plan
        self.summary = ImportSummary(part)
        self.items: dict[str, bytes] = {}  # digest of the fields by id
        self._rated: set[tuple[str, str, str]] = set()
        self._judged: dict[tuple[str, str, str], str] = {}  # verdict by item, judge, elicitation

        def table(name: str, columns: Sequence[str]) -> Any:  # noqa: ANN401 -- csv names no type
            file = (part / name).open("x", encoding="utf-8", newline="")
            writer = csv.writer(stack.enter_context(file), lineterminator="\n")
            writer.writerow(columns)
            return writer

        items = (part / "items.jsonl").open("x", encoding="utf-8", newline="\n")
        self._items = stack.enter_context(items)
        self._ratings = table("ratings.csv", RATING)
        self._verdicts = table("verdicts.csv", VERDICT)
        self._rejected = table("rejected.csv", ("line", "column", "reason"))

    def reject(self, line: int, column: str, reason: str) -> None:
        """Record a row or cell that cannot be used."""
        self.summary.n_rejected += 1
        if len(self.summary.rejected) < N_LISTED:
            self.summary.rejected.append(Rejected(line, column, reason))
        self._rejected.writerow((line, column, reason))

    def add_ratings(self, line: int, row: Row) -> None:
        """Write the item of a row, if it is new, and its human ratings."""
        mapping = self.plan.mapping
        people = [cell for cell in answers_in(row, mapping, self.plan.table) if not cell[0]]
        if not people:  # a judge's row of a long table
            return
        item = self._item(line, row)
        if not item:
            return
        ratings = list(self._ratings_in(line, row, people, item))
        if ratings and self._add_item(line, row, item):
            for rater, elicitation, value in ratings:
                self._rated.add((item, rater, elicitation))
                self._ratings.writerow((item, rater, elicitation, value))
                self.summary.raters[rater] = self.summary.raters.get(rater, 0) + 1
        elif not ratings and not mapping.rater:
            self.reject(line, "", "no rater rated it")

    def add_verdicts(self, line: int, row: Row) -> None:
        """Write the verdicts in a row whose item has human ratings."""
        mapping = self.plan.mapping
        item = id_of(row, mapping.id) or ("" if mapping.id else f"row-{line}")
        for is_judge, judge, column in answers_in(row, mapping, self.plan.table):
            labels, is_set = labels_of(row.get(column))
            if not is_judge or not labels:
                continue
            if item not in self.items:
                if mapping.rater:
                    self.reject(
                        line, column, "no rater rated this item, so its verdict is not used"
                    )
                continue
            elicitation = self._elicitation(row, is_set=is_set)
            value = self._verdict(labels, elicitation)
            previous = self._judged.setdefault((item, judge, elicitation), value)
            if previous is not value:  # a judge's column may repeat its verdict on an item's rows
                if column == mapping.label or previous != value:
                    self.reject(line, column, f"judge {judge!r} has rated this item before")
                continue
            self._verdicts.writerow((item, judge, elicitation, value))
            self.summary.judges[judge] = self.summary.judges.get(judge, 0) + 1

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

    def _ratings_in(
        self, line: int, row: Row, cells: Sequence[tuple[bool, str, str]], item: str
    ) -> Iterator[tuple[str, str, str]]:
        """Yield rater, elicitation and value of each usable rating in a row."""
        for _, rater, column in cells:
            labels, is_set = labels_of(row.get(column))
            if not labels:
                if self.plan.mapping.rater:
                    self.reject(line, column, "the label is empty")
                continue
            elicitation = self._elicitation(row, is_set=is_set)
            keys = [self.plan.answers.key(label) for label in labels]
            problem = self._problem(rater, item, elicitation, labels, keys)
            if problem:
                self.reject(line, column, problem)
            else:
                yield rater, elicitation, _value([key for key in keys if key], elicitation)

    def _problem(
        self,
        rater: str,
        item: str,
        elicitation: str,
        labels: Sequence[str],
        keys: Sequence[str | None],
    ) -> str:
        """Return why a rating cannot be used; "" if it can."""
        unknown = [label for label, key in zip(labels, keys, strict=True) if key is None]
        if unknown:
            return f"label {unknown[0][:80]!r} is no option"
        if not rater or len(rater) > MAX_ID_CHARS:
            return "the rater's name is too long" if rater else "the rater is not named"
        if (item, rater, elicitation) in self._rated:
            return f"rater {rater!r} has rated this item before"
        if CANNOT_ASSESS in labels and len(labels) > 1:
            return f"{CANNOT_ASSESS} stands beside other labels"
        if elicitation == "forced_choice" and len(labels) > 1:
            return "several labels where one was asked for"
        return ""

    def _elicitation(self, row: Row, *, is_set: bool) -> str:
        column = self.plan.mapping.elicitation
        name = text_of(row.get(column)) if column else ""
        return name or ("response_set" if is_set else "forced_choice")

    def _verdict(self, labels: Sequence[str], elicitation: str) -> str:
        """Write the answer of a judge; a label that is no option will count as invalid."""
        return _value([self.plan.answers.key(label) or label for label in labels], elicitation)

    def _add_item(self, line: int, row: Row, item: str) -> bool:
        """Write an item the first time; False where its fields differ from an earlier row."""
        fields = {
            self.plan.fields[name]: text
            for name in self.plan.fields
            if (text := text_of(row.get(name)))
        }
        digest = sha256(json.dumps(fields, sort_keys=True).encode()).digest()
        if item in self.items:
            if self.items[item] == digest:
                return True
            self.reject(
                line, ", ".join(self.plan.fields), f"item {item!r} differs from an earlier row"
            )
            return False
        entry = {"id": item}
        for role in ("group", "criterion"):
            column = getattr(self.plan.mapping, role)
            if column and (name := id_of(row, (column,))):
                entry[role] = name
        self._items.write(json.dumps(entry | fields, ensure_ascii=False) + "\n")
        self.items[item] = digest
        shown = [self.plan.fields[name] for name in self.plan.mapping.text]
        if len(self.summary.textless) < N_LISTED and any(name not in fields for name in shown):
            self.summary.textless.append(item)
        return True


def _value(keys: Sequence[str], elicitation: str) -> str:
    if elicitation == "forced_choice" or CANNOT_ASSESS in keys:
        return keys[0]
    return json.dumps(list(keys), ensure_ascii=False)


def scalar(text: str) -> str:
    """Write a text as a YAML value.

    Examples
    --------
    >>> scalar("Not toxic"), scalar("4"), scalar("a: b")
    ('Not toxic', '"4"', '"a: b"')
    """
    plain = PLAIN.fullmatch(text) and text == text.strip() and text.casefold() not in WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)


def sequence(texts: Sequence[str]) -> str:
    """Write texts as a YAML list."""
    return f"[{', '.join(map(scalar, texts))}]"


def describe_task(plan: Plan, raters: Mapping[str, int]) -> str:
    """Return the commented `task.yaml` of a planned task.

    Parameters
    ----------
    plan : Plan
        Plan of the task.
    raters : mapping of str to int
        Ratings per rater, for a comment.
    """
    answers, mapping = plan.answers, plan.mapping
    shown = [plan.fields[name] for name in mapping.text]
    lines = [
        f"# Made from {plan.table.path.name}. `harness schema task` lists every field.",
        f"name: {scalar(plan.name)}",
        "",
        "# What is rated, as a phrase. Judges read it: say what your raters were asked.",
        f"property: {scalar(plan.property or DEFAULT_PROPERTY)}",
        "# What else raters were told, if anything; judges are told the same.",
        "# instructions: ...",
        "",
        "# binary, nominal, ordinal (options in order) or pairwise.",
        f"scale: {answers.scale}",
        "# Each option has the key that the files use, and may have a label and a description.",
        "options:",
        *(_option_line(key, label) for key, label in answers.labels.items()),
        "# The options that count as positive, for decisions at the cut-off tau.",
        _field_or_example("positive", answers.positive, list(answers.labels)[:1]),
        "# An item is positive when at least this share of raters would accept a positive option.",
        "# tau: 0.5",
        "# Whether CANNOT_ASSESS is an answer.",
        f"abstain: {'true' if answers.abstain else 'false'}",
        "",
        "# expert, skilled or crowd: how much better than one rater a judge must be (eps).",
        f"raters: {plan.kind}",
        "# real: a rater's name is a person. positional: it is only a place within the item, and",
        "# then no test of single raters makes sense.",
        f"rater_ids: {plan.counts.rater_ids}",
        f"# {len(raters)} raters gave {sum(raters.values())} ratings.",
    ]
    if answers.ignore:
        lines += [
            "# Labels that are counted and left out.",
            f"ignore_labels: {sequence(answers.ignore)}",
        ]
    if shown:
        lines += ["", "# The fields of items.jsonl that judges see.", f"text: {sequence(shown)}"]
    lines += [
        "",
        "# Where the data come from, and on what terms.",
        f"source: {scalar(plan.table.path.name)}",
        "# licence: ...",
    ]
    return "\n".join(lines) + "\n"


def _option_line(key: str, label: str) -> str:
    more = f", label: {scalar(label)}" if label != key else ""
    return f"  - {{key: {scalar(key)}{more}}}"


def _field_or_example(field: str, values: Sequence[str], example: Sequence[str]) -> str:
    """Return a field with its values, or a commented example."""
    return f"{field}: {sequence(values)}" if values else f"# {field}: {sequence(example)}"
