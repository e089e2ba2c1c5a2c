"""Column names in delimited files and workbooks, including names below title rows or missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.files.plain_text import counted
from harness.tasks.columns import column_words
from harness.tasks.columns.cell_values import is_date, is_number, text_of
from harness.tasks.columns.column_words import contains_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    Cells = Sequence[object]

N_OPENING = 100  # rows to compare with the first
N_HEADING = 2  # rows that can hold the names together
MIN_KIN = 2  # fewest columns whose first cell looks like those below
MAX_NAME_WORDS = 3
TEXT_RATIO = 3  # mean words of a text, as a multiple of a name's
NAMING = (
    column_words.ITEMS
    | column_words.RATERS
    | column_words.WEAK_RATERS
    | column_words.LABELS
    | column_words.TEXTS
    | column_words.CRITERIA
    | column_words.METADATA
    | column_words.MEASURES
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A table's column names and their location.

    Attributes
    ----------
    names : list of str
        One name per column. A column without a name gets ``Unnamed: N``, with its index, as in
        pandas.
    place : int
        Index of the row with the names, or -1 if no row has names.
    note : str
        Note for the user about the names, or "".
    """

    names: list[str]
    place: int
    note: str = ""


def heading_of(rows: Sequence[Cells], lines: Sequence[int], header: int | None) -> Heading:
    """Find a table's column names.

    Parameters
    ----------
    rows : sequence of sequence of object
        The first rows, except blank ones.
    lines : sequence of int
        Line numbers of these rows in the file.
    header : int, optional
        Number of the row with the names, 0 if there is none; None to detect it.
    """
    place = _title_rows(rows) if header is None else lines.index(header) if header else 0
    if header is None and (names := _names_in_two_rows(rows)):
        return Heading(names, 1, f"column names come from lines {lines[0]} and {lines[1]}")
    if header == 0 or (header is None and is_data(rows[place], rows[place + 1 :])):
        width = max(map(len, rows))
        names = [f"column {number}" for number in range(1, width + 1)]
        note = (
            ""
            if header == 0
            else (
                f"line {lines[place]} looks like the lines below, so the table seems to have no "
                f"header. Its columns are called column 1 to column {width} (if it has one, pass "
                f"--header {lines[place]})"
            )
        )
        return Heading(names, place - 1, note)
    named = [str(cell).strip() if cell is not None else "" for cell in rows[place]]
    names = [str(rows[place][k]) if name else f"Unnamed: {k}" for k, name in enumerate(named)]
    titles = f"{counted([place], 'title row')} above the header left out"
    return Heading(names, place, titles if place and header is None else "")


def _title_rows(rows: Sequence[Cells]) -> int:
    """Return the number of rows before the first row that fills most columns."""
    filled = [sum(cell not in {"", None} for cell in row) for row in rows]
    most = max(filled, default=0)
    for place, n_filled in enumerate(filled):
        is_indexed = not rows[place][0] and n_filled == most - 1  # an index has no name
        if 2 * n_filled > most or is_indexed or most <= 1:
            return place
    return 0


def _names_in_two_rows(rows: Sequence[Cells]) -> list[str]:
    """Return the column names if they are split over two rows, else an empty list.

    A survey tool writes a question above the first of its columns, and below it what each column
    asks about. Every other column has its name in the first row and none in the second. In a sheet
    with the same names for several people, each name is above the first of a person's columns.
    """
    if len(rows) <= N_HEADING:
        return []
    first, second = ([text_of(cell) for cell in row] for row in rows[:N_HEADING])
    if len(first) != len(second) or not all(map(any, zip(first, second, strict=True))):
        return []
    starts = [k for k, name in enumerate(first) if name]
    n_groups = len(starts) if len(first) > len(starts) > 1 and all(second) else 0
    if n_groups in map(second.count, second):
        groups = [next((first[s] for s in starts[::-1] if s <= k), "") for k in range(len(first))]
        pairs = zip(second, groups, strict=True)
        names = [f"{name} ({group})" if group else name for name, group in pairs]
        return names if len({*names}) == len(names) else []
    alone = [k for k in starts if not second[k]]
    if len(starts) == len(first) or not alone or any(second[: alone[-1]]):
        return []
    names, question = list[str](), ""
    for name, rest in zip(first, second, strict=True):
        question = name or question
        names.append(f"{question} [{rest}]" if rest else question)
    return names


def is_data(first: Cells, rows: Sequence[Cells]) -> bool:
    """Return whether the first row contains data, because it looks like the rows below it.

    The first row is data if several of its cells recur below or are numbers above numbers, and no
    cell looks like a column's name. Consecutive numbers such as 1, 2, 3 are names.

    Examples
    --------
    >>> is_data(["11", "ann", "3"], [["11", "bea", "3"], ["12", "ann", "n"]])
    True
    >>> is_data(["item", "1", "2"], [["d1", "1", "2"], ["d2", "2", "1"]])
    False
    """
    below = [[text_of(cell) for cell in row] for row in rows if list(row) != list(first)]
    names = [text_of(cell) for cell in first]
    columns = [[row[k] for row in below if k < len(row) and row[k]] for k in range(len(names))]
    kin = []
    for name, values in zip(names, columns, strict=True):
        if _is_name(name, values):
            return False
        if name and values and (name in values or _are_alike(name, values)):
            kin.append(name)
    return len(kin) >= MIN_KIN and not _count_columns(kin)


def _is_name(name: str, values: Sequence[str]) -> bool:
    """Return whether a cell looks like the name of a column with certain values."""
    if not name or not values or name in values:
        return False
    if not is_number(name) and all(map(is_number, values)):
        return True
    words = len(name.split())
    if words <= MAX_NAME_WORDS and contains_word(name, NAMING):
        return True
    has_digit = any(map(str.isdecimal, name))
    with_digits = all(any(map(str.isdecimal, value)) for value in values)
    n_words = sum(len(value.split()) for value in values) / len(values)
    is_short = words <= MAX_NAME_WORDS and n_words >= TEXT_RATIO * words
    return (with_digits and not has_digit) or is_short


def _are_alike(name: str, values: Sequence[str]) -> bool:
    """Return whether a cell and all cells below it are numbers, dates or codes of the same form."""
    if is_number(name):
        return all(map(is_number, values))
    if is_date(name):
        return all(map(is_date, values))
    form = _form_of(name)
    return "0" in form and all(_form_of(value) == form for value in values)


def _form_of(text: str) -> str:
    """Return the form of a code, which is the same for ``d0`` and ``d12``."""
    return re.sub(r"\d+", "0", text)


def _count_columns(names: Sequence[str]) -> bool:
    """Return whether names are consecutive numbers."""
    if not all(map(str.isdecimal, names)):
        return False
    numbers = list(map(int, names))
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
