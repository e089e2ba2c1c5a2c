"""Relations between a table's columns, detected from their cells and not their names.

A structure is a relation between columns that is unlikely to occur by chance: columns add up to
another column, two columns list equally many parts in every row, each cell repeats the end of its
header, or a row's ratings determine a column. `structured` converts such columns to the forms that
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
ROUNDED = 0.005  # most that a mean of two decimal places differs
CROSSES = frozenset({"x", "\u2713", "\u2714", "\u2717"})
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
    """Return neighbouring columns that add up to another column, and that column of totals.

    Scores by criterion can also have a column of sums. Unlike sums of scores, numbers of raters are
    nearly the same in all rows, and counts include numbers other than 0 and 1.

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
    """Return a table of some columns with at most `LOOKED_AT` evenly spaced rows."""
    table = replace(table, columns={name: table.columns[name] for name in names})
    if table.n_rows <= LOOKED_AT:
        return table
    left_out = np.ones(table.n_rows, dtype=bool)
    left_out[np.linspace(0, table.n_rows - 1, LOOKED_AT).astype(np.int64)] = False
    return table.without(rows=np.flatnonzero(left_out))


def is_usual(totals: CellNumbers) -> bool:
    """Return whether most rows have the same total, as is typical for raters but not for scores."""
    return bool(np.unique(totals, return_counts=True)[1].max() >= USUAL * len(totals))


def is_steady(totals: CellNumbers) -> bool:
    """Return whether totals vary little, as numbers of raters do but sums of scores don't."""
    return bool(np.std(totals) <= STEADY * np.mean(totals))


def _runs(names: Sequence[str], cells: Mapping[str, CellNumbers], to: str) -> list[tuple[str, ...]]:
    """Return the runs of varying, neighbouring columns that add up to a column in every row."""
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
    """Convert columns to the forms that finders know.

    Columns that the user named stay unchanged.
    """
    named = {name for role, names in roles.items() for name in names if role not in VOTED}
    table = with_voters(with_digits(with_marks(table)), named)
    table = with_machines(with_named_raters(with_flat_members(table, named), named), named)
    return with_choices(with_ticked(with_parts(table, named), named), named)


def with_marks(table: Table) -> Table:
    """Convert columns that contain one kind of cross and blanks to 1 and 0.

    Two kinds, such as a check mark and a cross, are two answers and stay as they are.
    """
    few = {n: of.values for n, of in table.columns.items() if 0 < len(of.values) <= N_PAIR}
    kinds = {name: {*map(str.casefold, values)} for name, values in few.items()}
    marked = [name for name, of in kinds.items() if of <= CROSSES]
    is_one_kind = len({mark for name in marked for mark in kinds[name]}) == 1
    for name in marked if is_one_kind and len(marked) > N_PAIR else ():
        column = table.columns[name]
        table = table.with_column(name, [str(int(bool(cell))) for cell in column.by_row()])
    return table


def with_digits(table: Table) -> Table:
    """Convert words of digits, one per rater, to lists if another column contains their means."""
    sample = _spaced(table, [n for n, of in table.columns.items() if _is_decimal(of)])
    for name, column in sample.columns.items() if table.n_rows >= MIN_ROWS else ():
        if {len(text) for text in column.values} in ({1}, set()) or "." in "".join(column.values):
            continue
        means = [np.mean([int(digit) for digit in text or "0"]) for text in column.texts]
        by_row = np.array(means)[column.codes]
        if any(np.allclose(numbers(of), by_row, atol=ROUNDED) for of in sample.columns.values()):
            texts = [json.dumps([*text]) for text in table.columns[name].values]
            table = table.with_texts(name, ["", *texts])
    return table


def _is_decimal(column: Column) -> bool:
    """Return whether a column contains only digits, and points between them."""
    values = [value.replace(".", "", 1) for value in column.values[:LOOKED_AT]]
    return bool(values) and all(value.isdecimal() and value.isascii() for value in values)


def with_voters(table: Table, named: Collection[str] = ()) -> Table:
    """Convert objects with lists of voters by label to objects with a label by voter.

    The objects must have the same labels in all rows. No voter can be in two lists in a row, and
    voters must recur in other rows.
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
    """Name unnamed machines after their kind.

    This applies if a column such as ``annotator_kind`` says which rows come from people, and a
    column of people, such as ``user_id``, is filled only in these rows.
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
    """Convert numbered columns to one column of lists of ratings and one of raters' names.

    For example, ``score_1`` to ``score_5`` contain the ratings from the raters named in
    ``worker_1`` to ``worker_5``. Raters must differ within every row and occur in several positions
    and rows, and ratings must recur within rows. Nothing changes if several families of columns
    could be the ratings.
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
    """Return whether columns name raters: they differ within rows and recur in other rows."""
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
    """Flatten lists that contain one list of labels per rater.

    Pairs of rater and label stay unchanged. If each inner list has one label, the result is a list
    of labels. Otherwise, each inner list becomes a response set.
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
    """Return whether a list's member is a list of labels."""
    return (
        isinstance(part, list) and bool(part) and not any(isinstance(x, list | dict) for x in part)
    )


def _flat(members: Sequence[object], *, single: bool) -> str:
    sets = [part for part in members if isinstance(part, list)]
    flat = [of[0] if single else json.dumps(of, ensure_ascii=False) for of in sets]
    return json.dumps(flat, ensure_ascii=False) if flat else ""


def numbers(column: Column) -> CellNumbers:
    """Return a column's cells as numbers, with 0 for an empty cell."""
    values = np.array([float(text) if is_number(text) else 0.0 for text in column.texts])
    cells: CellNumbers = values[column.codes]
    return cells


def with_parts(table: Table, named: Collection[str] = ()) -> Table:
    """Convert two columns to lists if they join equally many labels and raters in each row.

    The parts in the raters' column must differ within a row, because no rater rates an item twice.
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
    """Return whether ``mark`` divides most cells into short parts that recur in other cells."""
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
    """Convert columns that tick exactly one label per nonblank row to a label column.

    There must be several such families with the same labels, for example one per rater. Columns
    ``ann1.polite``, ``ann1.rude``, ``ann2.polite`` and ``ann2.rude`` of 0 and 1 become ``ann1`` and
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
    """Group columns by the beginning of their names, then by label. Labels must be the same."""
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
    """Return whether columns of 0 and 1 have exactly one 1 in each nonblank row."""
    rows = [row for row in zip(*columns, strict=True) if any(row)]
    return bool(rows) and all(all(row) and sum(float(c) for c in row) == 1 for row in rows)


def _chosen(labels: Sequence[str], row: Sequence[str]) -> list[str]:
    return [label for label, cell in zip(labels, row, strict=True) if cell and float(cell)]


def with_choices(table: Table, named: Collection[str] = ()) -> Table:
    """Convert columns whose filled cells repeat the end of their header to a label column.

    For example, ``tone:::polite`` and ``tone:::rude``, whose cells are blank or say ``polite`` and
    ``rude``, become ``tone``. Its cells are labels if each row has one, and response sets
    otherwise.
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
    """Replace the columns for labels with one column of chosen labels."""
    filled = {label: table.columns[column].codes != EMPTY for column, label in labels.items()}
    chosen = [[label for label in filled if filled[label][row]] for row in range(table.n_rows)]
    single = all(len(of) <= 1 for of in chosen)
    cells = [
        "".join(of) if single or not of else json.dumps(of, ensure_ascii=False) for of in chosen
    ]
    return table.without([*labels]).with_column(name, cells)


def follows_from(table: Table, name: str, raters: Sequence[str]) -> bool:
    """Return whether a row's ratings, in any order, determine a column.

    They determine a mean, a majority or an estimate of the true label, but not another rater's
    answers.
    """
    table = _spaced(table, [name, *raters])
    codes = _shared_codes([table.columns[rater] for rater in raters])
    rows, place = np.unique(np.sort(codes, axis=1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    recurring = np.bincount(place)[place] > 1
    follows = table.is_constant_within(place, name)
    return bool(follows and len(rows) > 1 and recurring.mean() >= SAME)


def names_cell(table: Table, name: str) -> bool:
    """Return whether each cell in a column equals another cell in its row.

    The other columns must differ from each other in every row, like compared answers. The cell then
    says which answer was chosen and isn't a label.
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
    """Encode the cells of several columns with a shared code for equal texts."""
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
    """Return whether any cell in a column lists a member twice, other than a blank."""
    lists = ([str(part) for part in list_of(text) or () if part != ""] for text in column.values)
    return any(len(part) > len({*part}) for part in lists)


def recur(column: Column) -> bool:
    """Return whether the members of a column's lists recur in other rows, as raters do."""
    rows: Counter[str] = Counter()
    for text, n in zip(column.values[:LOOKED_AT], column.counts[1:].tolist(), strict=False):
        rows.update(dict.fromkeys({str(part) for part in list_of(text) or ()}, n))
    return bool(rows) and 2 * len(rows) <= rows.total()
