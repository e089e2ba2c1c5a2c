"""Other programs' tables. Each column is stored as its distinct texts and a code per row."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import TaskError
from harness.files.tables.checks import (
    IMPORT_LIMITS,
    MAX_ID_CHARS,
    check_lengths,
    counted_rows,
    reading,
)
from harness.tasks.columns.cell_values import (
    label_of,
    labels_of,
    list_of,
    name_of,
    text_of,
    with_point,
)
from harness.tasks.columns.column_words import TOTAL_ROWS, plain
from harness.tasks.columns.formats import Reading
from harness.tasks.options import MAX_LABEL_CHARS
from harness.tasks.schema import as_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from harness.files.tables import Row

    Codes = npt.NDArray[np.int64]

MAX_LABELS = 100  # a column with more distinct values holds no labels
WORD = re.compile(r"\w+")
TEXT_WORDS = 3  # of a part, on average, from which commas do not divide labels
EMPTY = 0  # code of an empty cell
JOINT = "__"  # between the parts of an item's name
DENSE = 8  # numbers per row up to which counting them is faster than sorting
N_TOTALS = 3  # last rows that may be totals
UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)*")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Name, on one line, without leading or trailing spaces.
    texts : tuple of str
        The distinct cells. The empty cell is the first.
    codes : (n,) array of int
        Index of each row's cell in ``texts``.
    """

    name: str
    texts: tuple[str, ...]
    codes: Codes

    @cached_property
    def counts(self) -> Codes:
        """Number of rows per distinct cell."""
        return np.bincount(self.codes, minlength=len(self.texts))

    @cached_property
    def n_filled(self) -> int:
        """Number of rows with a nonempty cell."""
        return len(self.codes) - int(self.counts[EMPTY])

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The distinct cells that aren't empty."""
        return self.texts[1:]

    @property
    def unique(self) -> bool:
        """Whether all rows have different values that are short enough for a name."""
        return (
            len(self.values) == len(self.codes)
            and max(map(len, self.values), default=0) <= MAX_ID_CHARS
        )

    @cached_property
    def mean_chars(self) -> float:
        """Mean length of the cells that aren't empty."""
        lengths = np.fromiter(map(len, self.texts), dtype=np.int64, count=len(self.texts))
        return float(lengths @ self.counts) / max(self.n_filled, 1)

    @cached_property
    def labels(self) -> Mapping[str, int] | None:
        """Count of each label, or None if there are too many labels or a label is too long."""
        labels: Counter[str] = Counter()
        for text, n in zip(self.values, self.counts[1:], strict=True):
            for label in labels_of(text)[0]:
                labels[label] += int(n)
                if len(label) > MAX_LABEL_CHARS:
                    return None
            if len(labels) > MAX_LABELS:
                return None
        return labels

    def by_row(self) -> list[str]:
        """Return the cells, row by row."""
        return [self.texts[code] for code in self.codes.tolist()]

    def compact(self) -> Column:
        """Drop the distinct cells that no row uses. The empty cell is kept."""
        is_used = np.zeros(len(self.texts), dtype=bool)
        is_used[self.codes] = is_used[EMPTY] = True
        if is_used.all():
            return self
        texts = tuple(self.texts[code] for code in np.flatnonzero(is_used).tolist())
        return Column(self.name, texts, (np.cumsum(is_used) - 1)[self.codes])

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {len(self.values)} distinct of {len(self.codes)})"


@dataclass(frozen=True)
class Table:
    """A table from another program.

    Attributes
    ----------
    path : Path
        Source file.
    columns : mapping of str to Column
        Columns in the table's order.
    lines : (n,) array of int
        Line or number of each row in the file.
    notes : tuple of str
        Notes for the user about the import.
    reading : Reading
        Column roles and answers that the table's format defines.
    """

    path: Path
    columns: Mapping[str, Column]
    lines: Codes
    notes: tuple[str, ...] = ()
    reading: Reading = field(default_factory=Reading)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def keys(self, names: Iterable[str]) -> Codes:
        """Number the rows from 0 by their cells in some columns.

        Rows with equal cells share a number.
        """
        keys = np.zeros(self.n_rows, dtype=np.int64)
        for name in names:
            column = self.columns[name]
            n_cells = (int(keys.max(initial=0)) + 1) * len(column.texts)
            keys = _renumbered(keys * len(column.texts) + column.codes, n_cells)
        return keys

    def n_distinct(self, names: Iterable[str]) -> int:
        """Return the number of distinct cell combinations in some columns."""
        names = [*names]
        if len(names) == 1:
            return int(np.count_nonzero(self.columns[names[0]].counts))
        return int(self.keys(names).max(initial=-1)) + 1

    def distinct_share(self, names: Iterable[str]) -> float:
        """Return the number of distinct cell combinations in some columns, per row."""
        return self.n_distinct(names) / max(self.n_rows, 1)

    def determines(self, names: Sequence[str], other: str) -> bool:
        """Return whether some columns determine another, except for 1 % of distinct cells."""
        return self.n_distinct((*names, other)) <= 1.01 * self.n_distinct(names)

    def is_constant_within(self, keys: Codes, name: str) -> bool:
        """Return whether all rows with the same key have the same cell in a column."""
        codes = self.columns[name].codes
        last = np.zeros(int(keys.max(initial=-1)) + 1, dtype=np.int64)
        last[keys] = codes
        return bool(np.array_equal(last[keys], codes))

    def with_column(self, name: str, texts: Sequence[str]) -> Table:
        """Return the table with a column added or replaced."""
        index = {text: code for code, text in enumerate(dict.fromkeys(("", *texts)))}
        codes = np.array([index[text] for text in texts], dtype=np.int64)
        return replace(self, columns={**self.columns, name: Column(name, tuple(index), codes)})

    def with_texts(self, name: str, texts: Sequence[str]) -> Table:
        """Return the table with a new text for each distinct cell of a column."""
        return replace(self, columns={**self.columns, name: _recoded(self.columns[name], texts)})

    def blanked(self, columns: Sequence[str], rows: Codes) -> Table:
        """Return the table with blank cells in some columns and rows."""
        changed = {}
        for name in columns:
            codes = self.columns[name].codes.copy()
            codes[rows] = EMPTY
            changed[name] = Column(name, self.columns[name].texts, codes).compact()
        return replace(self, columns={**self.columns, **changed})

    def without(self, columns: Sequence[str] = (), rows: Codes | None = None) -> Table:
        """Return the table without some columns, and without the rows at some indices."""
        kept = np.ones(self.n_rows, dtype=bool)
        if rows is not None:
            kept[rows] = False
        return replace(
            self,
            columns={
                name: Column(name, column.texts, column.codes[kept]).compact()
                for name, column in self.columns.items()
                if name not in columns
            },
            lines=self.lines[kept],
        )

    def __repr__(self) -> str:
        return f"Table({self.path.name!r}, {self.n_rows} rows, {len(self.columns)} columns)"


def _renumbered(keys: Codes, n_keys: int) -> Codes:
    """Renumber keys below ``n_keys`` in order, without gaps. This is faster than sorting them."""
    if n_keys > DENSE * len(keys):
        return np.unique(keys, return_inverse=True)[1]
    is_used = np.bincount(keys, minlength=n_keys) > 0
    return (np.cumsum(is_used) - 1)[keys]


class _Encoder:
    """Encoder for the cells of a column."""

    def __init__(self, n_before: int) -> None:
        self.index: dict[str, int] = {"": EMPTY}
        self.codes = array("q", bytes(8 * n_before))
        self._by_cell: dict[str, int] = {}

    def add(self, value: object) -> None:
        """Add a cell."""
        if type(value) is str:
            code = self._by_cell.get(value)
            if code is None:
                code = self._by_cell[value] = self._code(value)
        else:
            code = self._code(value)
        self.codes.append(code)

    def _code(self, value: object) -> int:
        return self.index.setdefault(text_of(value), len(self.index))

    def column(self, name: str) -> Column:
        """Return the column."""
        return Column(name, tuple(self.index), np.frombuffer(self.codes, dtype=np.int64))


def encode(path: Path, rows: Iterable[tuple[int, Row]]) -> Table:
    """Store rows by column.

    Parameters
    ----------
    path : Path
        Source file.
    rows : iterable of (int, dict)
        Line and cells by column of each row. A row needn't have every column.

    Raises
    ------
    TaskError
        If two columns have the same name once spaces and line breaks are removed.
    """
    encoders: dict[str, _Encoder] = {}
    names: dict[str, str] = {}
    lines = array("q")
    for line, row in rows:
        if row.keys() != encoders.keys():
            for raw in row.keys() - encoders.keys():
                _check_name(path, line, raw, names)
            encoders |= {raw: _Encoder(len(lines)) for raw in row if raw not in encoders}
            row = dict.fromkeys(encoders) | row  # noqa: PLW2901 -- a row may lack columns
        lines.append(line)
        for raw, encoder in encoders.items():
            encoder.add(row[raw])
    columns = {names[raw]: encoder.column(names[raw]) for raw, encoder in encoders.items()}
    codes = np.frombuffer(lines, dtype=np.int64)
    return Table(path, columns, codes)


def plain_table(records: Sequence[Row], name: str) -> Table:
    """Return a table of rows that have no tool's format. Error messages call the table ``name``."""
    path = Path(name)
    with reading(path):
        rows = list(counted_rows(enumerate(records, 1), IMPORT_LIMITS))
        for number, row in rows:
            check_lengths(row, IMPORT_LIMITS, f"row {number}")
        table = encode(path, rows)
    return cleaned(table, Reading())


def _check_name(path: Path, line: int, raw: str, names: dict[str, str]) -> None:
    name = name_of(raw) or raw
    if name in names.values():
        raise TaskError(
            f"{path}: line {line}: two columns are called {name!r}. Rename one of them."
        )
    names[raw] = name


def cleaned(table: Table, description: Reading) -> Table:
    """Remove index columns and rows of totals, and add notes about them and the format."""
    table = replace(_without_index(table, description.notes), reading=description)
    if not description.name:
        table = _without_totals(table, description.notes)
    return replace(table, notes=tuple(dict.fromkeys(description.notes)))


def _without_index(table: Table, notes: list[str]) -> Table:
    """Remove nameless columns that are empty or contain row numbers, as pandas writes them."""
    names = [n for n in table.columns if UNNAMED.fullmatch(n)]
    numbered = [n for n in names if _numbers_rows(table, n)]
    blank = [n for n in names if not table.columns[n].n_filled]
    if numbered:
        notes.append("the column of row numbers without a name is left out")
    notes += [
        (
            f"a column without a name is called {name!r} (to leave out the column, pass --drop "
            f"{name!r})"
        )
        for name in names
        if name not in {*numbered, *blank}
    ]
    return table.without([*numbered, *blank]) if numbered or blank else table


def _numbers_rows(table: Table, name: str) -> bool:
    texts = table.columns[name].texts
    numbers = [texts[code].removesuffix(".0") for code in table.columns[name].codes.tolist()]
    return numbers in ([str(k) for k in range(start, start + table.n_rows)] for start in (0, 1))


def _without_totals(table: Table, notes: list[str]) -> Table:
    """Remove final rows whose first cell marks them as totals or averages."""
    named = []
    for row in range(max(0, table.n_rows - N_TOTALS), table.n_rows):
        cells = [column.texts[column.codes[row]] for column in table.columns.values()]
        first = next(filter(None, cells), "")
        if plain(first).strip(" :.") in TOTAL_ROWS:
            named.append(row)
    if not named or table.n_rows - len(named) < 1:
        return table
    lines = ", ".join(str(table.lines[row]) for row in named)
    notes.append(f"rows of totals were left out: line {lines}")
    return table.without(rows=np.array(named))


def with_sets(table: Table, separator: str, roles: Mapping[str, Sequence[str]]) -> Table:
    """Split the cells in label columns at a separator, into response sets.

    Label columns are the columns that the user named for ratings. Otherwise, they are the columns
    in which the separator occurs and parts repeat, and columns that contain only the same parts.
    """
    given = ("set",) if roles.get("set") else ("label", "raters", "judges")
    named = [n for role in given for n in roles.get(role, ())]
    parts = {
        name: Counter[str]() if _holds_lists(column) else _parts_of(column, separator)
        for name, column in table.columns.items()
    }
    named = [n for n in named if n in table.columns and not _holds_lists(table.columns[n])]
    divided = [n for n in table.columns if _is_divided(table.columns[n], parts[n], separator)]
    known = {part for n in divided for part in parts[n]}
    chosen = named or [
        n
        for n in table.columns
        if n in divided or (len(divided) > 1 and parts[n] and parts[n].keys() <= known)
    ]
    whole = frozenset(
        text.casefold()
        for role in ("label", "raters")
        for name in roles.get(role, ())
        if name in table.columns and name not in chosen
        for text in table.columns[name].values
    )
    columns = {
        name: _as_lists(column, separator, whole) if name in chosen else column
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


POSITIONAL = "positional"


def with_places(table: Table, items: Sequence[str]) -> Table:
    """Add the column `POSITIONAL` with each row's position within its item: p1, p2 and so on."""
    seen: Counter[int] = Counter()
    places = []
    for key in table.keys(items).tolist():
        seen[key] += 1
        places.append(f"p{seen[key]}")
    return table.with_column(POSITIONAL, places)


def with_decimals(table: Table, roles: Mapping[str, Sequence[str]]) -> Table:
    """Replace decimal commas, as in 3,5, in columns that contain mostly numbers.

    Columns that identify or show an item are unchanged.
    """
    kept = {n for role in ("id", "text") for n in roles.get(role, ())}
    columns = {
        name: column if name in kept else _with_points(column)
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


def _with_points(column: Column) -> Column:
    texts = [with_point(text) for text in column.texts]
    numbers = [as_number(text) is not None for text in texts]
    if texts == list(column.texts) or 2 * int(column.counts[numbers].sum()) < column.n_filled:
        return column
    return _recoded(column, texts)


def with_whole_sets(table: Table) -> Table:
    """Convert single labels to sets of one label in columns whose other cells are lists of labels.

    Some exports write ``joy`` for one option and ``["anger", "joy"]`` for two.
    """
    lists = {
        name: [*map(list_of, column.texts)]
        for name, column in table.columns.items()
        if any(text.lstrip()[:1] in ("[", "{") for text in column.values)
    }
    known = {str(part) for cells in lists.values() for parts in cells for part in parts or ()}
    columns = dict(table.columns)
    for name, cells in lists.items():
        column = columns[name]
        texts = zip(column.texts, cells, strict=True)
        single = [text for text, parts in texts if text and parts is None]
        if single and len(single) < len(column.values) and known.issuperset(single):
            whole = {text: json.dumps([text], ensure_ascii=False) for text in single}
            columns[name] = _recoded(column, [whole.get(text, text) for text in column.texts])
    return replace(table, columns=columns)


def _parts_of(column: Column, separator: str) -> Counter[str]:
    parts: Counter[str] = Counter()
    for text, n in zip(column.values, column.counts[1:].tolist(), strict=True):
        parts.update({part.strip().casefold(): n for part in text.split(separator) if part.strip()})
        if len(parts) > MAX_LABELS:
            return Counter()
    return parts


def _holds_lists(column: Column) -> bool:
    """Return whether all nonempty cells in a column are lists or objects."""
    return bool(column.values) and all(text[0] in "[{" for text in column.values)


def _is_divided(column: Column, parts: Mapping[str, int], separator: str) -> bool:
    """Return whether a separator divides cells into short parts that each occur in several rows."""
    joined = [text for text in column.values if separator in text]
    is_text = sum(len(WORD.findall(part)) for part in parts) >= TEXT_WORDS * len(parts)
    return bool(joined) and len(parts) > 1 and all(n > 1 for n in parts.values()) and not is_text


def _as_lists(column: Column, separator: str, whole: frozenset[str]) -> Column:
    """Convert the cells in a column to lists. A label in ``whole`` can contain the separator."""
    texts = [
        json.dumps(_divided(text, separator, whole), ensure_ascii=False) if text else ""
        for text in column.texts
    ]
    return _recoded(column, texts)


def _divided(text: str, separator: str, whole: frozenset[str]) -> list[str]:
    """Split a cell into labels, keeping the longest parts that are in ``whole`` together."""
    parts = text.split(separator)
    labels = []
    start = 0
    while start < len(parts):
        ends = range(len(parts), start + 1, -1) if whole else range(0)
        joins = ((end, separator.join(parts[start:end]).strip()) for end in ends)
        end, label = next(
            ((end, label) for end, label in joins if label.casefold() in whole),
            (start + 1, parts[start].strip()),
        )
        labels.append(label)
        start = end
    return [label for label in labels if label]


def _recoded(column: Column, texts: Sequence[str]) -> Column:
    """Return a column with a new text for each distinct cell."""
    index = {text: code for code, text in enumerate(dict.fromkeys(("", *texts)))}
    codes = np.array([index[text] for text in texts], dtype=np.int64)[column.codes]
    return Column(column.name, tuple(index), codes)


def with_none(table: Table, columns: Sequence[str], option: str) -> Table:
    """Replace blank cells and empty lists in some columns with an option."""
    changed = {
        name: _recoded(
            column,
            [_or_none(text, option, is_set=_holds_lists(column)) for text in column.texts],
        )
        for name, column in table.columns.items()
        if name in columns
    }
    return replace(table, columns={**table.columns, **changed})


def _or_none(text: str, option: str, *, is_set: bool) -> str:
    if text and list_of(text) != []:
        return text
    return json.dumps([option], ensure_ascii=False) if is_set or text else option


def item_names(table: Table, columns: Sequence[str]) -> list[str]:
    """Return the name of each row's item, or "" if a cell is empty.

    Without columns, rows are named by their lines. Several rows on a line also get a number. A name
    that is too long or has line breaks becomes a short digest.
    """
    if not columns:
        return _numbered(table.lines.tolist())
    cells = []
    for name in columns:
        column = table.columns[name]
        labels = [label_of(text) for text in column.texts]
        cells.append([labels[code] for code in column.codes.tolist()])
    if len(cells) == 1:
        return [_short(name) for name in cells[0]]
    return [_short(JOINT.join(parts)) if all(parts) else "" for parts in zip(*cells, strict=True)]


def _numbered(lines: Sequence[int]) -> list[str]:
    """Name rows by their lines. The second row on line 3 is ``row-3.2``."""
    seen: Counter[int] = Counter()
    names = []
    for line in lines:
        seen[line] += 1
        names.append(f"row-{line}" if seen[line] == 1 else f"row-{line}.{seen[line]}")
    return names


def _short(name: str) -> str:
    if len(name) <= MAX_ID_CHARS and name.isprintable():
        return name
    return f"text-{sha256(name.encode()).hexdigest()[:16]}"
