"""Relations between a table's columns that their cells show, whatever the columns' names.

A structure is a relation between columns that hardly occurs by chance: columns add up to another,
two columns list equally many parts in every row, each cell repeats the end of its header, or a
column follows from the ratings of its row. `structured` converts such columns to the forms that
the role finders know, and the finders look for the other relations themselves.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from harness.curation.importing.column_facts import holds_ballots
from harness.tasks.columns.cell_values import ballots_by_rater, folded_name, is_number, list_of
from harness.tasks.columns.column_words import PEOPLE, contains_word
from harness.tasks.columns.rater_names import kind_of_rater
from harness.tasks.columns.table_columns import EMPTY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from harness.tasks.columns.table_columns import Codes, Column, Table

    CellNumbers = NDArray[np.float64]

MIN_ROWS = 5  # fewest rows in which a relation isn't chance
LOOKED_AT = 2000  # rows, evenly spaced
N_PAIR = 2  # columns: labels and their raters
MOST_NUMBERS = 40  # most columns in which to look for sums
USUAL = 0.5  # share of rows with the most common total, if it counts raters
STEADY = 0.15  # spread of totals that can count raters, relative to their mean
VOTED = frozenset({"votes", "rater"})  # roles whose columns can join labels or raters
TICKED = frozenset({"0", "1", "0.0", "1.0"})
MARKS = (",", ";", "|")
MOST_KINDS = 9  # most kinds of raters, such as HUMAN, LLM and CODE
NUMBERED = re.compile(r"(?P<opening>.*?\D)[ _.-]?(?P<place>\d+)")
MOST_NAMES = 0.5  # most distinct names per cell: each occurs at least twice on average
ENDS = (":::", "::", "__", "_", ".", ":", "/", "-")
SAME = 0.5  # share of rows whose ratings recur in another row, needed to see dependences on them


def added_up(
    table: Table, names: Sequence[str], totals: Collection[str] = ()
) -> tuple[tuple[str, ...], str] | None:
    """Return neighbouring columns that add up to a different column, the number of raters.

    Scores by criterion also have a sum. A number of raters differs from it by being nearly the same
    in all rows. Counts differ from scores by including numbers other than 0 and 1.

    Parameters
    ----------
    table : Table
        The table.
    names : sequence of str
        Columns of whole numbers that aren't negative, in the table's order.
    totals : collection of str
        Columns named after numbers of raters, which can vary more.
    """
    if table.n_rows < MIN_ROWS or not N_PAIR < len(names) <= MOST_NUMBERS:
        return None
    table = _spaced(table, names)
    cells = {name: numbers(table.columns[name]) for name in names}
    sums = [
        (columns, total)
        for total in names
        if total in totals or is_usual(cells[total]) or is_steady(cells[total])
        for columns in _runs([name for name in names if name != total], cells, total)
    ]
    return max(sums, key=lambda entry: len(entry[0]), default=None)


def _spaced(table: Table, names: Sequence[str]) -> Table:
    """Return some columns of at most `LOOKED_AT` rows, evenly spaced."""
    table = replace(table, columns={name: table.columns[name] for name in names})
    if table.n_rows <= LOOKED_AT:
        return table
    left_out = np.ones(table.n_rows, dtype=bool)
    left_out[np.linspace(0, table.n_rows - 1, LOOKED_AT).astype(np.int64)] = False
    return table.without(rows=np.flatnonzero(left_out))


def is_usual(totals: CellNumbers) -> bool:
    """Return whether most rows have the same total, as for numbers of raters but not scores."""
    return bool(np.unique(totals, return_counts=True)[1].max() >= USUAL * len(totals))


def is_steady(totals: CellNumbers) -> bool:
    """Return whether totals vary little, as counts' totals can and sums of scores don't."""
    return bool(np.std(totals) <= STEADY * np.mean(totals))


def _runs(names: Sequence[str], cells: Mapping[str, CellNumbers], to: str) -> list[tuple[str, ...]]:
    """Return the runs of columns that add up to one column in every row and that vary."""
    runs = []
    for start in range(len(names)):
        total = cells[names[start]].copy()
        for end in range(start + 1, len(names)):
            total += cells[names[end]]
            run = np.column_stack([cells[name] for name in names[start : end + 1]])
            if (
                np.array_equal(total, cells[to])
                and run.max() > 1
                and len(np.unique(run, axis=0)) > 1
            ):
                runs.append(tuple(names[start : end + 1]))
    return runs


def structured(table: Table, roles: Mapping[str, Sequence[str]]) -> Table:
    """Convert columns to the forms that finders know, except those that the user named."""
    named = {name for role, names in roles.items() for name in names if role not in VOTED}
    table = with_voters(table, named)
    table = with_machines(with_named_raters(with_flat_members(table, named), named), named)
    return with_choices(with_ticked(with_parts(table, named), named), named)


def with_voters(table: Table, named: Collection[str] = ()) -> Table:
    """Convert objects that list each label's voters to objects with each voter's label.

    The labels are the same in all rows. No voter is in two lists of a row, and voters recur in
    other rows.
    """
    for name, column in table.columns.items():
        is_object = name not in named and all(map(ballots_by_rater, column.values[:1]))
        pairs = [ballots_by_rater(text) for text in column.values] if is_object else []
        lists = [{label: list_of(cell) for label, cell in of or ()} for of in pairs]
        if len(lists) < MIN_ROWS or len({*map(tuple, lists)}) != 1 or None in lists[0].values():
            continue
        who = [[str(w) for of in by.values() for w in of or ()] for by in lists]
        rows = Counter(w for of in who for w in of)
        is_once = all(len(of) == len({*of}) for of in who)
        if is_once and 1 < len(rows) <= MOST_NAMES * rows.total():
            votes = [{str(w): label for label, of in by.items() for w in of or ()} for by in lists]
            cells = ["", *(json.dumps(of, ensure_ascii=False) for of in votes)]
            table = table.with_texts(name, cells)
    return table


def with_machines(table: Table, named: Collection[str] = ()) -> Table:
    """Give machines without a name the name of their kind.

    A column such as ``annotator_kind`` says which rows are a person's, and a column of people, such
    as ``user_id``, is filled in these rows only.
    """
    for name, people in table.columns.items():
        is_blank = people.codes == EMPTY
        if name in named or not contains_word(name, PEOPLE) or not is_blank.any():
            continue
        for kind in (of for of in table.columns.values() if len(of.values) <= MOST_KINDS):
            of_text = [kind_of_rater(text) for text in kind.texts]
            are_kinds = 1 < len(kind.values) < kind.n_filled == table.n_rows and all(of_text[1:])
            is_person = np.array([of == "person" for of in of_text])[kind.codes]
            if are_kinds and np.array_equal(is_person, ~is_blank):
                cells = zip(people.by_row(), kind.by_row(), strict=True)
                return table.with_column(name, [who or of for who, of in cells])
    return table


def with_named_raters(table: Table, named: Collection[str] = ()) -> Table:
    """Convert numbered columns of ratings and of their raters to two lists.

    ``score_1`` to ``score_5`` next to ``worker_1`` to ``worker_5`` are the ratings of the workers
    named in the same place. Raters differ within every row, and are found in several places and
    rows; ratings recur within rows. Nothing changes if several families could be the ratings.
    """
    families: dict[str, dict[str, Column]] = defaultdict(dict)
    for name, column in table.columns.items():
        if name not in named and (match := NUMBERED.fullmatch(name)):
            families[match["opening"]][match["place"]] = column
    families = {opening: of for opening, of in families.items() if len(of) > 1}
    if len(families) <= 1:
        return table
    sample = _spaced(table, [column.name for of in families.values() for column in of.values()])
    cells = {
        opening: [sample.columns[column.name] for column in of.values()]
        for opening, of in families.items()
    }
    who = [opening for opening, columns in cells.items() if _are_names(columns, sample.n_rows)]
    rated = (
        [
            opening
            for opening, columns in cells.items()
            if families[opening].keys() == families[who[0]].keys() and _recur_in_rows(columns)
        ]
        if len(who) == 1
        else []
    )
    if len(rated) != 1 or {*who, *rated} & table.columns.keys():
        return table
    filled = {place: column.codes != EMPTY for place, column in families[rated[0]].items()}
    for opening in (*rated, *who):
        texts = {place: families[opening][place].by_row() for place in filled}
        lists = [[texts[k][row] for k in filled if filled[k][row]] for row in range(table.n_rows)]
        table = table.without([column.name for column in families[opening].values()])
        written = [json.dumps(of, ensure_ascii=False) if of else "" for of in lists]
        table = table.with_column(opening, written)
    return table


def _are_names(columns: Sequence[Column], n_rows: int) -> bool:
    """Return whether columns name raters: none appears twice in a row, and all in several rows."""
    names = Counter(text for column in columns for text in column.by_row() if text)
    places = Counter(text for column in columns for text in column.values)
    return (
        n_rows >= MIN_ROWS
        and not _recur_in_rows(columns)
        and len(columns) < len(names) <= MOST_NAMES * names.total()
        and max(places.values()) > 1
    )


def _recur_in_rows(columns: Sequence[Column]) -> bool:
    rows = zip(*(column.by_row() for column in columns), strict=True)
    return any(len(row) > len({*row}) for row in ([*filter(None, of)] for of in rows))


def with_flat_members(table: Table, named: Collection[str] = ()) -> Table:
    """Convert lists of one label list per rater to flat lists.

    Pairs of rater and label stay as they are. Lists of one label each become lists of labels.
    Otherwise, each member becomes a set.
    """
    for name, column in table.columns.items():
        lists = [list_of(text) for text in column.values] if name not in named else []
        nested = lists and all(of and all(map(_is_member, of)) for of in lists)
        if nested and not holds_ballots(column):
            single = all(len(part) == 1 for of in lists for part in of or () if _is_member(part))
            texts = [_flat(list_of(text) or [], single=single) for text in column.texts]
            table = table.with_texts(name, texts)
    return table


def _is_member(part: object) -> TypeGuard[list[object]]:
    """Return whether a list's member is itself a list of labels."""
    return (
        isinstance(part, list) and bool(part) and not any(isinstance(x, list | dict) for x in part)
    )


def _flat(members: Sequence[object], *, single: bool) -> str:
    sets = [part for part in members if isinstance(part, list)]
    flat = [of[0] if single else json.dumps(of, ensure_ascii=False) for of in sets]
    return json.dumps(flat, ensure_ascii=False) if flat else ""


def numbers(column: Column) -> CellNumbers:
    """Return a column's cells as numbers. An empty cell is 0."""
    values = np.array([float(text) if is_number(text) else 0.0 for text in column.texts])
    cells: CellNumbers = values[column.codes]
    return cells


def with_parts(table: Table, named: Collection[str] = ()) -> Table:
    """Convert two columns that join equally many labels and raters per row to lists.

    No rater rates an item twice, so the parts in the raters' column differ within a row.
    """
    sample = _spaced(table, [name for name in table.columns if name not in named])
    for mark in MARKS:
        by_lengths: dict[bytes, list[Column]] = defaultdict(list)
        for column in sample.columns.values():
            if column.n_filled == sample.n_rows >= MIN_ROWS and _joins(column, mark):
                lengths = np.array([text.count(mark) for text in column.texts])[column.codes]
                by_lengths[lengths.tobytes()].append(column)
        for columns in by_lengths.values():
            if len(columns) == N_PAIR and sum(_repeats(of, mark) for of in columns) == 1:
                for name in (column.name for column in columns):
                    cells = (_as_list(text, mark) for text in table.columns[name].texts)
                    table = table.with_texts(name, [*cells])
    return table


def _joins(column: Column, mark: str) -> bool:
    """Return whether most cells join short parts that recur in other cells."""
    joined = [text for text in column.values if mark in text]
    if 2 * len(joined) < len(column.values) or any(text[0] in "[{" for text in column.values):
        return False
    parts = Counter(part.strip() for text in column.values for part in text.split(mark))
    return "" not in parts and 2 * len(parts) <= parts.total()


def _repeats(column: Column, mark: str) -> bool:
    cells = ([part.strip() for part in text.split(mark)] for text in column.values)
    return any(len(parts) > len(set(parts)) for parts in cells)


def _as_list(text: str, mark: str) -> str:
    parts = [part.strip() for part in text.split(mark)]
    return json.dumps(parts, ensure_ascii=False) if text else ""


def with_ticked(table: Table, named: Collection[str] = ()) -> Table:
    """Convert columns that tick exactly one label per row, or are blank, to a label column.

    There must be several such families with the same labels, for example one per rater: columns
    ``ann1.polite``, ``ann1.rude``, ``ann2.polite``, ``ann2.rude`` of 0 and 1 become ``ann1`` and
    ``ann2``.
    """
    ticked = {n for n, of in table.columns.items() if n not in named and {*of.values} <= TICKED}
    found = [families for mark in ENDS if (families := _families(table, ticked, mark))]
    best = max(found, key=lambda families: len("".join(families)), default={})
    for name, labels in best.items():
        rows = zip(*(table.columns[column].by_row() for column in labels.values()), strict=True)
        cells = ["".join(_chosen([*labels], row)) for row in rows]
        table = table.without([*labels.values()]).with_column(name, cells)
    return table


def _families(table: Table, names: Collection[str], mark: str) -> dict[str, dict[str, str]]:
    """Return columns by label and by their names' opening, if they tick the same labels."""
    families: dict[str, dict[str, str]] = defaultdict(dict)
    for name in table.columns:
        opening, _, label = name.rpartition(mark)
        if opening and label and name in names:
            families[opening][label] = name
    labels = Counter(tuple(of) for of in families.values() if len(of) > 1)
    usual, n = labels.most_common(1)[0] if labels else ((), 0)
    alike = {k: of for k, of in families.items() if tuple(of) == usual and k not in table.columns}
    cells = [[table.columns[c].by_row() for c in of.values()] for of in alike.values()]
    is_one = n > 1 and table.n_rows >= MIN_ROWS and all(map(_ticks_one, cells))
    return alike if is_one else {}


def _ticks_one(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether columns of 0 and 1 have exactly one 1 in each row that isn't blank."""
    rows = [row for row in zip(*columns, strict=True) if any(row)]
    return bool(rows) and all(all(row) and sum(float(c) for c in row) == 1 for row in rows)


def _chosen(labels: Sequence[str], row: Sequence[str]) -> list[str]:
    return [label for label, cell in zip(labels, row, strict=True) if cell and float(cell)]


def with_choices(table: Table, named: Collection[str] = ()) -> Table:
    """Convert columns whose only filled cell is the end of their header to a label column.

    Columns ``tone:::polite`` and ``tone:::rude``, which say ``polite`` and ``rude`` or are blank,
    become ``tone``: a label if each row has one, otherwise a set.
    """
    families: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for name, column in table.columns.items():
        for mark in ENDS:
            opening, end, label = name.rpartition(mark)
            said = [*map(folded_name, column.values[:N_PAIR])] == [folded_name(label)]
            if end and opening and said and name not in named:
                families[opening, mark][name] = label
                break
    for (opening, _), labels in families.items():
        if len(labels) > 1 and opening not in table.columns:
            table = _joined(table, opening, labels)
    return table


def _joined(table: Table, name: str, labels: Mapping[str, str]) -> Table:
    """Replace a column for each label with one column of the chosen labels."""
    filled = {label: table.columns[column].codes != EMPTY for column, label in labels.items()}
    chosen = [[label for label in filled if filled[label][row]] for row in range(table.n_rows)]
    single = all(len(of) <= 1 for of in chosen)
    cells = [
        "".join(of) if single or not of else json.dumps(of, ensure_ascii=False) for of in chosen
    ]
    return table.without([*labels]).with_column(name, cells)


def follows_from(table: Table, name: str, raters: Sequence[str]) -> bool:
    """Return whether the ratings in a row determine a column, whatever their order.

    A mean, a majority and an estimate of the true label do; another rater's answers don't.
    """
    table = _spaced(table, [name, *raters])
    codes = _shared_codes([table.columns[rater] for rater in raters])
    rows, place = np.unique(np.sort(codes, axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    recurring = np.bincount(place)[place] > 1
    follows = table.is_constant_within(place, name)
    return bool(follows and len(rows) > 1 and recurring.mean() >= SAME)


def names_cell(table: Table, name: str) -> bool:
    """Return whether each cell in a column equals a cell in another column of its row.

    The other columns differ from each other in every row, like the sides in a rater's choice, so
    the cell says which side was chosen and isn't a label.
    """
    table = _spaced(table, [*table.columns])
    column = table.columns[name]
    if column.n_filled < max(MIN_ROWS, table.n_rows):
        return False
    codes = _shared_codes([*table.columns.values()])
    names = [*table.columns]
    own = codes[:, names.index(name)]
    equal = [k for k in range(len(names)) if names[k] != name and np.any(codes[:, k] == own)]
    sides = codes[:, [k for k in equal if not np.array_equal(codes[:, k], own)]]
    is_one = np.sum(sides == own[:, None], axis=1) == 1
    ranked = np.sort(sides, axis=1)
    apart = np.all(ranked[:, 1:] != ranked[:, :-1], axis=1)
    several = 1 < sides.shape[1] < min(len(column.values), len(np.unique(ranked, axis=0)))
    return several and bool(np.all(is_one & apart))


def _shared_codes(columns: Sequence[Column]) -> Codes:
    """Number the cells of several columns, with one number for equal texts."""
    index: dict[str, int] = {}
    return np.column_stack(
        [
            np.array([index.setdefault(text.casefold(), len(index)) for text in column.texts])[
                column.codes
            ]
            for column in columns
        ]
    )


def repeats(column: Column) -> bool:
    """Return whether any cell in a column lists a member twice."""
    lists = (list_of(text) or () for text in column.values)
    return any(len(part) > len({*map(str, part)}) for part in lists)


def recur(column: Column) -> bool:
    """Return whether members of a column's lists occur in several rows, as raters do."""
    rows: Counter[str] = Counter()
    for text, n in zip(column.values[:LOOKED_AT], column.counts[1:].tolist(), strict=False):
        rows.update(dict.fromkeys({str(part) for part in list_of(text) or ()}, n))
    return bool(rows) and 2 * len(rows) <= rows.total()
