"""Numbered columns of ratings beside numbered columns of who gave them."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.curation.importing.column_facts import sample_of
from harness.tasks.columns.table_columns import EMPTY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from harness.tasks.columns.table_columns import Column, Table

NUMBERED = re.compile(r"(?P<opening>.*?\D)[ _.-]?(?P<place>\d+)")
LOOKED_AT = 2000  # rows
MIN_ROWS = 5  # from which it is no chance that names differ in every row
MOST_NAMES = 0.5  # of the cells of names: each occurs at least twice on average


def with_named_raters(table: Table, named: Collection[str] = ()) -> Table:
    """Read as two lists the numbered columns of ratings and of the raters who gave them.

    ``score_1`` to ``score_5`` beside ``worker_1`` to ``worker_5`` are the ratings of the workers
    named in the same place. Raters differ within every row, and are found in several places and
    rows; ratings recur within rows. Nothing changes if several families may be the ratings.

    Parameters
    ----------
    table : Table
        The table.
    named : collection of str
        Columns that the user gave a role, which stay as they are.
    """
    whole = _families(table, named)
    if len(whole) <= 1:
        return table
    numbered = {column.name: column for of in whole.values() for column in of.values()}
    sample = sample_of(replace(table, columns=numbered), (), LOOKED_AT)
    families = _families(sample, named)
    people = [opening for opening, columns in families.items() if _are_names(sample, columns)]
    for who in people[:1] if len(people) == 1 else ():
        places = families[who].keys()
        rated = [
            opening
            for opening, columns in families.items()
            if opening != who and columns.keys() == places and _recur_in_rows(columns)
        ]
        if len(rated) == 1 and not {who, *rated} & table.columns.keys():
            return _listed(table, rated[0], who, whole)
    return table


def _families(table: Table, named: Collection[str]) -> dict[str, dict[str, Column]]:
    """Return numbered columns by place, and these by what their names begin with."""
    families: dict[str, dict[str, Column]] = defaultdict(dict)
    for name, column in table.columns.items():
        match = NUMBERED.fullmatch(name) if name not in named else None
        if match:
            families[match["opening"]][match["place"]] = column
    return {opening: of for opening, of in families.items() if len(of) > 1}


def _rows(columns: Mapping[str, Column]) -> list[list[str]]:
    """Return the filled cells of each row."""
    cells = [column.by_row() for column in columns.values()]
    return [[text for text in row if text] for row in zip(*cells, strict=True)]


def _are_names(table: Table, columns: Mapping[str, Column]) -> bool:
    """Return whether columns name raters: never one twice in a row, all in several rows."""
    rows = _rows(columns)
    cells = Counter(text for row in rows for text in row)
    places = Counter(text for column in columns.values() for text in column.values)
    return (
        table.n_rows >= MIN_ROWS
        and all(len(row) == len({*row}) for row in rows)
        and len(cells) <= MOST_NAMES * cells.total()
        and len(cells) > len(columns)
        and max(places.values()) > 1
    )


def _recur_in_rows(columns: Mapping[str, Column]) -> bool:
    return any(len(row) > len({*row}) for row in _rows(columns))


def _listed(
    table: Table, label: str, who: str, families: Mapping[str, Mapping[str, Column]]
) -> Table:
    """Put two columns of lists in the place of the columns of two families."""
    ratings, raters = families[label], families[who]
    filled = {place: ratings[place].codes != EMPTY for place in ratings}
    lists: dict[str, list[Sequence[str]]] = {label: [], who: []}
    for name, columns in ((label, ratings), (who, raters)):
        cells = {place: columns[place].by_row() for place in ratings}
        lists[name] = [
            [cells[place][row] for place in ratings if filled[place][row]]
            for row in range(table.n_rows)
        ]
    table = table.without([column.name for of in (ratings, raters) for column in of.values()])
    for name, cells_of in lists.items():
        texts = [json.dumps(of, ensure_ascii=False) if of else "" for of in cells_of]
        table = table.with_column(name, texts)
    return table
