"""Answers in a table of any layout."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from harness.errors import TaskError
from harness.files.tables.checks import quoted
from harness.tasks.columns.cell_values import (
    ballots_by_rater,
    counts_of,
    folded_name,
    is_number,
    label_of,
    labels_of,
    list_of,
    name_of,
)
from harness.tasks.columns.column_words import COUNT_MARKS, NO, YES, parts
from harness.tasks.options import CANNOT_ASSESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.tasks.columns.column_mapping import ColumnMapping
    from harness.tasks.columns.table_columns import Column, Table

    _Cells = tuple[str, str, str, list[str]]

COUNT_TOLERANCE = 0.05  # of a rater, in a number of raters computed from a share
SHARES_SUM = 0.02  # tolerance of shares that sum to 1
MAX_RATERS = 10_000  # of an item
SHARE_WORDS = frozenset({"p", "prob", "share", "frac", "fraction", "pct", "soft"})
OPTION_MARKS = COUNT_MARKS | SHARE_WORDS
OPENING_MARK = re.compile(r"^([ _.:/#]+|-[ _.:/#]*)")  # n_-1 counts the option -1, n-1 option 1
TICKED = YES | {"1", "x", "y", "t", "\u2713", "\u2714", "checked", "selected"}
UNTICKED = NO | {"", "0", "n", "f", "-", "unchecked"}
NO_TOTAL = "shares can't be converted to ratings without the number of raters"


class CellAnswer(NamedTuple):
    """A rater's or judge's answer in a cell.

    Attributes
    ----------
    row : int
        Index of the row.
    criterion : str
        Rated criterion; "" if the table has none.
    name : str
        Name of the rater or the judge.
    is_judge : bool
        Whether it is a verdict.
    column : str
        Name of the column.
    text : str
        The cell, or a label in it; "" if it is empty.
    problem : str
        Reason if the answer can't be used, else "".
    """

    row: int
    criterion: str
    name: str
    is_judge: bool
    column: str
    text: str
    problem: str = ""


@dataclass(frozen=True)
class AnswerReader:
    """Reader for the answers in a table."""

    table: Table
    mapping: ColumnMapping
    n_raters: int | None = None  # of every item, for shares without a column that says it
    lists: str | None = None  # "raters": numbers in a cell are ratings by rater, no counts
    separator: str | None = None  # what divides the options of a set in a list of ratings
    none: str | None = None  # the option that a rater chose who ticked no other

    @cached_property
    def by_rater(self) -> bool:
        """Whether cells with all of an item's ratings name the rater for each label."""
        columns = [self.table.columns[name] for name in self.mapping.votes]
        return self.lists == "raters" or any(
            ballots_by_rater(text) is not None and counts_of(text) is None
            for column in columns
            for text in column.values
        )

    @property
    def abstains(self) -> bool:
        """Whether any rating or verdict in the table is CANNOT_ASSESS."""
        mapping = self.mapping
        names = {*mapping.raters, mapping.label, *mapping.judge_columns(self.table)} - {""}
        cells = (text for name in names for text in self.table.columns[name].values)
        return any(CANNOT_ASSESS in labels_of(text)[0] for text in cells)

    def labels(self, *, whole: bool = False) -> set[str]:
        """Return the labels in all answers. With ``whole``, a list in a cell is a single label."""
        texts = {answer.text for answer in self.answers()}
        if whole:
            return {*map(label_of, texts)} - {""}
        return {label for text in texts for label in labels_of(text)[0]}

    def answers(self) -> Iterator[CellAnswer]:
        """Yield the answers row by row, in each row first the raters' and then the judges'."""
        mapping = self.mapping
        if mapping.votes:
            yield from self._voted()
        elif mapping.rater:
            yield from self._long()
        elif mapping.counts:
            yield from self._counted()
        else:
            yield from self._wide()

    def criteria(self) -> list[str]:
        """Return the criterion of each row, or "" if the table has no such column."""
        if not self.mapping.criterion:
            return [""] * self.table.n_rows
        return _cells(self.table.columns[self.mapping.criterion])

    def _verdicts(self, row: int, criterion: str, cells: Sequence[_Cells]) -> Iterator[CellAnswer]:
        for column, own_criterion, judge, texts in cells:
            if texts[row]:
                yield CellAnswer(row, own_criterion or criterion, judge, True, column, texts[row])

    def _cells(self, columns: Iterable[str]) -> list[_Cells]:
        """Return each column's name, criterion, rater or judge, and cells."""
        return [
            (name, *self.mapping.criterion_and_rater(name), _cells(self.table.columns[name]))
            for name in columns
        ]

    def _judge_cells(self) -> list[_Cells]:
        return self._cells(self.mapping.judge_columns(self.table))

    def _wide(self) -> Iterator[CellAnswer]:
        criteria = self.criteria()
        judges = self._judge_cells()
        columns = self._cells(self.mapping.raters or self.mapping.criteria)
        for row, row_criterion in enumerate(criteria):
            for column, criterion, rater, texts in columns:
                if texts[row]:
                    yield CellAnswer(
                        row, criterion or row_criterion, rater, False, column, texts[row]
                    )
            yield from self._verdicts(row, row_criterion, judges)

    def _long(self) -> Iterator[CellAnswer]:
        mapping, table = self.mapping, self.table
        criteria = self.criteria()
        judges = self._judge_cells()
        judge_names = {folded_name(name) for name in mapping.judge_names(table)}
        spellings = same_names(table.columns[mapping.rater])
        raters = [spellings[text] for text in table.columns[mapping.rater].texts]
        is_judge = [folded_name(name) in judge_names for name in raters]
        several = bool(mapping.criteria)
        names = mapping.criteria or tuple(filter(None, (mapping.label, mapping.set)))
        columns = [(name, _cells(table.columns[name])) for name in names]
        if mapping.set:
            columns = [(n, _as_sets(cells) if n == mapping.set else cells) for n, cells in columns]
        if mapping.sets:
            columns = [(", ".join(mapping.sets), self._ticked())]
        for row, code in enumerate(table.columns[mapping.rater].codes.tolist()):
            rater, judged = raters[code], is_judge[code]
            for name, texts in columns:
                if texts[row]:
                    criterion = name if several else criteria[row]
                    yield CellAnswer(row, criterion, rater, judged, name, texts[row])
            if judges:
                yield from self._verdicts(row, criteria[row], judges)

    def _ticked(self) -> list[str]:
        """Return the response set in each row's columns of 1 and 0, or "" if all are empty."""
        labels = set_options(self.mapping.sets)
        columns = [(label, _cells(self.table.columns[name])) for name, label in labels.items()]
        rows = []
        for name, label in labels.items():
            known = {*TICKED, *UNTICKED, name.casefold(), label.casefold()}
            for text in self.table.columns[name].values:
                if label_of(text).casefold() not in known:
                    raise TaskError(
                        f"{self.table.path}: --sets: column {name!r}: {quoted('cell', text)} is "
                        "not 1 or 0. Write 1 if the option is in the set and 0 if it isn't."
                    )
        for row in range(self.table.n_rows):
            cells = [(label, label_of(texts[row]).casefold()) for label, texts in columns]
            chosen = [label for label, text in cells if text not in UNTICKED]
            if not chosen and self.none:
                chosen = [self.none]
            filled = chosen or any(text for _, text in cells)
            rows.append(json.dumps(chosen, ensure_ascii=False) if filled else "")
        return rows

    def _voted(self) -> Iterator[CellAnswer]:
        """Yield the ratings from cells that contain all ratings of an item."""
        mapping, table = self.mapping, self.table
        criteria = self.criteria()
        judges = self._judge_cells()
        totals = _cells(table.columns[mapping.total]) if mapping.total else None
        who = _cells(table.columns[mapping.rater]) if mapping.rater else None
        several = len(mapping.votes) > 1
        columns = [(name, _cells(table.columns[name])) for name in mapping.votes]
        for row, row_criterion in enumerate(criteria):
            total = totals[row] if totals else self.n_raters
            for name, texts in columns:
                criterion = name if several else row_criterion
                ballots = self._ballots(texts[row], total, who[row] if who else None)
                if isinstance(ballots, str):
                    yield CellAnswer(row, criterion, "", False, name, "", ballots)
                    continue
                for rater, label in ballots:
                    yield CellAnswer(row, criterion, rater, False, name, label)
            yield from self._verdicts(row, row_criterion, judges)

    def _ballots(
        self, text: str, total: str | int | None, who: str | None
    ) -> list[tuple[str, str]] | str:
        """Return the rater and label of each rating in a cell, or why the cell can't be read."""
        if who is not None:
            names, given = list_of(who), list_of(text)
            if names is None or given is None or len(names) != len(given):
                return "the row lists different numbers of raters and labels"
            pairs = [(name_of(n), label_of(x)) for n, x in zip(names, given, strict=True)]
            return [(name, self._member(label)) for name, label in pairs if label]
        if self.by_rater and (named := ballots_by_rater(text)) is not None:
            return [(name, self._member(label)) for name, label in named if label]
        if self.separator and (sets := list_of(text)):
            members = [self._member(label) for label in map(label_of, sets) if label]
            return [(f"p{place}", member) for place, member in enumerate(members, 1)]
        counts = _ballot_counts(text)
        labels = counts if isinstance(counts, str) else ballots(counts, total)
        if isinstance(labels, str):
            return labels
        return [(f"p{place}", label) for place, label in enumerate(labels, 1)]

    def _member(self, label: str) -> str:
        """Return a rating from a list.

        Its options become a response set if there is a separator.
        """
        if not self.separator or list_of(label) is not None:
            return label
        options = [part.strip() for part in label.split(self.separator) if part.strip()]
        return json.dumps(options, ensure_ascii=False)

    def _counted(self) -> Iterator[CellAnswer]:
        criteria = self.criteria()
        judges = self._judge_cells()
        totals = _cells(self.table.columns[self.mapping.total]) if self.mapping.total else None
        column = ", ".join(self.mapping.counts)
        for row, cells in enumerate(self._numbers()):
            criterion = criteria[row]
            total = totals[row] if totals else self.n_raters
            labels = cells if isinstance(cells, str) else ballots(cells, total)
            if isinstance(labels, str):
                yield CellAnswer(row, criterion, "", False, column, "", labels)
            else:
                for place, label in enumerate(labels, 1):
                    yield CellAnswer(row, criterion, f"p{place}", False, column, label)
            yield from self._verdicts(row, criterion, judges)

    def _numbers(self) -> Iterator[dict[str, float] | str]:
        """Yield each row's counts or shares by label, or why the row has none."""
        labels = option_names(self.mapping.counts)
        columns = [(label, _cells(self.table.columns[name])) for name, label in labels.items()]
        for row in range(self.table.n_rows):
            cells = {label: texts[row] or "0" for label, texts in columns}
            wrong = [text for text in cells.values() if not is_number(text) or text.startswith("-")]
            if wrong:
                yield f"{quoted('cell', wrong[0])} is not a number of raters"
            else:
                yield {label: float(text) for label, text in cells.items()}


def _cells(column: Column) -> list[str]:
    """Return the cells of a column, row by row."""
    texts = column.texts
    return [texts[code] for code in column.codes.tolist()]


def _as_sets(cells: Sequence[str]) -> list[str]:
    """Write single labels as response sets with one label."""
    return [
        json.dumps([label_of(text)], ensure_ascii=False) if text and list_of(text) is None else text
        for text in cells
    ]


def same_names(column: Column) -> dict[str, str]:
    """Map each cell to a name. Names that differ only in case or blanks belong to one person.

    That person gets the most common spelling.
    """
    chosen: dict[str, str] = {}
    names = {text: " ".join(name_of(text).split()) for text in column.texts}
    counts = dict(zip(column.texts, column.counts.tolist(), strict=True))
    for text in sorted(names, key=lambda text: -counts[text]):
        chosen.setdefault(names[text].casefold(), names[text])
    return {text: chosen[name.casefold()] for text, name in names.items()}


def _ballot_counts(text: str) -> dict[str, float] | str:
    if not text:
        return "no rater rated this item"
    counts = counts_of(text)
    if counts is not None:
        negative = [label for label, n in counts.items() if n < 0]
        problem = f"{quoted('label', negative[0])} has a negative number" if negative else ""
        return problem or dict(counts)
    labels, is_list = labels_of(text)
    if not is_list:
        return "the cell contains neither a list of ratings nor numbers by label"
    return {label: float(n) for label, n in Counter(labels).items()} or "no rater rated this item"


def ballots(counts: dict[str, float], total: str | int | None) -> list[str] | str:
    """Expand counts or shares of labels to one label per rater, or explain why that is impossible.

    Shares, which aren't whole numbers, need the ``total`` number of raters.

    Examples
    --------
    >>> ballots({"yes": 2, "no": 1}, None), ballots({"yes": 0.75, "no": 0.25}, 4)
    (['yes', 'yes', 'no'], ['yes', 'yes', 'yes', 'no'])
    """
    n_raters = float(total) if total is not None and is_number(str(total)) else None
    whole = all(n.is_integer() for n in map(float, counts.values()))
    if not whole or (n_raters is not None and n_raters > 1 and sum(counts.values()) == 1):
        if n_raters is None:
            return NO_TOTAL
        if abs(sum(counts.values()) - 1) > SHARES_SUM:
            return f"the shares add up to {sum(counts.values()):.3g}, not 1"
        counts = {label: share * n_raters for label, share in counts.items()}
        if any(abs(n - round(n)) > COUNT_TOLERANCE for n in counts.values()):
            return f"these shares aren't possible with {n_raters:g} raters"
    elif n_raters is not None and n_raters != sum(counts.values()):
        return f"the numbers add up to {sum(counts.values()):g}, not {n_raters:g}"
    if sum(counts.values()) > MAX_RATERS:
        return f"an item has more than {MAX_RATERS} raters"
    labels = [label for label, n in counts.items() for _ in range(round(n))]
    return labels or "no rater rated this item"


def option_names(columns: Sequence[str]) -> dict[str, str]:
    """Map each column of counts to its option: the column's name without a mark such as ``n_``.

    Examples
    --------
    >>> option_names(["n_very_toxic", "n_toxic"]), option_names(["yes", "no"])
    ({'n_very_toxic': 'very_toxic', 'n_toxic': 'toxic'}, {'yes': 'yes', 'no': 'no'})
    >>> option_names(["n_-1", "n_0"])
    {'n_-1': '-1', 'n_0': '0'}
    """
    for cut in (_without_opening, _without_end):
        names = [cut(column) for column in columns]
        if all(names) and len(set(names)) == len(columns):
            return dict(zip(columns, names, strict=True))
    return {column: label_of(column) for column in columns}


def set_options(columns: Sequence[str]) -> dict[str, str]:
    """Map each column of 1 and 0 to its option: the column's name without the words that all share.

    A column ``None``, which is a missing label as a cell, is the option ``none of these``.

    Examples
    --------
    >>> set_options(["label_rude", "label_kind"]), set_options(["rude", "kind"])
    ({'label_rude': 'rude', 'label_kind': 'kind'}, {'rude': 'rude', 'kind': 'kind'})
    """
    openings = {parts(name)[0] if len(parts(name)) > 1 else "" for name in columns}
    if len(openings) == 1 and (opening := openings.pop()) and len(columns) > 1:
        return {name: OPENING_MARK.sub("", name[len(opening) :], count=1) for name in columns}
    return {name: label_of(name) or f"{name.lower()} of these" for name in columns}


def _without_opening(column: str) -> str:
    opening = parts(column)[:1]
    marked = len(parts(column)) > 1 and opening and opening[0] in OPTION_MARKS
    return OPENING_MARK.sub("", column[len(opening[0]) :], count=1) if marked else ""


def _without_end(column: str) -> str:
    end = parts(column)[-1:]
    marked = len(parts(column)) > 1 and end and end[0] in OPTION_MARKS
    return column[: -len(end[0])].rstrip(" _-.:/#(") if marked else ""
