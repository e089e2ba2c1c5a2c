"""Facts about a table's columns: kinds of values, and dependences between columns."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from harness.curation.importing.label_joins import FEW_LABELS, joins_labels
from harness.curation.importing.label_orders import known_order
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import (
    ballots_by_rater,
    counts_of,
    is_address,
    is_date,
    is_number,
    label_of,
    list_of,
)
from harness.tasks.columns.column_words import (
    FIRST_CJK,
    ID_MARKS,
    ITEMS,
    LABELS,
    PEOPLE,
    TEXTS,
    TIES,
    are_sides,
    contains_word,
    is_remark,
    parts,
    stem,
)
from harness.tasks.options import keyed_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from harness.tasks.columns.table_columns import Column, Table

KEY = 0.98  # share of the rows that the columns of a key must tell apart
MOST = 0.8  # the same threshold if rows can be corrections
FILLED = 0.98
MIN_REPEATS = 5  # fewest cells whose labels count as repeating
MAX_LABEL_CHARS = 60
TICKS = frozenset({"0", "1", "true", "false"})
MIN_TICKS = 3  # fewest columns that can be the options of a set
PROSE_WORDS = 3  # words per value that make a column one of texts
PROSE_CHARS = 25
PROSE_CJK_CHARS = 6
NAME_CHARS = 80
LOOKED_AT = 2000  # distinct values of a column that the tests see
RELATED_ROWS = 20_000  # rows in which dependences are sought
OPAQUE_STEMS = frozenset({*"cfqstvxy", "col", "column", "var", "field", "feature"})
NUMBERED = re.compile(r"^(.*?)\d+(.*)$")


def sample_of(table: Table, items: Sequence[str], n_rows: int) -> Table:
    """Return about ``n_rows`` rows: all rows of items that are evenly spaced in the table."""
    if table.n_rows <= n_rows:
        return table
    keys = table.keys(items) if items else np.arange(table.n_rows)
    n_items = int(keys.max()) + 1
    n_drawn = max(1, round(n_items * n_rows / table.n_rows))
    drawn = np.zeros(n_items, dtype=bool)
    drawn[np.linspace(0, n_items - 1, n_drawn).astype(np.int64)] = True
    return table.without(rows=np.flatnonzero(~drawn[keys]))


class Facts:
    """Facts about a table's columns."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._determined: dict[tuple[tuple[str, ...], str], bool] = {}
        self._samples: dict[str, Table] = {}
        self._prose: dict[str, bool] = {}

    def __getitem__(self, name: str) -> Column:
        return self.table.columns[name]

    def keys(self, *names: str) -> float:
        """Return the number of distinct value combinations in some columns, per row."""
        return self._sample(names).distinct_share(names)

    def fixes(self, name: str, other: str) -> bool:
        """Return whether a column determines another column that isn't constant."""
        return len(self[other].values) > 1 and self.determines((name,), other)

    def determines(self, names: Sequence[str], other: str) -> bool:
        """Return whether some columns determine another, except for 1 % of distinct cells."""
        pair = ((*names,), other)
        if pair not in self._determined:
            self._determined[pair] = self._sample(names).determines(names, other)
        return self._determined[pair]

    def _sample(self, names: Sequence[str]) -> Table:
        """Sample a large table by values of the column with the most values.

        All rows with a sampled value are kept, so the sample has the same dependences.
        """
        if not names or self.table.n_rows <= RELATED_ROWS:
            return self.table
        finest = max(names, key=lambda name: len(self[name].values))
        if finest not in self._samples:
            self._samples[finest] = sample_of(self.table, (finest,), RELATED_ROWS)
        return self._samples[finest]

    @cached_property
    def opaque(self) -> frozenset[str]:
        """Columns whose names only number the columns."""
        forms: dict[str, list[str]] = {}
        for name in self.table.columns:
            if match := NUMBERED.match(name):
                forms.setdefault(f"{match[1]}*{match[2]}", []).append(name)
        named = {
            name
            for form, names in forms.items()
            for name in names
            if not contains_word(name, PEOPLE | LABELS | TEXTS)
            and (
                stem(name).split(" ")[0] in OPAQUE_STEMS
                or form == "*"
                or len({self.is_prose(n) for n in names}) > 1
            )
        }
        return frozenset(named)

    def called(self, name: str, words: frozenset[str]) -> bool:
        """Return whether a column's name is informative and contains one of ``words``."""
        return name not in self.opaque and contains_word(name, words)

    def all_values(self, name: str, test: Callable[[str], object]) -> bool:
        """Return whether a column has values and the first values all pass a test."""
        values = self[name].values[:LOOKED_AT]
        return bool(values) and all(map(test, values))

    def is_numbers(self, name: str) -> bool:
        """Return whether a column contains only numbers."""
        return self.all_values(name, is_number)

    def is_plain(self, name: str) -> bool:
        """Return whether a column contains only dates or only web addresses."""
        return self.all_values(name, is_date) or self.all_values(name, is_address)

    def is_filled(self, name: str) -> bool:
        """Return whether nearly all cells in a column are filled."""
        return self[name].n_filled >= FILLED * self.table.n_rows

    def is_prose(self, name: str) -> bool:
        """Return whether a column's values are long enough for texts."""
        if name not in self._prose:
            self._prose[name] = _is_prose(self[name])
        return self._prose[name]

    def is_list(self, name: str) -> bool:
        """Return whether every cell in a column is a list of labels."""
        return bool(self[name].labels) and self.all_values(name, _is_flat_list)

    def is_counted(self, name: str) -> bool:
        """Return whether all cells in a column count raters by label, or give labels by rater."""
        return self.all_values(name, counts_of) or holds_ballots(self[name])

    def is_labels(self, name: str) -> bool:
        """Return whether a column's values are few, short and repeated, like labels."""
        labels = self.labels(name)
        if not labels or self.is_plain(name) or self.all_values(name, counts_of):
            return False
        if max(map(len, labels)) > MAX_LABEL_CHARS:
            return False
        n_rated = self[name].n_filled
        n_labels = len({label.casefold() for label in labels})
        few = n_labels <= max(2, min(FEW_LABELS, 0.5 * n_rated)) or n_rated <= FEW_LABELS // 2
        return few and (n_labels < n_rated or n_rated < MIN_REPEATS)

    def labels(self, name: str) -> Mapping[str, int]:
        """Count each label in a column. Remarks such as ``n/a`` are left out."""
        labels = self[name].labels or {}
        kept = {label: n for label, n in labels.items() if not is_remark(label)}
        return kept or labels

    def is_name(self, name: str) -> bool:
        """Return whether a column can contain names: filled, short, no dates, lists or texts."""
        column = self[name]
        return (
            self.is_filled(name)
            and len(column.values) > 1
            and column.mean_chars <= NAME_CHARS
            and (not self.is_plain(name) or self._is_addressed(name))
            and not self.is_prose(name)
            and not self.is_list(name)
            and not self.is_counted(name)
            and not self.is_measured(name)
        )

    def is_measured(self, name: str) -> bool:
        """Return whether a column contains only numbers, and some have decimals."""
        values = self[name].values[:LOOKED_AT]
        return self.is_numbers(name) and any("." in label_of(value) for value in values)

    def shares(self, name: str, others: Sequence[str]) -> bool:
        """Return whether other columns contain most of a column's labels.

        Ties count if labels are sides.
        """
        known = {label.casefold() for other in others for label in self.labels(other)}
        labels = self.labels(name)
        if are_sides([*known, "tie"], tied=True):
            known |= {label.casefold() for label in labels if contains_word(label, TIES)}
        n_known = sum(n for label, n in labels.items() if label.casefold() in known)
        return n_known >= MOST * sum(labels.values())

    def _is_addressed(self, name: str) -> bool:
        """Return whether a column named after items, or only numbered, contains addresses."""
        is_named = self.called(name, ITEMS) or name in self.opaque
        return is_named and self.all_values(name, is_address)

    def are_ticks(self, names: Sequence[str]) -> bool:
        """Return whether columns are options of a set: yes or no, with a yes in every row."""
        answers = TICKS | column_words.YES | column_words.NO
        if not all(set(map(str.casefold, self.labels(name))) <= answers for name in names):
            return False
        ticked = column_words.YES | {"1"}
        rows = zip(*(self[name].by_row() for name in names), strict=True)
        return all({label_of(cell).casefold() for cell in row} & ticked for row in rows if any(row))

    def alike(self, names: Sequence[str], anchor: str) -> list[str]:
        """Return the columns whose labels mostly occur in the column ``anchor``, ignoring case."""
        known = {label.casefold() for label in self.labels(anchor)}
        return [
            name
            for name in names
            if sum(n for label, n in self.labels(name).items() if label.casefold() in known)
            >= MOST * sum(self.labels(name).values())
        ]


def _is_prose(column: Column) -> bool:
    values = column.values[:LOOKED_AT]
    if not values or all(map(is_number, values)) or all(map(is_address, values)):
        return False
    if all(map(is_date, values)) or all(map(counts_of, values)) or holds_ballots(column):
        return False
    if all(list_of(value) is not None for value in values):
        return any(isinstance(part, dict) for part in list_of(values[0]) or ())
    if known_order(values) is not None or joins_labels(values) or _are_keyed(values):
        return False
    n_words = sum(len(value.split()) for value in values) / len(values)
    n_chars = sum(map(len, values)) / len(values)
    is_cjk = sum(char >= FIRST_CJK for value in values for char in value) > 0.5 * n_chars * len(
        values
    )
    if is_cjk:
        return n_chars >= PROSE_CJK_CHARS
    return n_words >= PROSE_WORDS or (n_words > 1 and n_chars >= PROSE_CHARS)


def _are_keyed(values: Sequence[str]) -> bool:
    """Return whether values are a few labels that contain their key. Remarks are ignored."""
    labels = {value.casefold() for value in values if not is_remark(value)}
    return len(labels) <= FEW_LABELS and bool(keyed_labels(labels))


def _is_flat_list(value: str) -> bool:
    parts = list_of(value)
    return parts is not None and not any(isinstance(part, list) for part in parts)


def holds_ballots(column: Column) -> bool:
    """Return whether all cells give labels by rater, and these labels are few and repeated."""
    if not column.values or ballots_by_rater(column.values[0]) is None:
        return False  # most columns, at the cost of one cell
    ballots = [ballots_by_rater(value) for value in column.values[:LOOKED_AT]]
    if None in ballots:
        return False
    if any(len({who for who, _ in of or ()}) < len(of or ()) for of in ballots):
        return False  # a name twice: it is the label
    if all(len(of or ()) <= 1 for of in ballots):
        return False  # an object with one field
    if _are_records(ballots):
        return False
    labels = [label for of in ballots for _, label in of or ()]
    return len(set(labels)) <= max(2, min(FEW_LABELS, 0.5 * len(labels)))


def _are_records(ballots: Sequence[Sequence[tuple[str, str]] | None]) -> bool:
    """Return whether objects have the same fields, some with numbers and others with words.

    Such objects are records, such as a name and a value, because raters all answer in one form.
    """
    kinds: dict[str, set[bool]] = {}
    for who, label in (pair for of in ballots for pair in of or ()):
        parts = list_of(label)
        cells = [label] if parts is None else parts
        kinds.setdefault(who, set()).update(is_number(str(cell)) for cell in cells)
    in_all = all({who for who, _ in of or ()} == kinds.keys() for of in ballots)
    return in_all and {True} in kinds.values() and {False} in kinds.values()


def has_digits(column: Column) -> bool:
    """Return whether most values in a column contain a digit, as ids do."""
    values = column.values[:LOOKED_AT]
    return sum(any(char.isdigit() for char in value) for value in values) > len(values) // 2


def ends_in_id(name: str) -> bool:
    """Return whether a name's last word marks an id, such as ``id`` or ``key``."""
    words = parts(name)
    return bool(words) and words[-1] in ID_MARKS


def names_person(name: str) -> bool:
    """Return whether a column's name stands for people's ids, such as ``user_id``."""
    return (
        ends_in_id(name)
        and {*parts(name)} <= PEOPLE | ID_MARKS
        and not ID_MARKS.issuperset(parts(name))
    )
